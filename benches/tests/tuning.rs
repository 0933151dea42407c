//! Derivation of a tuning table from measurements.

use std::fs;
use std::path::{Path, PathBuf};

use gpuint_benches::batches::TIMED;
use gpuint_benches::choose::{self, TunedGpu, merged};
use gpuint_catalogue::Op;
use gpuint_catalogue::tuning::{Choice, Row, Table};
use gpuint_testkit::ptx::{ROOT, catalogue};

const GPU: &str = "A GPU";

fn gpu() -> TunedGpu {
    TunedGpu { name: GPU.to_owned(), capability: 90, multiprocessors: 132 }
}

const MODEL: &str = "A GPU (model)";

/// A row of a kernel that serves all shapes of a width.
fn of_width(kernel: &str, bits: usize, ms: f64, gpu: &str) -> Row {
    Row {
        kernel: kernel.to_owned(),
        bits,
        digit: None,
        q: None,
        block: None,
        rows: None,
        ms,
        gpu: gpu.to_owned(),
        date: "2026-11-20".to_owned(),
    }
}

fn of_shape(kernel: &str, bits: usize, (digit, q, block): (&str, usize, u32), ms: f64) -> Row {
    let (digit, q, block) = (Some(digit.to_owned()), Some(q), Some(block));
    Row { digit, q, block, ..of_width(kernel, bits, ms, GPU) }
}

/// The choices for an operation: from, to, strategy.
fn choices(rows: Vec<Row>) -> Vec<(usize, usize, String)> {
    let table = choose::table(&gpu(), rows, &[]);
    let choice = |choice: Choice| (choice.bits[0], choice.bits[1], choice.strategy);
    table.choices.into_iter().map(choice).collect()
}

#[test]
fn fastest_strategy_is_chosen_and_equal_neighbours_are_joined() {
    let rows = [(1024, 1.0, 2.0), (2048, 1.5, 1.6), (4096, 3.0, 1.0), (8192, 6.0, 1.5)];
    let rows = rows.into_iter().flat_map(|(bits, classical, tensor)| {
        [
            of_shape("mul_lo_classical", bits, ("u64", 4, 128), classical),
            of_width("mul_lo_tensor", bits, tensor, GPU),
        ]
    });
    assert_eq!(
        choices(rows.collect()),
        [(1024, 2048, "classical".to_owned()), (4096, 8192, "tensor".to_owned())]
    );
}

#[test]
fn strategies_are_compared_at_the_default_shape() {
    let rows = vec![
        of_shape("mul_lo_classical", 4096, ("u64", 4, 128), 2.0),
        of_shape("mul_lo_classical", 4096, ("u32", 2, 128), 0.5),
        of_width("mul_lo_tensor", 4096, 1.0, GPU),
    ];
    assert_eq!(choices(rows), [(4096, 4096, "tensor".to_owned())]);
    let rows = vec![
        of_shape("mul_lo_classical", 6144, ("u64", 3, 128), 2.0),
        of_shape("mul_lo_karatsuba", 6144, ("u64", 3, 128), 1.0),
    ];
    assert_eq!(choices(rows), [(6144, 6144, "karatsuba".to_owned())]);
}

#[test]
fn model_counts_only_without_measurement() {
    let rows = vec![
        of_width("mul_lo_tensor", 1024, 2.0, GPU),
        of_width("mul_lo_classical", 1024, 1.0, MODEL),
        of_width("mul_lo_tensor", 2048, 2.0, MODEL),
        of_width("mul_lo_classical", 2048, 1.0, MODEL),
    ];
    assert_eq!(
        choices(rows),
        [(1024, 1024, "tensor".to_owned()), (2048, 2048, "classical".to_owned())]
    );
}

#[test]
fn another_block_must_be_faster_by_more_than_noise() {
    let add = |block, ms| of_shape("add", 1024, ("u64", 4, block), ms);
    let blocks = |rows| -> Vec<u32> {
        choose::table(&gpu(), rows, &[]).blocks.iter().map(|block| block.block).collect()
    };
    assert_eq!(blocks(vec![add(128, 1.0), add(64, 0.9), add(256, 0.8)]), [256]);
    assert!(blocks(vec![add(128, 1.0), add(64, 0.98)]).is_empty());
    // Without its present block, the gain of another block is unknown.
    assert!(blocks(vec![add(64, 0.1)]).is_empty());
    let model = |row| Row { gpu: MODEL.to_owned(), ..row };
    assert!(blocks(vec![model(add(128, 1.0)), model(add(64, 0.1))]).is_empty());
}

#[test]
fn new_rows_replace_those_of_the_same_variant_only() {
    let old = vec![
        of_shape("add", 1024, ("u64", 4, 128), 1.0),
        of_shape("add", 1024, ("u64", 4, 64), 2.0),
        of_width("mul_lo_tensor", 1024, 3.0, MODEL),
    ];
    let new = vec![
        of_shape("add", 1024, ("u64", 4, 128), 4.0),
        of_width("mul_lo_tensor", 1024, 5.0, GPU),
    ];
    let mut times: Vec<f64> = merged(old, new).iter().map(|row| row.ms).collect();
    times.sort_by(f64::total_cmp);
    assert_eq!(times, [2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn strategies_of_few_rows_meet_where_they_are_as_fast() {
    let rows = |bits| {
        [of_width("mul_lo_classical", bits, 9.0, GPU), of_width("mul_lo_tensor", bits, 4.0, GPU)]
    };
    let few = [(10, 50, 20, 80), (20, 80, 60, 100), (40, 140, 160, 120), (80, 280, 400, 160)];
    let few: Vec<Row> = few
        .into_iter()
        .flat_map(|(rows, classical, karatsuba, tensor)| {
            [("classical", classical), ("karatsuba", karatsuba), ("tensor", tensor)].map(
                |(strategy, ms)| Row {
                    rows: Some(rows),
                    ..of_width(&format!("mul_lo_{strategy}"), 4096, ms.into(), GPU)
                },
            )
        })
        .collect();
    let before = choose::table(&gpu(), rows(2048).into(), &[]);
    let chosen = |before: &Table, few: &[Row]| {
        let all = rows(2048).into_iter().chain(rows(4096)).chain(few.iter().cloned()).collect();
        choose::table(&gpu(), all, &before.choices)
    };
    // Karatsuba takes 40 ms less than tensor cores for 20 rows, and 40 ms more for 40. Tensor cores
    // are the choice for large batches.
    let first = chosen(&before, &few);
    let choice = |bits, rows, strategy: &str| {
        let (op, strategy) = ("mul_lo".to_owned(), strategy.to_owned());
        Choice { op, bits, strategy, rows }
    };
    let expected = [choice([2048, 4096], None, "tensor"), choice([4096; 2], Some(30), "karatsuba")];
    assert_eq!(first.choices, expected);
    // Choices that are not measured again stay.
    assert_eq!(chosen(&first, &[]).choices, expected);
}

#[test]
fn written_table_is_read_back() {
    let rows = vec![
        of_shape("add", 1024, ("u64", 4, 128), 1.0),
        of_shape("add", 1024, ("u64", 4, 64), 0.5),
        of_shape("mul_lo_classical", 1024, ("u64", 4, 128), 1.25),
        of_width("mul_lo_tensor", 4096, 3.0, MODEL),
        Row { rows: Some(33), ..of_width("mul_lo_tensor", 4096, 0.5, GPU) },
    ];
    let table = choose::table(&gpu(), rows, &[]);
    let kernels: Vec<_> = catalogue().unwrap().rows().collect();
    assert_eq!((table.choices.len(), table.blocks.len()), (2, 1));
    assert_eq!(Table::parse(&table.to_string(), &kernels), Ok(table));
}

#[test]
fn every_operation_with_a_choice_is_timed() {
    for &op in Op::ALL {
        let has_choice = |&shape| gpuint::algorithms(op, shape).nth(1).is_some();
        let needed = gpuint::shapes().iter().any(has_choice);
        assert!(
            !needed || TIMED.contains(&op.tuned_as()),
            "benches/autotune does not measure {op}"
        );
    }
}

/// Choices and blocks of the tables of this repository are not edited by hand. Choices for few rows
/// of some operations follow from times that the tables do not have.
#[test]
fn table_choices_follow_from_rows() {
    let kernels: Vec<_> = catalogue().unwrap().rows().collect();
    for file in fs::read_dir(Path::new(ROOT).join("tuning")).unwrap() {
        let path = file.unwrap().path();
        let written = fs::read_to_string(&path).unwrap();
        let table = Table::parse(&written, &kernels).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let Table { gpu: name, capability, multiprocessors, .. } = table.clone();
        let gpu = TunedGpu { name, capability, multiprocessors };
        let implied = choose::table(&gpu, table.rows.clone(), &table.choices);
        assert!(table.choices.iter().all(|choice| choice.rows != Some(0)), "{path:?}");
        // The fastest blocks depend on the shapes of the build.
        assert_eq!(Table { blocks: table.blocks, ..implied }.to_string(), written, "{path:?}");
    }
}

/// Times of one kernel differ by this factor between measurements.
const NOISE: f64 = 1.1;

/// The tables of the package and their files.
fn tables() -> Vec<(PathBuf, Table)> {
    let kernels: Vec<_> = catalogue().unwrap().rows().collect();
    let files = fs::read_dir(Path::new(ROOT).join("tuning")).unwrap();
    let table = |path: PathBuf| {
        let table = Table::parse(&fs::read_to_string(&path).unwrap(), &kernels).unwrap();
        (path, table)
    };
    files.map(|file| table(file.unwrap().path())).collect()
}

/// Time of a kernel of a table for a number of rows, or for 2^32 bits.
fn time<'t>(table: &'t Table, op: &str, bits: usize, rows: Option<usize>) -> Option<&'t Row> {
    let of_width = |choice: &&Choice| {
        let [from, to] = choice.bits;
        choice.op == op && (from..=to).contains(&bits)
    };
    let of_rows = |choice: &&Choice| match (choice.rows, rows) {
        (Some(most), Some(rows)) => rows <= most,
        (most, _) => most.is_none(),
    };
    let choices = table.choices.iter().filter(of_width).filter(of_rows);
    let choice = choices.min_by_key(|choice| choice.rows.unwrap_or(usize::MAX))?;
    let kernel = format!("{op}_{}", choice.strategy);
    table.rows.iter().find(|row| row.kernel == kernel && (row.bits, row.rows) == (bits, rows))
}

#[test]
fn divisions_by_prepared_divisors_are_no_slower_in_tables() {
    for (path, table) in tables() {
        let mut few = 0;
        for &Row { bits, rows, .. } in &table.rows {
            let Some(by) = time(&table, "div_rem_by", bits, rows) else { continue };
            let Some(unprepared) = time(&table, "div_rem", bits, rows) else { continue };
            assert!(by.ms <= NOISE * unprepared.ms, "{path:?}: {by} and {unprepared}");
            few += usize::from(rows.is_some());
        }
        assert!(few > 0, "{path:?}: no times of few rows");
    }
}

/// Rows for each multiprocessor that do not fill a GPU.
const FEW_ROWS: usize = 16;

#[test]
fn divisions_of_few_rows_are_no_slower_than_of_more_or_wider_ones_in_tables() {
    for (path, table) in tables() {
        for op in ["div_rem", "div_rem_by"] {
            // More rows fill the GPU at some widths.
            let most = FEW_ROWS * table.multiprocessors as usize;
            let times = table.rows.iter().filter(|row| row.rows.is_some_and(|rows| rows <= most));
            let chosen: Vec<&Row> = times
                .filter(|row| time(&table, op, row.bits, row.rows).is_some_and(|t| t == *row))
                .collect();
            assert!(!chosen.is_empty(), "{path:?}: no times of {op} for few rows");
            for few in &chosen {
                let is_more = |row: &&&Row| row.rows >= few.rows && row.bits >= few.bits;
                for more in chosen.iter().filter(is_more) {
                    assert!(few.ms <= NOISE * more.ms, "{path:?}: {few} and {more}");
                }
            }
        }
    }
}
