//! A secret goes to the one place the owner named, and to nobody else: no other server, and not the model.

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, up};
use crate::mcp::{self, Era};
use crate::origin::{Heard, Origin, Reply};
use crate::ssrf::LOOPBACK;
use crate::ssrf_redirects::certificate;

/// Unlike anything else, so that finding it means that it leaked.
const SECRET: &str = "s3cr3t-Zk9/qW+42=canary";
const ECHO: &str = "/v1/echo";

/// The right server, those beside it, and a gateway that knows a secret for the right one.
struct Stage {
    gateway: Gateway,
    right: Origin,
    other_port: Origin,
    other_host: Origin,
}

impl Stage {
    fn new() -> Self {
        let right = Origin::on_each(&[[127, 0, 0, 2], [127, 0, 0, 4]], answer);
        let other_port = Origin::on([127, 0, 0, 2], |_| Reply::text("other port"));
        let other_host = Origin::on([127, 0, 0, 3], |_| Reply::text("other host"));
        let profiles = profiles(&right.url(""));
        let home = Home::new().with_config(&format!("log.level = \"trace\"\n{profiles}{LOOPBACK}"));
        let gateway = Gateway::on(home);
        store(&gateway);
        Self {
            gateway,
            right,
            other_port,
            other_host,
        }
    }

    fn fetch(&self, profile: &str, url: &str) -> Value {
        let arguments = json!({ "url": url, "auth_profile": profile });
        self.gateway.call("url_fetch", arguments)
    }

    fn hits(&self) -> [usize; 3] {
        [&self.right, &self.other_port, &self.other_host].map(Origin::hits)
    }

    /// A call that must be refused before anything connects.
    #[track_caller]
    fn refuses(&self, arguments: Value, words: &[&str]) {
        let before = self.hits();
        let said = self.gateway.call("url_fetch", arguments.clone());
        assert_eq!(said["code"], "invalid_arguments", "{arguments}: {said}");
        assert_eq!(said["problems"][0]["parameter"], "auth_profile", "{said}");
        for word in words {
            let error = said["error"].as_str().expect("an error");
            assert!(error.contains(word), "{word:?} for {arguments}: {error}");
        }
        assert_eq!(self.hits(), before, "{arguments} reached a server");
    }
}

/// `api` covers a part of the host with two methods, `whole` all of it with one.
fn profiles(right: &str) -> String {
    let profile = |id: &str, path: &str, rest: &str| {
        format!(
            "[[auth_profiles]]\nid = {id:?}\nurl = \"{right}{path}\"\nsecret = \"vault:service/api\"\n{rest}\n"
        )
    };
    [
        profile("api", "/v1", "methods = [\"GET\", \"post\"]"),
        profile(
            "whole",
            "/",
            "header = \"X-Service-Key\"\nformat = \"key={}\"",
        ),
        profile("lost", "/v1", "").replace("service/api", "nowhere"),
    ]
    .concat()
}

fn store(gateway: &Gateway) {
    let set = ["secret", "set", "service/api"];
    gateway.home.cli_with(&set, SECRET).ok();
}

fn answer(heard: &Heard) -> Reply {
    let target = heard.target.as_str();
    if target.starts_with(ECHO) {
        return echo(heard);
    }
    match target.split_once("to=") {
        Some((_, to)) => Reply::redirect(302, to),
        None => Reply::text("right"),
    }
}

/// A server that shows what it was sent in every place where an answer has room.
fn echo(heard: &Heard) -> Reply {
    let sent = heard.header("authorization").unwrap_or_default();
    let status = if heard.target.contains("fail") {
        500
    } else {
        200
    };
    let kind = match heard.target.contains("html") {
        true => "text/html".to_owned(),
        false => format!("text/plain; x=\"{sent}\""),
    };
    let body =
        format!("<title>{sent}</title><p>{sent}</p><a href=\"http://x.test/?{sent}\">{sent}</a>");
    Reply::new(status, &kind, body)
        .header("ETag", &format!("\"{sent}\""))
        .header(
            "Content-Disposition",
            &format!("attachment; filename={sent}"),
        )
        .header("X-Echo", sent)
}

fn bearer(heard: &Heard) -> bool {
    heard.header("authorization") == Some(&format!("Bearer {SECRET}"))
}

#[test]
fn a_secret_is_sent_where_it_belongs() {
    let stage = Stage::new();
    for path in [
        "/v1",
        "/v1/",
        "/v1/items",
        "/v1/items?page=2#top",
        "/x/../v1/items",
        "/%76%31/items",
        "/v1/a..b/...",
        "/v1/group%2Fproject",
    ] {
        let said = stage.fetch("api", &stage.right.url(path));
        assert_eq!(said["result"]["status"], 200, "{path}: {said}");
        assert!(bearer(&stage.right.last()), "{path}");
        let said = stage.fetch("whole", &stage.right.url(path));
        assert_eq!(said["result"]["status"], 200, "{path}: {said}");
        let key = format!("key={SECRET}");
        let last = stage.right.last();
        assert_eq!(last.header("x-service-key"), Some(key.as_str()), "{path}");
        assert_eq!(last.header("authorization"), None);
    }
    let post = json!({ "url": stage.right.url("/v1/x"), "method": "POST", "body": [1], "auth_profile": "api" });
    assert_eq!(stage.gateway.call("url_fetch", post)["ok"], true);
    assert!(bearer(&stage.right.last()) && stage.right.last().method == "POST");
    let saved =
        json!({ "url": stage.right.url("/v1/x"), "download_path": "x", "auth_profile": "api" });
    assert_eq!(stage.gateway.call("url_fetch", saved)["ok"], true);
    assert!(bearer(&stage.right.last()));
    let plain = json!({ "url": stage.right.url("/v1/x") });
    for tool in ["url_fetch", "tool::web_fetch"] {
        assert_eq!(stage.gateway.call(tool, plain.clone())["ok"], true);
        let text = stage.right.last().text();
        assert!(!text.contains(SECRET), "only where it is asked for: {text}");
    }
    let [_, other_port, other_host] = stage.hits();
    assert_eq!([other_port, other_host], [0, 0]);
}

#[test]
fn a_secret_goes_nowhere_else() {
    let stage = Stage::new();
    let port = stage.right.port();
    let at = |url: String| json!({ "url": url, "auth_profile": "api" });
    let by = |method: &str| json!({ "url": stage.right.url("/v1"), "method": method, "auth_profile": "api" });
    let table: [(Value, &str); 22] = [
        (
            at(format!("https://127.0.0.2:{port}/v1")),
            "the scheme is https, not http",
        ),
        (
            at(stage.other_host.url("/v1")),
            "the host is 127.0.0.3, not 127.0.0.2",
        ),
        (
            at(format!("http://127.0.0.4:{port}/v1")),
            "the host is 127.0.0.4",
        ),
        (
            at(format!("http://localhost:{port}/v1")),
            "the host is localhost",
        ),
        (
            at(format!("http://[::ffff:127.0.0.2]:{port}/v1")),
            "the host is",
        ),
        (at(stage.other_port.url("/v1")), "the port is"),
        (at("http://127.0.0.2/v1".to_owned()), "the port is 80"),
        (at(stage.right.url("/")), "not beneath /v1"),
        (at(stage.right.url("/v1x")), "not beneath /v1"),
        (at(stage.right.url("/V1")), "not beneath /v1"),
        (at(stage.right.url("/v2/v1")), "not beneath /v1"),
        (at(stage.right.url("//v1")), "not beneath /v1"),
        (at(stage.right.url("/?/v1")), "not beneath /v1"),
        (at(stage.right.url("/v1/../admin")), "not beneath /v1"),
        (at(stage.right.url("/v1/%2e%2E/admin")), "not beneath /v1"),
        (at(stage.right.url("/v1\\..\\admin")), "not beneath /v1"),
        (
            at(stage.right.url("/v1/..%2fadmin")),
            "write the path plainly",
        ),
        (
            at(stage.right.url("/v1/%252e%252e/admin")),
            "write the path plainly",
        ),
        (
            at(stage.right.url("/v1/..;/admin")),
            "write the path plainly",
        ),
        (by("PUT"), "the method is PUT, not GET or POST"),
        (by("PATCH"), "the method is PATCH"),
        (by("DELETE"), "the method is DELETE"),
    ];
    for (arguments, words) in table {
        stage.refuses(arguments, &["api", words]);
    }
    stage.refuses(
        json!({ "url": stage.right.url("/v1"), "auth_profile": "apis" }),
        &["there is no profile \"apis\"", "api, whole", "config.toml"],
    );
    let lost = stage.fetch("lost", &stage.right.url("/v1"));
    assert_eq!(lost["code"], "unavailable", "{lost}");
    assert_eq!(stage.hits(), [0, 0, 0]);
    assert_eq!(
        stage.fetch("api", &stage.right.url("/v1"))["ok"],
        true,
        "the control"
    );
    // The same for a secure place: not without TLS, and not without a trusted certificate.
    assert!(stage.right.heard().iter().all(bearer));
    let unknown = Gateway::with_config(LOOPBACK);
    let said = unknown.call(
        "url_fetch",
        json!({ "url": stage.right.url("/v1"), "auth_profile": "api" }),
    );
    let error = said["error"].as_str().expect("an error");
    assert!(error.contains("there are none"), "{error}");
    assert_eq!(stage.hits(), [1, 0, 0]);
}

#[test]
fn a_redirect_takes_no_secret_along() {
    let stage = Stage::new();
    let away = |path: &str, to: &str| stage.right.url(&format!("{path}?to={to}"));
    let same = stage.right.url("/next");
    // A profile for a part of a host: its requests follow nobody.
    for to in [
        "/v1/next",
        "/admin",
        "next",
        &stage.other_port.url("/v1"),
        &stage.other_host.url("/v1"),
    ] {
        let said = stage.fetch("api", &away("/v1", to));
        assert_eq!(said["code"], "failed", "{to}: {said}");
        let error = said["error"].as_str().expect("an error");
        assert!(error.contains("covers only a part of this host"), "{error}");
    }
    assert_eq!(stage.hits(), [5, 0, 0]);
    assert!(
        stage
            .right
            .heard()
            .iter()
            .all(|heard| heard.target.starts_with("/v1?to="))
    );
    // A profile for all of a host: within it the secret stays, beyond it it does not go.
    let said = stage.fetch("whole", &away("/", &same));
    assert_eq!(said["result"]["content"], "right", "{said}");
    assert!(stage.right.last().text().contains(SECRET), "the control");
    let port = stage.right.port();
    let twin = format!("http://127.0.0.4:{port}/twin");
    let back = format!("http://127.0.0.4:{port}/?to={same}");
    for to in [
        stage.other_port.url("/"),
        stage.other_host.url("/"),
        twin,
        back,
    ] {
        let before = stage.right.heard().len();
        let said = stage.fetch("whole", &away("/", &to));
        assert_eq!(said["result"]["status"], 200, "{to}: {said}");
        let heard = stage.right.heard().split_off(before);
        assert!(heard[0].text().contains(SECRET), "the control: {to}");
        let later = heard[1..].iter().map(Heard::text);
        let later: Vec<String> = later.filter(|text| text.contains(SECRET)).collect();
        assert!(later.is_empty(), "{to}: {later:?}");
    }
    for other in [&stage.other_port, &stage.other_host] {
        assert!(other.hits() > 0, "the redirect was followed");
        for heard in other.heard() {
            assert!(!heard.text().contains("s3cr3t"), "{heard:?}");
            assert!(
                !heard.header_names().contains(&"referer".to_owned()),
                "{heard:?}"
            );
        }
    }
}

#[test]
fn a_redirect_from_https_to_http_takes_no_secret_along() {
    let plain = Origin::on([127, 0, 0, 2], |_| Reply::text("plain"));
    let home = Home::new();
    let (tls, trusted) = certificate(&home);
    let to = plain.url("/");
    let secure = Origin::secure([127, 0, 0, 2], tls, move |_| Reply::redirect(302, &to));
    let place = format!("https://{}", secure.address());
    let home = home.with_config(&format!("{}{LOOPBACK}", profiles(&place)));
    let mut command = up(&home);
    command.env("SSL_CERT_FILE", trusted);
    let gateway = Gateway::from(home, command);
    store(&gateway);
    let fetch =
        |url: String| gateway.call("url_fetch", json!({ "url": url, "auth_profile": "whole" }));
    let said = fetch(format!("{place}/"));
    assert_eq!(said["result"]["content"], "plain", "{said}");
    assert!(secure.last().text().contains(SECRET), "the control");
    assert!(
        !plain.last().text().contains("s3cr3t"),
        "{:?}",
        plain.last()
    );
    let said = fetch(plain.url("/"));
    assert_eq!(said["code"], "invalid_arguments", "{said}");
    let said = fetch(format!("http://{}/", secure.address()));
    assert_eq!(said["code"], "invalid_arguments", "{said}");
    assert_eq!((plain.hits(), secure.hits()), (1, 1));
}

#[test]
fn the_model_never_sees_the_secret() {
    let stage = Stage::new();
    let gateway = &stage.gateway;
    let clean = |what: &str, text: &str| {
        assert!(!text.contains(SECRET), "the secret is in {what}: {text}");
        let escaped = SECRET
            .replace('/', "%2F")
            .replace('+', "%2B")
            .replace('=', "%3D");
        assert!(!text.contains(&escaped), "the secret is in {what}: {text}");
    };
    let table = [
        ("plain", json!({})),
        ("html", json!({})),
        ("html", json!({ "raw": true })),
        ("fail", json!({})),
        ("fail", json!({ "download_path": "failed" })),
        ("plain", json!({ "download_path": "saved" })),
        ("plain", json!({ "method": "POST", "body": "x" })),
        ("plain", json!({ "headers": { "User-Agent": SECRET } })),
        ("plain", json!({ "headers": { SECRET: "x" } })),
    ];
    for (kind, more) in table {
        let mut arguments = more;
        arguments["url"] = json!(stage.right.url(&format!("{ECHO}/{kind}?q={SECRET}")));
        arguments["auth_profile"] = json!("api");
        let said = gateway.call("url_fetch", arguments.clone());
        clean("an answer over HTTP", &said.to_string());
        let over_mcp = mcp::call(
            gateway,
            Era::Initialize,
            &gateway.owner,
            "url_fetch",
            &arguments,
        );
        clean("an answer over MCP", &over_mcp.to_string());
        let ran = gateway.cli(&["call", "url_fetch", &arguments.to_string()]);
        clean("an answer on the command line", &format!("{ran:?}"));
        let heard = stage.right.heard();
        assert!(heard.is_empty() || heard.iter().all(bearer), "the control");
    }
    assert!(stage.right.heard().len() >= 24, "the echo was met");
    for (tool, arguments) in [
        ("read_file", json!({ "path": "file_cache_dir/saved" })),
        ("gsv__ConfigGet", json!({})),
        ("gsv__ConfigGet", json!({ "path": "auth_profiles" })),
    ] {
        let said = gateway.call(tool, arguments);
        assert_eq!(said["ok"], true, "{said}");
        clean(tool, &said.to_string());
    }
    clean("the audit", &json!(gateway.audit()).to_string());
    let listed = gateway.cli(&["audit", "list", "--json"]).ok();
    clean("the audit's list", &listed.stdout);
    let metrics = gateway.get("/metrics").text();
    clean("the metrics", &metrics);
    clean("the log", &gateway.daemon.log.text());
}
