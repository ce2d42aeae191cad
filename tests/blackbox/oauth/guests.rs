//! Guests: whoever comes to `/mcp` with an access token that another made.

use serde_json::{Value, json};

use super::provider::{Provider, offered};
use crate::harness::{Gateway, eventually};
use crate::http::{Request, Response};

const MORE: &str = "[[oauth.grants]]
subjects = [\"ada\"]
scopes = [\"tools\"]
tools = [\"prot__echo\", \"gsv__ReadFile\"]
[[oauth.grants]]
subjects = [\"bob\"]
role = \"read-only\"
tools = [\"*\"]
";

struct Fixture {
    gateway: Gateway,
    provider: Provider,
}

impl Fixture {
    fn new() -> Self {
        let provider = Provider::start();
        provider.control(json!({ "set": { "open": true } }));
        let gateway = provider.gateway(&format!(
            "mcp.profile = \"all\"\nlimits.failed_logins = 1000\n[oauth.issuers.corp]\nissuer = \"{}\"\n{MORE}",
            provider.url()
        ));
        let audience = format!("{}/mcp", gateway.url);
        provider.control(json!({ "set": { "audience": audience } }));
        offered(&gateway);
        Self { gateway, provider }
    }

    fn token(&self, wanted: Value) -> String {
        self.provider.sign(&wanted)
    }

    /// Asks for the list of tools.
    fn list(&self, path: &str, token: &str) -> Response {
        self.ask(path, token, "tools/list", json!({}))
    }

    fn ask(&self, path: &str, token: &str, method: &str, params: Value) -> Response {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = Request::post(path, &message)
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2025-06-18")
            .bearer(token);
        self.gateway.send(&request)
    }

    /// That a token is refused, and that a good one is not.
    #[track_caller]
    fn refuses(&self, wanted: Value, status: u16, word: &str) {
        let refused = self.list("/mcp", &self.token(wanted.clone()));
        assert_eq!(refused.status, status, "{wanted}: {}", refused.text());
        let told = refused.header("www-authenticate").unwrap_or_default();
        assert!(
            told.contains(&format!("error=\"{word}\"")),
            "{wanted}: {told}"
        );
        assert!(told.contains("resource_metadata=\"http"), "{told}");
        let good = self.list("/mcp", &self.token(json!({})));
        assert_eq!(good.status, 200, "{}", good.text());
    }
}

#[test]
fn a_request_without_token_names_the_authorization_server() {
    let fixture = Fixture::new();
    let gateway = &fixture.gateway;
    for path in ["/mcp", "/mcp/prot"] {
        let refused = gateway.send(&Request::post(path, &json!({})));
        assert_eq!(refused.status, 401);
        let told = refused.header("www-authenticate").expect("a challenge");
        let place = format!("{}/.well-known/oauth-protected-resource{path}", gateway.url);
        assert!(
            told.contains(&format!("resource_metadata=\"{place}\"")),
            "{told}"
        );
        let said = gateway
            .send(&Request::get(&place[gateway.url.len()..]))
            .json();
        assert_eq!(said["resource"], format!("{}{path}", gateway.url));
        assert_eq!(
            said["authorization_servers"],
            json!([fixture.provider.url()])
        );
        assert_eq!(said["bearer_methods_supported"], json!(["header"]));
    }
    // The owner's own tokens are taken as before.
    assert_eq!(fixture.list("/mcp", &gateway.owner).status, 200);
    // Elsewhere a guest is nobody.
    let request = Request::get("/api/tools").bearer(&fixture.token(json!({})));
    assert_eq!(gateway.send(&request).status, 401);
}

#[test]
fn without_issuers_there_are_no_guests() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    provider.control(json!({ "set": { "audience": format!("{}/mcp", gateway.url) } }));
    let refused =
        gateway.send(&Request::post("/mcp", &json!({})).bearer(&provider.sign(&json!({}))));
    assert_eq!(refused.status, 401);
    let told = refused.header("www-authenticate").unwrap_or_default();
    assert!(!told.contains("resource_metadata"), "{told}");
    assert_eq!(
        gateway
            .send(&Request::get("/.well-known/oauth-protected-resource/mcp"))
            .status,
        404
    );
    assert!(!provider.seen()["hits"].to_string().contains("jwks"));
}

#[test]
fn a_valid_token_grants_exactly_the_settings() {
    let fixture = Fixture::new();
    let keys = ["RS256", "ES256", "EdDSA", "Ed25519"];
    fixture.provider.control(json!({ "keys": keys }));
    for alg in keys {
        let listed = fixture
            .list("/mcp", &fixture.token(json!({ "alg": alg })))
            .json();
        let mut names: Vec<&str> = listed["result"]["tools"]
            .as_array()
            .unwrap_or_else(|| panic!("{listed}"))
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["gsv__ReadFile", "prot__echo"], "{alg}");
    }
    // What a token claims for itself counts for nothing.
    let claims = json!({ "role": "owner", "roles": ["owner"], "tools": ["*"], "name": "owner" });
    let greedy = fixture.token(json!({ "claims": claims }));
    let write = json!({ "name": "gsv__WriteFile", "arguments": { "path": "a", "content": "b" } });
    let refused = fixture.ask("/mcp", &greedy, "tools/call", write.clone());
    assert!(
        refused.text().contains("do not include"),
        "{}",
        refused.text()
    );
    let bob = fixture.token(json!({ "claims": { "sub": "bob", "scope": "" } }));
    let refused = fixture.ask("/mcp", &bob, "tools/call", write);
    assert!(refused.text().contains("read-only"), "{}", refused.text());
    assert_eq!(fixture.gateway.read("a"), None);
}

#[test]
fn a_guest_has_one_name_in_the_audit_whatever_the_token() {
    let fixture = Fixture::new();
    for alg in ["RS256", "EdDSA"] {
        let call = json!({ "name": "prot__echo", "arguments": { "text": alg } });
        let done = fixture.ask(
            "/mcp",
            &fixture.token(json!({ "alg": alg })),
            "tools/call",
            call,
        );
        assert!(
            done.text().contains(&format!("echo: {alg}")),
            "{}",
            done.text()
        );
    }
    let called = || {
        let audit = fixture.gateway.audit();
        let echoes = audit.iter().filter(|entry| entry["tool"] == "prot__echo");
        let callers = echoes.filter_map(|entry| entry["caller"].as_str().map(str::to_owned));
        callers.collect::<Vec<String>>()
    };
    // What only reads is on record a little later.
    crate::harness::eventually("both calls in the audit", || called().len() >= 2);
    let mut callers = called();
    callers.dedup();
    assert_eq!(callers.len(), 1, "{callers:?}");
    assert!(callers[0].starts_with("client:corp/ada:"), "{callers:?}");
}

#[test]
fn tokens_of_unknown_issuers_are_refused() {
    let fixture = Fixture::new();
    for forged in [
        json!({ "alg": "none", "kid": "EdDSA" }),
        json!({ "alg": "HS256", "kid": "EdDSA" }),
        json!({ "by": "stranger" }),
        json!({ "kid": "unknown" }),
        json!({ "alg": "ES256", "kid": "RS256" }),
        json!({ "typ": "logout+jwt" }),
        json!({ "claims": { "iss": "https://evil.example" } }),
    ] {
        fixture.refuses(forged, 401, "invalid_token");
    }
}

#[test]
fn tokens_for_something_else_or_another_time_are_refused() {
    let fixture = Fixture::new();
    let base = &fixture.gateway.url;
    for claims in [
        json!({ "aud": "https://other.example/mcp" }),
        json!({ "aud": base }),
        json!({ "aud": format!("{base}/mcp/prot") }),
        json!({ "aud": null }),
        json!({ "exp": 1_000_000_000 }),
        json!({ "exp": null }),
        json!({ "nbf": 4_000_000_000_u64 }),
        json!({ "sub": "" }),
    ] {
        fixture.refuses(json!({ "claims": claims }), 401, "invalid_token");
    }
}

#[test]
fn a_valid_token_without_a_grant_gets_nothing() {
    let fixture = Fixture::new();
    fixture.refuses(
        json!({ "claims": { "scope": "other" } }),
        403,
        "insufficient_scope",
    );
    fixture.refuses(
        json!({ "claims": { "sub": "eve" } }),
        403,
        "insufficient_scope",
    );
}

#[test]
fn a_token_for_one_server_is_good_there_alone() {
    let fixture = Fixture::new();
    let audience = format!("{}/mcp/prot", fixture.gateway.url);
    let narrow = fixture.token(json!({ "claims": { "aud": audience } }));
    assert_eq!(fixture.list("/mcp", &narrow).status, 401);
    assert_eq!(fixture.list("/mcp/other", &narrow).status, 401);
    assert_ne!(fixture.list("/mcp/prot", &narrow).status, 401);
    assert_ne!(
        fixture.list("/mcp/prot", &fixture.token(json!({}))).status,
        401
    );
}

#[test]
fn a_new_signing_key_is_fetched_and_unknown_keys_are_throttled() {
    let fixture = Fixture::new();
    fixture.provider.control(json!({ "keys": ["EdDSA"] }));
    assert_eq!(fixture.list("/mcp", &fixture.token(json!({}))).status, 200);
    assert_eq!(
        fixture
            .list("/mcp", &fixture.token(json!({ "alg": "ES256" })))
            .status,
        401
    );
    fixture
        .provider
        .control(json!({ "keys": ["EdDSA", "ES256"] }));
    assert_eq!(
        fixture
            .list("/mcp", &fixture.token(json!({ "alg": "ES256" })))
            .status,
        200
    );
    fixture.provider.control(json!({ "reset": true }));
    for number in 0..30 {
        let unknown = fixture.token(json!({ "kid": format!("unknown-{number}") }));
        assert!([401, 503].contains(&fixture.list("/mcp", &unknown).status));
    }
    let seen = fixture.provider.seen();
    let asked = seen["hits"].as_array().expect("a list").iter();
    let asked = asked.filter(|hit| **hit == "GET /jwks").count();
    assert!((1..=5).contains(&asked), "{asked}");
    assert_eq!(fixture.list("/mcp", &fixture.token(json!({}))).status, 200);
}

#[test]
fn failing_tokens_do_not_block_valid_ones() {
    let provider = Provider::start();
    let gateway = provider.gateway(&format!(
        "limits.failed_logins = 3\n[oauth.issuers.corp]\nissuer = \"{}\"\n{MORE}",
        provider.url()
    ));
    provider.control(
        json!({ "keys": ["EdDSA"], "set": { "audience": format!("{}/mcp", gateway.url) } }),
    );
    let fixture = Fixture { gateway, provider };
    let good = fixture.token(json!({}));
    let forge = |number: usize| {
        fixture.token(json!({ "by": "stranger", "kid": format!("unknown-{number}") }))
    };
    for number in 0..20 {
        assert_ne!(fixture.list("/mcp", &forge(number)).status, 200);
        assert_eq!(fixture.list("/mcp", &good).status, 200);
    }
    let stranger = fixture.token(json!({ "by": "stranger" }));
    eventually("who guesses has to wait", || {
        fixture.list("/mcp", &stranger).status == 429
    });
    // The issuer gets a new key while somebody makes keys up: a token of it is never refused, only
    // asked to come back once, in seconds.
    fixture
        .provider
        .control(json!({ "keys": ["EdDSA", "ES256"] }));
    let new = fixture.token(json!({ "alg": "ES256" }));
    eventually("the new key is known", || {
        assert_ne!(fixture.list("/mcp", &forge(99)).status, 200);
        let answer = fixture.list("/mcp", &new);
        if answer.status == 503 {
            assert!(answer.header("retry-after").is_some(), "{}", answer.text());
        }
        assert!([200, 503].contains(&answer.status), "{}", answer.text());
        answer.status == 200
    });
    assert_eq!(fixture.list("/mcp", &good).status, 200);
}

#[test]
fn a_guests_token_is_not_forwarded() {
    let fixture = Fixture::new();
    fixture.provider.control(json!({ "reset": true }));
    let token = fixture.token(json!({}));
    let call = |name: &str| json!({ "name": name, "arguments": { "text": "x" } });
    let done = fixture.ask("/mcp", &token, "tools/call", call("prot__echo"));
    assert!(done.text().contains("echo: x"), "{}", done.text());
    let seen = fixture.provider.seen();
    assert!(seen["calls"].as_u64() >= Some(1), "{seen}");
    let shown = |bearer: &Value| bearer.as_str().is_some_and(|text| !text.is_empty());
    assert!(
        !seen["bearers"]
            .as_array()
            .expect("a list")
            .iter()
            .any(shown),
        "{seen}"
    );
    assert!(!fixture.gateway.daemon.log.text().contains(&token));
}

#[test]
fn bad_guesses_are_throttled_and_old_tokens_are_not_guesses() {
    let provider = Provider::start();
    let gateway = provider.gateway(&format!(
        "limits.failed_logins = 3\n[oauth.issuers.corp]\nissuer = \"{}\"\n{MORE}",
        provider.url()
    ));
    provider.control(json!({ "set": { "audience": format!("{}/mcp", gateway.url) } }));
    let fixture = Fixture { gateway, provider };
    let good = fixture.token(json!({}));
    assert_eq!(fixture.list("/mcp", &good).status, 200);
    let old = fixture.token(json!({ "claims": { "exp": 1_000_000_000 } }));
    for _ in 0..10 {
        assert_eq!(fixture.list("/mcp", &old).status, 401);
    }
    let forged = fixture.token(json!({ "by": "stranger" }));
    eventually("guessing is stopped", || {
        fixture.list("/mcp", &forged).status == 429
    });
    // Whoever proved themselves before is not locked out by that.
    assert_eq!(fixture.list("/mcp", &good).status, 200);
}
