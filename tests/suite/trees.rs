//! Product trees, common divisors of all rows, and Chinese remaindering.

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Device, DynBatch, DynCrt, DynProductTree, Error, Result, Shape, SharedFactors,
    shapes,
};
use num_traits::{One, Zero};

use crate::setting::{Check, Part, Rows, Setting, Tally, on_every_backend, seed};
use gpuint_testkit::operands::{EUCLID, Row};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

const ROWS: Rows = Rows { threads: 6_000, least: 14 };

/// Numbers of leaves: alone, pairs, and odd levels at every height.
const LEAVES: [usize; 7] = [13, 1, 8, 2, 5, 3, 7];

/// Cuts rows into the leaves of trees.
///
/// The roots of the simt backend have at most 2048 bits: it is slow, and its kernels of wider
/// shapes may not be compiled.
fn trees(setting: &Setting, shape: Shape, rows: &[Row]) -> Vec<Vec<Row>> {
    let most = match setting.backend {
        BackendKind::Simt => 2048 / shape.bits,
        _ if shape.bits > 65536 => 3,
        _ => usize::MAX,
    };
    let mut rest = rows;
    let mut trees = Vec::new();
    for count in LEAVES.iter().cycle().map(|&count| count.min(most)) {
        if count == 0 || rest.len() < count {
            // Few rows are one tree.
            if count > 0 && trees.is_empty() {
                trees.push(rest.to_vec());
            }
            return trees;
        }
        let (leaves, others) = rest.split_at(count);
        trees.push(leaves.to_vec());
        rest = others;
    }
    trees
}

struct Trees;

impl Check for Trees {
    const NAME: &str = "product trees";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (_, device, rows) in setting.parts(shape, EUCLID, count) {
            for leaves in trees(setting, shape, &rows) {
                Part::run(shape, device, 0, leaves, tally, |part| tree(&part));
            }
        }
    }
}

fn tree(part: &Part<'_>) -> Result<()> {
    let (leaves, batch) = (&part.rows, part.b()?);
    let values: Vec<BigUint> = leaves.iter().map(|row| row.b.clone()).collect();
    let tree = DynProductTree::new(&batch)?;
    let root = oracle::product(&values);
    part.expect("root", tree.root(), root.clone());
    let number = leaves.iter().fold(BigUint::one(), |number, row| (number << 77) + &row.a);
    if let Some(row) = values.iter().position(Zero::is_zero) {
        let zero = Some(Error::DivisionByZero { row });
        part.expect("remainders", tree.remainders(&number).err(), zero.clone());
        part.expect("cofactors", tree.cofactors().err(), zero.clone());
        part.expect("batch_gcd", batch.batch_gcd().err(), zero);
        return Ok(());
    }
    for number in [number, &root - 1u32, &root + 5u32, root.clone(), BigUint::zero()] {
        part.each("remainders", tree.remainders(&number)?, |row| {
            oracle::div_rem(&number, &row.b).1
        })?;
    }
    let others = |row: &Row| oracle::div_rem(&root, &row.b).0;
    part.each("cofactors", tree.cofactors()?, |row| oracle::div_rem(&others(row), &row.b).1)?;
    part.each("batch_gcd", batch.batch_gcd()?, |row| oracle::gcd(&others(row), &row.b))
}

struct Remaindering;

impl Check for Remaindering {
    const NAME: &str = "Chinese remaindering";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        let widest = shapes().iter().map(|shape| shape.bits).max().unwrap_or(0) as u64;
        for (_, device, rows) in setting.parts(shape, EUCLID, count) {
            for leaves in trees(setting, shape, &rows) {
                // As many moduli as are coprime, and fit.
                let mut product = BigUint::one();
                let mut moduli = Vec::new();
                for Row { b, .. } in &leaves {
                    let is_coprime = !b.is_zero() && oracle::gcd(&product, b).is_one();
                    if is_coprime && (&product * b).bits() <= widest {
                        product *= b;
                        moduli.push(b.clone());
                    }
                }
                if !moduli.is_empty() {
                    Part::run(shape, device, 0, leaves, tally, |part| crt(&part, &moduli));
                }
            }
        }
    }
}

fn crt(part: &Part<'_>, moduli: &[BigUint]) -> Result<()> {
    let (product, batch, count) = (oracle::product(moduli), part.batch(moduli)?, moduli.len());
    let crt = DynCrt::new(&batch)?;
    part.expect("product", crt.product(), product.clone());
    let reduced = |x: &BigUint, modulus: &BigUint| oracle::div_rem(x, modulus).1;
    for groups in [0, 1, 3] {
        // Residues are any rows: the first ones may exceed their modulus.
        let values = part.rows.iter().map(|row| row.a.clone()).cycle().take(groups * count);
        let values: Vec<_> = values.collect();
        let numbers = crt.combine(&part.batch(&values)?)?;
        let got = numbers.to_biguints()?;
        part.expect("combine", got.len(), groups);
        let mut all = Vec::new();
        for (number, residues) in got.iter().zip(values.chunks(count)) {
            let rests: Vec<_> = moduli.iter().map(|modulus| reduced(number, modulus)).collect();
            let wanted: Vec<_> = residues.iter().zip(moduli).map(|(x, m)| reduced(x, m)).collect();
            part.expect("combine", oracle::cmp(number, &product).is_lt(), true);
            part.expect("combine", &rests, &wanted);
            all.extend(wanted);
        }
        part.expect("residues", crt.residues(&numbers)?.to_biguints()?, all);
    }
    // Numbers of another shape, which may exceed the product.
    let rests = |row: &Row| moduli.iter().map(|m| reduced(&row.a, m)).collect::<Vec<_>>();
    let expected = part.rows.iter().flat_map(rests).collect();
    part.expect("residues", crt.residues(&part.a()?)?.to_biguints()?, expected);

    let zeros = |rows| DynBatch::zeros(part.device, part.shape, rows);
    let short = zeros(count + 1)?;
    let mismatch = Error::LengthMismatch { left: 2 * count, right: count + 1 };
    let error = crt.combine(&short).err();
    part.expect("combine", count == 1 || error == Some(mismatch), true);
    let zero = DynBatch::concat(&[&batch, &zeros(1)?])?;
    let error = Some(Error::DivisionByZero { row: count });
    part.expect("crt", DynCrt::new(&zero).err(), error);
    let none = DynCrt::new(&batch.slice(0..0)?).err();
    part.expect("crt", none, Some(Error::LengthMismatch { left: 0, right: 1 }));
    Ok(())
}

on_every_backend! { trees: Trees, remaindering: Remaindering, }

/// Trees whose top levels have no shape.
#[test]
fn roots_beyond_the_widest_shape_are_exact() {
    let device = Device::cpu();
    let widest = shapes().iter().map(|shape| shape.bits).max().unwrap_or(0);
    let shape = gpuint::narrowest(widest / 8).unwrap();
    let values: Vec<BigUint> = (0..11u32)
        .map(|i| (BigUint::one() << (shape.bits - 3 * i as usize)) - 2 * i - 1u32)
        .collect();
    let batch = DynBatch::from_biguints(&device, shape, &values).unwrap();
    let tree = DynProductTree::new(&batch).unwrap();
    let root = oracle::product(&values);
    assert!(root.bits() > widest as u64);
    assert_eq!(tree.root(), root);
    let number = (&root << 1000) + &root - 1u32;
    let remainders = tree.remainders(&number).unwrap().to_biguints().unwrap();
    let cofactors = tree.cofactors().unwrap().to_biguints().unwrap();
    for (row, value) in values.iter().enumerate() {
        assert_eq!(remainders[row], oracle::div_rem(&number, value).1, "row {row}");
        let others = oracle::div_rem(&root, value).0;
        assert_eq!(cofactors[row], oracle::div_rem(&others, value).1, "row {row}");
    }
}

/// Checks the results of a tree, on the CPU.
fn check_collection(values: &[BigUint], what: &str) {
    check_tree(&Device::cpu(), values, what);
    let batch = DynBatch::fitting(&Device::cpu(), values).unwrap();
    let root = oracle::product(values);
    let largest = DynProductTree::new(&batch).unwrap().remainders(&(&root - 1u32)).unwrap();
    let largest = largest.to_biguints().unwrap();
    let old = &root / &values[0] * 30u32;
    let against = batch.batch_gcd_against(&[old.clone(), BigUint::from(7u32)]).unwrap();
    let against = against.to_biguints().unwrap();
    for (row, value) in values.iter().enumerate() {
        let others = oracle::div_rem(&root, value).0;
        assert_eq!(largest[row], value - 1u32, "{what}, row {row}");
        assert_eq!(against[row], oracle::gcd(&(others * &old * 7u32), value), "{what}, row {row}");
    }
}

/// Checks cofactors, common divisors and remainders of a tree.
fn check_tree(device: &Device, values: &[BigUint], what: &str) {
    let batch = DynBatch::fitting(device, values).unwrap();
    let tree = DynProductTree::new(&batch).unwrap();
    let root = oracle::product(values);
    assert_eq!(tree.root(), root, "{what}");
    let cofactors = tree.cofactors().unwrap();
    let divisors = batch.gcd(&cofactors).unwrap().to_biguints().unwrap();
    let cofactors = cofactors.to_biguints().unwrap();
    let number = (&root << 64) / 3u32;
    let rests = tree.remainders(&number).unwrap().to_biguints().unwrap();
    for (row, value) in values.iter().enumerate() {
        let others = oracle::div_rem(&root, value).0;
        assert_eq!(cofactors[row], oracle::div_rem(&others, value).1, "{what}, row {row}");
        assert_eq!(divisors[row], oracle::gcd(&others, value), "{what}, row {row}");
        assert_eq!(rests[row], oracle::div_rem(&number, value).1, "{what}, row {row}");
    }
}

/// Draws a number below `2^bits` with the top bit.
fn random(bits: u64, state: &mut Random) -> BigUint {
    let mut value = state.bits(bits as usize);
    value.set_bit(bits - 1, true);
    value
}

#[test]
fn trees_of_hostile_collections_are_exact() {
    let mut state = Random::new(seed());
    let one = BigUint::one;
    for count in [1usize, 2, 3, 5, 6, 7, 8, 9, 31, 33] {
        for bits in [1u64, 2, 17, 250] {
            let ones = vec![(one() << bits) - 1u32; count];
            check_collection(&ones, &format!("{count} rows of {bits} ones"));
            check_collection(&vec![one() << (bits - 1); count], "powers of two");
            let mixed = |row: usize| random(1 + (row as u64 * 37) % bits, &mut state.clone());
            check_collection(&(0..count).map(mixed).collect::<Vec<_>>(), "mixed lengths");
            let next = |row: usize| (one() << bits) - 1u32 - (row as u32 % 2);
            check_collection(
                &(0..count).map(next).map(|v| v.max(one())).collect::<Vec<_>>(),
                "next",
            );
            let drawn: Vec<_> = (0..count).map(|_| random(bits, &mut state)).collect();
            check_collection(&drawn, "random");
        }
    }
    // Cycles of common divisors, and powers of primes.
    let primes: Vec<BigUint> = [101u32, 103, 107, 109, 113, 127, 131].map(BigUint::from).into();
    let cycle: Vec<_> = (0..7).map(|i| &primes[i] * &primes[(i + 1) % 7]).collect();
    check_collection(&cycle, "cycle");
    let powers: Vec<_> = (1..40u32).map(|i| primes[i as usize % 3].pow(i)).collect();
    check_collection(&powers, "powers of primes");
}

#[test]
fn numbers_of_long_products_are_combined() {
    let device = Device::cpu();
    // A common divisor of two of the moduli divides a difference of primes up to 700, so it has a
    // prime factor up to 700. This divides `base`, and both primes.
    let is_prime = |n: &u32| (2..*n).all(|d| !n.is_multiple_of(d));
    let primes: Vec<u32> = (2..700).filter(is_prime).collect();
    let base = oracle::product(&primes.iter().map(|&p| p.into()).collect::<Vec<_>>()) << 8100u32;
    let moduli: Vec<_> = primes.iter().map(|&prime| &base + prime).collect();
    let batch = DynBatch::fitting(&device, &moduli).unwrap();
    let crt = DynCrt::new(&batch).unwrap();
    assert!(crt.shape().is_long());
    let numbers = [crt.product() - 1u32, crt.product() / 3u32];
    let numbers = DynBatch::from_biguints(&device, crt.shape(), &numbers).unwrap();
    let residues = crt.residues(&numbers).unwrap();
    assert!(crt.combine(&residues).unwrap().is_equal(&numbers).unwrap());
}

#[test]
fn trees_over_long_levels_are_exact() {
    let mut state = Random::new(seed());
    // A long root, parts with their guards, and rows of very different lengths.
    let mut values: Vec<_> = (0..62).map(|_| random(16_384, &mut state)).collect();
    values.extend((0..40).map(|row| random(64 + row, &mut state)));
    values.push((BigUint::one() << 20_000) - 1u32);
    values.push((BigUint::one() << 19_999) - 1u32);
    let shared = random(8000, &mut state);
    values.push(&shared * random(8000, &mut state));
    values.push(&shared * random(8000, &mut state));
    for device in [Some(Device::cpu()), Device::cuda(0).ok()].into_iter().flatten() {
        check_tree(&device, &values, &format!("long levels on {device}"));
    }
}

#[test]
fn roots_of_random_lengths_are_exact_at_boundaries() {
    let mut state = Random::new(seed());
    // Products beside 2^16 and 2^17 bits: with and without room for the guard.
    for bits in [2047u64, 2048] {
        for count in [30usize, 31, 32, 64] {
            let rows: Vec<_> = (0..count)
                .map(|row| {
                    if row % 2 == 0 {
                        (BigUint::one() << bits) - 1u32
                    } else {
                        random(bits, &mut state)
                    }
                })
                .collect();
            check_collection(&rows, &format!("{count} rows of {bits} bits"));
        }
    }
}

/// Checks shared factors against direct divisors.
fn check_shared(values: &[BigUint], what: &str) -> Vec<SharedFactors> {
    let batch = DynBatch::fitting(&Device::cpu(), values).unwrap();
    let found = batch.shared_factors().unwrap();
    let mut rows = found.iter();
    for (row, value) in values.iter().enumerate() {
        let others = || (0..values.len()).filter(|&other| other != row);
        let is_shared = |other: &usize| !oracle::gcd(value, &values[*other]).is_one();
        let equal = |other: &usize| values[*other] == *value;
        let duplicates: Vec<_> = others().filter(is_shared).filter(equal).collect();
        let partners: Vec<_> = others().filter(is_shared).filter(|other| !equal(other)).collect();
        if duplicates.is_empty() && partners.is_empty() {
            continue;
        }
        let shared = rows.next().unwrap_or_else(|| panic!("{what}: row {row} is missing"));
        assert_eq!(shared.row, row, "{what}");
        assert_eq!((&shared.partners, &shared.duplicates), (&partners, &duplicates), "{what}");
        assert_eq!(oracle::product(&shared.factors), *value, "{what}, row {row}");
        assert!(shared.factors.is_sorted() && shared.factors.iter().all(|f| !f.is_one()));
    }
    assert_eq!(rows.next(), None, "{what}");
    for a in &found {
        for b in found.iter().flat_map(|other| &other.factors) {
            for factor in &a.factors {
                assert!(factor == b || oracle::gcd(factor, b).is_one(), "{what}: {factor}, {b}");
            }
        }
    }
    found
}

#[test]
fn keys_that_share_everything_are_split() {
    let primes: Vec<BigUint> = [
        101u32, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181,
        191, 193, 197,
    ]
    .map(BigUint::from)
    .into();
    let key = |i: usize, j: usize| &primes[i] * &primes[j];
    let is_split = |found: &[SharedFactors]| found.iter().all(|row| row.factors.len() == 2);
    let cycle: Vec<_> = (0..20).map(|i| key(i, (i + 1) % 20)).collect();
    let star: Vec<_> = (1..20).map(|i| key(0, i)).collect();
    let complete: Vec<_> = (0..8).flat_map(|i| (i + 1..8).map(move |j| (i, j))).collect();
    let complete: Vec<_> = complete.into_iter().map(|(i, j)| key(i, j)).collect();
    let bipartite: Vec<_> = (0..50).map(|edge| key(edge / 10, 5 + edge % 10)).collect();
    let triangle = vec![key(0, 1), key(1, 2), key(2, 0)];
    let rows = [cycle.len(), star.len(), complete.len(), bipartite.len(), triangle.len()];
    let graphs = [cycle, star, complete, bipartite, triangle];
    for (index, (graph, rows)) in graphs.iter().zip(rows).enumerate() {
        let found = check_shared(graph, &format!("graph {index}"));
        assert_eq!(found.len(), rows, "graph {index}");
        assert!(is_split(&found), "graph {index}");
    }
    let all: Vec<BigUint> = graphs.concat();
    assert!(is_split(&check_shared(&all, "all graphs, with duplicates")));
}

#[test]
fn duplicates_divisors_and_powers_are_told_apart() {
    let number = |value: u32| BigUint::from(value);
    let duplicates = [15u32, 77, 15, 1, 1, 13 * 17].map(number);
    let found = check_shared(&duplicates, "duplicates");
    assert_eq!((found.len(), &found[0].duplicates), (2, &vec![2]));
    assert_eq!(found[0].factors, [number(15)]);
    check_shared(&[2u32, 4, 8, 16, 3, 9, 12, 5].map(number), "powers");
    check_shared(&[6u32, 10, 15, 30, 210, 7, 49, 11].map(number), "divisors");
    check_shared(&[7u32, 11, 13].map(number), "coprime rows");
    let mut state = Random::new(seed());
    for round in 0..30 {
        let values: Vec<_> = (0..25)
            .map(|_| {
                let bits = 1 + state.word() % 13;
                random(bits, &mut state)
            })
            .collect();
        check_shared(&values, &format!("round {round}"));
    }
    let batch = DynBatch::fitting(&Device::cpu(), [3u32, 0, 6].map(number)).unwrap();
    assert_eq!(batch.shared_factors().unwrap_err(), Error::DivisionByZero { row: 1 });
    assert!(batch.slice(0..0).unwrap().shared_factors().unwrap().is_empty());
}

#[test]
fn empty_trees_have_the_root_one() {
    let device = Device::cpu();
    let batch = DynBatch::zeros(&device, shapes()[0], 0).unwrap();
    let tree = DynProductTree::new(&batch).unwrap();
    assert!(tree.is_empty() && tree.root().is_one());
    assert!(tree.remainders(5).unwrap().is_empty() && tree.cofactors().unwrap().is_empty());
    assert!(batch.batch_gcd().unwrap().is_empty());
}

#[test]
fn moduli_with_a_common_divisor_are_rejected_with_the_lowest_row() {
    let device = Device::cpu();
    for (moduli, row) in [
        (&[4u32, 9, 5, 6][..], Some(0)),
        (&[1, 25, 9, 14, 35], Some(1)),
        (&[1, 1, 7, 8, 7], Some(2)),
        (&[2, 2], Some(0)),
        (&[1, 1, 2, 3], None),
    ] {
        let moduli: Vec<_> = moduli.iter().map(|&modulus| BigUint::from(modulus)).collect();
        let moduli = DynBatch::from_biguints(&device, shapes()[0], &moduli).unwrap();
        let error = DynCrt::new(&moduli).err();
        assert_eq!(error, row.map(|row| Error::CommonDivisor { row }));
    }
}
