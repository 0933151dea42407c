use gpuint::{Batch, Device, GpuUint};

fn main() -> gpuint::Result<()> {
    let a = Batch::<GpuUint<1048576>>::zeros(&Device::cpu(), 5)?;
    let _product = a.widening_mul(&a)?;
    Ok(())
}
