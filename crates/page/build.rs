//! Embeds the page: what `make page` built, or the folder that `MANYHANDS_PAGE` names.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build script takes its input from the environment and reports on standard output and error"
)]

#[path = "build/source.rs"]
mod source;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
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
    let mut files = Vec::new();
    if let Some(folder) = &folder {
        println!(
            "cargo:rerun-if-changed={}",
            folder.join("index.html").display()
        );
        collect(folder, "", &mut files);
    }
    files.sort();
    let mut table = String::from("&[\n");
    for (name, path) in &files {
        let small = PathBuf::from(format!("{}.gz", path.display()));
        let packed = small.is_file();
        let path = if packed { &small } else { path }.display().to_string();
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

fn collect(folder: &Path, under: &str, files: &mut Vec<(String, PathBuf)>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue; // markers of the tools that built it
        }
        let path = entry.path().canonicalize().unwrap_or_else(|_| entry.path());
        if path.is_dir() {
            collect(&path, &format!("{under}{name}/"), files);
        } else if !name.ends_with(".gz") && !name.ends_with(".map") {
            files.push((format!("{under}{name}"), path));
        }
    }
}
