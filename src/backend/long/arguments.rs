//! Arguments of the kernels of long rows: the twins of the structs in `kernels/long`.

use bytemuck::{Pod, Zeroable};

/// `Tables` of `kernels/long/transform.cuh`: addresses of the tables of a prime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Tables {
    /// By direction.
    pub(super) twist: [u64; 2],
    /// By direction and pass.
    pub(super) inner: [[u64; 3]; 2],
    pub(super) high: u64,
    pub(super) low: u64,
    pub(super) scale: u32,
    pub(super) padding: u32,
}

/// `Source` of `kernels/long/transform.cuh`: the address of an operand and the limbs of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Source {
    pub(super) limbs: u64,
    pub(super) count: u32,
    pub(super) padding: u32,
}

/// `Transform` of `kernels/long/transform.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Transform {
    pub(super) residues: u64,
    pub(super) source: [Source; 2],
    pub(super) tables: [Tables; 3],
    pub(super) log_points: u32,
    pub(super) low_bits: u32,
    pub(super) rows: u32,
    pub(super) planes: u32,
    pub(super) depth: u32,
    pub(super) second_planes: u32,
    pub(super) second: u64,
}

/// `Parts` of `kernels/long/tiles.cuh`: where the limbs of a row go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Parts {
    /// Addresses of the rows of each part; 0 where its limbs are dropped.
    pub(super) rows: [u64; 2],
    /// Limbs of a row of each part.
    pub(super) limbs: [u64; 2],
}

/// `Carrying` of `kernels/long/tile_kernel.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Carrying {
    pub(super) residues: u64,
    pub(super) ins: [u64; 2],
    pub(super) out: Parts,
    pub(super) edges: u64,
    pub(super) mask: u64,
    pub(super) limbs: u64,
    pub(super) first_row: u64,
    pub(super) rows: u32,
    pub(super) tiles: u32,
    pub(super) planes: u32,
    pub(super) log_points: u32,
    pub(super) is_cyclic: u32,
    pub(super) carry_in: u32,
    pub(super) complement: u32,
    pub(super) broadcast: u32,
}

/// `Folding` of `kernels/long/folds.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Folding {
    pub(super) carrying: Carrying,
    pub(super) moduli: u64,
    pub(super) exponents: u64,
    pub(super) digit: u32,
    pub(super) distance: u32,
    pub(super) again: u32,
    pub(super) padding: u32,
}

/// `Moving` of `kernels/long/moves.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Moving {
    pub(super) ins: [u64; 2],
    pub(super) out: u64,
    pub(super) by_row: u64,
    pub(super) source_limbs: u64,
    pub(super) limbs: u64,
    pub(super) tiles: u32,
    pub(super) distance: u32,
    pub(super) table: u32,
    pub(super) broadcast: u32,
}

/// `Reducing` of `kernels/long/reductions.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Reducing {
    pub(super) ins: [u64; 2],
    pub(super) words: u64,
    pub(super) out: u64,
    pub(super) mask: u64,
    pub(super) status: u64,
    pub(super) limbs: u64,
    pub(super) rows: u32,
    pub(super) tiles: u32,
    pub(super) broadcast: u32,
    pub(super) distance: u32,
}

/// Bytes of an `Edge` of `kernels/long/tiles.cuh`.
pub(super) const EDGE_BYTES: u64 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_the_sizes_of_their_twins() {
        assert_eq!(size_of::<Tables>(), 88);
        assert_eq!(size_of::<Transform>(), 8 + 2 * 16 + 3 * 88 + 32);
        assert_eq!(size_of::<Carrying>(), 120);
        assert_eq!(size_of::<Folding>(), 152);
        assert_eq!(size_of::<Moving>(), 64);
        assert_eq!(size_of::<Reducing>(), 72);
    }
}
