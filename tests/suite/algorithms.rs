//! Every algorithm of an operation, by its kernels, on cases of `gpuint_testkit::cases`.

use gpuint::{Algorithm, BackendKind, Device, Op, Product, Shape, Strategy, algorithms};
use gpuint_catalogue::PREPARED;
use gpuint_testkit::cases::{self, Task};
use gpuint_testkit::random::Random;

use crate::setting::{Rows, Setting, Tally, is_thorough, of_operations, on_every_backend, seed};

/// The algorithms that differ on a device. The CPU has one, and records of divisors of its own. The
/// shim takes long to prepare wide divisors, except by transforms; it has the algorithm of the
/// library's choice, too.
pub(crate) fn distinct(device: &Device, op: Op, shape: Shape) -> Vec<Algorithm> {
    let mut all: Vec<_> = algorithms(op, shape).collect();
    let is_prepared = op == Op::Prepare || op.signature().inputs[PREPARED].is_some();
    match device.backend() {
        BackendKind::Cpu => all.truncate(usize::from(op != Op::Prepare)),
        BackendKind::Simt if shape.bits > 16384 && is_prepared => {
            let chosen = device.algorithm(op, Strategy::Auto, shape, 1).ok();
            all.retain(|by| by.product() == Some(Product::Fft) || Some(*by) == chosen);
        }
        _ => {}
    }
    all
}

/// Checks each algorithm on the variants of its cases; each device has a part of the rows.
fn check(ops: &[Op], rows: Rows, shape: Shape, setting: &Setting, tally: &mut Tally) {
    let devices = setting.devices();
    let is_slow = setting.backend == BackendKind::Simt;
    // Wide rows take the shim long: in an ordinary run each algorithm has one schedule, by turns.
    let is_shared = is_slow && shape.bits > 16384 && !is_thorough();
    let parts = if is_shared { 1 } else { devices.len() };
    let rows = setting.count(rows, shape).div_ceil(parts);
    for &op in ops {
        for (turn, device) in devices.iter().enumerate() {
            let all = distinct(device, op, shape).into_iter().enumerate();
            let is_own = |&(index, _): &(usize, _)| !is_shared || index % devices.len() == turn;
            for (_, algorithm) in all.filter(is_own) {
                let task = Task::new(op, algorithm, shape);
                let place = (turn * Op::COUNT + op as usize) as u64;
                let mut random = Random::new(seed() ^ place << 32 ^ (shape.bits * shape.q) as u64);
                let count = |variants: usize| rows.div_ceil(variants) | 1;
                let (machine, random) = (&mut device.clone(), &mut random);
                let checked = cases::check(machine, &task, count, 0..1, is_slow, random);
                tally.launched(checked, device);
            }
        }
    }
}

of_operations! {
    check;
    Products = "products by every algorithm" [Op::MulLo, Op::MulWide, Op::SquareLo],
        80_000, 42, true;
    Divisions = "divisions by every algorithm" [Op::DivRem], 480_000, 90, false;
    ByDivisors = "divisions by prepared divisors by every algorithm" [Op::Prepare, Op::DivRemBy],
        60_000, 21, true;
    Modular = "products modulo divisors by every algorithm" [Op::MulMod, Op::SquareMod],
        50_000, 15, false;
}

on_every_backend! {
    products: Products, divisions: Divisions, by_divisors: ByDivisors, modular: Modular,
}
