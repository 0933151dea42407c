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
        let mut all = Vec::new();
        for source in &sources {
            all.extend(methods(source, declaring)?);
        }
        all.sort();
        let methods = all.concat();
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
fn methods(source: &str, declaring: &str) -> io::Result<Vec<String>> {
    let opening = format!("\n{declaring}! {{");
    let mut methods = Vec::new();
    for block in source.split(&opening).skip(1).filter_map(|block| block.split("\n}").next()) {
        let lines = block.lines().filter(|line| {
            let line = line.trim_start();
            !line.starts_with("//") && !line.starts_with("#[")
        });
        let code: String = lines.collect();
        let unknown = |text| io::Error::other(format!("unknown form in {declaring}!: {text}"));
        let mut declarations = code.split(" fn ");
        let title = declarations.next().unwrap_or_default();
        if !title.trim_end().ends_with("\";") {
            return Err(unknown(title));
        }
        for declaration in declarations {
            methods.push(method(declaration).ok_or_else(|| unknown(declaration))?);
        }
    }
    Ok(methods)
}

/// The line of a method from its declaration `name(argument: Kind, ..) -> Type;`; `None` for
/// another form.
fn method(declaration: &str) -> Option<String> {
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let declaration = declaration.trim().strip_suffix(';')?;
    let (signature, returned) = declaration.split_once(" -> ")?;
    let (name, arguments) = signature.strip_suffix(')')?.split_once('(')?;
    let mut kinds = Vec::new();
    for argument in arguments.split(',').map(str::trim).filter(|argument| !argument.is_empty()) {
        kinds.push(argument.split_once(": ")?.1);
    }
    let is_known = is_name(name) && is_name(returned) && kinds.iter().all(|kind| is_name(kind));
    is_known.then(|| format!("            fn {name}({});\n", kinds.join(", ")))
}
