//! The program of `tests/sanitize/main.cpp`, which runs kernels on the SIMT shim in another
//! process. Its header has the protocol.

use std::io::{self, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::cases::Machine;
use crate::launch::{Grids, Operands, Outcome};

/// Kinds of requests: `Request` of tests/sanitize/main.cpp.
#[derive(Clone, Copy)]
enum Request {
    RarePaths,
    Bounds,
    Launch,
    Grids,
}

/// The program.
#[derive(Debug)]
pub struct Shim {
    child: Child,
    requests: BufWriter<ChildStdin>,
    answers: ChildStdout,
}

impl Shim {
    /// Starts a program with its arguments.
    ///
    /// # Errors
    /// Those of the start.
    pub fn start(command: &[String]) -> io::Result<Self> {
        let [program, arguments @ ..] = command else {
            return Err(io::Error::other("no program"));
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        Ok(Self { child, requests: BufWriter::new(requests), answers })
    }

    fn request(&mut self, request: Request) -> io::Result<()> {
        self.requests.write_all(&(request as u32).to_le_bytes())
    }

    fn name(&mut self, kernel: &str) -> io::Result<()> {
        self.requests.write_all(&(kernel.len() as u32).to_le_bytes())?;
        self.requests.write_all(kernel.as_bytes())
    }

    fn number(&mut self, number: usize) -> io::Result<()> {
        self.requests.write_all(&(number as u64).to_le_bytes())
    }

    fn bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.answers.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn word(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.answers.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn bounds(&mut self, kernel: &str) -> io::Result<u64> {
        self.request(Request::Bounds)?;
        self.name(kernel)?;
        self.requests.flush()?;
        self.word()
    }

    /// Words of a fault; `None` if there was none.
    fn fault(&mut self) -> io::Result<Option<String>> {
        let length = self.word()? as usize;
        let words = self.bytes(length)?;
        Ok((length > 0).then(|| String::from_utf8_lossy(&words).into_owned()))
    }

    fn run(
        &mut self,
        kernel: &str,
        given: &Operands,
        turn: usize,
    ) -> io::Result<Result<Outcome, String>> {
        self.request(Request::Launch)?;
        self.name(kernel)?;
        let blocks = if turn.is_multiple_of(2) { 3 } else { 1 };
        let factor_bytes = given.pairs.first().map_or(0, |[factor, _]| factor.len());
        let head = [given.rows, 7 * turn, blocks]
            .into_iter()
            .chain(given.inputs.iter().map(Vec::len))
            .chain(given.outputs)
            .chain(given.updated.iter().map(Vec::len))
            .chain([given.pairs.len(), factor_bytes])
            .chain([given.mask.into(), (!given.without_status).into()]);
        for word in head {
            self.number(word)?;
        }
        self.requests.write_all(&given.params())?;
        let factors = given.pairs.as_flattened();
        for bytes in given.inputs.iter().chain(&given.updated).chain(factors) {
            self.requests.write_all(bytes)?;
        }
        self.requests.flush()?;
        if let Some(fault) = self.fault()? {
            return Ok(Err(fault));
        }
        let outputs = [self.bytes(given.outputs[0])?, self.bytes(given.outputs[1])?];
        let mask = self.bytes(if given.mask { 4 * given.rows.div_ceil(32) } else { 0 })?;
        Ok(Ok(Outcome { outputs, mask, status: self.word()? }))
    }

    fn run_grids(
        &mut self,
        grids: &Grids,
        turn: usize,
    ) -> io::Result<Result<Vec<Vec<u8>>, String>> {
        self.request(Request::Grids)?;
        let (blocks, launches) = (&grids.memory, &grids.launches);
        for word in [7 * turn, blocks.len(), launches.len()] {
            self.number(word)?;
        }
        for memory in blocks {
            for word in [memory.bytes, memory.content.len(), memory.is_result.into()] {
                self.number(word)?;
            }
            self.requests.write_all(&memory.content)?;
        }
        for grid in launches {
            self.name(&grid.kernel)?;
            self.number(grid.blocks as usize)?;
            self.number(grid.arguments.len())?;
            self.requests.write_all(&grid.arguments)?;
        }
        self.requests.flush()?;
        if let Some(fault) = self.fault()? {
            return Ok(Err(fault));
        }
        let results = blocks.iter().filter(|memory| memory.is_result);
        Ok(Ok(results.map(|memory| self.bytes(memory.bytes)).collect::<io::Result<_>>()?))
    }

    /// Names of the rare paths that kernels have taken, one a line.
    ///
    /// # Errors
    /// Those of the pipes.
    pub fn rare_paths(&mut self) -> io::Result<String> {
        self.request(Request::RarePaths)?;
        self.requests.flush()?;
        let length = self.word()? as usize;
        let names = self.bytes(length)?;
        Ok(String::from_utf8_lossy(&names).into_owned())
    }

    /// Ends the program and returns true if it succeeded. A sanitizer may report at the end of the
    /// input.
    #[must_use]
    pub fn is_successful_end(self) -> bool {
        let Self { mut child, requests, .. } = self;
        drop(requests);
        child.wait().is_ok_and(|status| status.success())
    }

    /// Words for a program that ended.
    fn ended(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => format!("the program ended: {status}"),
            Err(error) => error.to_string(),
        }
    }
}

impl Machine for Shim {
    fn rows_per_block(&mut self, kernel: &str) -> Option<usize> {
        let answer = self.bounds(kernel).unwrap_or(0);
        answer.checked_sub(1).map(|rows| rows as usize)
    }

    fn launch(&mut self, kernel: &str, given: &Operands, turn: usize) -> Result<Outcome, String> {
        match self.run(kernel, given, turn) {
            Ok(result) => result,
            Err(_) => Err(self.ended()),
        }
    }

    fn launch_grids(&mut self, grids: &Grids, turn: usize) -> Result<Vec<Vec<u8>>, String> {
        match self.run_grids(grids, turn) {
            Ok(result) => result,
            Err(_) => Err(self.ended()),
        }
    }
}
