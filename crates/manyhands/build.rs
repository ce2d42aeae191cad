//! Sets what `--version` prints, and makes the release smaller where the linker is known to be able to.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script is told what to do by its environment, and answers on standard output"
)]

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MANYHANDS_COMMIT");
    let said = |name: &str| env::var(name).unwrap_or_default();
    // Only `make dist` names the commit: asking git here would relink every build after every commit.
    let version = match said("MANYHANDS_COMMIT") {
        commit if commit.is_empty() => said("CARGO_PKG_VERSION"),
        commit => format!("{} ({commit})", said("CARGO_PKG_VERSION")),
    };
    println!("cargo:rustc-env=MANYHANDS_VERSION={version}");
    // There Rust brings its own linker, lld; whoever chose another one knows what it takes.
    let ours = said("TARGET") == "x86_64-unknown-linux-gnu"
        && env::var_os("RUSTC_LINKER").is_none()
        && !said("CARGO_ENCODED_RUSTFLAGS").contains("link");
    if said("PROFILE") != "release" || !ours {
        return;
    }
    // Functions that came out the same are kept once. No code of ours compares functions by address.
    println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    // Two megabytes of places to be filled in at the start become a few kilobytes. The C library must
    // know that form, which it has since 2.36: one that is built here runs where this one does.
    if said("HOST") == said("TARGET") && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library that is linked.
fn glibc() -> Option<(u32, u32)> {
    let told = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
