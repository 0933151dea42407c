//! Every check has a kernel that fails it, and one beside it that does not.

mod common;
use common::{fault, kernel, output, run_kernel};
use ptxi::{Checks, Error, Fault, FaultKind, Launch, Machine, Module, Params, Race, Space};

#[track_caller]
fn passes(body: &str, threads: u32) {
    for seed in 0..6 {
        let launch = Launch::new(1, threads).checks(Checks::ALL).seed(seed);
        run_kernel(body, &launch).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
}

/// The fault under each of several schedules.
fn faults(body: &str, threads: u32) -> Vec<FaultKind> {
    let launch = |seed| Launch::new(1, threads).seed(seed);
    let results = (0..6).map(|seed| run_kernel(body, &launch(seed)));
    results.filter_map(|r| r.err().and_then(|e| e.fault().cloned())).collect()
}

#[test]
fn faults_name_their_place() {
    let text = kernel(
        "mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.x; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %t;
         setp.eq.u32 %p0, %r2, 11;
         @%p0 st.global.u32 [%out+1000], %t;",
    );
    let line = text.lines().position(|l| l.contains("@%p0")).unwrap() as u32 + 1;
    let module = Module::parse(&text).unwrap();
    let mut machine = Machine::new(&module);
    let out = machine.alloc(400).unwrap();
    // 8 + 1 + 3 is the most, so 11 is first met in block 2 by thread (8, 1).
    let launch = Launch { block: [9, 2, 1], ..Launch::new(4, 1) };
    let result = machine.run("k", &launch, Params::new().buffer(out).as_bytes());
    let Err(Error::Fault(found)) = result else {
        panic!("no fault");
    };
    let Fault { kernel, block, thread, opcode, .. } = &*found;
    assert_eq!((kernel.as_str(), opcode.as_str()), ("k", "st.global.u32"));
    assert_eq!((block, thread, found.line), (&[2, 0, 0], &[8, 1, 0], line));
    assert!(found.to_string().contains(&format!("PTX line {line}")));
}

#[test]
fn bounds_and_alignment() {
    let out = |space, address, bytes| FaultKind::OutOfBounds { space, address, bytes };
    assert!(matches!(
        fault("st.global.u32 [%out+128], %t;", 32),
        FaultKind::OutOfBounds { space: Space::Global, bytes: 4, .. }
    ));
    assert!(matches!(
        fault("st.global.u32 [%out+-4], %t;", 32),
        FaultKind::OutOfBounds { space: Space::Global, .. }
    ));
    assert_eq!(fault("ld.global.u32 %r2, [16];", 1), out(Space::Global, 16, 4));
    assert_eq!(
        fault("st.shared.v4.u32 [sm+2048], {%t, %t, %t, %t};", 1),
        out(Space::Shared, 2048, 16)
    );
    assert_eq!(fault("ld.param.u32 %r2, [out+8];", 1), out(Space::Param, 8, 4));
    assert_eq!(fault(".local .b8 a[8]; st.local.u64 [a+8], %rd1;", 1), out(Space::Local, 8, 8));
    assert!(matches!(
        fault("st.global.v2.u32 [%out+4], {%t, %t};", 1),
        FaultKind::Misaligned { space: Space::Global, bytes: 8, .. }
    ));
    assert_eq!(
        fault("ld.shared.u16 %r2, [sm+3];", 1),
        FaultKind::Misaligned { space: Space::Shared, address: 3, bytes: 2 }
    );
    assert!(matches!(
        fault("atom.global.add.u64 %rd2, [%out+4], 1;", 1),
        FaultKind::Misaligned { .. }
    ));
    assert!(matches!(
        fault("atom.shared.add.u32 %r2, [sm+2048], 1;", 1),
        FaultKind::OutOfBounds { .. }
    ));
}

#[test]
fn read_only_memory() {
    let text = kernel("st.u32 [table], %t;").replacen(
        ".visible",
        ".const .align 4 .b8 table[8];\n.visible",
        1,
    );
    let module = Module::parse(&text).unwrap();
    let mut machine = Machine::new(&module);
    let result = machine.run("k", &Launch::new(1, 1), &[0; 8]);
    assert!(matches!(result.unwrap_err().fault(), Some(FaultKind::ReadOnly { .. })));
    assert!(matches!(fault("st.param.u32 [out], %t;", 1), FaultKind::ReadOnly { .. }));
}

#[test]
fn unwritten_shared_memory() {
    let body = "shl.b32 %r2, %t, 2; mov.u32 %r3, sm; add.u32 %r2, %r2, %r3; setp.ne.u32 %p0, %t, 7;
        @%p0 st.shared.u32 [%r2], %t; bar.sync 0; ld.shared.u32 %r4, [%r2]; \
        st.global.u32 [%out], %r4;";
    assert_eq!(fault(body, 64), FaultKind::UninitialisedShared { offset: 28 });
    passes(&body.replace("@%p0 st.shared", "st.shared"), 64);
    assert_eq!(
        fault("atom.shared.or.b32 %r2, [sm+8], 1;", 1),
        FaultKind::UninitialisedShared { offset: 8 }
    );
    let checks = Checks { uninitialised_shared: false, ..Checks::default() };
    let (words, _) = run_kernel(body, &Launch::new(1, 64).checks(checks)).unwrap();
    assert_eq!(words[7], 0xa5a5_a5a5);
}

/// Each thread writes its word and reads that of another warp.
const EXCHANGE: &str = "shl.b32 %r2, %t, 2; mov.u32 %r3, sm; add.u32 %r2, %r2, %r3; \
                        xor.b32 %r4, %t, 32; shl.b32 %r4, %r4, 2;
    add.u32 %r4, %r4, %r3; st.shared.u32 [%r2], %t; bar.sync 0;
    FIRST ld.shared.u32 %r5, [%r4]; SECOND
    st.shared.u32 [%r2], %r5; st.global.u32 [%out], %r5;";

#[test]
fn races_between_warps() {
    let barrier = "bar.sync 0;";
    passes(&EXCHANGE.replace("FIRST", "").replace("SECOND", barrier), 64);
    // Without the second barrier a word is overwritten while the other warp reads it.
    let found = faults(&EXCHANGE.replace("FIRST", "").replace("SECOND", ""), 64);
    assert_eq!(found.len(), 6, "found under every schedule");
    assert!(found.iter().all(|f| matches!(
        f,
        FaultKind::SharedRace { race: Race::WriteAfterRead | Race::ReadAfterWrite, .. }
    )));
    // A write before the read, unordered.
    let found = faults(
        &EXCHANGE.replace("FIRST", "st.shared.u32 [%r2], %t;").replace("SECOND", barrier),
        64,
    );
    assert!(found.len() == 6 && found.iter().all(|f| matches!(f, FaultKind::SharedRace { .. })));
    let found = faults("st.shared.u32 [sm], %t; bar.sync 0; st.global.u32 [%out], %t;", 64);
    assert!(found.len() == 6);
    assert!(found.iter().all(|f| matches!(
        f,
        FaultKind::SharedRace { race: Race::WriteAfterWrite, offset: 0, other: Some(_) }
    )));
    // One warp alone does not race with itself.
    passes(
        &EXCHANGE
            .replace("FIRST", "")
            .replace("SECOND", "")
            .replace("xor.b32 %r4, %t, 32", "xor.b32 %r4, %t, 1"),
        64,
    );
}

#[test]
fn many_readers_and_one_writer() {
    let body = "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [sm], %t; bar.sync 0; \
                ld.shared.u32 %r2, [sm]; SYNC
        setp.eq.u32 %p1, %t, 70; @%p1 st.shared.u32 [sm], %t; st.global.u32 [%out], %r2;";
    passes(&body.replace("SYNC", "bar.sync 0;"), 128);
    let found = faults(&body.replace("SYNC", ""), 128);
    assert_eq!(found.len(), 6);
}

#[test]
fn atomics_race_only_with_plain_accesses() {
    let body = "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [sm], 0; FIRST
        atom.shared.add.u32 %r2, [sm], 1; SECOND ld.shared.u32 %r3, [sm]; \
        st.global.u32 [%out], %r3;"
        .replace("[sm], 0;", "[sm], %t;");
    let with = |first: &str, second: &str| body.replace("FIRST", first).replace("SECOND", second);
    passes(&with("bar.sync 0;", "bar.sync 0;"), 96);
    let late = faults(&with("bar.sync 0;", ""), 96);
    assert!(
        late.len() == 6 && late.iter().all(|f| matches!(f, FaultKind::SharedRace { .. })),
        "{late:?}"
    );
    // Who comes before the first write reads what is not there, or races.
    assert_eq!(faults(&with("", "bar.sync 0;"), 96).len(), 6);
    passes(&with("bar.sync 0;", "").replace("ld.shared", "ld.volatile.shared"), 96);
}

#[test]
fn barriers_of_part_of_the_block() {
    // Warps 0 and 1 produce for 2 and 3 through barrier 1 (arrive) and 2 (sync).
    let body = "shl.b32 %r2, %t, 2; mov.u32 %r3, sm; add.u32 %r2, %r2, %r3; \
                setp.ge.u32 %p0, %t, 64; @%p0 bra CONSUME;
        st.shared.u32 [%r2], %t; PRODUCED
        bra END;
        CONSUME: bar.sync 1, 128; ld.shared.u32 %r4, [%r2+-256]; st.global.u32 [%out], %r4;
        END: bar.sync 0;";
    passes(&body.replace("PRODUCED", "bar.arrive 1, 128;"), 128);
    passes(&body.replace("PRODUCED", "barrier.cta.arrive.aligned 1, 128;"), 128);
    let found =
        faults(&body.replace("PRODUCED", "bar.arrive 1, 128; st.shared.u32 [%r2], %r3;"), 128);
    assert!(
        found.len() == 6 && found.iter().all(|f| matches!(f, FaultKind::SharedRace { .. })),
        "{found:?}"
    );
    assert!(matches!(fault(&body.replace("PRODUCED", ""), 128), FaultKind::Deadlock { .. }));
    assert_eq!(fault("bar.sync 16;", 32), FaultKind::BadBarrier { barrier: 16, count: 0 });
    assert_eq!(fault("bar.sync 1, 40;", 32), FaultKind::BadBarrier { barrier: 1, count: 40 });
    let two = "setp.lt.u32 %p0, %t, 32; @%p0 bra A; bar.sync 1, 64; bra END; A: bar.sync 1, 96; \
               END: bar.sync 0;";
    assert!(matches!(fault(two, 96), FaultKind::BadBarrier { barrier: 1, .. }));
}

#[test]
fn barrier_reductions() {
    let words = output(
        "setp.lt.u32 %p0, %t, 50; barrier.cta.red.popc.aligned.u32 %r2, 0, %p0; \
         bar.red.or.pred %p1, 0, !%p0;
         bar.red.and.pred %p2, 0, %p0; setp.lt.u32 %p3, %t, 99; barrier.red.and.pred %p4, 1, %p3;
         selp.u32 %r3, 100, 0, %p1; selp.u32 %r4, 1000, 0, %p2; selp.u32 %r5, 10000, 0, %p4;
         add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r5; \
         st.global.u32 [%out], %r2;",
        70,
    );
    assert_eq!(words, [10150; 70]);
}

#[test]
fn divergent_barriers() {
    let body = "setp.lt.u32 %p0, %t, 40; @%p0 bra A; bar.sync 0; bra END; A: bar.sync 0; \
                END: st.global.u32 [%out], %t;";
    assert!(matches!(fault(body, 64), FaultKind::DivergentBarrier { alive: u32::MAX, .. }));
    // Unaligned barriers may be met from different places.
    passes(&body.replace("bar.sync", "barrier.sync"), 64);
    let checks = Checks { divergent_barriers: false, ..Checks::default() };
    run_kernel(body, &Launch::new(1, 64).checks(checks)).unwrap();
}

#[test]
fn deadlock_trap_and_limit() {
    let body = "setp.lt.u32 %p0, %t, 32; @%p0 bra A; bar.sync 1; bra END; A: bar.sync 2; \
                END: st.global.u32 [%out], %t;";
    assert!(matches!(fault(body, 64), FaultKind::Deadlock { .. }));
    assert_eq!(fault("setp.eq.u32 %p0, %t, 9; @%p0 trap;", 32), FaultKind::Trap);
    let launch = Launch::new(1, 32).limit(1000);
    let result = run_kernel("L: add.u32 %r2, %t, 1; bra L;", &launch);
    assert_eq!(result.unwrap_err().fault(), Some(&FaultKind::InstructionLimit { limit: 1000 }));
    let table = "T: .branchtargets A, B; brx.idx %t, T; A: B: st.global.u32 [%out], %t;";
    assert_eq!(fault(table, 32), FaultKind::BranchIndex { index: 2, targets: 2 });
}

#[test]
fn registers_read_before_their_first_write() {
    let body = "setp.lt.u32 %p0, %t, 3; @%p0 mov.u32 %r2, 1; add.u32 %r3, %r2, 1; \
                st.global.u32 [%out], %r3;";
    let strict = Launch::new(1, 8).checks(Checks::ALL);
    let result = run_kernel(body, &strict);
    assert_eq!(result.unwrap_err().fault(), Some(&FaultKind::UndefinedRegister));
    run_kernel(body, &Launch::new(1, 8)).unwrap();
    let result = run_kernel("@%p0 st.global.u32 [%out], %t;", &strict);
    assert_eq!(result.unwrap_err().fault(), Some(&FaultKind::UndefinedRegister));
}

#[test]
fn launches_that_do_not_fit() {
    let text = kernel("");
    let module = Module::parse(&text).unwrap();
    let mut machine = Machine::new(&module);
    for launch in [
        Launch::new(0, 32),
        Launch::new(1, 0),
        Launch::new(1, 1025),
        Launch { block: [u32::MAX; 3], ..Launch::new(1, 1) },
        Launch::new(1, 32).dynamic_shared(u32::MAX),
    ] {
        assert!(matches!(machine.run("k", &launch, &[0; 8]), Err(Error::Launch { .. })));
    }
    let text = text.replacen("out) {", "out) .maxntid 64, 1, 1 {", 1);
    let module = Module::parse(&text).unwrap();
    let result = Machine::new(&module).run("k", &Launch::new(1, 65), &[0; 8]);
    assert!(matches!(result, Err(Error::Launch { .. })));
}
