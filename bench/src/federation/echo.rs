//! The least MCP server and client there are: one tool, one connection, one request at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

/// A server with one tool, `echo`.
pub struct Echo {
    address: String,
}

impl Echo {
    pub fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || drop(serve(stream)));
            }
        });
        Ok(Self { address })
    }

    pub fn address(&self) -> &str {
        &self.address
    }
}

fn serve(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let Some((start, _, body)) = message(&mut stream)? else {
            return Ok(());
        };
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (status, answer) = match start.starts_with("POST") {
            true => answer(&request),
            false => ("405 Method Not Allowed", None),
        };
        let answer = answer.map(|answer| answer.to_string()).unwrap_or_default();
        let kind = match answer.is_empty() {
            true => "",
            false => "content-type: application/json\r\n",
        };
        let head = format!(
            "HTTP/1.1 {status}\r\n{kind}content-length: {}\r\n\r\n",
            answer.len()
        );
        let whole = [head.as_bytes(), answer.as_bytes()].concat();
        stream.get_mut().write_all(&whole)?;
    }
}

fn answer(request: &Value) -> (&'static str, Option<Value>) {
    let id = &request["id"];
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "echo", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{
            "name": "echo",
            "description": "Says what it is told",
            "inputSchema": { "type": "object", "properties": { "message": { "type": "string" } }, "required": ["message"] },
            "annotations": { "readOnlyHint": true },
        }] }),
        "tools/call" => json!({
            "content": [{ "type": "text", "text": request["params"]["arguments"]["message"] }],
        }),
        "ping" => json!({}),
        _ if id.is_null() => return ("202 Accepted", None),
        _ => {
            let error = json!({ "code": -32601, "message": "Method not found" });
            return (
                "200 OK",
                Some(json!({ "jsonrpc": "2.0", "id": id, "error": error })),
            );
        }
    };
    (
        "200 OK",
        Some(json!({ "jsonrpc": "2.0", "id": id, "result": result })),
    )
}

/// A start line, headers in lower case, a body; nothing when the connection has ended.
type Message = (String, Vec<(String, String)>, Vec<u8>);

fn message(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Message>> {
    let mut start = String::new();
    if stream.read_line(&mut start)? == 0 {
        return Ok(None);
    }
    let (mut headers, mut line) = (Vec::new(), String::new());
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        match line.trim().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()))
            }
            None => break,
        }
    }
    let said = |name: &str| {
        headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let mut body = Vec::new();
    if said("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        loop {
            line.clear();
            stream.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim().split(';').next().unwrap_or("0"), 16)
                .unwrap_or(0);
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk)?;
            body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = said("content-length").and_then(|length| length.parse().ok()) {
        body = vec![0; length];
        stream.read_exact(&mut body)?;
    }
    Ok(Some((start, headers, body)))
}

/// A client on one kept-alive connection.
pub struct McpClient {
    stream: BufReader<TcpStream>,
    head: String,
    session: String,
    next: u64,
}

impl McpClient {
    pub fn connect(host: &str, path: &str, token: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(host).map_err(|e| e.to_string())?;
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        let mut client = Self {
            stream: BufReader::new(stream),
            head: format!(
                "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\n"
            ),
            session: String::new(),
            next: 0,
        };
        client.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "bench", "version": "1" },
            }),
        )?;
        client.tell("notifications/initialized")?;
        Ok(client)
    }

    /// Calls the tool, and checks what it says.
    pub fn echo(&mut self, tool: &str) -> Result<(), String> {
        let params = json!({ "name": tool, "arguments": { "message": "hello" } });
        let result = self.ask("tools/call", params)?;
        match result["content"][0]["text"] == "hello" {
            true => Ok(()),
            false => Err(format!("the answer was {result}")),
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.next += 1;
        let body = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        let text = self.send(&body)?;
        let whole = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let found = whole.chain([text.as_str()]).find_map(|part| {
            let value: Value = serde_json::from_str(part.trim()).ok()?;
            (value["id"] == self.next).then_some(value)
        });
        let mut answer = found.ok_or_else(|| format!("no answer to {method} in {text:?}"))?;
        match answer["error"].is_null() {
            true => Ok(answer["result"].take()),
            false => Err(answer["error"].to_string()),
        }
    }

    fn tell(&mut self, method: &str) -> Result<(), String> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method }))
            .map(drop)
    }

    fn send(&mut self, body: &Value) -> Result<String, String> {
        let body = body.to_string();
        let request = format!(
            "{}{}content-length: {}\r\n\r\n{body}",
            self.head,
            self.session,
            body.len()
        );
        let sent = self.stream.get_mut().write_all(request.as_bytes());
        sent.map_err(|e| e.to_string())?;
        let answer = message(&mut self.stream).map_err(|e| e.to_string())?;
        let (_, headers, body) = answer.ok_or("the connection was closed")?;
        if let Some((_, id)) = headers.iter().find(|(name, _)| name == "mcp-session-id") {
            self.session = format!("mcp-session-id: {id}\r\n");
        }
        String::from_utf8(body).map_err(|e| e.to_string())
    }
}
