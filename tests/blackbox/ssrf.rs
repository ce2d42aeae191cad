//! No spelling of a private address, on no surface that fetches, reaches a listener there.

use serde_json::{Value, json};

use crate::harness::{Gateway, tree};
use crate::http::{Connection, Request};
use crate::mcp::{self, Era};
use crate::origin::{Origin, Reply};
use crate::ssrf_spellings::{Leads, Spelling, all};

/// Loopback, for the control.
pub const LOOPBACK: &str = "[egress]\nallow_private = [\"127.0.0.0/8\", \"::1/128\"]\n";

const WEB_FETCH: &str = "tool::web_fetch";
const URL_FETCH: &str = "url_fetch";

/// A way to make the gateway fetch.
pub type Surface = (&'static str, fn(&str) -> Value);

pub const SURFACES: [Surface; 4] = [
    (WEB_FETCH, |url| json!({ "url": url })),
    (URL_FETCH, |url| json!({ "url": url })),
    (
        URL_FETCH,
        |url| json!({ "url": url, "method": "POST", "body": { "a": 1 } }),
    ),
    (
        URL_FETCH,
        |url| json!({ "url": url, "download_path": "loot/file.bin" }),
    ),
];

/// Calls a tool on a connection that stays.
fn call(connection: &mut Connection, token: &str, tool: &str, arguments: &Value) -> Value {
    let request = Request::post(&format!("/api/tools/{tool}"), arguments).bearer(token);
    connection.send(&request).expect("an answer").json()
}

/// Whether it is a refusal that says what to change: the parameter, or the owner's setting.
fn is_refusal(spelling: &Spelling, said: &Value) -> bool {
    let error = said["error"].as_str().unwrap_or_default();
    let outside = matches!(spelling.leads, Leads::Nowhere | Leads::Name);
    let explained = match said["code"].as_str().unwrap_or_default() {
        "forbidden" => {
            spelling.leads != Leads::Nowhere
                && error.contains("not on the public internet")
                && error.contains("`egress.allow_private`")
        }
        "invalid_arguments" => outside && said["problems"][0]["parameter"] == "url",
        // Some networks answer for every name, with a public address of theirs.
        "failed" => {
            spelling.leads == Leads::Name
                && (error.contains("cannot be looked up") || error.contains("cannot connect"))
        }
        _ => false,
    };
    said["ok"] == false && said.get("result").is_none() && explained
}

#[track_caller]
fn assert_refused(spelling: &Spelling, said: &Value) {
    assert!(is_refusal(spelling, said), "{spelling:?}: {said}");
}

#[test]
fn no_spelling_of_a_private_address_reaches_it() {
    let (gateway, canary) = (Gateway::start(), Origin::canary());
    let spellings = all(canary.port());
    assert!(spellings.len() >= 200, "{}", spellings.len());
    std::thread::scope(|scope| {
        for (tool, arguments) in SURFACES {
            let (to, owner, spellings) = (gateway.addr, &gateway.owner, &spellings);
            scope.spawn(move || {
                let mut connection = Connection::open(to).expect("the gateway");
                let mut wrong = Vec::new();
                for spelling in spellings {
                    let arguments = arguments(&spelling.url);
                    let said = call(&mut connection, owner, tool, &arguments);
                    if !is_refusal(spelling, &said) {
                        wrong.push(format!("{spelling:?}: {said}"));
                    }
                }
                assert!(wrong.is_empty(), "{tool}: {}", wrong.join("\n"));
            });
        }
    });
    assert_eq!(canary.hits(), 0);
    let cache = gateway.home.path().join("host/cache");
    assert_eq!(tree(&cache), [], "nothing was saved");
    println!(
        "{} spellings on {} surfaces",
        spellings.len(),
        SURFACES.len()
    );
}

#[test]
fn the_other_faces_refuse_the_same_spellings() {
    let (gateway, canary) = (Gateway::start(), Origin::canary());
    let spellings = all(canary.port());
    let client = gateway.client("laptop");
    for (index, spelling) in spellings.iter().enumerate() {
        let (tool, arguments) = SURFACES[index % SURFACES.len()];
        let arguments = arguments(&spelling.url);
        if index % 7 == 0 {
            let era = [Era::Initialize, Era::Stateless][index % 2];
            let wire = tool.replace("::", "__");
            let said = mcp::call(&gateway, era, &client, &wire, &arguments);
            let result = &said["result"];
            assert_eq!(result["isError"], true, "{spelling:?}: {said}");
            let text = result["content"][0]["text"].as_str().expect("a text");
            assert!(!text.contains("canary"), "{said}");
        }
        // A NUL cannot be an argument of a program, but JSON escapes it.
        if index % 40 == 0 {
            let ran = gateway.cli(&["call", tool, &arguments.to_string()]);
            assert_eq!(ran.code, Some(1), "{ran:?}");
            assert_refused(spelling, &ran.json());
        }
        if index % 40 == 20 && tool == WEB_FETCH {
            let ran = gateway.cli(&["trigger", tool, &arguments.to_string()]);
            assert_eq!(ran.code, Some(1), "{ran:?}");
            assert_refused(spelling, &ran.json());
        }
        if index % 9 == 0 {
            let said = gateway.ws().call(tool, &arguments);
            assert_refused(spelling, &said);
        }
    }
    assert_eq!(canary.hits(), 0);
}

#[test]
fn the_same_canary_is_reached_once_the_owner_allows_it() {
    let (gateway, canary) = (Gateway::with_config(LOOPBACK), Origin::canary());
    let spellings = all(canary.port());
    let (mut reached, mut wrong) = (0, Vec::new());
    let mut connection = Connection::open(gateway.addr).expect("the gateway");
    for spelling in &spellings {
        let here = match spelling.leads {
            Leads::Here => true,
            Leads::HereIpv6 => canary.speaks_ipv6(),
            Leads::Inside | Leads::Name | Leads::Nowhere => false,
        };
        if here {
            let (tool, arguments) = SURFACES[reached % SURFACES.len()];
            let arguments = arguments(&spelling.url);
            let said = call(&mut connection, &gateway.owner, tool, &arguments);
            if said["result"]["status"] != 200 {
                wrong.push(format!("{spelling:?}: {said}"));
            }
            reached += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(reached >= 30, "{reached}");
    assert_eq!(canary.hits(), reached, "each of them once");
    // What allows loopback allows nothing else.
    for spelling in &spellings {
        let other = match spelling.leads {
            Leads::Nowhere => true,
            Leads::Inside => !spelling.url.starts_with("https:"),
            Leads::Here | Leads::HereIpv6 | Leads::Name => false,
        };
        if other {
            let arguments = json!({ "url": spelling.url });
            let said = call(&mut connection, &gateway.owner, WEB_FETCH, &arguments);
            assert_refused(spelling, &said);
        }
    }
    assert_eq!(canary.hits(), reached);
    println!("{reached} spellings reached the canary");
}

#[test]
fn what_the_owner_takes_back_is_refused_at_once() {
    let (gateway, canary) = (Gateway::with_config(LOOPBACK), Origin::canary());
    let fetch = || gateway.call(WEB_FETCH, json!({ "url": canary.url("/") }));
    assert_eq!(fetch()["result"]["content"], "canary", "the control");
    gateway
        .cli(&[
            "config",
            "set",
            "egress.allow_private",
            "[\"127.0.0.2/32\"]",
        ])
        .ok();
    crate::harness::eventually("the new settings", || fetch()["code"] == "forbidden");
    let hits = canary.hits();
    assert_eq!(fetch()["code"], "forbidden");
    assert_eq!(canary.hits(), hits, "no connection was kept for later");
}

#[test]
fn a_proxy_in_the_environment_is_not_used() {
    let canary = Origin::canary();
    let server = Origin::on([127, 0, 0, 2], |_| Reply::text("direct"));
    let home =
        crate::harness::Home::new().with_config("[egress]\nallow_private = [\"127.0.0.2/32\"]\n");
    let mut command = crate::harness::up(&home);
    for variable in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ] {
        command.env(variable, canary.url(""));
    }
    let gateway = Gateway::from(home, command);
    for (tool, arguments) in SURFACES {
        let said = gateway.call(tool, arguments(&server.url("/")));
        assert_eq!(said["result"]["status"], 200, "the control: {said}");
        let said = gateway.call(tool, arguments("https://127.0.0.1/"));
        assert_eq!(said["code"], "forbidden", "{said}");
    }
    assert_eq!((canary.hits(), server.hits()), (0, SURFACES.len()));
}
