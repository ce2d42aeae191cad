//! Renewing a login at an authorization server that hangs, breaks off or forgets.

use serde_json::{Value, json};

use super::provider::{Provider, begin, connections, echo};
use crate::harness::{Gateway, eventually};
use crate::http::Request;

/// Logs in with tokens that are due for renewal half a life before they end, and calls until a
/// renewal has reached the authorization server.
#[track_caller]
fn until_renewed_ahead(provider: &Provider, gateway: &Gateway) {
    provider.control(json!({ "set": { "expiresIn": 6 } }));
    provider.log_in(gateway);
    eventually("a renewal is under way", || {
        assert_eq!(echo(gateway, "x")["ok"], true);
        provider.seen()["refreshes"] == 1
    });
}

#[track_caller]
fn assert_over(said: &Value) {
    assert_eq!(said["ok"], false, "{said}");
    let text = said.to_string();
    assert!(text.contains("manyhands mcp login prot"), "{said}");
    assert!(text.contains("did not answer"), "{said}");
}

#[test]
fn a_hung_renewal_blocks_no_call_whose_token_still_holds() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.control(json!({ "set": { "hangs": true } }));
    until_renewed_ahead(&provider, &gateway);
    // It still hangs, and whoever calls is not kept waiting for it.
    for _ in 0..5 {
        assert_eq!(echo(&gateway, "x")["ok"], true);
    }
    let seen = provider.seen();
    assert_eq!(
        (&seen["hanging"], &seen["refreshes"]),
        (&json!(1), &json!(1))
    );
    provider.control(json!({ "cut": true }));
}

#[test]
fn a_refresh_token_of_unknown_fate_is_not_sent_again() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.control(json!({ "set": { "drops": true } }));
    until_renewed_ahead(&provider, &gateway);
    provider.control(json!({ "set": { "drops": false } }));
    // The access token is used for as long as it holds, and the refresh token no more.
    assert_eq!(echo(&gateway, "x")["ok"], true);
    assert_eq!(provider.seen()["refreshes"], 1);
    provider.control(json!({ "expire": true }));
    assert_over(&echo(&gateway, "x"));
    let account = connections(&gateway)[0].clone();
    assert_eq!(account["status"], "error", "{account}");
    assert!(
        account["detail"].to_string().contains("mcp login prot"),
        "{account}"
    );
    let gateway = gateway.restart();
    assert_over(&echo(&gateway, "x"));
    assert_eq!(provider.seen()["refreshes"], 1);
    provider.log_in(&gateway);
    assert_eq!(echo(&gateway, "x")["ok"], true);
}

#[test]
fn a_crash_during_a_renewal_does_not_send_the_refresh_token_again() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.log_in(&gateway);
    provider.control(json!({ "expire": true, "set": { "hangs": true } }));
    let wanted = json!({ "text": "x" });
    let call = Request::post("/api/tools/prot__echo", &wanted).bearer(&gateway.owner);
    let addr = gateway.addr;
    let caller = std::thread::spawn(move || call.try_send(addr).is_err());
    eventually("the renewal was sent", || provider.seen()["hanging"] == 1);
    let home = gateway.kill9();
    assert!(caller.join().expect("the caller"), "it got no answer");
    provider.control(json!({ "set": { "hangs": false } }));
    let gateway = Gateway::on(home);
    assert_over(&echo(&gateway, "x"));
    assert_eq!(provider.seen()["refreshes"], 1);
}

#[test]
fn a_server_that_keeps_refresh_tokens_is_asked_again() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.control(json!({ "set": { "keepsRefresh": true } }));
    provider.log_in(&gateway);
    provider.control(json!({ "expire": true }));
    assert_eq!(echo(&gateway, "x")["ok"], true);
    // What it was seen to do is on disk.
    let gateway = gateway.restart();
    provider.control(json!({ "expire": true, "set": { "drops": true } }));
    let failed = echo(&gateway, "x");
    assert_eq!(failed["ok"], false, "{failed}");
    assert!(!failed.to_string().contains("mcp login"), "{failed}");
    provider.control(json!({ "set": { "drops": false } }));
    eventually("it works again", || echo(&gateway, "x")["ok"] == true);
    provider.seen();
}

#[test]
fn a_client_that_the_server_has_forgotten_is_registered_again() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    // A login that was given up is no reason for another client.
    begin(&gateway);
    provider.log_in(&gateway);
    assert_eq!(provider.seen()["registrations"], 1);
    for (vague, again) in [(json!(null), 2), (json!("invalid_request"), 3)] {
        provider.control(json!({ "forget": true, "set": { "forgetful": true, "vague": vague } }));
        // The browser sees the server's error and never comes back.
        let url = begin(&gateway);
        let path = url.strip_prefix(&provider.url()).expect("its own address");
        assert_eq!(Request::get(path).send(provider.addr).status, 400);
        let gateway = &gateway;
        provider.log_in(gateway);
        assert_eq!(provider.seen()["registrations"], again);
        assert_eq!(echo(gateway, "x")["ok"], true);
    }
}

#[test]
fn a_refresh_token_is_asked_for_with_consent() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.log_in(&gateway);
    provider.control(json!({ "set": { "offline": true } }));
    provider.log_in(&gateway);
    let seen = provider.seen();
    assert_eq!(seen["prompts"], json!([null, "consent"]));
    assert_eq!(seen["scopes"], json!(["tools", "tools offline_access"]));
    provider.control(json!({ "expire": true }));
    assert_eq!(echo(&gateway, "x")["ok"], true);
    assert_eq!(provider.seen()["refreshes"], 1);
}

#[test]
fn a_client_is_registered_for_what_it_asks_for() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.control(json!({ "set": { "strictScopes": true } }));
    provider.log_in(&gateway);
    let refused = gateway.call("prot__admin", json!({}));
    assert_eq!(refused["ok"], false, "{refused}");
    provider.log_in(&gateway);
    assert_eq!(gateway.call("prot__admin", json!({}))["ok"], true);
    let seen = provider.seen();
    assert_eq!(
        seen["registrations"], 1,
        "it was registered for all there is"
    );
    // One that takes no scopes is asked without them.
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.control(json!({ "set": { "unscoped": true } }));
    provider.log_in(&gateway);
    assert_eq!(provider.seen()["registrations"], 2);
    // What is wrong with a client otherwise is said.
    provider.control(json!({ "forget": true, "set": { "noRegistration": true } }));
    begin(&gateway);
    let refused = gateway.post("/api/servers/prot/login", &json!({})).json();
    assert!(
        refused
            .to_string()
            .contains("did not register a client (HTTP 403)"),
        "{refused}"
    );
}
