//! The rules of the house that the compiler does not check: crates reach only
//! downwards, files stay small, and the tree of dependencies stays bounded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The most lines of a source file; near 500 it already asks to be two.
const LONGEST: usize = 800;

/// The most packages in the lock file.
const PACKAGES: usize = 600;

/// What one `Cargo.toml` says that the rules are about.
#[derive(Debug, PartialEq)]
struct Manifest {
    name: String,
    layer: Option<i64>,
    room: Option<String>,
    /// Our own crates that it uses: in code, in tests and in its build script.
    uses: Vec<String>,
}

impl Manifest {
    fn of(text: &str) -> Self {
        let table: Table = text.parse().expect("a manifest is TOML");
        let package = table["package"].as_table().expect("a package");
        let house = package
            .get("metadata")
            .and_then(|metadata| metadata.get("manyhands"));
        let said = |key: &str| house.and_then(|house| house.get(key));
        let mut uses = Vec::new();
        collect(&table, &mut uses);
        let targets = table.get("target").and_then(Value::as_table);
        for target in targets.into_iter().flat_map(Table::values) {
            collect(target.as_table().expect("a target"), &mut uses);
        }
        Self {
            name: package["name"].as_str().expect("a name").to_owned(),
            layer: said("layer").and_then(Value::as_integer),
            room: said("room").and_then(Value::as_str).map(str::to_owned),
            uses,
        }
    }
}

fn collect(table: &Table, uses: &mut Vec<String>) {
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let dependencies = table.get(section).and_then(Value::as_table);
        for (key, dependency) in dependencies.into_iter().flatten() {
            let renamed = dependency.get("package").and_then(Value::as_str);
            let name = renamed.unwrap_or(key);
            if name == "manyhands" || name.starts_with("manyhands-") {
                uses.push(name.to_owned());
            }
        }
    }
}

/// Every breach of the layers, in words.
fn breaches(manifests: &[Manifest]) -> Vec<String> {
    let layers: BTreeMap<&str, i64> = manifests
        .iter()
        .filter_map(|m| m.layer.map(|layer| (m.name.as_str(), layer)))
        .collect();
    let mut breaches = Vec::new();
    for manifest in manifests {
        let name = &manifest.name;
        if manifest.room.is_none() {
            breaches.push(format!(
                "{name} names no room; add room to [package.metadata.manyhands]"
            ));
        }
        let Some(layer) = manifest.layer else {
            breaches.push(format!(
                "{name} names no layer; add layer to [package.metadata.manyhands]"
            ));
            continue;
        };
        for used in &manifest.uses {
            match layers.get(used.as_str()) {
                Some(below) if *below < layer => {}
                Some(other) => breaches.push(format!(
                    "{name} (layer {layer}) uses {used} (layer {other}), which is not below it"
                )),
                None => breaches.push(format!("{name} uses {used}, which has no layer")),
            }
        }
    }
    breaches
}

/// Files of more than `longest` lines, tests aside.
fn too_long<'a>(files: impl Iterator<Item = (&'a Path, usize)>, longest: usize) -> Vec<String> {
    files
        .filter(|(path, lines)| *lines > longest && !is_test(path))
        .map(|(path, lines)| format!("{} has {lines} lines; split it", path.display()))
        .collect()
}

fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("");
    let in_tests = path.components().any(|part| part.as_os_str() == "tests");
    in_tests || stem == "tests" || stem.ends_with("_test") || stem.ends_with("_tests")
}

fn packages(lock: &str) -> usize {
    let lock: Table = lock.parse().expect("a lock file is TOML");
    lock["package"].as_array().expect("packages").len()
}

/// The top of the repository, from whichever crate this test is built in.
fn top() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = here
        .ancestors()
        .find(|dir| dir.join("Cargo.lock").is_file());
    top.expect("a workspace with a lock file").to_owned()
}

fn manifests() -> Vec<Manifest> {
    let crates = fs::read_dir(top().join("crates")).expect("crates/");
    let mut manifests: Vec<Manifest> = crates
        .map(|entry| entry.expect("an entry").path().join("Cargo.toml"))
        .chain([top().join("tests/platforms/Cargo.toml")])
        .filter(|path| path.is_file())
        .map(|path| Manifest::of(&fs::read_to_string(path).expect("a manifest")))
        .collect();
    manifests.sort_by(|a, b| a.name.cmp(&b.name));
    manifests
}

fn sources(dir: &Path, found: &mut Vec<(PathBuf, usize)>) {
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let skipped = |name: &std::ffi::OsStr| name == "target" || name == "node_modules";
            if path.file_name().is_some_and(|name| !skipped(name)) {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            let lines = fs::read_to_string(&path).expect("a source").lines().count();
            found.push((path, lines));
        }
    }
}

#[test]
fn crates_reach_only_downwards() {
    let manifests = manifests();
    assert!(manifests.len() > 5, "the crates were found: {manifests:?}");
    assert_eq!(breaches(&manifests), Vec::<String>::new());
}

#[test]
fn no_source_file_is_over_800_lines() {
    let mut files = Vec::new();
    sources(&top().join("crates"), &mut files);
    assert!(files.len() > 20, "the sources were found");
    let files = files.iter().map(|(path, lines)| (path.as_path(), *lines));
    assert_eq!(too_long(files, LONGEST), Vec::<String>::new());
}

/// What decides whether a caller has a right, in code that runs.
const CHECKS: [&str; 3] = [".permit(spec", ".rights.tools", ".rights.agents"];

/// Where rights may be looked at: where they are decided, where they are made from records, and where a
/// server is asked for before its tools are.
const CHECKING: [&str; 3] = [
    "path/src/authorize.rs",
    "gateway/src/doorman.rs",
    "gateway/src/mcp/pass/mod.rs",
];

fn checks_rights(source: &str) -> bool {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    CHECKS.iter().any(|check| code.contains(check))
}

#[test]
fn rights_are_checked_in_one_place() {
    let mut files = Vec::new();
    sources(&top().join("crates"), &mut files);
    let stray = files.iter().filter(|(path, _)| {
        let known = CHECKING.iter().any(|known| path.ends_with(known));
        !known && !is_test(path) && checks_rights(&fs::read_to_string(path).expect("a source"))
    });
    let stray: Vec<_> = stray.map(|(path, _)| path).collect();
    assert!(
        stray.is_empty(),
        "ask path's `authorize` instead: {stray:?}"
    );
    assert!(
        checks_rights("caller.rights.tools.iter().any(f)"),
        "a planted check is found"
    );
    assert!(!checks_rights(
        "fn a() {}\n#[cfg(test)] caller.rights.tools"
    ));
}

/// One row of `docs/assurance.toml`.
fn assurance(promise: &Value, code: &str) -> String {
    let text = |key: &str| promise[key].as_str().expect(key).to_owned();
    let tests = promise["tests"].as_array().expect("tests");
    let tests = tests.iter().map(|test| {
        let name = test.as_str().expect("a name");
        assert!(
            code.contains(&format!("fn {name}(")),
            "there is no test {name}"
        );
        format!("`{name}`")
    });
    let tests = tests.collect::<Vec<_>>().join("<br>");
    let (promise, cases, control) = (text("promise"), text("cases"), text("control"));
    format!("| {promise} | {tests} | {cases} | {control} |\n")
}

#[test]
#[allow(clippy::disallowed_methods)] // whoever runs the test says that the document is to be renewed
fn every_security_promise_names_the_tests_that_prove_it() {
    let table = fs::read_to_string(top().join("docs/assurance.toml")).expect("docs/assurance.toml");
    let table: Table = table.parse().expect("TOML");
    let mut files = Vec::new();
    for folder in ["crates", "tests"] {
        sources(&top().join(folder), &mut files);
    }
    let code: String = files
        .iter()
        .map(|(path, _)| fs::read_to_string(path).expect("a source"))
        .collect();
    let rows = table["promise"].as_array().expect("promises");
    let rows: String = rows.iter().map(|row| assurance(row, &code)).collect();
    let made = format!(
        "# Security promises and their proof\n\nGenerated from `docs/assurance.toml`. Every test named here runs in `make test`.\n\n| promise | tests | cases | positive control |\n| --- | --- | --- | --- |\n{rows}"
    );
    let file = top().join("docs/assurance.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &made).expect("docs/assurance.md");
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        there, made,
        "renew it: UPDATE_DOCS=1 cargo test -p manyhands --test house"
    );
}

#[test]
fn the_lock_file_has_at_most_600_packages() {
    let lock = fs::read_to_string(top().join("Cargo.lock")).expect("a lock file");
    let count = packages(&lock);
    assert!(count > 1, "the packages were found");
    assert!(
        count <= PACKAGES,
        "{count} packages, and {PACKAGES} are allowed"
    );
}

fn manifest(name: &str, layer: i64, rest: &str) -> Manifest {
    Manifest::of(&format!(
        "package.name = \"{name}\"\n\
         package.metadata.manyhands = {{ layer = {layer}, room = \"r\" }}\n{rest}"
    ))
}

/// A crate `manyhands-upper` on layer 3, whose manifest has `rest`, above
/// `manyhands-lower` on 1, beside `manyhands-peer` on 3 and below `manyhands-top` on 4.
#[track_caller]
fn check(rest: &str, expect: &[&str]) {
    let manifests = [
        manifest("manyhands-lower", 1, ""),
        manifest("manyhands-peer", 3, ""),
        manifest("manyhands-top", 4, ""),
        manifest("manyhands-upper", 3, rest),
    ];
    assert_eq!(breaches(&manifests), expect, "{rest}");
}

#[test]
fn a_planted_reach_upwards_or_sideways_is_caught() {
    let up = "manyhands-upper (layer 3) uses manyhands-top (layer 4), which is not below it";
    let side = "manyhands-upper (layer 3) uses manyhands-peer (layer 3), which is not below it";
    check("[dependencies]\nmanyhands-lower.workspace = true", &[]);
    check("[dependencies]\nmanyhands-top.workspace = true", &[up]);
    check("[dev-dependencies]\nmanyhands-top.workspace = true", &[up]);
    check("[build-dependencies]\nmanyhands-peer = \"1\"", &[side]);
    check(
        "[target.'cfg(unix)'.dependencies]\nmanyhands-top.workspace = true",
        &[up],
    );
    check(
        "[dependencies]\nx = { package = \"manyhands-peer\", path = \"p\" }",
        &[side],
    );
    check(
        "[dependencies]\nmanyhands-nobody = \"1\"",
        &["manyhands-upper uses manyhands-nobody, which has no layer"],
    );
    check("[dependencies]\nserde = \"1\"", &[]);
}

#[test]
fn a_crate_without_layer_and_room_is_caught() {
    let bare = Manifest::of("package.name = \"manyhands-bare\"");
    let caught = breaches(&[bare]);
    assert_eq!(caught.len(), 2, "{caught:?}");
    assert_eq!(
        breaches(&[manifest("manyhands-good", 0, "")]),
        Vec::<String>::new()
    );
}

#[test]
fn a_planted_long_file_is_caught_and_a_long_test_is_not() {
    let files = [
        "crates/a/src/long.rs",
        "crates/a/tests/long.rs",
        "crates/a/src/x_tests.rs",
    ];
    let with = |lines| files.iter().map(move |path| (Path::new(*path), lines));
    assert_eq!(
        too_long(with(LONGEST + 1), LONGEST),
        ["crates/a/src/long.rs has 801 lines; split it"]
    );
    assert!(too_long(with(LONGEST), LONGEST).is_empty());
}
