//! The table of architectures agrees with the files that are written from it or by hand.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use gpuint_catalogue::Architecture;
use gpuint_catalogue::architecture::GpuRates;

/// The limits and policies for the kernels.
const HEADER: &str = "kernels/core/architectures.cuh";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Text of [`HEADER`].
fn header() -> String {
    let mut text = String::from(
        "// Limits and policies of GPU architectures. Written from catalogue/architectures.toml by
// `GPUINT_HEADER=overwrite cargo test -p gpuint-catalogue architectures`.
#pragma once
#include \"core/platform.cuh\"

namespace gpuint {

struct Architecture {
  u32 warps, blocks, registers;  // of a multiprocessor
  u32 block_kib;                 // shared memory of a block
  u32 policies;                  // compute capability whose measured policies its code has
};

// The newest architecture that is not newer than a compute capability (90 is 9.0), or the first.
__host__ __device__ constexpr Architecture architecture_of(u32 capability) {
",
    );
    for (index, architecture) in Architecture::ALL.iter().enumerate().rev() {
        let Architecture { capability, warps, blocks, registers, block_kib, policies, .. } =
            architecture;
        let condition = match index {
            0 => String::new(),
            _ => format!("if (capability >= {capability}) "),
        };
        let fields = format!("{warps}, {blocks}, {registers}, {block_kib}, {policies}");
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {condition}return {{{fields}}};");
    }
    let kib = || Architecture::ALL.iter().map(|architecture| architecture.block_kib);
    let _ = write!(
        text,
        "}}

// Shared memory of a block on every architecture, and on the one with the most.
constexpr u32 MIN_BLOCK_KIB = {}, MAX_BLOCK_KIB = {};

// Multiprocessors of the GPU on which policies were measured ({}).
constexpr u32 MEASURED_MULTIPROCESSORS = {};

}}  // namespace gpuint
",
        kib().min().unwrap(),
        kib().max().unwrap(),
        GpuRates::MEASURED.name,
        GpuRates::MEASURED.multiprocessors,
    );
    text
}

#[test]
fn architectures_of_the_kernels_are_those_of_the_table() {
    let path = root().join(HEADER);
    if env::var_os("GPUINT_HEADER").is_some_and(|value| value == "overwrite") {
        fs::write(&path, header()).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == header(),
        "{HEADER} is not up to date: GPUINT_HEADER=overwrite writes it"
    );
}

#[test]
fn architectures_are_measured_that_have_a_tuning_table() {
    let tables = fs::read_dir(root().join("tuning")).unwrap().map(|file| {
        let table: toml::Table = fs::read_to_string(file.unwrap().path()).unwrap().parse().unwrap();
        u32::try_from(table["capability"].as_integer().unwrap()).unwrap()
    });
    let measured = Architecture::ALL.iter().filter(|architecture| architecture.is_measured);
    let measured: BTreeSet<_> = measured.map(|architecture| architecture.capability).collect();
    assert_eq!(measured, tables.collect());
    assert!(measured.contains(&GpuRates::MEASURED.capability));
}
