//! Images that are made at run time, where none was built with the crate.

use crate::backend::cuda::cache::{Cache, Key};
use crate::backend::cuda::nvrtc::{self, Nvrtc};
use crate::backend::images::HEADERS;
use crate::error::{Error, Result};
use crate::kernel::Instance;
use gpuint_catalogue::{closure, inputs};

/// Source of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Cache,
    Compiler,
}

/// Use of the image in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Replace,
}

/// Returns the image of a kernel for a GPU of `capability`, from the cache or by NVRTC. `nvrtc` is
/// the compiler, or why it is unavailable.
pub(super) fn image(
    kernel: Instance,
    capability: u32,
    nvrtc: Result<&Nvrtc, &str>,
    cache: &Cache,
    cached: Use,
) -> Result<(Vec<u8>, Origin)> {
    let name = kernel.to_string();
    let missing = |remedy: String| Error::KernelMissing { kernel: name.clone(), remedy };
    let source = kernel.source();
    let nvrtc = nvrtc.map_err(|reason| {
        missing(format!(
            "no image for sm_{capability} was built with the crate, and there is no NVRTC to make \
             one ({reason}); \
             build where nvcc is found (PATH, CUDA_HOME or GPUINT_NVCC; GPUINT_ARCHS says for \
             which GPUs, GPUINT_KERNELS=all builds every kernel), \
             or install NVRTC, for example by \"pip install nvidia-cuda-nvrtc\", and set {} to \
             its libnvrtc",
            nvrtc::VARIABLE
        ))
    })?;
    let compiler = nvrtc.describe();
    let target = nvrtc.target(capability).ok_or_else(|| {
        missing(format!(
            "{compiler} does not compile for sm_{capability}: set {} to a version that does",
            nvrtc::VARIABLE
        ))
    })?;
    let key = key(&name, &source, &compiler, &nvrtc.options(target));
    if cached == Use::Read
        && let Some(image) = cache.read(&key)
    {
        return Ok((image, Origin::Cache));
    }
    let span = tracing::info_span!("compile", kernel = name, ?target);
    let headers = closure(&source, HEADERS);
    let image = span.in_scope(|| nvrtc.compile(&source, &headers, target))?;
    cache.write(&key, &image);
    Ok((image, Origin::Compiler))
}

/// The key of a kernel's image: everything that the image depends on. The options name the
/// architecture.
fn key(name: &str, source: &str, compiler: &str, options: &[String]) -> Key {
    let texts = [compiler.to_owned()].into_iter().chain(options.iter().cloned());
    Key::new(name, texts.chain(inputs(source, HEADERS)))
}

/// Tests that need NVRTC are skipped, with the reason, if it is missing.
#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::{fs, thread};

    use super::*;
    use gpuint_catalogue::{Algorithm, DigitKind, Entry, Op, Row, Shape, translation_unit};

    use crate::backend::cuda::nvrtc::Target;
    use crate::kernel::{KernelId, LONG_KERNELS, ROWS};
    use crate::shapes;
    use gpuint_skip::skip;

    fn nvrtc() -> Option<&'static Nvrtc> {
        Nvrtc::get().inspect_err(|reason| skip("nvrtc", reason)).ok()
    }

    fn contains(image: &[u8], text: &str) -> bool {
        image.windows(text.len()).any(|window| window == text.as_bytes())
    }

    /// The symbols stand in an image one after the other, each with a null byte at its end.
    fn has_symbol(image: &[u8], name: &str) -> bool {
        contains(image, &format!("\0{name}\0"))
    }

    fn addition() -> KernelId {
        KernelId::find(Op::Add, Algorithm::Only, shapes()[0]).unwrap()
    }

    /// Shapes that are not built: rows of whole and of half 32-bit limbs, in numbers that are not
    /// powers of two.
    const OTHERS: [Shape; 2] = [
        Shape { bits: 1280, q: 4, digit: DigitKind::U64 },
        Shape { bits: 1040, q: 5, digit: DigitKind::U16 },
    ];

    /// Returns the kernels of the catalogue by unit: each kernel and digit at the narrowest shape,
    /// or with `GPUINT_TEST_SHAPES=all` at every shape; and each kernel at the shapes of
    /// [`OTHERS`]; and the kernels of long rows. nvcc compiles the same templates at all shapes
    /// (`scripts/kernel-gate`); NVRTC differs only in the headers and functions that it knows.
    fn units() -> Vec<Vec<Entry<'static>>> {
        let all = std::env::var("GPUINT_TEST_SHAPES").is_ok_and(|shapes| shapes == "all");
        let mut done = HashSet::new();
        let mut unit = |shape: &Shape| -> Vec<_> {
            let mut is_new = |row: &Row<'_>| {
                let digit = (!row.per_width).then(|| (shape.digit.name(), shape.q));
                let variant = if all { (shape.bits, digit) } else { (0, digit.map(|d| (d.0, 0))) };
                done.insert((row.op.name(), row.algorithm.to_string(), variant))
            };
            let kernel = |row: &Row<'_>| KernelId::find(row.op, row.algorithm, *shape);
            let new = ROWS.iter().filter_map(|row| kernel(row).filter(|_| is_new(row)));
            new.map(|kernel| kernel.source(None).into()).collect()
        };
        let built = shapes().iter().map(&mut unit).filter(|unit| !unit.is_empty());
        let others = OTHERS.into_iter().filter(|shape| !shapes().contains(shape)).map(|shape| {
            let kernel = |row: &Row<'_>| KernelId::find(row.op, row.algorithm, shape);
            ROWS.iter().filter_map(kernel).map(|kernel| kernel.source(None).into()).collect()
        });
        let long = LONG_KERNELS.iter().map(|&kernel| vec![kernel.into()]);
        built.chain(others).chain(long).collect()
    }

    /// `GPUINT_TEST_NVRTC=sources` compiles to PTX without optimization, in a process without other
    /// tests: NVRTC 13.0 applies that option to compilations of other threads, too.
    #[test]
    fn nvrtc_compiles_every_kernel_of_the_catalogue() {
        let Some(nvrtc) = nvrtc() else { return };
        let target = nvrtc.target(90).expect("sm_90a is known to every NVRTC that is maintained");
        let sources_only = std::env::var("GPUINT_TEST_NVRTC").is_ok_and(|text| text == "sources");
        let compile = |unit: &[Entry<'static>]| {
            let source = translation_unit(unit.iter().cloned());
            let headers = closure(&source, HEADERS);
            let image = match sources_only {
                true => nvrtc.read_source(&source, &headers),
                false => nvrtc.compile(&source, &headers, target),
            };
            let image = image.unwrap_or_else(|error| panic!("{:?}: {error}", unit[0]));
            for Entry { name, .. } in unit {
                let (kernel, bounds) = match sources_only {
                    true => (format!(".entry {name}("), format!(" {name}_launch_bounds[")),
                    false => (format!("\0{name}\0"), format!("\0{name}_launch_bounds\0")),
                };
                assert!(contains(&image, &kernel) && contains(&image, &bounds), "{name}");
            }
        };
        let (units, next) = (units(), AtomicUsize::new(0));
        println!("{} kernels by NVRTC", units.iter().map(Vec::len).sum::<usize>());
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                        compile(unit);
                    }
                });
            }
        });
    }

    #[test]
    fn an_image_is_compiled_once_and_then_read() {
        let Some(nvrtc) = nvrtc() else { return };
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(Some(folder.path().to_owned()));
        let make =
            |cache: &Cache| image(addition().into(), 90, Ok(nvrtc), cache, Use::Read).unwrap();
        let (first, origin) = make(&cache);
        assert_eq!(origin, Origin::Compiler);
        assert!(has_symbol(&first, &addition().to_string()));
        let files = || fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        let [path]: [_; 1] = files().collect::<Vec<_>>().try_into().unwrap();
        let written = fs::read(&path).unwrap();
        assert!(written.ends_with(&first));
        assert_eq!(make(&cache), (first.clone(), Origin::Cache));

        // Another image in the file shows that it is read; a damaged one is made anew.
        let source = Instance::from(addition()).source();
        let options = nvrtc.options(nvrtc.target(90).unwrap());
        let key = key(&addition().to_string(), &source, &nvrtc.describe(), &options);
        let another = nvrtc.compile("", &[], nvrtc.target(90).unwrap()).unwrap();
        cache.write(&key, &another);
        assert_eq!(make(&cache), (another, Origin::Cache));
        let replaced = image(addition().into(), 90, Ok(nvrtc), &cache, Use::Replace).unwrap();
        assert_eq!(replaced, (first.clone(), Origin::Compiler));
        assert_eq!(make(&cache), (first, Origin::Cache));
        fs::write(&path, &written[..written.len() / 2]).unwrap();
        assert_eq!(make(&cache).1, Origin::Compiler);
        assert_eq!(make(&cache).0, make(&Cache::at(None)).0);
        assert_eq!(files().count(), 1);
    }

    #[test]
    fn a_missing_kernel_says_what_to_do() {
        let cache = Cache::at(None);
        let remedy = |kernel: KernelId, capability, nvrtc| match image(
            kernel.into(),
            capability,
            nvrtc,
            &cache,
            Use::Read,
        ) {
            Err(Error::KernelMissing { kernel: name, remedy }) if name == kernel.to_string() => {
                remedy
            }
            other => panic!("{other:?}"),
        };
        let text = remedy(addition(), 90, Err("it is not there"));
        for part in [
            "sm_90",
            "it is not there",
            "GPUINT_NVRTC",
            "GPUINT_NVCC",
            "GPUINT_ARCHS",
            "GPUINT_KERNELS",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        if let Some(nvrtc) = nvrtc() {
            let text = remedy(addition(), 1, Ok(nvrtc));
            assert!(text.contains("sm_1:") && text.contains("GPUINT_NVRTC"), "{text}");
        }
    }

    #[test]
    fn nvrtc_makes_ptx_for_gpus_that_it_does_not_know() {
        let Some(nvrtc) = nvrtc() else { return };
        let Some(target @ Target::Ptx(number)) = nvrtc.target(u32::MAX) else {
            panic!("no architecture");
        };
        let unit = "extern \"C\" __global__ void k() {}";
        let ptx = nvrtc.compile(unit, &[], target).unwrap();
        assert!(contains(&ptx, &format!(".target sm_{number}")));
        assert_eq!(ptx.last(), Some(&0));
        assert_eq!(nvrtc.target(1), None);
    }

    #[test]
    fn nvrtc_is_known_by_its_build() {
        let Some(nvrtc) = nvrtc() else { return };
        let words = nvrtc.describe();
        assert!(words.contains("Compiler Build ID") && words.contains("release"), "{words}");
    }

    #[test]
    fn compiler_error_is_returned_with_its_log() {
        let Some(nvrtc) = nvrtc() else { return };
        let target = nvrtc.target(90).unwrap();
        let error =
            nvrtc.compile("#include \"own.cuh\"\nint x = undeclared;", &[("own.cuh", "")], target);
        let Err(Error::Compile { log }) = error else { panic!("{error:?}") };
        assert!(log.contains("NVRTC_ERROR_COMPILATION") && log.contains("undeclared"), "{log}");
        let error = nvrtc.compile("a\0b", &[], target);
        assert!(matches!(error, Err(Error::Compile { .. })), "{error:?}");
    }

    #[test]
    fn keys_depend_on_all_that_the_image_depends_on() {
        let options = |number| Target::Cubin(number).options();
        let keys = [
            key("k", "source", "nvrtc 13.0", &options(90)),
            key("l", "source", "nvrtc 13.0", &options(90)),
            key("k", "other", "nvrtc 13.0", &options(90)),
            key("k", "source", "nvrtc 13.1", &options(90)),
            key("k", "source", "nvrtc 13.0", &options(80)),
            key("k", "source", "nvrtc 13.0", &Target::Ptx(90).options()),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key), "{key:?}");
        }
    }
}
