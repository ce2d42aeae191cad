//! Logging in at a real authorization server: npm's oidc-provider, through its own login and consent
//! pages.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::provider::{begin, echo};
use crate::harness::{Gateway, eventually};
use crate::http::{Request, Response};

/// oidc-provider, and an MCP server that it protects.
struct Oidc {
    child: Child,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    addr: SocketAddr,
}

impl Oidc {
    fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oidc-provider");
        assert!(
            folder.join("node_modules").is_dir(),
            "run npm ci in tests/oidc-provider first"
        );
        let mut child = Command::new("node")
            .arg("server.mjs")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null()) // it warns of its development settings
            .spawn()
            .expect("node");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        output.read_line(&mut line).expect("its port");
        let port: u16 = line.trim().parse().expect("its port");
        let input = child.stdin.take().expect("its input");
        Self {
            child,
            pipes: Mutex::new((input, output)),
            addr: ([127, 0, 0, 1], port).into(),
        }
    }

    fn gateway(&self) -> Gateway {
        Gateway::with_config(&format!(
            "[mcpServers.prot]\nurl = \"http://{}/mcp\"\n[[policy.rules]]\ndecision = \"allow\"\n",
            self.addr
        ))
    }

    /// Changes how it behaves, and says what it saw.
    fn control(&self, change: &Value) -> Value {
        let mut pipes = self.pipes.lock().expect("no panic while held");
        writeln!(pipes.0, "{change}").expect("a command");
        let mut line = String::new();
        pipes.1.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Logs in as a person would, with a browser that knows nobody yet.
    #[track_caller]
    fn log_in(&self, gateway: &Gateway) {
        let url = begin(gateway);
        let back = Browser::new(self.addr).through(&url);
        let page = gateway.send(&Request::get(&back));
        assert_eq!(page.status, 200, "{}", page.text());
    }
}

impl Drop for Oidc {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Follows redirects, keeps cookies, and fills in every form.
struct Browser {
    addr: SocketAddr,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    fn new(addr: SocketAddr) -> Self {
        Self {
            addr,
            cookies: BTreeMap::new(),
        }
    }

    fn send(&mut self, request: Request) -> Response {
        let jar = self.cookies.iter();
        let jar: Vec<String> = jar.map(|(name, value)| format!("{name}={value}")).collect();
        let answer = request.header("Cookie", &jar.join("; ")).send(self.addr);
        for cookie in answer.headers("set-cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').expect("a cookie");
            match value.is_empty() {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        answer
    }

    fn path(&self, url: &str) -> String {
        let own = format!("http://{}", self.addr);
        url.strip_prefix(&own).unwrap_or(url).to_owned()
    }

    /// From the address of a login to where the gateway gets its end.
    #[track_caller]
    fn through(mut self, url: &str) -> String {
        let mut answer = self.send(Request::get(&self.path(url)));
        for _ in 0..20 {
            let request = match answer.header("location") {
                Some(place) => match place.find("/oauth/callback") {
                    Some(from) => return place[from..].to_owned(),
                    None => Request::get(&self.path(place)),
                },
                None => self.fill_in(&answer),
            };
            answer = self.send(request);
        }
        panic!("no end: {}", answer.text());
    }

    /// What a person sends with the form of a page.
    #[track_caller]
    fn fill_in(&self, page: &Response) -> Request {
        assert_eq!(page.status, 200, "{}", page.text());
        let html = page.text();
        let after = |mark: &str| {
            let from = html.find(mark).map(|at| at + mark.len());
            let rest = &html[from.unwrap_or_else(|| panic!("no {mark} in {html}"))..];
            rest.split('"').next().unwrap_or_default().to_owned()
        };
        let prompt = after("name=\"prompt\" value=\"");
        Request::new("POST", &self.path(&after("action=\"")))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(format!("prompt={prompt}&login=ada&password=secret"))
    }
}

#[test]
fn a_login_lives_as_long_as_its_grant() {
    let oidc = Oidc::start();
    let gateway = oidc.gateway();
    oidc.control(&json!({ "ttl": 2 }));
    oidc.log_in(&gateway);
    eventually(
        "it was renewed twice, with a new refresh token each time",
        || {
            let said = echo(&gateway, "hello");
            assert!(said.to_string().contains("echo: hello"), "{said}");
            oidc.control(&json!({}))["refreshes"].as_u64() >= Some(2)
        },
    );
    let gateway = gateway.restart();
    eventually("it is renewed by the next process", || {
        assert_eq!(echo(&gateway, "again")["ok"], true);
        oidc.control(&json!({}))["refreshes"].as_u64() >= Some(4)
    });
    assert_eq!(
        oidc.control(&json!({}))["revoked"],
        0,
        "no token was used twice"
    );
    oidc.control(&json!({ "revoke": true }));
    let over = echo(&gateway, "x");
    assert_eq!(over["ok"], false, "{over}");
    assert!(
        over.to_string().contains("manyhands mcp login prot"),
        "{over}"
    );
    oidc.log_in(&gateway);
    assert_eq!(echo(&gateway, "x")["ok"], true);
}

#[test]
fn what_a_server_wants_more_is_asked_for_with_every_later_login() {
    let oidc = Oidc::start();
    let gateway = oidc.gateway();
    oidc.log_in(&gateway);
    let refused = gateway.call("prot__admin", json!({}));
    assert!(refused.to_string().contains("mcp login prot"), "{refused}");
    for _ in 0..2 {
        oidc.log_in(&gateway);
        let done = gateway.call("prot__admin", json!({}));
        assert_eq!(done["ok"], true, "{done}");
    }
}

#[test]
fn a_client_that_it_has_forgotten_is_registered_again() {
    let oidc = Oidc::start();
    let gateway = oidc.gateway();
    oidc.log_in(&gateway);
    oidc.control(&json!({ "forget": true }));
    let url = begin(&gateway);
    let path = Browser::new(oidc.addr).path(&url);
    assert_eq!(Request::get(&path).send(oidc.addr).status, 400);
    oidc.log_in(&gateway);
    assert_eq!(echo(&gateway, "x")["ok"], true);
}
