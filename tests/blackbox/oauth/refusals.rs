//! Servers and authorization servers that cannot be trusted: refused, and nothing kept.

use serde_json::{Value, json};

use super::provider::{Provider, begin, connections, secrets};
use crate::harness::Gateway;
use crate::http::Request;

/// That a login does not even begin, for this reason, and leaves nothing behind; then that it would
/// have but for that.
#[track_caller]
fn refuses(change: Value, undo: Value, why: &str) {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.control(json!({ "set": change }));
    let refused = gateway.post("/api/servers/prot/login", &json!({}));
    assert!(refused.status >= 400, "{}", refused.text());
    assert!(refused.text().contains(why), "{}", refused.text());
    nothing_kept(&gateway);
    let seen = provider.seen();
    assert_eq!(seen["registrations"], 0, "{seen}");
    assert!(!seen["hits"].to_string().contains("/elsewhere"), "{seen}");
    provider.control(json!({ "set": undo }));
    provider.log_in(&gateway);
}

#[track_caller]
fn nothing_kept(gateway: &Gateway) {
    assert_eq!(connections(gateway), json!([]));
    assert_eq!(secrets(gateway), json!([]));
}

#[test]
fn an_authorization_server_must_be_the_one_that_was_named() {
    refuses(
        json!({ "issuerMismatch": true }),
        json!({ "issuerMismatch": false }),
        "names another issuer",
    );
}

#[test]
fn a_server_speaks_for_itself_only() {
    let resource = "https://bank.example/mcp";
    refuses(
        json!({ "resource": resource }),
        json!({ "resource": null }),
        "its metadata is for",
    );
}

#[test]
fn an_authorization_server_without_https_is_refused() {
    refuses(
        json!({ "issuer": "http://login.example" }),
        json!({ "issuer": null }),
        "not https",
    );
}

#[test]
fn an_endpoint_without_https_is_refused() {
    let endpoint = "http://login.example/token";
    refuses(
        json!({ "tokenEndpoint": endpoint }),
        json!({ "tokenEndpoint": null }),
        "not https",
    );
}

#[test]
fn an_authorization_server_in_a_private_network_is_not_asked() {
    refuses(
        json!({ "issuer": "https://10.0.0.1" }),
        json!({ "issuer": null }),
        "not on the public internet",
    );
}

#[test]
fn metadata_at_the_address_of_clouds_are_not_asked_for() {
    let place = "https://169.254.169.254/latest/meta-data";
    refuses(
        json!({ "metadataUrl": place }),
        json!({ "metadataUrl": null }),
        "not on the public internet",
    );
}

#[test]
fn metadata_that_redirect_are_not_followed() {
    refuses(
        json!({ "redirects": true }),
        json!({ "redirects": false }),
        "redirects",
    );
}

#[test]
fn metadata_without_end_are_not_read() {
    refuses(
        json!({ "huge": true }),
        json!({ "huge": false }),
        "larger than",
    );
}

#[test]
fn an_authorization_server_must_bind_codes() {
    refuses(
        json!({ "noPkce": true }),
        json!({ "noPkce": false }),
        "S256",
    );
    refuses(
        json!({ "plainPkce": true }),
        json!({ "plainPkce": false }),
        "S256",
    );
}

#[test]
fn an_answer_of_another_authorization_server_is_refused() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.control(json!({ "set": { "wrongIss": "https://evil.example" } }));
    let page = provider.browse(&gateway, &begin(&gateway));
    assert_eq!(page.status, 400, "{}", page.text());
    assert!(page.text().contains("evil.example"), "{}", page.text());
    assert_eq!(connections(&gateway), json!([]));
    let told = gateway.get("/api/servers/prot/login").json();
    assert_eq!(told["result"]["state"], "failed", "{told}");
    // One that does not say who it is, though it promised to.
    provider.control(json!({ "set": { "wrongIss": null } }));
    let back = provider.consent(&begin(&gateway));
    let cut = back.split("&iss=").next().expect("a path");
    assert_eq!(gateway.send(&Request::get(cut)).status, 400);
    assert_eq!(connections(&gateway), json!([]));
    assert_eq!(provider.seen()["exchanges"], 0);
    provider.log_in(&gateway);
}

#[test]
fn a_state_is_good_once_and_cannot_be_made_up() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    let url = begin(&gateway);
    let back = provider.consent(&url);
    for made_up in [
        "/oauth/callback".to_owned(),
        "/oauth/callback?code=x".to_owned(),
        format!("/oauth/callback?code=x&state={}", "A".repeat(43)),
    ] {
        assert_eq!(
            gateway.send(&Request::get(&made_up)).status,
            400,
            "{made_up}"
        );
    }
    // Two of a kind is no answer of OAuth; the page says so in plain words.
    let twice = gateway.send(&Request::get("/oauth/callback?state=a&state=b"));
    assert_eq!(twice.status, 400);
    assert!(
        twice.text().contains("Start the login again"),
        "{}",
        twice.text()
    );
    assert!(!twice.text().contains("serialize"), "{}", twice.text());
    assert_eq!(gateway.send(&Request::get(&back)).status, 200);
    assert_eq!(gateway.send(&Request::get(&back)).status, 400);
    assert_eq!(provider.seen()["exchanges"], 1);
    assert_eq!(connections(&gateway).as_array().map(Vec::len), Some(1));
}

#[test]
fn a_login_ends_with_the_token_that_began_it() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    let (second, id) = gateway.token(json!({ "name": "second", "role": "owner" }));
    let begin_as = |token: &str| {
        let request = Request::post("/api/servers/prot/login", &json!({})).bearer(token);
        let begun = gateway.send(&request).json();
        begun["result"]["url"]
            .as_str()
            .expect("an address")
            .to_owned()
    };
    let back = provider.consent(&begin_as(&second));
    let revoke = Request::new("DELETE", &format!("/api/tokens/{id}")).bearer(&gateway.owner);
    assert_eq!(gateway.send(&revoke).status, 200);
    assert_eq!(gateway.send(&Request::get(&back)).status, 403);
    assert_eq!(connections(&gateway), json!([]));
    assert_eq!(provider.seen()["exchanges"], 0);
    let page = provider.browse(&gateway, &begin_as(&gateway.owner));
    assert_eq!(page.status, 200, "{}", page.text());
}

#[test]
fn a_declined_consent_is_reported() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.control(json!({ "set": { "deny": true } }));
    let page = provider.browse(&gateway, &begin(&gateway));
    assert_eq!(page.status, 400);
    assert!(page.text().contains("access_denied"), "{}", page.text());
    assert_eq!(connections(&gateway), json!([]));
    let back = provider.consent(&begin(&gateway));
    let script = back.replace(
        "error=access_denied",
        "error=%3Cscript%3Ealert(1)%3C/script%3E",
    );
    let page = gateway.send(&Request::get(&script));
    assert!(!page.text().contains("<script"), "{}", page.text());
    provider.control(json!({ "set": { "deny": false } }));
    provider.log_in(&gateway);
}
