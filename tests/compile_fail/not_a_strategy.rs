use gpuint::{Batch, Blocked, Classical, Device, GpuUint};

fn main() -> gpuint::Result<()> {
    let a = Batch::<GpuUint<1024>>::zeros(&Device::cpu(), 5)?;
    let _product = a.wrapping_mul_with::<Blocked<Classical>>(&a)?;
    let _quotient = a.div_rem_with::<Classical>(&a)?;
    Ok(())
}
