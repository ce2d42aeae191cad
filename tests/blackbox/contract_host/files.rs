//! `tool::file_read` and `tool::file_write`.

use std::os::unix::fs::PermissionsExt;

use super::*;

const READ: [&str; 3] = ["content", "path", "size"];
/// `truncated` is our addition, there only when it applies.
const READ_CUT: [&str; 4] = ["content", "path", "size", "truncated"];
const WRITTEN: [&str; 3] = ["path", "size", "written"];

#[test]
fn file_read_gives_the_text_the_resolved_path_and_the_whole_size() {
    let c = Contract::new();
    let table = [
        ("src/config.ts", "export {}\n"),
        ("crlf.txt", "a\r\nb"),
        ("empty.txt", ""),
        ("ümläut 日本.txt", "é日🙂"),
        ("a..b", "dots"),
        ("-rf", "dash"),
        (".hidden/x", "hidden"),
        ("nul.txt", "a\0b"),
    ];
    for (path, content) in table {
        c.put(&format!("workspace/{path}"), content);
        let shown = c.shown(&format!("workspace/{path}"));
        let expect = json!({ "content": content, "path": shown, "size": content.len() });
        for asked in [path.to_owned(), format!("./{path}"), shown.clone()] {
            let read = c.gives(FILE_READ, json!({ "path": asked }), &READ);
            assert_eq!(read, expect, "{asked}");
        }
    }
    c.link("src/config.ts", "workspace/inside");
    let read = c.gives(FILE_READ, json!({ "path": "inside" }), &READ);
    assert_eq!(
        read["content"], "export {}\n",
        "a link that stays inside is followed"
    );
}

#[test]
fn file_read_cuts_at_bytes_between_characters_and_says_so() {
    let c = Contract::new();
    c.put("workspace/a.txt", "aé日🙂z");
    // maxBytes, what is shown of "a" (1) "é" (2) "日" (3) "🙂" (4) "z" (1)
    let table = [
        (0, ""),
        (1, "a"),
        (2, "a"),
        (3, "aé"),
        (5, "aé"),
        (6, "aé日"),
        (9, "aé日"),
        (10, "aé日🙂"),
        (11, "aé日🙂z"),
        (12, "aé日🙂z"),
        (u64::MAX, "aé日🙂z"),
    ];
    for (limit, shown) in table {
        let whole = shown.ends_with('z');
        let keys: &[&str] = if whole { &READ } else { &READ_CUT };
        let read = c.gives(
            FILE_READ,
            json!({ "path": "a.txt", "maxBytes": limit }),
            keys,
        );
        assert_eq!(
            (&read["content"], &read["size"]),
            (&json!(shown), &json!(11)),
            "{limit}"
        );
        assert_eq!(
            read.get("truncated"),
            (!whole).then_some(&json!(true)),
            "{limit}"
        );
    }
    for limit in [json!(-1), json!(1.5), json!("10")] {
        let arguments = json!({ "path": "a.txt", "maxBytes": limit });
        c.refuses(FILE_READ, arguments, "invalid_arguments", &["maxBytes"]);
    }
}

#[test]
fn the_owners_limit_is_a_ceiling_for_max_bytes() {
    let c = Contract::with_config("[limits]\nartifact_bytes = 1000\n");
    c.put("workspace/a.txt", "x".repeat(1_500));
    for (limit, shown) in [(json!(null), 1_000), (json!(5_000), 1_000), (json!(10), 10)] {
        let arguments = json!({ "path": "a.txt", "maxBytes": limit });
        let read = c.gives(FILE_READ, arguments, &READ_CUT);
        let length = read["content"].as_str().map(str::len);
        assert_eq!(
            (length, &read["size"]),
            (Some(shown), &json!(1_500)),
            "{limit}"
        );
    }
}

#[test]
fn file_read_refuses_what_is_outside_or_no_text() {
    let c = Contract::new();
    c.put("workspace/fine.txt", "fine");
    c.put("workspace/bytes.bin", b"\x7fELF\xff\xfe\x00");
    c.put("workspace/dir/x", "x");
    c.put("cache/cached.txt", "cached");
    c.link(c.gateway.home.outside("canary"), "workspace/out");
    c.link("../../..", "workspace/up");
    c.link("nowhere", "workspace/dangling");
    let sibling = format!("{}2/x", c.shown("workspace"));
    let climbing = format!("{}/../../../canary", c.shown("workspace"));
    let cached = c.shown("cache/cached.txt");
    let token = c
        .gateway
        .home
        .path()
        .join("owner.token")
        .display()
        .to_string();
    let table = [
        ("missing.txt", "not_found", "missing.txt"),
        ("dangling", "not_found", "dangling"),
        ("dir", "invalid_arguments", "is a directory"),
        (".", "invalid_arguments", "is a directory"),
        ("", "invalid_arguments", "path"),
        ("fine.txt/x", "invalid_arguments", "directory"),
        ("../canary", "invalid_arguments", "'..'"),
        ("dir/../fine.txt", "invalid_arguments", "'..'"),
        ("/etc/passwd", "invalid_arguments", "outside"),
        ("~/x", "not_found", "~/x"),
        ("a\0b", "invalid_arguments", "control character"),
        ("out", "invalid_arguments", "leads outside"),
        ("up/canary", "invalid_arguments", "leads outside"),
        ("up/home/owner.token", "invalid_arguments", "leads outside"),
        (&sibling, "invalid_arguments", "outside"),
        (&climbing, "invalid_arguments", "outside"),
        (&cached, "invalid_arguments", "outside"),
        (&token, "invalid_arguments", "outside"),
        ("file_cache_dir/cached.txt", "not_found", "no such file"),
    ];
    for (path, code, words) in table {
        let said = c.refuses(FILE_READ, json!({ "path": path }), code, &[words]);
        assert!(!said.to_string().contains("mh_"), "{said}");
    }
    let said = c.refuses(
        FILE_READ,
        json!({ "path": "bytes.bin" }),
        "failed",
        &["bytes.bin", "not UTF-8 text"],
    );
    assert!(
        said["error"]
            .as_str()
            .is_some_and(|error| error.contains("7 bytes")),
        "{said}"
    );
    c.gives(FILE_READ, json!({ "path": "fine.txt" }), &READ);
}

#[test]
fn file_write_writes_whole_files_and_counts_bytes() {
    let c = Contract::new();
    let table = [
        ("output/deep/result.json", "{}\n"),
        ("output/deep/result.json", ""),
        ("a.txt", "é日🙂\r\n$& \\1"),
        ("a.txt", "shorter"),
        ("a..b", "x"),
    ];
    for (path, content) in table {
        let shown = c.shown(&format!("workspace/{path}"));
        let expect = json!({ "written": true, "path": shown, "size": content.len() });
        let written = c.gives(
            FILE_WRITE,
            json!({ "path": path, "content": content }),
            &WRITTEN,
        );
        assert_eq!(written, expect);
        assert_eq!(
            c.raw(&format!("workspace/{path}")).as_deref(),
            Some(content),
            "{path}"
        );
    }
    let absolute = c.shown("workspace/abs.txt");
    c.gives(
        FILE_WRITE,
        json!({ "path": absolute, "content": "x" }),
        &WRITTEN,
    );
    assert_eq!(
        c.raw("workspace/abs.txt").as_deref(),
        Some("x"),
        "absolute and inside"
    );
    let script = c.at("workspace/run.sh");
    c.put("workspace/run.sh", "old");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).expect("a mode");
    c.gives(
        FILE_WRITE,
        json!({ "path": "run.sh", "content": "new" }),
        &WRITTEN,
    );
    let mode = script.metadata().expect("the file").permissions().mode() & 0o777;
    assert_eq!(mode, 0o750, "mode bits are kept");
}

#[test]
fn file_write_refuses_what_is_outside_or_no_file() {
    let c = Contract::new();
    c.put("workspace/fine.txt", "fine");
    c.put("workspace/dir/x", "x");
    c.link(c.gateway.home.outside(""), "workspace/up");
    c.link(c.gateway.home.outside("canary"), "workspace/out");
    c.link(c.gateway.home.outside("new"), "workspace/to-new");
    let config = c
        .gateway
        .home
        .path()
        .join("config.toml")
        .display()
        .to_string();
    let table = [
        ("", "invalid_arguments", "path"),
        (".", "invalid_arguments", "must name a file"),
        ("dir/", "invalid_arguments", "must name a file"),
        ("dir", "invalid_arguments", "is a directory"),
        ("fine.txt/x", "invalid_arguments", "directory"),
        ("../x", "invalid_arguments", "'..'"),
        ("/etc/x", "invalid_arguments", "outside"),
        (&config, "invalid_arguments", "outside"),
        ("up/x", "invalid_arguments", "leads outside"),
        ("up/canary", "invalid_arguments", "leads outside"),
        ("out", "invalid_arguments", "leads outside"),
        ("to-new", "invalid_arguments", "leads outside"),
        ("a\nb", "invalid_arguments", "control character"),
    ];
    for (path, code, words) in table {
        c.refuses(
            FILE_WRITE,
            json!({ "path": path, "content": "evil" }),
            code,
            &[words],
        );
    }
    c.gives(
        FILE_WRITE,
        json!({ "path": "fine.txt", "content": "new" }),
        &WRITTEN,
    );
    assert_eq!(
        c.raw("workspace/fine.txt").as_deref(),
        Some("new"),
        "the control"
    );
}

#[test]
fn a_result_too_large_to_show_keeps_its_shape_and_is_kept_whole() {
    let c = Contract::with_config("[limits]\nresult_bytes = 5000\n");
    let text = "line of text\n".repeat(2_000);
    c.put("workspace/big.txt", &text);
    let keys = [
        "artifactId",
        "content",
        "fullSize",
        "path",
        "size",
        "truncated",
    ];
    let read = c.gives(FILE_READ, json!({ "path": "big.txt" }), &keys);
    assert_eq!(
        (&read["size"], &read["truncated"]),
        (&json!(26_000), &json!(true))
    );
    let shown = read["content"].as_str().expect("text");
    assert!(
        shown.starts_with("line of text\nline of text\n") && shown.ends_with("line of text\n"),
        "both ends of it"
    );
    assert_eq!(read["fullSize"], 26_000);
    let whole = c
        .gateway
        .cli(&["artifact", read["artifactId"].as_str().expect("an id")])
        .ok();
    assert_eq!(whole.stdout, text, "the whole of it is there, as text");
}
