//! Columns of tables of comma-separated values.

use std::fmt;
use std::str::FromStr;

/// A column by its name in the first row, or by its number, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    Number(usize),
    Name(String),
}

impl FromStr for Column {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(0) => Err("columns are counted from 1"),
            Ok(number) => Ok(Self::Number(number)),
            Err(_) => Ok(Self::Name(text.to_owned())),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}
