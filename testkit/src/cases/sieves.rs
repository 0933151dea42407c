//! Kernels of sieves (`kernels/sieve`): strikes of families, divisions of rows, windows above rows.

use std::ops::Range;

use gpuint::num_bigint::BigUint;

use super::machine::Machine;
use crate::launch::{Grid, Grids, Memory, bytes_of};
use crate::oracle;
use crate::random::Random;

/// Root of a prime that divides no number of a family, or all of them.
const NO_ROOT: u32 = u32::MAX;
/// Limit of the primes that a warp strikes: `SievePolicy::WARP_LIMIT` (`kernels/tuning/sieve.cuh`).
const WARP_LIMIT: u32 = 1 << 12;
/// Bits of a window: `SievePolicy::WINDOW_BITS`.
const WINDOW_BITS: usize = 512;
/// Limbs of a number of a family.
const LENGTH: usize = 4;

/// Launches with the expected bytes of each result.
struct Case {
    grids: Grids,
    expected: Vec<Vec<u8>>,
    /// Bits of the last result.
    last_bits: usize,
    rows: usize,
}

/// Checks a kernel of sieves in each of `turns` schedules; `None` for another kernel.
pub(super) fn check(
    machine: &mut impl Machine,
    kernel: &str,
    turns: Range<usize>,
    random: &mut Random,
) -> Option<Result<usize, Vec<String>>> {
    let draw = match kernel.strip_prefix("gpuint_long_sieve_")? {
        "roots" | "segments" | "large" => strikes,
        "rows" => divisions,
        "windows" => windows,
        _ => return None,
    };
    let (mut rows, mut wrong) = (0, Vec::new());
    for variant in 0..4 {
        let case = draw(machine, variant, random);
        for turn in turns.clone() {
            rows += case.rows;
            let place = format!("{kernel}: variant {variant}, schedule {turn}");
            match machine.launch_grids(&case.grids, turn) {
                Ok(results) => wrong.extend(case.wrong(results).map(|e| format!("{place}: {e}"))),
                Err(fault) => wrong.push(format!("{place}: {fault}")),
            }
        }
    }
    Some(if wrong.is_empty() { Ok(rows) } else { Err(wrong) })
}

impl Case {
    /// Errors of results, each with its first wrong byte.
    fn wrong(&self, mut results: Vec<Vec<u8>>) -> impl Iterator<Item = String> {
        if let Some(last) = results.last_mut() {
            // The bits of the last word beyond are not determined.
            let value = BigUint::from_bytes_le(last);
            let bytes =
                bytes_of([crate::operands::low(value, self.last_bits)].iter(), 8 * last.len());
            *last = bytes;
        }
        let all = self.expected.iter().zip(results).enumerate();
        all.filter_map(|(index, (expected, got))| {
            let byte = expected.iter().zip(&got).position(|(a, b)| a != b);
            let is_short = expected.len() != got.len();
            (is_short || byte.is_some())
                .then(|| format!("result {index} is wrong at byte {byte:?}"))
        })
    }
}

fn words_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Bytes of a mask.
fn bits_of(bits: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut words = vec![0u32; bits.len().div_ceil(32)];
    for (index, bit) in bits.enumerate() {
        words[index / 32] |= u32::from(bit) << (index % 32);
    }
    words_of(&words)
}

/// Adds a launch with these arguments for an amount of work, unless there is none.
fn launch(
    grids: &mut Grids,
    machine: &mut impl Machine,
    name: &str,
    addresses: &[u64],
    words: &[u32],
    work: usize,
) {
    let kernel = format!("gpuint_long_sieve_{name}");
    let rows_per_block = machine.rows_per_block(&kernel).unwrap_or(1);
    let mut arguments: Vec<u8> = addresses.iter().flat_map(|word| word.to_le_bytes()).collect();
    arguments.extend(words_of(words));
    if work > 0 {
        let blocks = work.div_ceil(rows_per_block) as u32;
        grids.launches.push(Grid { kernel, arguments, blocks });
    }
}

/// Odd primes from 3 on.
fn odd_primes(limit: u32) -> Vec<u32> {
    let is_prime =
        |n: &u32| (3..).step_by(2).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (3..limit).step_by(2).filter(is_prime).collect()
}

/// Numbers `first + i step`.
#[derive(Clone, Copy)]
struct Family {
    first: i128,
    step: i128,
}

impl Family {
    fn number(self, index: usize) -> i128 {
        self.first + self.step * index as i128
    }

    /// Small numbers of both signs, long ones, or numbers with common factors.
    fn draw(random: &mut Random, kind: usize) -> Self {
        let is_falling = random.one_in(2);
        let mut number = |bits: u32| {
            let value = i128::from(random.word() >> (64 - bits));
            if random.one_in(2) { value } else { -value }
        };
        match kind {
            0 => {
                // Primes of the sieve are among the numbers.
                let (first, step) = (number(8), 2 * number(4).abs() + 1);
                match is_falling {
                    false => Self { first, step },
                    true => Self { first: first + 500 * step, step: -step },
                }
            }
            1 => Self { first: number(60) * number(50), step: number(60) },
            2 => Self { first: 15 * 7 * number(50), step: 35 * 11 * number(20) },
            _ => Self { first: number(40), step: 2 * number(33) + 1 },
        }
    }

    /// First index with a multiple of a prime, or [`NO_ROOT`] if the prime divides the step.
    fn root(self, prime: u32) -> u32 {
        let p = i128::from(prime);
        if self.step % p == 0 {
            return NO_ROOT;
        }
        let [first, step] = [self.first, self.step].map(|n| BigUint::from(n.rem_euclid(p) as u64));
        let p = BigUint::from(prime);
        let inverse = oracle::inverse_mod(&step, &p).expect("the modulus is prime");
        let root = oracle::mul_mod(&(&p - first), &inverse, &p);
        u32::try_from(root).expect("residues are below the prime")
    }

    /// `Family` of `kernels/sieve/family.cuh`.
    fn record(self, bits: usize) -> Vec<u8> {
        let is_small = |&i: &usize| (2..1 << 32).contains(&self.number(i));
        let first = (0..bits).find(is_small);
        let count = first.map_or(0, |first| (first..bits).take_while(is_small).count());
        let value = first.map_or(0, |first| self.number(first) as u64);
        let step = if count > 1 { self.step as u64 } else { 0 };
        let is_opposite = u32::from((self.first < 0) != (self.step < 0));
        let words = [first.unwrap_or(0) as u32, count as u32, is_opposite, 0];
        [&value.to_le_bytes()[..], &step.to_le_bytes(), &words_of(&words)].concat()
    }

    /// Absolute values of first number and step.
    fn limbs(self) -> Vec<u8> {
        let numbers = [self.first, self.step].map(|number| number.unsigned_abs().to_le_bytes());
        numbers.concat()
    }
}

/// Strikes of one family to three, in two segments and in a part of one.
fn strikes<M: Machine>(machine: &mut M, variant: usize, random: &mut Random) -> Case {
    let segment = machine.rows_per_block("gpuint_long_sieve_segments").unwrap_or(1 << 18);
    let bits = if variant == 0 { segment + 77 } else { 700 + random.below(2000) };
    // Whole segments have a family without small numbers, whose tiny primes strike by patterns.
    let least = if variant == 0 { 2 } else { 1 };
    let families: Vec<Family> = (0..least + random.below(4 - least))
        .map(|family| Family::draw(random, (variant + family) % 4))
        .collect();
    let large = [65_537, 262_139, 262_147, 1_000_003, 2_147_483_647, 4_294_967_291];
    let primes: Vec<u32> = odd_primes(5000).into_iter().chain(large).collect();
    let (mut struck, mut roots, mut common) = (vec![false; bits], Vec::new(), Vec::new());
    for family in &families {
        let divides_all = |p: &&u32| {
            let p = i128::from(**p);
            family.first % p == 0 && family.step % p == 0
        };
        common.push(primes.iter().find(divides_all).copied().unwrap_or(u32::MAX));
        for &prime in &primes {
            let root = family.root(prime);
            roots.push(root);
            let hits = (root as usize..bits).step_by(prime as usize);
            for index in hits.filter(|&index| family.number(index) != i128::from(prime)) {
                struck[index] = true;
            }
        }
    }
    let mut grids = Grids::default();
    let list = grids.add(Memory::of(&words_of(&primes)));
    let bytes = 4 * roots.len();
    let root = grids.add(Memory { bytes, content: vec![], is_result: true });
    let of_families = |of: fn(&Family) -> Vec<u8>| families.iter().flat_map(of).collect::<Vec<_>>();
    let limbs = grids.add(Memory::of(&of_families(|family| family.limbs())));
    let records: Vec<u8> = families.iter().flat_map(|family| family.record(bits)).collect();
    let table = grids.add(Memory::of(&records));
    let least = grids.add(Memory::result_of(&vec![0xff; 4 * families.len()]));
    let words = grids.add(Memory::result_of(&vec![0xff; 4 * bits.div_ceil(32)]));
    let below = |limit: u32| primes.partition_point(|&prime| prime < limit);
    let of_segments = below(segment as u32);
    let addresses = [list, root, limbs, table, least, words];
    let counts =
        [primes.len(), families.len(), LENGTH, bits, below(32), below(WARP_LIMIT), of_segments, 0]
            .map(|count| count as u32);
    for (name, work) in
        [("roots", primes.len()), ("segments", bits), ("large", primes.len() - of_segments)]
    {
        launch(&mut grids, machine, name, &addresses, &counts, work);
    }
    let expected =
        vec![words_of(&roots), words_of(&common), bits_of(struck.iter().map(|struck| !struck))];
    Case { grids, expected, last_bits: bits, rows: families.len() }
}

/// Products below 2^32 of consecutive primes, with their ends.
fn products(primes: &[u32], most: u64) -> (Vec<u32>, Vec<u32>) {
    let (mut moduli, mut ends) = (Vec::<u32>::new(), Vec::new());
    for (index, &prime) in primes.iter().enumerate() {
        match moduli.last_mut() {
            Some(last) if u64::from(*last) * u64::from(prime) < most => *last *= prime,
            _ => {
                moduli.push(prime);
                ends.push(0);
            }
        }
        *ends.last_mut().expect("there is a product") = index as u32 + 1;
    }
    (moduli, ends)
}

/// Memory of rows, products, ends, primes and factors, in this order.
fn lists(
    grids: &mut Grids,
    rows: &[BigUint],
    limbs: usize,
    primes: &[u32],
    factor: impl Fn(&BigUint, &BigUint) -> BigUint,
) -> ([u64; 5], usize) {
    let (moduli, ends) = products(primes, 1 << 32);
    let power = crate::operands::power(32 * limbs);
    let factors: Vec<u32> = primes
        .iter()
        .map(|&p| u32::try_from(factor(&power, &p.into())).expect("factors are residues"))
        .collect();
    let rows = grids.add(Memory::of(&bytes_of(rows.iter(), 32 * limbs)));
    let [a, b, c, d] = [&moduli, &ends, &primes.to_vec(), &factors]
        .map(|list| grids.add(Memory::of(&words_of(list))));
    ([rows, a, b, c, d], moduli.len())
}

/// Rows n, alone and with 2 n + 1: random, primes of the list, their halves and products.
fn divisions<M: Machine>(machine: &mut M, variant: usize, random: &mut Random) -> Case {
    let (limbs, is_joint, count) = ([1, 3][variant / 2], variant % 2, 37);
    let primes: Vec<u32> = odd_primes(2000).into_iter().chain([65_537, 4_294_967_291]).collect();
    let number = |_| {
        let prime = random.pick(&primes);
        match random.below(8) {
            0 => BigUint::from(random.below(4)),
            1 => prime.into(),
            2 => (prime / 2).into(),
            3 => BigUint::from(random.pick(&primes)) * (prime % 997),
            4 => BigUint::from(2_147_483_647u32),
            _ => random.bits(32 * limbs),
        }
    };
    let rows: Vec<BigUint> =
        (0..count).map(number).map(|n| crate::operands::low(n, 32 * limbs)).collect();
    let has_factor = |n: &BigUint| {
        let divides = |p: u32| *n != BigUint::from(p) && n % p == BigUint::ZERO;
        divides(2) || primes.iter().any(|&p| divides(p))
    };
    let is_marked =
        |n: &BigUint| has_factor(n) || (is_joint == 1 && has_factor(&(n * 2u32 + 1u32)));
    let expected = bits_of(rows.iter().map(is_marked));
    let mut grids = Grids::default();
    let inverse = |power: &BigUint, p: &BigUint| {
        oracle::inverse_mod(&(power % p), p).expect("the modulus is an odd prime")
    };
    let (lists, moduli) = lists(&mut grids, &rows, limbs, &primes, inverse);
    let mask = grids.add(Memory::result_of(&vec![0; expected.len()]));
    let addresses = [&lists[..], &[mask, count as u64]].concat();
    let words = [limbs as u32, moduli as u32, is_joint as u32, 0];
    launch(&mut grids, machine, "rows", &addresses, &words, count);
    Case { grids, expected: vec![expected], last_bits: count, rows: count }
}

/// Windows above rows that exceed the primes.
fn windows<M: Machine>(machine: &mut M, variant: usize, random: &mut Random) -> Case {
    let (limbs, count) = ([1, 2, 5, 8][variant], 19);
    let primes: Vec<u32> = odd_primes(1500).into_iter().chain([32_771, 65_521]).collect();
    let rows: Vec<BigUint> =
        (0..count).map(|_| random.bits(32 * limbs) | BigUint::from(1u32 << 17)).collect();
    let starts: Vec<u64> = (0..count).map(|_| random.word() >> random.between(1, 63)).collect();
    let number = |bit: usize| {
        let (row, place) = (bit / WINDOW_BITS, bit % WINDOW_BITS);
        &rows[row] + starts[row] + 2 * place
    };
    let is_struck = |n: BigUint| primes.iter().any(|&p| &n % p == BigUint::ZERO);
    let expected = bits_of((0..count * WINDOW_BITS).map(number).map(is_struck));
    let mut grids = Grids::default();
    let (lists, moduli) = lists(&mut grids, &rows, limbs, &primes, |power, p| power % p);
    let start = grids.add(Memory::of(bytemuck::cast_slice(&starts)));
    let (bytes, last_bits) = (expected.len(), count * WINDOW_BITS);
    let words = grids.add(Memory { bytes, content: vec![], is_result: true });
    let addresses = [&lists[..], &[start, words, count as u64]].concat();
    launch(&mut grids, machine, "windows", &addresses, &[limbs as u32, moduli as u32], count);
    Case { grids, expected: vec![expected], last_bits, rows: count }
}
