//! The header of a row alone makes the kernels that all headers together make: nothing depends on a
//! header that a unit does not include.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use gpuint_catalogue::{BLOCK, Catalogue, Kernel, closure, headers, translation_unit};
use gpuint_skip::skip;

/// The header that declares the operations of several strategies.
/// End of the names of the headers that declare the operations of several strategies.
const OPERATIONS: &str = "/operations.cuh";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn catalogue() -> Catalogue {
    Catalogue::read(&root(), false, "").unwrap()
}

fn all_headers() -> Vec<(String, String)> {
    headers(&root().join("kernels")).unwrap()
}

/// Name of the class template that a line declares, and the rest of the line.
fn class(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start().strip_prefix("struct ")?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(rest.split_at(end))
}

/// Includes of the headers of all rows.
fn includes_of_all(catalogue: &Catalogue) -> String {
    let long = catalogue.long_kernels().map(|kernel| kernel.header);
    let names: BTreeSet<_> = catalogue.rows().map(|row| row.header).chain(long).collect();
    names.iter().map(|name| format!("#include \"{name}\"\n")).collect()
}

#[test]
fn every_header_is_of_a_kernel() {
    let headers = all_headers();
    let includes = includes_of_all(&catalogue());
    let used = closure(&includes, &headers).into_iter().map(|(name, _)| name);
    let names = headers.iter().map(|(name, _)| &**name);
    assert_eq!(used.collect::<BTreeSet<_>>(), names.collect());
}

#[test]
fn unit_reads_the_headers_of_its_algorithm() {
    let headers = all_headers();
    let catalogue = catalogue();
    let lines = |row: &str| {
        let include = format!("#include \"{}\"\n", catalogue.row(row).unwrap().header);
        closure(&include, &headers).iter().map(|(_, text)| text.lines().count()).sum::<usize>()
    };
    assert!(lines("add") < 1600 && lines("bitwise") < 1300);
    let include =
        format!("#include \"{}\"\n", catalogue.row("div_rem_blocked_classical").unwrap().header);
    for (name, _) in closure(&include, &headers) {
        assert!(!name.contains("fft") && !name.contains("tensor/"), "{name}");
    }
}

#[test]
fn rooms_include_each_other_in_no_circle() {
    let headers = all_headers();
    let room = |name: &str| name.split_once('/').map(|(room, _)| room.to_owned());
    let mut rooms: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (name, text) in &headers {
        let names = text.lines().filter_map(|line| line.strip_prefix("#include \""));
        let used = names.filter(|name| !name.starts_with("simt/")).filter_map(room);
        rooms.entry(room(name).unwrap()).or_default().extend(used);
    }
    for (room, used) in &mut rooms {
        used.remove(room);
    }
    while let Some(lowest) = rooms.iter().find(|(_, used)| used.is_empty()) {
        let lowest = lowest.0.clone();
        rooms.remove(&lowest);
        for used in rooms.values_mut() {
            used.remove(&lowest);
        }
    }
    assert!(rooms.is_empty(), "{rooms:?}");
}

/// Without a header with a specialization, the primary template would be compiled silently.
#[test]
fn specializations_are_beside_their_primary_templates_or_in_dispatch() {
    let headers = all_headers();
    let declaring = headers.iter().filter(|(name, _)| name.ends_with(OPERATIONS));
    let operations: BTreeSet<_> =
        declaring.flat_map(|(_, text)| text.lines().filter_map(class)).map(|it| it.0).collect();
    assert!(operations.len() > 10);
    let mut specialized = BTreeSet::new();
    for (file, text) in &headers {
        let classes: Vec<_> = text.lines().filter_map(class).collect();
        let primaries: BTreeSet<_> = classes
            .iter()
            .filter(|(_, rest)| !rest.starts_with('<'))
            .map(|(name, _)| name)
            .collect();
        for (name, rest) in &classes {
            if operations.contains(name) {
                let is_declared = file.ends_with(OPERATIONS) && *rest == ";";
                let is_dispatched = file.starts_with("dispatch/") && rest.starts_with('<');
                assert!(is_declared || is_dispatched, "{file}: {name}{rest}");
                specialized.extend(is_dispatched.then_some(*name));
            } else if rest.starts_with('<') {
                assert!(primaries.contains(name), "{file}: {name}{rest}");
            }
        }
    }
    assert_eq!(specialized, operations);
}

/// The host compiler of the tests, or why there is none.
fn compiler() -> Option<String> {
    let name = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let found = Command::new(&name).arg("--version").output();
    found.inspect_err(|reason| skip("cxx", reason)).ok().map(|_| name)
}

/// Compiles a unit of the SIMT shim without optimization.
fn compile(compiler: &str, unit: &Path, text: &str) -> Output {
    fs::write(unit, text).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-w", "-O0", "-DGPUINT_SIMT", "-I"]).arg(root().join("kernels"));
    command.arg("-c").arg(unit).arg("-o").arg(unit.with_extension("o")).output().unwrap()
}

/// Functions of an object that other units may define, too: name and size. They are the instances
/// of the templates that the kernels consist of.
fn instances(object: &Path) -> BTreeMap<String, String> {
    let output = Command::new("nm").args(["--print-size", "--defined-only"]).arg(object).output();
    let output = output.unwrap();
    assert!(output.status.success(), "nm: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let symbols = text.lines().filter_map(|line| {
        let [_, size, kind, name] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return None;
        };
        // The bounds of a kernel are constants of its unit.
        let is_compared = matches!(kind, "W" | "V" | "u") || name.contains("_launch_bounds");
        is_compared.then(|| (name.to_owned(), size.to_owned()))
    });
    symbols.collect()
}

/// The headers of the rows, and the kernels of each at the narrowest offered shape.
fn kernels(catalogue: &Catalogue) -> BTreeMap<&str, Vec<Kernel<'_>>> {
    let mut kernels: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in catalogue.rows() {
        let offered = catalogue.shapes().filter(|&shape| row.is_offered(shape));
        let shape = offered.min_by_key(|shape| shape.bits).unwrap();
        kernels.entry(row.header).or_default().push(Kernel { row, shape, block: BLOCK });
    }
    kernels
}

/// Compares two objects of each header: a sixth of the headers, by turns of a day, or with
/// `GPUINT_TEST_SHAPES=all` every one.
#[test]
fn header_of_a_row_alone_makes_the_same_kernels() {
    let Some(compiler) = compiler() else { return };
    let catalogue = catalogue();
    let folder = tempfile::tempdir().unwrap();
    let all_rows = includes_of_all(&catalogue);
    let compare = |index: usize, header: &str, kernels: &[Kernel<'_>]| {
        let alone = translation_unit(kernels.iter().copied());
        let include = format!("#include \"{header}\"\n");
        let together = alone.replace(&include, &all_rows);
        let [alone, together] = [("alone", alone), ("together", together)].map(|(name, text)| {
            let unit = folder.path().join(format!("{index}_{name}.cpp"));
            let output = compile(&compiler, &unit, &text);
            assert!(
                output.status.success(),
                "{header} {name}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            instances(&unit.with_extension("o"))
        });
        assert!(!alone.is_empty());
        assert_eq!(alone, together, "{header}");
    };
    let all = env::var("GPUINT_TEST_SHAPES").is_ok_and(|shapes| shapes == "all");
    let day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 86400;
    let turn = usize::try_from(day % 6).unwrap();
    let headers: Vec<_> = kernels(&catalogue).into_iter().enumerate().collect();
    let headers: Vec<_> = headers.iter().filter(|(index, _)| all || index % 6 == turn).collect();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for worker in 0..workers {
            let own = headers.iter().skip(worker).step_by(workers);
            scope.spawn(move || {
                own.for_each(|(index, (header, kernels))| compare(*index, header, kernels));
            });
        }
    });
}

#[test]
fn header_without_the_specialization_does_not_compile() {
    let Some(compiler) = compiler() else { return };
    let catalogue = catalogue();
    let headers = all_headers();
    let folder = tempfile::tempdir().unwrap();
    let kernels = kernels(&catalogue);
    let dispatched = kernels.iter().filter(|(header, _)| header.starts_with("dispatch/"));
    for (header, kernels) in dispatched {
        // Every header in reach but the rows' own.
        let include = format!("#include \"{header}\"\n");
        let others = closure(&include, &headers).into_iter().filter(|(name, _)| name != header);
        let includes: String = others.map(|(name, _)| format!("#include \"{name}\"\n")).collect();
        let unit = translation_unit(kernels.iter().copied()).replace(&include, &includes);
        let output = compile(&compiler, &folder.path().join("unit.cpp"), &unit);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("incomplete type"), "{header}: {said}");
        for kernel in kernels {
            assert!(
                said.contains(&format!("GPUINT_KERNEL({},", kernel.name())),
                "{header}: {said}"
            );
        }
    }
}

/// The template of a kernel has the name of the operation.
#[test]
fn templates_have_the_names_of_their_operations() {
    for row in catalogue().rows() {
        let (template, _) = row.template.split_once('<').unwrap();
        let name = template.rsplit("::").next().unwrap();
        assert_eq!(name, format!("{:?}", row.op), "{}", row.template);
    }
}
