//! Feeds one target of `manyhands_api::fuzz` with libFuzzer; `FUZZ_TARGET` says which.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use manyhands_api::fuzz::TARGETS;

struct Chosen {
    target: fn(&[u8], &Path),
    folder: tempfile::TempDir,
}

static CHOSEN: LazyLock<Chosen> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    let found = found.unwrap_or_else(|| panic!("set FUZZ_TARGET to one of {}", names.join(", ")));
    Chosen {
        target: found.1,
        folder: tempfile::tempdir().expect("a folder"),
    }
});

fuzz_target!(|bytes: &[u8]| (CHOSEN.target)(bytes, CHOSEN.folder.path()));
