//! A plain HTTP service, by its OpenAPI document.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use super::{gateway, names};
use crate::harness::Home;

/// A service that answers with what it was asked.
fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
            let (mut head, mut length) = (Vec::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                if let Some(said) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = said.trim().parse().unwrap_or(0);
                }
                head.push(line.trim().to_owned());
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let status = if head.first().is_some_and(|line| line.contains("/pets/404")) {
                "404 Not Found"
            } else {
                "200 OK"
            };
            let said = json!({ "request": head.first(), "headers": head, "body": String::from_utf8_lossy(&body) }).to_string();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{said}",
                said.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

#[test]
fn each_operation_of_a_document_is_a_tool() {
    let url = service();
    let home = Home::new();
    let document = json!({
        "openapi": "3.0.0", "info": { "title": "Pets", "version": "1" }, "servers": [{ "url": url }],
        "paths": {
            "/pets/{id}": {
                "get": {
                    "operationId": "getPet", "summary": "One pet",
                    "parameters": [
                        { "name": "id", "in": "path", "required": true, "schema": { "type": "string" } },
                        { "name": "full", "in": "query", "schema": { "type": "boolean" } },
                    ],
                    "responses": { "200": { "description": "ok", "content": { "application/json": { "schema": {
                        "type": "object", "properties": { "request": { "type": "string" } } } } } } },
                },
            },
            "/pets": {
                "post": {
                    "operationId": "addPet", "summary": "Adds a pet",
                    "requestBody": { "required": true, "content": { "application/json": { "schema": {
                        "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] } } } },
                    "responses": { "200": { "description": "ok" } },
                },
            },
        },
    });
    let file = home.outside("pets.json");
    std::fs::write(&file, document.to_string()).expect("the document");
    let gateway = gateway(
        home,
        &format!(
            "[egress]\nallow_private = [\"127.0.0.1/32\"]\n[mcpServers.pets]\nopenapi = {:?}\n",
            file.display().to_string()
        ),
        &["pets"],
    );
    let own: Vec<String> = names(&gateway)
        .into_iter()
        .filter(|name| name.starts_with("pets__"))
        .collect();
    assert_eq!(own, ["pets__addPet", "pets__getPet"]);

    let details = gateway.call(
        "capability_details",
        json!({ "items": ["pets__getPet", "pets__addPet"] }),
    );
    let [get, add] = [0, 1].map(|place| details["result"]["items"][place].clone());
    assert_eq!(
        get["outputSchema"]["properties"]["request"]["type"], "string",
        "{details}"
    );
    assert_eq!(
        (&get["isDynamic"], add.get("outputSchema")),
        (&json!(true), None),
        "{details}"
    );
    let short = gateway.call(
        "gateway_invoke",
        json!({ "server": "pets", "tool": "getPet", "arguments": { "id": "1" } }),
    );
    assert_eq!(short["code"], "unknown_tool", "{short}");
    assert!(
        short["error"]
            .as_str()
            .is_some_and(|e| e.contains("did you mean server \"dynamic/pets\"?")),
        "{short}"
    );

    let invoke = |tool: &str, arguments: Value| {
        gateway.call(
            "gateway_invoke",
            json!({ "server": "dynamic/pets", "tool": tool, "arguments": arguments }),
        )
    };
    let got = invoke("getPet", json!({ "id": "a/../b?c", "full": true }));
    let request = got["result"]["request"]
        .as_str()
        .unwrap_or_else(|| panic!("{got}"));
    assert!(
        request.starts_with("GET /pets/a%2F") && request.contains("full=true"),
        "a parameter stays in its place: {request}"
    );
    let added = gateway.call("pets__addPet", json!({ "body": { "name": "Rex" } }));
    assert!(
        added["result"]["body"]
            .as_str()
            .is_some_and(|body| body.contains("Rex")),
        "{added}"
    );
    let missing = invoke("getPet", json!({}));
    assert_eq!(missing["code"], "invalid_arguments", "{missing}");
    let gone = invoke("getPet", json!({ "id": "404" }));
    assert_eq!(gone["ok"], false, "{gone}");
    assert!(gone.to_string().contains("404"), "{gone}");
}
