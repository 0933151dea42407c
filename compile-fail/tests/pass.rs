//! A user's program, generic over shapes and strategies, compiles and links.

use gpuint::{
    Auto, Batch, Blocked, Classical, Device, Division, Double, GpuUint, Kernels, Result, Widen,
};

gpuint::gpu_uint!(
    /// With documentation.
    pub type U2048 = 2048 bits, Q = 2, u32
);
gpuint::gpu_uint!(type U1024 = 1024 bits);
gpuint::gpu_uint!(
    /// The next built width.
    pub type Rounded = at least 1537 bits, Q = 3, u16
);
gpuint::gpu_uint!(type Widest = at least 300000 bits);
gpuint::gpu_uint!(pub(crate) type Exact = 1280 bits, Q = 5, u32, jit);

fn quotients<T: Kernels, S: Division<T>>(u: &Batch<T>, v: &Batch<T>) -> Result<Batch<T>> {
    u.using::<S>().div(v)
}

fn squares<const BITS: usize>(a: &Batch<GpuUint<BITS>>) -> Result<Batch<GpuUint<BITS>>>
where
    GpuUint<BITS>: Kernels,
{
    a.using::<Classical>().wrapping_mul(a)
}

fn products<T: Widen>(a: &Batch<T>) -> Result<Batch<T::Wide>> {
    a.widening_mul(a)
}

#[test]
fn generic_program_computes() -> Result<()> {
    let device = Device::cpu();
    let a = Batch::<U1024>::splat(&device, &7u32.into(), 3)?;
    let wide: Batch<GpuUint<2048>> = products(&squares(&a)?)?;
    assert_eq!(wide.row(0)?, (7u32 * 7 * 7 * 7).into());
    assert_eq!(a.widening_mul(&a)?.len(), 3);
    let b = Batch::<U2048>::splat(&device, &100u32.into(), 3)?;
    let c = Batch::splat(&device, &9u32.into(), 3)?;
    assert_eq!(quotients::<_, Auto>(&b, &c)?.row(1)?, 11u32.into());
    assert_eq!(quotients::<_, Blocked<Classical>>(&b, &c)?.row(2)?, 11u32.into());
    let exact = Batch::<Exact>::splat(&device, 9, 3)?;
    assert_eq!(quotients::<_, Auto>(&exact, &exact.wrapping_square()?)?.row(0)?, 0u32.into());
    let wide: Batch<Double<Exact>> = products(&exact)?;
    assert_eq!(products(&wide)?.row(1)?, (9u32 * 9 * 9 * 9).into());
    assert_eq!([Rounded::BITS, Widest::BITS, Exact::DIGITS], [3072, 1 << 19, 40]);
    Ok(())
}
