//! Random numbers, the same on every machine.

use gpuint::num_bigint::BigUint;
use num_traits::One;

/// SplitMix64: every state is good, so any seed may be used.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed);
        random.word();
        random
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.word()) * bound as u128) >> 64) as usize
    }

    /// A number from `low` to `high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub fn pick<V: Copy>(&mut self, values: &[V]) -> V {
        values[self.below(values.len())]
    }

    /// From 0 to 1, exclusive.
    pub fn place(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform from 0 to `2^bits - 1`.
    pub fn bits(&mut self, bits: usize) -> BigUint {
        let words = (0..bits.div_ceil(32)).map(|_| (self.word() >> 32) as u32).collect();
        let value = BigUint::new(words);
        if value.bits() <= bits as u64 { value } else { value & ((BigUint::one() << bits) - 1u32) }
    }

    /// A number of exactly `bits` bits, in whole bytes: the top byte is not 0.
    pub fn full(&mut self, bits: usize) -> BigUint {
        let mut bytes = Vec::new();
        while bytes.len() < bits / 8 {
            bytes.extend(self.word().to_le_bytes());
        }
        bytes.truncate(bits / 8);
        if let Some(top) = bytes.last_mut() {
            *top = (*top).max(1);
        }
        BigUint::from_bytes_le(&bytes)
    }
}
