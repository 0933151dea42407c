//! Kernels as nvcc 13.0 made them (`fixtures/*.cu`, `nvcc -arch=sm_90 -ptx`), run
//! unmodified and compared with the same computation in Rust.

mod common;
use common::{Random, bytes_of, u32s, u64s};
use ptxi::{Buffer, Checks, Counts, Launch, Machine, Module, Params};

/// All checks but the one on registers, over several schedules: results and counts must agree.
fn schedules(
    mut run: impl FnMut(Launch) -> (Vec<u8>, Counts),
    launch: Launch,
) -> (Vec<u8>, Counts) {
    let first = run(launch);
    for seed in 1..4 {
        assert_eq!(run(launch.seed(seed)), first, "seed {seed}");
    }
    first
}

/// The 80-byte parameter struct of `limbs.cu`.
fn operands(inputs: [Buffer; 2], outputs: [u64; 2], rows: u64, mask: u64, status: u64) -> Params {
    Params::new()
        .buffer(inputs[0])
        .buffer(inputs[1])
        .u64(outputs[0])
        .u64(outputs[1])
        .u64(rows)
        .u64(mask)
        .u64(status)
        .u64(0)
}

/// Limbs with long runs of ones and zeros.
fn limbs(random: &mut Random, count: usize) -> Vec<u32> {
    let limb = |random: &mut Random| match random.next() % 3 {
        0 => 0,
        1 => u32::MAX,
        _ => random.next() as u32,
    };
    (0..count).map(|_| limb(random)).collect()
}

#[test]
fn facts_are_read_from_the_module() {
    let module = Module::parse(include_str!("fixtures/limbs.ptx")).unwrap();
    let names: Vec<_> = module.kernels().map(|k| (k.name(), k.param_bytes())).collect();
    assert_eq!(names, [("add_1024", 64), ("mul_512", 64)]);
    let facts = u32s(module.global("add_1024_facts").unwrap());
    assert_eq!(facts, [128, 0, 4, 0]);
    assert_eq!(u32s(module.global("mul_512_facts").unwrap()), [32, 0, 1, 0]);
    assert_eq!(module.kernel("add_1024").unwrap().max_threads(), Some(128));
    assert_eq!(module.kernel("mul_512").unwrap().static_shared_bytes(), (16 + 16 + 3 * 34) * 4 + 8);
    assert!(module.global("nothing").is_none() && module.kernel("nothing").is_none());
}

#[test]
fn wide_addition() {
    let module = Module::parse(include_str!("fixtures/limbs.ptx")).unwrap();
    let rows = 45;
    let mut random = Random(1);
    let (a, b) = (limbs(&mut random, rows * 32), limbs(&mut random, rows * 32));
    let run = |launch| {
        let mut machine = Machine::new(&module);
        let input = [&a, &b].map(|v| machine.alloc_from(&bytes_of(v)).unwrap());
        let out = machine.alloc(rows * 128).unwrap();
        let mask = machine.alloc_from(&[0; 8]).unwrap();
        let params = operands(input, [out.address(), 0], rows as u64, mask.address(), 0);
        let counts = machine.run("add_1024", &launch, params.as_bytes()).unwrap();
        ([machine.read(out), machine.read(mask)].concat(), counts)
    };
    let (bytes, counts) = schedules(run, Launch::new(5, 128));
    let words = u32s(&bytes);
    for row in 0..rows {
        let mut carry = 0;
        for i in 32 * row..32 * (row + 1) {
            let sum = u64::from(a[i]) + u64::from(b[i]) + carry;
            assert_eq!(words[i], sum as u32, "row {row}");
            carry = sum >> 32;
        }
        assert_eq!(words[rows * 32 + row / 32] >> (row % 32) & 1, carry as u32, "row {row}");
    }
    // Two ballots and one chain for each of the rows; both loads and the store are coalesced.
    assert_eq!(counts.opcode("vote.sync.ballot.b32").warp, 2 * rows as u64);
    assert_eq!(counts.opcode("addc.u32").thread, 32 * rows as u64);
    assert_eq!(counts.global.sectors_read, 8 * rows as u64);
    assert_eq!(counts.global.sectors_written, 4 * rows as u64);
}

#[test]
fn product() {
    let module = Module::parse(include_str!("fixtures/limbs.ptx")).unwrap();
    let rows = 9;
    let mut random = Random(2);
    let (mut a, b) = (limbs(&mut random, rows * 16), limbs(&mut random, rows * 16));
    a[16 * 4] = 0;
    let run = |launch| {
        let mut machine = Machine::new(&module);
        let input = [&a, &b].map(|v| machine.alloc_from(&bytes_of(v)).unwrap());
        let out = [(); 2].map(|()| machine.alloc(rows * 64).unwrap());
        let status = machine.alloc_from(&[0xff; 8]).unwrap();
        let addresses = out.map(Buffer::address);
        let params = operands(input, addresses, rows as u64, 0, status.address());
        let counts = machine.run("mul_512", &launch, params.as_bytes()).unwrap();
        ([machine.read(out[0]), machine.read(out[1]), machine.read(status)].concat(), counts)
    };
    let (bytes, counts) = schedules(run, Launch::new(2, 32));
    let words = u32s(&bytes);
    for row in 0..rows {
        let mut want = [0u32; 32];
        for i in 0..16 {
            let mut carry = 0;
            for j in 0..16 {
                let t = u64::from(a[16 * row + i]) * u64::from(b[16 * row + j])
                    + u64::from(want[i + j])
                    + carry;
                want[i + j] = t as u32;
                carry = t >> 32;
            }
            want[i + 16] = carry as u32;
        }
        assert_eq!(words[16 * row..16 * (row + 1)], want[..16], "row {row}");
        let high = 16 * (rows + row);
        assert_eq!(words[high..high + 16], want[16..], "row {row}");
    }
    let first_zero = (0..rows).find(|r| a[16 * r].wrapping_mul(b[16 * r]) == 0).unwrap();
    assert_eq!(u64s(&bytes[rows * 128..]), [first_zero as u64]);
    assert_eq!(counts.barriers, 3 * rows as u64);
    // Every product of two limbs once.
    assert_eq!(counts.opcode("mad.lo.cc.u32").thread, 256 * rows as u64);
}

fn collatz(mut n: u64) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
        steps += 1;
    }
    steps
}

fn branch(x: u32, i: u32) -> u32 {
    let weights = [3, 1, 4, 1, 5, 9, 2, 6];
    match x % 12 {
        0 => collatz(u64::from(x) + 1),
        1 => x.wrapping_mul(7),
        2 => x ^ 0x1234,
        3 => x.count_ones(),
        4 => x.leading_zeros() + weights[x as usize / 12 % 8],
        5 => x / (i + 3),
        6 => x % (i + 3),
        7 => x.reverse_bits(),
        8 => (((u64::from(i) << 32 | u64::from(x)) << ((i % 40) & 31)) >> 32) as u32,
        9 => i.wrapping_mul(31).wrapping_add(x.wrapping_add(3)),
        10 => {
            let bytes = [x.to_le_bytes(), i.to_le_bytes()].concat();
            u32::from_le_bytes([bytes[4], bytes[1], bytes[6], bytes[2]])
        }
        _ => {
            let mut digits = [0u32; 10];
            let mut v = x;
            while v > 0 {
                digits[v as usize % 10] += 1;
                v /= 10;
            }
            (0..10).fold(0u32, |r, k| r.wrapping_mul(3).wrapping_add(digits[(k + i as usize) % 10]))
        }
    }
}

#[test]
fn branches_calls_and_local_arrays() {
    let module = Module::parse(include_str!("fixtures/control.ptx")).unwrap();
    let n = 500u32;
    let mut random = Random(5);
    let input: Vec<u32> = (0..n).map(|_| random.next() as u32 >> (random.next() % 30)).collect();
    let run = |launch| {
        let mut machine = Machine::new(&module);
        let source = machine.alloc_from(&bytes_of(&input)).unwrap();
        let out = machine.alloc(4 * n as usize).unwrap();
        let params = Params::new().buffer(source).buffer(out).u32(n);
        let counts = machine.run("branches", &launch, params.as_bytes()).unwrap();
        (machine.read(out).to_vec(), counts)
    };
    let (bytes, counts) = schedules(run, Launch::new(4, 128));
    let want: Vec<u32> = (0..n).map(|i| branch(input[i as usize], i)).collect();
    assert_eq!(u32s(&bytes), want);
    assert!(counts.divergent > 0);
    // The lanes of a warp that call the function take its loop together: its steps are
    // those of the slowest lane of each warp.
    let steps =
        |i: usize| if input[i].is_multiple_of(12) { collatz(u64::from(input[i]) + 1) } else { 0 };
    let slowest: u32 = (0..n as usize)
        .collect::<Vec<_>>()
        .chunks(32)
        .map(|w| w.iter().map(|&i| steps(i)).max().unwrap())
        .sum();
    let step = counts.opcode("setp.ne.s64").warp;
    assert!(u64::from(slowest) <= step && step <= u64::from(slowest) + 32, "{step} {slowest}");
}

#[test]
fn sub_warp_groups() {
    let module = Module::parse(include_str!("fixtures/control.ptx")).unwrap();
    let run = |launch: Launch| {
        let mut machine = Machine::new(&module);
        let out = machine.alloc(4 * 128).unwrap();
        let params = Params::new().buffer(out);
        let counts = machine.run("groups", &launch, params.as_bytes()).unwrap();
        let total = machine.variable("total").unwrap();
        ([machine.read(out), machine.read(total)].concat(), counts)
    };
    let (bytes, _) = schedules(run, Launch::new(2, 64).checks(Checks::ALL));
    let words = u32s(&bytes);
    let mut want = Vec::new();
    for t in (0..64).chain(0..64) {
        let first = t / 32 * 32 + [0, 8, 16, 16][t as usize % 32 / 8];
        let last = t / 32 * 32 + [8, 16, 32, 32][t as usize % 32 / 8];
        want.push((first..last).sum::<u32>());
    }
    for warp in want.chunks_mut(32) {
        let odd = u32::from(warp.iter().any(|r| r % 2 == 1));
        warp.iter_mut().for_each(|r| *r += odd);
    }
    assert_eq!(words[..128], want);
    assert_eq!(words[128], 5 + want[0] + want[64]);
}

#[test]
fn byte_matrix_product() {
    let module = Module::parse(include_str!("fixtures/tensor.ptx")).unwrap();
    let mut random = Random(8);
    let mut matrix = |n: usize| (0..n).map(|_| random.next() as u8).collect::<Vec<u8>>();
    let (a, b) = (matrix(16 * 32), matrix(32 * 8));
    let mut machine = Machine::new(&module);
    let input = [&a, &b].map(|v| machine.alloc_from(v).unwrap());
    let out = machine.alloc(16 * 8 * 4).unwrap();
    let params = Params::new().buffer(input[0]).buffer(input[1]).buffer(out);
    let launch = Launch::new(1, 32).checks(Checks::ALL);
    let counts = machine.run("mma_bytes", &launch, params.as_bytes()).unwrap();
    let found = u32s(machine.read(out));
    for row in 0..16 {
        for column in 0..8 {
            let dot: u32 =
                (0..32).map(|k| u32::from(a[32 * row + k]) * u32::from(b[32 * column + k])).sum();
            assert_eq!(found[8 * row + column], dot, "{row} {column}");
        }
    }
    assert_eq!(counts.matching("mma").warp, 1);
}

#[test]
fn double_precision() {
    let module = Module::parse(include_str!("fixtures/tensor.ptx")).unwrap();
    let half = 77usize;
    let mut random = Random(9);
    let mut value = |scale: f64| (random.next() as i64 as f64) / 2f64.powi(63) * scale;
    let x: Vec<f64> = (0..4 * half).map(|_| value(1e6)).collect();
    let w: Vec<f64> = (0..2 * half).map(|_| value(1.0)).collect();
    let bytes = |v: &[f64]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let mut machine = Machine::new(&module);
    let (data, roots) =
        (machine.alloc_from(&bytes(&x)).unwrap(), machine.alloc_from(&bytes(&w)).unwrap());
    let rounded = machine.alloc(16 * half).unwrap();
    let params = Params::new().buffer(data).buffer(rounded).buffer(roots).u32(half as u32);
    machine.run("butterflies", &Launch::new(3, 32), params.as_bytes()).unwrap();
    let found: Vec<f64> = u64s(machine.read(data)).into_iter().map(f64::from_bits).collect();
    let integers = u64s(machine.read(rounded));
    for k in 0..half {
        let (u, v) = ([x[2 * k], x[2 * k + 1]], [x[2 * (k + half)], x[2 * (k + half) + 1]]);
        let [c, s] = [w[2 * k], w[2 * k + 1]];
        // nvcc contracts: -(v.y * w.y) stays a product, the rest are fused.
        let m = [v[0].mul_add(c, -(v[1] * s)), v[0].mul_add(s, v[1] * c)];
        assert_eq!(found[2 * k..2 * k + 2], [u[0] + m[0], u[1] + m[1]]);
        assert_eq!(found[2 * (k + half)..2 * (k + half) + 2], [u[0] - m[0], u[1] - m[1]]);
        assert_eq!(integers[k] as i64, (u[0] + m[0]).round_ties_even() as i64);
        assert_eq!(integers[k + half] as i64, (u[0] - m[0]).round_ties_even() as i64);
    }
}
