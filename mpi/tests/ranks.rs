//! Scatter and gather between ranks that `mpirun` starts.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Device, DynBatch, Error};
use gpuint_mpi::Ranks;
use mpi::environment::{Threading, initialize_with_threading};
use mpi::traits::CommunicatorCollectives;

/// Set in the processes that `mpirun` starts: the folder in which each leaves a file at its end.
const VARIABLE: &str = "GPUINT_TEST_RANKS";

/// Runs a test in as many ranks.
fn with_ranks(count: usize, name: &str, test: impl FnOnce(Ranks)) {
    if let Some(ended) = env::var_os(VARIABLE) {
        let (universe, _) = initialize_with_threading(Threading::Funneled).unwrap();
        let ranks = Ranks::over(&universe.world());
        let rank = ranks.rank();
        test(ranks);
        universe.world().barrier();
        fs::write(Path::new(&ended).join(rank.to_string()), "").unwrap();
        return;
    }
    // Not counted in their output: lines of several ranks mix.
    let ended = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&ended);
    fs::create_dir_all(&ended).unwrap();
    let output = Command::new("mpirun")
        .args(["--oversubscribe", "-n", &count.to_string()])
        .arg(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(VARIABLE, &ended)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{words}");
    assert_eq!(fs::read_dir(&ended).unwrap().count(), count, "{words}");
}

/// Every rank changes its part, and rank 0 gets all parts in order.
fn changes_return_in_order(ranks: &Ranks) {
    for (rows, row_bytes) in [(0, 8), (1, 8), (3, 8), (4, 128), (1001, 32), (7, 100_000)] {
        let source: Vec<u8> = (0..rows * row_bytes).map(|at| (at * 31 + at / 251) as u8).collect();
        let mut all = if ranks.is_root() { source.clone() } else { Vec::new() };
        let mut part = vec![0; ranks.share(rows, ranks.rank()).len() * row_bytes];
        ranks.scatter(rows, row_bytes, &all, &mut part).unwrap();
        let start = ranks.share(rows, ranks.rank()).start * row_bytes;
        assert!(part == source[start..][..part.len()], "{rows} {row_bytes}");
        part.iter_mut().for_each(|byte| *byte = !*byte);
        all.fill(0);
        ranks.gather(rows, row_bytes, &part, &mut all).unwrap();
        if ranks.is_root() {
            assert!(all.iter().zip(&source).all(|(new, old)| *new == !*old), "{rows} {row_bytes}");
        }
    }
}

#[test]
fn parts_go_to_the_ranks_and_back_in_order() {
    with_ranks(4, "parts_go_to_the_ranks_and_back_in_order", |ranks| {
        assert_eq!(ranks.count(), 4);
        changes_return_in_order(&ranks);
        // Messages that end within rows.
        let ranks = ranks.with_messages_of(1000);
        changes_return_in_order(&ranks);
        let wrong =
            Err(Error::LengthMismatch { left: if ranks.is_root() { 80 } else { 0 }, right: 9 });
        assert_eq!(ranks.scatter(10, 8, &[0; 9], &mut []), wrong);
        let device = ranks.open_device().unwrap();
        assert!(matches!(device.backend(), BackendKind::Cpu | BackendKind::Cuda));
    });
}

#[test]
fn one_rank_has_all_rows() {
    with_ranks(1, "one_rank_has_all_rows", |ranks| {
        assert_eq!((ranks.count(), ranks.is_root()), (1, true));
        changes_return_in_order(&ranks);
    });
}

#[test]
fn shares_cover_all_rows_evenly() {
    with_ranks(3, "shares_cover_all_rows_evenly", |ranks| {
        for rows in [0, 1, 2, 3, 100, usize::MAX] {
            let shares: Vec<_> = (0..3).map(|rank| ranks.share(rows, rank)).collect();
            assert_eq!((shares[0].start, shares[2].end), (0, rows));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(shares.iter().all(|share| share.len().abs_diff(rows / 3) <= 1));
        }
    });
}

#[test]
fn ranks_find_the_common_divisors_of_all_rows() {
    with_ranks(4, "ranks_find_the_common_divisors_of_all_rows", |ranks| {
        // Messages that end within products.
        let ranks = ranks.with_messages_of(100);
        // Most primes are in keys of two ranks; the last rank has none.
        let keys: Vec<BigUint> = (0..63u32).map(|key| BigUint::from(6 * key + 5).pow(9)).collect();
        let all = DynBatch::fitting(&Device::cpu(), &keys).unwrap();
        let expected = all.batch_gcd().unwrap().to_biguints().unwrap();
        let part = (21 * ranks.rank()).min(63)..(21 * ranks.rank() + 21).min(63);
        let rows = all.slice(part.clone()).unwrap();
        let found = ranks.batch_gcd(&rows).unwrap();
        assert_eq!(found.divisors.to_biguints().unwrap(), expected[part.clone()]);
        // Each rank receives the rows of the others once, and a product has no more bits.
        let bits = |keys: &[BigUint]| keys.iter().map(BigUint::bits).sum::<u64>();
        let others = bits(&keys) - bits(&keys[part]);
        let lengths = 3 * 9;
        assert!((others / 16..=others / 8 + lengths).contains(&found.received_bytes));
    });
}
