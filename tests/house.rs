//! Rules of this code base that the compiler does not check: crates use only lower layers, crates and files stay
//! small, modules have no cycles, and the number of dependencies stays bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The most lines of a source file; near 500 it already asks to be two.
const LONGEST: usize = 800;

/// The most packages in the lock file.
const PACKAGES: usize = 600;

/// The parts of a `Cargo.toml` that the rules are about.
#[derive(Debug, PartialEq)]
struct Manifest {
    name: String,
    layer: Option<i64>,
    room: Option<String>,
    /// Its contents, and what never belongs there.
    holds: Option<String>,
    never: Option<String>,
    /// Our own crates that it uses: in code, in tests and in its build script.
    uses: Vec<String>,
    /// Those in `[dependencies]`, which the graph shows.
    dependencies: Vec<String>,
}

impl Manifest {
    fn of(text: &str) -> Self {
        let table: Table = text.parse().expect("a manifest is TOML");
        let package = table["package"].as_table().expect("a package");
        let metadata = package
            .get("metadata")
            .and_then(|metadata| metadata.get("manyhands"));
        let setting = |key: &str| metadata.and_then(|metadata| metadata.get(key));
        let (mut uses, mut dependencies) = (Vec::new(), Vec::new());
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            collect(&table, section, &mut uses);
        }
        collect(&table, "dependencies", &mut dependencies);
        let targets = table.get("target").and_then(Value::as_table);
        for target in targets.into_iter().flat_map(Table::values) {
            let target = target.as_table().expect("a target");
            for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
                collect(target, section, &mut uses);
            }
        }
        Self {
            name: package["name"].as_str().expect("a name").to_owned(),
            layer: setting("layer").and_then(Value::as_integer),
            room: setting("room").and_then(Value::as_str).map(str::to_owned),
            holds: package
                .get("description")
                .and_then(Value::as_str)
                .map(str::to_owned),
            never: setting("never").and_then(Value::as_str).map(str::to_owned),
            uses,
            dependencies,
        }
    }
}

fn collect(table: &Table, section: &str, uses: &mut Vec<String>) {
    let dependencies = table.get(section).and_then(Value::as_table);
    for (key, dependency) in dependencies.into_iter().flatten() {
        let renamed = dependency.get("package").and_then(Value::as_str);
        let name = renamed.unwrap_or(key);
        if name == "manyhands" || name.starts_with("manyhands-") {
            uses.push(name.to_owned());
        }
    }
}

/// Describes every breach of the layers.
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
    // Fakes in `testing.rs` are compiled only for tests, of their own crate or of others.
    in_tests
        || ["tests", "testing"].contains(&stem)
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
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

/// Code that checks the rights of a caller.
const CHECKS: [&str; 3] = [".permit(spec", ".rights.tools", ".rights.agents"];

/// Files that may check rights: where they are decided, where they are created from records, and where access to a server is
/// checked before that to its tools.
const CHECKING: [&str; 3] = [
    "path/src/authorize.rs",
    "gateway/src/auth.rs",
    "mcp-server/src/passthrough/mod.rs",
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

/// The most product lines of a crate.
const LARGEST: usize = 18_000;

/// The lines of a source file before its tests; none for a file of tests.
fn product_lines(path: &Path, source: &str) -> usize {
    if is_test(path) {
        return 0;
    }
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let tests = |at: &usize| {
        lines[*at] == "#[cfg(test)]" && lines.get(at + 1).is_some_and(|next| is_module(next))
    };
    (0..lines.len()).find(tests).unwrap_or(lines.len())
}

fn is_module(line: &str) -> bool {
    line.starts_with("mod ") || (line.starts_with("pub") && line.contains(" mod "))
}

/// The folders of our crates, by name.
fn crates() -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(top().join("crates")).expect("crates/");
    entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("Cargo.toml").is_file())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            (name.into_owned(), path.clone())
        })
        .collect()
}

/// The sources of a crate: their paths from `src`, and their texts.
fn texts(of: &Path) -> Vec<(PathBuf, String)> {
    let src = of.join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    files
        .into_iter()
        .map(|(path, _)| {
            let text = fs::read_to_string(&path).expect("a source");
            (path.strip_prefix(&src).expect("below src").to_owned(), text)
        })
        .collect()
}

#[test]
fn no_crate_is_over_18000_lines() {
    let all = crates();
    assert!(all.len() > 20, "the crates were found");
    let large = all.iter().filter_map(|(name, path)| {
        let lines = texts(path)
            .iter()
            .map(|(path, text)| product_lines(path, text))
            .sum::<usize>();
        (lines > LARGEST).then(|| format!("{name} has {lines} lines; split it"))
    });
    assert_eq!(large.collect::<Vec<_>>(), Vec::<String>::new());
    let source = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
    assert_eq!(product_lines(Path::new("a.rs"), source), 2);
    assert_eq!(product_lines(Path::new("a/tests.rs"), source), 0);
    assert_eq!(
        product_lines(Path::new("a.rs"), "#[cfg(test)]\nuse a::b;\n"),
        2
    );
}

/// The leaves of a use tree, each as its segments.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim_start();
    if let Some(inside) = tree.strip_prefix('{') {
        let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
        for (at, sign) in inside.char_indices() {
            match sign {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    found.extend(leaves(&inside[start..at]));
                    start = at + 1;
                    if sign == '}' {
                        break;
                    }
                }
                _ => {}
            }
        }
        return found;
    }
    let end = tree
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(tree.len());
    let (name, rest) = tree.split_at(end);
    if name.is_empty() {
        return Vec::new();
    }
    let below = rest.strip_prefix("::").map(leaves).unwrap_or_default();
    match below.is_empty() {
        true => vec![vec![name.to_owned()]],
        false => {
            let with = |mut leaf: Vec<String>| {
                leaf.insert(0, name.to_owned());
                leaf
            };
            below.into_iter().map(with).collect()
        }
    }
}

/// The paths into its own crate that a file names, from the crate root. `module` is the path of the file's own module.
fn own_paths(module: &[String], source: &str) -> Vec<Vec<String>> {
    let code = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code: Vec<&str> = code.collect();
    let end = (0..code.len())
        .find(|at| {
            code[*at].trim() == "#[cfg(test)]"
                && code
                    .get(at + 1)
                    .is_some_and(|next| is_module(next.trim()) && next.ends_with('{'))
        })
        .unwrap_or(code.len());
    let code = code[..end].join("\n");
    let mut found = Vec::new();
    for keyword in ["crate::", "super::"] {
        for (at, _) in code.match_indices(keyword) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let (mut base, mut rest) = (module.to_vec(), &code[at..]);
            match rest.strip_prefix("crate::") {
                Some(after) => (base, rest) = (Vec::new(), after),
                None => {
                    while let Some(after) = rest.strip_prefix("super::") {
                        base.pop();
                        rest = after;
                    }
                }
            }
            let absolute = |leaf: Vec<String>| base.iter().cloned().chain(leaf).collect();
            found.extend(leaves(rest).into_iter().map(absolute));
        }
    }
    found
}

/// Which top-level module of a crate uses which. Items of the root itself belong to no module, because a parent and its
/// children may use each other; what the root re-exports counts as the module that defines it.
fn uses(files: &[(PathBuf, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let module = |path: &Path| -> Vec<String> {
        let path = path.with_extension("");
        let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
        let mut parts: Vec<String> = parts.collect();
        if parts.last().is_some_and(|last| last == "mod") {
            parts.pop();
        }
        parts
    };
    let is_root = |parts: &[String]| parts == ["lib"] || parts == ["main"];
    let product = files.iter().filter(|(path, _)| !is_test(path));
    let product: Vec<_> = product.map(|(path, text)| (module(path), text)).collect();
    let modules: BTreeSet<String> = product
        .iter()
        .filter(|(parts, _)| !is_root(parts))
        .map(|(parts, _)| parts[0].clone())
        .collect();
    let mut home: BTreeMap<String, String> = BTreeMap::new();
    for (_, root) in product.iter().filter(|(parts, _)| is_root(parts)) {
        for (at, _) in root.match_indices("use ") {
            for leaf in leaves(
                root[at + 4..]
                    .trim_start_matches("crate::")
                    .trim_start_matches("self::"),
            ) {
                if let (Some(last), true) = (leaf.last(), modules.contains(&leaf[0])) {
                    home.insert(last.clone(), leaf[0].clone());
                }
            }
        }
    }
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (parts, text) in product.iter().filter(|(parts, _)| !is_root(parts)) {
        for used in own_paths(parts, text) {
            let Some(first) = used.first() else { continue };
            let target = modules.get(first).or_else(|| home.get(first));
            if let Some(target) = target.filter(|target| **target != parts[0]) {
                uses.entry(parts[0].clone())
                    .or_default()
                    .insert(target.clone());
            }
        }
    }
    uses
}

/// The groups of modules that reach each other.
fn cycles(uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| -> BTreeSet<String> {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(at) = next.pop() {
            for to in uses.get(&at).into_iter().flatten() {
                if seen.insert(to.clone()) {
                    next.push(to.clone());
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<String>> =
        uses.keys().map(|from| (from, reached(from))).collect();
    let group = |from: &String| -> Vec<String> {
        let back = |to: &&String| reach.get(to).is_some_and(|reach| reach.contains(from));
        reach[from].iter().filter(back).cloned().collect()
    };
    uses.keys()
        .map(group)
        .filter(|group| group.len() > 1)
        .collect()
}

#[test]
fn no_crate_has_a_module_cycle() {
    let mut found = Vec::new();
    for (name, path) in crates() {
        for cycle in cycles(&uses(&texts(&path))) {
            found.push(format!("{name}: {}", cycle.join(", ")));
        }
    }
    assert_eq!(found, Vec::<String>::new(), "break these cycles");
}

#[test]
fn a_planted_cycle_of_modules_is_caught() {
    let found = |files: &[(&str, &str)]| {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
            .collect();
        cycles(&uses(&files)).into_iter().collect::<Vec<_>>()
    };
    let a = ("a.rs", "use crate::{b::{self, B}, c};\n");
    assert_eq!(
        found(&[a, ("b/mod.rs", "use super::a::A;\n")]),
        [["a", "b"]]
    );
    assert_eq!(
        found(&[a, ("b/deep.rs", "fn f() { super::super::a::f() }\n")]),
        [["a", "b"]]
    );
    assert_eq!(
        found(&[
            a,
            ("b.rs", "use crate::A;\n"),
            ("lib.rs", "mod a;\npub use a::A;\n")
        ]),
        [["a", "b"]]
    );
    let harmless = [
        ("b.rs", "use super::c::C;\n"),
        ("b.rs", "//! See [`crate::a::A`].\nuse other::crate_a;\n"),
        (
            "b.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
        ),
        ("b/tests.rs", "use crate::a::A;\n"),
    ];
    for b in harmless {
        assert!(found(&[a, b]).is_empty(), "{b:?}");
    }
}

/// Where a built-in tool's file is, by its name alone: `gsv__ReadFile` is `gsv/read_file.rs`.
fn tool_file(name: &str) -> PathBuf {
    let (folder, name) = match (name.strip_prefix("gsv__"), name.strip_prefix("tool::")) {
        (Some(rest), _) => ("gsv", rest),
        (_, Some(rest)) => ("tool", rest),
        _ => ("", name),
    };
    let mut file = String::new();
    for sign in name.replace('-', "_").chars() {
        if sign.is_uppercase() && !file.is_empty() {
            file.push('_');
        }
        file.extend(sign.to_lowercase());
    }
    Path::new(folder).join(file + ".rs")
}

#[test]
fn a_tools_file_is_found_by_its_name() {
    assert_eq!(tool_file("gsv__ReadFile"), Path::new("gsv/read_file.rs"));
    assert_eq!(
        tool_file("code-execution_x"),
        Path::new("code_execution_x.rs")
    );
    let document = fs::read_to_string(top().join("docs/tools.md")).expect("docs/tools.md");
    let names = document
        .lines()
        .filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`'));
    // Those of machines are in `crates/node`.
    let names: Vec<&str> = names.filter(|name| !name.starts_with('{')).collect();
    assert!(names.len() > 40, "the tools were found: {names:?}");
    let files = texts(&top().join("crates/tools"));
    let lost = names.iter().filter(|name| {
        let file = tool_file(name);
        !files.iter().any(|(path, _)| path.ends_with(&file))
    });
    assert_eq!(lost.collect::<Vec<_>>(), Vec::<&&str>::new());
}

/// Our crates as a table and as a graph of their dependencies, without those that follow from others.
fn crate_map(manifests: &[Manifest]) -> String {
    let short = |name: &str| name.trim_start_matches("manyhands-").to_owned();
    let mut manifests: Vec<&Manifest> = manifests
        .iter()
        .filter(|m| m.name != "manyhands-platforms")
        .collect();
    manifests.sort_by_key(|m| (m.layer, &m.name));
    let mut text =
        "| layer | crate | what it holds | what never belongs there |\n| --- | --- | --- | --- |\n"
            .to_owned();
    for one in &manifests {
        let (layer, room) = (
            one.layer.unwrap_or_default(),
            one.room.as_deref().unwrap_or_default(),
        );
        let (holds, never) = (
            one.holds.as_deref().unwrap_or_default(),
            one.never.as_deref().unwrap_or_default(),
        );
        text += &format!(
            "| {layer} {room} | `{}` | {holds} | {never} |\n",
            short(&one.name)
        );
    }
    let direct: BTreeMap<&str, BTreeSet<&str>> = manifests
        .iter()
        .map(|one| {
            (
                one.name.as_str(),
                one.dependencies.iter().map(String::as_str).collect(),
            )
        })
        .collect();
    fn below<'a>(
        of: &str,
        direct: &BTreeMap<&str, BTreeSet<&'a str>>,
        all: &mut BTreeSet<&'a str>,
    ) {
        for used in direct.get(of).into_iter().flatten() {
            if all.insert(used) {
                below(used, direct, all);
            }
        }
    }
    text += "\n```mermaid\ngraph TD\n";
    for one in manifests.iter().rev() {
        let mut indirect = BTreeSet::new();
        for used in &direct[one.name.as_str()] {
            below(used, &direct, &mut indirect);
        }
        let shown = direct[one.name.as_str()]
            .iter()
            .filter(|used| !indirect.contains(*used));
        let shown: Vec<String> = shown.map(|used| short(used)).collect();
        if !shown.is_empty() {
            text += &format!("  {} --> {}\n", short(&one.name), shown.join(" & "));
        }
    }
    text + "```\n"
}

#[test]
#[allow(clippy::disallowed_methods)] // UPDATE_DOCS comes from the environment
fn architecture_md_lists_the_crates() {
    let (begin, end) = (
        "<!-- crates: generated from the manifests -->\n",
        "<!-- end of crates -->\n",
    );
    let manifests = manifests();
    let bare = manifests
        .iter()
        .filter(|m| m.holds.is_none() && m.name != "manyhands-platforms");
    let bare: Vec<&str> = bare.map(|m| m.name.as_str()).collect();
    assert!(bare.is_empty(), "add a package.description to {bare:?}");
    let file = top().join("ARCHITECTURE.md");
    let current = fs::read_to_string(&file).expect("ARCHITECTURE.md");
    let (before, rest) = current.split_once(begin).expect("where the crates begin");
    let (_, after) = rest.split_once(end).expect("where the crates end");
    let expected = format!("{before}{begin}{}{end}{after}", crate_map(&manifests));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &expected).expect("ARCHITECTURE.md");
    }
    let current = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        current == expected,
        "ARCHITECTURE.md is out of date; renew it: UPDATE_DOCS=1 cargo test -p manyhands --test house"
    );
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
#[allow(clippy::disallowed_methods)] // UPDATE_DOCS comes from the environment
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
    let expected = format!(
        "# Security promises and their proof\n\nGenerated from `docs/assurance.toml`. Every test named here runs in `make test`.\n\n| promise | tests | cases | positive control |\n| --- | --- | --- | --- |\n{rows}"
    );
    let file = top().join("docs/assurance.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &expected).expect("docs/assurance.md");
    }
    let current = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        current, expected,
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

/// Type names that mean the same everywhere: a tool's parameters and result, and the parts of one type or module.
const GENERIC: [&str; 4] = ["Params", "Output", "Inner", "State"];

/// The most definitions of one type name; more of them mean different things.
const SAME_NAME: usize = 3;

/// The names of types that a source defines at its top level, before its tests.
fn types(path: &Path, source: &str) -> Vec<String> {
    let lines = source.lines().take(product_lines(path, source));
    lines.filter_map(type_name).collect()
}

fn type_name(line: &str) -> Option<String> {
    let rest = match line.strip_prefix("pub") {
        Some(public) => public.split_once(' ')?.1,
        None => line,
    };
    let (keyword, rest) = rest.split_once(' ')?;
    if !["struct", "enum", "trait", "type"].contains(&keyword) {
        return None;
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(rest[..end.unwrap_or(rest.len())].to_owned())
}

/// Names that are defined more often than one meaning needs.
fn overused(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let overused = counts
        .into_iter()
        .filter(|(name, count)| *count > SAME_NAME && !GENERIC.contains(&name.as_str()));
    overused
        .map(|(name, count)| format!("{name} is defined {count} times; say what each is for"))
        .collect()
}

#[test]
fn a_type_name_has_one_meaning() {
    let mut files = Vec::new();
    sources(&top().join("crates"), &mut files);
    let names = files.iter().flat_map(|(path, _)| {
        let source = fs::read_to_string(path).expect("a source");
        types(path, &source)
    });
    assert_eq!(overused(names), Vec::<String>::new());
    let planted = "pub struct Line {\npub(crate) enum Said {\ntrait Place: Sync {\ntype Way = u8;\nlet x = 1;";
    let planted = types(Path::new("crates/a/src/b.rs"), planted);
    assert_eq!(planted, ["Line", "Said", "Place", "Way"], "types are found");
    let four = overused(planted.iter().cycle().take(13).cloned());
    assert_eq!(four, ["Line is defined 4 times; say what each is for"]);
}
