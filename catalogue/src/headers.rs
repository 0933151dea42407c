//! Headers of the kernels, and what a translation unit uses of them.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path};

/// Reads the headers (`*.cuh`) below the folder `kernels`: their paths relative to it, sorted, and
/// their texts.
///
/// # Errors
/// The folder or the file that cannot be read.
pub fn headers(kernels: &Path) -> Result<Vec<(String, String)>, String> {
    let mut headers = Vec::new();
    let mut folders = vec![kernels.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
        for file in fs::read_dir(&folder).map_err(unreadable)? {
            let path = file.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cuh") {
                let text = fs::read_to_string(&path)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                let name = path.strip_prefix(kernels).unwrap_or(&path).to_string_lossy();
                headers.push((name.replace(MAIN_SEPARATOR, "/"), text));
            }
        }
    }
    headers.sort();
    Ok(headers)
}

/// Returns the headers that a text includes, directly or by other headers, sorted by name.
///
/// `headers` are sorted by name, as [`headers`](headers()) returns them. Other files, such as those
/// of the SIMT shim, are not followed.
pub fn closure<'a, N: AsRef<str>, T: AsRef<str>>(
    text: &'a str,
    headers: &'a [(N, T)],
) -> Vec<(&'a str, &'a str)> {
    let mut found = vec![false; headers.len()];
    let mut texts = vec![text];
    while let Some(text) = texts.pop() {
        for name in text.lines().filter_map(included) {
            let index = headers.binary_search_by(|header| header.0.as_ref().cmp(name));
            if let Ok(index) = index
                && !found[index]
            {
                found[index] = true;
                texts.push(headers[index].1.as_ref());
            }
        }
    }
    let used = headers.iter().zip(found).filter(|(_, is_used)| *is_used);
    used.map(|((name, text), _)| (name.as_ref(), text.as_ref())).collect()
}

/// Returns the texts that what is compiled of a unit depends on: the unit, and the names and the
/// code of the headers in its [`closure`].
pub fn inputs<N: AsRef<str>, T: AsRef<str>>(unit: &str, headers: &[(N, T)]) -> Vec<String> {
    let closure = closure(unit, headers).into_iter();
    let headers = closure.flat_map(|(name, text)| [name.to_owned(), code(text)]);
    [unit.to_owned()].into_iter().chain(headers).collect()
}

/// Name in an `#include "name"`.
fn included(line: &str) -> Option<&str> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    directive.trim_start().strip_prefix('"')?.split('"').next()
}

/// Returns a C++ text without comments, blank lines and trailing spaces. A comment within a line
/// becomes a space. Literals are kept, and so is the first of two lines that a backslash joins.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        // Most of a header at once: build scripts are built without optimization.
        let plain = rest.bytes().position(|byte| matches!(byte, b'/' | b'R' | b'"' | b'\''));
        let (before, from) = rest.split_at(plain.unwrap_or(rest.len()));
        code.push_str(before);
        rest = from;
        let Some(next) = rest.chars().next() else { break };
        let length = if rest.starts_with("//") {
            line_comment(rest)
        } else if rest.starts_with("/*") {
            code.push(' ');
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            let is_separator = next == '\'' && code.ends_with(|c: char| c.is_ascii_hexdigit());
            let length = match next {
                'R' if rest.starts_with("R\"") => raw_literal(rest),
                '"' => literal(rest),
                '\'' if !is_separator => literal(rest),
                _ => next.len_utf8(),
            };
            code.push_str(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    let lines = code.lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Length of a comment to the end of its line, which is not the line's if a backslash precedes it.
fn line_comment(text: &str) -> usize {
    let ends = text.match_indices('\n').map(|(end, _)| end);
    let mut ends = ends.filter(|&end| !text[..end].trim_end_matches('\r').ends_with('\\'));
    ends.next().unwrap_or(text.len())
}

/// Length of a literal in the quotes that the text begins with.
fn literal(text: &str) -> usize {
    let mut is_escaped = false;
    let quote = text.chars().next();
    let mut closing = text.char_indices().skip(1).filter(|&(_, next)| {
        let closes = !is_escaped && (Some(next) == quote || next == '\n');
        is_escaped = !is_escaped && next == '\\';
        closes
    });
    closing.next().map_or(text.len(), |(end, _)| end + 1)
}

/// Length of a literal `R"delimiter(..)delimiter"`.
fn raw_literal(text: &str) -> usize {
    let Some((delimiter, _)) = text[2..].split_once('(') else { return text.len() };
    let end = format!("){delimiter}\"");
    text.find(&end).map_or(text.len(), |at| at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: [(&str, &str); 4] = [
        ("a.cuh", "#include \"room/b.cuh\"\n#include <cstdio>\n#include \"simt/simt.h\"\n"),
        ("c.cuh", "int c;\n"),
        ("room/b.cuh", "  #  include \"room/d.cuh\"\n"),
        ("room/d.cuh", "#include \"a.cuh\"\n// #include \"c.cuh\"\n"),
    ];

    fn names(text: &str) -> Vec<&str> {
        closure(text, &HEADERS).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn closure_has_the_headers_in_reach() {
        assert_eq!(names("#include \"a.cuh\""), ["a.cuh", "room/b.cuh", "room/d.cuh"]);
        assert_eq!(names("#include \"c.cuh\"\nint x;\n"), ["c.cuh"]);
        assert_eq!(names("int x;\n"), [""; 0]);
    }

    #[test]
    fn inputs_change_with_code_in_reach_alone() {
        let unit = "#include \"c.cuh\"\n";
        let with = |c, d| inputs(unit, &[HEADERS[0], ("c.cuh", c), ("room/d.cuh", d)]);
        let before = with("int c;", "int d;");
        assert_eq!(before, [unit, "c.cuh", "int c;\n"]);
        assert_eq!(with("// A comment.\nint c;  // of two\n\n", "int d;"), before);
        assert_eq!(with("int c;", "int e;"), before);
        assert_ne!(with("int e;", "int d;"), before);
    }

    #[test]
    fn comments_are_stripped_and_literals_are_not() {
        for (text, expected) in [
            ("a /* b */ c", "a   c\n"),
            ("a/*\n\n*/c // d\ne", "a c\ne\n"),
            ("\n\n  a  \n\n", "  a\n"),
            ("a // b \\\nc\nd", "a\nd\n"),
            ("\"// a\" // b", "\"// a\"\n"),
            ("\"\\\"/* a\" /* b */", "\"\\\"/* a\"\n"),
            ("'\"' // a", "'\"'\n"),
            ("'\\'' /* ' */ '/'", "'\\''   '/'\n"),
            ("1'000 // a'b", "1'000\n"),
            ("0xff'ff /* ' */ + 1", "0xff'ff   + 1\n"),
            ("R\"x(// \" )\" )x\" // a", "R\"x(// \" )\" )x\"\n"),
            ("#define A \\\n  b // c", "#define A \\\n  b\n"),
            ("\"unclosed\n// a\nb", "\"unclosed\nb\n"),
            ("/* unclosed", ""),
            ("a / b * c", "a / b * c\n"),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn code_of_the_kernels_has_no_comment_and_all_else() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
        for (name, text) in headers(&folder).unwrap() {
            let code = code(&text);
            assert!(!code.contains("//"), "{name}");
            let without = text.lines().map(|line| line.split("//").next().unwrap_or(line).trim());
            let expected: Vec<_> = without.filter(|line| !line.is_empty()).collect();
            assert_eq!(code.lines().map(str::trim).collect::<Vec<_>>(), expected, "{name}");
        }
    }
}
