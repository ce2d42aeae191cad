//! `tool::file_list`.

use super::*;

const LISTED: [&str; 2] = ["entries", "path"];

fn names(listed: &Value) -> Vec<&str> {
    let entries = listed["entries"].as_array().expect("entries");
    entries
        .iter()
        .map(|entry| entry["name"].as_str().expect("a name"))
        .collect()
}

#[test]
fn each_entry_has_name_type_size_and_time() {
    let c = Contract::new();
    c.put("workspace/b.txt", "four");
    c.put("workspace/.hidden", "");
    c.put("workspace/a/x", "x");
    let listed = c.gives(FILE_LIST, json!({ "path": "." }), &LISTED);
    assert_eq!(listed["path"], c.shown("workspace"));
    for entry in listed["entries"].as_array().expect("entries") {
        assert_eq!(
            keys_of(entry),
            BTreeSet::from(["modified", "name", "size", "type"])
        );
        let modified = entry["modified"].as_str().expect("a time");
        assert!(
            modified.ends_with('Z') && modified.as_bytes()[10] == b'T',
            "ISO: {modified}"
        );
    }
    let entries = listed["entries"].as_array().expect("entries").iter();
    let seen: Vec<_> = entries
        .map(|e| (&e["name"], &e["type"], &e["size"]))
        .collect();
    let (directory, file) = (json!("directory"), json!("file"));
    let expect = [
        (&json!(".hidden"), &file, &json!(0)),
        (&json!("a"), &directory, &json!(0)),
        (&json!("b.txt"), &file, &json!(4)),
    ];
    assert_eq!(seen, expect);
}

#[test]
fn a_listing_is_sorted_and_recursive_goes_all_the_way_down() {
    let c = Contract::new();
    for path in [
        "b.txt",
        "a/x.txt",
        "a/deep/y.txt",
        "c/.hidden",
        ".git/config",
        "node_modules/m/i.js",
    ] {
        c.put(&format!("workspace/{path}"), "1");
    }
    c.put("workspace/.gitignore", "b.txt\nnode_modules\n");
    std::fs::create_dir(c.at("workspace/empty")).expect("a folder");
    let top = [
        ".git",
        ".gitignore",
        "a",
        "b.txt",
        "c",
        "empty",
        "node_modules",
    ];
    for (arguments, expect) in [
        (json!({ "path": "." }), &top[..]),
        (json!({ "path": "" }), &top),
        (json!({ "path": ".", "recursive": false }), &top),
        (json!({ "path": ".", "recursive": null }), &top),
        (json!({ "path": c.shown("workspace") }), &top),
        (json!({ "path": "a" }), &["deep", "x.txt"]),
        (json!({ "path": "a/" }), &["deep", "x.txt"]),
        (json!({ "path": "empty" }), &[]),
        (json!({ "path": "empty", "recursive": true }), &[]),
        (
            json!({ "path": "a", "recursive": true }),
            &["deep", "x.txt", "deep/y.txt"],
        ),
    ] {
        let listed = c.gives(FILE_LIST, arguments.clone(), &LISTED);
        assert_eq!(names(&listed), expect, "{arguments}");
    }
    let all = c.gives(
        FILE_LIST,
        json!({ "path": ".", "recursive": true }),
        &LISTED,
    );
    let below = [
        ".git/config",
        "a/deep",
        "a/x.txt",
        "a/deep/y.txt",
        "c/.hidden",
        "node_modules/m",
        "node_modules/m/i.js",
    ];
    let expect: Vec<&str> = top.iter().chain(&below).copied().collect();
    assert_eq!(
        names(&all),
        expect,
        "hidden and ignored included, each folder after its parent"
    );
}

#[test]
fn links_are_named_and_not_entered_and_what_leads_nowhere_is_counted() {
    let c = Contract::new();
    c.put("workspace/d/x", "x");
    c.link("d", "workspace/to-dir");
    c.link("d/x", "workspace/to-file");
    c.link("..", "workspace/d/loop");
    let listed = c.gives(
        FILE_LIST,
        json!({ "path": ".", "recursive": true }),
        &LISTED,
    );
    assert_eq!(names(&listed), ["d", "to-dir", "to-file", "d/loop", "d/x"]);
    c.link(c.gateway.home.outside("canary"), "workspace/out");
    c.link("../..", "workspace/up");
    c.link("nowhere", "workspace/dangling");
    let keys = ["entries", "path", "skipped"];
    let listed = c.gives(FILE_LIST, json!({ "path": ".", "recursive": true }), &keys);
    assert_eq!(listed["skipped"], 3, "{listed}");
    assert!(!listed.to_string().contains("canary"), "{listed}");
    for (path, code, words) in [
        ("up", "invalid_arguments", "leads outside"),
        ("d/x", "invalid_arguments", "directory"),
        ("missing", "not_found", "missing"),
        ("..", "invalid_arguments", "'..'"),
        ("/", "invalid_arguments", "outside"),
        ("/etc", "invalid_arguments", "outside"),
    ] {
        for recursive in [false, true] {
            let arguments = json!({ "path": path, "recursive": recursive });
            c.refuses(FILE_LIST, arguments, code, &[words]);
        }
    }
}

#[test]
fn a_listing_stops_at_the_owners_limit_and_says_so() {
    let c = Contract::new();
    c.set("tools.file_list.max_entries", json!(5));
    for n in 0..3 {
        c.put(&format!("workspace/d/{n}"), "x");
    }
    c.put("workspace/e", "x");
    let exactly = c.gives(
        FILE_LIST,
        json!({ "path": ".", "recursive": true }),
        &LISTED,
    );
    assert_eq!(names(&exactly).len(), 5, "as many as allowed is not cut");
    c.put("workspace/f", "x");
    let keys = ["entries", "path", "total", "truncated"];
    let cut = c.gives(FILE_LIST, json!({ "path": ".", "recursive": true }), &keys);
    assert_eq!(
        (names(&cut), &cut["truncated"], &cut["total"]),
        (vec!["d", "e", "f", "d/0", "d/1"], &json!(true), &json!(6))
    );
    c.set("tools.file_list.max_entries", json!(6));
    c.gives(
        FILE_LIST,
        json!({ "path": ".", "recursive": true }),
        &LISTED,
    );
}
