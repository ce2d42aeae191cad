//! How a browser logs in, and that nothing it sends by itself is worth anything to others.

use serde_json::{Value, json};

use crate::harness::{Gateway, tree};
use crate::http::{Request, Response};
use crate::mcp::{self, Era};
use crate::socket::{Socket, hello};

/// The code of a fresh login link.
#[track_caller]
fn code(gateway: &Gateway) -> String {
    let link = gateway.post("/api/session/link", &json!({})).json();
    let path = link["result"]["path"].as_str().expect("a link").to_owned();
    let code = path.strip_prefix("/login#code=");
    code.unwrap_or_else(|| panic!("{path}")).to_owned()
}

/// What the page sends to log in.
fn login(code: &str) -> Request {
    Request::post("/api/session/login", &json!({ "code": code }))
}

/// The token of a new browser session.
#[track_caller]
fn log_in(gateway: &Gateway) -> String {
    let said = gateway.send(&login(&code(gateway)));
    assert_eq!(said.status, 200, "{}", said.text());
    let token = said.json()["result"]["token"].clone();
    token.as_str().expect("a token").to_owned()
}

fn session(gateway: &Gateway, token: &str) -> Response {
    gateway.send(&Request::get("/api/session").bearer(token))
}

/// Every token with its state, but not when it was last used.
fn tokens(gateway: &Gateway) -> Vec<(Value, Value)> {
    let listed = gateway.get("/api/tokens").json();
    let listed = listed["result"]["tokens"].as_array().expect("tokens");
    let kept = listed.iter();
    kept.map(|one| (one["id"].clone(), one["state"].clone()))
        .collect()
}

#[test]
fn a_link_logs_one_browser_in_and_no_second_one() {
    let gateway = Gateway::start();
    let code = code(&gateway);
    // What stands behind the # is no part of what a browser asks for, and a program that previews links,
    // even one that sends the code, does not use it up.
    for path in ["/login".to_owned(), format!("/login?code={code}")] {
        let page = gateway.send(&Request::get(&path).header("Accept", "text/html"));
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.header("set-cookie"), None, "{path}");
    }
    let came = gateway.send(&login(&code));
    assert_eq!(came.status, 200, "{}", came.text());
    assert_eq!(came.header("cache-control"), Some("no-store"));
    assert_eq!(came.header("set-cookie"), None);
    let came = came.json();
    assert!(came["result"]["expiresAt"].is_string(), "{came}");
    let token = came["result"]["token"].as_str().expect("a token");
    let who = session(&gateway, token);
    assert_eq!(who.status, 200, "{}", who.text());
    assert_eq!(who.json()["result"]["owner"], true);
    assert_eq!(gateway.send(&Request::get("/api/session")).status, 401);

    let before = tokens(&gateway);
    for wrong in [code.as_str(), "00", ""] {
        let said = gateway.send(&login(wrong));
        assert_eq!(said.status, 401, "{wrong:?}: {}", said.text());
        assert_eq!(said.json()["code"], "unauthenticated", "{wrong:?}");
    }
    assert_eq!(tokens(&gateway), before, "no session was opened");
    let recorded = gateway.audit();
    let logins = recorded.iter().filter(|one| one["tool"] == "page.login");
    assert_eq!(logins.count(), 1, "one login is in the audit");
}

#[test]
fn the_guide_needs_no_token_and_is_served_to_own_hosts_only() {
    let gateway = Gateway::start();
    let ask = |path: &str| gateway.send(&Request::get(path));
    let moved = ask("/docs");
    assert_eq!(
        (moved.status, moved.header("location")),
        (308, Some("docs/"))
    );
    // It is there exactly when the page was built; either way nobody is asked for a token.
    let is_built = ask("/").text().contains("<html");
    let guide = ask("/docs/");
    assert_eq!(guide.status, if is_built { 200 } else { 404 });
    if is_built {
        let policy = guide.header("content-security-policy");
        assert!(policy.expect("a policy").contains("script-src 'self'"));
    }
    for path in [
        "/docs/nothing.html",
        "/docs/../index.html",
        "/docs/%2e%2e/index.html",
    ] {
        assert_eq!(ask(path).status, 404, "{path}");
    }
    let foreign = Request::get("/docs/").header("Host", "evil.example");
    assert_eq!(gateway.send(&foreign).status, 403);
}

/// One request to every operation of the gateway's own document that needs a token, and to the other interfaces.
fn everything(gateway: &Gateway) -> Vec<(String, Request)> {
    let document = gateway.get("/api/openapi.json").json();
    let paths = document["paths"].as_object().expect("paths");
    let closed = |said: &Value| said["security"] != json!([]);
    let mut all = Vec::new();
    for (path, methods) in paths {
        for (method, said) in methods.as_object().expect("methods") {
            // Every tool is the same route, which is in the document by itself too.
            let one_tool = path.starts_with("/api/tools/") && !path.contains('{');
            if one_tool || !closed(said) {
                continue;
            }
            let parts = path.split('/').map(|part| match part.starts_with('{') {
                true => "gsv__ReadFile",
                false => part,
            });
            let address = parts.collect::<Vec<_>>().join("/");
            let verb = method.to_uppercase();
            let request = match verb.as_str() {
                "GET" => Request::get(&address),
                _ => Request::new(&verb, &address).json(&json!({})),
            };
            all.push((format!("{verb} {path}"), request));
        }
    }
    for era in [Era::Initialize, Era::Stateless] {
        let list = mcp::request(era, "tools/list", json!({}), None);
        all.push((format!("/mcp {era:?}"), list));
    }
    let one = Request::post(
        "/mcp/any",
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
    );
    all.push(("/mcp/any".to_owned(), one));
    all
}

/// What somebody sends who is no browser, and claims whatever helps.
fn claims(gateway: &Gateway) -> Vec<Vec<(&'static str, String)>> {
    let (own, host) = (gateway.url.clone(), gateway.addr.to_string());
    let fetch = |mode: &str, to: &str| {
        vec![
            ("Sec-Fetch-Site", "same-origin".to_owned()),
            ("Sec-Fetch-Mode", mode.to_owned()),
            ("Sec-Fetch-Dest", to.to_owned()),
            ("Referer", format!("{own}/")),
        ]
    };
    let mut from_page = fetch("cors", "empty");
    from_page.push(("Origin", own.clone()));
    let mut forwarded = from_page.clone();
    forwarded.push(("X-Forwarded-For", "127.0.0.1".to_owned()));
    forwarded.push(("Forwarded", format!("for=127.0.0.1;host={host};proto=http")));
    vec![
        Vec::new(),
        fetch("navigate", "document"),
        from_page,
        forwarded,
    ]
}

/// What a browser sends to every port of 127.0.0.1: nothing, as the gateway sets no cookie. Nor may a cookie help that
/// holds a valid token, under the name it once had or any other.
fn jars(gateway: &Gateway, token: &str) -> Vec<String> {
    let port = gateway.addr.port();
    let own = format!("manyhands-{port}");
    let names = [
        "manyhands",
        &own,
        "manyhands.session",
        "session",
        "token",
        "Authorization",
    ];
    let all = |token: &str| {
        let each = names.iter().map(|name| format!("{name}={token}"));
        each.collect::<Vec<_>>().join("; ")
    };
    let before = format!("manyhands={}", gateway.owner);
    vec![String::new(), all(token), all(&gateway.owner), before]
}

/// Sends it all with these headers; how many attempts that were.
#[track_caller]
fn attack(gateway: &Gateway, all: &[(String, Request)], sent: &[(&str, &str)]) -> usize {
    for (route, request) in all {
        let mut request = request.clone();
        for (name, value) in sent {
            request = request.header(name, value);
        }
        let said = gateway.send(&request);
        assert_eq!(said.status, 401, "{route} with {sent:?}: {}", said.text());
        assert_eq!(said.header("set-cookie"), None, "{route}");
    }
    let mut socket = Socket::open(gateway.addr, sent).expect("a socket");
    let said = socket.request("connect", hello(None));
    assert_eq!(said["error"]["code"], 401, "{sent:?}: {said}");
    assert_eq!(socket.closed().code, Some(4001), "{sent:?}");
    all.len() + 1
}

#[test]
fn what_a_neighbouring_server_gets_from_a_browser_opens_nothing() {
    let gateway = Gateway::start();
    let token = log_in(&gateway);
    for path in ["/", "/login", "/mark.svg", "/api/session"] {
        let said = gateway.send(&Request::get(path).bearer(&token));
        assert_eq!(
            said.header("set-cookie"),
            None,
            "{path}: there is nothing to send"
        );
    }
    let all = everything(&gateway);
    assert!(all.len() > 100, "{}", all.len());
    let records = || {
        let config = gateway.get("/api/config").json();
        (
            gateway.audit().len(),
            tokens(&gateway),
            tree(&gateway.home.blob("")),
            config,
        )
    };
    let before = records();
    let mut tried = 0;
    for claim in claims(&gateway) {
        for cookies in jars(&gateway, &token) {
            let mut sent: Vec<(&str, &str)> = claim
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            if !cookies.is_empty() {
                sent.push(("Cookie", &cookies));
            }
            tried += attack(&gateway, &all, &sent);
        }
    }
    assert!(tried > 1_600, "{tried}");
    assert_eq!(records(), before, "nothing changed, and nothing was called");
    works(&gateway, &all, &token);
}

/// The page itself: everything it asks for is there, and it may write.
#[track_caller]
fn works(gateway: &Gateway, all: &[(String, Request)], token: &str) {
    let own = |request: Request| {
        let request = request.bearer(token).header("Origin", &gateway.url);
        gateway.send(&request.header("Sec-Fetch-Site", "same-origin"))
    };
    let plain = |route: &str| route.starts_with("GET ") && !route.contains('{');
    let mut answered = 0;
    for (route, request) in all.iter().filter(|(route, _)| plain(route)) {
        let status = own(request.clone()).status;
        // 400: it wants a parameter.
        assert!([200, 400].contains(&status), "{route}: {status}");
        answered += usize::from(status == 200);
    }
    assert!(answered > 20, "{answered}");
    let write = json!({ "path": "memory/page.md", "content": "from the page" });
    let write = Request::post("/api/tools/gsv__WriteFile", &write);
    assert_eq!(own(write).status, 200);
    let written = gateway.read("memory/page.md");
    assert_eq!(written.as_deref(), Some("from the page"));
    let origin = [("Origin", gateway.url.as_str())];
    let mut socket = Socket::open(gateway.addr, &origin).expect("a socket");
    let said = socket.request("connect", hello(Some(token)));
    assert_eq!(said["ok"], true, "{said}");
}

#[test]
fn logging_out_revokes_the_session_and_no_other_token() {
    let gateway = Gateway::start();
    let (one, other) = (log_in(&gateway), log_in(&gateway));
    let mut socket = Socket::connect(gateway.addr, &one);
    let log_out =
        |token: &str| gateway.send(&Request::post("/api/session/logout", &json!({})).bearer(token));
    let out = log_out(&one);
    assert_eq!(out.status, 200, "{}", out.text());
    assert_eq!(out.json()["result"]["loggedOut"], true);
    assert_eq!(session(&gateway, &one).status, 401);
    assert_eq!(socket.closed().code, Some(4001), "its open socket too");
    assert_eq!(
        session(&gateway, &other).status,
        200,
        "another browser stays logged in"
    );
    // A token that somebody made is no browser session, whatever it is called.
    let (named, _) =
        gateway.token(json!({ "name": "browser 2025-01-01T00:00:00.000Z", "role": "owner" }));
    for token in [named.as_str(), gateway.owner.as_str()] {
        assert_eq!(log_out(token).json()["result"]["loggedOut"], false);
        assert_eq!(session(&gateway, token).status, 200);
    }
}

#[test]
fn a_session_outlives_a_restart_and_ends_when_it_is_revoked() {
    let gateway = Gateway::start();
    let (token, gone) = (log_in(&gateway), log_in(&gateway));
    let unused = code(&gateway);
    let out = Request::post("/api/session/logout", &json!({})).bearer(&gone);
    assert_eq!(gateway.send(&out).status, 200);
    let gateway = gateway.restart();
    assert_eq!(session(&gateway, &token).status, 200);
    assert_eq!(session(&gateway, &gone).status, 401);
    assert_eq!(
        gateway.send(&login(&unused)).status,
        401,
        "links end with the process"
    );
    let listed = gateway.get("/api/tokens").json();
    let listed = listed["result"]["tokens"].as_array().expect("tokens");
    let live = listed
        .iter()
        .find(|one| one["state"] == "active" && one["expiresAt"].is_string());
    let id = live.expect("the session")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    gateway.cli(&["token", "revoke", &id]).ok();
    assert_eq!(session(&gateway, &token).status, 401);
}
