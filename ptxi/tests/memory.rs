//! Loads, stores and atomics in all spaces.

mod common;
use common::{HEAD, bytes_of, check, check32, kernel, output, run_kernel, run_text, u32s, u64s};
use ptxi::{Error, Launch, Machine, Module, Params};

#[test]
fn widths_and_extension() {
    // The operand row itself is the memory read: a at 0, b at 8, c at 16, e at 24.
    check32("ld.global.u8 %x0, [%at+1];", |a, _, _| a >> 8 & 255);
    check32("ld.global.s8 %x0, [%at+1];", |a, _, _| (a >> 8) as i8 as u32);
    check32("ld.global.nc.u16 %xh, [%at+2]; cvt.u32.u16 %x0, %xh;", |a, _, _| a >> 16);
    check32("ld.global.s16 %x0, [%at+2];", |a, _, _| (a >> 16) as i16 as u32);
    check("ld.global.s32 %x, [%at]; ld.s8 %y, [%at+8];", true, |[a, b, ..]| {
        [a as i32 as u64, b as i8 as u64]
    });
    check(
        "ld.global.v4.u32 {%t0, %t1, %t2, _}, [%at]; mov.b64 %x, {%t0, %t1}; cvt.u64.u32 %y, %t2;",
        true,
        |[a, b, ..]| [a, b & 0xffff_ffff],
    );
    check("ld.volatile.global.v2.b64 {%x, %y}, [%at+16];", true, |[_, _, c, e]| [c, e]);
    check("ld.global.v4.b64 {_, %x, _, %y}, [%at];", true, |[_, b, _, e]| [b, e]);
    check(
        ".reg .f32 %g; ld.global.ca.f32 %g, [%at]; mov.b32 %x0, %g; \
         ld.relaxed.gpu.global.b32 %y0, [%at+12];",
        false,
        |[a, b, ..]| [a & 0xffff_ffff, b >> 32],
    );
}

#[test]
fn stores_of_all_widths() {
    let words = output(
        "mul.lo.u32 %r2, %t, 32; mov.u32 %r3, sm; add.u32 %r2, %r2, %r3;
         mov.b64 %rd2, 0x1122334455667788; mov.b32 %r4, 0; mov.b64 %rd3, 0;
         st.shared.v4.b32 [%r2], {%r4, %r4, %r4, %r4}; st.shared.v2.b64 [%r2+16], {%rd3, %rd3};
         st.shared.u8 [%r2], %rd2; st.shared.u16 [%r2+2], %rd2; st.shared.b32 [%r2+4], %rd2;
         st.shared.b64 [%r2+8], %rd2;
         ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r2];
         add.u32 %r9, %r5, %r6; xor.b32 %r9, %r9, %r7; sub.u32 %r9, %r9, %r8;
         st.global.u32 [%out], %r9;",
        40,
    );
    let want = (0x7788_0088u32.wrapping_add(0x5566_7788) ^ 0x5566_7788).wrapping_sub(0x1122_3344);
    assert_eq!(words, vec![want; 40]);
}

#[test]
fn generic_addresses_and_local_memory() {
    let words = output(
        ".local .align 8 .b8 here[64];
         mov.u64 %rd2, here; cvta.local.u64 %rd3, %rd2;
         mul.wide.u32 %rd4, %t, 4; and.b64 %rd4, %rd4, 60; add.s64 %rd5, %rd3, %rd4;
         st.u32 [%rd5], %t; cvta.to.local.u64 %rd6, %rd5; ld.local.u32 %r2, [%rd6];
         mov.u64 %rd7, sm; cvta.shared.u64 %rd8, %rd7; mul.wide.u32 %rd9, %t, 8; \
         add.s64 %rd8, %rd8, %rd9;
         st.b32 [%rd8+4], %r2; cvta.to.shared.u64 %rd10, %rd8; ld.shared.b32 %r3, [%rd10+4];
         st.u32 [%out], %r3;",
        64,
    );
    assert_eq!(words, (0..64).collect::<Vec<u32>>());
}

#[test]
fn shared_addresses_wrap_at_32_bits() {
    // A base below zero, and an offset that brings it back.
    let words = output(
        "mov.u32 %r2, sm; shl.b32 %r3, %t, 2; add.u32 %r2, %r2, %r3; sub.u32 %r2, %r2, 400; \
         cvt.u64.u32 %rd2, %r2;
         st.shared.u32 [%r2+400], %t; ld.shared.u32 %r4, [%rd2+400]; st.global.u32 [%out], %r4;",
        32,
    );
    assert_eq!(words, (0..32).collect::<Vec<u32>>());
}

#[test]
fn parameters_and_variables() {
    let text = format!(
        "{HEAD}
        .global .align 4 .u32 counter = 7;
        .const .align 8 .u64 table[4] = {{10, 20, 30}};
        .global .align 8 .u64 pointers[2] = {{counter, generic(table)+8}};
        .visible .entry k(.param .align 8 .b8 args[24], .param .u8 small, .param .f64 d) {{
        .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f64 %f;
        mov.b64 %rd0, args; ld.param.u64 %rd1, [%rd0+8]; ld.param.v2.u32 {{%r0, %r1}}, [args];
        ld.param.u8 %r2, [small]; ld.param.f64 %f, [d]; cvt.rzi.u32.f64 %r3, %f;
        cvta.param.u64 %rd5, %rd0; ld.u32 %r7, [%rd5+4]; sub.u32 %r7, %r7, %r1; \
        add.u32 %r0, %r0, %r7;
        add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; add.u32 %r0, %r0, %r3;
        ld.global.u64 %rd2, [pointers]; ld.u32 %r4, [%rd2]; add.u32 %r0, %r0, %r4;
        ld.global.u64 %rd3, [pointers+8]; ld.u64 %rd4, [%rd3]; cvt.u32.u64 %r5, %rd4; \
        add.u32 %r0, %r0, %r5;
        ld.const.u64 %rd4, [table+16]; cvt.u32.u64 %r5, %rd4; add.u32 %r0, %r0, %r5;
        st.global.u32 [%rd1], %r0; st.global.u32 [counter], %r0; ret; }}"
    );
    let module = Module::parse(&text).unwrap();
    assert_eq!(module.kernel("k").unwrap().param_bytes(), 40);
    assert_eq!(module.globals().collect::<Vec<_>>(), ["counter", "table", "pointers"]);
    assert_eq!(u64s(module.global("table").unwrap()), [10, 20, 30, 0]);
    let mut machine = Machine::new(&module);
    let out = machine.alloc(4).unwrap();
    let args = Params::new().u32(100).u32(200).buffer(out).u64(0).bytes(1, &[5]);
    let args = args.bytes(8, &40.5f64.to_le_bytes());
    machine.run("k", &Launch::new(1, 1), args.as_bytes()).unwrap();
    assert_eq!(u32s(machine.read(out)), [100 + 200 + 5 + 40 + 7 + 20 + 30]);
    let counter = machine.variable("counter").unwrap();
    assert_eq!(machine.read(counter), machine.read(out));
    machine.write(counter).copy_from_slice(&[1, 0, 0, 0]);
    machine.run("k", &Launch::new(1, 1), args.as_bytes()).unwrap();
    assert_eq!(u32s(machine.read(out)), [396]);
    let wrong = machine.run("k", &Launch::new(1, 1), &[0; 39]);
    assert!(matches!(wrong, Err(Error::Launch { .. })));
    assert!(matches!(machine.run("x", &Launch::new(1, 1), &[]), Err(Error::UnknownKernel { .. })));
}

#[test]
fn dynamic_shared_memory_follows_the_static_one() {
    let text = format!(
        "{HEAD}.extern .shared .align 16 .b8 dynamic[];
        .shared .align 4 .b8 unused[400];
        .shared .align 4 .b8 fixed[20];
        .visible .entry k(.param .u64 out) {{
        .reg .b32 %r<9>; .reg .b64 %rd<9>;
        mov.u32 %r0, dynamic; mov.u32 %r1, %dynamic_smem_size; add.u32 %r2, %r0, %r1;
        mov.u32 %r3, 77; st.shared.u32 [%r2+-4], %r3; st.shared.u32 [fixed+16], %r3;
        ld.shared.u32 %r4, [%r2+-4]; add.u32 %r4, %r4, %r0; mov.u32 %r5, %total_smem_size; \
        shl.b32 %r5, %r5, 16; or.b32 %r4, %r4, %r5;
        ld.param.u64 %rd0, [out]; st.global.u32 [%rd0], %r4; ret; }}"
    );
    let (words, _) = run_text(&text, &Launch::new(1, 1).dynamic_shared(48)).unwrap();
    assert_eq!(words, [(32 + 48) << 16 | (77 + 32)]);
}

#[test]
fn atomics() {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 cells) {{
        .reg .b32 %r<9>, %t; .reg .b64 %rd<9>; .reg .f32 %f; .reg .f64 %d;
        mov.u32 %t, %tid.x; ld.param.u64 %rd0, [cells]; cvt.u64.u32 %rd1, %t; add.u32 %r1, %t, 1;
        atom.global.add.u32 %r0, [%rd0], %r1;
        red.global.min.s32 [%rd0+4], %t;
        atom.global.max.u32 %r0, [%rd0+8], %t;
        red.relaxed.gpu.global.or.b32 [%rd0+12], %r1;
        atom.global.and.b32 %r0, [%rd0+16], %t;
        atom.xor.b32 %r0, [%rd0+20], %r1;
        atom.global.exch.b32 _, [%rd0+24], %t;
        atom.global.cas.b32 %r0, [%rd0+28], %t, %r1;
        atom.global.inc.u32 %r0, [%rd0+32], 9;
        atom.global.dec.u32 %r0, [%rd0+36], 9;
        atom.global.add.u64 %rd2, [%rd0+40], %rd1;
        red.global.min.u64 [%rd0+48], %rd1;
        atom.global.max.s64 %rd2, [%rd0+56], %rd1;
        atom.global.cas.b64 %rd2, [%rd0+64], %rd1, 1000;
        mov.f32 %f, 0f3F800000; red.global.add.f32 [%rd0+72], %f; mov.f64 %d, 0d3FF0000000000000; \
        atom.add.f64 %d, [%rd0+80], %d;
        ret; }}"
    );
    let module = Module::parse(&text).unwrap();
    let mut machine = Machine::new(&module);
    let mut cells = vec![0u32; 22];
    (cells[1], cells[4], cells[12], cells[13], cells[15]) =
        (5, u32::MAX, u32::MAX, u32::MAX, 1 << 31);
    let buffer = machine.alloc_from(&bytes_of(&cells)).unwrap();
    let counts =
        machine.run("k", &Launch::new(1, 50), Params::new().buffer(buffer).as_bytes()).unwrap();
    let found = u32s(machine.read(buffer));
    let xor = (1..=50).fold(0, |x, v| x ^ v);
    assert_eq!(found[..10], [50 * 51 / 2, 0, 49, 63, 0, xor, 49, 50, 0, 0]);
    assert_eq!(found[10..16], [49 * 50 / 2, 0, 0, 0, 49, 0]);
    assert_eq!(found[16..18], [1000, 0]);
    assert_eq!(f32::from_bits(found[18]), 50.0);
    assert_eq!(f64::from_bits(u64::from(found[20]) | u64::from(found[21]) << 32), 50.0);
    assert_eq!((counts.global_atomics.warp, counts.global_atomics.thread), (32, 800));
}

#[test]
fn shared_atomics_return_the_old_value() {
    let words = output(
        "mov.u32 %r2, 0; setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [sm], %r2; bar.sync 0;
         atom.shared.add.u32 %r3, [sm], 1; st.global.u32 [%out], %r3;",
        100,
    );
    let mut sorted = words.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..100).collect::<Vec<u32>>());
}

#[test]
fn asynchronous_copies_arrive_when_waited_for() {
    let copy = "mul.lo.u32 %r2, %t, 16; mov.u32 %r3, sm; add.u32 %r3, %r3, %r2;
         ld.param.u64 %rd2, [out]; st.global.u32 [%out], %t; bar.sync 0;
         and.b32 %r4, %t, 28; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd3, %rd2, %rd3;
         mov.u32 %r5, 5; st.shared.v4.u32 [%r3], {%r5, %r5, %r5, %r5};
         cp.async.cg.shared.global [%r3], [%rd3], 16; cp.async.commit_group;
         cp.async.ca.shared.global [%r3+8], [%rd3+4], 8, 4; cp.async.commit_group;
         WAIT
         ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r3];
         add.u32 %r6, %r6, %r7; add.u32 %r6, %r6, %r8; add.u32 %r6, %r6, %r9; \
         st.global.u32 [%out], %r6;"
        .replace("[%rd3+4], 8, 4", "[%rd3+8], 8, 4");
    for (wait, sum) in [
        ("", (|_| 20) as fn(u32) -> u32),
        ("cp.async.wait_group 1;", |q| 16 * q + 6),
        // The second copy brings 4 bytes and fills 4 with zeros.
        ("cp.async.wait_group 0;", |q| 12 * q + 3),
        ("cp.async.wait_all;", |q| 12 * q + 3),
    ] {
        let words = output(&copy.replace("WAIT", wait), 32);
        let want: Vec<u32> = (0..32).map(|t| sum(t / 4)).collect();
        assert_eq!(words, want, "{wait}");
    }
}

#[test]
fn three_dimensional_launches() {
    let launch = Launch { grid: [2, 3, 2], block: [4, 2, 3], ..Launch::new(1, 1) };
    let body = "mov.u32 %r2, %ctaid.z; mov.u32 %r3, %nctaid.y; mad.lo.u32 %r2, %r2, %r3, 0;
        mov.u32 %r3, %ctaid.y; add.u32 %r2, %r2, %r3; mov.u32 %r3, %nctaid.x; \
        mul.lo.u32 %r2, %r2, %r3;
        mov.u32 %r3, %ctaid.x; add.u32 %r2, %r2, %r3;
        mov.u32 %r4, %tid.z; mov.u32 %r5, %ntid.y; mul.lo.u32 %r4, %r4, %r5; mov.u32 %r5, %tid.y; \
        add.u32 %r4, %r4, %r5;
        mov.u32 %r5, %ntid.x; mul.lo.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %t;
        mad.lo.u32 %r2, %r2, 24, %r4; ld.param.u64 %rd2, [out]; mul.wide.u32 %rd3, %r2, 4; \
        add.s64 %rd2, %rd2, %rd3;
        st.global.u32 [%rd2], %r2;";
    let (words, counts) = run_kernel(body, &launch).unwrap();
    assert_eq!(words, (0..288).collect::<Vec<u32>>());
    assert_eq!((counts.blocks, counts.warps), (12, 12));
    assert!(Module::parse(&kernel(body)).is_ok());
}
