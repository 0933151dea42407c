//! `gpuint paillier` on Parquet files, as a user runs it.
#![cfg(feature = "parquet")]

use std::collections::HashMap;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, StringViewArray, StructArray, TimestampMicrosecondArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use base64ct::{Base64UrlUnpadded, Encoding};
use num_bigint::BigUint;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

const KEY: &str = "gpuint.paillier.key";

/// Few rows take less time without the table of short exponents.
const LONG: [&str; 2] = ["-cn", "--long-exponents"];

/// Two keys of 1024 bits and tables, in a folder of their own.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        static KEYS: OnceLock<Vec<[String; 2]>> = OnceLock::new();
        let keys = KEYS.get_or_init(|| {
            let files = Self(tempfile::tempdir().unwrap());
            let key = |name: &str| {
                let [public, key] = [files.path(&format!("{name}.public")), files.path(name)];
                let mut program = Command::new(env!("CARGO_BIN_EXE_gpuint"));
                program.args(["paillier", "keygen", &key, "--public", &public, "--bits=1024"]);
                assert!(program.arg("-bcpu").output().unwrap().status.success());
                [public, key].map(|path| fs::read_to_string(path).unwrap())
            };
            ["first", "second"].map(key).to_vec()
        });
        let files = Self(tempfile::tempdir().unwrap());
        let names = [["public", "key"], ["other-public", "other-key"]];
        for (name, key) in names.iter().flatten().zip(keys.iter().flatten()) {
            fs::write(files.path(name), key).unwrap();
        }
        files
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes a table; returns its path.
    fn write(&self, name: &str, columns: Vec<(&str, ArrayRef)>) -> String {
        self.write_with(name, columns, HashMap::new())
    }

    /// Writes a table with metadata in row groups of three rows.
    fn write_with(
        &self,
        name: &str,
        columns: Vec<(&str, ArrayRef)>,
        metadata: HashMap<String, String>,
    ) -> String {
        let field =
            |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
        let fields: Vec<Field> = columns.iter().map(field).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(3))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let file = File::create(self.path(name)).unwrap();
        let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).unwrap();
        writer.write(&RecordBatch::try_new(schema, columns).unwrap()).unwrap();
        writer.close().unwrap();
        self.path(name)
    }

    /// Runs a task on the CPU; returns its status, results and messages.
    fn run(&self, task: &str, key: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
        let key = self.path(key);
        let mut program = Command::new(env!("CARGO_BIN_EXE_gpuint"));
        program.args(["paillier", task, "-bcpu", "--key", &key]).args(arguments);
        let output = program.stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// Runs a task that succeeds, into a file; returns its path.
    fn done(&self, task: &str, key: &str, input: &str, name: &str, arguments: &[&str]) -> String {
        let output = self.path(name);
        let all = [&[input, "-o", &output], arguments].concat();
        let (status, _, messages) = self.run(task, key, &all);
        assert_eq!(status, Some(0), "{messages}");
        output
    }

    /// Runs a task that fails, into a file; returns its messages.
    fn failed(&self, task: &str, key: &str, input: &str, arguments: &[&str]) -> String {
        let output = self.path("failed.parquet");
        let all = [&[input, "-o", &output], arguments].concat();
        let (status, _, messages) = self.run(task, key, &all);
        assert_eq!(status, Some(2), "{messages}");
        assert!(!fs::exists(&output).unwrap());
        messages
    }
}

/// Reads a table of one batch.
fn read(path: &str) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = builder.schema().clone();
    let reader: ParquetRecordBatchReader = builder.with_batch_size(1 << 20).build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    match &batches[..] {
        [] => RecordBatch::new_empty(schema),
        [batch] => batch.clone().with_schema(schema).unwrap(),
        batches => panic!("{} batches", batches.len()),
    }
}

fn texts(table: &RecordBatch, column: &str) -> Vec<String> {
    let column = table.column_by_name(column).unwrap().as_string::<i32>();
    column.iter().map(|text| text.unwrap().to_owned()).collect()
}

fn of<A: Array + 'static>(array: A) -> ArrayRef {
    Arc::new(array)
}

/// A table whose columns have types of which results must keep all but one.
fn table() -> Vec<(&'static str, ArrayRef)> {
    let names = DictionaryArray::<Int32Type>::from_iter(["x", "y", "x", "z", "x"]);
    let times = TimestampMicrosecondArray::from(vec![Some(1), None, Some(-3), Some(4), Some(5)]);
    vec![
        ("name", of(names)),
        ("amount", of(Float64Array::from(vec![0.5, -7.0, 1e-3, 1e20, -0.0]))),
        ("time", of(times.with_timezone("Europe/Zurich"))),
        ("id", of(Int32Array::from(vec![7, 8, 7, 9, 8]))),
        ("is set", of(BooleanArray::from(vec![Some(true), None, Some(false), None, None]))),
    ]
}

#[test]
fn columns_are_encrypted_added_and_decrypted() {
    let files = Files::new();
    let metadata = HashMap::from([("origin".to_owned(), "a test".to_owned())]);
    let input = files.write_with("table.parquet", table(), metadata);
    let arguments = ["-camount", "--chunk-rows=2", "--json"];
    let output = files.path("encrypted");
    let (status, report, messages) =
        files.run("encrypt", "public", &[&[&input, "-o", &output], &arguments[..]].concat());
    assert_eq!(status, Some(0), "{messages}");
    assert!(report.contains("\"rows\":5") && report.contains("\"key_bits\":1024"), "{report}");
    assert_eq!(fs::read_dir(files.0.path()).unwrap().count(), 6, "files of the job are left");

    let (plain, encrypted) = (read(&input), read(&output));
    let parts = [
        Field::new("ciphertext", DataType::FixedSizeBinary(256), true),
        Field::new("exponent", DataType::Int32, true),
    ];
    let expected = DataType::Struct(parts.into_iter().collect());
    assert_eq!(*encrypted.schema().field(1).data_type(), expected);
    let found = encrypted.schema().metadata().clone();
    assert_eq!((found["origin"].as_str(), found[KEY].contains("\"kty\"")), ("a test", true));

    let decrypted = files.done("decrypt", "key", &output, "decrypted", &["-c2", "--chunk-rows=3"]);
    let decrypted = read(&decrypted);
    assert_eq!(
        texts(&decrypted, "amount"),
        ["0.5", "-7.0", "0.001", "100000000000000000000", "0.0"]
    );
    for column in [0, 2, 3, 4] {
        assert_eq!(encrypted.schema().field(column), plain.schema().field(column));
        assert_eq!(encrypted.column(column), plain.column(column));
        assert_eq!(decrypted.schema().field(column), plain.schema().field(column));
        assert_eq!(decrypted.column(column), plain.column(column));
    }

    // Groups keep their type, and have the order of their first rows.
    for (by, groups, sums) in [
        ("id", of(Int32Array::from(vec![7, 8, 9])), ["0.501", "-7.0", "1e20"]),
        (
            "name",
            of(DictionaryArray::<Int32Type>::from_iter(["x", "y", "z"])),
            ["0.501", "-7.0", "1e20"],
        ),
    ] {
        let all = ["-camount", "--by", by, "--chunk-rows=2"];
        let totals = files.done("sum", "public", &output, "sums", &all);
        let totals = read(&files.done("decrypt", "key", &totals, "totals", &["-camount"]));
        assert_eq!(totals.num_columns(), 2);
        let found = totals.column_by_name(by).unwrap();
        assert_eq!((found.data_type(), found.len()), (groups.data_type(), 3));
        assert_eq!(text_of(found), text_of(&groups));
        assert_eq!(texts(&totals, "amount"), sums);
    }
    let total = files.done("sum", "public", &output, "sum", &["-c2"]);
    let total = read(&files.done("decrypt", "key", &total, "total", &["-c1"]));
    assert_eq!((total.num_columns(), texts(&total, "amount")), (1, vec!["1e20".to_owned()]));
}

fn text_of(column: &ArrayRef) -> Vec<String> {
    if let Some(column) = column.as_primitive_opt::<Int32Type>() {
        return column.iter().map(|value| value.unwrap().to_string()).collect();
    }
    let column = column.as_dictionary::<Int32Type>().downcast_dict::<StringArray>().unwrap();
    column.into_iter().map(|text| text.unwrap().to_owned()).collect()
}

#[test]
fn numbers_of_every_type_are_exact() {
    let files = Files::new();
    let decimals = |values: &[i128], scale| {
        of(Decimal128Array::from(values.to_vec()).with_precision_and_scale(38, scale).unwrap())
    };
    let dictionary = DictionaryArray::<Int32Type>::from_iter(["12", "-1.5", "12"]);
    let long = "1".repeat(90);
    // The only column of its table.
    for (column, expected) in [
        (of(Int8Array::from(vec![-128, 0, 127])), ["-128", "0", "127"]),
        (of(Int16Array::from(vec![i16::MIN, 1, i16::MAX])), ["-32768", "1", "32767"]),
        (of(Int32Array::from(vec![i32::MIN, 1, i32::MAX])), ["-2147483648", "1", "2147483647"]),
        (
            of(Int64Array::from(vec![i64::MIN, 1, i64::MAX])),
            ["-9223372036854775808", "1", "9223372036854775807"],
        ),
        (of(UInt8Array::from(vec![0, 1, 255])), ["0", "1", "255"]),
        (of(UInt16Array::from(vec![0, 1, u16::MAX])), ["0", "1", "65535"]),
        (of(UInt32Array::from(vec![0, 1, u32::MAX])), ["0", "1", "4294967295"]),
        (of(UInt64Array::from(vec![0, 1, u64::MAX])), ["0", "1", "18446744073709551615"]),
        (
            of(Float32Array::from(vec![0.1, -2.5, 1e10])),
            ["0.10000000149011612", "-2.5", "10000000000.0"],
        ),
        (of(Float64Array::from(vec![0.1, -2.5, 1e-300])), ["0.1", "-2.5", "1e-300"]),
        (decimals(&[12_345, -5, 0], 2), ["123.45", "-0.05", "0.0"]),
        (decimals(&[i128::from(u64::MAX) * 10, -5, 0], 0), ["184467440737095516150", "-5", "0"]),
        (of(StringArray::from(vec![" 1", "2.5 ", &long])), ["1", "2.5", &long]),
        (of(LargeStringArray::from(vec!["1", "2.5", "-3"])), ["1", "2.5", "-3"]),
        (of(StringViewArray::from(vec!["1", "2.5", "-3"])), ["1", "2.5", "-3"]),
        (of(dictionary), ["12", "-1.5", "12"]),
    ] {
        let found = column.data_type().clone();
        let input = files.write("numbers", vec![("n", column)]);
        let encrypted = files.done("encrypt", "public", &input, "encrypted", &LONG);
        let decrypted = read(&files.done("decrypt", "key", &encrypted, "decrypted", &["-cn"]));
        assert_eq!(texts(&decrypted, "n"), expected, "{found}");
    }

    let empty = files.write("empty", vec![("n", of(Int32Array::from(Vec::<i32>::new())))]);
    let encrypted = files.done("encrypt", "public", &empty, "encrypted", &LONG);
    let decrypted = read(&files.done("decrypt", "key", &encrypted, "decrypted", &["-cn"]));
    assert_eq!(texts(&decrypted, "n"), [""; 0]);
}

/// Files of Python's `gpuint.paillier.write_parquet`, and strings with the JSON of `phe`.
#[test]
fn numbers_of_other_writers_are_read() {
    let files = Files::new();
    // Ciphertexts with r = 1.
    let public = fs::read_to_string(files.path("public")).unwrap();
    let jwk: serde_json::Value = serde_json::from_str(&public).unwrap();
    let n = Base64UrlUnpadded::decode_vec(jwk["n"].as_str().unwrap()).unwrap();
    let n = BigUint::from_bytes_be(&n);
    let ciphertexts: Vec<BigUint> = [3u32, 5].iter().map(|m| &n * m + 1u32).collect();
    let bytes: Vec<Vec<u8>> = ciphertexts.iter().map(BigUint::to_bytes_be).collect();
    let exponents = Int32Array::from(vec![0, -1]);
    let fields = |of: &DataType| {
        vec![
            Field::new("ciphertext", of.clone(), true),
            Field::new("exponent", DataType::Int32, true),
        ]
    };
    let column: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let column = of(BinaryArray::from(column));
    let parts = vec![column.clone(), of(exponents)];
    let column = StructArray::new(fields(column.data_type()).into(), parts, None);
    let json = ciphertexts.iter().zip([0, -1]);
    let json = json.map(|(v, e)| format!("{{\"v\": \"{v}\", \"e\": {e}}}"));
    let columns = vec![("a", of(column)), ("b", of(StringArray::from_iter_values(json)))];
    let metadata = HashMap::from([(KEY.to_owned(), public)]);
    let input = files.write_with("table", columns, metadata);
    for name in ["a", "b"] {
        let column = format!("-c{name}");
        let decrypted = read(&files.done("decrypt", "key", &input, "decrypted", &[&column]));
        assert_eq!(texts(&decrypted, name), ["3", "0.3125"]);
        let total = files.done("sum", "key", &input, "sum", &[&column]);
        let total = read(&files.done("decrypt", "key", &total, "total", &[&column]));
        assert_eq!(texts(&total, name), ["3.3125"]);
    }
    let messages = files.failed("sum", "other-key", &input, &["-ca"]);
    assert!(messages.contains("numbers of another key"), "{messages}");
    let messages = files.failed("encrypt", "key", &input, &["-ca"]);
    assert!(messages.contains("encrypted already"), "{messages}");
}

#[test]
fn errors_name_rows_and_types() {
    let files = Files::new();
    let input = files.write(
        "table",
        vec![
            ("null", of(Int32Array::from(vec![Some(1), Some(2), Some(3), None, None]))),
            ("text", of(StringArray::from(vec!["1", "2", "3", "4", "five"]))),
            ("nan", of(Float64Array::from(vec![1.0, f64::NAN, 1.0, 1.0, 1.0]))),
            ("set", of(BooleanArray::from(vec![true; 5]))),
        ],
    );
    for (task, column, message) in [
        ("encrypt", "-cnull", "row 4: is null"),
        ("encrypt", "-ctext", "row 5: \"five\" is not a number"),
        ("encrypt", "-cnan", "row 2: \"NaN\" is out of range"),
        ("encrypt", "-cset", "the column \"set\" has the type Boolean: expected integers"),
        ("encrypt", "-cnone", "the table has no column \"none\""),
        ("encrypt", "-c5", "the table has no column \"5\""),
        ("decrypt", "-cset", "has the type Boolean: expected encrypted numbers"),
        ("decrypt", "-cnan", "row 1: not an encrypted number"),
        ("sum", "-ctext", "row 1: not an encrypted number"),
    ] {
        let mut arguments = vec![column, "--chunk-rows=2"];
        arguments.extend((task == "encrypt").then_some("--long-exponents"));
        let messages = files.failed(task, "key", &input, &arguments);
        assert!(messages.contains(message), "{task} {column}: {messages}");
    }
    let encrypted = files.done("encrypt", "key", &files.write("numbers", table()), "e", &["-c2"]);
    let messages = files.failed("sum", "key", &encrypted, &["-c2", "--by=is set"]);
    assert!(messages.contains("expected integers"), "{messages}");

    // Parquet files are read from files and written to files.
    let (status, _, messages) = files.run("encrypt", "key", &[&input, "-ctext"]);
    assert!(status == Some(2) && messages.contains("--output FILE"), "{messages}");
    let mut program = Command::new(env!("CARGO_BIN_EXE_gpuint"));
    let key = files.path("key");
    program.args(["paillier", "encrypt", "-", "-bcpu", "-ctext", "--key", &key]);
    let output = program.stdin(File::open(&input).unwrap()).output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.contains("not from a pipe or standard input"), "{messages}");
    let other = files.path("out");
    fs::write(files.path("out.assembled"), "notes").unwrap();
    let (status, _, messages) = files.run("encrypt", "key", &[&input, "-ctext", "-o", &other]);
    assert!(status == Some(2) && messages.contains("content of another job"), "{messages}");
    let copy = files.path("copy.assembled");
    fs::copy(&input, &copy).unwrap();
    let (_, _, messages) = files.run("encrypt", "key", &[&copy, "-c2", "-o", &files.path("copy")]);
    assert!(messages.contains("would write over it"), "{messages}");
}

#[test]
fn damaged_files_are_errors() {
    let files = Files::new();
    let input = files.write("table", table());
    let encrypted = files.done("encrypt", "public", &input, "encrypted", &["-camount"]);
    let bytes = fs::read(&encrypted).unwrap();
    let damaged = files.path("damaged");
    for at in (0..bytes.len()).step_by(97) {
        fs::write(&damaged, &bytes[..at]).unwrap();
        files.failed("sum", "public", &damaged, &["-camount"]);
        // A changed byte may be one of a name, or of another column.
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        fs::write(&damaged, changed).unwrap();
        let output = files.path("sums");
        let arguments = [&damaged, "-camount", "--by=id", "-o", &output];
        let (status, _, messages) = files.run("sum", "public", &arguments);
        assert!(matches!(status, Some(0 | 2)), "{at}: {messages}");
    }
}

#[test]
fn interrupted_jobs_go_on() {
    let files = Files::new();
    let numbers = |third: &str| {
        let texts = of(StringArray::from(vec!["1", "2", third, "4", "5"]));
        files.write("table", vec![("a", of(Int32Array::from(vec![1, 2, 3, 4, 5]))), ("n", texts)])
    };
    let input = numbers("three");
    let output = files.path("out");
    let arguments = [&input, "-cn", "-o", &output, "--chunk-rows=1", "--long-exponents"];
    let (status, _, messages) = files.run("encrypt", "public", &arguments);
    assert!(status == Some(2) && messages.contains("--resume goes on"), "{messages}");

    let resumed = [&arguments[..4], &["--long-exponents", "--resume"]].concat();
    files.write("table", vec![("n", of(StringArray::from(vec!["1", "0", "3"])))]);
    let (status, _, messages) = files.run("encrypt", "public", &resumed);
    assert!(status == Some(2) && messages.contains("does not begin with"), "{messages}");
    numbers("3");
    // Nothing can be made at this name, as on a disk that is full.
    let assembled = files.path("out.assembled");
    fs::create_dir(&assembled).unwrap();
    let (status, _, messages) = files.run("encrypt", "public", &resumed);
    assert!(status == Some(2) && messages.starts_with("resuming after row 2\n"), "{messages}");
    assert!(messages.contains("the results are in") && !fs::exists(&output).unwrap(), "{messages}");

    // The files of a job that was killed while it made its output, and after the renaming.
    fs::remove_dir(&assembled).unwrap();
    let kept = ["out.partial", "out.checkpoint"].map(|name| files.path(name));
    let copies: Vec<Vec<u8>> = kept.iter().map(|path| fs::read(path).unwrap()).collect();
    let mut results = Vec::new();
    for _ in 0..2 {
        fs::write(&assembled, "PAR1, and a part of the table").unwrap();
        let (status, _, messages) = files.run("encrypt", "public", &resumed);
        assert_eq!(status, Some(0), "{messages}");
        assert!(messages.starts_with("resuming after row 5\n"), "{messages}");
        assert!(kept.iter().chain([&assembled]).all(|path| !fs::exists(path).unwrap()));
        results.push(fs::read(&output).unwrap());
        for (path, bytes) in kept.iter().zip(&copies) {
            fs::write(path, bytes).unwrap();
        }
    }
    assert!(results[0] == results[1]);
    let decrypted = read(&files.done("decrypt", "key", &output, "decrypted", &["-cn"]));
    assert_eq!(texts(&decrypted, "n"), ["1", "2", "3", "4", "5"]);
}

#[cfg(unix)]
#[test]
fn output_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;

    let files = Files::new();
    let input = files.write("table", table());
    let output = files.path("out");
    fs::write(&output, "").unwrap();
    fs::set_permissions(&output, fs::Permissions::from_mode(0o600)).unwrap();
    files.done("encrypt", "public", &input, "out", &["-camount"]);
    assert_eq!(fs::metadata(&output).unwrap().permissions().mode() & 0o777, 0o600);
}
