//! Declares every tool's file as a module and lists what the files register, so that a new tool is one new file.
//!
//! rustfmt does not see modules that are declared here: `make fmt` and `make lint` name their files.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script reads its paths from the environment and answers on standard output"
)]

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders below `src` in which every file but `mod.rs` is a tool.
pub const FAMILIES: [&str; 5] = ["gateway", "gsv", "resources", "tool", "unified"];

fn main() {
    let dir = |name: &str| PathBuf::from(env::var_os(name).expect("cargo sets it"));
    println!("cargo:rerun-if-changed=build.rs");
    for family in FAMILIES {
        let folder = dir("CARGO_MANIFEST_DIR").join("src").join(family);
        // Of the folder, because a file that is added or removed changes no other file.
        println!("cargo:rerun-if-changed={}", folder.display());
        let generated = dir("OUT_DIR").join(family).with_extension("rs");
        fs::write(generated, declarations(&folder)).expect("OUT_DIR is writable");
    }
}

/// A module for each tool's file in a folder, and `TOOLS` with the registrations of all.
pub fn declarations(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("a folder of tools");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut names: Vec<(String, PathBuf)> = files
        .filter(|file| file.extension().is_some_and(|ext| ext == "rs"))
        .map(|file| (file.file_stem().unwrap().to_str().unwrap().to_owned(), file))
        .filter(|(name, _)| name != "mod")
        .collect();
    // The order of a listing differs between machines, and builds should not.
    names.sort();
    let (mut modules, mut tools) = (String::new(), String::new());
    for (name, file) in &names {
        modules += &format!("#[path = {file:?}]\npub(crate) mod {name};\n");
        tools += &format!("    &{name}::TOOL,\n");
    }
    format!(
        "{modules}\n/// What the files of this folder register.\npub(crate) const TOOLS: &[&crate::registration::Registration] = &[\n{tools}];\n"
    )
}
