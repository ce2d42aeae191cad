//! A program that is spoken to in lines of JSON-RPC.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// One that runs; ended when dropped.
pub struct Rpc {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
}

impl Rpc {
    /// Starts it.
    pub fn start(mut command: Command) -> Result<Self, Box<dyn Error>> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let to = child.stdin.take().ok_or("no input")?;
        let out = child.stdout.take().ok_or("no output")?;
        let (send, from) = sync_channel(1_024);
        std::thread::spawn(move || read(out, |frame| send.send(frame).is_ok()));
        Ok(Self {
            child,
            to,
            from,
            next: 0,
        })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Says something to which nothing is answered.
    pub fn tell(&mut self, method: &str, params: &Value) -> Result<(), Box<dyn Error>> {
        let frame = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        writeln!(self.to, "{frame}")?;
        Ok(self.to.flush()?)
    }

    /// Asks, and gives the result.
    pub fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Box<dyn Error>> {
        self.next += 1;
        let frame =
            json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        writeln!(self.to, "{frame}")?;
        self.to.flush()?;
        loop {
            let frame = self.from.recv_timeout(PATIENCE)?;
            if frame["id"] != self.next || frame.get("method").is_some() {
                self.refuse(&frame)?;
                continue;
            }
            return match frame.get("error") {
                Some(error) => Err(format!("{method}: {error}").into()),
                None => Ok(frame["result"].clone()),
            };
        }
    }

    /// Waits for a notice.
    pub fn until(&mut self, method: &str) -> Result<Value, Box<dyn Error>> {
        loop {
            let frame = self.from.recv_timeout(PATIENCE)?;
            if frame["method"] == method {
                return Ok(frame["params"].clone());
            }
            self.refuse(&frame)?;
        }
    }

    /// What it asks of us is not there.
    fn refuse(&mut self, frame: &Value) -> Result<(), Box<dyn Error>> {
        if frame.get("method").is_some() && frame.get("id").is_some() {
            let none = json!({ "code": -32601, "message": "not here" });
            let answer = json!({ "jsonrpc": "2.0", "id": frame["id"], "error": none });
            writeln!(self.to, "{answer}")?;
            self.to.flush()?;
        }
        Ok(())
    }
}

fn read(out: ChildStdout, mut take: impl FnMut(Value) -> bool) {
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        let Ok(frame) = serde_json::from_str(&line) else {
            continue;
        };
        if !take(frame) {
            return;
        }
    }
}

impl Drop for Rpc {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
