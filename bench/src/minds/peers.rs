//! The programs that people use instead, against the same model server: one turn after another
//! in one conversation.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::model::{FAST, Model};
use super::rpc::Rpc;
use crate::daemon::resident_kib;
use crate::stats::{line, micros, percentile};

const TURNS: usize = 30;
const WARM: usize = 3;

/// A program, the package it comes in, and how to speak to it.
struct Peer {
    name: &'static str,
    package: &'static str,
    program: &'static str,
    begin: Begin,
}

/// How a conversation with a program begins.
type Begin = fn(&Peer, &Place) -> Result<Talk, Box<dyn Error>>;

const PEERS: [Peer; 3] = [
    Peer {
        name: "codex app-server",
        package: "@openai/codex@0.166.0",
        program: "codex",
        begin: codex,
    },
    Peer {
        name: "goose acp",
        package: "@aaif/goose-binary-linux-x64",
        program: "goose-binary-linux-x64",
        begin: goose,
    },
    Peer {
        name: "opencode acp",
        package: "opencode-ai@1.18.33",
        program: "opencode",
        begin: opencode,
    },
];

/// Where a peer lives.
struct Place {
    programs: PathBuf,
    home: tempfile::TempDir,
    url: String,
}

/// A conversation with one that runs.
struct Talk {
    rpc: Rpc,
    method: &'static str,
    params: Value,
    /// What is told when a turn has ended, where the answer comes before.
    ends: Option<&'static str>,
}

/// Turns of the others, beside `ours`.
pub fn beside(model: &Model, ours: Duration) -> Result<(), Box<dyn Error>> {
    let folder = target().join("bench-peers");
    for peer in &PEERS {
        if !installed(&folder, peer)? {
            line(peer.name, "-", "skipped: the registry cannot be had");
            continue;
        }
        let place = Place {
            programs: folder.join("node_modules/.bin").canonicalize()?,
            home: tempfile::tempdir()?,
            url: model.url.clone(),
        };
        match turns(peer, &place, model) {
            Ok((median, kib)) => {
                let ratio = median.as_secs_f64() / ours.as_secs_f64();
                line(
                    &format!("{}: a turn besides its model, p50", peer.name),
                    &micros(median),
                    &format!(
                        "{ratio:.1} times ours; {:.0} MB resident",
                        kib * 1024.0 / 1e6
                    ),
                );
            }
            Err(error) => line(peer.name, "-", &format!("skipped: {error}")),
        }
    }
    Ok(())
}

fn target() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let folder = own.parent().and_then(Path::parent);
    folder.unwrap_or(Path::new("target")).to_owned()
}

/// Whether it is there, after trying to get it.
fn installed(folder: &Path, peer: &Peer) -> Result<bool, Box<dyn Error>> {
    let program = folder.join("node_modules/.bin").join(peer.program);
    if program.exists() {
        return Ok(true);
    }
    std::fs::create_dir_all(folder)?;
    if !folder.join("package.json").exists() {
        std::fs::write(folder.join("package.json"), r#"{ "private": true }"#)?;
    }
    let got = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", peer.package])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    Ok(got.is_ok_and(|status| status.success()) && program.exists())
}

/// The median of its turns besides their model, and its memory.
fn turns(peer: &Peer, place: &Place, model: &Model) -> Result<(Duration, f64), Box<dyn Error>> {
    let mut talk = (peer.begin)(peer, place)?;
    let mut times = Vec::with_capacity(TURNS);
    for turn in 0..WARM + TURNS {
        model.own_time();
        let began = Instant::now();
        talk.rpc.ask(talk.method, &talk.params)?;
        if let Some(ends) = talk.ends {
            talk.rpc.until(ends)?;
        }
        let took = began.elapsed();
        let (own, asked) = model.own_time();
        if asked == 0 {
            return Err("it answered without asking the model".into());
        }
        if turn >= WARM {
            times.push(took.saturating_sub(own));
        }
    }
    times.sort();
    Ok((percentile(&times, 0.5), whole_kib(talk.rpc.pid())))
}

/// The memory of a process and all it started.
fn whole_kib(pid: u32) -> f64 {
    let own = resident_kib(pid, "VmRSS:").unwrap_or(0.0);
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let children = tasks.into_iter().flatten().flatten().flat_map(|task| {
        let listed = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let pids = listed.split_whitespace().filter_map(|pid| pid.parse().ok());
        pids.collect::<Vec<u32>>()
    });
    own + children.map(whole_kib).sum::<f64>()
}

impl Place {
    /// Its program, in a home of its own.
    fn command(&self, peer: &Peer) -> Result<Command, Box<dyn Error>> {
        let home = self.home.path();
        std::fs::create_dir_all(home.join("work"))?;
        let mut command = Command::new(self.programs.join(peer.program));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_DATA_HOME", home.join("data"))
            .current_dir(home.join("work"));
        Ok(command)
    }

    fn work(&self) -> String {
        self.home.path().join("work").display().to_string()
    }
}

fn codex(peer: &Peer, place: &Place) -> Result<Talk, Box<dyn Error>> {
    let own = place.home.path().join("codex");
    std::fs::create_dir_all(&own)?;
    let provider = format!(
        r#"model_providers.there={{name="there",base_url="{}/v1",wire_api="responses",env_key="THERE_KEY"}}"#,
        place.url
    );
    let mut command = place.command(peer)?;
    command
        .arg("app-server")
        .args(["-c", &provider, "-c", r#"model_provider="there""#])
        .args(["-c", &format!("model={FAST:?}")])
        .env("CODEX_HOME", own)
        .env("THERE_KEY", "none");
    let mut rpc = Rpc::start(command)?;
    let client = json!({ "clientInfo": { "name": "bench", "version": "1" } });
    rpc.ask("initialize", &client)?;
    rpc.tell("initialized", &json!({}))?;
    let how = json!({ "cwd": place.work(), "approvalPolicy": "never", "sandbox": "read-only" });
    let thread = rpc.ask("thread/start", &how)?["thread"]["id"].clone();
    Ok(Talk {
        rpc,
        method: "turn/start",
        params: json!({ "threadId": thread, "input": [{ "type": "text", "text": "hello" }] }),
        ends: Some("turn/completed"),
    })
}

fn goose(peer: &Peer, place: &Place) -> Result<Talk, Box<dyn Error>> {
    let mut command = place.command(peer)?;
    command
        .arg("acp")
        .env("GOOSE_PROVIDER", "openai")
        .env("GOOSE_MODEL", FAST)
        .env("GOOSE_DISABLE_KEYRING", "1")
        .env("OPENAI_HOST", &place.url)
        .env("OPENAI_API_KEY", "none");
    acp(command, place)
}

fn opencode(peer: &Peer, place: &Place) -> Result<Talk, Box<dyn Error>> {
    let there = json!({
        "npm": "@ai-sdk/openai-compatible", "name": "there",
        "options": { "baseURL": format!("{}/v1", place.url), "apiKey": "none" },
        "models": { FAST: { "name": FAST } },
    });
    let config = json!({ "model": format!("there/{FAST}"), "provider": { "there": there } });
    let mut command = place.command(peer)?;
    command
        .arg("acp")
        .env("OPENCODE_CONFIG_CONTENT", config.to_string())
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
    acp(command, place)
}

/// A conversation over the Agent Client Protocol.
fn acp(command: Command, place: &Place) -> Result<Talk, Box<dyn Error>> {
    let mut rpc = Rpc::start(command)?;
    let able = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    rpc.ask("initialize", &able)?;
    let new = json!({ "cwd": place.work(), "mcpServers": [] });
    let session = rpc.ask("session/new", &new)?["sessionId"].clone();
    Ok(Talk {
        rpc,
        method: "session/prompt",
        params: json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hello" }] }),
        ends: None,
    })
}
