//! Expands `architectures.toml` into the constants of `src/architecture.rs`. The compiler checks
//! that each entry has the fields of its struct.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use toml::{Table, Value};

/// Path of the table in the package.
const FILE: &str = "architectures.toml";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={FILE}");
    let wrong = |error: &dyn std::fmt::Display| format!("{FILE}: {error}");
    let text = fs::read_to_string(FILE).map_err(|error| wrong(&error))?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| wrong(&error))?;
    let mut constants = String::new();
    for (key, constant, item) in
        [("architectures", "ARCHITECTURES", "Architecture"), ("gpus", "GPUS", "GpuRates")]
    {
        let entries = table.get(key).and_then(Value::as_array);
        let entries = entries.ok_or_else(|| wrong(&format!("no list of {key}")))?;
        let values: Vec<String> = entries.iter().map(|entry| literal(entry, item)).collect();
        // Writing to a string does not fail.
        let _ = writeln!(
            constants,
            "const {constant}: [{item}; {}] = [{}];",
            values.len(),
            values.join(",\n")
        );
    }
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    fs::write(Path::new(&out).join("architectures.rs"), constants).map_err(|error| wrong(&error))
}

/// Returns a value as a Rust expression; a table is a struct `item`.
fn literal(value: &Value, item: &str) -> String {
    match value {
        Value::Table(fields) => {
            let field =
                |(name, value): (&String, &Value)| format!("{name}: {}", literal(value, ""));
            format!("{item} {{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => format!("{text:?}"),
        Value::Float(number) => format!("{number:?}"),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(is_set) => is_set.to_string(),
        Value::Array(_) | Value::Datetime(_) => format!("compile_error!(\"{FILE}: {value:?}\")"),
    }
}
