//! `mma.sync` on bytes and `ldmatrix`.
//!
//! Fragments of m16n8k32 (and k16) as the ISA lays them out, with g = lane / 4 and
//! t = lane % 4: register q of A holds row g + 8 (q mod 2), columns 4t + 16 (q / 2) + 0..4;
//! register q of B holds rows 4t + 16q + 0..4 of column g; C and D hold row g + 8 (q / 2),
//! column 2t + q mod 2.

use super::Env;
use crate::error::FaultKind;
use crate::instr::{Instr, WarpOp};
use crate::memory::resolve;
use crate::types::{Space, lanes};
use crate::warp::{Trap, Warp};

fn byte(word: u64, k: usize, signed: bool) -> i32 {
    let b = (word >> (8 * k)) as u8;
    if signed { i32::from(b as i8) } else { i32::from(b) }
}

pub(super) fn multiply(warp: &mut Warp, x: &Instr, op: WarpOp) {
    let WarpOp::Mma { k, a_signed, b_signed, sat } = op else {
        return;
    };
    let (a_regs, b_regs) = (usize::from(k) / 8, usize::from(k) / 16);
    let (mut a, mut b) = ([[0i32; 32]; 16], [[0i32; 32]; 8]);
    for lane in 0..32 {
        let (g, t) = (lane / 4, lane % 4);
        for q in 0..a_regs {
            let word = warp.src(x, q)[lane];
            for e in 0..4 {
                a[g + 8 * (q % 2)][4 * t + 16 * (q / 2) + e] = byte(word, e, a_signed);
            }
        }
        for q in 0..b_regs {
            let word = warp.src(x, a_regs + q)[lane];
            for e in 0..4 {
                b[g][4 * t + 16 * q + e] = byte(word, e, b_signed);
            }
        }
    }
    let mut out = [[0u64; 32]; 4];
    for (q, out) in out.iter_mut().enumerate() {
        let c = warp.src(x, a_regs + b_regs + q);
        for lane in 0..32 {
            let (row, column) = (lane / 4 + 8 * (q / 2), 2 * (lane % 4) + q % 2);
            // At most 32 products of 16 bits: no overflow before C is added.
            let dot: i32 = (0..32).map(|k| a[row][k] * b[column][k]).sum();
            let c = c[lane] as i32;
            let sum = if sat { c.saturating_add(dot) } else { c.wrapping_add(dot) };
            out[lane] = u64::from(sum as u32);
        }
    }
    for (q, out) in out.iter().enumerate() {
        warp.rows[x.dst[q] as usize] = *out;
    }
}

impl Env<'_> {
    /// Lanes 8i..8i+8 hold the addresses of the rows of matrix i; lane l gets elements
    /// 2 (l mod 4) and the next of row l / 4 (of its column, transposed).
    pub(super) fn load_matrix(
        &mut self,
        warp: &mut Warp,
        x: &Instr,
        op: WarpOp,
    ) -> Result<(), Trap> {
        let WarpOp::LdMatrix { count, transpose, space } = op else {
            return Ok(());
        };
        let mut addresses = Self::addresses(warp, x, 0, x.offset, space);
        if space == Space::Generic {
            for (lane, address) in addresses.iter_mut().enumerate().take(8 * usize::from(count)) {
                match resolve(*address) {
                    (Space::Shared, offset) => *address = offset,
                    (space, address) => {
                        let kind = FaultKind::OutOfBounds { space, address, bytes: 16 };
                        return Err(Trap::new(lane, kind));
                    }
                }
            }
        }
        let used = crate::types::ones(8 * u32::from(count)) as u32;
        self.matrix_traffic(used, &addresses);
        let mut rows = [[0u8; 16]; 32];
        for lane in lanes(used) {
            rows[lane] = self
                .matrix_row(warp, lane, Space::Shared, addresses[lane])
                .map_err(|kind| Trap::new(lane, kind))?;
        }
        for (i, d) in x.dst.iter().take(usize::from(count)).enumerate() {
            let element = |row: usize, column: usize| {
                let r = &rows[8 * i + row];
                u64::from(u16::from_le_bytes([r[2 * column], r[2 * column + 1]]))
            };
            warp.write(*d, !0, |lane| {
                let (row, column) = (lane / 4, 2 * (lane % 4));
                let (low, high) = match transpose {
                    false => (element(row, column), element(row, column + 1)),
                    true => (element(column, row), element(column + 1, row)),
                };
                low | high << 16
            });
        }
        Ok(())
    }
}
