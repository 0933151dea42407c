//! The header, made by cbindgen. `GPUINT_HEADER=overwrite cargo test -p gpuint-capi header` writes
//! it.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use crate::{
    batch, device, divisor, factor, mask, operations, residues, secret, sieve, signed, trees, words,
};

/// Returns the header of the present source.
fn header(folder: &Path) -> String {
    // cbindgen expands no macros, and so reads the declarations as text.
    let declarations = [
        device::DECLARATIONS,
        batch::DECLARATIONS,
        operations::DECLARATIONS,
        mask::DECLARATIONS,
        divisor::DECLARATIONS,
        factor::DECLARATIONS,
        residues::DECLARATIONS,
        secret::DECLARATIONS,
        sieve::DECLARATIONS,
        signed::DECLARATIONS,
        trees::DECLARATIONS,
        words::DECLARATIONS,
    ];
    let expanded = tempfile::Builder::new().suffix(".rs").tempfile().unwrap();
    fs::write(expanded.path(), declarations.concat()).unwrap();
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(folder.join("src/handle.rs"))
        .with_src(folder.join("src/interrupt.rs"))
        .with_src(folder.join("src/status.rs"))
        .with_src(expanded.path())
        .generate()
        .unwrap();
    let mut header = Vec::new();
    bindings.write(&mut header);
    String::from_utf8(header).unwrap()
}

#[test]
fn header_is_that_of_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = folder.join("include/gpuint.h");
    let header = header(folder);
    if env::var_os("GPUINT_HEADER").is_some_and(|value| value == "overwrite") {
        fs::write(&path, &header).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == header,
        "include/gpuint.h is stale; GPUINT_HEADER=overwrite cargo test -p gpuint-capi header"
    );
}

#[test]
fn every_handle_has_an_owner_in_cpp() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let owners = fs::read_to_string(folder.join("include/gpuint.hpp")).unwrap();
    // Long names stand on lines of their own.
    let owners = owners.split_whitespace().collect::<Vec<_>>().join(" ");
    let header = header(folder);
    let frees =
        header.split("\ngpuint_status gpuint_").filter_map(|rest| rest.split_once("_free("));
    let is_name = |kind: &&str| kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let kinds: Vec<_> = frees.map(|(kind, _)| kind).filter(is_name).collect();
    assert!(kinds.len() >= 10 && kinds.contains(&"secret_factor"), "{kinds:?}");
    for kind in kinds {
        let freed = format!("(gpuint_{kind}* handle) const noexcept {{ gpuint_{kind}_free(handle)");
        let owner = format!("= std::unique_ptr<gpuint_{kind}, deleter>;");
        assert!(owners.contains(&freed) && owners.contains(&owner), "no owner of gpuint_{kind}");
    }
}

/// The names of methods that macros declare: `    fn name(..) -> Type;`.
fn declared(source: &str, start: &str) -> Vec<String> {
    let blocks = source.split(start).skip(1).map(|rest| rest.split("\n}").next().unwrap_or(rest));
    let names = blocks.flat_map(|block| {
        let lines = block.lines().filter_map(|line| line.strip_prefix("    fn "));
        lines.filter_map(|line| line.split_once('(').map(|(name, _)| name.to_owned()))
    });
    names.collect()
}

#[test]
fn every_operation_of_the_crate_has_a_function() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = header(folder);
    let mut operations = BTreeSet::new();
    let files = |folder: &Path| -> Vec<_> {
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect()
    };
    let mut open = files(&folder.join("../src/ops"));
    while let Some(file) = open.pop() {
        if file.is_dir() {
            open.extend(files(&file));
            continue;
        }
        let source = fs::read_to_string(file).unwrap();
        operations.extend(declared(&source, "\nfaces! {"));
        let residues = declared(&source, "\nresidue_faces! {");
        operations.extend(residues.iter().map(|name| format!("residues_{name}")));
        let signed = declared(&source, "\nsigned_faces! {");
        operations.extend(signed.iter().map(|name| format!("signed_{name}")));
    }
    // Objects do not change: nothing is computed into existing ones, and copies are not needed.
    operations.retain(|name| !name.ends_with("_into") && name != "residues_try_clone");
    assert!(operations.len() > 70, "{operations:?}");
    operations.retain(|name| !header.contains(&format!(" gpuint_{name}(")));
    assert!(operations.is_empty(), "without a function: {operations:?}");
}
