//! Embeds the page: what `make page` built, or the folder that `MANYHANDS_PAGE` names.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build script takes its input from the environment and reports on standard output and error"
)]

#[path = "build/files.rs"]
mod files;
#[path = "build/source.rs"]
mod source;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let named = env::var("MANYHANDS_PAGE").unwrap_or_default();
    let built = here.join("../../web/dist");
    // Profiles that inherit from `release` are releases: cargo reports no other name here.
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    println!("cargo:rerun-if-env-changed=MANYHANDS_PAGE");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed={}", built.join(".built").display());
    let folder = match source::folder(&named, &built, release) {
        Ok(folder) => folder,
        Err(problem) => {
            eprintln!("error: {problem}");
            std::process::exit(1);
        }
    };
    let found = folder.as_deref().map(files::list).unwrap_or_default();
    if let Some(folder) = &folder {
        println!(
            "cargo:rerun-if-changed={}",
            folder.join("index.html").display()
        );
    }
    let mut table = String::from("&[\n");
    for (name, path, packed) in &found {
        let path = path.display().to_string();
        writeln!(
            table,
            "    File {{ name: {name:?}, bytes: include_bytes!({path:?}), packed: {packed} }},"
        )
        .expect("a string can be written to");
    }
    table.push(']');
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("files.rs"), table).expect("OUT_DIR can be written");
}
