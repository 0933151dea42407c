//! Files of keys for `gpuint batch-gcd`: numbers of one width of which none share a factor, but for
//! planted pairs.
//!
//! Random numbers share small primes, and millions of primes take minutes. A key here is the
//! product of two *halves* `h(i) = A i + 1` for indices `i` in `[first, first + count)`, where `A`
//! is the product of the primes up to a limit. A prime that divides two halves divides `A (i - j)`,
//! and not `A`, as `h = 1` modulo its primes. So it divides `i - j`, and is below `count`. A sieve
//! removes all indices whose half has a prime factor below `count`: the halves that remain are
//! coprime.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use gpuint::num_bigint::BigUint;
use gpuint::sieve::primes;
use num_integer::Integer;
use rayon::prelude::*;

/// Bits of an index at most.
const INDEX_BITS: u64 = 32;

/// Keys of `bits` bits, products of halves.
pub(crate) struct CoprimeKeys {
    /// `A`.
    step: BigUint,
    first: u64,
    /// Indices of the halves, less `first`.
    indices: Vec<u32>,
    keys: usize,
    pairs: usize,
    bits: u64,
}

impl CoprimeKeys {
    /// Makes `keys` keys of `bits` bits, a multiple of 8 from 128 on, of which `pairs` pairs share
    /// a half: at most half of the keys.
    ///
    /// # Errors
    /// Another width, or too many keys for it.
    pub(crate) fn new(keys: usize, bits: u64, pairs: usize) -> Result<Self, String> {
        if bits < 128 || !bits.is_multiple_of(8) {
            return Err(format!("no coprime keys of {bits} bits: not a multiple of 8 from 128 on"));
        }
        let half = bits / 2;
        let mut step = BigUint::from(1u32);
        let mut limit = 1;
        for prime in primes(2..1 << 20) {
            let next = &step * prime;
            // All halves together grow by less than 2^(half - 2).
            if next.bits() + INDEX_BITS + 3 > half {
                break;
            }
            (step, limit) = (next, prime);
        }
        // Halves begin with the bits 11: products of two have all their bits.
        let first = (BigUint::from(3u32) << (half - 2)) / &step + 1u32;
        let mut count = 4 * keys as u64 + 64;
        let indices = loop {
            if count >> INDEX_BITS > 0 {
                return Err(format!("too many keys of {bits} bits"));
            }
            let indices = coprime_indices(&step, &first, limit, count);
            if indices.len() >= 2 * keys {
                break indices;
            }
            count += count / 2;
        };
        let first = u64::try_from(&first).unwrap_or_else(|_| unreachable!("less than 2^64"));
        Ok(Self { step, first, indices, keys, pairs, bits })
    }

    /// Number of pairs of keys that share a half.
    pub(crate) fn pairs(&self) -> usize {
        self.pairs
    }

    /// Returns a half.
    fn half(&self, place: usize) -> BigUint {
        &self.step * (self.first + u64::from(self.indices[place])) + 1u32
    }

    /// Returns a key. The keys `i` and `keys - 1 - i` are a pair for each `i` below `pairs`.
    pub(crate) fn key(&self, key: usize) -> BigUint {
        let mirror = self.keys - 1 - key;
        let shared = if mirror < self.pairs { mirror } else { key };
        self.half(2 * shared) * self.half(2 * key + 1)
    }

    /// Writes the keys as hexadecimal lines, by all threads.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        /// Lines of a call of the system.
        const LINES: usize = 4096;
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let line = self.bits as usize / 4 + 1;
        let file = File::create(path)?;
        file.set_len((self.keys * line) as u64)?;
        (0..self.keys.div_ceil(LINES)).into_par_iter().try_for_each(|block| {
            let keys = block * LINES..((block + 1) * LINES).min(self.keys);
            let mut text = Vec::with_capacity(keys.len() * line);
            for key in keys {
                for byte in self.key(key).to_bytes_be() {
                    text.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
                }
                text.push(b'\n');
            }
            file.write_all_at(&text, (block * LINES * line) as u64)
        })
    }
}

/// Returns the indices below `count` whose halves have no prime factor below `count`. Primes up to
/// `limit` divide `step`.
fn coprime_indices(step: &BigUint, first: &BigUint, limit: u64, count: u64) -> Vec<u32> {
    /// Indices of a part of the sieve: bytes in the cache of a core.
    const PART: usize = 1 << 20;
    let primes: Vec<u64> = primes(limit + 1..count).collect();
    // The lowest index at which each prime divides: `A (first + i) = -1` modulo the prime.
    let strike = |&prime: &u64| {
        let rest = |number: &BigUint| i64::try_from(number % prime).unwrap_or(0);
        let inverse = rest(step).extended_gcd(&(prime as i64)).x;
        (prime, (-inverse - rest(first)).rem_euclid(prime as i64) as u64)
    };
    let strikes: Vec<(u64, u64)> = primes.par_iter().map(strike).collect();
    let mut is_struck = vec![false; count as usize];
    is_struck.par_chunks_mut(PART).enumerate().for_each(|(part, flags)| {
        let start = (part * PART) as u64;
        for &(prime, lowest) in &strikes {
            let before = start.saturating_sub(lowest).div_ceil(prime);
            let mut index = lowest + before * prime - start;
            while let Some(flag) = flags.get_mut(index as usize) {
                *flag = true;
                index += prime;
            }
        }
    });
    let whole = is_struck.iter().enumerate().filter(|&(_, &is_struck)| !is_struck);
    whole.map(|(index, _)| index as u32).collect()
}

/// Checks all pairs of few keys, and the lines of a file.
///
/// # Panics
/// If a pair has another divisor, or the file has other lines.
pub(crate) fn check() {
    for (count, bits, pairs) in [(2, 128, 1), (90, 136, 45), (120, 2048, 3)] {
        let keys = CoprimeKeys::new(count, bits, pairs).unwrap_or_else(|error| panic!("{error}"));
        let all: Vec<BigUint> = (0..count).map(|key| keys.key(key)).collect();
        for (row, key) in all.iter().enumerate() {
            assert_eq!(key.bits(), bits);
            for (other, number) in all.iter().enumerate().filter(|it| it.0 != row) {
                let is_pair = row + other + 1 == count && row.min(other) < pairs;
                assert_eq!(key.gcd(number) > BigUint::from(1u32), is_pair, "{row} {other}");
            }
        }
        let path = std::env::temp_dir().join(format!("gpuint-keys-{}", std::process::id()));
        keys.write(&path).unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(&path);
        assert!(
            text.lines()
                .map(|line| BigUint::parse_bytes(line.as_bytes(), 16))
                .eq(all.into_iter().map(Some))
        );
    }
}
