//! Greatest common divisors and inverses.

use gpuint::{BackendKind, Shape};

use crate::setting::{Check, Part, Setting, Tally, is_thorough, masked, on_every_backend, seed};
use gpuint_testkit::operands::{self, EUCLID};
use gpuint_testkit::oracle;

/// Common divisors and inverses, also at the widths that have them by half-gcds only.
struct EveryWidth;

impl Check for EveryWidth {
    const NAME: &str = "gcd, inverse_mod at every width";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let device = &setting.devices()[0];
        // The simt backend takes minutes for half-gcds of whole rows, and the cpu backend for the
        // steps of Euclid's algorithm, which are the same at every width.
        let is_slow = match device.backend() {
            BackendKind::Simt => true,
            BackendKind::Cpu => !is_thorough(),
            _ => false,
        };
        let bits = if is_slow { shape.bits.min(20_000) } else { shape.bits };
        let mut rows = operands::rows(seed(), EUCLID, shape.into(), 0..4);
        for row in &mut rows {
            row.a >>= shape.bits - bits;
            row.b >>= shape.bits - bits;
        }
        Part::run(shape, device, 0, rows, tally, |part| {
            let (a, b) = (part.a()?, part.b()?);
            part.each("gcd", a.gcd(&b)?, |row| oracle::gcd(&row.a, &row.b))?;
            part.each("inverse_mod", a.inverse_mod(&b)?, |row| {
                masked(oracle::inverse_mod(&row.a, &row.b))
            })
        });
    }
}

on_every_backend! { every_width: EveryWidth, }
