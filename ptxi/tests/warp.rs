//! Shuffles, votes, reductions, and masks that split a warp.

mod common;
use common::{Random, fault, kernel, output, run_kernel};
use ptxi::{Checks, FaultKind, Launch, Machine, Module, Params};

#[test]
fn shuffles_as_the_isa_words_them() {
    let mut random = Random(4);
    for mode in ["up", "down", "bfly", "idx"] {
        for width in [4u32, 8, 16, 32] {
            // The clamp that __shfl_*_sync uses, and a clamp of its own.
            let usual = (32 - width) << 8 | if mode == "up" { 0 } else { 31 };
            for clamp in [usual, (random.next() & 0x1f1f) as u32] {
                let by = (random.next() % 32) as u32;
                let words = output(
                    &format!(
                        "mul.lo.u32 %r2, %t, 7; add.u32 %r4, %t, {by}; and.b32 %r4, %r4, 31;
                         shfl.sync.{mode}.b32 %r3|%p0, %r2, %r4, {clamp}, 0xffffffff;
                         selp.u32 %r5, 1000, 0, %p0; add.u32 %r3, %r3, %r5; \
                         st.global.u32 [%out], %r3;"
                    ),
                    32,
                );
                for (lane, &found) in words.iter().enumerate() {
                    let lane = lane as i32;
                    let (b, c, m) =
                        ((lane + by as i32) & 31, clamp as i32 & 31, (clamp >> 8) as i32 & 31);
                    let (max, min) = ((lane & m) | (c & !m), lane & m);
                    let (j, ok) = match mode {
                        "up" => (lane - b, lane - b >= max),
                        "down" => (lane + b, lane + b <= max),
                        "bfly" => (lane ^ b, (lane ^ b) <= max),
                        _ => (min | (b & !m), (min | (b & !m)) <= max),
                    };
                    let want = if ok { 1000 + 7 * j } else { 7 * lane };
                    assert_eq!(found, want as u32, "{mode} {clamp:#x} lane {lane}");
                }
            }
        }
    }
}

#[test]
fn votes_and_reductions() {
    let words = output(
        "and.b32 %r2, %t, 3; setp.eq.u32 %p0, %r2, 2;
         vote.sync.ballot.b32 %r3, %p0, -1; vote.sync.ballot.b32 %r4, !%p0, -1;
         vote.sync.any.pred %p1, %p0, -1; vote.sync.all.pred %p2, %p0, -1;
         sub.u32 %r8, %t, 5;
         redux.sync.add.s32 %r9, %r8, -1; redux.sync.min.s32 %r10, %r8, -1; \
         redux.sync.max.u32 %r11, %r8, -1;
         redux.sync.or.b32 %r12, %t, -1; redux.sync.and.b32 %r13, %t, -1; \
         redux.sync.xor.b32 %r14, %t, -1;
         activemask.b32 %r16; add.u32 %r3, %r3, %r4;
         add.u32 %r3, %r3, %r9; add.u32 %r3, %r3, %r10; add.u32 %r3, %r3, %r11; \
         add.u32 %r3, %r3, %r12;
         add.u32 %r3, %r3, %r13; add.u32 %r3, %r3, %r14; add.u32 %r3, %r3, %r16;
         selp.u32 %r20, 100, 0, %p1; selp.u32 %r21, 1000, 0, %p2;
         add.u32 %r3, %r3, %r20; add.u32 %r3, %r3, %r21;
         st.global.u32 [%out], %r3;",
        32,
    );
    for (t, &found) in words.iter().enumerate() {
        let ballots = u32::MAX;
        let sum = (0..32).sum::<i32>() - 160;
        let others = [sum as u32, -5i32 as u32, -1i32 as u32, 31, 0, 0, u32::MAX, 100];
        let want = others.into_iter().fold(ballots, u32::wrapping_add);
        assert_eq!(found, want, "{t}");
    }
}

#[test]
fn disjoint_masks_at_different_places() {
    // Lanes 0-7 reduce by shuffles, 8-15 sync at one place, 16-31 at another; then all.
    let words = output(
        "setp.lt.u32 %p0, %t, 8; setp.lt.u32 %p1, %t, 16; mov.u32 %r2, %t;
         @%p0 bra A; @%p1 bra B;
         vote.sync.ballot.b32 %r2, 1, 0xffff0000; bar.warp.sync 0xffff0000; bra END;
         B: bar.warp.sync 0xff00; vote.sync.ballot.b32 %r2, 1, 0xff00; bra END;
         A: shfl.sync.bfly.b32 %r3, %r2, 4, 31, 0xff; add.u32 %r2, %r2, %r3;
            shfl.sync.bfly.b32 %r3, %r2, 2, 31, 0xff; add.u32 %r2, %r2, %r3;
            shfl.sync.bfly.b32 %r3, %r2, 1, 31, 0xff; add.u32 %r2, %r2, %r3;
         END: bar.warp.sync -1; st.global.u32 [%out], %r2;",
        32,
    );
    let want: Vec<u32> = (0..32u32)
        .map(|t| match t {
            0..8 => 28,
            8..16 => 0xff00,
            _ => 0xffff_0000,
        })
        .collect();
    assert_eq!(words, want);
}

#[test]
fn masks_per_lane_in_one_instruction() {
    // One shuffle, and every group of 8 lanes brings its own mask; groups arrive apart.
    let words = output(
        "shr.u32 %r2, %t, 3; shl.b32 %r3, %r2, 3; mov.u32 %r4, 255; shl.b32 %r4, %r4, %r3;
         mov.u32 %r5, 0;
         LOOP: add.u32 %r5, %r5, 1; setp.le.u32 %p0, %r5, %r2; @%p0 bra LOOP;
         shfl.sync.idx.b32 %r6, %t, 5, 0x181f, %r4; st.global.u32 [%out], %r6;",
        32,
    );
    assert_eq!(words, (0..32).map(|t| t / 8 * 8 + 5).collect::<Vec<u32>>());
}

#[test]
fn one_operation_from_two_places() {
    // Both arms hold the same vote, and the lanes of the mask are in both.
    let (words, counts) = run_kernel(
        "and.b32 %r2, %t, 1; setp.eq.u32 %p0, %r2, 0; setp.lt.u32 %p1, %t, 20; @%p0 bra EVEN;
         vote.sync.ballot.b32 %r3, %p1, -1; add.u32 %r3, %r3, 1; bra END;
         EVEN: vote.sync.ballot.b32 %r4, %p1, -1; mov.u32 %r3, %r4;
         END: st.global.u32 [%out], %r3;",
        &Launch::new(1, 32),
    )
    .unwrap();
    assert_eq!(words, (0..32).map(|t| 0xf_ffff + t % 2).collect::<Vec<u32>>());
    assert_eq!(counts.opcode("st.global.u32").warp, 1);
}

#[test]
fn exited_lanes_are_not_waited_for() {
    let words = output(
        "setp.lt.u32 %p0, %t, 4; @%p0 bra WAIT; setp.lt.u32 %p1, %t, 30; @%p1 exit; exit;
         WAIT: vote.sync.ballot.b32 %r2, 1, -1; st.global.u32 [%out], %r2;",
        32,
    );
    assert_eq!(words[..5], [15, 15, 15, 15, 0xcdcd_cdcd]);
    // A block of 20 threads has a partial warp.
    assert_eq!(
        output("vote.sync.ballot.b32 %r2, 1, -1; st.global.u32 [%out], %r2;", 20)[19],
        0xf_ffff
    );
}

#[test]
fn wrong_masks_are_faults() {
    let body = "vote.sync.ballot.b32 %r2, 1, 0xfffe; st.global.u32 [%out], %r2;";
    assert_eq!(fault(body, 16), FaultKind::LaneNotInMask { mask: 0xfffe, lane: 0 });
    let body = "setp.lt.u32 %p0, %t, 8; @%p0 shfl.sync.idx.b32 %r2, %t, 9, 31, 0xff; \
                st.global.u32 [%out], %t;";
    assert_eq!(fault(body, 32), FaultKind::InactiveSource { source: 9, active: 0xff });
    // Without the check a lane in no mask goes with its group.
    let body = "vote.sync.ballot.b32 %r2, 1, 0xfffe; st.global.u32 [%out], %r2;";
    let (words, _) = run_kernel(body, &Launch::new(1, 16).checks(Checks::NONE)).unwrap();
    assert_eq!(words, [0xffff; 16]);
}

#[test]
fn lanes_that_wait_for_ever_are_a_deadlock() {
    let body = "setp.lt.u32 %p0, %t, 8; @%p0 bar.warp.sync -1; @!%p0 bar.sync 0; \
                st.global.u32 [%out], %t;";
    assert!(matches!(fault(body, 32), FaultKind::DivergentBarrier { .. }));
    let body = body.replace("bar.sync 0", "barrier.sync 0");
    match fault(&body, 32) {
        FaultKind::Deadlock { waiting } => {
            assert!(waiting.contains("0x000000ff") && waiting.contains("barrier 0"));
        }
        other => panic!("{other}"),
    }
}

/// A matrix product by its definition, for all signs.
#[test]
fn byte_products_of_all_signs() {
    for (k, a_type, b_type) in
        [(32, "u8", "u8"), (32, "s8", "u8"), (32, "u8", "s8"), (32, "s8", "s8"), (16, "s8", "u8")]
    {
        for sat in ["", ".satfinite"] {
            let (na, nb) = (k / 8, k / 16);
            let regs = |first: usize, n: usize| {
                (first..first + n).map(|r| format!("%r{r}")).collect::<Vec<_>>().join(", ")
            };
            let mut body = String::from(
                "mul.wide.u32 %rd2, %t, 40; ld.param.u64 %rd3, [out]; add.s64 %rd2, %rd2, %rd3;\n",
            );
            for r in 0..na + nb + 4 {
                body += &format!("ld.global.u32 %r{}, [%rd2+{}];\n", 10 + r, 4 * r);
            }
            body += &format!(
                "mma.sync.aligned.m16n8k{k}.row.col{sat}.s32.{a_type}.{b_type}.s32 {{{}}}, \
                 {{{}}}, {{{}}}, {{{}}};\n",
                regs(30, 4),
                regs(10, na),
                regs(10 + na, nb),
                regs(10 + na + nb, 4)
            );
            for q in 0..4 {
                body += &format!("st.global.u32 [%rd2+{}], %r{};\n", 4 * q, 30 + q);
            }
            let module = Module::parse(&kernel(&body)).unwrap();
            let mut machine = Machine::new(&module);
            let mut random = Random(k as u64);
            let mut input: Vec<u8> = (0..32 * 40).map(|_| random.next() as u8).collect();
            if sat.is_empty() {
                input[40..80].fill(0xff);
            }
            let buffer = machine.alloc_from(&input).unwrap();
            machine.run("k", &Launch::new(1, 32), Params::new().buffer(buffer).as_bytes()).unwrap();
            let word = |bytes: &[u8], lane: usize, r: usize| {
                u32::from_le_bytes(bytes[40 * lane + 4 * r..][..4].try_into().unwrap())
            };
            let byte = |v: u8, ty: &str| if ty == "s8" { i64::from(v as i8) } else { i64::from(v) };
            // Place of element (row, column) of each operand in the ISA.
            let a = |i: usize, c: usize| {
                let (lane, r) = (i % 8 * 4 + c % 16 / 4, i / 8 + 2 * (c / 16));
                byte(input[40 * lane + 4 * r + c % 4], a_type)
            };
            let b = |c: usize, j: usize| {
                let (lane, r) = (4 * j + c % 16 / 4, na + c / 16);
                byte(input[40 * lane + 4 * r + c % 4], b_type)
            };
            let output = machine.read(buffer);
            for i in 0..16 {
                for j in 0..8 {
                    let (lane, q) = (i % 8 * 4 + j / 2, i / 8 * 2 + j % 2);
                    let c = word(&input, lane, na + nb + q) as i32;
                    let sum = i64::from(c) + (0..k).map(|x| a(i, x) * b(x, j)).sum::<i64>();
                    let want = match sat {
                        "" => sum as i32,
                        _ => sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
                    };
                    assert_eq!(word(output, lane, q) as i32, want, "{a_type} {b_type} {i} {j}");
                }
            }
        }
    }
}

#[test]
fn matrices_are_loaded_by_rows_and_transposed() {
    for (transpose, suffix) in [(false, ""), (true, ".trans")] {
        // Element (row, column) of matrix m is 64 m + 8 row + column.
        let words = output(
            &format!(
                "mov.u32 %r2, sm; mul.lo.u32 %r3, %t, 16; add.u32 %r2, %r2, %r3; \
                 mul.lo.u32 %r3, %t, 0x80008; 
                 add.u32 %r4, %r3, 0x10000; add.u32 %r5, %r3, 0x30002; add.u32 %r6, %r3, 0x50004; \
                 add.u32 %r7, %r3, 0x70006;
                 st.shared.v4.b32 [%r2], {{%r4, %r5, %r6, %r7}}; bar.warp.sync -1;
                 ldmatrix.sync.aligned.m8n8.x4{suffix}.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r2];
                 sub.u32 %r11, %r11, 0x400040; sub.u32 %r12, %r12, 0x800080; \
                 sub.u32 %r13, %r13, 0xc000c0;
                 setp.ne.u32 %p0, %r10, %r11; setp.ne.or.u32 %p0, %r12, %r13, %p0; \
                 setp.ne.or.u32 %p0, %r11, %r12, %p0;
                 @%p0 mov.u32 %r10, -1; st.global.u32 [%out], %r10;"
            ),
            32,
        );
        for (lane, found) in words.into_iter().enumerate() {
            let (row, column) = (lane as u32 / 4, 2 * (lane as u32 % 4));
            let (low, high) = match transpose {
                false => (8 * row + column, 8 * row + column + 1),
                true => (8 * column + row, 8 * column + 8 + row),
            };
            assert_eq!(found, low | high << 16, "lane {lane}{suffix}");
        }
    }
}

#[test]
fn part_of_a_warp_cannot_multiply_matrices() {
    let body =
        "setp.lt.u32 %p0, %t, 16; @%p0 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [sm]; ";
    assert_eq!(fault(body, 32), FaultKind::NotConverged { active: 0xffff });
}
