//! A thousand conversations at once, each streaming.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::gateway;
use super::model::{Model, PIECES, SLOW};
use crate::stats::{line, micros, percentile};

const STREAMS: usize = 1_000;

type Failure = Box<dyn Error + Send + Sync>;

/// What one stream saw.
struct Seen {
    accepted: Duration,
    first: Duration,
    /// How long each piece took from the model to here.
    pieces: Vec<Duration>,
}

/// Times and memory of a thousand streams at once.
pub fn streams(binary: &Path, model: &Model) -> Result<(), Box<dyn Error>> {
    let daemon = gateway(binary, model, SLOW)?;
    let before = daemon.resident_kib()?;
    let (address, token) = (daemon.address().to_owned(), daemon.token()?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let model = Arc::new(Clock(model.started()));
    let began = Instant::now();
    let (seen, most) = runtime
        .block_on(async {
            let mut tasks = Vec::with_capacity(STREAMS);
            for number in 0..STREAMS {
                let (address, token, clock) = (address.clone(), token.clone(), model.clone());
                tasks.push(tokio::spawn(async move {
                    follow(&address, &token, &clock, number).await
                }));
            }
            let mut seen = Vec::with_capacity(STREAMS);
            let mut most: f64 = 0.0;
            for task in tasks {
                seen.push(task.await??);
                most = most.max(daemon.resident_kib().unwrap_or(0.0));
            }
            Ok::<_, Failure>((seen, most))
        })
        .map_err(|e| e.to_string())?;
    let took = began.elapsed();
    let all = |of: fn(&Seen) -> Duration| {
        let mut times: Vec<Duration> = seen.iter().map(of).collect();
        times.sort();
        times
    };
    let mut pieces: Vec<Duration> = seen.iter().flat_map(|one| one.pieces.clone()).collect();
    pieces.sort();
    if pieces.len() < STREAMS * PIECES * 9 / 10 {
        return Err(format!("only {} pieces came", pieces.len()).into());
    }
    let figure = |what: &str, times: &[Duration]| {
        line(
            &format!("1,000 streams: {what}, p50"),
            &micros(percentile(times, 0.5)),
            &format!("p99 {}", micros(percentile(times, 0.99))),
        );
    };
    figure("first byte", &all(|one| one.accepted));
    figure(
        "the first piece, from the model to the reader",
        &all(|one| one.first),
    );
    figure("a piece, from the model to the reader", &pieces);
    line(
        "1,000 streams: resident memory for each",
        &format!("{:.1} KiB", (most - before) / STREAMS as f64),
        &format!("all in {:.1} s", took.as_secs_f64()),
    );
    daemon.stop().map(drop)
}

/// The model's clock.
struct Clock(Instant);

impl Clock {
    /// How long ago the model wrote this piece.
    fn since(&self, piece: &str) -> Option<Duration> {
        let sent: u64 = piece.trim().parse().ok()?;
        let now = u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX);
        Some(Duration::from_micros(now.saturating_sub(sent)))
    }
}

async fn follow(address: &str, token: &str, clock: &Clock, number: usize) -> Result<Seen, Failure> {
    let began = Instant::now();
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let body = format!(r#"{{"message":"hello","sessionKey":"stream-{number}"}}"#);
    let request = format!(
        "POST /api/chat HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\naccept: text/event-stream\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.get_mut().write_all(request.as_bytes()).await?;
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    if !line.contains(" 200 ") {
        return Err(line.into());
    }
    let mut seen = Seen {
        accepted: began.elapsed(),
        first: Duration::ZERO,
        pieces: Vec::with_capacity(PIECES),
    };
    let mut delta = false;
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err(format!("a stream ended after {} pieces", seen.pieces.len()).into());
        }
        if let Some(event) = line.strip_prefix("event: ") {
            delta = event.trim() == "delta";
            if event.trim() == "final" {
                return Ok(seen);
            }
            if event.trim() == "error" {
                return Err("a turn failed".into());
            }
        }
        if let Some(data) = line.strip_prefix("data: ")
            && delta
        {
            let data: serde_json::Value = serde_json::from_str(data)?;
            let text = data["text"].as_str().unwrap_or_default();
            if let Some(late) = clock.since(text) {
                if seen.pieces.is_empty() {
                    seen.first = late;
                }
                seen.pieces.push(late);
            }
        }
    }
}
