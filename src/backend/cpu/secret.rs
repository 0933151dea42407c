//! Powers and products whose time does not depend on values, by the arithmetic of the crate
//! `crypto-bigint`. With the feature `gmp`, powers are by GMP's `mpn_sec_powm`, which has the same
//! promise. It takes moduli whose top limb is not zero.

use std::borrow::Cow;
use std::sync::OnceLock;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use zeroize::Zeroize;

use super::rows::{Failed, Outcome, Row, Rows};
use crate::error::Result;

pub(super) fn pow_secret(rows: Rows<'_>) -> Result<Failed> {
    let (bits, constants) = (rows.params.exponent_bits, RowConstants::new(&rows));
    #[cfg(feature = "gmp")]
    let gmp = super::gmp::gmp();
    #[cfg(feature = "gmp")]
    let limbs = gmp.map_or(0, |gmp| gmp.secret_scratch_limbs(rows.limbs(), bits as usize));
    #[cfg(not(feature = "gmp"))]
    let limbs = 0;
    rows.each(limbs, |Row { ins: [a, e, record], outs: [out, _], .. }, scratch| {
        let n = &record[..out.len()];
        #[cfg(feature = "gmp")]
        if let Some(gmp) = gmp.filter(|_| n[n.len() - 1] != 0) {
            gmp.power_secret(out, a, (e, bits as usize), n, scratch);
            scratch.zeroize();
            return Outcome::default();
        }
        #[cfg(not(feature = "gmp"))]
        let _ = scratch;
        power(out, a, (e, bits), &constants.of(n));
        Outcome::default()
    })
}

/// Sets `out` to `a^e` modulo the modulus of `params`; `e` has at most `bits` bits.
fn power(out: &mut [u64], a: &[u64], (e, bits): (&[u64], u32), params: &BoxedMontyParams) {
    let mut exponent = integer(e);
    let mut base = BoxedMontyForm::new(integer(a), params);
    let mut power = base.pow_bounded_exp(&exponent, bits);
    let mut result = power.retrieve();
    out.copy_from_slice(result.as_words());
    exponent.zeroize();
    base.zeroize();
    power.zeroize();
    result.zeroize();
}

pub(super) fn mul_add_secret(rows: Rows<'_>) -> Result<Failed> {
    let constants = RowConstants::new(&rows);
    rows.each(0, |Row { ins: [a, c, record], outs: [out, _], .. }, _| {
        let n = &record[..out.len()];
        let params = &*constants.of(n);
        // The record has `f 2^(2 BITS) mod n`: the form of `f 2^BITS`.
        let mut factor = BoxedMontyForm::from_montgomery(integer(&record[2 * out.len()..]), params);
        let mut base = BoxedMontyForm::new(integer(a), params);
        let mut scaled = &base * &factor;
        let mut product = BoxedMontyForm::from_montgomery(scaled.retrieve(), params);
        let mut addend = BoxedMontyForm::new(integer(c), params);
        let mut sum = &product + &addend;
        let mut result = sum.retrieve();
        out.copy_from_slice(result.as_words());
        for form in [&mut factor, &mut base, &mut scaled, &mut product, &mut addend, &mut sum] {
            form.zeroize();
        }
        result.zeroize();
        Outcome::default()
    })
}

/// The constants of each row's modulus, computed once if it is the same for all rows.
struct RowConstants {
    is_broadcast: bool,
    shared: OnceLock<BoxedMontyParams>,
}

impl RowConstants {
    fn new(rows: &Rows<'_>) -> Self {
        Self { is_broadcast: rows.params.broadcast_divisor, shared: OnceLock::new() }
    }

    fn of(&self, n: &[u64]) -> Cow<'_, BoxedMontyParams> {
        if self.is_broadcast {
            Cow::Borrowed(self.shared.get_or_init(|| constants(n)))
        } else {
            Cow::Owned(constants(n))
        }
    }
}

fn integer(limbs: &[u64]) -> BoxedUint {
    BoxedUint::from_words(limbs.iter().copied())
}

/// Writes the record of an odd modulus `n`: `n`, and `2^(2 BITS) mod n`
/// (`kernels/modular/tensor/regular.cuh`). With a factor `f`, the record ends with
/// `f 2^(2 BITS) mod n`.
pub(crate) fn write_record(n: &[u64], factor: Option<&[u64]>, record: &mut [u64]) {
    let (modulus, rest) = record.split_at_mut(n.len());
    let (square, scaled) = rest.split_at_mut(n.len());
    modulus.copy_from_slice(n);
    let params = constants(n);
    if let Some(factor) = factor {
        let mut form = BoxedMontyForm::new(integer(factor), &params);
        let mut form_of_form = BoxedMontyForm::new(form.as_montgomery().clone(), &params);
        scaled.copy_from_slice(form_of_form.as_montgomery().as_words());
        form.zeroize();
        form_of_form.zeroize();
    }
    // In Montgomery's form, 1 is `2^BITS mod n`, and this number is the square.
    let mut radix = BoxedMontyForm::one(&params);
    let mut form = BoxedMontyForm::new(radix.as_montgomery().clone(), &params);
    square.copy_from_slice(form.as_montgomery().as_words());
    radix.zeroize();
    form.zeroize();
}

/// Computes the constants of Montgomery's form. Records hold odd moduli.
fn constants(n: &[u64]) -> BoxedMontyParams {
    let mut n = integer(n);
    n.as_mut_words()[0] |= 1;
    BoxedMontyParams::new(Odd::new(n).expect("the lowest bit is set"))
}

#[cfg(all(test, feature = "gmp"))]
mod tests {
    use super::*;
    use crate::backend::cpu::gmp::gmp;

    /// Tests with the feature take GMP's powers wherever they can.
    #[test]
    fn powers_of_both_libraries_are_equal() {
        const LIMBS: usize = 16;
        let Some(gmp) = gmp() else {
            eprintln!("skipped: powers_of_both_libraries_are_equal: there is no GMP");
            return;
        };
        let mut state = 1u64;
        let mut random = || {
            std::array::from_fn::<u64, LIMBS, _>(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            })
        };
        let one = std::array::from_fn(|limb| u64::from(limb == 0));
        let top = std::array::from_fn(|limb| u64::from(limb == 0) + u64::from(limb == LIMBS - 1));
        let ones = [u64::MAX; LIMBS];
        for modulus in [random(), top, ones] {
            let odd = std::array::from_fn::<_, LIMBS, _>(|limb| modulus[limb] | one[limb]);
            let params = constants(&odd);
            for base in [[0; LIMBS], one, odd, ones, random()] {
                for (exponent, bits) in [([0; LIMBS], 1), (one, 1), (one, 65), (random(), 1024)] {
                    let (mut left, mut right) = ([0; LIMBS], [0; LIMBS]);
                    let mut scratch = vec![0; gmp.secret_scratch_limbs(LIMBS, bits as usize)];
                    gmp.power_secret(
                        &mut left,
                        &base,
                        (&exponent, bits as usize),
                        &odd,
                        &mut scratch,
                    );
                    power(&mut right, &base, (&exponent, bits), &params);
                    assert_eq!(left, right, "{odd:x?} {base:x?} {exponent:x?} {bits}");
                }
            }
        }
    }
}
