//! How a browser comes in, and what it is held to.

use serde_json::json;

use crate::harness::Gateway;
use crate::http::Request;

/// The cookie that a link brings.
fn log_in(gateway: &Gateway) -> (String, String) {
    let link = gateway.post("/api/session/link", &json!({})).json();
    let path = link["result"]["path"].as_str().expect("a link").to_owned();
    let came = gateway.send(&Request::get(&path));
    assert_eq!(came.status, 303, "{}", came.text());
    assert_eq!(came.header("location"), Some("/"));
    let cookie = came.header("set-cookie").expect("a cookie").to_owned();
    (path, cookie)
}

#[test]
fn a_link_logs_one_browser_in_and_no_second_one() {
    let gateway = Gateway::start();
    let (path, cookie) = log_in(&gateway);
    for wanted in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(wanted), "{cookie}");
    }
    assert_eq!(gateway.send(&Request::get(&path)).status, 401, "used up");
    let guessed = gateway.send(&Request::get("/login?code=00"));
    assert_eq!(guessed.status, 401);
    assert_eq!(guessed.json()["code"], "unauthenticated");
    let person = Request::get("/login?code=00").header("Accept", "text/html");
    let told = gateway.send(&person);
    assert_eq!(told.status, 401, "{}", told.text());
    assert!(told.header("set-cookie").is_none());
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    let session = Request::get("/api/session");
    assert_eq!(gateway.send(&session).status, 401, "without the cookie");
    let session = gateway.send(&Request::get("/api/session").header("Cookie", &cookie));
    assert_eq!(session.status, 200);
    assert_eq!(session.json()["result"]["owner"], true);
}

#[test]
fn a_cookie_changes_nothing_unless_the_page_itself_asks() {
    let gateway = Gateway::start();
    let (_, cookie) = log_in(&gateway);
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    let write = || {
        let body = json!({ "path": "memory/a.md", "content": "hi" });
        Request::post("/api/tools/gsv__WriteFile", &body).header("Cookie", &cookie)
    };
    assert_eq!(gateway.send(&write()).status, 401, "from nowhere");
    let foreign = write().header("Origin", "https://evil.example");
    assert_eq!(gateway.send(&foreign).status, 403);
    let own = write().header("Sec-Fetch-Site", "same-origin");
    assert_eq!(gateway.send(&own).status, 200, "from the page");
    let elsewhere = Request::post("/mcp", &json!({})).header("Cookie", &cookie);
    assert_eq!(
        gateway.send(&elsewhere).status,
        401,
        "it counts for the page only"
    );
}

#[test]
fn taking_its_token_back_logs_a_browser_out() {
    let gateway = Gateway::start();
    let (_, cookie) = log_in(&gateway);
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    let ask = |request: Request| gateway.send(&request.header("Cookie", &cookie));
    assert_eq!(ask(Request::get("/api/session")).status, 200);
    let out = Request::post("/api/session/logout", &json!({}));
    let out = ask(out.header("Sec-Fetch-Site", "same-origin"));
    assert_eq!(out.status, 200, "{}", out.text());
    assert_eq!(ask(Request::get("/api/session")).status, 401);
}
