//! Both ends against each other, and against ends that do not behave.

mod editor;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use manyhands_wire::{
    ChatBlock, ChatEventPayload, ChatMessage, ChatRole, ChatState, ChatToolEvent, ChatToolState,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    AcpError, AgentBackend, AgentEvent, AgentHost, Bounds, CommandLine, ExitStatus,
    HostCapabilities, Permission, PermissionRequest, Reply, SessionOptions, SessionPage,
    SessionSummary, SlashCommand, Terminal, TerminalOutput, TurnEvent, TurnOutcome, drive, serve,
};

/// A desk that writes down what it was asked.
#[derive(Default)]
struct Clerk {
    requests: Mutex<Vec<String>>,
    allow: bool,
    /// Questions are never answered.
    slow: bool,
    running: Arc<AtomicUsize>,
}

impl Clerk {
    fn note(&self, what: String) {
        self.requests.lock().unwrap().push(what);
    }
}

struct Shell(Arc<AtomicUsize>, CancellationToken);

#[async_trait]
impl Terminal for Shell {
    fn output(&self) -> TerminalOutput {
        TerminalOutput {
            text: "hello".to_owned(),
            cut: false,
            exited: self
                .1
                .is_cancelled()
                .then(|| ExitStatus::Signal("SIGKILL".to_owned())),
        }
    }

    async fn exited(&self) -> ExitStatus {
        self.1.cancelled().await;
        ExitStatus::Signal("SIGKILL".to_owned())
    }

    fn kill(&self) {
        if !self.1.is_cancelled() {
            self.1.cancel();
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[async_trait]
impl AgentHost for Clerk {
    fn on_event(&self, event: AgentEvent) {
        if let AgentEvent::ToolStarted { title, .. } = event {
            self.note(format!("news {title}"));
        }
    }

    async fn request_permission(&self, question: PermissionRequest) -> Permission {
        self.note(format!("permit {} {}", question.kind, question.title));
        if self.slow {
            std::future::pending::<()>().await;
        }
        match self.allow {
            true => Permission::Allow,
            false => Permission::Deny,
        }
    }

    async fn read(&self, path: PathBuf) -> Result<String, String> {
        match path.ends_with("no") {
            true => Err("not there".to_owned()),
            false => Ok("one\ntwo\n".to_owned()),
        }
    }

    async fn write(&self, path: PathBuf, content: String) -> Result<(), String> {
        self.note(format!("write {} {content}", path.display()));
        Ok(())
    }

    async fn run(&self, command: CommandLine) -> Result<Arc<dyn Terminal>, String> {
        self.note(format!("run {}", command.command));
        self.running.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(Shell(
            self.running.clone(),
            CancellationToken::new(),
        )))
    }
}

/// An agent that is written line by line.
struct Script {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Script {
    async fn read(&mut self) -> Value {
        let mut line = String::new();
        self.reader.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }

    async fn send(&mut self, message: Value) {
        self.line(&message.to_string()).await;
    }

    async fn line(&mut self, line: &str) {
        // The other end may be gone; then there is nobody to tell.
        let _ = self.writer.write_all(format!("{line}\n").as_bytes()).await;
    }

    async fn answer(&mut self, to: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": to["id"], "result": result }))
            .await;
    }

    async fn request(&mut self, method: &str, mut params: Value) -> Value {
        params["sessionId"] = json!("s");
        self.send(json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params }))
            .await;
        self.read().await
    }

    async fn update(&mut self, update: Value) {
        let params = json!({ "sessionId": "s", "update": update });
        self.send(json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
            .await;
    }

    async fn send_text(&mut self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        self.update(json!({ "sessionUpdate": "agent_message_chunk", "content": content }))
            .await;
    }

    /// Says hello, begins a session, and gives back the prompt.
    async fn handshake(&mut self) -> Value {
        let hello = self.read().await;
        assert_eq!(hello["method"], "initialize");
        self.answer(&hello, json!({ "protocolVersion": 1 })).await;
        let new = self.read().await;
        assert_eq!(new["method"], "session/new");
        self.answer(&new, json!({ "sessionId": "s" })).await;
        self.read().await
    }

    async fn end(&mut self, prompt: &Value) {
        self.answer(prompt, json!({ "stopReason": "end_turn" }))
            .await;
    }
}

fn opening(offer: HostCapabilities) -> SessionOptions {
    SessionOptions {
        cwd: PathBuf::from("/work"),
        capabilities: offer,
        bounds: Bounds::default(),
    }
}

const ALL: HostCapabilities = HostCapabilities {
    read: true,
    write: true,
    terminal: true,
};

/// A task for a scripted agent.
async fn task(
    opening: SessionOptions,
    clerk: &Arc<Clerk>,
    cancel: &CancellationToken,
    agent: impl AsyncFnOnce(Script),
) -> Result<Reply, AcpError> {
    let (server, client) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(client);
    let script = Script {
        reader: BufReader::new(reader),
        writer,
    };
    let driven = drive(
        tokio::io::split(server),
        opening,
        clerk.clone(),
        cancel.clone(),
        |session| async move { session.prompt("do it").await },
    );
    let (driven, ()) = tokio::join!(driven, agent(script));
    driven
}

async fn done_by(
    clerk: &Arc<Clerk>,
    offer: HostCapabilities,
    agent: impl AsyncFnOnce(Script),
) -> Reply {
    let cancel = CancellationToken::new();
    task(opening(offer), clerk, &cancel, agent).await.unwrap()
}

#[tokio::test]
async fn a_prompt_returns_the_reply() {
    let clerk = Arc::new(Clerk::default());
    let reply = done_by(&clerk, ALL, async |mut agent: Script| {
        let prompt = agent.handshake().await;
        assert_eq!(prompt["method"], "session/prompt");
        assert_eq!(prompt["params"]["prompt"][0]["text"], "do it");
        agent.send_text("I look.").await;
        agent
            .update(json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Look", "rawInput": { "at": "a" } }))
            .await;
        agent.line("a note of the program").await;
        agent
            .update(json!({ "sessionUpdate": "of_the_future", "x": 1 }))
            .await;
        agent.send_text("te").await;
        agent.send_text("a").await;
        agent.end(&prompt).await;
    })
    .await;
    assert_eq!(reply.text, "tea");
    assert_eq!((reply.cut, reply.unfinished), (false, None));
    assert_eq!(*clerk.requests.lock().unwrap(), ["news Look"]);
}

#[tokio::test]
async fn requests_for_offered_capabilities_are_answered() {
    let clerk = Arc::new(Clerk {
        allow: true,
        ..Clerk::default()
    });
    done_by(&clerk, ALL, async |mut agent: Script| {
        let prompt = agent.handshake().await;
        let read = agent
            .request("fs/read_text_file", json!({ "path": "/work/a", "line": 2 }))
            .await;
        assert_eq!(read["result"]["content"], "two\n");
        let none = agent
            .request("fs/read_text_file", json!({ "path": "/work/no" }))
            .await;
        assert_eq!(none["error"]["data"], "not there");
        let wrote = json!({ "path": "/work/b", "content": "x" });
        assert!(agent.request("fs/write_text_file", wrote).await["result"].is_object());
        let options = json!([
            { "optionId": "n", "name": "No", "kind": "reject_once" },
            { "optionId": "y", "name": "Yes", "kind": "allow_once" },
        ]);
        let call = json!({ "toolCallId": "1", "title": "rm", "kind": "execute" });
        let requests = json!({ "toolCall": call, "options": options });
        let answer = agent.request("session/request_permission", requests).await;
        assert_eq!(answer["result"]["outcome"]["optionId"], "y");
        let created = agent
            .request("terminal/create", json!({ "command": "ls" }))
            .await;
        let id = json!({ "terminalId": created["result"]["terminalId"] });
        let shown = agent.request("terminal/output", id.clone()).await;
        assert_eq!(shown["result"]["output"], "hello");
        assert!(shown["result"]["exitStatus"].is_null());
        agent.request("terminal/kill", id.clone()).await;
        let ended = agent.request("terminal/wait_for_exit", id.clone()).await;
        assert_eq!(ended["result"]["signal"], "SIGKILL");
        agent.request("terminal/release", id.clone()).await;
        assert!(agent.request("terminal/output", id).await["error"].is_object());
        agent.end(&prompt).await;
    })
    .await;
    let requests = clerk.requests.lock().unwrap();
    assert_eq!(
        *requests,
        ["write /work/b x", "permit execute rm", "run ls"]
    );
    assert_eq!(clerk.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn requests_for_other_capabilities_are_refused() {
    let clerk = Arc::new(Clerk::default());
    let reply = done_by(
        &clerk,
        HostCapabilities::default(),
        async |mut agent: Script| {
            let prompt = agent.handshake().await;
            for (method, params) in [
                (
                    "fs/write_text_file",
                    json!({ "path": "/work/b", "content": "x" }),
                ),
                ("fs/read_text_file", json!({ "path": "/work/b" })),
                ("terminal/create", json!({ "command": "ls" })),
                (
                    "elicitation/create",
                    json!({ "message": "?", "mode": "form", "requestedSchema": {} }),
                ),
                ("of_the_future", json!({})),
                ("fs/read_text_file", json!({ "odd": true })),
            ] {
                assert!(
                    agent.request(method, params).await["error"].is_object(),
                    "{method}"
                );
            }
            agent.send_text("still here").await;
            agent.end(&prompt).await;
        },
    )
    .await;
    assert_eq!(reply.text, "still here");
    assert!(
        clerk.requests.lock().unwrap().is_empty(),
        "nothing was done"
    );
}

#[tokio::test]
async fn a_no_chooses_a_no() {
    let clerk = Arc::new(Clerk::default());
    done_by(&clerk, ALL, async |mut agent: Script| {
        let prompt = agent.handshake().await;
        let options = json!([{ "optionId": "y", "name": "Yes", "kind": "allow_once" }]);
        let requests = json!({ "toolCall": { "toolCallId": "1" }, "options": options });
        let answer = agent.request("session/request_permission", requests).await;
        assert_eq!(answer["result"]["outcome"]["outcome"], "cancelled");
        agent.end(&prompt).await;
    })
    .await;
}

#[tokio::test]
async fn hundreds_of_terminals_are_not_to_be_had_and_none_outlives_the_task() {
    let clerk = Arc::new(Clerk::default());
    let running = clerk.running.clone();
    done_by(&clerk, ALL, async |mut agent: Script| {
        let prompt = agent.handshake().await;
        let mut created = 0;
        for _ in 0..300 {
            let answer = agent
                .request("terminal/create", json!({ "command": "yes" }))
                .await;
            created += u32::from(answer["result"].is_object());
        }
        assert_eq!(created, 16);
        assert_eq!(running.load(Ordering::SeqCst), 16);
        agent.end(&prompt).await;
    })
    .await;
    assert_eq!(clerk.running.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_requests_without_reading_is_held_back() {
    let clerk = Arc::new(Clerk::default());
    let cancel = CancellationToken::new();
    let ended = task(opening(ALL), &clerk, &cancel, async |mut agent: Script| {
        agent.handshake().await;
        let content = "x".repeat(16 * 1024);
        let write = json!({ "jsonrpc": "2.0", "id": 1, "method": "fs/write_text_file",
            "params": { "sessionId": "s", "path": "/work/a", "content": content } });
        // Nobody reads here, so at some point nobody listens there, and only the clock goes on.
        let flood = async {
            for _ in 0..100_000 {
                agent.send(write.clone()).await;
            }
        };
        let flooded = tokio::time::timeout(std::time::Duration::from_secs(3), flood).await;
        assert!(flooded.is_err(), "everything was taken in");
        cancel.cancel();
    })
    .await;
    assert_eq!(ended, Err(AcpError::Cancelled));
    assert!(clerk.requests.lock().unwrap().len() < 10_000);
}

#[tokio::test]
async fn a_line_without_end_ends_the_conversation() {
    let clerk = Arc::new(Clerk::default());
    let mut opening = opening(ALL);
    opening.bounds.line = 100_000;
    let ended = task(
        opening,
        &clerk,
        &CancellationToken::new(),
        async |mut agent: Script| {
            agent.handshake().await;
            agent.send_text(&"x".repeat(200_000)).await;
        },
    )
    .await;
    assert_eq!(
        ended,
        Err(AcpError::Ended(
            "a line is longer than 100000 bytes".to_owned()
        ))
    );
}

#[tokio::test]
async fn a_flood_of_updates_ends_the_conversation() {
    let clerk = Arc::new(Clerk::default());
    let mut opening = opening(ALL);
    opening.bounds.total = 1_000_000;
    let ended = task(
        opening,
        &clerk,
        &CancellationToken::new(),
        async |mut agent: Script| {
            agent.handshake().await;
            for _ in 0..20_000 {
                agent.send_text("and so on and so on and so on").await;
            }
        },
    )
    .await;
    assert_eq!(
        ended,
        Err(AcpError::Ended(
            "more than 1000000 bytes were sent".to_owned()
        ))
    );
}

#[tokio::test]
async fn garbage_without_end_ends_the_conversation() {
    let clerk = Arc::new(Clerk::default());
    let ended = task(
        opening(ALL),
        &clerk,
        &CancellationToken::new(),
        async |mut agent: Script| {
            for _ in 0..2_000 {
                agent.line("[1, 2").await;
            }
        },
    )
    .await;
    let expect = AcpError::Ended("more than 1000 lines were not messages".to_owned());
    assert_eq!(ended, Err(expect));
}

#[tokio::test]
async fn an_agent_that_exits_fails_the_prompt_at_once() {
    let clerk = Arc::new(Clerk::default());
    for after in 0..3 {
        let ended = task(
            opening(ALL),
            &clerk,
            &CancellationToken::new(),
            async |mut agent: Script| match after {
                0 => {}
                1 => drop(agent.read().await),
                _ => drop(agent.handshake().await),
            },
        )
        .await;
        assert!(matches!(ended, Err(AcpError::Ended(_))), "{ended:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_agent_times_out() {
    let clerk = Arc::new(Clerk::default());
    let ended = task(
        opening(ALL),
        &clerk,
        &CancellationToken::new(),
        async |mut agent: Script| {
            agent.read().await;
            agent.read().await;
        },
    )
    .await;
    assert!(
        matches!(
            ended,
            Err(AcpError::Silent {
                what: "initialize",
                ..
            })
        ),
        "{ended:?}"
    );
}

#[tokio::test]
async fn a_cancelled_task_notifies_the_agent_and_cancels_its_requests() {
    let clerk = Arc::new(Clerk {
        slow: true,
        ..Clerk::default()
    });
    let cancel = CancellationToken::new();
    let ended = task(opening(ALL), &clerk, &cancel, async |mut agent: Script| {
        let prompt = agent.handshake().await;
        let requests = json!({ "sessionId": "s", "toolCall": { "toolCallId": "1" }, "options": [] });
        agent
            .send(json!({ "jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": requests }))
            .await;
        while clerk.requests.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
        let mut seen = Vec::new();
        while seen.len() < 2 {
            let line = agent.read().await;
            match line["method"].as_str() {
                Some(method) => seen.push(method.to_owned()),
                None => seen.push(line["result"]["outcome"]["outcome"].to_string()),
            }
        }
        seen.sort();
        assert_eq!(seen, ["\"cancelled\"", "session/cancel"]);
        agent.answer(&prompt, json!({ "stopReason": "cancelled" })).await;
    })
    .await;
    assert_eq!(ended, Err(AcpError::Cancelled));
}

#[tokio::test]
async fn errors_and_required_logins_are_reported() {
    let clerk = Arc::new(Clerk::default());
    let failing = async |code: i32| {
        task(
            opening(ALL),
            &clerk,
            &CancellationToken::new(),
            async |mut agent: Script| {
                let prompt = agent.handshake().await;
                let error = json!({ "code": code, "message": "no", "data": "because" });
                agent
                    .send(json!({ "jsonrpc": "2.0", "id": prompt["id"], "error": error }))
                    .await;
            },
        )
        .await
    };
    assert_eq!(
        failing(-32000).await,
        Err(AcpError::Login("no: because".to_owned()))
    );
    let refused = AcpError::Refused {
        what: "session/prompt",
        why: "no: because".to_owned(),
    };
    assert_eq!(failing(-32603).await, Err(refused));
}
