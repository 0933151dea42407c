//! Feature `simt`: the kernels, compiled for the host over the shim of `kernels/simt`.
//!
//! - `GPUINT_SIMT_OPT`: the optimisation level, 2 by default
//! - `GPUINT_SIMT_SANITIZE`: what follows GCC's `-fsanitize=`: `address`, `undefined`, or both with
//!   a comma between them
//! - `GPUINT_SIMT_BITS`: the widest shape whose kernels are compiled; all by default

use std::fs;
use std::path::Path;

use gpuint_catalogue::{cache::Key, translation_unit};

use crate::cache::{Cache, printed};
use crate::parallel::in_parallel;
use crate::{Build, Result, variable, write};

/// Shapes per translation unit: few enough that all cores have work, and enough that the headers
/// are not read again and again.
const SHAPES_PER_UNIT: usize = 4;

/// Compiles and links everything.
pub(crate) fn build(all: &Build, out: &Path) -> Result {
    let target = |name| std::env::var(name).unwrap_or_default();
    let (family, arch) = (target("CARGO_CFG_TARGET_FAMILY"), target("CARGO_CFG_TARGET_ARCH"));
    if family != "unix" || !["x86_64", "aarch64"].contains(&&*arch) {
        return Err(format!(
            "feature simt: kernels on the host need x86-64 or aarch64 with mmap (Linux, macOS, other \
             Unix), and this target is {arch} {family}: build without the feature"
        ));
    }
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").include("kernels").define("GPUINT_SIMT", None).warnings(false);
    build.opt_level_str(variable("GPUINT_SIMT_OPT").as_deref().unwrap_or("2")).debug(false);
    // Nothing refers to a kernel: they register themselves when the program starts.
    build.link_lib_modifier("+whole-archive");

    if let Some(sanitizers) = variable("GPUINT_SIMT_SANITIZE") {
        build.flag(format!("-fsanitize={sanitizers}")).flag("-fno-sanitize-recover=all");
        build.flag("-fno-omit-frame-pointer").flag("-g1");
        for sanitizer in sanitizers.split(',') {
            // rustc links with -nodefaultlibs, so that the compiler does not add these itself. They
            // stand before all other libraries, as they must.
            let runtime = match sanitizer {
                "address" => "asan",
                "undefined" => "ubsan",
                // ThreadSanitizer does not see how Rust's own threads synchronise, and reports
                // races that are none: tests/sanitize runs the kernels under it without Rust.
                other => return Err(format!("GPUINT_SIMT_SANITIZE: \"{other}\" is not supported")),
            };
            println!("cargo::rustc-link-lib=dylib={runtime}");
        }
    }

    let mut sources = Vec::new();
    let unreadable = |error: std::io::Error| format!("kernels/simt: {error}");
    for file in fs::read_dir("kernels/simt").map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        let own_program = path.file_stem().is_some_and(|stem| stem == "selftest");
        if path.extension().is_some_and(|extension| extension == "cpp") && !own_program {
            sources.push(path);
        }
    }
    let widest = match variable("GPUINT_SIMT_BITS") {
        None => usize::MAX,
        Some(bits) => bits
            .parse()
            .map_err(|_| format!("GPUINT_SIMT_BITS: \"{bits}\" is not a number of bits"))?,
    };
    let shapes: Vec<_> = all.catalogue.shapes().filter(|shape| shape.bits <= widest).collect();
    for (unit, shapes) in shapes.chunks(SHAPES_PER_UNIT).enumerate() {
        let name = format!("simt_{unit}.cpp");
        write(out, &name, &translation_unit(all.kernels(shapes)))?;
        sources.push(out.join(name));
    }
    // The widest shapes, whose kernels take longest, are last: they start first.
    sources.reverse();
    let failed = |error: &dyn std::fmt::Display| {
        format!("feature simt: the host C++ compiler (CXX, else the system's) failed: {error}")
    };
    let compiler = build.try_get_compiler().map_err(|error| failed(&error))?;
    let cache = Cache::from_env();
    let objects: Vec<_> = sources
        .into_iter()
        .map(|source| {
            let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (source, out.join(name + ".o"))
        })
        .collect();
    in_parallel(&objects, |(source, object)| {
        compile(&compiler, &cache, source, object).map_err(|error| failed(&error))
    })?;
    build.objects(objects.iter().map(|(_, object)| object));
    build.try_compile("gpuint_simt").map_err(|error| failed(&error))
}

/// Compiles a unit, or reads it from the cache.
fn compile(compiler: &cc::Tool, cache: &Cache, source: &Path, object: &Path) -> Result {
    // The macros name the compiler's version and what `-march=native` means here; without line markers,
    // the same unit has one text in all target folders.
    let text = printed(compiler.to_command().args(["-E", "-P", "-dD"]).arg(source))?;
    let options = compiler.args().iter().map(|option| option.as_encoded_bytes());
    let path = compiler.path().as_os_str().as_encoded_bytes();
    let key = Key::new("simt", options.chain([path, &text]));
    let mut command = compiler.to_command();
    command.arg("-c").arg(source).arg("-o").arg(object);
    cache.or_make(&key, object, || printed(&mut command).map(drop))
}
