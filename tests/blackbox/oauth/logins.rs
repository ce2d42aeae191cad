//! Logging in, and staying logged in.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::provider::{Provider, begin, connections, echo, offered};
use crate::harness::Home;
use crate::http::Request;
use crate::tls::Certificate;

#[test]
fn a_login_from_the_command_line_opens_an_account_that_is_used() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    let before = gateway.get("/api/servers/prot/login").json();
    assert_eq!(before["result"]["state"], "none");
    let mut command = gateway.command();
    command.args(["mcp", "login", "prot"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("the command");
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    output.read_line(&mut line).expect("the address");
    assert_eq!(
        gateway.get("/api/servers/prot/login").json()["result"]["state"],
        "waiting"
    );
    let page = provider.browse(&gateway, line.trim());
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(page.text().contains("Logged in"), "{}", page.text());
    assert!(!page.text().contains("<script"), "{}", page.text());
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let ended = child.wait_with_output().expect("its end");
    assert!(ended.status.success(), "{ended:?}");
    offered(&gateway);
    let said = echo(&gateway, "hello");
    assert!(said.to_string().contains("echo: hello"), "{said}");
    let all = connections(&gateway);
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
    assert_eq!(
        (&all[0]["kind"], &all[0]["status"]),
        (&json!("oauth"), &json!("connected"))
    );
    let seen = provider.seen();
    assert_eq!(
        (&seen["exchanges"], &seen["registrations"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(seen["scopes"], json!(["tools"]));
    let out = gateway.cli(&["mcp", "logout", "prot"]).ok();
    assert!(out.stdout.contains("logged out"), "{out:?}");
    assert_eq!(connections(&gateway), json!([]));
    let seen = provider.seen();
    assert_eq!((&seen["revoked"], &seen["live"]), (&json!(1), &json!(0)));
}

#[test]
fn a_login_outlives_the_gateway_and_registers_once() {
    let provider = Provider::start();
    let gateway = provider.gateway("listen = \"127.0.0.1:0\"");
    provider.log_in(&gateway);
    let gateway = gateway.restart();
    let said = echo(&gateway, "again");
    assert!(said.to_string().contains("echo: again"), "{said}");
    let seen = provider.seen();
    assert_eq!(
        (&seen["exchanges"], &seen["refreshes"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(seen["registrations"], 1);
}

#[test]
fn many_calls_with_a_refused_token_renew_it_once() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.log_in(&gateway);
    provider.control(json!({ "reset": true, "expire": true }));
    call_together(&gateway, 50);
    let seen = provider.seen();
    assert_eq!(seen["refreshes"], 1, "{seen}");
    assert_eq!(seen["calls"], 50, "{seen}");
}

#[test]
fn many_calls_with_an_old_token_renew_it_once_before_it_is_shown() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.log_in(&gateway);
    // The next token is due for renewal as soon as it is there.
    provider.control(json!({ "expire": true, "set": { "expiresIn": 0 } }));
    assert_eq!(echo(&gateway, "x")["ok"], true);
    let before = provider.seen();
    let due = before["shown"].as_array().and_then(|shown| shown.last());
    let due = due.expect("the token that is due").clone();
    provider.control(json!({ "reset": true, "set": { "expiresIn": 3600 } }));
    call_together(&gateway, 50);
    let seen = provider.seen();
    // None if the renewal in the background was under way already when the counts were reset.
    assert!(seen["refreshes"].as_u64().expect("a count") <= 1, "{seen}");
    let shown = seen["shown"].as_array().expect("a list");
    assert_eq!(shown.len(), 50, "{seen}");
    assert!(shown.iter().all(|one| *one == shown[0]), "{seen}");
    assert_ne!(shown[0], due, "it was renewed before it was shown");
}

fn call_together(gateway: &crate::harness::Gateway, many: usize) {
    let (addr, owner) = (gateway.addr, gateway.owner.as_str());
    let call = |number: usize| {
        let wanted = json!({ "text": number.to_string() });
        let request = Request::post("/api/tools/prot__echo", &wanted).bearer(owner);
        request.send(addr).json()
    };
    let call = &call;
    std::thread::scope(|scope| {
        let calls = (0..many).map(|number| scope.spawn(move || call(number)));
        let calls: Vec<_> = calls.collect();
        for call in calls {
            let said = call.join().expect("an answer");
            assert_eq!(said["ok"], true, "{said}");
        }
    });
}

#[test]
fn a_renewed_login_is_on_disk_before_it_is_used() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.log_in(&gateway);
    provider.control(json!({ "expire": true }));
    assert_eq!(echo(&gateway, "x")["ok"], true);
    let home = gateway.kill9();
    let gateway = crate::harness::Gateway::on(home);
    provider.control(json!({ "reset": true, "expire": true }));
    // The refresh token of the login was used up before the end: only the one that came for it is good.
    assert_eq!(echo(&gateway, "y")["ok"], true);
    assert_eq!(provider.seen()["refreshes"], 1);
}

#[test]
fn a_revoked_login_is_reported_with_a_remedy_and_not_retried() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.log_in(&gateway);
    provider.control(json!({ "reset": true, "expire": true, "revoke": true }));
    let first = echo(&gateway, "x");
    assert_eq!(first["ok"], false, "{first}");
    assert!(
        first.to_string().contains("manyhands mcp login prot"),
        "{first}"
    );
    let account = connections(&gateway)[0].clone();
    assert_eq!(account["status"], "error", "{account}");
    assert!(
        account["detail"].to_string().contains("mcp login prot"),
        "{account}"
    );
    for _ in 0..3 {
        assert_eq!(echo(&gateway, "x")["ok"], false);
    }
    assert_eq!(provider.seen()["refreshes"], 1);
    provider.log_in(&gateway);
    assert_eq!(echo(&gateway, "x")["ok"], true);
    let all = connections(&gateway);
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
    assert_eq!(all[0]["status"], "connected");
}

#[test]
fn an_authorization_server_that_is_down_ends_no_login() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.log_in(&gateway);
    provider.control(json!({ "expire": true, "set": { "refreshFails": 503 } }));
    let failed = echo(&gateway, "x");
    assert_eq!(failed["ok"], false, "{failed}");
    provider.control(json!({ "set": { "refreshFails": null } }));
    crate::harness::eventually("it works again", || echo(&gateway, "x")["ok"] == true);
    provider.seen();
}

#[test]
fn additional_scopes_are_requested_at_the_next_login() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.log_in(&gateway);
    let refused = gateway.call("prot__admin", json!({}));
    assert_eq!(refused["ok"], false, "{refused}");
    assert!(refused.to_string().contains("mcp login prot"), "{refused}");
    assert_eq!(echo(&gateway, "x")["ok"], true);
    provider.log_in(&gateway);
    let seen = provider.seen();
    assert_eq!(seen["scopes"], json!(["tools", "tools admin"]));
    let done = gateway.call("prot__admin", json!({}));
    assert_eq!(done["ok"], true, "{done}");
    // Every later login asks for it too, also of another process.
    let gateway = gateway.restart();
    provider.log_in(&gateway);
    assert_eq!(provider.seen()["scopes"][2], "tools admin");
    let done = gateway.call("prot__admin", json!({}));
    assert_eq!(done["ok"], true, "{done}");
    // A server that wants what its authorization server does not know spoils one login, not all.
    let back = provider.consent(&begin(&gateway));
    let refused = back.replace("code=", "error=invalid_scope&x=");
    assert_eq!(gateway.send(&Request::get(&refused)).status, 400);
    provider.log_in(&gateway);
    assert_eq!(provider.seen()["scopes"][4], "tools");
}

#[test]
fn a_server_works_again_as_soon_as_somebody_is_logged_in() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    let state = || {
        let listed = gateway.cli(&["mcp", "list", "--json"]).ok().json();
        listed["servers"][0].clone()
    };
    let tested = gateway.cli(&["mcp", "test", "prot"]);
    assert_eq!(tested.code, Some(1), "{tested:?}");
    assert_eq!(state()["state"], "failing", "{}", state());
    // Also of a server that takes its time: the tools are there before the page is.
    provider.control(json!({ "set": { "slow": 400 } }));
    provider.log_in(&gateway);
    assert_eq!(state()["state"], "ready", "{}", state());
    assert_eq!(state()["problem"], json!(null), "{}", state());
    gateway.cli(&["mcp", "test", "prot"]).ok();
}

#[test]
fn a_call_names_its_account() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.log_in(&gateway);
    let more = gateway
        .post("/api/servers/prot/login", &json!({ "name": "work" }))
        .json();
    let url = more["result"]["url"]
        .as_str()
        .expect("an address")
        .to_owned();
    assert_eq!(provider.browse(&gateway, &url).status, 200);
    let accounts = connections(&gateway);
    provider.control(json!({ "reset": true }));
    let mut shown = Vec::new();
    for account in accounts.as_array().expect("a list") {
        let pcid = account["pcid"].as_str().expect("an id");
        let call = [
            "call",
            "--connection",
            pcid,
            "prot__echo",
            "{\"text\":\"x\"}",
        ];
        let said = gateway.cli(&call).ok();
        assert!(said.stdout.contains("echo: x"), "{said:?}");
        assert!(!said.stdout.contains("used the connection"), "{said:?}");
        shown.push(
            provider.seen()["shown"]
                .as_array()
                .and_then(|all| all.last().cloned()),
        );
    }
    assert_eq!(shown.len(), 2);
    assert_ne!(shown[0], shown[1], "each has a token of its own");
    for (args, why) in [
        (
            ["call", "--connection", "nobody", "prot__echo"],
            "no connection",
        ),
        (
            ["call", "--connection", "nobody", "gsv__ReadFile"],
            "does not use connections",
        ),
        (["call", "--connection", "nobody", "gateway_invoke"], "PCID"),
    ] {
        let refused = gateway.cli(&args);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stdout.contains(why), "{refused:?}");
    }
}

#[test]
fn a_private_certificate_authority_is_trusted_where_the_settings_say_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let certificate = Certificate::new(dir.path());
    let own = format!(
        "[egress]\nca_file = {:?}\nallow_private = [\"127.0.0.0/8\", \"::1/128\"]\n",
        certificate.cert
    );
    let provider = Provider::start_tls(certificate);
    let stranger = provider.gateway("");
    let refused = stranger.post("/api/servers/prot/login", &json!({})).json();
    assert!(refused.to_string().contains("certificate"), "{refused}");
    let gateway = provider.gateway(&own);
    provider.log_in(&gateway);
    provider.control(json!({ "expire": true }));
    let said = echo(&gateway, "by https");
    assert!(said.to_string().contains("echo: by https"), "{said}");
    // What agents fetch, too.
    let jwks = json!({ "url": format!("{}/jwks", provider.url()) });
    let fetched = gateway.call("url_fetch", jwks);
    assert_eq!(fetched["ok"], true, "{fetched}");
    assert!(fetched.to_string().contains("kty"), "{fetched}");
    // A file that is none keeps the gateway from starting, and says which.
    std::fs::write(dir.path().join("none.pem"), "no certificate").expect("a file");
    let none = dir.path().join("none.pem");
    let home = Home::new().with_config(&format!("[egress]\nca_file = {none:?}\n"));
    let failed = home.cli(&["up", "--listen", "127.0.0.1:0"]);
    assert_ne!(failed.code, Some(0));
    assert!(failed.stderr.contains("egress.ca_file"), "{failed:?}");
}

#[test]
fn a_client_of_the_settings_shows_its_secret() {
    let provider = Provider::start();
    let gateway = provider.gateway(
        "[mcpServers.prot.oauth]\nclientId = \"known-client\"\nclientSecret = \"vault:prot_secret\"\nscopes = [\"admin\"]",
    );
    let stored = Request::new("PUT", "/api/secrets/prot_secret")
        .json(&json!({ "value": "s:e c/r+e%t" }))
        .bearer(&gateway.owner);
    assert_eq!(gateway.send(&stored).status, 200);
    let redirect = format!("{}/oauth/callback", gateway.url);
    provider.control(json!({ "set": { "auth": "client_secret_basic" }, "clients": [
        { "client_id": "known-client", "client_secret": "s:e c/r+e%t", "redirect_uris": [redirect] },
    ] }));
    provider.log_in(&gateway);
    provider.control(json!({ "expire": true }));
    assert_eq!(gateway.call("prot__admin", json!({}))["ok"], true);
    let seen = provider.seen();
    assert_eq!(
        (&seen["registrations"], &seen["refreshes"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(seen["scopes"], json!(["admin"]));
}

#[test]
fn a_client_id_and_a_secret_need_no_browser() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.control(
        json!({ "set": { "auth": "client_secret_basic" }, "clients": [
        { "client_id": "machine-1", "client_secret": "machine-secret", "redirect_uris": [] },
    ] }),
    );
    let account = json!({ "service": "prot", "credentials": {
        "client_id": "machine-1", "client_secret": "machine-secret",
    } });
    assert_eq!(gateway.post("/api/connections", &account).status, 200);
    offered(&gateway);
    // The name of a client is no secret, its secret is.
    let said = echo(&gateway, "machine-1 machine-secret");
    assert!(
        said.to_string().contains("echo: machine-1 [redacted]"),
        "{said}"
    );
    // It asks for more by itself where more is wanted.
    let done = gateway.call("prot__admin", json!({}));
    assert_eq!(done["ok"], true, "{done}");
    provider.control(json!({ "expire": true }));
    assert_eq!(echo(&gateway, "y")["ok"], true);
    assert!(provider.seen()["machine"].as_u64() >= Some(3));
    let wrong = json!({ "service": "prot", "name": "wrong", "credentials": {
        "client_id": "machine-1", "client_secret": "other-secret",
    } });
    let wrong = gateway.post("/api/connections", &wrong).json();
    let id = wrong["result"]["pcid"].as_str().expect("an id");
    let tried = gateway
        .post(&format!("/api/connections/{id}/test"), &json!({}))
        .json();
    assert_eq!(tried["result"]["status"], "error", "{tried}");
}

#[test]
fn tokens_are_redacted_from_results_as_soon_as_used() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.log_in(&gateway);
    provider.control(json!({ "reset": true, "set": { "leak": true } }));
    for expire in [false, true] {
        provider.control(json!({ "expire": expire }));
        let said = echo(&gateway, "x");
        assert!(said.to_string().contains("echo: x"), "{said}");
        let seen = provider.seen();
        let bearers: Vec<&Value> = seen["bearers"].as_array().into_iter().flatten().collect();
        assert!(!bearers.is_empty());
        for bearer in bearers {
            let token = bearer.as_str().and_then(|b| b.strip_prefix("Bearer "));
            assert!(
                !said.to_string().contains(token.expect("a token")),
                "{said}"
            );
        }
    }
}

#[test]
fn a_login_is_not_shown_to_another_address() {
    let (provider, other) = (Provider::start(), Provider::start());
    let gateway = provider.gateway(&format!(
        "[mcpServers.thief]\nurl = \"{}/mcp\"\nservice = \"prot\"",
        other.url()
    ));
    provider.log_in(&gateway);
    let refused = gateway
        .post("/api/servers/thief/refresh", &json!({}))
        .json();
    assert_eq!(refused["ok"], false, "{refused}");
    let seen = other.seen();
    let shown = |bearer: &Value| bearer.as_str().is_some_and(|text| !text.is_empty());
    assert!(
        !seen["bearers"]
            .as_array()
            .expect("a list")
            .iter()
            .any(shown),
        "{seen}"
    );
    assert_eq!(echo(&gateway, "x")["ok"], true);
}

#[test]
fn only_the_owner_logs_in_and_out() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    let client = gateway.client("a client");
    let path = "/api/servers/prot/login";
    for request in [
        Request::post(path, &json!({})),
        Request::get(path),
        Request::new("DELETE", path),
    ] {
        assert_eq!(gateway.send(&request.clone().bearer(&client)).status, 403);
        assert_eq!(gateway.send(&request).status, 401);
    }
    assert_eq!(provider.seen()["registrations"], 0);
    begin(&gateway);
    assert_eq!(provider.seen()["registrations"], 1);
}
