//! Lists the methods that `src/ops` declares, as a macro for each kind of receiver.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

/// Macros of `src/ops` that declare methods. The macro of the test kit has the same name.
const DECLARING: [&str; 3] = ["faces", "residue_faces", "signed_faces"];

fn main() -> io::Result<()> {
    const OPS: &str = "../src/ops";
    println!("cargo:rerun-if-changed={OPS}");
    let mut sources = Vec::new();
    read_sources(Path::new(OPS), &mut sources)?;
    let mut text = String::new();
    for declaring in DECLARING {
        let mut methods: Vec<_> =
            sources.iter().flat_map(|source| methods(source, declaring)).collect();
        methods.sort();
        let methods = methods.concat();
        let _ = write!(
            text,
            "/// Passes the methods of `{declaring}!` to a macro, after some tokens: names and \
             kinds of arguments.\n\
             #[macro_export]\n\
             macro_rules! {declaring} {{\n    \
                 ($operations:ident $($head:tt)*) => {{\n        \
                     $operations! {{\n            $($head)*\n{methods}        }}\n    }};\n\
             }}\n\n"
        );
    }
    let folder = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&folder).join("methods.rs"), text)
}

fn read_sources(folder: &Path, sources: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_sources(&path, sources)?;
        } else {
            sources.push(fs::read_to_string(path)?);
        }
    }
    Ok(())
}

/// Methods in the blocks of a declaring macro of a file, as lines `fn name(Kind, ..);`.
fn methods(source: &str, declaring: &str) -> Vec<String> {
    let opening = format!("\n{declaring}! {{");
    let blocks = source.split(&opening).skip(1).filter_map(|block| block.split("\n}").next());
    let declarations = blocks.flat_map(|block| block.split("\n    fn ").skip(1));
    declarations.filter_map(method).collect()
}

/// The line of a method from its declaration `name(argument: Kind, ..) -> Type;`.
fn method(declaration: &str) -> Option<String> {
    let (name, arguments) = declaration.split_once(')')?.0.split_once('(')?;
    let kinds = arguments.split(',').filter_map(|argument| argument.split_once(": "));
    let kinds: Vec<_> = kinds.map(|(_, kind)| kind.trim()).collect();
    Some(format!("            fn {name}({});\n", kinds.join(", ")))
}
