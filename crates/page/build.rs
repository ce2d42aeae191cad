//! Takes in the page as `web/dist` holds it. Where it was not built, there is none.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script is told where things are by its environment, and answers on standard output"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo says where"));
    let built = here.join("../../web/dist");
    // Written last, so that a page is whole or not there.
    let whole = built.join(".built");
    println!("cargo:rerun-if-changed={}", whole.display());
    let mut files = Vec::new();
    if whole.is_file() {
        collect(&built, "", &mut files);
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
        .expect("a string takes it");
    }
    table.push(']');
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo says where"));
    fs::write(out.join("files.rs"), table).expect("the table is written");
}

fn collect(folder: &Path, under: &str, files: &mut Vec<(String, PathBuf)>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue; // notes of whoever built it
        }
        let path = entry.path().canonicalize().unwrap_or_else(|_| entry.path());
        if path.is_dir() {
            collect(&path, &format!("{under}{name}/"), files);
        } else if !name.ends_with(".gz") && !name.ends_with(".map") {
            files.push((format!("{under}{name}"), path));
        }
    }
}
