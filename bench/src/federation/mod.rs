//! One MCP server, asked directly and through us and others, in one run.

mod echo;
mod peers;

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::daemon::{Daemon, resident_kib};
use crate::stats::{line, percentile};
use echo::{Echo, McpClient};
use peers::Peer;

const CLIENTS: [usize; 3] = [1, 8, 64];
const CALLS: usize = 4_000;
/// How long each way is asked at most; the slow ones answer fewer calls.
const LONGEST: Duration = Duration::from_secs(15);

/// How a way of asking did.
struct Measured {
    p50: Duration,
    p99: Duration,
    per_second: f64,
}

/// A way of asking the same tool.
struct Way {
    name: String,
    host: String,
    path: String,
    token: String,
    tool: String,
    pid: Option<u32>,
}

/// Direct, us, and the peers that can be had.
pub fn federation(binary: &Path) -> Result<(), Box<dyn Error>> {
    let echo = Echo::start()?;
    let home = TempDir::new()?;
    let config = format!(
        "[mcpServers.echo]\nurl = \"http://{}/mcp\"\n",
        echo.address()
    );
    std::fs::write(home.path().join("config.toml"), config)?;
    let daemon = Daemon::start(binary, home)?;
    let mut ways = vec![
        Way {
            name: "direct".to_owned(),
            host: echo.address().to_owned(),
            path: "/mcp".to_owned(),
            token: String::new(),
            tool: "echo".to_owned(),
            pid: None,
        },
        Way {
            name: "Manyhands".to_owned(),
            host: daemon.address().to_owned(),
            path: "/mcp/echo".to_owned(),
            token: daemon.token()?,
            tool: "echo".to_owned(),
            pid: Some(daemon.pid()),
        },
    ];
    let peers: Vec<Peer> = [
        Peer::fastmcp(echo.address()),
        Peer::mcp_proxy(echo.address()),
    ]
    .into_iter()
    .filter_map(|started| match started {
        Ok(peer) => Some(peer),
        Err(why) => {
            println!("  {why}");
            None
        }
    })
    .collect();
    ways.extend(peers.iter().map(|peer| Way {
        name: peer.name.to_owned(),
        host: peer.host.clone(),
        path: peer.path.to_owned(),
        token: String::new(),
        tool: peer.tool.to_owned(),
        pid: Some(peer.pid()),
    }));
    for clients in CLIENTS {
        // On a busy machine only what stands in one run can be compared.
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or_default();
        line("load of the machine in the last minute", load, "");
        let mut direct = None;
        for way in &ways {
            let measured = match measure(way, clients) {
                Ok(measured) => measured,
                Err(error) => {
                    println!("  {} with {clients} clients: {error}", way.name);
                    continue;
                }
            };
            let base = *direct.get_or_insert(measured.p50);
            let over = measured.p50.saturating_sub(base);
            let budget = match (way.name.as_str(), clients) {
                ("Manyhands", 1) => "p50 under 100 us over direct",
                _ => "",
            };
            line(
                &format!(
                    "{} MCP calls, {clients} at once: p50, over direct",
                    way.name
                ),
                &format!("{:.0} us, {:.0} us", micros(measured.p50), micros(over)),
                budget,
            );
            line(
                &format!(
                    "{} MCP calls, {clients} at once: p99, calls a second",
                    way.name
                ),
                &format!("{:.0} us, {:.0}", micros(measured.p99), measured.per_second),
                "",
            );
        }
    }
    for way in &ways {
        if let Some(pid) = way.pid {
            let resident = resident_kib(pid, "VmRSS:")? / 1024.0;
            line(
                &format!("{}: memory afterwards", way.name),
                &format!("{resident:.1} MB"),
                "",
            );
        }
    }
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn measure(way: &Way, clients: usize) -> Result<Measured, Box<dyn Error>> {
    let each = (CALLS / clients).max(50);
    let together = Arc::new(Barrier::new(clients + 1));
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let (together, host, path) = (together.clone(), way.host.clone(), way.path.clone());
            let (token, tool) = (way.token.clone(), way.tool.clone());
            std::thread::spawn(move || -> Result<Vec<Duration>, String> {
                let ready = McpClient::connect(&host, &path, &token);
                let warm = ready.and_then(|mut client| {
                    for _ in 0..20 {
                        client.echo(&tool)?;
                    }
                    Ok(client)
                });
                together.wait();
                let mut client = warm?;
                let mut times = Vec::with_capacity(each);
                let start = Instant::now();
                while times.len() < each && start.elapsed() < LONGEST {
                    let began = Instant::now();
                    client.echo(&tool)?;
                    times.push(began.elapsed());
                }
                Ok(times)
            })
        })
        .collect();
    together.wait();
    let began = Instant::now();
    let mut times = Vec::with_capacity(each * clients);
    for thread in threads {
        times.extend(thread.join().map_err(|_| "a client broke")??);
    }
    let took = began.elapsed();
    times.sort();
    Ok(Measured {
        p50: percentile(&times, 0.5),
        p99: percentile(&times, 0.99),
        per_second: times.len() as f64 / took.as_secs_f64(),
    })
}
