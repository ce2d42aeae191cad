//! A server that may be reached cannot lead a fetch to one that may not.
//!
//! The redirector is on 127.0.0.2, which is allowed; the canary is on 127.0.0.1, which is not.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

use crate::harness::{Gateway, Home, tree, up};
use crate::origin::{Heard, Origin, Reply};
use crate::ssrf::{LOOPBACK, SURFACES};

const ONE_ALLOWED: &str = "[egress]\nallow_private = [\"127.0.0.2/32\"]\n";
const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

/// What a `Location` does to a reader that does as browsers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    /// It leads to the canary.
    Canary,
    /// It leads to some other private place, or is no web address at all.
    Elsewhere,
    /// It stays on the server.
    Back,
}

fn locations(canary: &Origin) -> Vec<(To, String)> {
    let p = canary.port();
    let mut all: Vec<(To, String)> = [
        format!("http://127.0.0.1:{p}/"),
        format!("HTTP://127.0.0.1:{p}/"),
        format!("//127.0.0.1:{p}/"),
        format!("/\\127.0.0.1:{p}/"),
        format!("\\\\127.0.0.1:{p}\\"),
        format!("http:\\\\127.0.0.1:{p}\\"),
        format!("http:///127.0.0.1:{p}/"),
        format!("http://127.1:{p}/"),
        format!("http://127.0.0.1.:{p}/"),
        format!("http://2130706433:{p}/"),
        format!("http://0x7f000001:{p}/"),
        format!("http://017700000001:{p}/"),
        format!("http://0177.0x0.1:{p}/"),
        format!("http://127。0。0。1:{p}/"),
        format!("http://１２７.0.0.1:{p}/"),
        format!("http://%31%32%37.0.0.1:{p}/"),
        format!("http://[::ffff:127.0.0.1]:{p}/"),
        format!("http://[::FFFF:7F00:0001]:{p}/"),
        format!("ht\ttp://127.0\t.0.1:{p}/"),
        format!("http://127.0.0.1:{p}/#@example.com"),
        format!("http://127.0.0.1:{p}?@example.com"),
        format!("http://127.0.0.1:0{p}/"),
        format!("http://localhost:{p}/"),
        format!("http://LOCALHOST:{p}/"),
        format!("//localhost:{p}/"),
    ]
    .map(|location| (To::Canary, location))
    .into();
    if canary.speaks_ipv6() {
        all.push((To::Canary, format!("http://[::1]:{p}/")));
        all.push((To::Canary, format!("//[0:0::1]:{p}/")));
    }
    let far = u32::from(p) + 65_536;
    let elsewhere = [
        format!("///127.0.0.1:{p}/"),
        format!("http://127.0.0.2@127.0.0.1:{p}/"),
        format!("//x:y@127.0.0.1:{p}/"),
        format!("http://127.0.0.1:{far}/"),
        format!("http://0.0.0.0:{p}/"),
        format!("http://0:{p}/"),
        format!("http://[::]:{p}/"),
        format!("http://[::127.0.0.1]:{p}/"),
        format!("http://[64:ff9b::7f00:1]:{p}/"),
        format!("http://[2002:7f00:1::]:{p}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://2852039166/".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "http://192.168.0.1/".to_owned(),
        "file:///etc/passwd".to_owned(),
        format!("ftp://127.0.0.1:{p}/"),
        format!("gopher://127.0.0.1:{p}/_x"),
        format!("ws://127.0.0.1:{p}/"),
        "data:text/plain,canary".to_owned(),
        "javascript:alert(1)".to_owned(),
        "unix:/run/x.sock".to_owned(),
        "http://".to_owned(),
        "http://[::1".to_owned(),
    ];
    all.extend(elsewhere.map(|location| (To::Elsewhere, location)));
    let back = ["/landed", "landed", "?x", "#x", "", "http:landed", "."];
    all.extend(back.map(|location| (To::Back, location.to_owned())));
    all
}

/// `/{status}/{index}` redirects; everything else is where one lands.
fn redirector(locations: &[(To, String)]) -> Origin {
    let locations: Vec<String> = locations.iter().map(|(_, to)| to.clone()).collect();
    Origin::on([127, 0, 0, 2], move |heard| {
        let parts: Vec<u16> = heard
            .target
            .split('/')
            .filter_map(|part| part.parse().ok())
            .collect();
        match parts[..] {
            [status, index] => Reply::redirect(status, &locations[usize::from(index)]),
            _ => Reply::text("landed"),
        }
    })
}

#[test]
fn no_redirect_leads_inside() {
    let (gateway, canary) = (Gateway::with_config(ONE_ALLOWED), Origin::canary());
    let locations = locations(&canary);
    let server = redirector(&locations);
    let mut wrong = Vec::new();
    for status in STATUSES {
        for (index, (to, location)) in locations.iter().enumerate() {
            // Which surface meets which pair changes from status to status.
            let (tool, arguments) = SURFACES[(index + usize::from(status)) % SURFACES.len()];
            let arguments = arguments(&server.url(&format!("/{status}/{index}")));
            let said = gateway.call(tool, arguments.clone());
            let sends = arguments["method"] == "POST";
            let fits = match to {
                To::Back if !sends => said["ok"] == true,
                _ => {
                    let code = said["code"].as_str().unwrap_or_default();
                    said["ok"] == false
                        && ["forbidden", "invalid_arguments", "failed"].contains(&code)
                }
            };
            // A location that only holds a fragment or a dot leads round in circles.
            let circles = ["#x", "", "."].contains(&location.as_str()) && code(&said) == "failed";
            if !fits && !circles {
                wrong.push(format!("{status} {location:?} {arguments}: {said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(canary.hits(), 0);
    let met = server.heard().len();
    assert!(
        met >= STATUSES.len() * locations.len(),
        "the control: {met}"
    );
    let landed = |heard: &&Heard| heard.target.ends_with("/landed");
    assert!(server.heard().iter().filter(landed).count() > 0);
    println!("{} redirects", STATUSES.len() * locations.len());
}

fn code(said: &Value) -> &str {
    said["code"].as_str().unwrap_or_default()
}

#[test]
fn the_same_redirects_lead_to_the_canary_once_it_is_allowed() {
    let (gateway, canary) = (Gateway::with_config(LOOPBACK), Origin::canary());
    let locations = locations(&canary);
    let server = redirector(&locations);
    let mut reached = 0;
    for status in STATUSES {
        for (index, (to, location)) in locations.iter().enumerate() {
            let url = server.url(&format!("/{status}/{index}"));
            // Half by one tool, half by the other.
            let tool = ["tool::web_fetch", "url_fetch"][(index + usize::from(status)) % 2];
            match to {
                To::Canary => {
                    let said = gateway.call(tool, json!({ "url": url }));
                    assert_eq!(said["result"]["content"], "canary", "{location:?}: {said}");
                    reached += 1;
                }
                To::Elsewhere if status == 302 => {
                    let said = gateway.call(tool, json!({ "url": url }));
                    assert_eq!(said["ok"], false, "{location:?}: {said}");
                }
                To::Elsewhere | To::Back => {}
            }
        }
    }
    assert_eq!(canary.hits(), reached);
    assert!(reached >= 100, "{reached}");
}

/// `/chain/{n}` leads to `/chain/{n-1}`, and the last to `to`.
fn chain(to: String) -> Origin {
    Origin::on([127, 0, 0, 2], move |heard| {
        let left = heard.target.strip_prefix("/chain/");
        match left.and_then(|left| left.parse::<u32>().ok()) {
            Some(0) => Reply::redirect(302, &to),
            Some(left) => Reply::redirect(307, &format!("{}", left - 1)),
            None => Reply::redirect(302, &heard.target),
        }
    })
}

#[test]
fn the_end_of_a_chain_is_checked_like_its_beginning() {
    let canary = Origin::canary();
    let server = chain(canary.url("/"));
    let fetch = |gateway: &Gateway, tool: &str, length: u32| {
        let url = server.url(&format!("/chain/{length}"));
        gateway.call(tool, json!({ "url": url }))
    };
    let guarded = Gateway::with_config(ONE_ALLOWED);
    for (tool, most) in [("tool::web_fetch", 9), ("url_fetch", 2)] {
        for length in 0..=most {
            assert_eq!(
                code(&fetch(&guarded, tool, length)),
                "forbidden",
                "{length}"
            );
        }
        let said = fetch(&guarded, tool, most + 1);
        assert_eq!(code(&said), "failed", "{said}");
        let error = said["error"].as_str().expect("an error");
        assert!(error.contains("was redirected more than"), "{error}");
    }
    let said = guarded.call("url_fetch", json!({ "url": server.url("/circle") }));
    assert_eq!(code(&said), "failed", "{said}");
    assert_eq!(canary.hits(), 0);
    let open = Gateway::with_config(LOOPBACK);
    for (tool, most) in [("tool::web_fetch", 9), ("url_fetch", 2)] {
        let said = fetch(&open, tool, most);
        assert_eq!(said["result"]["content"], "canary", "the control: {said}");
    }
    assert_eq!(canary.hits(), 2);
}

#[test]
fn what_only_looks_like_a_redirect_is_not_followed() {
    let (gateway, canary) = (Gateway::with_config(LOOPBACK), Origin::canary());
    let to = canary.url("/");
    let html = |head: &str, body: &str| {
        let text = format!("<html><head>{head}</head><body><p>page</p>{body}</body></html>");
        Reply::ok("text/html", text)
    };
    let meta = format!("<meta http-equiv=\"refresh\" content=\"0; url={to}\">");
    let base = format!("<base href=\"{to}\"><link rel=stylesheet href=\"{to}\">");
    let active = format!(
        "<iframe src=\"{to}\"></iframe><img src=\"{to}\"><script src=\"{to}\"></script>\
         <object data=\"{to}\"></object><video src=\"{to}\"></video><script>location='{to}'</script>"
    );
    let xml = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE x SYSTEM \"{to}\" [<!ENTITY e SYSTEM \"{to}\">]><x>&e;</x>"
    );
    let moved = |status: u16| Reply::redirect(status, &to);
    let replies = vec![
        html(&meta, ""),
        html(&base, ""),
        html("", &active),
        html("", "").header("Refresh", &format!("0; url={to}")),
        html("", "").header("Link", &format!("<{to}>; rel=preload")),
        html("", "").header("Content-Location", &to),
        html("", "").header("Alt-Svc", &format!("h2=\":{}\"", canary.port())),
        Reply::ok("application/xml", xml.clone()),
        Reply::ok("image/svg+xml", xml),
        moved(200),
        moved(201),
        moved(202),
        moved(300),
        moved(305),
        moved(306),
        moved(404),
        moved(503),
    ];
    let count = replies.len();
    let server = Origin::on([127, 0, 0, 2], move |heard| {
        let index: usize = heard.target[1..].parse().expect("an index");
        replies[index].clone()
    });
    for index in 0..count {
        for (tool, arguments) in SURFACES {
            let arguments = arguments(&server.url(&format!("/{index}")));
            let said = gateway.call(tool, arguments.clone());
            let saves = arguments.get("download_path").is_some();
            assert!(said["ok"] == true || saves, "{index}: {said}");
        }
    }
    assert_eq!((canary.hits(), server.hits()), (0, count * SURFACES.len()));
}

#[test]
fn what_sends_something_follows_nobody() {
    let gateway = Gateway::with_config(LOOPBACK);
    let target = Origin::on([127, 0, 0, 3], |_| Reply::text("target"));
    let to = target.url("/");
    let server = Origin::on([127, 0, 0, 2], move |heard| {
        Reply::redirect(heard.target[1..].parse().expect("a status"), &to)
    });
    for status in STATUSES {
        let url = server.url(&format!("/{status}"));
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let said = gateway.call("url_fetch", json!({ "url": url, "method": method }));
            assert_eq!(code(&said), "failed", "{method} {status}: {said}");
        }
        let said = gateway.call("url_fetch", json!({ "url": url, "body": "x" }));
        assert_eq!(code(&said), "failed", "{status}: {said}");
        let error = said["error"].as_str().expect("an error");
        assert!(error.contains("is not followed"), "{error}");
    }
    assert_eq!(target.hits(), 0);
    let said = gateway.call("url_fetch", json!({ "url": server.url("/302") }));
    assert_eq!(said["result"]["content"], "target", "the control: {said}");
    assert_eq!(said["result"]["url"], target.url("/"), "where it ended");
    assert_eq!(target.hits(), 1);
    let cache = gateway.home.path().join("host/cache");
    assert_eq!(tree(&cache), []);
}

/// A server's certificate for 127.0.0.2, and the file that makes a gateway trust it.
pub fn certificate(home: &Home) -> (Arc<ServerConfig>, std::path::PathBuf) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.2".to_owned()]).expect("made");
    let trusted = home.outside("trusted.pem");
    std::fs::write(&trusted, made.cert.pem()).expect("the certificate");
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("protocols")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], PrivateKeyDer::from(key))
        .expect("a server's certificate");
    (Arc::new(config), trusted)
}

#[test]
fn a_redirect_from_https_to_http_is_checked_too() {
    let canary = Origin::canary();
    for (settings, reached) in [(ONE_ALLOWED, 0), (LOOPBACK, 1)] {
        let home = Home::new().with_config(settings);
        let (tls, trusted) = certificate(&home);
        let to = canary.url("/");
        let server = Origin::secure([127, 0, 0, 2], tls, move |heard| {
            match heard.target.as_str() {
                "/away" => Reply::redirect(302, &to),
                _ => Reply::text("secure"),
            }
        });
        let mut command = up(&home);
        command.env("SSL_CERT_FILE", trusted);
        let gateway = Gateway::from(home, command);
        let url = |path: &str| format!("https://{}{path}", server.address());
        let said = gateway.call("tool::web_fetch", json!({ "url": url("/") }));
        assert_eq!(said["result"]["content"], "secure", "the control: {said}");
        let said = gateway.call("tool::web_fetch", json!({ "url": url("/away") }));
        assert_eq!(said["ok"], reached == 1, "{said}");
        assert_eq!(canary.hits(), reached);
    }
}
