use gpuint::{Batch, Device, GpuUint};

fn main() -> gpuint::Result<()> {
    let a = Batch::<GpuUint<1024>>::zeros(&Device::cpu(), 5)?;
    let _copy: Batch<GpuUint<1024>> = a.clone();
    Ok(())
}
