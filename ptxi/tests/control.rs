//! Divergence and where lanes meet again, calls, jump tables, early exit.

mod common;
use common::{HEAD, kernel, output, run_kernel, run_text};
use ptxi::{Counts, Error, Launch, Module};

fn counted(body: &str, threads: u32) -> (Vec<u32>, Counts) {
    run_kernel(body, &Launch::new(1, threads)).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn nested_branches_meet_at_the_post_dominator() {
    // Four ways by two bits of the thread number, then one store for all.
    let (words, counts) = counted(
        "and.b32 %r2, %t, 1; setp.ne.u32 %p0, %r2, 0; and.b32 %r2, %t, 2; setp.ne.u32 %p1, %r2, 0;
         @%p0 bra ODD;
         @%p1 bra EVEN2;
         mov.u32 %r3, 100; bra EVEN;
         EVEN2: mov.u32 %r3, 102;
         EVEN: add.u32 %r3, %r3, 1000; bra END;
         ODD: @%p1 bra ODD2;
         mov.u32 %r3, 101; bra ODDEND;
         ODD2: mov.u32 %r3, 103;
         ODDEND: add.u32 %r3, %r3, 2000;
         END: st.global.u32 [%out], %r3;",
        32,
    );
    let want: Vec<u32> = (0..32).map(|t| [1100, 2101, 1102, 2103][t % 4]).collect();
    assert_eq!(words, want);
    // Each side's sum once, the store once: everything met where it could.
    assert_eq!(counts.opcode("add.u32").warp, 2);
    assert_eq!(counts.opcode("st.global.u32").warp, 1);
}

#[test]
fn blocks_out_of_order_meet_too() {
    // The join stands before one of the arms in the text.
    let (_, counts) = counted(
        "setp.lt.u32 %p0, %t, 9; mov.u32 %r2, 1;
         @%p0 bra FAR;
         mov.u32 %r2, 2;
         JOIN: st.global.u32 [%out], %r2; ret;
         FAR: mov.u32 %r2, 3; bra JOIN;",
        32,
    );
    assert_eq!(counts.opcode("st.global.u32").warp, 1);
    assert_eq!(counts.opcode("st.global.u32").thread, 32);
}

#[test]
fn loops_of_different_length() {
    let (words, counts) = counted(
        "mov.u32 %r2, 0; mov.u32 %r3, 0;
         LOOP: add.u32 %r2, %r2, %r3; add.u32 %r3, %r3, 1; setp.le.u32 %p0, %r3, %t; @%p0 bra LOOP;
         st.global.u32 [%out], %r2;",
        32,
    );
    assert_eq!(words, (0..32).map(|t| t * (t + 1) / 2).collect::<Vec<u32>>());
    assert_eq!(counts.opcode("bra").warp, 32);
    assert_eq!(counts.opcode("st.global.u32").warp, 1);
}

#[test]
fn two_ways_back_to_a_loop_header_wait_for_each_other() {
    // `continue` in one arm: no block of the loop is common to both but its header.
    let body = "mov.u32 %r2, 0; mov.u32 %r3, 0; and.b32 %r4, %t, 1;
         LOOP: bar.sync 0; add.u32 %r3, %r3, 1; setp.gt.u32 %p1, %r3, 10; @%p1 bra END;
         add.u32 %r5, %r3, %r4; and.b32 %r5, %r5, 1; setp.eq.u32 %p0, %r5, 0; @%p0 bra OTHER;
         add.u32 %r2, %r2, 1; bra LOOP;
         OTHER: add.u32 %r2, %r2, 100; bra LOOP;
         END: st.global.u32 [%out], %r2;";
    let (words, counts) = counted(body, 64);
    assert_eq!(words, vec![505; 64]);
    assert_eq!(counts.opcode("bar.sync").warp, 22);
    assert_eq!(counts.barriers, 11);
}

#[test]
fn early_exit_and_barriers_of_the_rest() {
    let (words, counts) = counted(
        "and.b32 %r2, %t, 3; setp.eq.u32 %p0, %r2, 3; @%p0 exit;
         st.shared.u32 [sm], 1; bar.sync 0;
         setp.gt.u32 %p1, %t, 40; @%p1 ret; bar.sync 0;
         mov.u32 %r3, 1; st.global.u32 [%out], %r3;"
            .replace("st.shared.u32 [sm], 1;", "")
            .as_str(),
        70,
    );
    let want: Vec<u32> =
        (0..70).map(|t| if t % 4 == 3 || t > 40 { 0xcdcd_cdcd } else { 1 }).collect();
    assert_eq!(words, want);
    assert_eq!(counts.barriers, 2);
}

#[test]
fn jump_tables() {
    let words = output(
        "and.b32 %r2, %t, 3;
         TABLE: .branchtargets L0, L1, L2, L1;
         brx.idx %r2, TABLE;
         L0: mov.u32 %r3, 10; bra.uni END;
         L1: mov.u32 %r3, 11; bra.uni END;
         L2: mov.u32 %r3, 12;
         END: st.global.u32 [%out], %r3;",
        32,
    );
    assert_eq!(words, (0..32).map(|t| [10, 11, 12, 11][t % 4]).collect::<Vec<u32>>());
}

const FUNCTIONS: &str = "
    .func (.param .b32 r) twice (.param .b32 x) {
        .reg .b32 %r<4>; .reg .pred %p;
        ld.param.u32 %r0, [x]; add.u32 %r1, %r0, %r0;
        setp.gt.u32 %p, %r1, 20; @%p bra BIG;
        st.param.b32 [r], %r1; ret;
        BIG: mov.u32 %r1, 20; st.param.b32 [r+0], %r1; ret;
    }
    .func (.param .align 8 .b8 r[16]) both (.param .align 8 .b8 x[16]) {
        .reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.u32 %r0, [x+8]; ld.param.u64 %rd0, [x];
        { .param .b32 p0; st.param.b32 [p0], %r0; .param .b32 q0; call.uni (q0), twice, (p0); \
        ld.param.b32 %r1, [q0]; }
        cvt.u64.u32 %rd1, %r1; add.u64 %rd0, %rd0, %rd1; st.param.b64 [r], %rd0; \
        st.param.b64 [r+8], %rd1;
    }";

#[test]
fn calls_from_different_places() {
    let text = format!(
        "{HEAD}{FUNCTIONS}.visible .entry k(.param .u64 out) {{
        .reg .pred %p; .reg .b32 %r<9>, %t; .reg .b64 %rd<9>;
        mov.u32 %t, %tid.x; ld.param.u64 %rd0, [out]; mul.wide.u32 %rd1, %t, 4; \
        add.s64 %rd0, %rd0, %rd1;
        and.b32 %r0, %t, 1; setp.eq.u32 %p, %r0, 1; @%p bra ODD;
        {{ .param .b32 p0; .param .b32 q0; st.param.b32 [p0], %t; call (q0), twice, (p0); \
        ld.param.b32 %r1, [q0]; }}
        bra END;
        ODD: cvt.u64.u32 %rd2, %t;
        {{ .param .align 8 .b8 p0[16]; st.param.b64 [p0], 1000; st.param.b32 [p0+8], %t; \
        .param .align 8 .b8 q0[16];
           call (q0), both, (p0); ld.param.b64 %rd3, [q0]; ld.param.b32 %r2, [q0+8]; }}
        cvt.u32.u64 %r1, %rd3; mad.lo.u32 %r1, %r2, 10000, %r1;
        END: st.global.u32 [%rd0], %r1; ret; }}"
    );
    let (words, counts) = run_text(&text, &Launch::new(1, 32)).unwrap();
    let twice = |t: u32| (2 * t).min(20);
    let want: Vec<u32> = (0..32)
        .map(|t| if t % 2 == 0 { twice(t) } else { 10000 * twice(t) + 1000 + twice(t) })
        .collect();
    assert_eq!(words, want);
    assert_eq!(counts.opcode("st.global.u32").warp, 1);
}

#[test]
fn recursion_and_missing_bodies_are_refused() {
    let kernel = "{ .param .b32 p; st.param.b32 [p], %t; call f, (p); }";
    let loops =
        ".func f(.param .b32 x) { { call g; } }\n.func g() { { .param .b32 p; call f, (p); } }\n";
    let body = kernel_with(loops, kernel);
    let refusal = |body: &str| match Module::parse(body) {
        Err(Error::Unsupported { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert!(refusal(&body).contains("recursive"));
    let body = kernel_with(".extern .func f(.param .b32 x);\n", kernel);
    assert!(refusal(&body).contains("no body"));
    // Code that no kernel reaches is not checked.
    let body = kernel_with(".func h() { nonsense.b32 %r; }\n", "");
    assert!(Module::parse(&body).is_ok());
}

fn kernel_with(functions: &str, body: &str) -> String {
    kernel(body).replacen(".visible", &format!("{functions}.visible"), 1)
}

#[test]
fn scopes_hide_names() {
    let words = output(
        "mov.u32 %r2, 5;
         { .reg .b32 %r2; mov.u32 %r2, 7; { .reg .u32 x; L: mov.u32 x, %r2; \
         setp.eq.u32 %p0, x, 0; @%p0 bra L; add.u32 %r3, x, 0; } }
         { L: add.u32 %r3, %r3, %r2; setp.lt.u32 %p0, %r3, 17; @%p0 bra L; }
         st.global.u32 [%out], %r3;",
        3,
    );
    assert_eq!(words, [17; 3]);
}
