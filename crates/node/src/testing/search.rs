//! What `Glob` and `Grep` must do.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::Case;

pub(super) fn prepare(workspace: &Path) -> io::Result<()> {
    let tree = workspace.join("tree");
    fs::create_dir_all(tree.join("src/deep"))?;
    let files = [
        ("old.rs", "fn needle() {}\nlet hay = 1;\n", 100),
        ("src/new.rs", "one\nneedle two\nthree\n", 300),
        ("src/deep/middle.md", "a needle in markdown\n", 200),
        ("src/other.ts", "needle of another kind\n", 50),
    ];
    for (name, text, second) in files {
        fs::write(tree.join(name), text)?;
        let file = File::options().write(true).open(tree.join(name))?;
        file.set_modified(UNIX_EPOCH + Duration::from_secs(second))?;
    }
    fs::write(tree.join(".ignore"), "ignored.log\n")?;
    fs::write(tree.join("ignored.log"), "needle that is ignored\n")?;
    fs::write(tree.join("binary.dat"), b"needle\0needle\n\xff")?;
    let bulk = workspace.join("bulk");
    fs::create_dir_all(&bulk)?;
    fs::write(bulk.join("hundred.txt"), "straw\n".repeat(100))?;
    fs::write(bulk.join("more.txt"), "thread\n".repeat(101))?;
    fs::write(bulk.join("wide.txt"), format!("wide {}\n", "ä".repeat(400)))?;
    let linked = workspace.join("linked");
    fs::create_dir_all(linked.join("real"))?;
    fs::create_dir_all(workspace.join("beside"))?;
    fs::write(linked.join("real/f.txt"), "pearl\n")?;
    fs::write(workspace.join("beside/g.txt"), "pearl\n")?;
    symlink("real", linked.join("inside"))?;
    symlink("../beside", linked.join("outside"))
}

pub(super) fn cases(workspace: &Path) -> Vec<Case> {
    let mut cases = globs(workspace);
    cases.extend(glob_refusals());
    cases.extend(greps(workspace));
    cases.extend(grep_bounds());
    cases.extend(grep_refusals());
    cases
}

fn glob(name: &'static str, args: Value, result: Value) -> Case {
    Case::returns("Glob", name, args, result)
}

fn globs(workspace: &Path) -> Vec<Case> {
    let tree = workspace.join("tree");
    let at = |name: &str| tree.join(name);
    vec![
        glob(
            "matches come newest first, with all fields of the text",
            json!({ "pattern": "**/*.{rs,md,ts}", "path": "tree" }),
            json!({
                "pattern": "**/*.{rs,md,ts}", "basePath": tree,
                "matches": [
                    at("src/new.rs"), at("src/deep/middle.md"), at("old.rs"), at("src/other.ts"),
                ],
                "count": 4, "$only": true,
            }),
        ),
        glob(
            "a star stays within one name",
            json!({ "pattern": "*.rs", "path": "tree" }),
            json!({ "matches": [at("old.rs")], "count": 1 }),
        ),
        glob(
            "a path may lead down",
            json!({ "pattern": "src/*.rs", "path": tree }),
            json!({ "matches": [at("src/new.rs")] }),
        ),
        glob(
            "without a path the workspace is searched",
            json!({ "pattern": "tree/src/deep/*" }),
            json!({ "basePath": workspace, "matches": [at("src/deep/middle.md")] }),
        ),
        glob(
            "nothing may match",
            json!({ "pattern": "**/*.zig" }),
            json!({ "matches": [], "count": 0 }),
        ),
        glob(
            "what is ignored is not found",
            json!({ "pattern": "*.log", "path": "tree" }),
            json!({ "count": 0 }),
        ),
        glob(
            "unless told",
            json!({ "pattern": "*.log", "path": "tree", "noIgnore": true }),
            json!({ "matches": [at("ignored.log")], "count": 1 }),
        ),
    ]
}

fn glob_refusals() -> Vec<Case> {
    let fails = |name, args, parts: &[&'static str]| Case::fails("Glob", name, args, parts);
    vec![
        fails("a pattern is needed", json!({}), &["pattern"]),
        fails(
            "an empty pattern is none",
            json!({ "pattern": "" }),
            &["pattern"],
        ),
        fails(
            "a pattern must make sense",
            json!({ "pattern": "a{b" }),
            &["pattern"],
        ),
        fails(
            "a directory must be there",
            json!({ "pattern": "*", "path": "nothing" }),
            &["no such file or directory"],
        ),
        fails(
            "a file is no directory",
            json!({ "pattern": "*", "path": "three.txt" }),
            &["three.txt", "directory"],
        ),
        fails(
            "an unknown parameter is named",
            json!({ "pattern": "*", "glob": "x" }),
            &["glob"],
        ),
    ]
}

fn grep(name: &'static str, args: Value, result: Value) -> Case {
    Case::returns("Grep", name, args, result)
}

fn greps(workspace: &Path) -> Vec<Case> {
    let tree = workspace.join("tree");
    let at = |name: &str| tree.join(name);
    vec![
        grep(
            "matches come by path and line, with all fields of the text",
            json!({ "pattern": "needle", "path": "tree" }),
            json!({
                "pattern": "needle", "basePath": tree,
                "matches": [
                    { "path": at("old.rs"), "line": 1, "content": "fn needle() {}", "$only": true },
                    { "path": at("src/deep/middle.md"), "line": 1 },
                    { "path": at("src/new.rs"), "line": 2, "content": "needle two" },
                    { "path": at("src/other.ts"), "line": 1 },
                ],
                "count": 4, "$only": true,
            }),
        ),
        grep(
            "a pattern is a regular expression",
            json!({ "pattern": r"^(one|thr.{2})$", "path": tree }),
            json!({ "matches": [{ "line": 1 }, { "line": 3 }], "count": 2 }),
        ),
        grep(
            "only names that fit are searched",
            json!({ "pattern": "needle", "path": "tree", "include": "*.md" }),
            json!({ "matches": [{ "path": at("src/deep/middle.md") }], "count": 1 }),
        ),
        grep(
            "of several kinds",
            json!({ "pattern": "needle", "path": "tree", "include": "*.{rs,ts}" }),
            json!({ "count": 3 }),
        ),
        grep(
            "a single file can be searched",
            json!({ "pattern": "hay", "path": "tree/old.rs" }),
            json!({ "matches": [{ "line": 2, "content": "let hay = 1;" }], "count": 1 }),
        ),
        grep(
            "without a path the workspace is searched",
            json!({ "pattern": "in markdown$" }),
            json!({ "basePath": workspace, "count": 1 }),
        ),
        grep(
            "nothing may match",
            json!({ "pattern": "no such words anywhere" }),
            json!({ "matches": [], "count": 0, "truncated": "$absent" }),
        ),
        grep(
            "lines around a match are given when asked for",
            json!({ "pattern": "needle two", "path": "tree", "context": 1 }),
            json!({ "matches": [{ "line": 2, "before": ["one"], "after": ["three"] }] }),
        ),
        grep(
            "what is ignored is searched when told",
            json!({ "pattern": "is ignored", "path": "tree", "noIgnore": true }),
            json!({ "matches": [{ "path": at("ignored.log") }] }),
        ),
        grep(
            "links inside are followed",
            json!({ "pattern": "pearl", "path": "linked" }),
            json!({ "count": 2 }),
        ),
        grep(
            "and those that lead out when told",
            json!({ "pattern": "pearl", "path": "linked", "followLinks": true }),
            json!({ "count": 3 }),
        ),
    ]
}

fn grep_bounds() -> Vec<Case> {
    vec![
        grep(
            "a hundred matches are counted",
            json!({ "pattern": "straw", "path": "bulk" }),
            json!({ "count": 100, "truncated": "$absent" }),
        ),
        grep(
            "more are cut, and not counted",
            json!({ "pattern": "thread", "path": "bulk" }),
            json!({ "truncated": true, "count": "$absent" }),
        ),
        grep(
            "unless more are asked for",
            json!({ "pattern": "thread", "path": "bulk", "limit": 101 }),
            json!({ "count": 101, "truncated": "$absent" }),
        ),
        grep(
            "or fewer",
            json!({ "pattern": "thread", "path": "bulk", "limit": 1 }),
            json!({ "matches": [{ "line": 1, "content": "thread" }], "truncated": true }),
        ),
        grep(
            "a long line is cut to 200 characters",
            json!({ "pattern": "^wide", "path": "bulk" }),
            json!({ "matches": [{ "content": "$chars 200" }], "count": 1 }),
        ),
    ]
}

fn grep_refusals() -> Vec<Case> {
    let fails = |name, args, parts: &[&'static str]| Case::fails("Grep", name, args, parts);
    vec![
        fails(
            "a pattern is needed",
            json!({ "path": "tree" }),
            &["pattern"],
        ),
        fails(
            "a pattern must make sense",
            json!({ "pattern": "a(b" }),
            &["pattern"],
        ),
        fails(
            "include is about names",
            json!({ "pattern": "x", "include": "src/*.rs" }),
            &["include", "names"],
        ),
        fails(
            "include must make sense",
            json!({ "pattern": "x", "include": "*.{rs" }),
            &["include"],
        ),
        fails(
            "a place must be there",
            json!({ "pattern": "x", "path": "nothing" }),
            &["no such file or directory"],
        ),
        fails(
            "no matches are too few",
            json!({ "pattern": "x", "limit": 0 }),
            &["limit"],
        ),
        fails(
            "a thousand are the most",
            json!({ "pattern": "x", "limit": 1_001 }),
            &["limit"],
        ),
        fails(
            "context is bounded",
            json!({ "pattern": "x", "context": 21 }),
            &["context"],
        ),
        fails(
            "an unknown parameter is named",
            json!({ "pattern": "x", "caseSensitive": true }),
            &["caseSensitive"],
        ),
    ]
}
