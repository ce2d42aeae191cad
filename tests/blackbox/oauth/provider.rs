//! A strict authorization server with a protected MCP server, and a browser to log in with.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Gateway, eventually};
use crate::http::{Request, Response};
use crate::tls::Certificate;

/// The authorization server and the MCP server behind it, both at one address.
pub struct Provider {
    child: Child,
    pub addr: SocketAddr,
    certificate: Option<Certificate>,
}

impl Provider {
    pub fn start() -> Self {
        Self::serve(None)
    }

    /// One that is reached by https only, with a certificate of its own.
    pub fn start_tls(certificate: Certificate) -> Self {
        Self::serve(Some(certificate))
    }

    fn serve(certificate: Option<Certificate>) -> Self {
        use std::io::{BufRead, BufReader};
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/blackbox/oauth/provider.mjs");
        let mut child = Command::new("node")
            .arg(script)
            .args(certificate.iter().flat_map(|one| [&one.cert, &one.key]))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        output.read_line(&mut line).expect("its port");
        let port: u16 = line.trim().parse().expect("its port");
        Self {
            child,
            addr: ([127, 0, 0, 1], port).into(),
            certificate,
        }
    }

    pub fn url(&self) -> String {
        match self.certificate {
            Some(_) => format!("https://localhost:{}", self.addr.port()),
            None => format!("http://{}", self.addr),
        }
    }

    fn send(&self, request: &Request) -> Response {
        match &self.certificate {
            Some(certificate) => certificate.send(self.addr, request),
            None => request.send(self.addr),
        }
    }

    /// A gateway with this MCP server under the name `prot`.
    pub fn gateway(&self, more: &str) -> Gateway {
        Gateway::with_config(&format!(
            "{more}\n[mcpServers.prot]\nurl = \"{}/mcp\"\n[[policy.rules]]\ndecision = \"allow\"\n",
            self.url()
        ))
    }

    /// Changes how it behaves, and says what it saw.
    #[track_caller]
    pub fn control(&self, change: Value) -> Value {
        self.send(&Request::post("/_control", &change)).json()
    }

    /// What it saw, without violations.
    #[track_caller]
    pub fn seen(&self) -> Value {
        let seen = self.control(json!({}));
        assert_eq!(seen["violations"], json!([]), "{seen}");
        seen
    }

    /// A signed token.
    #[track_caller]
    pub fn sign(&self, wanted: &Value) -> String {
        let signed = self.send(&Request::post("/_sign", wanted)).json();
        signed["token"].as_str().expect("a token").to_owned()
    }

    /// Opens an address as a browser would, and brings what comes back to the gateway.
    #[track_caller]
    pub fn browse(&self, gateway: &Gateway, url: &str) -> Response {
        let back = self.consent(url);
        gateway.send(&Request::get(&back))
    }

    /// Opens an address as a browser would: the path at the gateway that it is sent to.
    #[track_caller]
    pub fn consent(&self, url: &str) -> String {
        let path = url.strip_prefix(&self.url()).expect("its own address");
        let answer = self.send(&Request::get(path));
        assert_eq!(answer.status, 302, "{}", answer.text());
        let place = answer.header("location").expect("a place");
        let from = place.find("/oauth/callback").expect("the gateway's page");
        place[from..].to_owned()
    }

    /// Logs in: the tools are there when the page is.
    #[track_caller]
    pub fn log_in(&self, gateway: &Gateway) {
        let url = begin(gateway);
        let page = self.browse(gateway, &url);
        assert_eq!(page.status, 200, "{}", page.text());
        assert!(lists_tools(gateway), "{}", page.text());
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Begins a login: the address to open.
#[track_caller]
pub fn begin(gateway: &Gateway) -> String {
    let begun = gateway.post("/api/servers/prot/login", &json!({})).json();
    let url = begun["result"]["url"].as_str();
    url.unwrap_or_else(|| panic!("{begun}")).to_owned()
}

/// Waits until the tools of the protected server can be called.
#[track_caller]
pub fn offered(gateway: &Gateway) {
    eventually("the tools are there", || lists_tools(gateway));
}

/// Whether the tools of the protected server are in the catalogue.
#[track_caller]
pub fn lists_tools(gateway: &Gateway) -> bool {
    let listed = gateway.get("/api/tools?profile=all").text();
    listed.contains("prot__echo") && listed.contains("prot__admin")
}

/// Calls a tool of the protected server.
#[track_caller]
pub fn echo(gateway: &Gateway, text: &str) -> Value {
    gateway.call("prot__echo", json!({ "text": text }))
}

/// The accounts there are.
#[track_caller]
pub fn connections(gateway: &Gateway) -> Value {
    gateway.get("/api/connections").json()["result"]["connections"].clone()
}

/// The names of all secrets there are.
#[track_caller]
pub fn secrets(gateway: &Gateway) -> Value {
    gateway.get("/api/secrets").json()["result"]["names"].clone()
}
