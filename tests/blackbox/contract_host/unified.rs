//! `read_file`, `write_file` and `powershell`.

use std::path::Path;

use super::*;

const READ: [&str; 4] = ["content", "path", "size", "truncated"];
const READ_CUT: [&str; 5] = ["artifact_id", "content", "path", "size", "truncated"];
const WRITTEN: [&str; 4] = ["bytes_written", "mode", "path", "size"];

#[test]
fn read_file_knows_both_aliases_relative_and_absolute_paths() {
    let c = Contract::new();
    c.put("cache/a.txt", "in cache");
    c.put("cache/d/b.txt", "b");
    c.put("cache/file_state_dir2", "a name like an alias");
    c.put("state/a.txt", "in state");
    c.put("workspace/a.txt", "in workspace");
    let absolute =
        ["cache", "state", "workspace"].map(|folder| c.shown(&format!("{folder}/a.txt")));
    let table = [
        ("a.txt", "cache/a.txt", "in cache"),
        ("./d/b.txt", "cache/d/b.txt", "b"),
        ("file_cache_dir/a.txt", "cache/a.txt", "in cache"),
        ("file_cache_dir/d/b.txt", "cache/d/b.txt", "b"),
        ("file_state_dir/a.txt", "state/a.txt", "in state"),
        (
            "file_state_dir2",
            "cache/file_state_dir2",
            "a name like an alias",
        ),
        (&absolute[0], "cache/a.txt", "in cache"),
        (&absolute[1], "state/a.txt", "in state"),
        (&absolute[2], "workspace/a.txt", "in workspace"),
    ];
    for (asked, place, content) in table {
        let read = c.gives(READ_FILE, json!({ "path": asked }), &READ);
        let expect = json!({ "content": content, "path": c.shown(place), "size": content.len(), "truncated": false });
        assert_eq!(read, expect, "{asked}");
    }
}

#[test]
fn read_file_refuses_aliases_alone_and_places_outside() {
    let c = Contract::new();
    c.put("cache/a.txt", "x");
    c.put("cache/bytes.bin", b"\xff\xfe");
    c.put("cache/d/x", "x");
    c.link(c.gateway.home.outside("canary"), "cache/out");
    c.link(c.gateway.home.outside(""), "state/up");
    let beside = c.gateway.home.outside("canary").display().to_string();
    let table = [
        ("file_cache_dir", "invalid_arguments", "alone names no file"),
        ("file_state_dir", "invalid_arguments", "alone names no file"),
        ("file_cache_dir/", "invalid_arguments", "must name a file"),
        ("file_state_dir/.", "invalid_arguments", "must name a file"),
        ("", "invalid_arguments", "path"),
        ("file_cache_dir/../state/a", "invalid_arguments", "'..'"),
        ("file_cache_dir/d", "invalid_arguments", "is a directory"),
        ("file_cache_dir/missing", "not_found", "missing"),
        ("file_cache_dir//etc/passwd", "invalid_arguments", "outside"),
        ("out", "invalid_arguments", "leads outside"),
        (
            "file_state_dir/up/canary",
            "invalid_arguments",
            "leads outside",
        ),
        ("/etc/passwd", "invalid_arguments", "outside"),
        (&beside, "invalid_arguments", "outside"),
        ("../a.txt", "invalid_arguments", "'..'"),
        ("bytes.bin", "failed", "not UTF-8 text"),
    ];
    for (path, code, words) in table {
        c.refuses(READ_FILE, json!({ "path": path }), code, &[words]);
    }
    c.gives(READ_FILE, json!({ "path": "file_cache_dir/a.txt" }), &READ);
}

#[test]
fn read_file_obeys_deny_paths_and_added_roots_and_its_limit() {
    let home = Home::new();
    let extra = home.outside("extra");
    std::fs::create_dir(&extra).expect("a folder");
    std::fs::write(extra.join("a.txt"), "extra").expect("a file");
    let extra = extra
        .canonicalize()
        .expect("the folder")
        .join("a.txt")
        .display()
        .to_string();
    let config = format!(
        "[tools.read_file]\ndeny_paths = [\"config.yaml\", \"private/\", \"a/b\"]\nroots = [{:?}]\nmax_bytes = 5\n",
        home.outside("extra").display().to_string()
    );
    let c = Contract::of(Gateway::on(home.with_config(&config)));
    for (path, refused) in [
        ("config.yaml", true),
        ("x/config.yaml", true),
        ("private/x", true),
        ("a/b/c", true),
        ("config.yaml.bak", false),
        ("privately/x", false),
        ("b/a", false),
    ] {
        c.put(&format!("cache/{path}"), "1234");
        c.put(&format!("state/{path}"), "1234");
        let places = [
            path.to_owned(),
            format!("file_state_dir/{path}"),
            c.shown(&format!("cache/{path}")),
        ];
        for asked in places {
            let arguments = json!({ "path": asked });
            if refused {
                c.refuses(
                    READ_FILE,
                    arguments,
                    "forbidden",
                    &["tools.read_file.deny_paths"],
                );
            } else {
                c.gives(READ_FILE, arguments, &READ);
            }
        }
    }
    c.link("private/x", "cache/innocent");
    let said = c.gateway.call(READ_FILE, json!({ "path": "innocent" }));
    assert_eq!(
        said["code"], "forbidden",
        "a link to a denied file is denied: {said}"
    );
    c.gives(READ_FILE, json!({ "path": extra }), &READ);
    for (text, shown, cut) in [
        ("12345", "12345", false),
        ("123456", "12345", true),
        ("1234é", "1234", true),
    ] {
        c.put("cache/t", text);
        let keys = if cut { &READ_CUT[..] } else { &READ };
        let read = c.gives(READ_FILE, json!({ "path": "t" }), keys);
        let seen = (&read["content"], &read["truncated"], &read["size"]);
        assert_eq!(seen, (&json!(shown), &json!(cut), &json!(text.len())));
    }
    c.set("tools.read_file.deny_paths", json!([]));
    c.gives(READ_FILE, json!({ "path": "config.yaml" }), &READ);
}

#[test]
fn read_file_shows_256_kib_and_not_a_byte_more() {
    let c = Contract::new();
    for (size, cut) in [(262_144, false), (262_145, true)] {
        c.put("cache/t", "x".repeat(size));
        let keys = if cut { &READ_CUT[..] } else { &READ };
        let read = c.gives(READ_FILE, json!({ "path": "t" }), keys);
        if let Some(id) = read["artifact_id"].as_str() {
            let whole = c.gateway.cli(&["artifact", id]).ok();
            assert_eq!(whole.stdout.len(), size, "all of it is stored");
        }
        let seen = (
            read["content"].as_str().map(str::len),
            &read["truncated"],
            &read["size"],
        );
        assert_eq!(seen, (Some(262_144), &json!(cut), &json!(size)));
    }
}

#[test]
fn write_file_overwrites_or_appends_below_the_two_folders() {
    let c = Contract::new();
    let (cache, state) = (c.shown("cache/abs.txt"), c.shown("state/abs.txt"));
    // path, content, mode, where it is, what is there then
    let table = [
        ("a.txt", "one", None, "cache/a.txt", "one"),
        ("a.txt", "two", Some("overwrite"), "cache/a.txt", "two"),
        ("a.txt", "\r\né", Some("append"), "cache/a.txt", "two\r\né"),
        (
            "file_cache_dir/a.txt",
            "",
            Some("append"),
            "cache/a.txt",
            "two\r\né",
        ),
        ("file_cache_dir/a.txt", "", None, "cache/a.txt", ""),
        (
            "new/deep/b.txt",
            "made",
            Some("append"),
            "cache/new/deep/b.txt",
            "made",
        ),
        (
            "file_state_dir/c/d.txt",
            "kept",
            None,
            "state/c/d.txt",
            "kept",
        ),
        (&cache, "abs", None, "cache/abs.txt", "abs"),
        (&state, "abs", None, "state/abs.txt", "abs"),
    ];
    for (path, content, mode, place, expect) in table {
        let mut arguments = json!({ "path": path, "content": content });
        if let Some(mode) = mode {
            arguments["mode"] = json!(mode);
        }
        let written = c.gives(WRITE_FILE, arguments, &WRITTEN);
        let mode = mode.unwrap_or("overwrite");
        let said = json!({ "path": c.shown(place), "bytes_written": content.len(), "size": expect.len(), "mode": mode });
        assert_eq!(written, said, "{path}");
        assert_eq!(c.raw(place).as_deref(), Some(expect), "{path}");
    }
}

#[test]
fn write_file_refuses_other_places_and_more_than_its_limit() {
    let c = Contract::new();
    c.put("cache/a.txt", "12345678");
    c.put("cache/d/x", "x");
    c.put("workspace/a.txt", "mine");
    c.link(c.gateway.home.outside("canary"), "cache/out");
    c.link(c.gateway.home.outside(""), "state/up");
    let workspace = c.shown("workspace/a.txt");
    let config = c
        .gateway
        .home
        .path()
        .join("config.toml")
        .display()
        .to_string();
    for (path, words) in [
        ("file_cache_dir", "alone names no file"),
        ("file_state_dir", "alone names no file"),
        ("file_state_dir/", "must name a file"),
        ("", "path"),
        ("../a", "'..'"),
        ("/etc/x", "outside"),
        (&workspace, "outside"),
        (&config, "outside"),
        ("out", "leads outside"),
        ("file_state_dir/up/new", "leads outside"),
        ("file_cache_dir/d", "is a directory"),
    ] {
        for mode in ["overwrite", "append"] {
            let arguments = json!({ "path": path, "content": "evil", "mode": mode });
            c.refuses(WRITE_FILE, arguments, "invalid_arguments", &[words]);
        }
    }
    c.set("tools.write_file.max_bytes", json!(10));
    let long =
        |content: &str, mode: &str| json!({ "path": "a.txt", "content": content, "mode": mode });
    c.refuses(
        WRITE_FILE,
        long("12345678901", "overwrite"),
        "too_large",
        &["11", "10"],
    );
    c.refuses(
        WRITE_FILE,
        long("éééééé", "overwrite"),
        "too_large",
        &["12"],
    );
    c.refuses(
        WRITE_FILE,
        long("12345678901", "append"),
        "too_large",
        &["11", "10"],
    );
    c.refuses(
        WRITE_FILE,
        json!({ "path": "new/n.txt", "content": "12345678901" }),
        "too_large",
        &[],
    );
    c.gives(WRITE_FILE, long("90", "append"), &WRITTEN);
    assert_eq!(
        c.raw("cache/a.txt").as_deref(),
        Some("1234567890"),
        "the control"
    );
    c.set("tools.write_file.max_bytes", json!(524_288));
    c.gives(
        WRITE_FILE,
        long(&"x".repeat(524_288), "overwrite"),
        &WRITTEN,
    );
    c.refuses(
        WRITE_FILE,
        long(&"x".repeat(524_289), "overwrite"),
        "too_large",
        &["524289"],
    );
}

#[test]
fn powershell_is_off_by_default_and_reports_a_missing_install() {
    let c = Contract::new();
    assert!(
        c.tools.iter().all(|tool| tool["name"] != POWERSHELL),
        "off by default"
    );
    c.refuses(
        POWERSHELL,
        json!({ "cmd": "Write-Output hi" }),
        "unavailable",
        &["powershell"],
    );
    c.set("tools.powershell.enabled", json!(true));
    let c = Contract::of(c.gateway);
    c.refuses(
        POWERSHELL,
        json!({ "cmd": " " }),
        "invalid_arguments",
        &["cmd"],
    );
    let subtask = json!({ "cmd": "Write-Output hi", "run_in_subtask": true });
    c.refuses(
        POWERSHELL,
        subtask,
        "invalid_arguments",
        &["run_in_subtask"],
    );
    c.refuses(
        POWERSHELL,
        json!({ "cmd": "cat config.yaml" }),
        "forbidden",
        &["tools.powershell.deny_paths"],
    );
    let folders = [
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/sbin",
        "/usr/bin",
        "/sbin",
        "/bin",
    ];
    let installed = folders
        .iter()
        .any(|folder| Path::new(folder).join("pwsh").exists());
    let call = json!({ "cmd": "Write-Output hi" });
    if installed {
        let said = c.gateway.call(POWERSHELL, call);
        assert_eq!(said["result"]["stdout"], "hi\n", "{said}");
    } else {
        let said = c.refuses(
            POWERSHELL,
            call,
            "unavailable",
            &["pwsh", "not installed", "install PowerShell"],
        );
        assert!(
            said["error"]
                .as_str()
                .is_some_and(|error| error.contains("tools.powershell.enabled"))
        );
    }
}
