use gpuint::{Batch, Device, GpuUint};

fn main() -> gpuint::Result<()> {
    let device = Device::cpu();
    let a = Batch::<GpuUint<1024>>::zeros(&device, 5)?;
    let b = Batch::<GpuUint<2048>>::zeros(&device, 5)?;
    let _sum = &a + &b;
    Ok(())
}
