//! The end that serves an agent to an editor.

use std::path::{Path, PathBuf};

use super::*;
use crate::agent::{ApprovalAnswer, McpProgram};

/// A backend with one agent that answers with what it was told.
#[derive(Default)]
struct Echo {
    stopped: Notify,
    decided: Mutex<Vec<(String, ApprovalAnswer)>>,
    answered: Notify,
    /// In which folder which servers were started.
    started: Mutex<Vec<(PathBuf, Vec<String>)>>,
    /// A tool has printed all it has to.
    printed: Notify,
}

#[async_trait]
impl AgentBackend for Echo {
    fn commands(&self) -> Vec<SlashCommand> {
        vec![SlashCommand {
            name: "help".to_owned(),
            about: "this list".to_owned(),
            hint: String::new(),
        }]
    }

    async fn open(&self) -> Result<String, String> {
        Ok("agent:main:acp-1".to_owned())
    }

    async fn start_servers(
        &self,
        _: &str,
        cwd: &Path,
        servers: Vec<McpProgram>,
    ) -> Result<(), String> {
        match servers.iter().find(|server| server.name == "broken") {
            Some(server) => Err(format!("the MCP server {:?} did not start", server.name)),
            None => {
                let names = servers.into_iter().map(|server| server.name);
                self.started
                    .lock()
                    .unwrap()
                    .push((cwd.to_owned(), names.collect()));
                Ok(())
            }
        }
    }

    async fn close(&self, _: &str) {
        self.started.lock().unwrap().clear();
    }

    async fn history(&self, session: &str) -> Result<Vec<ChatMessage>, String> {
        match session {
            "old" => Ok(vec![
                ChatMessage::new(ChatRole::User, vec![ChatBlock::text("hi")]),
                ChatMessage::assistant("hello"),
            ]),
            _ => Err("there is no such session".to_owned()),
        }
    }

    async fn list(&self, offset: u32) -> Result<SessionPage, String> {
        let session = format!("s{offset}");
        let updated_at = "2026-01-01T00:00:00Z".to_owned();
        Ok(SessionPage {
            sessions: vec![SessionSummary {
                session,
                title: None,
                updated_at,
            }],
            more: offset == 0,
        })
    }

    async fn prompt(
        &self,
        session: &str,
        message: String,
        events: mpsc::Sender<TurnEvent>,
    ) -> Result<TurnOutcome, String> {
        let event = |state, text: &str| {
            let mut event = ChatEventPayload::new(Some("r".into()), session, state);
            event.text = Some(text.to_owned());
            event
        };
        let send = async |event| drop(events.send(TurnEvent::Chat(Box::new(event))).await);
        match message.as_str() {
            "/help" => return Ok(TurnOutcome::Command("help is here".to_owned())),
            "fail" => return Ok(TurnOutcome::Failed("no model".to_owned())),
            "wait" => {
                send(event(ChatState::Delta, "waiting")).await;
                self.stopped.notified().await;
                return Ok(TurnOutcome::Stopped);
            }
            "ask" => {
                let mut paused = event(ChatState::Paused, "");
                paused.approval_id = Some("a1".to_owned());
                paused.tool = Some("bash".to_owned());
                paused.arguments = Some(json!({ "cmd": "rm" }));
                send(paused).await;
                self.answered.notified().await;
            }
            "run" | "flood" => {
                let lines = if message == "run" { 2 } else { 10_000 };
                let tool = |state, text: Option<String>| ChatToolEvent {
                    run_id: "r".into(),
                    session_key: session.into(),
                    call_id: "c".into(),
                    tool: "bash".into(),
                    state,
                    args: None,
                    ok: None,
                    shown: (state == ChatToolState::Done).then(|| "the whole".to_owned()),
                    duration_ms: None,
                    text,
                    audit_call: None,
                    offset: None,
                    result: Default::default(),
                };
                let send = async |event| drop(events.send(TurnEvent::Tool(Box::new(event))).await);
                send(tool(ChatToolState::Started, None)).await;
                for line in 1..=lines {
                    send(tool(ChatToolState::Output, Some(format!("line {line}\n")))).await;
                }
                send(tool(ChatToolState::Done, None)).await;
                self.printed.notify_one();
            }
            _ => {}
        }
        send(event(ChatState::Delta, "you said ")).await;
        send(event(ChatState::Final, &format!("you said {message}"))).await;
        Ok(TurnOutcome::Answered)
    }

    async fn stop(&self, _: &str) {
        self.stopped.notify_one();
    }

    async fn decide(&self, approval: &str, answer: ApprovalAnswer) -> Result<(), String> {
        self.decided
            .lock()
            .unwrap()
            .push((approval.to_owned(), answer));
        self.answered.notify_one();
        Ok(())
    }
}

/// An editor that is written line by line.
struct Editor {
    script: Script,
    text: String,
    /// What it was told of tools: how they stand, and what is shown of them.
    tools: Vec<(String, String)>,
    permission_requests: u64,
}

impl Editor {
    /// Asks and reads up to the answer; what is said meanwhile is gathered, what is asked is allowed.
    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.permission_requests += 1;
        let id = self.permission_requests;
        self.script
            .send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        loop {
            let message = self.script.read().await;
            assert!(!message.is_null(), "the agent is gone");
            if message["method"] == "session/update" {
                let text = message["params"]["update"]["content"]["text"].as_str();
                self.text.push_str(text.unwrap_or_default());
                let update = &message["params"]["update"];
                if let Some(status) = update["status"].as_str() {
                    let preview = &update["content"][0]["content"]["text"];
                    let preview = preview.as_str().unwrap_or_default().to_owned();
                    self.tools.push((status.to_owned(), preview));
                }
            } else if message["method"] == "session/request_permission" {
                let chosen = json!({ "outcome": "selected", "optionId": "allow" });
                self.script
                    .answer(&message, json!({ "outcome": chosen }))
                    .await;
            } else if message["id"] == id {
                return message;
            }
        }
    }

    /// Opens the session that it prompts.
    async fn open(&mut self) {
        let params = json!({ "cwd": "/work", "mcpServers": [] });
        let opened = self.request("session/new", params).await;
        assert_eq!(
            opened["result"]["sessionId"], "agent:main:acp-1",
            "{opened}"
        );
    }

    async fn prompt(&mut self, text: &str) -> Value {
        self.text.clear();
        let prompt = json!([{ "type": "text", "text": text }]);
        self.request(
            "session/prompt",
            json!({ "sessionId": "agent:main:acp-1", "prompt": prompt }),
        )
        .await
    }
}

async fn edited(backend: Arc<Echo>, with: impl AsyncFnOnce(&mut Editor)) {
    let (server, client) = tokio::io::duplex(64 * 1024);
    let served = serve(backend, PathBuf::from("/work"), tokio::io::split(server));
    let editing = async {
        let (reader, writer) = tokio::io::split(client);
        let reader = BufReader::new(reader);
        let mut editor = Editor {
            script: Script { reader, writer },
            text: String::new(),
            tools: Vec::new(),
            permission_requests: 0,
        };
        with(&mut editor).await;
    };
    let (served, ()) = tokio::join!(served, editing);
    served.unwrap();
}

#[tokio::test]
async fn an_editor_gets_the_handshake_and_replies() {
    edited(Arc::default(), async |editor: &mut Editor| {
        let hello = editor
            .request("initialize", json!({ "protocolVersion": 1 }))
            .await;
        assert_eq!(hello["result"]["protocolVersion"], 1);
        assert_eq!(hello["result"]["agentCapabilities"]["loadSession"], true);
        let new = editor
            .request("session/new", json!({ "cwd": "/work", "mcpServers": [] }))
            .await;
        assert_eq!(new["result"]["sessionId"], "agent:main:acp-1");
        let commands = editor.script.read().await;
        let update = &commands["params"]["update"];
        assert_eq!(update["availableCommands"][0]["name"], "help");
        let ended = editor.prompt("tea").await;
        assert_eq!(ended["result"]["stopReason"], "end_turn");
        assert_eq!(editor.text, "you said tea");
        assert_eq!(
            editor.prompt("/help").await["result"]["stopReason"],
            "end_turn"
        );
        assert_eq!(editor.text, "help is here");
        assert_eq!(editor.prompt("fail").await["error"]["message"], "no model");
    })
    .await;
}

#[tokio::test]
async fn sessions_are_listed_and_loaded() {
    edited(Arc::default(), async |editor: &mut Editor| {
        editor
            .request("initialize", json!({ "protocolVersion": 1 }))
            .await;
        let listed = editor.request("session/list", json!({})).await;
        assert_eq!(listed["result"]["sessions"][0]["sessionId"], "s0");
        let cursor = listed["result"]["nextCursor"].clone();
        let next = editor
            .request("session/list", json!({ "cursor": cursor }))
            .await;
        assert_eq!(next["result"]["sessions"][0]["sessionId"], "s1");
        assert!(next["result"]["nextCursor"].is_null());
        let odd = editor
            .request("session/list", json!({ "cursor": "x" }))
            .await;
        assert!(odd["error"].is_object());
        let load = |id: &str| json!({ "sessionId": id, "cwd": "/work", "mcpServers": [] });
        let none = editor.request("session/load", load("none")).await;
        assert_eq!(none["error"]["message"], "there is no such session");
        editor.text.clear();
        assert!(editor.request("session/load", load("old")).await["result"].is_object());
        assert_eq!(editor.text, "hihello");
        assert!(editor.request("session/resume", load("old")).await["result"].is_object());
    })
    .await;
}

#[tokio::test]
async fn tool_output_is_streamed_and_complete_at_the_end() {
    edited(Arc::default(), async |editor| {
        editor.open().await;
        editor.prompt("run").await;
        let events: Vec<(&str, &str)> = editor
            .tools
            .iter()
            .map(|(status, preview)| (status.as_str(), preview.as_str()))
            .collect();
        assert_eq!(
            events,
            [
                ("in_progress", ""),
                ("in_progress", "line 1\n"),
                ("in_progress", "line 1\nline 2\n"),
                ("completed", "the whole"),
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn an_editor_that_does_not_read_misses_what_is_printed_and_nothing_piles_up() {
    let backend = Arc::new(Echo::default());
    edited(backend.clone(), async |editor| {
        editor.open().await;
        let prompt = json!([{ "type": "text", "text": "flood" }]);
        let params = json!({ "sessionId": "agent:main:acp-1", "prompt": prompt });
        editor.script.send(json!({ "jsonrpc": "2.0", "id": "flood", "method": "session/prompt", "params": params }))
            .await;
        // All was printed before anything is read.
        backend.printed.notified().await;
        editor.prompt("hello").await;
        let events = editor.tools.len();
        assert!((2..100).contains(&events), "{events}");
        assert_eq!(editor.tools[events - 1], ("completed".to_owned(), "the whole".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn approvals_are_requested_in_the_editor() {
    let backend = Arc::new(Echo::default());
    edited(backend.clone(), async |editor: &mut Editor| {
        editor
            .request("initialize", json!({ "protocolVersion": 1 }))
            .await;
        editor.open().await;
        assert_eq!(
            editor.prompt("ask").await["result"]["stopReason"],
            "end_turn"
        );
    })
    .await;
    assert_eq!(
        *backend.decided.lock().unwrap(),
        [("a1".to_owned(), ApprovalAnswer::Once)]
    );
}

#[tokio::test]
async fn a_turn_can_be_cancelled_while_others_are_asked() {
    edited(Arc::default(), async |editor: &mut Editor| {
        editor
            .request("initialize", json!({ "protocolVersion": 1 }))
            .await;
        editor.open().await;
        let prompt = json!({ "sessionId": "agent:main:acp-1", "prompt": [{ "type": "text", "text": "wait" }] });
        editor.script.send(
                json!({ "jsonrpc": "2.0", "id": 99, "method": "session/prompt", "params": prompt }),
            )
            .await;
        assert!(editor.request("session/list", json!({})).await["result"].is_object());
        let cancel = json!({ "sessionId": "agent:main:acp-1" });
        editor.script.send(json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": cancel }))
            .await;
        loop {
            let message = editor.script.read().await;
            if message["id"] == 99 {
                assert_eq!(message["result"]["stopReason"], "cancelled");
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn pictures_and_unknown_methods_are_refused() {
    edited(Arc::default(), async |editor: &mut Editor| {
        editor
            .request("initialize", json!({ "protocolVersion": 1 }))
            .await;
        editor.open().await;
        let picture = json!([{ "type": "image", "data": "aa", "mimeType": "image/png" }]);
        let refused = editor
            .request(
                "session/prompt",
                json!({ "sessionId": "agent:main:acp-1", "prompt": picture }),
            )
            .await;
        assert!(refused["error"].is_object(), "{refused}");
        for method in ["authenticate", "session/set_mode", "nothing/known"] {
            let params = json!({ "methodId": "x", "sessionId": "x", "modeId": "x" });
            assert!(
                editor.request(method, params).await["error"].is_object(),
                "{method}"
            );
        }
        assert_eq!(
            editor.prompt("tea").await["result"]["stopReason"],
            "end_turn"
        );
    })
    .await;
}

#[tokio::test]
async fn a_session_is_opened_with_an_absolute_folder_and_servers_that_can_be_started() {
    let backend = Arc::new(Echo::default());
    let program = |name: &str, command: &str| json!({ "name": name, "command": command, "args": [], "env": [] });
    let many: Vec<Value> = (0..17).map(|n| program(&n.to_string(), "/bin/x")).collect();
    let mut odd = program("a", "/bin/x");
    odd["env"] = json!([{ "name": "A=B", "value": "" }]);
    let refused = [
        (
            json!({ "cwd": "work", "mcpServers": [] }),
            "cwd: must be an absolute path",
        ),
        (json!({ "cwd": "./", "mcpServers": [] }), "cwd: "),
        (
            json!({ "cwd": "/work", "mcpServers": [program("a", "bin/x")] }),
            "mcpServers[0].command: ",
        ),
        (
            json!({ "cwd": "/work", "mcpServers": [program("", "/bin/x")] }),
            "mcpServers[0].name: ",
        ),
        (
            json!({ "cwd": "/work", "mcpServers": [program("a", "x"), program("a", "y")] }),
            "mcpServers[1].name: is not unique",
        ),
        (
            json!({ "cwd": "/work", "mcpServers": [odd] }),
            "mcpServers[0].env: ",
        ),
        (
            json!({ "cwd": "/work", "mcpServers": many }),
            "mcpServers: 17 given",
        ),
        (
            json!({ "cwd": "/work", "mcpServers": [{ "type": "http", "name": "a", "url": "http://a", "headers": [] }] }),
            "mcpServers[0].type: http is not supported",
        ),
    ];
    edited(backend.clone(), async |editor: &mut Editor| {
        for (params, why) in refused {
            for method in ["session/new", "session/load", "session/resume"] {
                let mut params = params.clone();
                params["sessionId"] = json!("old");
                let answer = editor.request(method, params).await;
                assert_eq!(answer["error"]["code"], -32602, "{answer}");
                let message = answer["error"]["message"].as_str().unwrap_or_default();
                assert!(message.starts_with(why), "{method}: {message}");
            }
        }
        let broken = json!({ "cwd": "/work", "mcpServers": [program("broken", "/bin/x")] });
        let answer = editor.request("session/new", broken).await;
        assert_eq!(
            answer["error"]["message"],
            "the MCP server \"broken\" did not start"
        );
        let unopened = editor.prompt("hello").await;
        assert_eq!(unopened["error"]["code"], -32002, "{unopened}");
        let accepted =
            json!({ "cwd": "/work", "mcpServers": [program("a", "x"), program("b", "/bin/y")] });
        let answer = editor.request("session/new", accepted).await;
        assert_eq!(
            answer["result"]["sessionId"], "agent:main:acp-1",
            "{answer}"
        );
    })
    .await;
    let started = backend.started.lock().unwrap().clone();
    let names = ["a", "b"].map(str::to_owned).to_vec();
    assert_eq!(started, [(PathBuf::from("/work"), names)]);
}

#[tokio::test]
async fn an_unknown_session_is_refused_and_its_cancellation_ignored() {
    let backend = Arc::new(Echo::default());
    edited(backend.clone(), async |editor: &mut Editor| {
        let prompt = json!([{ "type": "text", "text": "hello" }]);
        for (method, params) in [
            ("session/prompt", json!({ "sessionId": "nobody", "prompt": prompt })),
            ("session/close", json!({ "sessionId": "nobody" })),
            ("session/load", json!({ "sessionId": "nobody", "cwd": "/work", "mcpServers": [] })),
            ("session/resume", json!({ "sessionId": "nobody", "cwd": "/work", "mcpServers": [] })),
        ] {
            let answer = editor.request(method, params).await;
            assert_eq!(answer["error"]["code"], -32002, "{method}: {answer}");
        }
        let mode = json!({ "sessionId": "nobody", "modeId": "ask" });
        assert!(editor.request("session/set_mode", mode).await["error"].is_object());
        let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": "nobody" } });
        editor.script.send(cancel).await;
        editor.open().await;
        assert_eq!(editor.prompt("hello").await["result"]["stopReason"], "end_turn");
        // A cancellation that had counted would stop this one at once.
        assert!(futures_util::FutureExt::now_or_never(backend.stopped.notified()).is_none());
        let close = json!({ "sessionId": "agent:main:acp-1" });
        assert!(editor.request("session/close", close).await["result"].is_object());
        assert_eq!(editor.prompt("hello").await["error"]["code"], -32002);
    })
    .await;
}
