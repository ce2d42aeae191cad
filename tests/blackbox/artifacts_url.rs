//! Artifacts from elsewhere, and links to them: credentials that stay, and links that end.

use serde_json::{Value, json};

use crate::contract_web::Web;
use crate::harness::{Gateway, eventually};
use crate::http::Request;
use crate::origin::{Heard, Origin, Reply};
use crate::ssrf::LOOPBACK;

const FROM_URL: &str = "gateway_write_artifact_from_url";
const READ: &str = "gateway_read_artifact";
const KEPT: [&str; 7] = [
    "id",
    "url",
    "urlExpires",
    "filename",
    "mimeType",
    "size",
    "chatId",
];

fn blobs(gateway: &Gateway) -> usize {
    std::fs::read_dir(gateway.home.blob("artifacts")).map_or(0, Iterator::count)
}

fn answers(heard: &Heard) -> Reply {
    match heard.target.as_str() {
        "/report" => Reply::ok("application/pdf", "%PDF-1.7\0 bytes"),
        "/vague" => Reply::ok("application/octet-stream", "a,b\n"),
        "/missing" => Reply::new(404, "text/plain", "no such report"),
        "/echo" => Reply::text(format!(
            "you said {}",
            heard.header("x-key").unwrap_or("nothing")
        )),
        "/refuse" => Reply::new(
            401,
            "text/plain",
            format!(
                "bad key {}",
                heard.header("authorization").unwrap_or("none")
            ),
        ),
        "/broken" => Reply::text("half of it").breaks_off(),
        "/large" => Reply::text("x".repeat(3_000)),
        "/endless" => Reply::text("x".repeat(3_000)).unsaid(),
        _ => Reply::text("well"),
    }
}

fn asked(web: &Web, path: &str, name: &str) -> Value {
    json!({ "sourceUrl": web.url(path), "filename": name })
}

#[test]
fn a_file_is_fetched_and_stored_with_its_type() {
    let web = Web::new("", answers);
    for (path, name, mime, size) in [
        ("/report", "report.pdf", "application/pdf", 15),
        ("/vague", "data.csv", "text/csv", 4),
        ("/vague", "data", "application/octet-stream", 4),
        ("/other", "a.md", "text/markdown", 4),
    ] {
        let kept = web.gives(FROM_URL, asked(&web, path, name), &KEPT);
        assert_eq!(
            (&kept["mimeType"], &kept["size"], &kept["filename"]),
            (&json!(mime), &json!(size), &json!(name))
        );
    }
}

#[test]
fn an_incomplete_download_is_not_stored() {
    let web = Web::new("limits.artifact_file_bytes = 2000\n", answers);
    for (path, code, words) in [
        (
            "/missing",
            "failed",
            "responded 404, so nothing was stored: no such report",
        ),
        ("/broken", "failed", "127.0.0.1"),
        ("/large", "too_large", "limits.artifact_file_bytes"),
        ("/endless", "too_large", "limits.artifact_file_bytes"),
    ] {
        web.fails(FROM_URL, asked(&web, path, "a.txt"), code, &[words]);
    }
    for (url, code, words) in [
        ("file:///etc/passwd", "invalid_arguments", "sourceUrl: "),
        ("nothing", "invalid_arguments", "sourceUrl: "),
        (
            "http://me:pw@127.0.0.1/",
            "invalid_arguments",
            "sourceUrl: ",
        ),
        (
            "http://169.254.169.254/latest",
            "forbidden",
            "169.254.169.254",
        ),
    ] {
        web.refuses(
            FROM_URL,
            json!({ "sourceUrl": url, "filename": "a.txt" }),
            code,
            &[words],
        );
    }
    let mut hostile = asked(&web, "/report", "../a.pdf");
    web.refuses(
        FROM_URL,
        hostile.clone(),
        "invalid_arguments",
        &["filename: "],
    );
    hostile["filename"] = json!("a.pdf");
    for (headers, words) in [
        (json!({ "Host": "evil" }), "authHeaders: "),
        (json!({ "bad name": "x" }), "is not a header name"),
        (json!({ "X-Key": "a\r\nHost: b" }), "the value of X-Key"),
        (json!("Bearer x"), "authHeaders: must be an object"),
        (json!({ "X-Key": 5 }), "authHeaders.X-Key: must be a string"),
    ] {
        hostile["authHeaders"] = headers;
        web.refuses(FROM_URL, hostile.clone(), "invalid_arguments", &[words]);
    }
    eventually("nothing is kept", || blobs(&web.gateway) == 0);
    assert_eq!(
        web.gateway.get("/api/artifacts").json()["result"]["artifacts"],
        json!([])
    );
    web.gives(FROM_URL, asked(&web, "/report", "a.pdf"), &KEPT);
}

#[test]
fn credentials_reach_their_origin_only_and_are_written_nowhere() {
    let target = Origin::on([127, 0, 0, 1], |_| Reply::text("well"));
    let elsewhere = target.url("/taken");
    let web = Web::new("", move |heard| match heard.target.as_str() {
        "/away" => Reply::redirect(302, &elsewhere),
        "/here" => Reply::redirect(302, "/file"),
        _ => answers(heard),
    });
    let headers = json!({ "Authorization": "Bearer canary-token-1", "X-Key": "canary-key-22" });
    let with = |path: &str| {
        let mut new = asked(&web, path, "a.txt");
        new["authHeaders"] = headers.clone();
        new
    };
    web.gives(FROM_URL, with("/here"), &KEPT);
    assert_eq!(
        web.server.last().header("x-key"),
        Some("canary-key-22"),
        "the same origin sees them"
    );
    web.gives(FROM_URL, with("/away"), &KEPT);
    assert!(
        !target.last().text().contains("canary"),
        "{}",
        target.last().text()
    );
    let refused = web.fails(FROM_URL, with("/refuse"), "failed", &["responded 401"]);
    assert!(!refused.to_string().contains("canary"), "{refused}");
    let audit = web.gateway.audit();
    let about: Vec<_> = audit
        .iter()
        .filter(|entry| entry["tool"] == FROM_URL)
        .collect();
    assert!(about.len() >= 6, "{about:?}");
    let text = format!("{about:?}");
    assert!(
        !text.contains("canary") && text.contains("[redacted]") && text.contains("X-Key"),
        "{text}"
    );
    assert!(!web.gateway.daemon.log.text().contains("canary"));
}

#[test]
fn an_approval_shows_no_credentials_and_holds_for_the_same_ones_only() {
    let config =
        format!("{LOOPBACK}\n[[policy.rules]]\ndecision = \"ask\"\ntools = [\"{FROM_URL}\"]\n");
    let web = Web::of(
        Gateway::with_config(&config),
        Origin::on([127, 0, 0, 1], answers),
    );
    let client = web.gateway.client("c");
    let call = |key: &str| {
        let mut new = asked(&web, "/report", "a.pdf");
        new["authHeaders"] = json!({ "X-Key": key });
        web.gateway.call_as(&client, FROM_URL, new).json()
    };
    let waits = call("canary-key-22");
    assert_eq!(waits["code"], "approval_required", "{waits}");
    let shown = web.gateway.get("/api/approvals").json();
    assert!(!shown.to_string().contains("canary"), "{shown}");
    let id = waits["details"]["approvalId"]
        .as_str()
        .expect("an approval");
    web.gateway.post(
        &format!("/api/approvals/{id}"),
        &json!({ "decision": "approve" }),
    );
    assert_eq!(call("another-key-1")["code"], "approval_required");
    assert_eq!(call("canary-key-22")["ok"], true);
}

#[test]
fn a_secret_of_a_vault_is_used_and_never_read() {
    let web = Web::new("", answers);
    let gateway = &web.gateway;
    let made = gateway
        .cli(&["resource", "create", "vault", "keys"])
        .ok()
        .json();
    let set = |hosts: &[&str]| {
        let mut args = vec!["resource", "secret", "set", "keys", "KEY"];
        hosts.iter().for_each(|host| args.extend(["--host", host]));
        let mut command = gateway.command();
        command.args(args);
        crate::harness::run(command, "hunter2-vaulted\n").ok();
    };
    set(&["example.com"]);
    let mut new = asked(&web, "/echo", "a.txt");
    new["authHeaders"] = json!({ "X-Key": "{{vault:keys/KEY}}" });
    web.refuses(
        FROM_URL,
        new.clone(),
        "invalid_arguments",
        &["may not be sent to \"127.0.0.1\""],
    );
    set(&["127.0.0.1"]);
    let kept = web.gives(FROM_URL, new.clone(), &KEPT);
    assert_eq!(web.server.last().header("x-key"), Some("hunter2-vaulted"));
    let read = json!({ "file_id": kept["id"], "chatId": kept["chatId"] });
    assert_eq!(
        gateway.call(READ, read)["result"]["content"],
        "you said [redacted]"
    );
    let id = kept["id"].as_str().expect("an id");
    let raw = gateway.get(&format!("/api/artifacts/{id}")).text();
    assert_eq!(raw, "you said [redacted]", "not even the file holds it");
    let listed = gateway.call(
        "vault_list",
        json!({ "collectionId": made["collectionId"] }),
    );
    assert_eq!(
        listed["result"]["secrets"][0],
        json!({ "name": "KEY", "reference": "{{vault:keys/KEY}}", "hosts": ["127.0.0.1"] }),
        "{listed}"
    );
    for reference in [
        "{{vault:keys/OTHER}}",
        "{{vault:other/KEY}}",
        "{{vault:KEY}}",
    ] {
        new["authHeaders"] = json!({ "X-Key": reference });
        web.refuses(
            FROM_URL,
            new.clone(),
            "invalid_arguments",
            &["there is no secret"],
        );
    }
    new["authHeaders"] = json!({ "X-Key": "{{vault:keys/KEY" });
    web.refuses(
        FROM_URL,
        new.clone(),
        "invalid_arguments",
        &["unterminated"],
    );
    new["authHeaders"] = json!({ "X-Key": "{{vault:keys/KEY}}" });
    gateway.cli(&["resource", "revoke", "keys", "main"]).ok();
    web.refuses(FROM_URL, new, "invalid_arguments", &["there is no secret"]);
}

#[test]
fn a_link_gives_the_file_and_nothing_else_until_it_ends() {
    let gateway = Gateway::start();
    let new =
        json!({ "filename": "ü \"x\".html", "content": "<script>1</script>", "fileType": "html" });
    let kept = gateway.call("gateway_write_artifact", new)["result"].clone();
    let url = kept["url"].as_str().expect("a link");
    let path = url.strip_prefix(&gateway.url).expect("ours").to_owned();
    let open = |path: &str| gateway.send(&Request::get(path));
    let got = open(&path);
    assert_eq!(
        (got.status, got.text().as_str()),
        (200, "<script>1</script>")
    );
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        (
            "content-disposition",
            "attachment; filename=\"_ _x_.html\"; filename*=UTF-8''%C3%BC%20%22x%22.html",
        ),
        ("content-length", "18"),
    ] {
        assert_eq!(got.header(name), Some(value));
    }
    let other = gateway.call(
        "gateway_write_artifact",
        json!({ "filename": "b.txt", "content": "b", "fileType": "txt" }),
    );
    let other = other["result"]["id"].as_str().expect("an id");
    let id = kept["id"].as_str().expect("an id");
    let expires: i64 = path
        .split(['=', '&'])
        .nth(1)
        .and_then(|text| text.parse().ok())
        .expect("a time");
    let mut words = Vec::new();
    for forged in [
        path.replace(id, other),
        path.replace(
            &format!("expires={expires}"),
            &format!("expires={}", expires + 60),
        ),
        path.replace(&format!("expires={expires}"), "expires=1"),
        format!(
            "{}{}",
            &path[..path.len() - 1],
            if path.ends_with('0') { '1' } else { '0' }
        ),
        format!("/artifacts/{id}"),
        format!("/artifacts/{id}?expires={expires}&signature="),
        format!(
            "/artifacts/nothing?expires={expires}&signature={}",
            "0".repeat(64)
        ),
    ] {
        let refused = open(&forged);
        assert_eq!(refused.status, 403, "{forged}");
        words.push(refused.text());
    }
    gateway.cli(&["artifact", "rm", id]).ok();
    let gone = open(&path);
    assert_eq!(gone.status, 403);
    words.push(gone.text());
    words.dedup();
    assert_eq!(words.len(), 1, "{words:?}");
}
