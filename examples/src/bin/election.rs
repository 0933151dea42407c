//! Checks the record of an election: every encrypted selection is a vote of 0 or 1, and the product
//! of all ciphertexts is the encryption of the announced tally.
//!
//! A selection of vote `v` is encrypted by ElGamal's scheme with exponents in the base of the
//! public key, and proved to be 0 or 1 without telling which (R. Cramer, I. Damgard, B.
//! Schoenmakers, CRYPTO '94; D. Chaum, T. Pedersen, CRYPTO '92), as in the ElectionGuard
//! specification 2.0 (J. Benaloh, M. Naehrig):
//!
//! ```text
//! alpha = g^r, beta = K^(r + v)                         modulo p, K = g^s
//! a_j = g^(v_j) alpha^(c_j), b_j = K^(w_j) beta^(c_j)   j = 0, 1, w_j = v_j - j c_j modulo q
//! c_0 + c_1 = SHA-256(K, alpha, beta, a_0, b_0, a_1, b_1) modulo q
//! ```
//!
//! The check reads `alpha`, `beta`, `c_j`, `v_j` and computes `a_j`, `b_j`: four powers of the
//! bases `g` and `K`, four of `alpha` and `beta` and four products for each selection. Two more
//! powers show that `alpha` and `beta` have order `q`. All of these numbers are public.
//!
//! The group of the example has `q = 2^256 - 189`, and `p` is the largest prime of 4096 bits that
//! is 1 modulo `q`. A real election takes the parameters of its specification. The record is made
//! up here, by random numbers from a fixed seed, and with keys that are no secrets.
//!
//! `cargo run --release --package gpuint-examples --bin election -- --help`

use std::error::Error;
use std::time::Instant;

use clap::Parser;
use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Device, Divisor, FixedBase, GpuUint};
use gpuint_examples::Backend;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

type Element = GpuUint<4096>;
type Result<T> = gpuint::Result<T>;

/// `2^4096 - p`.
const BELOW: &str =
    "7989654157374817484226397965599465641875631592801863476457055539590174355431503";

/// Checks a record of encrypted selections, then one with three of them changed.
#[derive(Debug, Parser)]
struct Options {
    /// Number of selections.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(4..))]
    rows: u32,
    /// Device [default: the first GPU, else the CPU]
    #[arg(long)]
    backend: Option<Backend>,
}

/// Subgroup of order `q` modulo `p`, with the powers of its generator and of the public key.
struct Group {
    device: Device,
    p: BigUint,
    q: BigUint,
    modulus: Divisor<Element>,
    generator: FixedBase<Element>,
    key: FixedBase<Element>,
    key_bytes: Vec<u8>,
}

impl Group {
    fn new(device: &Device, secret: &BigUint) -> Result<Self> {
        let one = BigUint::from(1u32);
        let q = (&one << 256) - 189u32;
        let p = (&one << 4096) - BELOW.parse::<BigUint>().expect("a number");
        let g = BigUint::from(2u32).modpow(&((&p - 1u32) / &q), &p);
        let key = g.modpow(secret, &p);
        Ok(Self {
            device: device.clone(),
            modulus: Divisor::splat(device, &p)?,
            generator: FixedBase::new(device, &g, &p, 256)?,
            key: FixedBase::new(device, &key, &p, 256)?,
            key_bytes: key.to_bytes_be(),
            p,
            q,
        })
    }

    /// `x + y z` modulo the order, row by row.
    fn combine(&self, x: &[BigUint], y: &[BigUint], z: &[BigUint]) -> Vec<BigUint> {
        let rows = x.par_iter().zip(y).zip(z);
        rows.map(|((x, y), z)| (x + y * z) % &self.q).collect()
    }

    fn negated(&self, x: &[BigUint]) -> Vec<BigUint> {
        x.iter().map(|x| (&self.q - x) % &self.q).collect()
    }

    /// `power base^exponents` modulo `p`, row by row.
    fn with_power(
        &self,
        power: &Batch<Element>,
        base: &Batch<Element>,
        exponents: &[BigUint],
    ) -> Result<Batch<Element>> {
        power.mul_mod(&base.pow_mod_rows(exponents, &self.modulus)?, &self.modulus)
    }

    /// Returns the product of all rows modulo `p`.
    fn product(&self, rows: &Batch<Element>) -> Result<BigUint> {
        let mut rows = rows.slice(0..rows.len())?;
        while rows.len() > 1 {
            let half = rows.len() / 2;
            let product = rows.slice(0..half)?;
            let product = product.mul_mod(&rows.slice(half..2 * half)?, &self.modulus)?;
            rows = Batch::concat(&[&product, &rows.slice(2 * half..rows.len())?])?;
        }
        rows.row(0)
    }

    /// Returns the hashes of the key and of the rows of all batches, modulo the order.
    fn challenges(&self, batches: [&Batch<Element>; 6]) -> Result<Vec<BigUint>> {
        const BYTES: usize = 4096 / 8;
        let columns: Vec<Vec<u8>> =
            batches.into_iter().map(Batch::to_be_bytes).collect::<Result<_>>()?;
        let hash = |row: usize| {
            let mut hash = Sha256::new_with_prefix(&self.key_bytes);
            columns.iter().for_each(|column| hash.update(&column[row * BYTES..][..BYTES]));
            BigUint::from_bytes_be(&hash.finalize()) % &self.q
        };
        Ok((0..batches[0].len()).into_par_iter().map(hash).collect())
    }
}

/// Encrypted selections with their proofs, and the announced sum of the votes.
struct Record {
    alpha: Batch<Element>,
    beta: Batch<Element>,
    challenges: [Vec<BigUint>; 2],
    responses: [Vec<BigUint>; 2],
    tally: u32,
}

impl Record {
    /// Encrypts random votes, and proves that they are 0 or 1.
    fn make(group: &Group, rows: usize, random: &mut SmallRng) -> Result<Self> {
        let mut numbers = || -> Vec<BigUint> {
            let mut number = || {
                let words = (0..8).map(|_| random.next_u32()).collect();
                BigUint::new(words) % &group.q
            };
            (0..rows).map(|_| number()).collect()
        };
        let [nonces, real, simulated, others] = [(); 4].map(|()| numbers());
        let votes: Vec<usize> = (0..rows).map(|_| (random.next_u32() % 2) as usize).collect();
        let vote = |row: usize| BigUint::from(votes[row]);
        // The exponent of the key in beta.
        let sums: Vec<BigUint> =
            (0..rows).map(|row| (&nonces[row] + vote(row)) % &group.q).collect();
        // The branch j != v has a chosen challenge c and response u: a_j = g^(u + c r),
        // b_j = K^(u - j c + c (r + v)). The other one commits to g^u and K^u.
        let simulated_a = group.combine(&others, &simulated, &nonces);
        let signs: Vec<BigUint> = (0..rows)
            .map(
                |row| {
                    if votes[row] == 0 { &sums[row] + &group.q - 1u32 } else { sums[row].clone() }
                },
            )
            .collect();
        let simulated_b = group.combine(&others, &simulated, &signs);
        // A column of a branch: of the rows with this vote, and of the others.
        let choose = |branch: usize, real: &[BigUint], simulated: &[BigUint]| -> Vec<BigUint> {
            let row = |row: usize| if votes[row] == branch { &real[row] } else { &simulated[row] };
            (0..rows).map(row).cloned().collect()
        };
        let [alpha, beta] = [group.generator.pow_rows(&nonces)?, group.key.pow_rows(&sums)?];
        let a = |branch| group.generator.pow_rows(&choose(branch, &real, &simulated_a));
        let b = |branch| group.key.pow_rows(&choose(branch, &real, &simulated_b));
        let hashes = group.challenges([&alpha, &beta, &a(0)?, &b(0)?, &a(1)?, &b(1)?])?;

        let negative = group.negated(&simulated);
        let ones = vec![BigUint::from(1u32); rows];
        let real_challenges = group.combine(&hashes, &negative, &ones);
        let real_responses = group.combine(&real, &group.negated(&real_challenges), &nonces);
        Ok(Self {
            alpha,
            beta,
            challenges: [0, 1].map(|branch| choose(branch, &real_challenges, &simulated)),
            responses: [0, 1].map(|branch| choose(branch, &real_responses, &others)),
            tally: votes.iter().sum::<usize>() as u32,
        })
    }

    /// Returns the selections whose proofs do not hold.
    fn wrong(&self, group: &Group) -> Result<Vec<usize>> {
        let Self { alpha, beta, challenges, responses, .. } = self;
        let commitments = |branch: usize| {
            let (c, v) = (&challenges[branch], &responses[branch]);
            let w = if branch == 0 {
                v.clone()
            } else {
                group.combine(v, &group.negated(c), &vec![BigUint::from(1u32); c.len()])
            };
            let a = group.with_power(&group.generator.pow_rows(v)?, alpha, c)?;
            let b = group.with_power(&group.key.pow_rows(&w)?, beta, c)?;
            Result::Ok((a, b))
        };
        let ((a0, b0), (a1, b1)) = (commitments(0)?, commitments(1)?);
        let hashes = group.challenges([alpha, beta, &a0, &b0, &a1, &b1])?;
        let one = BigUint::from(1u32);
        let in_group = |rows: &Batch<Element>| {
            rows.pow_mod_all(&group.q, &group.modulus)?.eq_mask_all(&one)?.to_bools()
        };
        let (is_alpha, is_beta) = (in_group(alpha)?, in_group(beta)?);
        let is_wrong = |&row: &usize| {
            let sum = (&challenges[0][row] + &challenges[1][row]) % &group.q;
            !(is_alpha[row] && is_beta[row] && sum == hashes[row])
        };
        Ok((0..hashes.len()).filter(is_wrong).collect())
    }

    /// Decrypts the product of all selections: `prod beta = K^tally (prod alpha)^s`.
    fn has_tally(&self, group: &Group, secret: &BigUint) -> Result<bool> {
        let [alpha, beta] = [group.product(&self.alpha)?, group.product(&self.beta)?];
        let alpha = Batch::<Element>::from_biguints(&group.device, &[alpha])?;
        let tally = group.key.pow_rows(&[self.tally.into()])?;
        Ok(group.with_power(&tally, &alpha, std::slice::from_ref(secret))?.row(0)? == beta)
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let Options { rows, backend } = Options::parse();
    gpuint_examples::start_log()?;
    let rows = rows as usize;
    let device = gpuint_examples::open(backend)?;
    let mut random = SmallRng::seed_from_u64(1);
    let secret = BigUint::new((0..7).map(|_| random.next_u32()).collect());
    let group = Group::new(&device, &secret)?;

    let start = Instant::now();
    let mut record = Record::make(&group, rows, &mut random)?;
    println!("{device}: {rows} selections encrypted and proved in {:.2?}", start.elapsed());
    let start = Instant::now();
    let wrong = record.wrong(&group)?;
    println!("{} selections right in {:.2?}", rows - wrong.len(), start.elapsed());
    let start = Instant::now();
    let has_tally = record.has_tally(&group, &secret)?;
    if !wrong.is_empty() || !has_tally {
        return Err(format!("wrong selections: {wrong:?}, tally right: {has_tally}").into());
    }
    println!("tally of {} votes right in {:.2?}", record.tally, start.elapsed());

    // A response and a challenge change, and a vote is counted for three.
    record.responses[0][0] += 1u32;
    record.challenges[1][rows / 2] += 1u32;
    let two = group.key.pow_rows(&[BigUint::from(2u32)])?.row(0)?;
    let mut beta = record.beta.to_biguints()?;
    beta[rows - 1] = &beta[rows - 1] * two % &group.p;
    record.beta = Batch::from_biguints(&device, &beta)?;
    let found = record.wrong(&group)?;
    println!("changed selections found: {found:?}");
    if found != [0, rows / 2, rows - 1] || record.has_tally(&group, &secret)? {
        return Err("a changed selection was not found".into());
    }
    Ok(())
}
