//! How a machine becomes a node: a code once, or a token of its own, and no other way.

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::harness::{Daemon, Gateway, eventually};
use crate::http::Request;
use crate::nodes::fixture::{Plan, is_online, on_record, wait_offline, wait_online};
use crate::nodes::player::{Player, greeting};
use crate::socket::Socket;

fn code(gateway: &Gateway, name: &str) -> String {
    let made = gateway
        .post("/api/nodes/codes", &json!({ "nodeId": name }))
        .json();
    made["result"]["code"]
        .as_str()
        .unwrap_or_else(|| panic!("{made}"))
        .to_owned()
}

fn enrol(gateway: &Gateway, code: &str) -> (u16, Value) {
    let response = gateway.send(&Request::post("/api/enrol", &json!({ "code": code })));
    (response.status, response.json())
}

#[test]
fn a_code_makes_one_machine_a_node_for_good() {
    let gateway = Gateway::start();
    let printed = gateway.cli(&["nodes", "code", "laptop"]).ok();
    let code = printed.stdout.trim().to_owned();
    assert!(
        printed
            .stderr
            .contains(&format!("node --url {} --code {code}", gateway.url)),
        "{printed:?}"
    );
    let laptop = Plan::new(&gateway, "laptop")
        .without_token()
        .with(&["--code", &code]);
    let laptop = laptop.lend(&gateway);
    assert_eq!(laptop.bash(&gateway, "echo here")["output"], "here\n");
    drop(laptop);
    wait_offline(&gateway, "laptop");
    // What the code gave is kept; the machine needs nothing more.
    let again = Plan::new(&gateway, "laptop").without_token().lend(&gateway);
    assert_eq!(again.bash(&gateway, "echo again")["output"], "again\n");
    drop(again);

    let thief = Plan::new(&gateway, "thief").without_token();
    let (command, _) = thief.with(&["--code", &code]).command(&gateway);
    let ended = crate::harness::run(command, "");
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.contains("invalid or expired code"),
        "{ended:?}"
    );
    assert!(on_record(&gateway, "thief").is_none());
}

#[test]
fn a_code_is_used_up_by_its_first_use_and_replaces_older_tokens() {
    let gateway = Gateway::start();
    let first = code(&gateway, "laptop");
    let (status, said) = enrol(&gateway, &first.to_uppercase());
    assert_eq!(
        (status, &said["result"]["nodeId"]),
        (200, &json!("laptop")),
        "{said}"
    );
    let old = said["result"]["token"]
        .as_str()
        .expect("a token")
        .to_owned();
    let (status, said) = enrol(&gateway, &first);
    assert_eq!(
        (status, &said["code"]),
        (401, &json!("unauthenticated")),
        "{said}"
    );
    let (mut laptop, _) = Player::greet(gateway.addr, greeting("laptop", &old)).expect("its token");
    wait_online(&gateway, "laptop");

    let (status, said) = enrol(&gateway, &code(&gateway, "laptop"));
    assert_eq!(status, 200, "{said}");
    let new = said["result"]["token"].as_str().expect("a token");
    assert_eq!(laptop.closed().0, Some(4001), "the older token ends");
    let refused = Player::greet(gateway.addr, greeting("laptop", &old));
    assert_eq!(refused.err().map(|refused| refused.code), Some(401));
    assert!(Player::greet(gateway.addr, greeting("laptop", new)).is_ok());
}

#[test]
fn a_code_expires() {
    let gateway = Gateway::start();
    let ask = json!({ "nodeId": "laptop", "expiresInSeconds": 1 });
    let asked = SystemTime::now();
    let made = gateway.post("/api/nodes/codes", &ask).json();
    let short = made["result"]["code"].as_str().expect("a code").to_owned();
    let long = code(&gateway, "laptop");
    eventually("two seconds", || {
        asked.elapsed().is_ok_and(|since| since.as_secs() >= 2)
    });
    let (status, said) = enrol(&gateway, &short);
    assert_eq!(
        (status, &said["code"]),
        (401, &json!("unauthenticated")),
        "{said}"
    );
    assert_eq!(
        enrol(&gateway, &long).0,
        200,
        "one that has not expired is good"
    );
    for wrong in [0, 7 * 86_400 + 1] {
        let ask = json!({ "nodeId": "laptop", "expiresInSeconds": wrong });
        let said = gateway.post("/api/nodes/codes", &ask).json();
        assert_eq!(
            said["problems"][0]["parameter"], "expiresInSeconds",
            "{said}"
        );
    }
}

#[test]
fn guessing_codes_is_throttled() {
    let gateway = Gateway::start();
    let good = code(&gateway, "laptop");
    assert_eq!(enrol(&gateway, &code(&gateway, "server")).0, 200);
    let mut guesses = 0;
    let slowed = loop {
        guesses += 1;
        assert!(guesses < 100, "nobody stops it");
        match enrol(&gateway, &format!("join-aaaaa-bbbbb-ccccc-{guesses:05}")) {
            (401, _) => {}
            other => break other,
        }
    };
    assert_eq!(
        (slowed.0, &slowed.1["code"]),
        (429, &json!("rate_limited")),
        "{slowed:?}"
    );
    assert!(slowed.1["retryAfterMs"].is_u64(), "{slowed:?}");
    let (status, said) = enrol(&gateway, &good);
    assert_eq!(status, 200, "guesses do not keep the right one out: {said}");
    assert_eq!(enrol(&gateway, &good).0, 429, "and it works once");
}

#[test]
fn only_the_owner_makes_codes() {
    let gateway = Gateway::start();
    let (reader, _) = gateway.token(json!({ "name": "looker", "role": "read-only" }));
    let (node, _) = gateway.token(json!({ "name": "laptop", "role": "node" }));
    for token in [gateway.client("agent"), reader, node] {
        let ask = Request::post("/api/nodes/codes", &json!({ "nodeId": "evil" })).bearer(&token);
        assert_eq!(gateway.send(&ask).status, 403);
        for (method, path) in [
            ("POST", "/api/nodes/laptop/revoke"),
            ("POST", "/api/nodes/laptop/rename"),
            ("DELETE", "/api/nodes/laptop?force=true"),
        ] {
            let request = Request::new(method, path)
                .json(&json!({ "to": "x" }))
                .bearer(&token);
            assert_eq!(gateway.send(&request).status, 403, "{method} {path}");
        }
    }
    for name in ["gsv", "A", "", "a__b"] {
        let said = gateway
            .post("/api/nodes/codes", &json!({ "nodeId": name }))
            .json();
        assert_eq!(said["problems"][0]["parameter"], "nodeId", "{said}");
    }
}

#[test]
fn a_nodes_token_connects_that_node_and_nothing_else() {
    let gateway = Gateway::start();
    let (laptop, id) = gateway.token(json!({ "name": "laptop", "role": "node" }));
    let refused = |name: &str, token: &str| {
        let refused = Player::greet(gateway.addr, greeting(name, token)).err();
        refused.unwrap_or_else(|| panic!("{name} was let in"))
    };
    let other = refused("server", &laptop);
    assert_eq!((other.code, other.closed), (403, Some(1008)), "{other:?}");
    assert!(
        other.message.contains("belongs to node laptop, not server"),
        "{other:?}"
    );
    assert_eq!(refused("agent", &gateway.client("agent")).code, 403);
    let (reader, _) = gateway.token(json!({ "name": "looker", "role": "read-only" }));
    assert_eq!(refused("looker", &reader).code, 403);
    let nobody = refused("laptop", "mh_wrong");
    assert_eq!(
        (nobody.code, nobody.closed),
        (401, Some(4001)),
        "{nobody:?}"
    );
    assert!(on_record(&gateway, "server").is_none());

    let (mut control, _) =
        Player::greet(gateway.addr, greeting("laptop", &laptop)).expect("its own");
    wait_online(&gateway, "laptop");
    // It is a node's token on every face: it calls nothing.
    let called = gateway.call_as(&laptop, "gsv__ReadFile", json!({ "path": "a" }));
    assert_eq!(called.status, 403, "{}", called.text());
    let listed = gateway.send(&Request::get("/api/nodes").bearer(&laptop));
    assert_eq!(listed.status, 403, "{}", listed.text());
    let mut socket = Socket::open(gateway.addr, &[]).expect("a socket");
    let said = socket.request("connect", crate::socket::hello(Some(&laptop)));
    assert_eq!(said["error"]["code"], 403, "{said}");
    gateway.cli(&["token", "revoke", &id]).ok();
    assert_eq!(control.closed().0, Some(4001), "and ends with its record");
}

#[test]
fn a_refused_node_exits_with_the_reason() {
    let gateway = Gateway::start();
    for (token, words) in [
        (gateway.client("agent"), "only a node token"),
        ("mh_wrong".to_owned(), "token"),
        (
            gateway.token(json!({ "name": "other", "role": "node" })).0,
            "belongs to node other, not laptop",
        ),
    ] {
        let (command, _) = Plan::new(&gateway, "laptop")
            .token(&token)
            .command(&gateway);
        let mut daemon = Daemon::spawn(command);
        let status = daemon.wait();
        assert!(!status.success(), "{status}");
        daemon.log.wait_for(words);
    }
    assert!(!is_online(&gateway, "laptop"));
}
