//! `manyhands acp` as an editor has it: lines on standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::harness::{Gateway, Home};
use crate::nodes::fixture::Machine;

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: hello }
    thinking: hm
    deltas: [Good, " morning", .]
  - when: { user: write }
    text: I write.
    calls: [{ name: gsv__WriteFile, arguments: { path: out.md, content: hi } }]
  - when: { result_of: gsv__WriteFile }
    text: That was it.
  - when: { user: run }
    calls: [{ name: laptop__Bash, arguments: { command: "echo begun; until [ -e go ]; do sleep 0.02; done; echo ended" } }]
  - when: { result_of: laptop__Bash }
    text: It ran.
  - when: { user: forever }
    deltas: ["one ", two]
    between_ms: 3600000
  - when: { user: broken }
    error: { kind: auth, message: the key is wrong }
"#;

const ASKS: &str = "[[policy.rules]]\ndecision = \"ask\"\ntools = [\"gsv__WriteFile\"]\n";

/// A gateway whose model is scripted.
pub fn gateway(more: &str) -> Gateway {
    let home = Home::new();
    std::fs::write(home.outside("turns.yaml"), SCRIPT).expect("the script");
    let settings = format!(
        "[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {:?}\n{more}",
        home.outside("turns.yaml")
    );
    Gateway::on(home.with_config(&settings))
}

/// An editor and its agent.
pub struct Editor {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    asked: u64,
    /// What was told, update by update.
    pub told: Vec<Value>,
    /// What is answered to a question for permission.
    pub answer: &'static str,
}

impl Editor {
    pub fn start(gateway: &Gateway, args: &[&str]) -> Self {
        Self::start_with(gateway, args, &[])
    }

    /// The same with more variables in its environment.
    pub fn start_with(gateway: &Gateway, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = gateway.command();
        command
            .arg("acp")
            .args(args)
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the agent");
        let mut editor = Self {
            stdin: child.stdin.take().expect("its input"),
            stdout: BufReader::new(child.stdout.take().expect("its output")),
            child,
            asked: 0,
            told: Vec::new(),
            answer: "allow",
        };
        let hello = editor.ask("initialize", json!({ "protocolVersion": 1 }));
        assert_eq!(hello["result"]["agentInfo"]["name"], "manyhands", "{hello}");
        editor
    }

    fn say(&mut self, message: Value) {
        let mut message = message;
        message["jsonrpc"] = json!("2.0");
        writeln!(self.stdin, "{message}").expect("a line");
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }

    /// Hears until the answer to this request is there.
    fn until(&mut self, id: u64) -> Value {
        loop {
            let heard = self.hear();
            match heard["method"].as_str() {
                Some("session/update") => self.told.push(heard["params"]["update"].clone()),
                Some("session/request_permission") => {
                    self.told.push(heard["params"].clone());
                    let outcome = json!({ "outcome": "selected", "optionId": self.answer });
                    self.say(json!({ "id": heard["id"], "result": { "outcome": outcome } }));
                }
                _ if heard["id"] == id => return heard,
                _ => {}
            }
        }
    }

    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.say(json!({ "id": id, "method": method, "params": params }));
        id
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.until(id)
    }

    fn new_session(&mut self) -> String {
        let made = self.ask("session/new", json!({ "cwd": "/tmp", "mcpServers": [] }));
        let id = made["result"]["sessionId"].as_str();
        id.unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    fn prompt(&mut self, session: &str, text: &str) -> Value {
        self.told.clear();
        self.ask("session/prompt", prompt(session, text))
    }

    /// The words of the updates of one kind.
    fn words(&self, kind: &str) -> String {
        let of_kind = self
            .told
            .iter()
            .filter(|told| told["sessionUpdate"] == kind);
        of_kind
            .filter_map(|told| told["content"]["text"].as_str())
            .collect()
    }

    fn said(&self) -> String {
        self.words("agent_message_chunk")
    }

    /// Closes its end; the agent ends by itself.
    pub fn close(mut self) {
        drop(self.stdin);
        assert!(self.child.wait().expect("its end").success());
    }
}

pub fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

#[test]
fn an_editor_sees_what_a_command_prints_while_it_runs_and_all_of_it_at_the_end() {
    let gateway = gateway("[[policy.rules]]\ndecision = \"allow\"\n");
    let laptop = Machine::lend(&gateway, "laptop");
    let mut editor = Editor::start(&gateway, &[]);
    let session = editor.new_session();
    let turn = editor.begin("session/prompt", prompt(&session, "run"));
    let shown = |told: &Value| told["content"][0]["content"]["text"].clone();
    loop {
        let heard = editor.hear();
        let update = &heard["params"]["update"];
        assert_ne!(heard["id"], turn, "it does not end by itself");
        if update["sessionUpdate"] == "tool_call_update" {
            assert_eq!(update["status"], "in_progress", "{update}");
            if shown(update) == "begun\n" {
                break;
            }
        }
    }
    laptop.put("go", b"");
    let ended = editor.until(turn);
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    let of_call = |told: &&Value| told["sessionUpdate"] == "tool_call_update";
    let last = editor.told.iter().rfind(of_call).expect("its end");
    assert_eq!(last["status"], "completed", "{last}");
    let whole = shown(last).to_string();
    assert!(
        whole.contains("begun") && whole.contains("ended"),
        "{whole}"
    );
    editor.close();
}

#[test]
fn an_editor_talks_with_an_agent_and_sees_it_think_and_work() {
    let gateway = gateway("");
    let mut editor = Editor::start(&gateway, &[]);
    let session = editor.new_session();
    assert!(session.starts_with("agent:main:acp-"), "{session}");
    let ended = editor.prompt(&session, "hello");
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    assert_eq!(editor.said(), "Good morning.");
    assert_eq!(editor.words("agent_thought_chunk"), "hm");
    editor.prompt(&session, "write");
    assert_eq!(editor.said(), "I write.That was it.");
    assert_eq!(gateway.read("out.md").as_deref(), Some("hi"));
    let calls: Vec<&Value> = editor
        .told
        .iter()
        .filter(|told| told["toolCallId"].is_string())
        .collect();
    assert_eq!(
        (&calls[0]["kind"], &calls[0]["rawInput"]["path"]),
        (&json!("edit"), &json!("out.md"))
    );
    assert_eq!(calls.last().expect("its end")["status"], "completed");
    editor.close();
}

#[test]
fn commands_are_offered_and_done() {
    let gateway = gateway("");
    let mut editor = Editor::start(&gateway, &[]);
    let session = editor.new_session();
    editor.prompt(&session, "/help");
    assert!(editor.said().contains("/approve"), "{}", editor.said());
    let session = editor.new_session();
    let other = editor.new_session();
    assert_ne!(session, other);
    let offered = editor
        .told
        .iter()
        .find(|told| told["availableCommands"].is_array());
    let offered = offered.expect("the commands")["availableCommands"].to_string();
    assert!(
        offered.contains("\"compact\"") && offered.contains("\"status\""),
        "{offered}"
    );
    editor.close();
}

#[test]
fn the_owner_is_asked_in_the_editor_and_the_answer_counts() {
    for (answer, written) in [("allow", Some("hi")), ("reject", None)] {
        let gateway = gateway(ASKS);
        let mut editor = Editor::start(&gateway, &[]);
        editor.answer = answer;
        let session = editor.new_session();
        let ended = editor.prompt(&session, "write");
        assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
        let asked = editor.told.iter().find(|told| told["options"].is_array());
        let asked = asked.expect("a question");
        assert_eq!(
            asked["toolCall"]["rawInput"],
            json!({ "path": "out.md", "content": "hi" })
        );
        assert_eq!(gateway.read("out.md").as_deref(), written);
        editor.close();
    }
}

#[test]
fn a_turn_is_cancelled() {
    let gateway = gateway("");
    let mut editor = Editor::start(&gateway, &[]);
    let session = editor.new_session();
    let turn = editor.begin("session/prompt", prompt(&session, "forever"));
    while editor.said().is_empty() {
        let heard = editor.hear();
        editor.told.push(heard["params"]["update"].clone());
    }
    editor.say(json!({ "method": "session/cancel", "params": { "sessionId": session } }));
    let ended = editor.until(turn);
    assert_eq!(ended["result"]["stopReason"], "cancelled", "{ended}");
    let ended = editor.prompt(&session, "hello");
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    editor.close();
}

#[test]
fn sessions_are_listed_loaded_and_shared() {
    let gateway = gateway("");
    let mut editor = Editor::start(&gateway, &["-s", "work"]);
    let session = editor.new_session();
    assert_eq!(session, "agent:main:work");
    editor.prompt(&session, "write");
    editor.close();
    let mut editor = Editor::start(&gateway, &["--agent", "main"]);
    let listed = editor.ask("session/list", json!({}));
    assert_eq!(
        listed["result"]["sessions"][0]["sessionId"], session,
        "{listed}"
    );
    editor.told.clear();
    let load = |id: &str| json!({ "sessionId": id, "cwd": "/tmp", "mcpServers": [] });
    let loaded = editor.ask("session/load", load(&session));
    assert!(loaded["result"].is_object(), "{loaded}");
    assert_eq!(editor.words("user_message_chunk"), "write");
    assert_eq!(editor.said(), "I write.That was it.");
    let none = editor.ask("session/load", load("agent:main:nowhere"));
    assert!(none["error"].is_object(), "{none}");
    let ended = editor.prompt(&session, "hello");
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    editor.close();
}

#[test]
fn an_error_is_shown_and_the_next_turn_works() {
    let gateway = gateway("");
    let mut editor = Editor::start(&gateway, &[]);
    let session = editor.new_session();
    let failed = editor.prompt(&session, "broken");
    assert!(
        failed["error"]["message"]
            .to_string()
            .contains("the key is wrong"),
        "{failed}"
    );
    let picture = json!([{ "type": "image", "data": "aa", "mimeType": "image/png" }]);
    let refused = editor.ask(
        "session/prompt",
        json!({ "sessionId": session, "prompt": picture }),
    );
    assert!(refused["error"].is_object(), "{refused}");
    editor.prompt(&session, "hello");
    assert_eq!(editor.said(), "Good morning.");
    editor.close();
}

#[test]
fn a_missing_gateway_is_reported_at_once() {
    let gateway = gateway("");
    let home = gateway.stop();
    let ran = home.cli(&["acp"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("error"),
        "{ran:?}"
    );
}

#[test]
fn a_turn_outlives_a_restart_of_the_gateway() {
    let gateway = gateway("");
    let mut editor = Editor::start(&gateway, &[]);
    let session = editor.new_session();
    let turn = editor.begin("session/prompt", prompt(&session, "forever"));
    while editor.said().is_empty() {
        let heard = editor.hear();
        editor.told.push(heard["params"]["update"].clone());
    }
    let home = gateway.kill9();
    std::fs::write(home.outside("turns.yaml"), "turns: [{ text: Here again. }]").expect("a script");
    let _gateway = Gateway::on(home);
    let ended = editor.until(turn);
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    assert!(editor.said().ends_with("Here again."), "{}", editor.said());
    editor.close();
}
