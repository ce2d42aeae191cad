//! Figures of the real binary.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::Client;
use crate::stats::{line, percentile, spread};

const STARTS: usize = 20;
const CALLS: usize = 3_000;

/// A running gateway on a home of its own.
pub struct Daemon {
    child: Running,
    host: String,
    home: TempDir,
}

/// A process that ends with whoever started it, also where a figure could not be had.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Daemon {
    /// Starts one on a home.
    pub fn start(binary: &Path, home: TempDir) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(binary)
            .args(["up", "--no-node", "--listen", "127.0.0.1:0"])
            .env_clear()
            .env("MANYHANDS_HOME", home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map(Running)?;
        let out = child.0.stdout.take().ok_or("no output")?;
        let mut greeting = String::new();
        BufReader::new(out).read_line(&mut greeting)?;
        let host = greeting
            .trim()
            .rsplit("http://")
            .next()
            .ok_or("no address")?
            .to_owned();
        Ok(Self { child, host, home })
    }

    /// A connection to it, as its owner.
    pub fn client(&self) -> Result<Client, Box<dyn Error>> {
        Ok(Client::connect(&self.host, &self.token()?)?)
    }

    /// The text of the owner's token.
    pub fn token(&self) -> Result<String, Box<dyn Error>> {
        let token = std::fs::read_to_string(self.home.path().join("owner.token"))?;
        Ok(token.trim().to_owned())
    }

    /// Its address, as `host:port`.
    pub fn address(&self) -> &str {
        &self.host
    }

    /// Where its sockets are.
    pub fn socket(&self) -> String {
        format!("ws://{}/ws", self.host)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.0.id()
    }

    /// How much of its memory is there.
    pub fn resident_kib(&self) -> Result<f64, Box<dyn Error>> {
        resident_kib(self.pid(), "VmRSS:")
    }

    /// Waits until it has nothing to do any more, such as after finding much to be read anew.
    pub fn settle(&self) -> Result<(), Box<dyn Error>> {
        for _ in 0..120 {
            let before = cpu(self)?;
            std::thread::sleep(Duration::from_millis(500));
            if cpu(self)? - before <= 1.0 {
                return Ok(());
            }
        }
        Err("it does not come to rest".into())
    }

    /// A file of its home.
    pub fn path(&self, below: &str) -> String {
        self.home.path().join(below).display().to_string()
    }

    /// Ends the process and gives its home back.
    pub fn stop(self) -> Result<TempDir, Box<dyn Error>> {
        drop(self.child);
        Ok(self.home)
    }
}

/// The size of the binary.
pub fn size(binary: &Path) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::metadata(binary)?.len();
    line(
        "binary size",
        &format!("{:.1} MB", bytes as f64 / 1e6),
        "60 MB",
    );
    Ok(())
}

/// From starting the process to `/readyz` answering 200, on a home that exists.
pub fn cold_start(binary: &Path) -> Result<(), Box<dyn Error>> {
    let mut first = Vec::new();
    let mut later = Vec::new();
    for _ in 0..STARTS {
        let fresh = tempfile::tempdir()?;
        let (home, took) = start_once(binary, fresh)?;
        first.push(took);
        later.push(start_once(binary, home)?.1);
    }
    first.sort();
    later.sort();
    let ms = |times: &[Duration]| format!("{:.1} ms", percentile(times, 0.5).as_secs_f64() * 1e3);
    line(
        "cold start to /readyz, fresh home, median of 20",
        &ms(&first),
        "100 ms",
    );
    line(
        "cold start to /readyz, existing home, median of 20",
        &ms(&later),
        "100 ms",
    );
    Ok(())
}

fn start_once(binary: &Path, home: TempDir) -> Result<(TempDir, Duration), Box<dyn Error>> {
    let began = Instant::now();
    let daemon = Daemon::start(binary, home)?;
    let (status, _) = Client::connect(&daemon.host, "")?.send("GET", "/readyz", "", "")?;
    let took = began.elapsed();
    if status != 200 {
        return Err(format!("/readyz answered {status}").into());
    }
    Ok((daemon.stop()?, took))
}

/// Resident memory once it has answered, and after some thousand calls.
pub fn idle_memory(binary: &Path) -> Result<(), Box<dyn Error>> {
    let daemon = Daemon::start(binary, tempfile::tempdir()?)?;
    let mut client = daemon.client()?;
    client.send("POST", "/api/tools/gsv__ReadFile", "", "{}")?;
    line("resident memory, idle", &resident(&daemon)?, "30 MB");
    let before = cpu(&daemon)?;
    std::thread::sleep(Duration::from_secs(2));
    let busy = (cpu(&daemon)? - before) / 2.0;
    line(
        "processor, idle for two seconds after a call",
        &format!("{busy:.1} %"),
        "1 %",
    );
    for _ in 0..CALLS {
        client.send("POST", "/api/tools/gsv__ReadFile", "", "{}")?;
    }
    line(
        "resident memory, after 3,000 calls",
        &resident(&daemon)?,
        "",
    );
    daemon.stop().map(drop)
}

/// Processor time used so far, in hundredths of a second: per second waited that is percent.
fn cpu(daemon: &Daemon) -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", daemon.pid()))?;
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let field = |at: usize| {
        fields
            .get(at)
            .and_then(|f| f.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    Ok(field(11) + field(12))
}

fn resident(daemon: &Daemon) -> Result<String, Box<dyn Error>> {
    let kib = daemon.resident_kib()?;
    Ok(format!("{:.1} MB", kib * 1024.0 / 1e6))
}

/// A line of what the system says of a process' memory.
pub fn resident_kib(pid: u32, which: &str) -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix(which))
        .and_then(|rest| rest.split_whitespace().next())
        .ok_or("the system does not say")?;
    Ok(kib.parse()?)
}

/// One call after another on one kept-alive connection.
pub fn over_http(binary: &Path) -> Result<(), Box<dyn Error>> {
    let daemon = Daemon::start(binary, tempfile::tempdir()?)?;
    let mut client = daemon.client()?;
    let mut call = |path: &str, body: &str| -> Result<Duration, Box<dyn Error>> {
        let began = Instant::now();
        let (status, answer) = client.send("POST", path, "", body)?;
        if status != 200 {
            Err(answer.into())
        } else {
            Ok(began.elapsed())
        }
    };
    let write = r#"{"path":"memory/bench.md","content":"hello"}"#;
    let read = r#"{"path":"memory/bench.md"}"#;
    for _ in 0..100 {
        call("/api/tools/gsv__WriteFile", write)?;
        call("/api/tools/gsv__ReadFile", read)?;
    }
    let settings = (0..CALLS)
        .map(|_| call("/api/tools/gsv__ConfigGet", r#"{"path":"listen"}"#))
        .collect::<Result<_, _>>()?;
    spread("HTTP keep-alive, gsv__ConfigGet", settings, "");
    let reads = (0..CALLS)
        .map(|_| call("/api/tools/gsv__ReadFile", read))
        .collect::<Result<_, _>>()?;
    spread("HTTP keep-alive, gsv__ReadFile", reads, "");
    let writes = (0..300)
        .map(|_| call("/api/tools/gsv__WriteFile", write))
        .collect::<Result<_, _>>()?;
    spread(
        "HTTP keep-alive, gsv__WriteFile (four fsyncs or more)",
        writes,
        "",
    );
    daemon.stop().map(drop)
}

/// The same over MCP, protocol 2026-07-28.
pub fn over_mcp(binary: &Path) -> Result<(), Box<dyn Error>> {
    let daemon = Daemon::start(binary, tempfile::tempdir()?)?;
    let mut client = daemon.client()?;
    let headers = "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: gsv__ConfigGet\r\n";
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gsv__ConfigGet","arguments":{"path":"listen"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let mut call = || -> Result<Duration, Box<dyn Error>> {
        let began = Instant::now();
        let (status, answer) = client.send("POST", "/mcp", headers, body)?;
        if status == 200 && answer.contains("structuredContent") {
            Ok(began.elapsed())
        } else {
            Err(format!("{status} {answer}").into())
        }
    };
    for _ in 0..200 {
        call()?;
    }
    let times = (0..CALLS).map(|_| call()).collect::<Result<_, _>>()?;
    spread("MCP keep-alive, gsv__ConfigGet", times, "");
    daemon.stop().map(drop)
}
