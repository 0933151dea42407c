//! The program `gpuint`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gpuint_cli::main()
}
