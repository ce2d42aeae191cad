//! Talking to an agent over the socket: events in order, commands, sessions, rights.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::chat_http::scripted;
use crate::harness::Gateway;
use crate::socket::Socket;

const SCRIPT: &str = r#"
models: [demo, other]
turns:
  - when: { user: write it }
    deltas: [I write.]
    calls: [{ id: c1, name: gsv__WriteFile, arguments: { path: note.md, content: kept } }]
  - when: { result_of: gsv__WriteFile }
    text: Written.
  - when: { user: broken }
    error: { kind: bad_request, message: it does not like this }
  - when: { user: forever }
    deltas: [one, two]
    between_ms: 600000
  - when: { user: hello }
    thinking: hm
    deltas: ["Good ", "morning", "."]
    usage: { input: 120, output: 9 }
"#;

/// No session begins anew because the hour struck while a test ran.
const CALM: &str = "[sessions.reset]\nmode = \"manual\"\n";

const ASK: &str = r#"
[[policy.rules]]
decision = "ask"
tools = ["gsv__WriteFile"]
reason = "writing needs a nod"
"#;

/// A socket that keeps the events that come between answers.
pub struct Chat {
    socket: Socket,
    told: VecDeque<Value>,
}

impl Chat {
    #[track_caller]
    pub fn owner(gateway: &Gateway) -> Self {
        Self::with(gateway, &gateway.owner)
    }

    #[track_caller]
    pub fn with(gateway: &Gateway, token: &str) -> Self {
        Self {
            socket: Socket::connect(gateway.addr, token),
            told: VecDeque::new(),
        }
    }

    /// The whole answer to a request.
    #[track_caller]
    pub fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.socket.ask(method, params);
        loop {
            let frame = self.socket.frame().expect("an open socket");
            if frame["type"] == "res" && frame["id"] == id.as_str() {
                return frame;
            }
            self.keep(frame);
        }
    }

    fn keep(&mut self, frame: Value) {
        if ["chat", "chat.tool", "session.deleted"]
            .iter()
            .any(|name| frame["event"] == *name)
        {
            self.told.push_back(frame);
        }
    }

    /// What a request that works gives.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let frame = self.answer(method, params);
        assert_eq!(frame["ok"], true, "{frame}");
        frame["payload"].clone()
    }

    /// The code of a refusal.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> u64 {
        let frame = self.answer(method, params);
        assert_eq!(frame["ok"], false, "{frame}");
        frame["error"]["code"].as_u64().expect("a code")
    }

    #[track_caller]
    pub fn send(&mut self, key: &str, run: &str, message: &str) -> Value {
        let params = json!({ "sessionKey": key, "message": message, "runId": run });
        self.ask("chat.send", params)
    }

    /// What a command answers.
    #[track_caller]
    pub fn command(&mut self, key: &str, text: &str) -> Value {
        let said = self.ask("chat.send", json!({ "sessionKey": key, "message": text }));
        assert_eq!(said["status"], "command", "{said}");
        said
    }

    /// The next event.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        while self.told.is_empty() {
            let frame = self.socket.frame().expect("an open socket");
            self.keep(frame);
        }
        self.told.pop_front().expect("an event")
    }

    /// The payloads of a run up to one with this state.
    #[track_caller]
    pub fn until(&mut self, run: &str, state: &str) -> Vec<Value> {
        let mut told = Vec::new();
        loop {
            let frame = self.next();
            if frame["payload"]["runId"] != run {
                continue;
            }
            let payload = frame["payload"].clone();
            let last = frame["event"] == "chat" && payload["state"] == state;
            let ended = frame["event"] == "chat"
                && ["final", "error"]
                    .iter()
                    .any(|end| payload["state"] == *end);
            told.push(payload);
            assert!(last || !ended, "{told:#?}");
            if last {
                return told;
            }
        }
    }

    /// How a run that goes well ends.
    #[track_caller]
    pub fn end(&mut self, run: &str) -> Value {
        self.until(run, "final").pop().expect("an event")
    }
}

#[test]
fn a_reply_is_streamed_in_order_and_then_complete() {
    let gateway = scripted(SCRIPT, CALM);
    let mut chat = Chat::owner(&gateway);
    let sent = chat.send("main", "r1", "hello");
    assert_eq!(
        sent,
        json!({ "status": "started", "runId": "r1", "queued": false })
    );
    let told = chat.until("r1", "final");
    assert_eq!(told[0]["thinking"], "hm", "{told:#?}");
    let pieces: Vec<&str> = told[1..told.len() - 1]
        .iter()
        .map(|piece| {
            assert_eq!(piece["state"], "delta", "{piece}");
            piece["text"].as_str().expect("a text")
        })
        .collect();
    assert_eq!(pieces, ["Good ", "morning", "."]);
    let last = told.last().expect("an end");
    assert_eq!(last["sessionKey"], "agent:main:main");
    assert_eq!(last["text"], "Good morning.");
    assert_eq!(
        last["message"],
        json!({ "role": "assistant", "content": [{ "type": "text", "text": "Good morning." }], "seq": 1 })
    );
    let offsets: Vec<&Value> = told[1..4].iter().map(|piece| &piece["offset"]).collect();
    assert_eq!(offsets, [0, 5, 12], "each says where it stands");
    assert!(told[1..].iter().all(|one| one["reply"] == last["reply"]));
    assert_eq!(last["usage"]["inputTokens"], 120);
    assert_eq!(last["usage"]["replies"], 1);
    for wrong in [
        json!({ "sessionKey": "main", "message": "  " }),
        json!({ "sessionKey": "not a key", "message": "hello" }),
        json!({ "sessionKey": "main", "message": "hello", "runId": "" }),
        json!({ "sessionKey": "main" }),
    ] {
        assert_eq!(chat.refused("chat.send", wrong), 400);
    }
    let nobody = json!({ "sessionKey": "agent:nobody:main", "message": "hello" });
    assert_eq!(chat.refused("chat.send", nobody), 404);
    let stats = chat.ask("session.stats", json!({ "sessionKey": "main" }));
    assert_eq!(stats["messageCount"], 2, "the refused ones changed nothing");
}

#[test]
fn tool_events_come_between_text_events() {
    let gateway = scripted(SCRIPT, CALM);
    let mut chat = Chat::owner(&gateway);
    let mut watcher = Chat::owner(&gateway);
    chat.send("main", "r1", "write it");
    let told = chat.until("r1", "final");
    let states: Vec<&str> = told
        .iter()
        .map(|payload| payload["state"].as_str().expect("a state"))
        .collect();
    assert_eq!(
        states,
        ["delta", "partial", "started", "done", "delta", "final"]
    );
    assert_eq!(told[1]["text"], "I write.");
    assert_eq!(told[2]["tool"], "gsv__WriteFile");
    assert_eq!(told[2]["args"]["path"], "note.md");
    assert_eq!(told[3]["callId"], told[2]["callId"]);
    assert_eq!(told[3]["ok"], true);
    assert!(told[3]["durationMs"].is_u64(), "{}", told[3]);
    assert_eq!(gateway.read("note.md").as_deref(), Some("kept"));
    assert_eq!(watcher.end("r1")["text"], "Written.");
}

#[test]
fn a_run_is_stopped_by_method_and_by_command_and_the_next_is_worked_on() {
    let gateway = scripted(SCRIPT, CALM);
    let mut chat = Chat::owner(&gateway);
    let nothing = chat.ask("chat.stop", json!({ "sessionKey": "main" }));
    assert_eq!(nothing, json!({ "ok": true, "stopped": false }));
    chat.send("main", "r1", "forever");
    let first = chat.until("r1", "delta");
    assert_eq!(first[0]["text"], "one");
    let second = chat.send("main", "r2", "/t:low hello");
    assert_eq!(second["queued"], true);
    assert_eq!(second["directives"], json!({ "thinkLevel": "low" }));
    let stats = chat.ask("session.stats", json!({ "sessionKey": "main" }));
    assert_eq!(stats["isProcessing"], true);
    assert_eq!(stats["queueSize"], 2);
    let stopped = chat.ask("chat.stop", json!({ "sessionKey": "main" }));
    assert_eq!(stopped["stopped"], true);
    let end = chat.until("r1", "error").pop().expect("an end");
    assert_eq!(end["stopped"], true);
    assert_eq!(chat.end("r2")["text"], "Good morning.");
    chat.send("main", "r3", "forever");
    chat.until("r3", "delta");
    assert_eq!(chat.command("main", "/stop")["response"], "stopped");
    chat.until("r3", "error");
    chat.send("main", "r4", "broken");
    let end = chat.until("r4", "error").pop().expect("an end");
    let error = end["error"].as_str().expect("why");
    assert!(error.contains("it does not like this"), "{error}");
    assert_eq!(end["stopped"], Value::Null);
}

#[test]
fn a_run_pauses_for_approval_and_resumes() {
    let gateway = scripted(SCRIPT, ASK);
    let mut chat = Chat::owner(&gateway);
    for (run, answer, ok) in [("r1", "/approve", true), ("r2", "/deny", false)] {
        let before = gateway.read("note.md");
        assert_eq!(before.is_none(), ok);
        chat.send("main", run, "write it");
        let paused = chat.until(run, "paused").pop().expect("a question");
        assert_eq!(paused["tool"], "gsv__WriteFile");
        assert_eq!(paused["arguments"]["content"], "kept");
        let approval = paused["approvalId"].as_str().expect("an id").to_owned();
        let again = chat.send("main", run, "write it");
        assert_eq!(again["status"], "paused", "{again}");
        assert_eq!(again["approvalId"], approval.as_str());
        let status = chat.command("main", "/status")["response"].clone();
        let status = status.as_str().expect("words");
        assert!(status.contains(&approval), "{status}");
        let unnamed = chat.command("main", answer);
        assert!(unnamed["error"].is_string(), "{unnamed}");
        assert_eq!(gateway.read("note.md"), before);
        let said = chat.command("main", &format!("{answer} {approval}"));
        assert_eq!(said["error"], Value::Null, "{said}");
        let told = chat.until(run, "final");
        let done = told.iter().find(|payload| payload["state"] == "done");
        assert_eq!(done.expect("the tool")["ok"], ok, "{told:#?}");
        assert_eq!(gateway.read("note.md").as_deref(), Some("kept"));
        let twice = chat.command("main", &format!("{answer} {approval}"));
        assert!(twice["error"].is_string(), "{twice}");
    }
    let decided: Vec<Value> = gateway.audit();
    let decided = decided.iter().map(|entry| &entry["tool"]);
    let decided: Vec<&Value> = decided
        .filter(|what| {
            what.as_str()
                .is_some_and(|what| what.starts_with("approval."))
        })
        .collect();
    assert_eq!(decided, ["approval.deny", "approval.approve"]);
}

#[test]
fn a_repeated_run_is_not_repeated_but_its_result_is_resent() {
    let gateway = scripted(SCRIPT, CALM);
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "hello");
    let mut end = chat.end("r1");
    // Where it stood among what was told then matters no more.
    end.as_object_mut().expect("an event").remove("reply");
    let message = end["message"].as_object_mut();
    message.expect("a message").remove("seq");
    let mut other = Chat::owner(&gateway);
    let again = other.send("main", "r1", "hello");
    assert_eq!(
        again,
        json!({ "status": "started", "runId": "r1", "queued": false })
    );
    assert_eq!(other.end("r1"), end);
    chat.send("main", "r2", "hello");
    assert_eq!(
        chat.next()["payload"]["runId"],
        "r2",
        "only the asker was told"
    );
    chat.end("r2");
    let gateway = gateway.restart();
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "hello");
    assert_eq!(chat.end("r1"), end, "a restart forgets nothing");
    let preview = chat.ask("session.preview", json!({ "sessionKey": "main" }));
    assert_eq!(preview["messageCount"], 4, "it was worked on once");
}

#[test]
fn sessions_are_listed_shown_changed_and_reset() {
    let gateway = scripted(SCRIPT, CALM);
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "write it");
    chat.end("r1");
    chat.send("work", "r2", "hello");
    chat.end("r2");
    let list = chat.ask("sessions.list", json!({}));
    assert_eq!(list["count"], 2);
    let keys: Vec<&str> = list["sessions"]
        .as_array()
        .expect("sessions")
        .iter()
        .map(|session| {
            assert!(
                session["createdAt"].as_i64() > Some(1_600_000_000_000),
                "{session}"
            );
            session["sessionKey"].as_str().expect("a key")
        })
        .collect();
    assert_eq!(keys, ["agent:main:work", "agent:main:main"]);
    let second = chat.ask("sessions.list", json!({ "limit": 1, "offset": 1 }));
    assert_eq!(second["sessions"][0]["sessionKey"], "agent:main:main");

    let preview = chat.ask("session.preview", json!({ "sessionKey": "main" }));
    let roles: Vec<&str> = preview["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| message["role"].as_str().expect("a role"))
        .collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
    // Clients of version 1 show a user's text only where it is a string, and the rest where it is blocks.
    assert_eq!(preview["messages"][0]["content"], "write it");
    assert_eq!(preview["messages"][2]["content"][0]["type"], "text");
    let call = &preview["messages"][1]["content"][1];
    assert_eq!(
        (&call["type"], &call["name"]),
        (&json!("toolCall"), &json!("gsv__WriteFile"))
    );
    assert_eq!(preview["messages"][2]["toolCallId"], call["id"]);

    let page = json!({ "sessionKey": "main", "limit": 2 });
    let last = chat.ask("session.history", page);
    assert_eq!(last["messages"].as_array().map(Vec::len), Some(2));
    let page = json!({ "sessionKey": "main", "limit": 2, "before": last["nextBefore"] });
    let first = chat.ask("session.history", page);
    assert_eq!(first["messages"][0]["content"][0]["text"], "write it");
    assert_eq!(first["nextBefore"], Value::Null);

    let session = chat.ask("session.get", json!({ "sessionKey": "work" }));
    assert_eq!(
        session["tokens"],
        json!({ "input": 120, "output": 9, "total": 129 })
    );
    assert_eq!(session["resetPolicy"], json!({ "mode": "manual" }));
    assert_eq!(session["settings"], json!({}));
    let before = session["sessionId"].clone();
    let reset = chat.ask("session.reset", json!({ "sessionKey": "work" }));
    assert_eq!(reset["oldSessionId"], before);
    assert_eq!(reset["archivedMessages"], 2);
    assert_eq!(reset["tokensCleared"], 129);
    let place = reset["archivedTo"].as_str().expect("a place");
    assert!(gateway.home.blob(place).exists(), "{place}");
    let session = chat.ask("session.get", json!({ "sessionKey": "work" }));
    assert_eq!(session["sessionId"], reset["newSessionId"]);
    assert_eq!(session["previousSessionIds"], json!([before]));
    assert_eq!(session["messageCount"], 0);
    assert_eq!(session["tokens"]["total"], 0);
    assert_eq!(
        chat.refused("session.get", json!({ "sessionKey": "none" })),
        404
    );

    for run in ["r3", "r4"] {
        chat.send("work", run, "hello");
        chat.end(run);
    }
    let compact = json!({ "sessionKey": "work", "keepMessages": 2 });
    let compacted = chat.ask("session.compact", compact);
    assert_eq!(compacted["trimmedMessages"], 2);
    assert_eq!(compacted["keptMessages"], 2);
    let nothing = chat.ask("session.compact", json!({ "sessionKey": "work" }));
    assert_eq!(nothing["trimmedMessages"], 0);
    let session = chat.ask("session.get", json!({ "sessionKey": "work" }));
    assert_eq!(session["messageCount"], 2);
}

#[test]
fn session_settings_apply_and_an_invalid_change_does_nothing() {
    let gateway = scripted(SCRIPT, CALM);
    let mut chat = Chat::owner(&gateway);
    let model = json!({ "provider": "scripted", "id": "other" });
    let patch = json!({
        "sessionKey": "main",
        "settings": { "model": model, "thinkingLevel": "high", "systemPrompt": "be brief", "maxTokens": 99 },
        "label": "the main one",
        "resetPolicy": { "mode": "idle", "idleMinutes": 30 },
    });
    let patched = chat.ask("session.patch", patch);
    assert_eq!(patched["settings"]["model"], model);
    let before = chat.ask("session.get", json!({ "sessionKey": "main" }));
    assert_eq!(before["settings"]["systemPrompt"], "be brief");
    assert_eq!(before["settings"]["maxTokens"], 99);
    assert_eq!(
        before["resetPolicy"],
        json!({ "mode": "idle", "idleMinutes": 30 })
    );
    assert_eq!(before["label"], "the main one");
    for (wrong, code) in [
        (
            json!({ "settings": { "model": { "provider": "nobody", "id": "x" } } }),
            404,
        ),
        (json!({ "settings": { "thinkingLevel": "hard" } }), 400),
        (json!({ "settings": { "maxTokens": 0 } }), 400),
        (json!({ "label": "" }), 400),
        (
            json!({ "resetPolicy": { "mode": "daily", "atHour": 24 } }),
            400,
        ),
        (json!({ "resetPolicy": { "mode": "idle" } }), 400),
        (
            json!({ "label": "good", "settings": { "maxTokens": "many" } }),
            400,
        ),
    ] {
        let mut params = wrong.clone();
        params["sessionKey"] = json!("main");
        assert_eq!(chat.refused("session.patch", params), code, "{wrong}");
    }
    let after = chat.ask("session.get", json!({ "sessionKey": "main" }));
    assert_eq!(after, before);
    let shown = chat.command("main", "/model")["response"].clone();
    assert_eq!(shown, "scripted/other (set in this chat)");
    let back = json!({ "sessionKey": "main", "settings": { "model": null, "thinkingLevel": null }, "label": null, "resetPolicy": null });
    let back = chat.ask("session.patch", back);
    assert_eq!(
        back["settings"],
        json!({ "systemPrompt": "be brief", "maxTokens": 99 })
    );
    assert_eq!(
        (&back["label"], &back["resetPolicy"]["mode"]),
        (&Value::Null, &json!("manual"))
    );
}

#[test]
fn commands_are_answered_at_once_and_reach_no_model() {
    let gateway = scripted(SCRIPT, CALM);
    let mut chat = Chat::owner(&gateway);
    let help = chat.command("main", "/help");
    assert_eq!(help["command"], "help");
    for word in [
        "/new", "/stop", "/status", "/model", "/think", "/compact", "/approve",
    ] {
        assert!(
            help["response"].as_str().expect("words").contains(word),
            "{help}"
        );
    }
    let unknown = chat.command("main", "/stats");
    assert_eq!(
        unknown["error"],
        "unknown command /stats; did you mean /status?"
    );
    let alone = json!({ "sessionKey": "main", "message": "/m:scripted/other" });
    let alone = chat.ask("chat.send", alone);
    assert_eq!(alone["status"], "directive-only");
    assert_eq!(
        alone["directives"],
        json!({ "model": { "provider": "scripted", "id": "other" } })
    );
    let think = chat.command("main", "/think high");
    assert_eq!(think["response"], "thinking: high (set in this chat)");
    let stats = chat.ask("session.stats", json!({ "sessionKey": "main" }));
    assert_eq!(
        (&stats["messageCount"], &stats["queueSize"]),
        (&json!(0), &json!(0))
    );
    chat.send("main", "r1", "/usr/bin says hello");
    assert_eq!(chat.end("r1")["text"], "Good morning.");
    let new = chat.command("main", "/new");
    let said = new["response"].as_str().expect("words");
    assert!(
        said.starts_with("new session; 2 messages archived to "),
        "{said}"
    );
    let stats = chat.ask("session.stats", json!({ "sessionKey": "main" }));
    assert_eq!(stats["messageCount"], 0);
    assert_eq!(stats["settings"]["thinkingLevel"], "high");
}

#[test]
fn a_client_has_sessions_of_its_own_and_sees_no_others() {
    let gateway = scripted(SCRIPT, CALM);
    let mut owner = Chat::owner(&gateway);
    let (bot, other) = (gateway.client("bot"), gateway.client("bot:main"));
    let mut bot = Chat::with(&gateway, &bot);
    let mut other = Chat::with(&gateway, &other);
    owner.send("main", "o1", "hello");
    owner.end("o1");
    let sent = bot.send("main", "b1", "hello");
    assert_eq!(sent["status"], "started");
    let end = bot.end("b1");
    assert_eq!(end["sessionKey"], "agent:main:client:bot:main");
    assert_eq!(owner.end("b1"), end, "the owner sees it too");
    other.send("main", "x1", "hello");
    assert_eq!(
        other.next()["payload"]["runId"],
        "x1",
        "nothing of the others came before"
    );
    other.end("x1");
    owner.send("main", "o2", "hello");
    owner.end("o2");
    let own = json!({ "sessionKey": "agent:main:client:bot:main" });
    bot.ask("session.get", own.clone());
    let list = bot.ask("sessions.list", json!({}));
    assert_eq!(list["count"], 1, "{list}");
    assert_eq!(list["sessions"][0]["sessionKey"], own["sessionKey"]);
    for foreign in [
        "agent:main:main",
        "agent:main:client:other:main",
        "agent:main:client:bot",
        "agent:main:client:bot:",
        "agent:main:client:bot+3amain:main",
    ] {
        let key = json!({ "sessionKey": foreign });
        for method in [
            "session.get",
            "session.stats",
            "session.preview",
            "session.history",
            "session.reset",
            "session.compact",
            "session.patch",
            "chat.stop",
        ] {
            assert_eq!(bot.refused(method, key.clone()), 403, "{method} {foreign}");
        }
        let send = json!({ "sessionKey": foreign, "message": "hello" });
        assert_eq!(bot.refused("chat.send", send), 403, "{foreign}");
        let command = json!({ "sessionKey": foreign, "message": "/new" });
        assert_eq!(bot.refused("chat.send", command), 403, "{foreign}");
    }
    let preview = owner.ask("session.preview", json!({ "sessionKey": "main" }));
    assert_eq!(preview["messageCount"], 4, "nobody touched the owner's");
    let label = json!({ "sessionKey": "main", "label": "mine" });
    bot.ask("session.patch", label);
    let reset = bot.ask("session.reset", json!({ "sessionKey": "main" }));
    assert_eq!(reset["sessionKey"], own["sessionKey"]);
    let approve = bot.command("main", "/approve 01890000-0000-7000-8000-000000000000");
    assert_eq!(approve["error"], "only the owner answers approval requests");
    bot.send("main", "b2", "hello");
    assert_eq!(
        bot.next()["payload"]["runId"],
        "b2",
        "nothing of the others came before"
    );
}

#[test]
fn a_read_only_token_cannot_chat_or_see_sessions() {
    let gateway = scripted(SCRIPT, CALM);
    let token = gateway
        .token(json!({ "name": "eyes", "role": "read-only" }))
        .0;
    let mut eyes = Chat::with(&gateway, &token);
    let mut owner = Chat::owner(&gateway);
    owner.send("main", "r1", "hello");
    owner.end("r1");
    let list = eyes.ask("sessions.list", json!({}));
    assert_eq!(list, json!({ "sessions": [], "count": 0 }));
    let send = json!({ "sessionKey": "main", "message": "hello" });
    assert_eq!(eyes.refused("chat.send", send), 403);
    for method in [
        "session.preview",
        "session.get",
        "session.reset",
        "chat.stop",
    ] {
        assert_eq!(
            eyes.refused(method, json!({ "sessionKey": "main" })),
            403,
            "{method}"
        );
    }
    assert!(eyes.told.is_empty(), "{:?}", eyes.told);
    let preview = owner.ask("session.preview", json!({ "sessionKey": "main" }));
    assert_eq!(preview["messageCount"], 2);
}

#[test]
fn a_denied_tool_is_reported_to_the_client() {
    let gateway = scripted(SCRIPT, CALM);
    let token = json!({ "name": "narrow", "role": "client", "tools": ["gsv__ReadFile"] });
    let mut narrow = Chat::with(&gateway, &gateway.token(token).0);
    narrow.send("main", "r1", "write it");
    let told = narrow.until("r1", "final");
    let done = told.iter().find(|payload| payload["state"] == "done");
    assert_eq!(done.expect("the tool")["ok"], false);
    assert_eq!(gateway.read("note.md"), None);
}

#[test]
fn a_slow_client_misses_deltas_but_no_end() {
    let piece = "x".repeat(2_000);
    let pieces = vec![piece.as_str(); 1_000].join(", ");
    let script = format!("turns:\n  - when: {{ user: much }}\n    deltas: [{pieces}]\n");
    let gateway = scripted(&script, CALM);
    let mut slow = Chat::owner(&gateway);
    let mut fast = Chat::owner(&gateway);
    let runs = ["r1", "r2", "r3", "r4", "r5"];
    for run in runs {
        slow.send(run, run, "much");
        fast.end(run);
    }
    for run in runs {
        let told = slow.until(run, "final");
        let (last, before) = told.split_last().expect("an end");
        assert_eq!(last["text"].as_str().map(str::len), Some(2_000_000));
        assert!(before.len() <= 1_000, "{}", before.len());
    }
}
