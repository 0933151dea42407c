//! Names the shared library for the dynamic linker, as cargo-c does when it installs it.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let [os, major, minor, patch] = [
        "CARGO_CFG_TARGET_OS",
        "CARGO_PKG_VERSION_MAJOR",
        "CARGO_PKG_VERSION_MINOR",
        "CARGO_PKG_VERSION_PATCH",
    ]
    .map(variable);
    // The part of the version that programs depend on: the first number that is not 0.
    let compatible = match (&*major, &*minor) {
        ("0", "0") => format!("0.0.{patch}"),
        ("0", _) => format!("0.{minor}"),
        _ => major,
    };
    let systems = ["linux", "freebsd", "dragonfly", "netbsd", "openbsd", "illumos"];
    if systems.contains(&&*os) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgpuint.so.{compatible}");
    }
}
