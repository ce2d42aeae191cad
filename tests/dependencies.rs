//! Every dependency is used, and the doc comments hold no code that nothing compiles.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Packages that are used without being named in Rust code, with the reason.
const UNNAMED: [(&str, &str); 0] = [];

/// The names by which a manifest's code refers to its dependencies.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values);
    let tables = targets.filter_map(Value::as_table).chain([manifest]);
    let sections = tables.flat_map(|table| {
        let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
        sections.map(|section| table.get(section).and_then(Value::as_table))
    });
    sections.flatten().flat_map(Table::keys).cloned().collect()
}

/// Whether code refers to a package: by a path (`name::`) or an import (`use name`).
fn names(code: &str, package: &str) -> bool {
    let identifier = package.replace('-', "_");
    let part_of_a_name = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
    code.match_indices(&identifier).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + identifier.len()..]);
        // `::http::Method` names the crate where a module of that name stands in the way.
        let before = match before.strip_suffix("::") {
            Some(rooted)
                if !rooted.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '>') =>
            {
                rooted
            }
            _ => before,
        };
        let imported =
            before.ends_with("use ") && [";", " as "].iter().any(|next| after.starts_with(next));
        imported || (after.starts_with("::") && !before.ends_with(part_of_a_name))
    })
}

/// The dependencies that the code does not name.
fn unused(manifest: &Table, code: &str) -> Vec<String> {
    let known = |name: &str| UNNAMED.iter().any(|(unnamed, _)| *unnamed == name);
    let missing = |name: &String| !known(name) && !names(code, name);
    dependencies(manifest).into_iter().filter(missing).collect()
}

/// Lines of doc comments that open a block of Rust, which `cargo test --doc` would compile and nothing here does.
fn doc_tests(code: &str) -> Vec<&str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in code.lines().map(str::trim) {
        let text = line.strip_prefix("//!").or(line.strip_prefix("///"));
        let fence = text.and_then(|text| text.trim().strip_prefix("```"));
        if let Some(language) = fence {
            let rust = language.split(',').all(|word| RUST.contains(&word.trim()));
            if !inside && rust {
                found.push(line);
            }
            inside = !inside;
        }
    }
    found
}

/// The words after a fence with which rustdoc takes a block for Rust.
const RUST: [&str; 7] = [
    "",
    "rust",
    "should_panic",
    "no_run",
    "compile_fail",
    "edition2021",
    "edition2024",
];

/// The top of the repository.
fn top() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = here
        .ancestors()
        .find(|dir| dir.join("Cargo.lock").is_file());
    top.expect("a workspace with a lock file").to_owned()
}

fn manifest(file: &Path) -> Table {
    let text = fs::read_to_string(file).expect("a manifest");
    text.parse().expect("TOML")
}

/// The folders of the workspace's members.
fn members(workspace: &Table) -> Vec<PathBuf> {
    let listed = workspace["workspace"]["members"]
        .as_array()
        .expect("members");
    let listed = listed.iter().filter_map(Value::as_str);
    let folders = listed.flat_map(|member| match member.strip_suffix("/*") {
        Some(parent) => {
            let entries = fs::read_dir(top().join(parent)).expect("a folder of members");
            entries
                .map(|entry| entry.expect("an entry").path())
                .collect()
        }
        None => vec![top().join(member)],
    });
    let mut folders: Vec<_> = folders
        .filter(|folder| folder.join("Cargo.toml").is_file())
        .collect();
    folders.sort();
    folders
}

/// The Rust code below a folder.
fn code_below(folder: &Path, code: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "node_modules") {
                code_below(&path, code);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&fs::read_to_string(&path).expect("a source"));
        }
    }
}

/// All code of a member: below its folder, and where its manifest points to targets elsewhere.
fn code_of(folder: &Path, manifest: &Table) -> String {
    let mut code = String::new();
    code_below(folder, &mut code);
    let targets = ["test", "bench", "example", "bin"].into_iter();
    let targets = targets.filter_map(|kind| manifest.get(kind)?.as_array());
    for path in targets
        .flatten()
        .filter_map(|target| target.get("path")?.as_str())
    {
        let file = folder.join(path);
        if file.ends_with("main.rs") {
            code_below(file.parent().expect("a folder"), &mut code);
        } else {
            code.push_str(&fs::read_to_string(&file).expect("a source"));
        }
    }
    code
}

#[test]
fn every_dependency_is_used() {
    let workspace = manifest(&top().join("Cargo.toml"));
    let members = members(&workspace);
    assert!(members.len() > 10, "the members were found: {members:?}");
    let mut taken = BTreeSet::new();
    let mut wrong = Vec::new();
    for folder in &members {
        let manifest = manifest(&folder.join("Cargo.toml"));
        taken.extend(dependencies(&manifest));
        let name = manifest["package"]["name"]
            .as_str()
            .expect("a name")
            .to_owned();
        for unused in unused(&manifest, &code_of(folder, &manifest)) {
            wrong.push(format!(
                "{name} does not use {unused}; remove it from its Cargo.toml"
            ));
        }
    }
    let offered = workspace["workspace"]["dependencies"]
        .as_table()
        .expect("dependencies");
    for name in offered.keys().filter(|name| !taken.contains(*name)) {
        wrong.push(format!(
            "no crate takes {name}; remove it from the workspace's Cargo.toml"
        ));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// `make test` does not run rustdoc over every crate for the sake of a few examples.
#[test]
fn doc_comments_hold_no_code_that_is_never_compiled() {
    let workspace = manifest(&top().join("Cargo.toml"));
    for folder in members(&workspace) {
        let mut code = String::new();
        code_below(&folder, &mut code);
        let found = doc_tests(&code);
        assert!(
            found.is_empty(),
            "{folder:?}: write the example as a test, or name its language (```text): {found:?}"
        );
    }
}

#[test]
fn a_planted_unused_dependency_is_found_and_a_used_one_is_not() {
    let with = |section: &str| -> Table {
        format!("{section}\nserde-saphyr.workspace = true")
            .parse()
            .expect("TOML")
    };
    for section in [
        "[dependencies]",
        "[dev-dependencies]",
        "[build-dependencies]",
        "[target.'cfg(unix)'.dependencies]",
    ] {
        let manifest = with(section);
        for used in [
            "use serde_saphyr::from_str;",
            "use serde_saphyr as yaml;",
            "serde_saphyr::from_str(x)",
        ] {
            assert!(unused(&manifest, used).is_empty(), "{section}: {used}");
        }
        for other in [
            "",
            "my_serde_saphyr::x()",
            "serde_saphyr_extra::x()",
            "the serde_saphyr package",
            "crate::serde_saphyr::x()",
        ] {
            assert_eq!(
                unused(&manifest, other),
                ["serde-saphyr"],
                "{section}: {other}"
            );
        }
    }
}

#[test]
fn a_planted_doc_test_is_found_and_a_block_of_text_is_not() {
    assert_eq!(doc_tests("//! ```\n//! let x = 1;\n//! ```"), ["//! ```"]);
    assert_eq!(
        doc_tests("/// ```rust,no_run\n/// x();\n/// ```"),
        ["/// ```rust,no_run"]
    );
    assert!(doc_tests("/// ```text\n/// x\n/// ```\nlet fence = \"```\";").is_empty());
}
