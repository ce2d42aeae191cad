//! Ten thousand idle nodes on one gateway.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::daemon::Daemon;
use crate::stats::line;

const NODES: usize = 10_000;
/// How many dial at once.
const DIALING: usize = 64;

/// Memory of each of ten thousand idle nodes, and whether one of them still answers.
pub fn crowd(binary: &Path) -> Result<(), Box<dyn Error>> {
    let daemon = Daemon::start(binary, tempfile::tempdir()?)?;
    let mut client = daemon.client()?;
    client.send("POST", "/api/tools/gsv__ReadFile", "", "{}")?;
    let before = daemon.resident_kib()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let began = Instant::now();
    let (ended, mut lost) = mpsc::unbounded_channel();
    runtime.block_on(dial_all(&daemon.socket(), &daemon.token()?, &ended))?;
    let took = began.elapsed();
    std::thread::sleep(Duration::from_secs(1)); // what was seen is put on disk meanwhile
    let after = daemon.resident_kib()?;
    let each = (after - before) / NODES as f64;
    line(
        "10,000 idle nodes: resident memory of the gateway for each",
        &format!("{each:.1} KiB"),
        "20 KB",
    );
    let per_second = NODES as f64 / took.as_secs_f64();
    line(
        "10,000 nodes: connects per second",
        &format!("{per_second:.0}"),
        "",
    );
    let mut client = daemon.client()?; // the old connection may have been idle for too long
    let began = Instant::now();
    let (status, answer) = client.send("POST", "/api/tools/n4242__Read", "", r#"{"path":"a"}"#)?;
    if status != 200 || !answer.contains("n4242") {
        return Err(format!("a node among many did not answer: {status} {answer}").into());
    }
    let took = began.elapsed();
    line(
        "10,000 nodes: a call to one of them",
        &format!("{:.1} ms", took.as_secs_f64() * 1e3),
        "",
    );
    if let Ok(why) = lost.try_recv() {
        return Err(format!("a node was lost: {why}").into());
    }
    drop(runtime);
    daemon.stop().map(drop)
}

async fn dial_all(
    url: &str,
    token: &str,
    ended: &mpsc::UnboundedSender<String>,
) -> Result<(), Box<dyn Error>> {
    let dialing = Arc::new(Semaphore::new(DIALING));
    let (ready, mut all) = mpsc::unbounded_channel();
    for number in 0..NODES {
        let place = dialing.clone().acquire_owned().await?;
        let (url, token) = (url.to_owned(), token.to_owned());
        let (ready, ended) = (ready.clone(), ended.clone());
        tokio::spawn(async move {
            let name = format!("n{number}");
            let why = match serve(&url, &token, &name, &ready, place).await {
                Ok(()) => "it ended".to_owned(),
                Err(error) => error.to_string(),
            };
            let _ = ended.send(format!("{name}: {why}"));
        });
    }
    for _ in 0..NODES {
        tokio::time::timeout(Duration::from_secs(120), all.recv()).await?;
    }
    Ok(())
}

/// A node that answers every call with its own name.
async fn serve(
    url: &str,
    token: &str,
    name: &str,
    ready: &mpsc::UnboundedSender<()>,
    place: tokio::sync::OwnedSemaphorePermit,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let small = WebSocketConfig::default()
        .read_buffer_size(1024)
        .write_buffer_size(1024);
    let request = url.into_client_request()?;
    let (mut socket, _) =
        tokio_tungstenite::connect_async_with_config(request, Some(small), true).await?;
    socket.send(Message::text(greeting(name, token))).await?;
    let hello = socket.next().await.ok_or("no greeting")??.into_text()?;
    if !hello.contains("hello-ok") {
        return Err(hello.to_string().into());
    }
    drop(place);
    ready.send(())?;
    while let Some(message) = socket.next().await {
        let Message::Text(text) = message? else {
            continue;
        };
        let frame: Value = serde_json::from_str(&text)?;
        if frame["event"] == "tool.invoke" {
            let call = &frame["payload"]["callId"];
            let params =
                json!({ "callId": call, "result": { "path": name, "content": "", "lines": 0 } });
            let answer =
                json!({ "type": "req", "id": "1", "method": "tool.result", "params": params });
            socket.send(Message::text(answer.to_string())).await?;
        }
    }
    Ok(())
}

/// What a node says of itself, as large as ours: seven tools with their schemas.
fn greeting(name: &str, token: &str) -> String {
    let described = "Does what its name says on this machine, whole or not at all. ".repeat(3);
    let field = json!({ "type": ["string", "null"], "description": "Relative paths start at the node's workspace." });
    let schema = json!({
        "type": "object",
        "properties": { "path": field, "offset": field, "limit": field, "pattern": field, "include": field, "context": field },
        "additionalProperties": false,
    });
    let able = [
        ("Bash", "shell.exec"),
        ("Process", "shell.exec"),
        ("Read", "filesystem.read"),
        ("Write", "filesystem.write"),
        ("Edit", "filesystem.edit"),
        ("Glob", "filesystem.list"),
        ("Grep", "text.search"),
    ];
    let tools: Vec<Value> = able
        .iter()
        .map(|(tool, _)| json!({ "name": tool, "description": described, "inputSchema": schema }))
        .collect();
    let host: Vec<&str> = able.iter().skip(1).map(|(_, can)| *can).collect();
    let of_tool: serde_json::Map<String, Value> = able
        .iter()
        .map(|(tool, can)| ((*tool).to_owned(), json!([can])))
        .collect();
    let params = json!({
        "minProtocol": 1, "maxProtocol": 1,
        "client": { "id": name, "version": "0.1.0", "platform": "linux-x64", "mode": "node" },
        "auth": { "token": token },
        "tools": tools,
        "nodeRuntime": { "hostCapabilities": host, "toolCapabilities": of_tool },
    });
    json!({ "type": "req", "id": "c", "method": "connect", "params": params }).to_string()
}
