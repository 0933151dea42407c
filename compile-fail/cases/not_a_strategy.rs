use gpuint::{Batch, Blocked, Classical, Device, GpuUint};

fn main() -> gpuint::Result<()> {
    let a = Batch::<GpuUint<1024>>::zeros(&Device::cpu(), 5)?;
    let _product = a.using::<Blocked<Classical>>().wrapping_mul(&a)?;
    let _quotient = a.using::<Classical>().div_rem(&a)?;
    Ok(())
}
