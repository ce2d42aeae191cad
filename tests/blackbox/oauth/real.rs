//! Logging in at real authorization servers: npm's oidc-provider, through its own login and consent
//! pages, and that of the TypeScript SDK. Those of FastMCP and the Python SDK are in `tests/interop`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::provider::{begin, echo};
use crate::harness::{Gateway, eventually};
use crate::http::{Request, Response};
use crate::npm::packages;

/// An authorization server, and an MCP server that it protects.
struct Real {
    child: Child,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    addr: SocketAddr,
}

impl Real {
    fn oidc_provider() -> Self {
        Self::start("oidc-provider", "server.mjs")
    }

    fn typescript_sdk() -> Self {
        Self::start("mcp-client", "oauth-server.mjs")
    }

    fn start(folder: &str, script: &str) -> Self {
        let mut child = Command::new("node")
            .arg(script)
            .current_dir(packages(folder))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
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

impl Drop for Real {
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

/// Logs in, stays logged in over renewals and a restart, is revoked and logs in again.
#[track_caller]
fn lives_as_long_as_its_grant(real: &Real) {
    let gateway = real.gateway();
    real.control(&json!({ "ttl": 2 }));
    real.log_in(&gateway);
    let renewed = |gateway: &Gateway, times: u64| {
        eventually("it was renewed, with a new refresh token each time", || {
            let said = echo(gateway, "hello");
            assert!(said.to_string().contains("echo: hello"), "{said}");
            real.control(&json!({}))["refreshes"].as_u64() >= Some(times)
        });
    };
    renewed(&gateway, 1);
    let gateway = gateway.restart();
    renewed(&gateway, 2);
    let seen = real.control(&json!({}));
    assert_eq!(seen["revoked"], 0, "no token was used twice");
    real.control(&json!({ "revoke": true }));
    let over = echo(&gateway, "x");
    assert_eq!(over["ok"], false, "{over}");
    let text = over.to_string();
    assert!(text.contains("manyhands mcp login prot"), "{over}");
    real.log_in(&gateway);
    assert_eq!(echo(&gateway, "x")["ok"], true);
}

#[test]
fn a_login_at_oidc_provider_lives_as_long_as_its_grant() {
    lives_as_long_as_its_grant(&Real::oidc_provider());
}

#[test]
fn a_login_at_the_typescript_sdk_lives_as_long_as_its_grant() {
    lives_as_long_as_its_grant(&Real::typescript_sdk());
}

#[test]
fn additional_scopes_are_requested_at_every_later_login() {
    let real = Real::oidc_provider();
    let gateway = real.gateway();
    real.log_in(&gateway);
    let refused = gateway.call("prot__admin", json!({}));
    assert!(refused.to_string().contains("mcp login prot"), "{refused}");
    for _ in 0..2 {
        real.log_in(&gateway);
        let done = gateway.call("prot__admin", json!({}));
        assert_eq!(done["ok"], true, "{done}");
    }
}

#[test]
fn a_client_that_they_have_forgotten_is_registered_again() {
    for real in [Real::oidc_provider(), Real::typescript_sdk()] {
        let gateway = real.gateway();
        real.log_in(&gateway);
        real.control(&json!({ "forget": true }));
        let path = Browser::new(real.addr).path(&begin(&gateway));
        assert_eq!(Request::get(&path).send(real.addr).status, 400);
        real.log_in(&gateway);
        assert_eq!(echo(&gateway, "x")["ok"], true);
    }
}
