//! Artifacts as the spec text writes them: written, read in every mode, listed, and whose they are.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::contract_web::Web;
use crate::harness::{Gateway, Home, eventually};
use crate::http::Request;
use crate::origin::Reply;

const WRITE: &str = "gateway_write_artifact";
const READ: &str = "gateway_read_artifact";
const LIST: &str = "gateway_list_artifacts";
const KEPT: [&str; 7] = [
    "id",
    "url",
    "urlExpires",
    "filename",
    "mimeType",
    "size",
    "chatId",
];

fn web(settings: &str) -> Web {
    Web::new(settings, |_| Reply::text("well"))
}

/// Writes a file into a chat of its own: its id and the chat's.
#[track_caller]
fn put(gateway: &Gateway, name: &str, content: &str) -> (String, String) {
    let kind = name.rsplit('.').next().expect("an extension");
    let said = gateway.call(
        WRITE,
        json!({ "filename": name, "content": content, "fileType": kind }),
    );
    let text = |key: &str| {
        said["result"][key]
            .as_str()
            .unwrap_or_else(|| panic!("{said}"))
            .to_owned()
    };
    (text("id"), text("chatId"))
}

/// The files that hold the bytes of artifacts.
fn blobs(gateway: &Gateway) -> usize {
    std::fs::read_dir(gateway.home.blob("artifacts")).map_or(0, Iterator::count)
}

/// The resident memory of a process in bytes.
#[track_caller]
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("its memory") * 1024
}

#[test]
fn every_type_is_written_with_its_media_type_and_found_again() {
    let web = web("");
    let mut chat = None;
    for (name, kind, mime) in [
        ("a.csv", "csv", "text/csv"),
        ("a.json", "json", "application/json"),
        ("a.txt", "txt", "text/plain"),
        ("ü ö.md", "md", "text/markdown"),
        ("a.html", "html", "text/html"),
        ("a.js", "js", "text/javascript"),
        ("a.ts", "ts", "text/typescript"),
        ("a.py", ".PY", "text/x-python"),
    ] {
        let mut new = json!({ "filename": name, "content": "x,ü\n", "fileType": kind });
        if let Some(chat) = &chat {
            new["chatId"] = json!(chat);
        }
        let kept = web.gives(WRITE, new, &KEPT);
        assert_eq!(
            (&kept["mimeType"], &kept["filename"], &kept["size"]),
            (&json!(mime), &json!(name), &json!(5))
        );
        let same = chat.get_or_insert_with(|| kept["chatId"].as_str().expect("a chat").to_owned());
        assert_eq!(&kept["chatId"], &json!(same));
    }
    let chat = chat.expect("a chat");
    let listed = |more: Value| {
        let mut asked = json!({ "chatId": chat });
        asked
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        let found = web.gives(LIST, asked, &["chatId", "files", "truncated"]);
        let names = found["files"].as_array().expect("files").iter();
        names
            .map(|file| file["filename"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(json!({})).len(), 8);
    assert_eq!(listed(json!({}))[0], "a.py", "the newest first");
    assert_eq!(listed(json!({ "filter_type": "application/" })), ["a.json"]);
    assert_eq!(listed(json!({ "filter_name": "Ü" })), ["ü ö.md"]);
    assert_eq!(
        listed(json!({ "filter_name": "a.", "filter_type": "text/h" })),
        ["a.html"]
    );
    assert_eq!(listed(json!({ "filter_name": "%" })), Vec::<String>::new());
    assert_eq!(blobs(&web.gateway), 1, "equal bytes are kept once");
}

#[test]
fn wrong_names_types_and_chats_are_refused_and_leave_nothing() {
    let web = web("");
    let new =
        |name: &str, kind: &str| json!({ "filename": name, "content": "x", "fileType": kind });
    for (asked, words) in [
        (
            new("a.exe", "exe"),
            "fileType: must be one of csv, json, txt, md",
        ),
        (
            new("a.json", "csv"),
            "filename: ends in .json, but fileType is csv",
        ),
        (new("a", "csv"), "filename: must end in .csv"),
        (
            new("../a.csv", "csv"),
            "filename: must be a name without a folder",
        ),
        (
            new("a\\b.csv", "csv"),
            "filename: must be a name without a folder",
        ),
        (
            new("a\n.csv", "csv"),
            "filename: must have no control characters",
        ),
        (
            new("x\u{202e}vsc.csv", "csv"),
            "filename: must have no control characters",
        ),
        (
            new(&format!("{}.csv", "x".repeat(300)), "csv"),
            "filename: must have 1 to 200 bytes",
        ),
        (
            json!({ "filename": "a.csv", "fileType": "csv" }),
            "content: is required",
        ),
        (
            json!({ "filename": "a.csv", "fileType": "csv", "content": "x", "agentId": "No Agent" }),
            "agentId: ",
        ),
        (
            json!({ "filename": "a.csv", "fileType": "csv", "content": "x", "chatId": "results" }),
            "chatId: ",
        ),
        (
            json!({ "filename": "a.csv", "fileType": "csv", "content": "x", "y": 1 }),
            "y: ",
        ),
    ] {
        web.refuses(WRITE, asked, "invalid_arguments", &[words]);
    }
    for chat in [
        "nothing",
        "0192f0c1-2b3c-7abc-8def-0123456789ab",
        "' OR 1=1 --",
    ] {
        let mut asked = new("a.csv", "csv");
        asked["chatId"] = json!(chat);
        web.refuses(WRITE, asked, "not_found", &["there is no chat"]);
        web.refuses(
            LIST,
            json!({ "chatId": chat }),
            "not_found",
            &["there is no chat"],
        );
    }
    assert_eq!(blobs(&web.gateway), 0);
    let listed = web.gateway.get("/api/artifacts").json();
    assert_eq!(listed["result"]["artifacts"], json!([]));
    web.gives(WRITE, new("a.csv", "csv"), &KEPT);
}

#[test]
fn each_mode_reads_as_documented_and_two_at_once_are_refused() {
    let web = web("");
    let text: String = (1..=50).map(|n| format!("line {n}\n")).collect();
    let (id, chat) = put(&web.gateway, "a.txt", &text);
    let keys = [
        "content",
        "totalSize",
        "hasMore",
        "mode",
        "filename",
        "mimeType",
    ];
    let with_more = [
        "content",
        "totalSize",
        "hasMore",
        "nextOffset",
        "mode",
        "filename",
        "mimeType",
    ];
    let asked = |more: Value| {
        let mut asked = json!({ "file_id": id, "chatId": chat });
        asked
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        asked
    };
    for (more, mode, content) in [
        (
            json!({ "start_line": 2, "end_line": 3 }),
            "lines",
            "line 2\nline 3\n",
        ),
        (json!({ "start_line": 50 }), "lines", "line 50\n"),
        (
            json!({ "search": "LINE 50" }),
            "search",
            "48-line 48\n49-line 49\n50:line 50\n",
        ),
        (
            json!({ "search": "line 7", "context_lines": 0 }),
            "search",
            "7:line 7\n",
        ),
        (
            json!({ "search": "line 77" }),
            "search",
            "no line matches \"line 77\" (50 lines searched)\n",
        ),
        (json!({}), "raw", text.as_str()),
    ] {
        let read = web.gives(READ, asked(more), &keys);
        assert_eq!(
            (&read["mode"], &read["content"]),
            (&json!(mode), &json!(content))
        );
        assert_eq!(
            (&read["totalSize"], &read["hasMore"]),
            (&json!(text.len()), &json!(false))
        );
    }
    let read = web.gives(READ, asked(json!({ "limit": 10 })), &with_more);
    assert_eq!(
        (&read["content"], &read["nextOffset"]),
        (&json!("line 1\nlin"), &json!(10))
    );
    let rest = web.gives(READ, asked(json!({ "offset": 10 })), &keys);
    assert_eq!(rest["content"], &text[10..]);
    for (more, words) in [
        (
            json!({ "search": "x", "json_path": "a" }),
            "search: cannot be used together with json_path",
        ),
        (
            json!({ "smartGrepQuery": "x", "start_line": 1 }),
            "smartGrepQuery: cannot be used together with start_line",
        ),
        (
            json!({ "end_line": 1, "array_indices": "0" }),
            "end_line: cannot be used together with array_indices",
        ),
        (
            json!({ "search": "x", "json_path": "a", "array_indices": "0" }),
            "search: cannot be used together with json_path",
        ),
        (
            json!({ "context_lines": 1 }),
            "context_lines: can only be used together with search",
        ),
        (json!({ "start_line": 0 }), "start_line: "),
        (
            json!({ "start_line": 9, "end_line": 3 }),
            "end_line: must not be before start_line",
        ),
        (
            json!({ "start_line": 99 }),
            "start_line: there are 50 lines",
        ),
        (
            json!({ "offset": 100_000 }),
            "offset: is past the end: there are",
        ),
        (json!({ "limit": 0 }), "limit: "),
        (json!({ "limit": 100_001 }), "limit: "),
        (json!({ "search": "" }), "search: "),
        (
            json!({ "context_lines": 51, "search": "x" }),
            "context_lines: ",
        ),
    ] {
        web.refuses(READ, asked(more), "invalid_arguments", &[words]);
    }
    web.refuses(
        READ,
        asked(json!({ "json_path": "a" })),
        "failed",
        &["is not JSON"],
    );
    let smart = asked(json!({ "smartGrepQuery": "all names" }));
    web.refuses(
        READ,
        smart,
        "unavailable",
        &["smartGrepQuery needs a model", "models.default"],
    );
    let (id, chat) = put(
        &web.gateway,
        "d.json",
        r#"{"data":{"items":[{"n":1},{"n":2}]}}"#,
    );
    let path = |path: &str| {
        let asked = json!({ "file_id": id, "chatId": chat, "json_path": path });
        let read = web.gives(READ, asked, &keys);
        serde_json::from_str::<Value>(read["content"].as_str().expect("text")).expect("JSON")
    };
    assert_eq!(path("data.items[1].n"), json!(2));
    assert_eq!(path("data.items.0"), json!({ "n": 1 }));
    let both = |path: &str, indices: &str| json!({ "file_id": id, "chatId": chat, "json_path": path, "array_indices": indices });
    let read = web.gives(READ, both("data.items", "1"), &keys);
    assert_eq!(
        (&read["content"], &read["mode"]),
        (&json!("[\n  {\n    \"n\": 2\n  }\n]"), &json!("json_path"))
    );
    for (asked, words) in [
        (
            both("data.items", "2"),
            "array_indices: there is no element 2: the list has 2",
        ),
        (both("data", "0"), "array_indices: needs a list"),
        (both("data.items", "x"), "array_indices: must be indices"),
    ] {
        web.refuses(READ, asked, "invalid_arguments", &[words]);
    }
    assert_eq!(path("$.data.items[?@.n > 1]"), json!([{ "n": 2 }]));
    let (id, chat) = put(&web.gateway, "l.json", "[10,11,12,13]");
    let read = web.gives(
        READ,
        json!({ "file_id": id, "chatId": chat, "array_indices": "0,2-9" }),
        &keys,
    );
    assert_eq!(
        read["content"]
            .as_str()
            .expect("text")
            .replace(['\n', ' '], ""),
        "[10,12,13]"
    );
    assert_eq!(read["mode"], "array_indices");
}

#[test]
fn a_model_extracts_what_is_asked_for() {
    let home = Home::new();
    let script = home.outside("script.yaml");
    let turns = "turns:\n  - when: { user: 'Request: all names' }\n    text: Ann and Bob\n";
    std::fs::write(&script, turns).expect("a script");
    let gateway = Gateway::on(home.with_config(&format!(
        "models.default = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {:?}\n",
        script.display()
    )));
    let (id, chat) = put(&gateway, "a.txt", "Ann met Bob.");
    let asked = json!({ "file_id": id, "chatId": chat, "smartGrepQuery": "all names" });
    let said = gateway.call(READ, asked.clone());
    assert_eq!(
        (&said["result"]["content"], &said["result"]["mode"]),
        (&json!("Ann and Bob"), &json!("smart")),
        "{said}"
    );
    let looks = gateway.token(json!({ "name": "r", "role": "read-only" })).0;
    let refused = gateway.call_as(&looks, READ, asked);
    assert_eq!(refused.status, 403);
}

#[test]
fn binary_files_come_in_base64_and_are_not_searched() {
    let web = web("");
    let bytes: Vec<u8> = (0..=255).collect();
    let upload = Request::new("POST", "/api/artifacts?name=a.bin").bearer(&web.gateway.owner);
    let kept = web.gateway.send(&upload.body(bytes)).json();
    let (id, chat) = (&kept["result"]["id"], &kept["result"]["chatId"]);
    let read = web
        .gateway
        .call(READ, json!({ "file_id": id, "chatId": chat, "limit": 4 }));
    assert_eq!(
        (
            &read["result"]["content"],
            &read["result"]["mode"],
            &read["result"]["nextOffset"]
        ),
        (&json!("AAEC"), &json!("base64"), &json!(3))
    );
    let url = read["result"]["url"].as_str().expect("a link");
    assert!(url.contains("/artifacts/"), "{read}");
    let search = json!({ "file_id": id, "chatId": chat, "search": "x" });
    let refused = web.refuses(READ, search, "failed", &["a.bin: it is not text", "base64"]);
    assert_eq!(
        (&refused["details"]["size"], &refused["details"]["mimeType"]),
        (&json!(256), &json!("application/octet-stream")),
        "{refused}"
    );
}

#[test]
fn chats_and_artifacts_of_others_are_invisible() {
    let gateway = Gateway::start();
    let (one, two) = (gateway.client("one"), gateway.client("two"));
    let new = json!({ "filename": "a.txt", "content": "mine", "fileType": "txt" });
    let kept = gateway.call_as(&one, WRITE, new.clone()).json();
    let (id, chat) = (&kept["result"]["id"], &kept["result"]["chatId"]);
    let read = json!({ "file_id": id, "chatId": chat });
    let as_agent = |token: &str, agent: &str, tool: &str, body: &Value| {
        let path = format!("/api/tools/{tool}?agent={agent}");
        gateway
            .send(&Request::post(&path, body).bearer(token))
            .json()
    };
    for (token, agent, found) in [
        (&one, "main", true),
        (&gateway.owner, "main", true),
        (&two, "main", false),
        (&one, "other", false),
        (&gateway.owner, "other", false),
    ] {
        let said = as_agent(token, agent, READ, &read);
        assert_eq!(said["ok"], found, "{agent}: {said}");
        let alone = as_agent(token, agent, READ, &json!({ "file_id": id }));
        assert_eq!(alone["ok"], found, "by its id alone, {agent}: {alone}");
        let none = json!({ "file_id": "0192f0c1-2b3c-7abc-8def-0123456789ab" });
        let never = as_agent(token, agent, READ, &none);
        assert_eq!(never["ok"], false, "{never}");
        if !found {
            assert_eq!(alone["code"], never["code"], "as one that never was");
        }
        let listed = as_agent(token, agent, LIST, &json!({ "chatId": chat }));
        assert_eq!(listed["ok"], found, "{agent}: {listed}");
        if !found {
            let unknown = as_agent(
                token,
                agent,
                LIST,
                &json!({ "chatId": "0192f0c1-2b3c-7abc-8def-0123456789ab" }),
            );
            let words = |said: &Value| {
                said["error"]
                    .as_str()
                    .expect("an error")
                    .replace(chat.as_str().expect("a chat"), "X")
            };
            assert_eq!(
                words(&listed),
                words(&unknown).replace("0192f0c1-2b3c-7abc-8def-0123456789ab", "X")
            );
        }
    }
    let own = gateway.call(WRITE, new.clone());
    let mixed = json!({ "file_id": id, "chatId": own["result"]["chatId"] });
    assert_eq!(
        gateway.call(READ, mixed)["code"],
        "not_found",
        "an id in another chat"
    );
    let mut default = new.clone();
    default["agentId"] = json!("system-coworker-agent");
    let kept = gateway.call(WRITE, default);
    let read = json!({ "file_id": kept["result"]["id"], "chatId": kept["result"]["chatId"] });
    for (agent, found) in [("main", true), ("system-coworker-agent", false)] {
        let said = as_agent(&gateway.owner, agent, READ, &read);
        assert_eq!(
            said["ok"], found,
            "the caller's own agent is meant, {agent}: {said}"
        );
    }
    let for_other =
        json!({ "filename": "a.txt", "content": "for you", "fileType": "txt", "agentId": "other" });
    let given = gateway.call(WRITE, for_other);
    let read = json!({ "file_id": given["result"]["id"], "chatId": given["result"]["chatId"] });
    for (agent, found) in [("main", true), ("other", true), ("third", false)] {
        assert_eq!(
            as_agent(&gateway.owner, agent, READ, &read)["ok"],
            found,
            "{agent}"
        );
    }
    let listed = |token: &str| {
        let said = gateway
            .send(&Request::get("/api/artifacts").bearer(token))
            .json();
        said["result"]["artifacts"]
            .as_array()
            .expect("a list")
            .len()
    };
    assert_eq!(
        (listed(&one), listed(&two), listed(&gateway.owner)),
        (1, 0, 4)
    );
    let delete = |token: &str| {
        let path = format!("/api/artifacts/{}", id.as_str().expect("an id"));
        gateway
            .send(&Request::new("DELETE", &path).bearer(token))
            .status
    };
    let narrow = json!({ "name": "narrow", "role": "client", "tools": ["gsv__*"] });
    let looks = json!({ "name": "looks", "role": "read-only" });
    for token in [gateway.token(narrow).0, gateway.token(looks).0] {
        let upload = Request::new("POST", "/api/artifacts?name=a.txt").bearer(&token);
        assert_eq!(gateway.send(&upload.body("x")).status, 403);
        assert_eq!(delete(&token), 403);
    }
    assert_eq!((delete(&two), delete(&one), delete(&one)), (404, 200, 404));
}

#[test]
fn a_large_result_is_read_on_in_the_results() {
    let gateway = Gateway::with_config("limits.result_bytes = 2000\n");
    gateway.write("big.md", &"0123456789".repeat(1_000));
    let cut = gateway.call("gsv__ReadFile", json!({ "path": "big.md" }));
    let id = cut["result"]["artifactId"].as_str().expect("an artifact");
    let asked = json!({ "file_id": id, "chatId": "results", "offset": 9_995 });
    assert_eq!(
        gateway.call(READ, asked.clone())["result"]["content"],
        "56789"
    );
    let listed = gateway.call(LIST, json!({ "chatId": "results" }));
    assert_eq!(listed["result"]["files"][0]["id"], id, "{listed}");
    let alone = json!({ "file_id": id, "offset": 9_990 });
    assert_eq!(
        gateway.call(READ, alone.clone())["result"]["content"],
        "0123456789"
    );
    let other = gateway.client("other");
    assert_eq!(gateway.call_as(&other, READ, asked).status, 404);
    assert_eq!(gateway.call_as(&other, READ, alone).status, 404);
}

#[test]
fn a_known_secret_is_not_read_piece_by_piece() {
    let gateway = Gateway::start();
    let stored = gateway.send(
        &Request::new("PUT", "/api/secrets/k")
            .bearer(&gateway.owner)
            .json(&json!({ "value": "hunter2-hunter2" })),
    );
    assert_eq!(stored.status, 200);
    let (id, chat) = put(&gateway, "a.txt", "a hunter2-hunter2 b");
    let mut whole = String::new();
    for offset in 0..14 {
        let read = gateway.call(
            READ,
            json!({ "file_id": id, "chatId": chat, "offset": offset, "limit": 1 }),
        );
        whole.push_str(
            read["result"]["content"]
                .as_str()
                .unwrap_or_else(|| panic!("{read}")),
        );
    }
    assert_eq!(whole, "a [redacted] b");
}

#[test]
fn an_artifact_over_quota_leaves_nothing_behind() {
    let gateway =
        Gateway::with_config("[limits]\nartifact_file_bytes = 1000\nartifact_agent_bytes = 1500\n");
    let write = |text: String| {
        gateway.call(
            WRITE,
            json!({ "filename": "a.txt", "content": text, "fileType": "txt" }),
        )
    };
    let large = write("x".repeat(1_001));
    assert_eq!(
        (
            &large["code"],
            large["error"]
                .as_str()
                .expect("an error")
                .contains("limits.artifact_file_bytes")
        ),
        (&json!("too_large"), true)
    );
    assert_eq!(write("x".repeat(1_000))["ok"], true);
    let full = write("y".repeat(600));
    assert!(
        full["error"]
            .as_str()
            .expect("an error")
            .contains("limits.artifact_agent_bytes"),
        "{full}"
    );
    eventually("only one is kept", || blobs(&gateway) == 1);
    let listed = gateway.get("/api/artifacts").json();
    assert_eq!(
        listed["result"]["artifacts"]
            .as_array()
            .expect("a list")
            .len(),
        1
    );
    assert_eq!(write("z".repeat(500))["ok"], true, "the control");
}

#[test]
fn a_crash_leaves_nothing_that_stays() {
    let gateway = Gateway::start();
    let (id, chat) = put(&gateway, "a.txt", "kept");
    let home = gateway.kill9();
    let left = home.blob("artifacts/0192f0c1-2b3c-7abc-8def-0123456789ab");
    std::fs::write(&left, "half").expect("a leftover");
    let gateway = Gateway::on(home);
    eventually("the leftover goes", || !left.exists());
    let read = gateway.call(READ, json!({ "file_id": id, "chatId": chat }));
    assert_eq!(read["result"]["content"], "kept");
}

#[test]
fn a_file_of_many_megabytes_goes_through_without_filling_memory() {
    let gateway = Gateway::start();
    let file = gateway.home.outside("big.log");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&file).expect("a file"));
    for n in 0..1_400_000 {
        writeln!(
            out,
            "line {n:07} with some words to make it longer, as logs are"
        )
        .expect("written");
    }
    writeln!(out, "the needle").expect("written");
    out.into_inner().expect("written");
    let size = std::fs::metadata(&file).expect("a file").len();
    assert!((80_000_000..104_857_600).contains(&size), "{size}");
    let before = resident(gateway.daemon.pid());
    let kept = gateway
        .cli(&["artifact", "put", file.to_str().expect("a path")])
        .ok()
        .json();
    assert_eq!(kept["size"], size);
    let back = gateway.home.outside("back.log");
    let id = kept["id"].as_str().expect("an id");
    gateway
        .cli(&["artifact", "get", id, "-o", back.to_str().expect("a path")])
        .ok();
    assert!(std::fs::read(&file).expect("a file") == std::fs::read(&back).expect("a file"));
    let read = |more: Value| {
        let mut asked = json!({ "file_id": id, "chatId": kept["chatId"] });
        asked
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        gateway.call(READ, asked)
    };
    let found = read(json!({ "search": "NEEDLE", "context_lines": 0 }));
    assert_eq!(
        found["result"]["content"], "1400001:the needle\n",
        "{found}"
    );
    let line = read(json!({ "start_line": 1_400_001 }));
    assert_eq!(line["result"]["content"], "the needle\n", "{line}");
    let large = read(json!({ "json_path": "a" }));
    assert_eq!(large["code"], "failed", "{large}");
    assert!(large.to_string().contains("is not JSON"), "{large}");
    let grown = resident(gateway.daemon.pid()).saturating_sub(before);
    assert!(grown < 64 * 1024 * 1024, "{grown} bytes more");
}

#[test]
fn the_command_line_uploads_downloads_lists_and_removes() {
    let gateway = Gateway::start();
    let file = gateway.home.outside("näme & co.csv");
    std::fs::write(&file, "a,b\n").expect("a file");
    let kept = gateway
        .cli(&["artifact", "put", file.to_str().expect("a path")])
        .ok()
        .json();
    assert_eq!(
        (&kept["filename"], &kept["mimeType"]),
        (&json!("näme & co.csv"), &json!("text/csv"))
    );
    let id = kept["id"].as_str().expect("an id");
    assert_eq!(gateway.cli(&["artifact", "get", id]).ok().stdout, "a,b\n");
    assert_eq!(gateway.cli(&["artifact", id]).ok().stdout, "a,b\n");
    assert!(
        gateway
            .cli(&["artifact", "list"])
            .ok()
            .stdout
            .contains("näme & co.csv")
    );
    assert_eq!(
        gateway.cli(&["artifact", "show", id]).ok().json()["size"],
        4
    );
    let url = gateway.cli(&["artifact", "url", id]).ok().stdout;
    assert!(
        url.starts_with(&format!("{}/artifacts/{id}?expires=", gateway.url)),
        "{url}"
    );
    gateway.cli(&["artifact", "rm", id]).ok();
    assert_eq!(gateway.cli(&["artifact", "get", id]).code, Some(1));
    assert_eq!(gateway.cli(&["artifact", "rm", id]).code, Some(1));
    let audit = gateway.audit();
    let said = |word: &str| {
        audit.iter().any(|entry| {
            let summary = entry["summary"].as_str().unwrap_or_default();
            entry["tool"] == "gateway_write_artifact" && summary.contains(word)
        })
    };
    assert!(said("bytes") && said("remove"), "{audit:?}");
}
