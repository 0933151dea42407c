use gpuint::{Batch, Device, JitUint};

fn main() -> gpuint::Result<()> {
    let a = Batch::<JitUint<1048576, 16>>::zeros(&Device::cpu(), 5)?;
    let _product = a.widening_mul(&a)?;
    Ok(())
}
