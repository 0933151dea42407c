//! Speed of the interpreter on this machine: `cargo run --release -p ptxi --example speed`.

use std::error::Error;
use std::time::Instant;

use ptxi::{Checks, Launch, Machine, Module, Params};

fn main() -> Result<(), Box<dyn Error>> {
    let module = Module::parse(include_str!("../tests/fixtures/limbs.ptx"))?;
    for (kernel, row, threads, rows) in
        [("add_1024", 128, 128, 40_000u64), ("mul_512", 64, 32, 4_000)]
    {
        for (name, checks) in [("default checks", Checks::default()), ("no checks", Checks::NONE)] {
            let mut machine = Machine::new(&module);
            let mut params = Params::new();
            for k in 0..2u64 {
                let limbs =
                    (0..row * rows / 8).map(|i| (i + k).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let bytes: Vec<u8> = limbs.flat_map(u64::to_le_bytes).collect();
                params = params.buffer(machine.alloc_from(&bytes)?);
            }
            for _ in 0..2 {
                params = params.buffer(machine.alloc((row * rows) as usize)?);
            }
            let params = params.u64(rows).u64(0).u64(0).u64(0);
            let launch = Launch::new(64, threads).checks(checks);
            let start = Instant::now();
            let counts = machine.run(kernel, &launch, params.as_bytes())?;
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "{kernel}, {name}: {:.1} million thread instructions, {:.0} million a second",
                counts.total.thread as f64 / 1e6,
                counts.total.thread as f64 / 1e6 / seconds
            );
        }
    }
    Ok(())
}
