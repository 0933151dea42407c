//! Text that is not PTX, or not PTX we know, is an error and never a panic.

mod common;
use common::{HEAD, Random, kernel};
use ptxi::{Error, Launch, Machine, Module};

fn error(body: &str) -> Error {
    match Module::parse(&kernel(body)) {
        Err(e) => e,
        Ok(_) => panic!("accepted: {body}"),
    }
}

#[test]
fn unknown_instructions_name_their_line() {
    let before = kernel("@").lines().position(|l| l.contains('@')).unwrap() as u32;
    for (body, what) in [
        ("\n\nadd.f16 %r1, %r1, %r1;", "add.f16"),
        ("\n\nwgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned"),
        ("\n\nadd.rz.f32 %r1, %r1, %r1;", "add.rz.f32"),
        ("\n\nshfl.bfly.b32 %r1, %r1, 1, 31;", "shfl.bfly.b32"),
        (
            "\n\nmma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1}, {%r1}, {%r1}, {%r1};",
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
        ),
        ("\n\nbarrier.cluster.arrive;", "barrier.cluster.arrive"),
        ("\n\nld.global.b128 %r1, [%out];", "ld.global.b128"),
        (
            "\n\ncp.async.cg.shared.global.L2::cache_hint [sm], [%out], 16, %rd1;",
            "cp.async.cg.shared.global.L2::cache_hint",
        ),
        ("\n\nfrobnicate.u32 %r1;", "frobnicate.u32"),
        ("\n\ntex.1d.v4.f32.s32 {%r1, %r1, %r1, %r1}, [%r1];", "tex.1d.v4.f32.s32"),
    ] {
        let want = Error::Unsupported { line: before + 3, what: what.into() };
        assert_eq!(error(body), want);
    }
}

#[test]
fn malformed_instructions() {
    for body in [
        "add.u32 %r1, %r2;",
        "add.u32 %r1, %r2, %r3, %r4;",
        "add.u32 %p1, %r2, %r3;",
        "add.u32 %r99, %r2, %r3;",
        "add.u64 %r1, %rd1, %rd2;",
        "add.u32 %r1, %nonsense, 1;",
        "add.u32 %r1, %tid.w, 1;",
        "setp.lt.u32 %r1, %r2, %r3;",
        "setp.lt.and.u32 %p1, %r2, %r3;",
        "selp.u32 %r1, %r2, %r3, %r4;",
        "@%r1 add.u32 %r1, %r2, %r3;",
        "bra NOWHERE;",
        "L: L: ret;",
        "brx.idx %r1, NOWHERE;",
        "ld.global.v4.u32 {%r1, %r2}, [%out];",
        "st.global.u32 %out, %r1;",
        "mov.b32 %r1, {%r2};",
        "lop3.b32 %r1, %r1, %r1, %r1, 300;",
        "add.u32 %r1, %r1, 99999999999999999999;",
        "add.u32 %r1, %r1, 0x;",
        "call nothing, (%r1);",
        "ret %r1",
        "{ ret;",
        "} }",
        ".reg .b32 %big<4000000000>; mov.u32 %big4000000000, 1;",
        ".local .b8 huge[99999999999];",
        ".param .align 3 .b8 odd[4];",
        "/* ",
        ".pragma \"nounroll",
        "mov.f32 %r1, 0f12;",
        "\u{e9}",
    ] {
        let text = kernel(body);
        assert!(Module::parse(&text).is_err(), "accepted: {body}");
    }
    // A register file is bounded, however many are declared.
    assert!(
        Module::parse(&kernel(".reg .b32 %big<4000000000>; mov.u32 %big3999999999, 1;")).is_ok()
    );
}

#[test]
fn module_level_errors() {
    for text in [
        ".visible .entry",
        ".visible .entry k(",
        ".visible .entry k() {",
        ".global .align 4 .b8 a[4] = {1, 2, 3, 4, 5};",
        ".global .u32 a = b;",
        ".global .u32 a",
        ".tex .u64 t;",
        "nonsense",
        ".section {",
        ".alias a, b;",
    ] {
        assert!(Module::parse(&format!("{HEAD}{text}")).is_err(), "accepted: {text}");
    }
    assert_eq!(Module::parse("").unwrap().kernels().count(), 0);
    assert!(
        Module::parse(&format!("{HEAD}.section .debug_str {{ .b8 1, 2 }}\n@@DWARF x\n")).is_ok()
    );
}

/// Texts made from real ones by cutting and mixing must parse or fail, and what parses
/// must run or fail.
#[test]
fn mutations_never_panic() {
    let sources = [
        include_str!("fixtures/control.ptx"),
        include_str!("fixtures/limbs.ptx"),
        include_str!("fixtures/tensor.ptx"),
    ];
    let mut random = Random(2024);
    let mut pick = move |n: usize| random.next() as usize % n.max(1);
    let (mut parsed, mut failed, mut ran) = (0, 0, 0);
    for round in 0..1200 {
        let source = sources[round % 3];
        let mut lines: Vec<String> = source.lines().map(String::from).collect();
        for _ in 0..=pick(3) {
            let at = pick(lines.len());
            let words: Vec<String> = lines[at].split_whitespace().map(String::from).collect();
            match pick(7) {
                0 => {
                    let keep = pick(lines[at].len());
                    lines[at].truncate(keep);
                }
                1 => drop(lines.remove(at)),
                2 => {
                    let other = lines[pick(lines.len())].clone();
                    lines.insert(at, other);
                }
                3 if words.len() > 1 => {
                    let (i, j) = (pick(words.len()), pick(words.len()));
                    let mut words = words;
                    words.swap(i, j);
                    lines[at] = words.join(" ");
                }
                4 => {
                    let other = lines[pick(lines.len())].clone();
                    let mut tail = other.split_whitespace().skip(1).collect::<Vec<_>>();
                    let head = words.first().map_or("", String::as_str);
                    tail.insert(0, head);
                    lines[at] = tail.join(" ");
                }
                5 if !lines[at].is_empty() => {
                    let place = pick(lines[at].len());
                    let letter = b"0%.,;[]{}()@!-+:|_xu\"/*"[pick(23)] as char;
                    lines[at].replace_range(place..=place, &letter.to_string());
                }
                _ => lines.truncate(at.max(20)),
            }
        }
        match Module::parse(&lines.join("\n")) {
            Err(error) => {
                failed += 1;
                assert!(!error.to_string().is_empty());
            }
            Ok(module) => {
                parsed += 1;
                for kernel in module.kernels() {
                    let mut machine = Machine::new(&module);
                    let buffer = machine.alloc(1 << 12).unwrap();
                    let mut params = vec![0; kernel.param_bytes()];
                    for word in params.chunks_exact_mut(8) {
                        word.copy_from_slice(&buffer.address().to_le_bytes());
                    }
                    let launch =
                        Launch::new(1, 32).limit(2000).dynamic_shared(64).seed(round as u64);
                    ran += usize::from(machine.run(kernel.name(), &launch, &params).is_ok());
                }
            }
        }
    }
    // The mutations are neither all fatal nor all harmless.
    assert!(parsed > 100 && failed > 100 && ran > 100, "{parsed} {failed} {ran}");
}

#[test]
fn every_prefix_is_an_error_or_a_module() {
    let source = include_str!("fixtures/tensor.ptx");
    for end in (0..source.len()).step_by(7) {
        let _ = Module::parse(&source[..end]);
    }
}
