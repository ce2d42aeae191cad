//! No program of a server outlives its use.

use serde_json::{Value, json};

use super::{Scripted, gateway, runs};
use crate::harness::{Gateway, Home, eventually};
use crate::http::{Request, Response};
use crate::nodes::fixture::lives;

#[test]
fn a_gateway_that_dies_without_warning_leaves_no_program_behind() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    let started = scripted.starts();
    assert!(!scripted.running().is_empty(), "{started:?}");
    let _home = gateway.kill9();
    eventually("its programs are gone", || scripted.running().is_empty());
}

#[test]
fn a_gateway_that_stops_ends_its_programs() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    let _home = gateway.stop();
    assert!(scripted.running().is_empty());
}

#[test]
fn a_server_that_dies_again_and_again_leaves_nothing() {
    const DEATHS: usize = 40;
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["die", "echo"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    let mut deaths = 0;
    for _ in 0..DEATHS {
        let said = gateway.call("s__die", json!({}));
        assert_eq!(said["ok"], false, "{said}");
        deaths += 1;
        if said["error"]
            .as_str()
            .is_some_and(|error| error.contains("next"))
        {
            break; // it is left alone for a while now
        }
    }
    let started = scripted.starts();
    assert!(deaths > 1 && started.len() > 1, "{deaths} {started:?}");
    eventually("at most one is left", || scripted.running().len() <= 1);
    gateway.stop();
    assert!(scripted.running().is_empty());
}

/// The descriptors that a process holds.
fn descriptors(pid: u32) -> usize {
    let held = std::fs::read_dir(format!("/proc/{pid}/fd"));
    held.expect("its descriptors").count()
}

/// The processes below one, those of its children and so on included.
fn below(pid: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    let parent = |entry: &std::fs::DirEntry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut fields = stat.rsplit(") ").next()?.split(' ');
        let own: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((own, fields.nth(1)?.parse::<u32>().ok()?))
    };
    let pairs: Vec<(u32, u32)> = all.filter_map(|entry| parent(&entry)).collect();
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(above) = found.get(at).copied() {
        let children = pairs.iter().filter(|(_, parent)| *parent == above);
        found.extend(children.map(|(own, _)| own));
        at += 1;
    }
    found.split_off(1)
}

/// A conversation with the server `s` that can be asked something, so that it has a line of its own.
struct Conversation {
    addr: std::net::SocketAddr,
    owner: String,
    session: Option<String>,
}

impl Conversation {
    fn begin(gateway: &Gateway) -> Self {
        let mut this = Self {
            addr: gateway.addr,
            owner: gateway.owner.clone(),
            session: None,
        };
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "t", "version": "1" } });
        let greeted = this.post("initialize", hello);
        let session = greeted.header("mcp-session-id").expect("a session");
        this.session = Some(session.to_owned());
        this
    }

    fn post(&self, method: &str, params: Value) -> Response {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = Request::post("/mcp/s", &body)
            .header("Accept", "application/json, text/event-stream")
            .bearer(&self.owner);
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        request.send(self.addr)
    }

    /// The process that answered a call. One that is made while the last process is going may be
    /// lost with it, which is said; then it is made again.
    #[track_caller]
    fn call(&self) -> u32 {
        loop {
            let said = self.post("tools/call", json!({ "name": "pid", "arguments": {} }));
            let said = said.json();
            let text = said["result"]["content"][0]["text"].as_str();
            let text = text.unwrap_or_else(|| panic!("{said}"));
            match text.parse() {
                Ok(pid) => return pid,
                Err(_) => assert!(text.contains("connection lost"), "{said}"),
            }
        }
    }
}

#[test]
fn a_thousand_new_connections_leave_neither_a_process_nor_a_descriptor() {
    const WARM: usize = 20;
    const EACH: usize = 245;
    const AT_ONCE: usize = 4;
    let home = Home::new();
    let starts = home.outside("starts");
    let program = super::servers().join("brief.sh");
    let settings = format!("[mcpServers.s]\ncommand = \"sh\"\nargs = [{program:?}, {starts:?}]\n");
    let gateway = gateway(home, &settings, &["s"]);
    let pid = gateway.daemon.pid();
    let started = || -> Vec<u32> {
        let noted = std::fs::read_to_string(&starts).unwrap_or_default();
        noted.lines().filter_map(|pid| pid.parse().ok()).collect()
    };
    let talks: Vec<Conversation> = (0..AT_ONCE)
        .map(|_| Conversation::begin(&gateway))
        .collect();
    for _ in 0..WARM / AT_ONCE {
        for talk in &talks {
            talk.call();
        }
    }
    let running = || started().into_iter().filter(|pid| runs(*pid, &starts));
    let quiet = || running().count() <= 1;
    eventually("only the line of all is left", quiet);
    let (held, processes) = (descriptors(pid), below(pid).len());
    let threads: Vec<_> = talks
        .into_iter()
        .map(|talk| {
            std::thread::spawn(move || {
                let mut last = 0;
                for _ in 0..EACH {
                    let pid = talk.call();
                    assert_ne!(pid, last, "each has a process of its own");
                    last = pid;
                }
                talk
            })
        })
        .collect();
    let talks: Vec<Conversation> = threads
        .into_iter()
        .map(|thread| thread.join().expect("all are answered"))
        .collect();
    let connections = started().len();
    println!("{connections} connections");
    assert!(connections >= WARM + EACH * AT_ONCE, "{connections}");
    eventually("only the line of all is left", quiet);
    eventually("no descriptor is left", || descriptors(pid) <= held + 8);
    eventually("no process is left", || below(pid).len() <= processes);

    for talk in &talks {
        talk.call();
    }
    let all = below(pid);
    assert!(!all.is_empty(), "the control");
    let _home = gateway.kill9();
    eventually("nothing is left of a gateway that was killed", || {
        running().count() == 0 && all.iter().all(|pid| !lives(*pid))
    });
}
