//! A model server that says what it is told, for us and for the others: OpenAI's Chat
//! Completions and Responses, streamed or whole. It knows how long it took itself.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The model that answers at once.
pub const FAST: &str = "fast";
/// The model that answers in pieces, each with the moment at which it was sent.
pub const SLOW: &str = "slow";
/// How many pieces the slow one sends.
pub const PIECES: usize = 20;
/// How long it waits between them.
const BETWEEN: Duration = Duration::from_millis(100);

/// A running model server.
pub struct Model {
    _runtime: tokio::runtime::Runtime,
    /// `http://127.0.0.1:PORT`
    pub url: String,
    clock: Arc<Own>,
}

/// The server's own time.
struct Own {
    began: Instant,
    spent: AtomicU64,
    asked: AtomicU64,
}

impl Model {
    /// Starts one on a free port.
    pub fn start() -> Result<Self, Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let url = format!("http://{}", listener.local_addr()?);
        let clock = Arc::new(Own {
            began: Instant::now(),
            spent: AtomicU64::new(0),
            asked: AtomicU64::new(0),
        });
        let own = clock.clone();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let own = own.clone();
                tokio::spawn(async move {
                    let _ = serve(stream, &own).await; // whoever asked has gone
                });
            }
        });
        Ok(Self {
            _runtime: runtime,
            url,
            clock,
        })
    }

    /// When it started; the slow model writes microseconds since then into its pieces.
    pub fn started(&self) -> Instant {
        self.clock.began
    }

    /// How long it worked itself, and how often it was asked, since it was last asked this.
    pub fn own_time(&self) -> (Duration, u64) {
        let spent = self.clock.spent.swap(0, Ordering::SeqCst);
        let asked = self.clock.asked.swap(0, Ordering::SeqCst);
        (Duration::from_nanos(spent), asked)
    }
}

impl Own {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

type Failure = Box<dyn Error + Send + Sync>;

async fn serve(stream: TcpStream, own: &Own) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            line.clear();
            stream.read_line(&mut line).await?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let began = Instant::now();
        let ask: Value = serde_json::from_slice(&body).unwrap_or_default();
        answer(stream.get_mut(), own, &path, &ask).await?;
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if length > 0 {
            own.spent.fetch_add(took, Ordering::SeqCst);
            own.asked.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn answer(stream: &mut TcpStream, own: &Own, path: &str, ask: &Value) -> Result<(), Failure> {
    let model = ask["model"].as_str().unwrap_or_default();
    let slow = model.ends_with(SLOW);
    let streamed = ask["stream"] == true;
    let responses = path.ends_with("/responses");
    if !streamed {
        return whole(stream, path).await;
    }
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let pieces = if slow { PIECES } else { 1 };
    if responses {
        let started = json!({ "type": "response.created", "response": { "id": "r" } });
        let item = json!({ "type": "message", "id": "m", "role": "assistant", "content": [] });
        let item = json!({ "type": "response.output_item.added", "output_index": 0, "item": item });
        let first = event("response.created", &started);
        let second = event("response.output_item.added", &item);
        send(stream, &format!("{first}{second}")).await?;
    }
    for _ in 0..pieces {
        let text = match slow {
            true => {
                tokio::time::sleep(BETWEEN).await;
                format!("{} ", own.now())
            }
            false => "Good morning.".to_owned(),
        };
        let piece = match responses {
            true => {
                let delta =
                    json!({ "type": "response.output_text.delta", "item_id": "m", "delta": text });
                event("response.output_text.delta", &delta)
            }
            false => data(&chunk(
                json!({ "role": "assistant", "content": text }),
                None,
            )),
        };
        send(stream, &piece).await?;
    }
    let end = match responses {
        true => ended(),
        false => {
            let usage = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13 } });
            let last = data(&chunk(json!({}), Some("stop")));
            format!("{last}{}data: [DONE]\n\n", data(&usage))
        }
    };
    send(stream, &end).await?;
    stream.write_all(b"0\r\n\r\n").await?;
    Ok(())
}

/// The end of a response in the Responses format: the message, and what it used up.
fn ended() -> String {
    let message = json!({ "type": "message", "id": "m", "role": "assistant", "content": [{ "type": "output_text", "text": "Good morning.", "annotations": [] }] });
    let usage = json!({ "input_tokens": 10, "input_tokens_details": null, "output_tokens": 3, "output_tokens_details": null, "total_tokens": 13 });
    let item = json!({ "type": "response.output_item.done", "output_index": 0, "item": message });
    let done = json!({ "type": "response.completed", "response": { "id": "r", "status": "completed", "output": [message], "usage": usage } });
    let item = event("response.output_item.done", &item);
    format!("{item}{}", event("response.completed", &done))
}

async fn whole(stream: &mut TcpStream, path: &str) -> Result<(), Failure> {
    let body = match path.ends_with("/models") {
        true => {
            json!({ "object": "list", "data": [{ "id": FAST, "object": "model" }, { "id": SLOW, "object": "model" }] })
        }
        false => json!({
            "id": "c", "object": "chat.completion", "created": 1, "model": FAST,
            "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Good morning." }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13 },
        }),
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    Ok(())
}

fn chunk(delta: Value, reason: Option<&str>) -> Value {
    json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": FAST, "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

async fn send(stream: &mut TcpStream, text: &str) -> Result<(), Failure> {
    let piece = format!("{:x}\r\n{text}\r\n", text.len());
    stream.write_all(piece.as_bytes()).await?;
    Ok(())
}
