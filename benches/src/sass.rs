//! Counts the machine instructions that ptxas generates for PTX, by kind.
//!
//! The interpreter counts PTX. Most of its instructions become one machine instruction, 64-bit ones
//! become two, moves disappear, and a pair of `mad.lo.cc` and `madc.hi.cc` becomes one `IMAD.WIDE`.
//! These rules are `of_ptx`. The disassembly corrects them for a given kernel, in two parts:
//! - the inner loops of products: basic blocks with at least `MANY` products. Their `IMAD.WIDE` are
//!   known exactly. The rules for the other integers are corrected by the ratio of those to a
//!   product in machine code and in PTX, as ptxas may unroll a loop further;
//! - the rest: the rules, times the ratio of machine instructions to the counts of the rules.

use std::ops::{Add, Mul};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use gpuint_catalogue::Architecture;
use gpuint_testkit::ptx::{Compiled, Result, output_into};

/// Minimum number of products in a basic block of an inner loop: a tile of 2 columns times a word
/// of 4.
const MANY: f64 = 8.0;

/// Instructions by pipe.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pipes {
    /// 32 x 32 -> 64 products.
    pub wide: f64,
    /// All other integer instructions.
    pub integer: f64,
    /// Double precision.
    pub double: f64,
    /// Products of matrices.
    pub tensor: f64,
    /// Loads, stores and atomics.
    pub memory: f64,
    /// Instructions that use only a slot of the scheduler: branches, barriers, votes, shuffles,
    /// constants.
    pub other: f64,
}

impl Pipes {
    const NONE: Self =
        Self { wide: 0.0, integer: 0.0, double: 0.0, tensor: 0.0, memory: 0.0, other: 0.0 };
    const WIDE: Self = Self { wide: 1.0, ..Self::NONE };
    const INTEGER: Self = Self { integer: 1.0, ..Self::NONE };
    const DOUBLE: Self = Self { double: 1.0, ..Self::NONE };
    const TENSOR: Self = Self { tensor: 1.0, ..Self::NONE };
    const MEMORY: Self = Self { memory: 1.0, ..Self::NONE };
    const OTHER: Self = Self { other: 1.0, ..Self::NONE };

    /// Issued instructions.
    pub fn issued(self) -> f64 {
        self.wide + self.integer + self.double + self.tensor + self.memory + self.other
    }
}

impl Add for Pipes {
    type Output = Self;
    fn add(self, more: Self) -> Self {
        Self {
            wide: self.wide + more.wide,
            integer: self.integer + more.integer,
            double: self.double + more.double,
            tensor: self.tensor + more.tensor,
            memory: self.memory + more.memory,
            other: self.other + more.other,
        }
    }
}

impl Mul<f64> for Pipes {
    type Output = Self;
    fn mul(self, times: f64) -> Self {
        Self {
            wide: self.wide * times,
            integer: self.integer * times,
            double: self.double * times,
            tensor: self.tensor * times,
            memory: self.memory * times,
            other: self.other * times,
        }
    }
}

impl std::iter::Sum for Pipes {
    fn sum<I: Iterator<Item = Self>>(pipes: I) -> Self {
        pipes.fold(Self::NONE, Add::add)
    }
}

/// Machine instructions for a PTX instruction, by rule.
fn of_ptx(opcode: &str) -> Pipes {
    let parts: Vec<&str> = opcode.split('.').collect();
    let wide_type = parts.iter().any(|part| matches!(*part, "s64" | "u64" | "b64"));
    match parts[0] {
        // The low half counts for the fused pair.
        "mad" | "madc" if parts.contains(&"cc") || parts[0] == "madc" => {
            if parts.contains(&"lo") {
                Pipes::WIDE
            } else {
                Pipes::NONE
            }
        }
        "mul" | "mad" if parts.contains(&"wide") => {
            Pipes { integer: if parts[0] == "mad" { 2.0 } else { 0.0 }, ..Pipes::WIDE }
        }
        "mul" | "mad" if parts.contains(&"hi") => {
            if wide_type {
                Pipes { wide: 4.0, integer: 4.0, ..Pipes::NONE }
            } else {
                Pipes::WIDE
            }
        }
        "mul" | "mad" if wide_type => Pipes { wide: 1.0, integer: 2.0, ..Pipes::NONE },
        "mma" => Pipes::TENSOR,
        // A sign is a bit of the operand.
        "neg" if parts.contains(&"f64") => Pipes::NONE,
        "add" | "sub" | "mul" | "fma" if parts.contains(&"f64") => Pipes::DOUBLE,
        // Subroutines.
        "div" | "rem" => Pipes::INTEGER * if wide_type { 70.0 } else { 18.0 },
        // Registers are renamed; halves of a pair are separate registers.
        "mov" | "cvta" | "cvt" => Pipes::NONE,
        "ld" | "st" | "ldu" | "atom" | "red" if parts.get(1) != Some(&"param") => Pipes::MEMORY,
        "ld" | "bra" | "brx" | "call" | "ret" | "exit" | "bar" | "barrier" | "shfl" | "vote"
        | "match" | "redux" | "activemask" | "membar" | "fence" => Pipes::OTHER,
        _ if wide_type => Pipes::INTEGER * 2.0,
        _ => Pipes::INTEGER,
    }
}

/// Pipe of a machine instruction.
fn of_sass(opcode: &str) -> Pipes {
    let mut parts = opcode.split('.');
    let name = parts.next().unwrap_or_default();
    match name {
        "NOP" => Pipes::NONE,
        "IMMA" => Pipes::TENSOR,
        "DADD" | "DMUL" | "DFMA" => Pipes::DOUBLE,
        "IMAD" if matches!(parts.next(), Some("WIDE" | "HI")) => Pipes::WIDE,
        "LD" | "ST" | "LDS" | "STS" | "LDG" | "STG" | "LDL" | "STL" | "ATOM" | "ATOMS"
        | "ATOMG" | "RED" | "REDG" | "LDSM" | "LDGSTS" => Pipes::MEMORY,
        "BRA" | "BRX" | "BSSY" | "BSYNC" | "BREAK" | "EXIT" | "RET" | "CALL" | "BAR"
        | "WARPSYNC" | "YIELD" | "ENDCOLLECTIVE" | "VOTE" | "VOTEU" | "SHFL" | "MATCH"
        | "REDUX" | "CREDUX" | "S2R" | "S2UR" | "CS2R" | "LDC" | "ULDC" | "R2UR" | "MEMBAR"
        | "MUFU" | "I2F" | "F2I" | "DEPBAR" => Pipes::OTHER,
        // The uniform data path counts as a pipe, except for votes.
        _ if name.starts_with('U') => Pipes::OTHER,
        _ => Pipes::INTEGER,
    }
}

/// Static instructions of a kernel: those of the inner loops of products, and the rest.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    loops: Pipes,
    rest: Pipes,
}

impl Parts {
    fn of_blocks(blocks: &[Vec<Pipes>]) -> Self {
        let mut parts = Self::default();
        for block in blocks {
            let sum: Pipes = block.iter().copied().sum();
            let part = if sum.wide >= MANY { &mut parts.loops } else { &mut parts.rest };
            *part = *part + sum;
        }
        parts
    }
}

/// One instruction of a kernel's PTX.
#[derive(Debug)]
struct Line {
    /// Of the text, from 1.
    number: u32,
    pipes: Pipes,
    in_loop: bool,
}

/// PTX of a kernel and its machine code.
#[derive(Debug)]
pub struct Expansion {
    lines: Vec<Line>,
    /// Ratio of the integer instructions of the inner loops to the rules.
    loop_integers: f64,
    /// Ratio of the other instructions to the rules, both kinds of arithmetic together.
    per_rule: Pipes,
}

impl Expansion {
    /// Typical ratios for the kernels of the catalogue, used without a disassembler.
    const LOOP_INTEGERS: f64 = 0.8;
    const PER_RULE: Pipes =
        Pipes { wide: 0.01, integer: 0.7, double: 1.0, tensor: 1.0, memory: 1.0, other: 1.8 };

    fn new(text: &str, kernel: &str, sass: Option<&str>) -> Result<Self> {
        let blocks = ptx_blocks(text, kernel);
        if blocks.is_empty() {
            return Err(format!("{kernel}: not in the PTX"));
        }
        let only_pipes = |block: &Vec<(u32, Pipes)>| block.iter().map(|line| line.1).collect();
        let pipes: Vec<Vec<Pipes>> = blocks.iter().map(only_pipes).collect();
        let ptx = Parts::of_blocks(&pipes);
        let mut lines = Vec::new();
        for block in blocks {
            let in_loop = block.iter().map(|line| line.1.wide).sum::<f64>() >= MANY;
            lines.extend(block.into_iter().map(|(number, pipes)| Line { number, pipes, in_loop }));
        }
        let (loop_integers, per_rule) = match sass.map(|sass| sass_blocks(sass, kernel)) {
            Some(blocks) if !blocks.is_empty() => {
                let sass = Parts::of_blocks(&blocks);
                let ratio = |sass: f64, ptx: f64| if ptx == 0.0 { 1.0 } else { sass / ptx };
                let unrolled = ratio(sass.loops.wide, ptx.loops.wide);
                let loop_integers = ratio(sass.loops.integer, ptx.loops.integer * unrolled);
                // ptxas also shifts and adds by IMAD.WIDE: both kinds grow alike.
                let arithmetic = |pipes: Pipes| pipes.wide + pipes.integer;
                let more = ratio(arithmetic(sass.rest), arithmetic(ptx.rest));
                let wide = ratio(sass.rest.wide, arithmetic(sass.rest));
                let per_rule = Pipes {
                    wide: more * wide,
                    integer: more * (1.0 - wide),
                    double: 1.0,
                    tensor: 1.0,
                    memory: 1.0,
                    other: ratio(sass.rest.other, ptx.rest.other),
                };
                (loop_integers, per_rule)
            }
            _ => (Self::LOOP_INTEGERS, Self::PER_RULE),
        };
        Ok(Self { lines, loop_integers, per_rule })
    }

    /// Machine instructions of a launch, of whole warps.
    pub fn executed(&self, counts: &ptxi::Counts) -> Pipes {
        let (mut loops, mut rest) = (Pipes::NONE, Pipes::NONE);
        for line in &self.lines {
            let Some(executed) = counts.lines.get(&line.number) else { continue };
            let part = if line.in_loop { &mut loops } else { &mut rest };
            *part = *part + line.pipes * executed.warp as f64;
        }
        // Loads, stores, doubles and products of matrices are counted exactly in PTX.
        let arithmetic = rest.wide + rest.integer;
        Pipes {
            wide: loops.wide + arithmetic * self.per_rule.wide,
            integer: loops.integer * self.loop_integers + arithmetic * self.per_rule.integer,
            double: loops.double + rest.double,
            tensor: loops.tensor + rest.tensor,
            memory: loops.memory + rest.memory,
            other: loops.other + rest.other * self.per_rule.other,
        }
    }
}

/// The expansions of the kernels of a unit, in the same order.
pub fn expansions(
    nvcc: &Path,
    disassembler: Option<&Path>,
    compiled: &Compiled,
    kernels: &[String],
) -> Result<Vec<Expansion>> {
    let sass = match disassembler {
        Some(disassembler) => Some(disassemble(nvcc, disassembler, compiled)?),
        None => None,
    };
    let expansion = |kernel: &String| Expansion::new(&compiled.text, kernel, sass.as_deref());
    kernels.iter().map(expansion).collect()
}

/// nvdisasm: `NVDISASM_PATH`, beside nvcc, or in `PATH`.
pub fn disassembler(nvcc: &Path) -> Option<PathBuf> {
    let mut files: Vec<PathBuf> =
        env::var_os("NVDISASM_PATH").map(PathBuf::from).into_iter().collect();
    let file = format!("nvdisasm{}", env::consts::EXE_SUFFIX);
    files.extend(nvcc.parent().map(|folder| folder.join(&file)));
    let folders = env::var_os("PATH").unwrap_or_default();
    files.extend(env::split_paths(&folders).map(|folder| folder.join(&file)));
    files.into_iter().find(|path| path.is_file())
}

/// The unit's machine code as text.
fn disassemble(nvcc: &Path, disassembler: &Path, compiled: &Compiled) -> Result<String> {
    let cubin = compiled.path.with_extension("cubin");
    if !cubin.is_file() {
        let mut command = Command::new(nvcc);
        // Plain code, as PTX has no instructions of one architecture only.
        let architecture = format!("sm_{}", Architecture::NEWEST.capability);
        command.args(["-cubin", "-arch", &architecture]).arg(&compiled.path);
        output_into(&mut command, &cubin)?;
    }
    let text = cubin.with_extension("sass");
    if !text.is_file() {
        let output = Command::new(disassembler).arg(&cubin).output();
        let output = output.map_err(|error| format!("{}: {error}", disassembler.display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        fs::write(&text, output.stdout).map_err(|error| format!("{}: {error}", text.display()))?;
    }
    fs::read_to_string(&text).map_err(|error| format!("{}: {error}", text.display()))
}

/// The basic blocks of a kernel's PTX: line numbers and pipes.
fn ptx_blocks(text: &str, kernel: &str) -> Vec<Vec<(u32, Pipes)>> {
    let head = format!(".entry {kernel}(");
    let mut blocks = vec![Vec::new()];
    let lines = text.lines().zip(1..).skip_while(|(line, _)| !line.contains(&head));
    for (line, number) in lines.skip(1) {
        let line = line.trim();
        if line.contains(".entry ") {
            break;
        }
        if line.starts_with('$') && line.ends_with(':') {
            blocks.push(Vec::new());
            continue;
        }
        let Some(statement) = line.strip_suffix(';') else { continue };
        let mut words = statement.split_whitespace();
        let opcode = match words.next() {
            Some(guard) if guard.starts_with('@') => words.next(),
            opcode => opcode,
        };
        let Some(opcode) = opcode else { continue };
        // Directives.
        if !opcode.starts_with(|first: char| first.is_ascii_lowercase()) {
            continue;
        }
        // The blocks are never empty.
        if let Some(block) = blocks.last_mut() {
            block.push((number, of_ptx(opcode)));
        }
        if opcode.starts_with("bra") {
            blocks.push(Vec::new());
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// The basic blocks of a kernel's machine code, as nvdisasm writes it.
fn sass_blocks(text: &str, kernel: &str) -> Vec<Vec<Pipes>> {
    let head = format!(".text.{kernel}:");
    let mut blocks = vec![Vec::new()];
    for line in text.lines().skip_while(|line| line.trim() != head).skip(1) {
        let line = line.trim();
        if line.starts_with(".section") || line.starts_with(".text.") {
            break;
        }
        if line.ends_with(':') {
            blocks.push(Vec::new());
            continue;
        }
        let Some((_, statement)) = line.strip_prefix("/*").and_then(|line| line.split_once("*/"))
        else {
            continue;
        };
        let mut words = statement.split_whitespace();
        let opcode = match words.next() {
            Some(guard) if guard.starts_with('@') => words.next(),
            opcode => opcode,
        };
        let Some(opcode) = opcode else { continue };
        // The code after the last instruction of the kernel has subroutines, and the rare paths of
        // warps that diverged at an instruction of the whole warp.
        if opcode.starts_with("WARPSYNC.COLLECTIVE") {
            break;
        }
        if let Some(block) = blocks.last_mut() {
            block.push(of_sass(opcode.trim_end_matches(';')));
        }
        if opcode.starts_with("BRA") {
            blocks.push(Vec::new());
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Product of the bits of both factors, summed over all products of two limbs. A kernel of 16-bit
/// digits may work on 32-bit limbs.
pub fn product_bits(counts: &ptxi::Counts, limb_bits: usize) -> u64 {
    let sum = |opcodes: &[&str]| -> u64 {
        opcodes.iter().map(|opcode| counts.opcode(opcode).thread).sum()
    };
    // Of 16 x 32 and 32 x 8 bytes, a warp at a time.
    let matrices = counts.matching("mma").warp * 16 * 8 * 32 * 8 * 8;
    if matrices > 0 {
        return matrices;
    }
    let chained = sum(&["mad.lo.cc.u32", "madc.lo.cc.u32"]) * 32 * 32;
    if limb_bits != 16 || chained > 0 {
        return chained;
    }
    sum(&["mul.wide.u16", "mul.wide.u32", "mad.wide.u16", "mad.wide.u32"]) * 16 * 16
}
