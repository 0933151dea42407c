//! Code shared by the tests: operand values and small kernels around a few instructions.
#![allow(dead_code, unreachable_pub, reason = "every test file uses a part of it")]

use ptxi::{Checks, Counts, Error, FaultKind, Launch, Machine, Module, Params};

/// The lines before the first function.
pub const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Values at the edges of every width, and random ones.
pub fn edges() -> Vec<u64> {
    let mut out = vec![0, 1, 2, 3, 31, 32, 33, 63, 64, 255];
    for bits in [8, 15, 16, 31, 32, 63] {
        let power = 1u64 << bits;
        out.extend([power - 1, power, power + 1]);
    }
    out.extend([u64::MAX, u64::MAX - 1, 0xffff_ffff_0000_0000, 0xaaaa_aaaa_5555_5555]);
    let mut random = Random(7);
    out.extend((0..6).map(|_| random.next()));
    out
}

/// Rows of operands: every pair of edges as the first two, mixed others behind.
pub fn operands() -> Vec<[u64; 4]> {
    let edges = edges();
    let mut random = Random(11);
    let mut out = Vec::new();
    for &a in &edges {
        for &b in &edges {
            let c = edges[random.next() as usize % edges.len()];
            let d = match random.next() % 2 {
                0 => edges[random.next() as usize % edges.len()],
                _ => random.next(),
            };
            out.push([a, b, c, d]);
        }
    }
    out
}

/// Executes `body` once per row of operands. It finds them as `%a %b %c %e` (64 bits),
/// `%a0`.. (32 bits), `%ah`.. (16 bits), `%fa`.. (f32) and `%da`.. (f64); it leaves
/// results in `%x` and `%y` (64 bits), or in `%x0` and `%y0` (32 bits, with `wide` false).
pub fn try_each(body: &str, wide: bool, rows: &[[u64; 4]]) -> Result<Vec<[u64; 2]>, Error> {
    let mut loads = String::new();
    for (k, r) in ["a", "b", "c", "e"].iter().enumerate() {
        loads += &format!(
            "ld.global.b64 %{r}, [%at+{}]; cvt.u32.u64 %{r}0, %{r}; cvt.u16.u64 %{r}h, %{r};
             mov.b32 %f{r}, %{r}0; mov.b64 %d{r}, %{r};\n",
            8 * k
        );
    }
    let widen = if wide { "" } else { "cvt.u64.u32 %x, %x0; cvt.u64.u32 %y, %y0;" };
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {{
        .reg .pred %p, %q, %r, %s;
        .reg .b16 %ah, %bh, %ch, %eh, %xh, %yh;
        .reg .b32 %a0, %b0, %c0, %e0, %x0, %y0, %t<20>, %i, %n;
        .reg .b64 %a, %b, %c, %e, %x, %y, %w<20>, %at, %to, %o;
        .reg .f32 %fa, %fb, %fc, %fe, %fx, %fy;
        .reg .f64 %da, %db, %dc, %de, %dx, %dy;
        mov.u32 %t0, %ctaid.x; mov.u32 %t1, %ntid.x; mov.u32 %t2, %tid.x;
        mad.lo.s32 %i, %t0, %t1, %t2;
        ld.param.u32 %n, [n];
        setp.ge.u32 %p, %i, %n;
        @%p bra DONE;
        ld.param.u64 %at, [in]; ld.param.u64 %to, [out];
        mul.wide.u32 %o, %i, 32; add.s64 %at, %at, %o;
        mul.wide.u32 %o, %i, 16; add.s64 %to, %to, %o;
        mov.b64 %x, 0; mov.b64 %y, 0; mov.b32 %x0, 0; mov.b32 %y0, 0;
        {loads}
        {body}
        {widen}
        st.global.v2.b64 [%to], {{%x, %y}};
        DONE: ret;
        }}"
    );
    let module = Module::parse(&text)?;
    let mut machine = Machine::new(&module);
    let bytes: Vec<u8> = rows.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
    let input = machine.alloc_from(&bytes)?;
    let output = machine.alloc(16 * rows.len())?;
    let params = Params::new().buffer(input).buffer(output).u32(rows.len() as u32);
    let launch = Launch::new(rows.len().div_ceil(96) as u32, 96).checks(Checks::ALL);
    machine.run("k", &launch, params.as_bytes())?;
    let words: Vec<u64> = u64s(machine.read(output));
    Ok(words.chunks_exact(2).map(|w| [w[0], w[1]]).collect())
}

/// [`try_each`] over [`operands`], compared with `expect` row by row.
#[track_caller]
pub fn check(body: &str, wide: bool, expect: impl Fn([u64; 4]) -> [u64; 2]) {
    let rows = operands();
    let found = try_each(body, wide, &rows).unwrap_or_else(|e| panic!("{body}: {e}"));
    for (row, found) in rows.iter().zip(found) {
        assert_eq!(found, expect(*row), "{body} on {row:x?}");
    }
}

/// One instruction on 32-bit registers: the result is `%x0`.
#[track_caller]
pub fn check32(instruction: &str, expect: impl Fn(u32, u32, u32) -> u32) {
    check(instruction, false, |[a, b, c, _]| [expect(a as u32, b as u32, c as u32).into(), 0]);
}

/// One instruction on 64-bit registers: the result is `%x`.
#[track_caller]
pub fn check64(instruction: &str, expect: impl Fn(u64, u64, u64) -> u64) {
    check(instruction, true, |[a, b, c, _]| [expect(a, b, c), 0]);
}

pub fn u64s(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect()
}

pub fn u32s(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

pub fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// A kernel around `body`, with `%tid.x` in `%t`, its global index in `%g`, `%out`
/// pointing to one u32 per thread, and 2048 bytes of shared memory `sm`.
pub fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out) {{
        .reg .pred %p<20>; .reg .b32 %r<60>, %t, %g; .reg .b64 %rd<30>, %out;
        .shared .align 16 .b8 sm[2048];
        mov.u32 %t, %tid.x;
        mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mad.lo.s32 %g, %r0, %r1, %t;
        ld.param.u64 %rd0, [out]; mul.wide.u32 %rd1, %g, 4; add.s64 %out, %rd0, %rd1;
{body}
        ret;
        }}"
    )
}

/// Runs [`kernel`] and returns what it left in its output words (`0xcdcdcdcd` where nothing).
pub fn run_kernel(body: &str, launch: &Launch) -> Result<(Vec<u32>, Counts), Error> {
    run_text(&kernel(body), launch)
}

/// Runs the kernel `k` of a text that takes one pointer.
pub fn run_text(text: &str, launch: &Launch) -> Result<(Vec<u32>, Counts), Error> {
    let module = Module::parse(text)?;
    let mut machine = Machine::new(&module);
    let threads: u32 = launch.grid.iter().chain(&launch.block).product();
    let out = machine.alloc(4 * threads as usize)?;
    let counts = machine.run("k", launch, Params::new().buffer(out).as_bytes())?;
    Ok((u32s(machine.read(out)), counts))
}

/// The output words of a kernel that must succeed.
#[track_caller]
pub fn output(body: &str, threads: u32) -> Vec<u32> {
    match run_kernel(body, &Launch::new(1, threads)) {
        Ok((words, _)) => words,
        Err(e) => panic!("{e}"),
    }
}

/// The fault of a kernel that must fail while running.
#[track_caller]
pub fn fault(body: &str, threads: u32) -> FaultKind {
    match run_kernel(body, &Launch::new(1, threads)) {
        Err(Error::Fault(fault)) => fault.kind,
        other => panic!("no fault: {other:?}"),
    }
}
