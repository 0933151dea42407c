//! Counts against numbers worked out by hand.

mod common;
use common::run_kernel;
use ptxi::{Class, Counts, Executed, Launch};

fn counts(body: &str, blocks: u32, threads: u32) -> Counts {
    match run_kernel(body, &Launch::new(blocks, threads)) {
        Ok((_, counts)) => counts,
        Err(e) => panic!("{e}"),
    }
}

fn executed(warp: u64, thread: u64) -> Executed {
    Executed { warp, thread }
}

/// The instructions of the frame around every test kernel: 7 before, `ret` behind (twice
/// in the text, executed once).
const FRAME: u64 = 8;

#[test]
fn instructions_by_name_and_class() {
    // 3 blocks of 40 threads: 2 warps, the second with 8 lanes.
    let c = counts(
        "add.u32 %r2, %t, 1; mad.lo.u32 %r2, %r2, %r2, 5; setp.lt.u32 %p0, %t, 10;
         @%p0 add.u32 %r2, %r2, 1; @!%p0 xor.b32 %r2, %r2, 1;
         st.global.u32 [%out], %r2;",
        3,
        40,
    );
    assert_eq!((c.blocks, c.warps, c.barriers), (3, 6, 0));
    assert_eq!(c.opcode("add.u32"), executed(12, 3 * (40 + 10)));
    assert_eq!(c.opcode("xor.b32"), executed(6, 3 * 30));
    assert_eq!(c.opcode("mad.lo.u32"), executed(6, 120));
    assert_eq!(c.opcode("mad.lo.s32"), executed(6, 120));
    assert_eq!(c.matching("mad.lo"), executed(12, 240));
    assert_eq!(c.opcode("sub.u32"), Executed::default());
    assert_eq!(c.class(Class::IntMul), executed(18, 360));
    assert_eq!(c.class(Class::GlobalStore), executed(6, 120));
    assert_eq!(c.total, executed(6 * (FRAME + 6), 3 * (40 * (FRAME + 5))));
    assert_eq!(c.divergent, 0);
    let text = c.to_string();
    assert!(text.contains("3 blocks, 6 warps") && text.contains("mad.lo.u32"));
}

#[test]
fn instructions_by_line() {
    // The frame stands on lines of its own; a loop of three turns on the third line from here.
    let body =
        "mov.u32 %r2, 0;\nLOOP:\nadd.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 3;\n@%p0 bra LOOP;\n";
    let c = counts(body, 1, 32);
    let lines: Vec<_> = c.lines.values().map(|n| n.warp).collect();
    let at = lines.iter().position(|&warp| warp == 6).expect("a line of two instructions");
    assert_eq!(lines[at + 1], 3);
    assert_eq!(lines.iter().sum::<u64>(), c.total.warp);
    let threads: u64 = c.lines.values().map(|n| n.thread).sum();
    assert_eq!(threads, c.total.thread);
}

#[test]
fn divergent_issues() {
    // One lane takes 2 instructions alone, the other 31 take 1.
    let c = counts(
        "setp.eq.u32 %p0, %t, 5; @%p0 bra ONE; mov.u32 %r2, 1; bra END;
         ONE: mov.u32 %r2, 2; mov.u32 %r2, 3; END: st.global.u32 [%out], %r2;",
        1,
        32,
    );
    assert_eq!(c.divergent, 4);
    assert_eq!(c.opcode("bra"), executed(2, 1 + 31));
    assert_eq!(c.total.warp, FRAME + 7);
    assert_eq!(c.total.thread, 32 * (FRAME + 2) + 1 + 31 * 2 + 2);
}

#[test]
fn barriers_per_block() {
    let c = counts(
        "bar.sync 0; setp.eq.u32 %p0, %r0, 1; @%p0 bra END; bar.sync 0; bar.sync 3; END:",
        4,
        96,
    );
    assert_eq!((c.barriers, c.max_barriers_per_block), (3 * 3 + 1, 3));
    assert_eq!(c.opcode("bar.sync"), executed(10 * 3, 10 * 96));
}

/// Wavefronts of a store and a load of `width` bytes at `stride * lane` from 32 lanes.
fn wavefronts(ty: &str, register: &str, stride: u32) -> (u64, u64) {
    let c = counts(
        &format!(
            "mul.lo.u32 %r2, %t, {stride}; mov.u32 %r3, sm; add.u32 %r2, %r2, %r3; mov.b64 %rd2, 0;
             st.shared.{ty} [%r2], {register}; ld.shared.{ty} {register}, [%r2];"
        ),
        1,
        32,
    );
    assert_eq!((c.shared.loads, c.shared.stores), (1, 1));
    (c.shared.store_wavefronts, c.shared.load_wavefronts)
}

#[test]
fn bank_conflicts() {
    assert_eq!(wavefronts("u32", "%r4", 4), (1, 1));
    assert_eq!(wavefronts("u32", "%r4", 8), (2, 2));
    assert_eq!(wavefronts("u32", "%r4", 64), (16, 16));
    assert_eq!(wavefronts("u32", "%r4", 60), (1, 1));
    // The same word for all lanes is a broadcast.
    assert_eq!(wavefronts("u32", "%r4", 0), (1, 1));
    // Bytes and halves of one word do not conflict.
    assert_eq!(wavefronts("u8", "%r4", 1), (1, 1));
    assert_eq!(wavefronts("b16", "%r4", 2), (1, 1));
    // 8 bytes a lane go in half warps, 16 in quarter warps.
    assert_eq!(wavefronts("b64", "%rd2", 8), (2, 2));
    assert_eq!(wavefronts("b64", "%rd2", 16), (4, 4));
    assert_eq!(wavefronts("v4.b32", "{%r4, %r5, %r6, %r7}", 16), (4, 4));
    assert_eq!(wavefronts("v4.b32", "{%r4, %r5, %r6, %r7}", 32), (8, 8));
    assert_eq!(wavefronts("v2.b64", "{%rd2, %rd3}", 0), (4, 4));
}

/// Sectors written and read by 32 lanes at `offset + stride * lane`.
fn sectors(ty: &str, register: &str, stride: u32, offset: u32) -> (u64, u64) {
    let c = counts(
        &format!(
            "ld.param.u64 %rd2, [out]; mul.wide.u32 %rd3, %t, {stride}; add.s64 %rd2, %rd2, %rd3; \
             and.b32 %r9, %r0, 0; setp.eq.u32 %p0, %r0, 0;
             @%p0 st.global.{ty} [%rd2+{offset}], {register}; \
             @%p0 ld.global.nc.{ty} {register}, [%rd2+{offset}];"
        ),
        40,
        32,
    );
    (c.global.sectors_written, c.global.sectors_read)
}

#[test]
fn global_sectors() {
    // Blocks 1.. issue the access with no lane, which moves nothing.
    assert_eq!(sectors("u32", "%r4", 4, 0), (4, 4));
    assert_eq!(sectors("u32", "%r4", 4, 16), (5, 5));
    assert_eq!(sectors("u32", "%r4", 32, 0), (32, 32));
    assert_eq!(sectors("u32", "%r4", 0, 8), (1, 1));
    assert_eq!(sectors("u8", "%r4", 1, 0), (1, 1));
    assert_eq!(sectors("b64", "%rd4", 8, 0), (8, 8));
    assert_eq!(sectors("v2.u64", "{%rd4, %rd5}", 16, 0), (16, 16));
    assert_eq!(sectors("v2.u64", "{%rd4, %rd5}", 32, 16), (32, 32));
}

#[test]
fn atomics_are_counted_by_space() {
    let c = counts(
        "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [sm], %t; bar.sync 0;
         atom.shared.add.u32 %r2, [sm], 1; @%p0 red.global.add.u32 [%out], 1; \
         @%p0 red.global.add.u32 [%out], 1;",
        2,
        64,
    );
    assert_eq!((c.shared_atomics.warp, c.shared_atomics.thread), (4, 128));
    assert_eq!((c.global_atomics.warp, c.global_atomics.thread), (4, 4));
}
