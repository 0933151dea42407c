//! Product trees, common divisors of all rows, and Chinese remaindering.

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Device, DynBatch, DynCrt, DynProductTree, Error, Result, Shape, shapes};
use num_traits::{One, Zero};

use crate::setting::{Check, Context, Rows, Setting, Tally, on_every_backend};
use gpuint_testkit::operands::{EUCLID, Row};
use gpuint_testkit::oracle;

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
            return trees;
        }
        let (leaves, others) = rest.split_at(count);
        trees.push(leaves.to_vec());
        rest = others;
    }
    trees
}

/// Counts a result that is not one value a row.
fn expect(tally: &mut Tally, what: &Context<'_>, is_right: bool) {
    tally.row(is_right, || what.to_string());
}

struct Trees;

impl Check for Trees {
    const NAME: &str = "product trees";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (_, device, rows) in setting.parts(shape, EUCLID, count) {
            for leaves in trees(setting, shape, &rows) {
                let what = Context::new(shape, "product tree", device);
                tally.attempt(&what, leaves.len(), |tally| tree(shape, device, &leaves, tally));
            }
        }
    }
}

fn tree(shape: Shape, device: &Device, leaves: &[Row], tally: &mut Tally) -> Result<()> {
    let what = |name| Context::new(shape, name, device);
    let values: Vec<BigUint> = leaves.iter().map(|row| row.b.clone()).collect();
    let batch = DynBatch::from_biguints(device, shape, &values)?;
    let tree = DynProductTree::new(&batch)?;
    let root = oracle::product(&values);
    expect(tally, &what("root"), tree.root() == root);
    let number = leaves.iter().fold(BigUint::one(), |number, row| (number << 77) + &row.a);
    if let Some(row) = values.iter().position(Zero::is_zero) {
        let zero = Some(Error::DivisionByZero { row });
        expect(tally, &what("remainders"), tree.remainders(&number).err() == zero);
        expect(tally, &what("cofactors"), tree.cofactors().err() == zero);
        expect(tally, &what("batch_gcd"), batch.batch_gcd().err() == zero);
        return Ok(());
    }
    for number in [number, &root - 1u32, &root + 5u32, root.clone(), BigUint::zero()] {
        let expected: Vec<_> = values.iter().map(|v| oracle::div_rem(&number, v).1).collect();
        let got = tree.remainders(&number)?.to_biguints()?;
        tally.values(&what("remainders"), leaves, &got, &expected);
    }
    let others: Vec<_> = values.iter().map(|v| oracle::div_rem(&root, v).0).collect();
    let pairs = || others.iter().zip(&values);
    let expected: Vec<_> = pairs().map(|(rest, v)| oracle::div_rem(rest, v).1).collect();
    tally.values(&what("cofactors"), leaves, &tree.cofactors()?.to_biguints()?, &expected);
    let expected: Vec<_> = pairs().map(|(rest, v)| oracle::gcd(rest, v)).collect();
    tally.values(&what("batch_gcd"), leaves, &batch.batch_gcd()?.to_biguints()?, &expected);
    Ok(())
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
                let what = Context::new(shape, "crt", device);
                tally.attempt(&what, leaves.len(), |tally| {
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
                    crt(shape, device, &moduli, &leaves, tally)
                });
            }
        }
    }
}

fn crt(
    shape: Shape,
    device: &Device,
    moduli: &[BigUint],
    rows: &[Row],
    tally: &mut Tally,
) -> Result<()> {
    let what = |name| Context::new(shape, name, device);
    if moduli.is_empty() {
        return Ok(());
    }
    let product = oracle::product(moduli);
    let batch = DynBatch::from_biguints(device, shape, moduli)?;
    let crt = DynCrt::new(&batch)?;
    expect(tally, &what("product"), crt.product() == product);
    for count in [0, 1, 3] {
        // Residues are any rows: the first ones may exceed their modulus.
        let values: Vec<BigUint> = rows.iter().map(|row| row.a.clone()).collect();
        let values: Vec<_> = values.iter().cycle().take(count * moduli.len()).cloned().collect();
        let residues = DynBatch::from_biguints(device, shape, &values)?;
        let numbers = crt.combine(&residues)?;
        let got = numbers.to_biguints()?;
        expect(tally, &what("combine"), got.len() == count);
        let mut reduced = Vec::new();
        for (number, residues) in got.iter().zip(values.chunks(moduli.len())) {
            let is_below = oracle::cmp(number, &product).is_lt();
            let rests = moduli.iter().map(|modulus| oracle::div_rem(number, modulus).1);
            let wanted = residues.iter().zip(moduli).map(|(x, m)| oracle::div_rem(x, m).1);
            reduced.extend(wanted.clone());
            expect(tally, &what("combine"), is_below && rests.eq(wanted));
        }
        expect(tally, &what("residues"), crt.residues(&numbers)?.to_biguints()? == reduced);
    }
    // Numbers of another shape, which may exceed the product.
    let numbers: Vec<BigUint> = rows.iter().map(|row| row.a.clone()).collect();
    let numbers_on_device = DynBatch::from_biguints(device, shape, &numbers)?;
    let expected: Vec<_> = numbers
        .iter()
        .flat_map(|x| moduli.iter().map(move |modulus| oracle::div_rem(x, modulus).1))
        .collect();
    let got = crt.residues(&numbers_on_device)?.to_biguints()?;
    expect(tally, &what("residues"), got == expected);

    let short = DynBatch::zeros(device, shape, moduli.len() + 1)?;
    let mismatch = Error::LengthMismatch { left: 2 * moduli.len(), right: moduli.len() + 1 };
    let is_multiple = moduli.len() == 1;
    expect(tally, &what("combine"), is_multiple || crt.combine(&short).err() == Some(mismatch));
    let zero = DynBatch::concat(&[&batch, &DynBatch::zeros(device, shape, 1)?])?;
    let error = Some(Error::DivisionByZero { row: moduli.len() });
    expect(tally, &what("crt"), DynCrt::new(&zero).err() == error);
    let none = DynCrt::new(&batch.slice(0..0)?).err();
    expect(tally, &what("crt"), none == Some(Error::LengthMismatch { left: 0, right: 1 }));
    Ok(())
}

on_every_backend! { trees: Trees, remaindering: Remaindering, }

/// Trees whose top levels have no shape.
#[test]
fn roots_beyond_the_widest_shape_are_exact() {
    let device = Device::cpu();
    let widest = shapes().iter().map(|shape| shape.bits).max().unwrap_or(0);
    let shape = gpuint::narrowest(widest / 4).unwrap();
    let values: Vec<BigUint> = (0..11u32)
        .map(|i| (BigUint::one() << (shape.bits - 3 * i as usize)) - 2 * i - 1u32)
        .collect();
    let batch = DynBatch::from_biguints(&device, shape, &values).unwrap();
    let tree = DynProductTree::new(&batch).unwrap();
    let root = oracle::product(&values);
    assert!(root.bits() > 2 * widest as u64);
    assert_eq!(tree.root(), root);
    let number = (&root << 1000) + &root - 1u32;
    let remainders = tree.remainders(&number).unwrap().to_biguints().unwrap();
    let cofactors = tree.cofactors().unwrap().to_biguints().unwrap();
    for (row, value) in values.iter().enumerate() {
        assert_eq!(remainders[row], oracle::div_rem(&number, value).1, "row {row}");
        let others = oracle::div_rem(&root, value).0;
        assert_eq!(cofactors[row], oracle::div_rem(&others, value).1, "row {row}");
    }
    // The first two are even.
    assert_eq!(DynCrt::new(&batch).err(), Some(Error::CommonDivisor { row: 0 }));
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
