//! Claims about documents that mean harm.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_config::McpServer;
use manyhands_core::{ErrorCode, Secret, ServerName, ToolError};
use manyhands_guard::{Egress, EgressPolicy, HeaderName, Lookup, SystemLookup};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::request::OperationRequest;
use super::{ListedTools, OperationCall, list};

/// A server that records what it is sent, and always answers the same.
struct Recorder {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    async fn at(address: &str, answer: String) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = heard.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).await.is_ok() {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                noted.lock().unwrap().push(head);
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { address, heard }
    }

    async fn saying(body: &str) -> Self {
        Self::at("127.0.0.1:0", ok(body)).await
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn ok(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Answers one after the other; the last one again and again.
struct Scripted(Mutex<Vec<IpAddr>>);

#[async_trait]
impl Lookup for Scripted {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut left = self.0.lock().unwrap();
        let next = if left.len() > 1 {
            left.remove(0)
        } else {
            left[0]
        };
        Ok(vec![next])
    }
}

fn egress(allowed: &[&str], lookup: Arc<dyn Lookup>) -> Egress {
    let policy = EgressPolicy {
        allow_private: allowed.iter().map(|net| net.parse().unwrap()).collect(),
        ..EgressPolicy::default()
    };
    Egress::new(policy, lookup)
}

fn guarded() -> Egress {
    egress(&[], Arc::new(SystemLookup))
}

/// A document whose one operation is `GET /pets/{id}`.
fn document(servers: Value) -> Value {
    json!({
        "openapi": "3.1.0", "servers": servers,
        "paths": { "/pets/{id}": { "get": {
            "operationId": "getPet",
            "parameters": [{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }],
        } } },
    })
}

async fn read(document: &Value, egress: &Egress) -> Result<ListedTools, ToolError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openapi.json");
    std::fs::write(&file, document.to_string()).unwrap();
    let config = McpServer {
        openapi: Some(file.display().to_string()),
        ..McpServer::default()
    };
    list(&"pets".parse::<ServerName>().unwrap(), &config, egress).await
}

async fn call(server: &str, id: &str, egress: &Egress) -> Result<Value, ToolError> {
    let request = json!({
        "server": server, "method": "GET", "path": "/pets/{id}", "body": null,
        "parameters": [{ "key": "id", "name": "id", "in": "path", "explode": false }],
    });
    let request: OperationRequest = serde_json::from_value(request).unwrap();
    let secret = Secret::new("Bearer canary-credential");
    let call = OperationCall {
        request: &request,
        url: None,
        arguments: &Map::from_iter([("id".to_owned(), json!(id))]),
        credentials: &[(HeaderName::from_static("authorization"), secret)],
        timeout: Duration::from_secs(20),
    };
    call.send(egress).await
}

/// Private places, each in the spellings that a document may use for it.
const PRIVATE: [&str; 28] = [
    "http://169.254.169.254/latest",
    "http://127.0.0.1",
    "http://localhost",
    "http://LOCALHOST",
    "http://localhost./",
    "http://api.localhost",
    "http://[::1]",
    "http://[0:0:0:0:0:0:0:1]",
    "http://[::ffff:127.0.0.1]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[fd00:ec2::254]",
    "http://[fe80::1]",
    "http://[64:ff9b::7f00:1]",
    "http://10.0.0.1",
    "http://172.16.0.1",
    "http://192.168.0.1",
    "http://100.64.0.1",
    "http://0.0.0.0",
    "http://0",
    "http://2130706433",
    "http://0x7f000001",
    "http://0x7f.1",
    "http://0177.0.0.1",
    "http://127.1",
    "http://127.0.0.1.",
    "http:\\\\127.0.0.1",
    "http://①②⑦.0.0.1",
    "http://2852039166",
];

#[tokio::test]
async fn a_document_cannot_name_a_private_place() {
    let egress = guarded();
    for server in PRIVATE {
        let entry = json!([{ "url": server }]);
        let fine = json!([{ "url": "https://api.example" }]);
        let mut of_path = document(fine.clone());
        of_path["paths"]["/pets/{id}"]["servers"] = entry.clone();
        let mut of_operation = document(fine);
        of_operation["paths"]["/pets/{id}"]["get"]["servers"] = entry.clone();
        let filled =
            document(json!([{ "url": "{all}", "variables": { "all": { "default": server } } }]));
        for (place, document) in [
            ("the document", document(entry)),
            ("a path", of_path),
            ("an operation", of_operation),
            ("a variable", filled),
        ] {
            let refused = read(&document, &egress).await.unwrap_err().text();
            assert!(
                refused.contains("not on the public internet")
                    && refused.contains("egress.allow_private"),
                "{place} {server}: {refused}"
            );
        }
    }
    for server in [
        "https://api.example",
        "https://8.8.8.8/v1",
        "https://[2606:4700::1]/",
    ] {
        let listed = read(&document(json!([{ "url": server }])), &egress).await;
        assert_eq!(listed.unwrap().definitions.len(), 1, "control: {server}");
    }
}

#[tokio::test]
async fn a_call_reaches_no_private_place_that_was_accepted_before() {
    let server = Recorder::saying("{}").await;
    let port = server.address.port();
    for host in [
        "127.0.0.1",
        "localhost",
        "[::ffff:127.0.0.1]",
        "0x7f.1",
        "2130706433",
    ] {
        let place = format!("http://{host}:{port}");
        let refused = call(&place, "7", &guarded()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden, "{host}: {refused}");
        assert!(refused.text().contains("egress.allow_private"), "{refused}");
    }
    assert!(server.heard().is_empty());
    let allowed = egress(&["127.0.0.0/8"], Arc::new(SystemLookup));
    let place = format!("http://127.0.0.1:{port}");
    assert!(call(&place, "7", &allowed).await.is_ok());
    let heard = server.heard();
    assert!(
        heard[0].starts_with("GET /pets/7 ") && heard[0].contains("canary-credential"),
        "control: {heard:?}"
    );
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_later_is_not_followed() {
    let good = Recorder::saying("{}").await;
    let port = good.address.port();
    let evil = Recorder::at(&format!("127.0.0.2:{port}"), ok("{}")).await;
    let answers = ["127.0.0.1", "127.0.0.2"].map(|ip| ip.parse().unwrap());
    let lookup = Arc::new(Scripted(Mutex::new(answers.to_vec())));
    let egress = egress(&["127.0.0.1/32"], lookup);
    let place = format!("http://api.example:{port}");
    assert!(call(&place, "7", &egress).await.is_ok(), "control");
    let refused = call(&place, "8", &egress).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Forbidden, "{refused}");
    assert_eq!(good.heard().len(), 1);
    assert!(evil.heard().is_empty(), "{:?}", evil.heard());
}

#[tokio::test]
async fn credentials_do_not_follow_a_redirect() {
    let target = Recorder::saying("{}").await;
    let allowed = egress(&["127.0.0.0/8"], Arc::new(SystemLookup));
    for status in [301, 302, 303, 307, 308] {
        let to = target.address;
        let answer = format!(
            "HTTP/1.1 {status} X\r\nlocation: http://{to}/stolen\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let server = Recorder::at("127.0.0.1:0", answer).await;
        let refused = call(&format!("http://{}", server.address), "7", &allowed).await;
        let refused = refused.unwrap_err();
        assert!(refused.message.contains("redirect"), "{status}: {refused}");
        assert!(server.heard()[0].contains("canary-credential"), "control");
    }
    assert!(target.heard().is_empty());
}

#[tokio::test]
async fn no_argument_leaves_the_server_or_its_base_path() {
    let server = Recorder::saying("{}").await;
    let allowed = egress(&["127.0.0.0/8"], Arc::new(SystemLookup));
    let place = format!("http://{}/v1", server.address);
    let ids = [
        "../../admin",
        "..\\..\\admin",
        "%2e%2e/admin",
        "@evil.example/",
        "//evil.example/",
        "\\\\evil.example",
        "x?y#z",
        "x\r\nHost: evil.example",
        ":80@evil.example",
    ];
    for id in ids {
        assert!(call(&place, id, &allowed).await.is_ok(), "{id:?}");
    }
    for id in ["..", ".", ""] {
        assert!(call(&place, id, &allowed).await.is_err(), "{id:?}");
    }
    let heard = server.heard();
    assert_eq!(heard.len(), ids.len());
    for head in heard {
        let line = head.lines().next().unwrap();
        let target = line.split(' ').nth(1).unwrap();
        assert!(target.starts_with("/v1/pets/"), "{line}");
        assert_eq!(target.matches('/').count(), 3, "{line}");
        assert!(
            head.contains(&format!("host: {}", server.address)),
            "{head}"
        );
    }
}

#[tokio::test]
async fn the_document_itself_is_fetched_by_the_same_rules() {
    let text = document(json!([{ "url": "https://api.example" }])).to_string();
    let server = Recorder::saying(&text).await;
    let elsewhere = Recorder::saying(&text).await;
    let moved = format!(
        "HTTP/1.1 302 X\r\nlocation: http://{}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        elsewhere.address
    );
    let moved = Recorder::at("127.0.0.1:0", moved).await;
    let name: ServerName = "pets".parse().unwrap();
    let config = |address: SocketAddr| McpServer {
        openapi: Some(format!("http://{address}/openapi.json?token=canary")),
        ..McpServer::default()
    };
    let refused = list(&name, &config(server.address), &guarded()).await;
    let refused = refused.unwrap_err().text();
    assert!(
        refused.contains("egress.allow_private") && !refused.contains("canary"),
        "{refused}"
    );
    assert!(server.heard().is_empty());
    let allowed = egress(&["127.0.0.0/8"], Arc::new(SystemLookup));
    let refused = list(&name, &config(moved.address), &allowed).await;
    assert!(refused.unwrap_err().message.contains("redirect"));
    assert!(elsewhere.heard().is_empty());
    let listed = list(&name, &config(server.address), &allowed).await;
    assert_eq!(listed.unwrap().definitions.len(), 1, "control");
}

#[tokio::test]
async fn what_the_settings_say_of_the_service_goes_before_the_document() {
    let server = Recorder::saying("{}").await;
    let allowed = egress(&["127.0.0.0/8"], Arc::new(SystemLookup));
    let document = document(json!([{ "url": "http://10.0.0.1/" }]));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openapi.json");
    std::fs::write(&file, document.to_string()).unwrap();
    let url = format!("http://{}/v9", server.address);
    let config = McpServer {
        openapi: Some(file.display().to_string()),
        url: Some(url.clone()),
        ..McpServer::default()
    };
    let name: ServerName = "pets".parse().unwrap();
    let listed = list(&name, &config, &allowed).await.unwrap();
    let request = &listed.definitions[0][manyhands_upstream::REQUEST];
    assert_eq!(request["server"], Value::Null);
    let request: OperationRequest = serde_json::from_value(request.clone()).unwrap();
    let arguments = Map::from_iter([("id".to_owned(), json!("7"))]);
    let send = async |url: Option<&str>| {
        let call = OperationCall {
            request: &request,
            url,
            arguments: &arguments,
            credentials: &[],
            timeout: Duration::from_secs(20),
        };
        call.send(&allowed).await
    };
    assert!(send(Some(&url)).await.is_ok());
    assert!(server.heard()[0].starts_with("GET /v9/pets/7 "));
    // Without the setting it is nobody's word where the service is.
    let refused = send(None).await.unwrap_err();
    assert!(refused.text().contains("mcp accept"), "{refused}");
    assert_eq!(server.heard().len(), 1);
}
