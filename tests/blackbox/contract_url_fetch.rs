//! `url_fetch` as its spec text writes it: methods, headers, bodies, limits, downloads.

use serde_json::{Value, json};

use crate::contract_web::{URL_FETCH, Web, bomb, gzip};
use crate::origin::{Heard, Reply};

const RESPONSE: [&str; 6] = [
    "url",
    "status",
    "content_type",
    "content",
    "truncated",
    "headers",
];
const CUT: [&str; 8] = [
    "artifact_id",
    "url",
    "status",
    "content_type",
    "content",
    "truncated",
    "headers",
    "full_size",
];
const PAGE: [&str; 8] = [
    "url",
    "status",
    "content_type",
    "content",
    "truncated",
    "headers",
    "title",
    "links",
];
const SAVED: [&str; 6] = ["url", "status", "content_type", "path", "bytes", "sha256"];

/// The SHA-256 of `abc`, from FIPS 180.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn plain(settings: &str) -> Web {
    Web::new(settings, |_| Reply::text("well"))
}

#[test]
fn every_method_is_sent_and_no_other() {
    let web = plain("");
    let said = web.gives(URL_FETCH, json!({ "url": web.url("/a?b=c#d") }), &RESPONSE);
    assert_eq!(said["content"], "well");
    assert_eq!(
        (&said["status"], &said["truncated"]),
        (&json!(200), &json!(false))
    );
    let heard = web.server.last();
    assert_eq!(
        (heard.method.as_str(), heard.target.as_str()),
        ("GET", "/a?b=c"),
        "the default"
    );
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        web.gives(
            URL_FETCH,
            json!({ "url": web.url("/"), "method": method }),
            &RESPONSE,
        );
        assert_eq!(web.server.last().method, method);
    }
    for method in [
        "HEAD",
        "OPTIONS",
        "CONNECT",
        "TRACE",
        "get",
        "",
        "GET /x",
        "GET\r\nX: y",
    ] {
        let arguments = json!({ "url": web.url("/"), "method": method });
        web.refuses(URL_FETCH, arguments, "invalid_arguments", &["method"]);
    }
}

#[test]
fn any_status_is_a_result() {
    let web = Web::new("", |heard| {
        let status = heard.target[1..].parse().expect("a status");
        Reply::new(status, "text/plain", "said so").header("Retry-After", "7")
    });
    for status in [
        200, 201, 206, 300, 304, 400, 401, 403, 404, 410, 429, 500, 502, 503, 599,
    ] {
        let url = web.url(&format!("/{status}"));
        let said = web.gives(URL_FETCH, json!({ "url": url }), &RESPONSE);
        assert_eq!(said["status"], status, "{said}");
        assert_eq!(said["headers"]["retry-after"], "7", "{said}");
    }
}

#[test]
fn headers_are_sent_by_the_lists() {
    let web = plain("");
    let allowed = json!({
        "Accept": "text/x", "content-type": "text/y", "USER-AGENT": "me/1",
        "If-None-Match": "\"e\"", "If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT", "Range": "bytes=0-9",
    });
    web.gives(
        URL_FETCH,
        json!({ "url": web.url("/"), "headers": allowed }),
        &RESPONSE,
    );
    let heard = web.server.last();
    for (name, value) in allowed.as_object().expect("headers") {
        assert_eq!(heard.header(name), value.as_str(), "{name}");
    }
    let credentials = [
        "Authorization",
        "authorization",
        " Authorization ",
        "Cookie",
        "COOKIE",
        "Set-Cookie",
        "Proxy-Authorization",
        "X-Api-Key",
        "apikey",
        "X-Auth-Token",
        "api_key",
        "Private-Token",
        "X-Client-Secret",
        "X-Password",
    ];
    let routing = [
        "Host",
        "HOST",
        "Proxy-Connection",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "Forwarded",
    ];
    let others = [
        "Connection",
        "Content-Length",
        "Transfer-Encoding",
        "TE",
        "Upgrade",
        "Expect",
        "Origin",
        "Referer",
        "X-Real-IP",
        "X-HTTP-Method-Override",
        "Metadata-Flavor",
        "X-aws-ec2-metadata-token-ttl-seconds",
        "X-Custom",
        "",
        "Accept\r\nHost",
        "Acc ept",
        "Accept:",
        "äccept",
    ];
    let table = credentials.iter().map(|name| (*name, "auth_profile"));
    let table = table.chain(routing.iter().map(|name| (*name, "decides where")));
    for (name, word) in table.chain(others.iter().map(|name| (*name, ""))) {
        let arguments =
            json!({ "url": web.url("/"), "headers": { name: "x", "Accept": "text/x" } });
        let words = ["headers", "allowed are Accept, Content-Type", word];
        web.refuses(URL_FETCH, arguments, "invalid_arguments", &words);
    }
    for value in ["a\r\nHost: evil", "a\nb", "a\0b", "\u{7f}"] {
        let arguments = json!({ "url": web.url("/"), "headers": { "Accept": value } });
        web.refuses(
            URL_FETCH,
            arguments,
            "invalid_arguments",
            &["headers", "Accept"],
        );
    }
    let twice = json!({ "url": web.url("/"), "headers": { "Accept": "a", "accept": "b" } });
    web.refuses(
        URL_FETCH,
        twice,
        "invalid_arguments",
        &["headers", "given twice"],
    );
    let both = json!({ "url": web.url("/"), "headers": { "Cookie": "a", "X-Odd": "b" } });
    web.refuses(URL_FETCH, both, "invalid_arguments", &["Cookie", "X-Odd"]);
    for wrong in [
        json!({ "Accept": 1 }),
        json!({ "Accept": ["a"] }),
        json!(["Accept"]),
        json!("Accept: a"),
    ] {
        let arguments = json!({ "url": web.url("/"), "headers": wrong });
        web.refuses(URL_FETCH, arguments, "invalid_arguments", &["headers"]);
    }
}

#[test]
fn headers_come_back_without_cookies() {
    let web = Web::new("", |_| {
        Reply::text("x")
            .header("ETag", "\"1\"")
            .header("Set-Cookie", "id=1")
            .header("Location", "/next")
            .header("X-Unlisted", "1")
    });
    let said = web.gives(URL_FETCH, json!({ "url": web.url("/") }), &RESPONSE);
    let expect = json!({ "content-length": "1", "etag": "\"1\"", "location": "/next" });
    assert_eq!(said["headers"], expect);
}

#[test]
fn the_type_of_a_body_is_inferred() {
    let web = plain("");
    let json = Some("application/json");
    let text = Some("text/plain; charset=utf-8");
    let table: [(Value, &str, Option<&str>); 11] = [
        (json!({ "a": [1, null] }), "{\"a\":[1,null]}", json),
        (json!([1, 2]), "[1,2]", json),
        (json!(5), "5", json),
        (json!(1.5), "1.5", json),
        (json!(true), "true", json),
        (json!(false), "false", json),
        (json!("hello é"), "hello é", text),
        (json!("{\"a\": 1}"), "{\"a\": 1}", json),
        (json!("{broken"), "{broken", text),
        (json!(""), "", text),
        (json!(null), "", None),
    ];
    for (body, sent, kind) in table {
        let arguments = json!({ "url": web.url("/"), "method": "POST", "body": body });
        web.gives(URL_FETCH, arguments.clone(), &RESPONSE);
        let heard = web.server.last();
        assert_eq!(
            (heard.body.as_str(), heard.header("content-type")),
            (sent, kind),
            "{body}"
        );
        let mut said = arguments;
        said["headers"] = json!({ "Content-Type": "text/x" });
        web.gives(URL_FETCH, said, &RESPONSE);
        assert_eq!(
            web.server.last().header("content-type"),
            Some("text/x"),
            "{body}"
        );
    }
    web.gives(
        URL_FETCH,
        json!({ "url": web.url("/"), "method": "DELETE" }),
        &RESPONSE,
    );
    assert_eq!(web.server.last().header("content-type"), None);
}

fn sized(heard: &Heard) -> Reply {
    let size = heard.target[1..].parse().expect("a size");
    Reply::text("x".repeat(size))
}

#[test]
fn a_response_is_cut_visibly_and_never_past_the_limit() {
    let web = Web::new("", sized);
    let fetch = |web: &Web, most: u64, size: u64, max: Option<u64>| {
        let mut arguments = json!({ "url": web.url(&format!("/{size}")) });
        if let Some(max) = max {
            arguments["max_bytes"] = json!(max);
        }
        let said = web.gateway.call(URL_FETCH, arguments.clone());
        let cut = said["result"]["truncated"] == true;
        let mut keys = if cut { CUT.to_vec() } else { RESPONSE.to_vec() };
        let lowered = said["result"]["lowered"][0]["requested"].as_u64();
        assert_eq!(lowered, max.filter(|max| *max > most), "{said:.300}");
        keys.extend(lowered.map(|_| "lowered"));
        let result = web.gives(URL_FETCH, arguments, &keys);
        assert_eq!(result["full_size"].as_u64(), cut.then_some(size));
        result["content"].as_str().map(str::len).expect("a text")
    };
    let limit = 512 * 1024;
    for (size, max, length) in [
        (1000, None, 1000),
        (1000, Some(1000), 1000),
        (1000, Some(999), 999),
        (1000, Some(1), 1),
        (limit, None, 524_288),
        (limit + 1, None, 524_288),
        (limit + 1, Some(limit + 1), 524_288),
        (limit + 1, Some(u64::MAX), 524_288),
    ] {
        assert_eq!(fetch(&web, limit, size, max), length, "{size} {max:?}");
    }
    for max in [json!(0), json!(-5), json!(0.5), json!("9")] {
        let arguments = json!({ "url": web.url("/10"), "max_bytes": max });
        web.refuses(URL_FETCH, arguments, "invalid_arguments", &["max_bytes"]);
    }
    let small = Web::new("tools.url_fetch.max_bytes = 100", sized);
    for (max, length) in [(None, 100), (Some(5000), 100), (Some(10), 10)] {
        assert_eq!(
            fetch(&small, 100, 2000, max),
            length,
            "the setting is a ceiling"
        );
    }
}

#[test]
fn text_is_decoded_and_pages_are_readable_unless_raw() {
    let html =
        "<html><head><title>T</title></head><body><p>Some <a href='/x'>text</a></p></body></html>";
    let web = Web::new("", move |heard| match heard.target.as_str() {
        "/latin" => Reply::ok("text/plain; charset=latin1", *b"caf\xe9"),
        "/gzip" => Reply::ok("text/html", gzip(html.as_bytes())).header("Content-Encoding", "gzip"),
        "/binary" => Reply::ok("application/octet-stream", vec![0, 1, 2]),
        "/bomb" => Reply::text(bomb(300_000_000)).header("Content-Encoding", "gzip"),
        _ => Reply::ok("text/html", html),
    });
    for path in ["/", "/gzip"] {
        let page = web.gives(URL_FETCH, json!({ "url": web.url(path) }), &PAGE);
        assert_eq!(page["title"], "T");
        assert_eq!(
            page["links"],
            json!([{ "text": "text", "url": web.url("/x") }])
        );
        assert!(
            page["content"]
                .as_str()
                .is_some_and(|text| text.starts_with("Some")),
            "{page}"
        );
        let raw = web.gives(
            URL_FETCH,
            json!({ "url": web.url(path), "raw": true }),
            &RESPONSE,
        );
        assert_eq!(raw["content"], html);
        web.gives(
            URL_FETCH,
            json!({ "url": web.url(path), "raw": false }),
            &PAGE,
        );
    }
    let latin = web.gives(URL_FETCH, json!({ "url": web.url("/latin") }), &RESPONSE);
    assert_eq!(latin["content"], "café");
    let binary = web.gives(URL_FETCH, json!({ "url": web.url("/binary") }), &RESPONSE);
    assert_eq!(
        binary["content"],
        "binary content, 3 bytes, application/octet-stream"
    );
    let before = web.peak_memory();
    let keys = [&RESPONSE[..], &["artifact_id"]].concat();
    let bomb = web.gives(URL_FETCH, json!({ "url": web.url("/bomb") }), &keys);
    assert_eq!(bomb["content"].as_str().map(str::len), Some(512 * 1024));
    assert_eq!(bomb["truncated"], true);
    let arguments = json!({ "url": web.url("/bomb"), "download_path": "bomb" });
    web.fails(
        URL_FETCH,
        arguments,
        "too_large",
        &["104857600 bytes", "nothing was saved"],
    );
    let grown = web.peak_memory() - before;
    assert!(grown < 64 * 1024, "300 MB took {grown} KiB");
}

#[test]
fn time_runs_out_by_the_parameter_and_by_the_setting() {
    let web = Web::new("tools.url_fetch.timeout = 1", |heard| {
        match heard.target.as_str() {
            "/stall" => Reply::text("begun").stalls(),
            _ => Reply::text("well"),
        }
    });
    let slow = |seconds: Value| json!({ "url": web.url("/stall"), "timeout_seconds": seconds });
    web.fails(
        URL_FETCH,
        slow(json!(0.05)),
        "deadline_exceeded",
        &["/stall", "0.05 seconds"],
    );
    for beyond in [json!(null), json!(1), json!(60), json!(1e300)] {
        web.fails(URL_FETCH, slow(beyond), "deadline_exceeded", &["1 seconds"]);
    }
    let mut saved = slow(json!(0.05));
    saved["download_path"] = json!("stalled");
    web.fails(URL_FETCH, saved, "deadline_exceeded", &["0.05 seconds"]);
    for wrong in [json!(0), json!(-1), json!("1"), json!(-0.0)] {
        web.refuses(
            URL_FETCH,
            slow(wrong),
            "invalid_arguments",
            &["timeout_seconds"],
        );
    }
    let enough = json!({ "url": web.url("/"), "timeout_seconds": 0.9 });
    web.gives(URL_FETCH, enough, &RESPONSE);
}

#[test]
fn a_download_gives_metadata_and_the_file() {
    let web = Web::new("", |heard| match heard.target.as_str() {
        "/moved" => Reply::redirect(302, "/abc"),
        "/html" => Reply::ok("text/html", "<p>kept as it is</p>"),
        "/gzip" => Reply::ok("text/plain", gzip(b"abc")).header("Content-Encoding", "gzip"),
        "/binary" => Reply::ok("", (0..=255).collect::<Vec<u8>>()),
        "/empty" => Reply::new(204, "", ""),
        _ => Reply::ok("text/x; charset=latin1", "abc"),
    });
    let cache = web.gateway.home.path().join("host/cache");
    let save = |from: &str, to: &str| {
        let arguments = json!({ "url": web.url(from), "download_path": to });
        web.gives(URL_FETCH, arguments, &SAVED)
    };
    let said = save("/moved", "deep/er/abc.txt");
    let path = cache.join("deep/er/abc.txt");
    let expect = json!({
        "url": web.url("/abc"), "status": 200, "content_type": "text/x; charset=latin1",
        "path": path.to_str(), "bytes": 3, "sha256": ABC,
    });
    assert_eq!(said, expect);
    assert_eq!(std::fs::read(&path).expect("the file"), b"abc");
    for (from, to, bytes) in [
        ("/html", "page", b"<p>kept as it is</p>".to_vec()),
        ("/gzip", "unpacked", b"abc".to_vec()),
        ("/binary", "deep/binary", (0..=255).collect()),
        ("/empty", "empty", Vec::new()),
        ("/binary", "deep/er/abc.txt", (0..=255).collect()),
        ("/abc", "./dots/./abc", b"abc".to_vec()),
    ] {
        let said = save(from, to);
        let path = said["path"].as_str().expect("a path");
        assert!(path.starts_with(cache.to_str().expect("text")), "{path}");
        assert_eq!(std::fs::read(path).expect("the file"), bytes, "{from} {to}");
        assert_eq!(said["bytes"], bytes.len(), "{from} {to}");
    }
    let aliased = save("/abc", "file_cache_dir/by-alias");
    assert_eq!(aliased["path"], json!(cache.join("by-alias").to_str()));
    let read = web
        .gateway
        .call("read_file", json!({ "path": "file_cache_dir/by-alias" }));
    assert_eq!(read["result"]["content"], "abc", "{read}");
    let post =
        json!({ "url": web.url("/abc"), "method": "POST", "body": "x", "download_path": "posted" });
    web.gives(URL_FETCH, post, &SAVED);
    assert_eq!(web.server.last().body, "x");
}

#[test]
fn a_download_is_there_whole_or_not_at_all() {
    let web = Web::new(
        "tools.url_fetch.max_download_bytes = 1000",
        |heard| match heard.target.as_str() {
            "/break" => Reply::text("y".repeat(500)).breaks_off(),
            "/404" => Reply::new(404, "text/plain", "no such thing"),
            "/500" => Reply::new(500, "text/plain", ""),
            "/unsaid" => Reply::text("y".repeat(1001)).unsaid(),
            "/bomb" => Reply::text(bomb(1_000_000)).header("Content-Encoding", "gzip"),
            path => Reply::text("x".repeat(path[1..].parse().expect("a size"))),
        },
    );
    let to = |from: &str, path: &str| json!({ "url": web.url(from), "download_path": path });
    web.gives(URL_FETCH, to("/1000", "kept/file"), &SAVED);
    let cases: [(&str, &str, &[&str]); 6] = [
        ("/break", "failed", &["/break"]),
        (
            "/404",
            "failed",
            &["answered 404", "nothing was saved", "no such thing"],
        ),
        ("/500", "failed", &["answered 500", "nothing was saved"]),
        ("/1001", "too_large", &["1000 bytes", "nothing was saved"]),
        ("/unsaid", "too_large", &["1000 bytes", "nothing was saved"]),
        ("/bomb", "too_large", &["1000 bytes", "nothing was saved"]),
    ];
    for (from, code, words) in cases {
        for path in ["kept/file", "new/folder/file"] {
            web.fails(URL_FETCH, to(from, path), code, words);
        }
        let mut beyond = to(from, "kept/file");
        beyond["max_bytes"] = json!(1_000_000);
        web.fails(URL_FETCH, beyond, code, words);
    }
    let mut less = to("/1000", "kept/file");
    less["max_bytes"] = json!(999);
    web.fails(URL_FETCH, less.clone(), "too_large", &["999 bytes"]);
    less["max_bytes"] = json!(1000);
    web.gives(URL_FETCH, less, &SAVED);
}

#[test]
fn a_download_stays_below_the_cache() {
    let web = plain("");
    let home = web.gateway.home.path();
    let cache = home.join("host/cache");
    let outside = web.gateway.home.outside("outside");
    std::fs::create_dir(&outside).expect("a folder");
    std::fs::create_dir(cache.join("folder")).expect("a folder");
    std::os::unix::fs::symlink(&outside, cache.join("link")).expect("a link");
    std::os::unix::fs::symlink(outside.join("file"), cache.join("dangling")).expect("a link");
    let state = home.join("host/state/x");
    let config = home.join("config.toml");
    let before = std::fs::read(&config).expect("the settings");
    let absolute = outside.join("x");
    let paths = [
        "",
        ".",
        "/",
        "./",
        "..",
        "../x",
        "a/../../x",
        "a/../b/../../x",
        "/etc/x",
        "folder",
        "folder/",
        "file_cache_dir/",
        "file_cache_dir/../x",
        "file_cache_dir/../config.toml",
        "a\0b",
        "link/x",
        absolute.to_str().expect("text"),
        state.to_str().expect("text"),
        config.to_str().expect("text"),
    ];
    for path in paths {
        let arguments = json!({ "url": web.url("/"), "download_path": path });
        let said = web.refuses(
            URL_FETCH,
            arguments,
            "invalid_arguments",
            &["download_path"],
        );
        assert!(
            !said["error"]
                .as_str()
                .is_some_and(|error| error.contains("path: path")),
            "{said}"
        );
    }
    assert_eq!(crate::harness::tree(&outside), [], "nothing came out");
    // A link in the place of the file is replaced or refused, and never followed.
    let arguments = json!({ "url": web.url("/"), "download_path": "dangling" });
    let _ = web.gateway.call(URL_FETCH, arguments);
    assert_eq!(crate::harness::tree(&outside), [], "nothing came out");
    assert_eq!(std::fs::read(&config).expect("the settings"), before);
    let inside = json!({ "url": web.url("/"), "download_path": "folder/x" });
    web.gives(URL_FETCH, inside, &SAVED);
}
