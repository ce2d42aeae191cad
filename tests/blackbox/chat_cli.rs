//! Talking to agents on the command line: one message, a conversation at a terminal, and what is
//! known of sessions, models and agents. The models are scripted.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::harness::{BINARY, Gateway, Home, Ran, eventually};
use crate::http::PATIENCE;

const SCRIPT: &str = r#"
models: [demo, other]
turns:
  - when: { user: hello }
    deltas: [Good, " morning", .]
  - when: { user: look }
    text: Let me look.
    calls: [{ name: gsv__ReadFile, arguments: { path: notes.md } }]
  - when: { result_of: gsv__ReadFile }
    text: It says seven.
  - when: { user: absent }
    calls: [{ name: gsv__ReadFile, arguments: { path: absent.md } }]
  - when: { user: write }
    calls: [{ name: gsv__WriteFile, arguments: { path: out.md, content: hi } }]
  - when: { user: scribble }
    calls: [{ name: gsv__WriteFile, arguments: { path: out.md, content: ho } }]
  - when: { result_of: gsv__WriteFile }
    text: That was it.
  - when: { user: hostile }
    deltas: ["a\x1b]52;c;cm0=\x07b\x1b[2J\x1b", "[31mc\u202ed\x9b1m", "\re\x1b[0mf"]
  - when: { user: forever }
    deltas: ["one ", two]
    between_ms: 3600000
  - when: { user: broken }
    error: { kind: auth, message: the key is wrong }
  - when: { user: one word }
    text: ok
"#;

const SLOW: &str = r#"
turns:
  - when: { user: hello }
    deltas: [Good, " night."]
    between_ms: 3600000
"#;

fn settings(home: &Home, more: &str) -> String {
    format!(
        "[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {:?}\n{more}",
        home.outside("turns.yaml")
    )
}

fn home(script: &str, more: &str) -> Home {
    let home = Home::new();
    std::fs::write(home.outside("turns.yaml"), script).expect("the script");
    let settings = settings(&home, more);
    home.with_config(&settings)
}

fn gateway() -> Gateway {
    Gateway::on(home(SCRIPT, ""))
}

const ASKS: &str = "[[policy.rules]]\ndecision = \"ask\"\ntools = [\"gsv__WriteFile\"]\n";

#[track_caller]
fn failed(ran: &Ran, words: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(words), "{words:?} is not in {ran:?}");
}

#[test]
fn one_message_is_answered_on_standard_output_and_nothing_else() {
    let gateway = gateway();
    let ran = gateway.cli(&["chat", "hello"]).ok();
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("Good morning.\n", "")
    );
}

#[test]
fn piped_input_follows_or_replaces_the_message() {
    let gateway = gateway();
    let ran = gateway.home.cli_with(&["chat"], "hello\n").ok();
    assert_eq!(ran.stdout, "Good morning.\n");
    let ran = gateway
        .home
        .cli_with(&["chat", "-s", "work", "hello"], "a\nb\n")
        .ok();
    assert_eq!(ran.stdout, "Good morning.\n");
    let shown = gateway
        .cli(&["sessions", "show", "work", "--json"])
        .ok()
        .json();
    assert_eq!(shown["messages"][0]["text"], "hello\n\na\nb", "{shown}");
    failed(&gateway.home.cli_with(&["chat"], " \n"), "no message given");
}

#[test]
fn the_end_is_one_object_for_programs() {
    let gateway = gateway();
    let told = gateway.cli(&["chat", "--json", "look"]).ok();
    assert_eq!(told.stderr, "");
    let told = told.json();
    assert_eq!(
        (&told["ok"], &told["text"]),
        (&json!(true), &json!("It says seven.")),
        "{told}"
    );
    assert_eq!(told["usage"]["replies"], 2, "{told}");
    let ran = gateway.cli(&["chat", "--json", "broken"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let told = ran.json();
    assert_eq!(told["ok"], false, "{told}");
    assert!(
        told["error"]
            .as_str()
            .is_some_and(|e| e.contains("the key is wrong")),
        "{told}"
    );
}

#[test]
fn a_call_of_a_tool_is_one_line_beside_the_answer() {
    let gateway = gateway();
    gateway.write("notes.md", "seven");
    let ran = gateway.cli(&["chat", "look"]).ok();
    assert_eq!(ran.stdout, "Let me look.\nIt says seven.\n");
    let line = ran.stderr.strip_suffix('\n').expect("a line");
    assert!(
        line.starts_with("· gsv__ReadFile notes.md … ok ") && line.ends_with(" ms"),
        "{ran:?}"
    );
    let ran = gateway.cli(&["chat", "absent"]).ok();
    assert!(
        ran.stderr
            .starts_with("· gsv__ReadFile absent.md … failed "),
        "{ran:?}"
    );
}

#[test]
fn an_error_is_printed_and_exits_with_1() {
    let gateway = gateway();
    let ran = gateway.cli(&["chat", "broken"]);
    failed(&ran, "the key is wrong");
    assert_eq!(ran.stdout, "");
    failed(
        &gateway.cli(&["chat", "--agent", "nobody", "hello"]),
        "there is no agent nobody",
    );
    failed(
        &gateway.cli(&["chat", "-s", "a b", "hello"]),
        "is not a session key",
    );
    failed(
        &gateway.cli(&["chat", "--model", "nowhere/x", "hello"]),
        "nowhere",
    );
    gateway.cli(&["chat", "hello"]).ok();
    let home = gateway.stop();
    failed(&home.cli(&["chat", "hello"]), "cannot reach the gateway at");
}

#[test]
fn model_output_never_controls_the_terminal() {
    let gateway = gateway();
    let ran = gateway.cli(&["chat", "hostile"]).ok();
    assert_eq!(
        ran.stdout,
        "a\\u{1b}]52;c;cm0=\\u{7}b\\u{1b}[2J\\u{1b}[31mc\\u{202e}d\\u{9b}1m\\u{d}ef\n"
    );
    let shown = gateway.cli(&["sessions", "show", "main"]).ok();
    let control = |c: char| c.is_control() && c != '\n';
    assert!(!shown.stdout.contains(control), "{shown:?}");
    assert!(shown.stdout.contains("52;c;cm0="), "{shown:?}");
}

#[test]
fn the_reply_is_streamed_and_a_turn_can_be_stopped() {
    let gateway = gateway();
    let mut child = gateway
        .command()
        .args(["chat", "forever"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut first = [0; 4];
    let mut stdout = child.stdout.take().expect("its output");
    stdout.read_exact(&mut first).expect("the first piece");
    assert_eq!(&first, b"one ");
    rustix::process::kill_process(Pid::from_child(&child), Signal::INT).expect("a live process");
    let ended = child.wait_with_output().expect("its end");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("stopped"), "{stderr}");
    gateway.cli(&["chat", "hello"]).ok();
}

#[test]
fn without_a_person_to_ask_an_approval_is_left_open_with_the_command_that_gives_it() {
    let gateway = Gateway::on(home(SCRIPT, ASKS));
    let ran = gateway.cli(&["chat", "write"]);
    failed(
        &ran,
        "gsv__WriteFile needs your approval; it will run with exactly this: {",
    );
    assert!(ran.stderr.contains("\"content\":\"hi\""), "{ran:?}");
    assert_eq!(gateway.read("out.md"), None);
    let (_, rest) = ran
        .stderr
        .split_once("`manyhands approvals approve ")
        .expect("the command");
    let id = rest.split('`').next().expect("an id");
    gateway.cli(&["approvals", "approve", id]).ok();
    eventually("the turn went on", || {
        let shown = gateway.cli(&["sessions", "show", "main"]).ok();
        shown.stdout.contains("That was it.")
    });
    assert_eq!(gateway.read("out.md").as_deref(), Some("hi"));
}

#[test]
fn no_answer_is_lost_when_the_gateway_dies_under_it() {
    let gateway = Gateway::on(home(SLOW, ""));
    let mut command = gateway.command();
    command.args(["chat", "hello"]).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let mut first = [0; 4];
    let mut stdout = child.stdout.take().expect("its output");
    stdout.read_exact(&mut first).expect("the first piece");
    assert_eq!(&first, b"Good");
    let home = gateway.kill9();
    std::fs::write(home.outside("turns.yaml"), SCRIPT).expect("the script");
    let gateway = Gateway::on(home);
    let ended = child.wait_with_output().expect("its end");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{stderr}");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("the rest");
    assert_eq!(rest, " morning.\n", "what was said is not said again");
    assert!(stderr.contains("reconnecting"), "{stderr}");
    let shown = gateway
        .cli(&["sessions", "show", "main", "--json"])
        .ok()
        .json();
    assert_eq!(
        shown["messages"].as_array().map(Vec::len),
        Some(2),
        "one question, one answer: {shown}"
    );
}

#[test]
fn sessions_are_listed_shown_set_compacted_and_reset() {
    let gateway = gateway();
    assert!(
        gateway
            .cli(&["sessions"])
            .ok()
            .stdout
            .starts_with("no sessions yet\nhint: ")
    );
    gateway.cli(&["chat", "hello"]).ok();
    gateway.cli(&["chat", "-s", "work", "hello"]).ok();
    let listed = gateway.cli(&["sessions", "list"]).ok().stdout;
    for words in ["SESSION", "agent:main:main", "agent:main:work", "idle"] {
        assert!(listed.contains(words), "{listed}");
    }
    let listed = gateway.cli(&["sessions", "--json"]).ok().json();
    assert_eq!(listed["count"], 2, "{listed}");
    let set = [
        "sessions",
        "set",
        "work",
        "--model",
        "scripted/other",
        "--think",
        "low",
        "--label",
        "Work",
    ];
    let about = gateway.cli(&set).ok().stdout;
    for words in [
        "label        Work",
        "model        scripted/other",
        "reasoning    low",
    ] {
        assert!(about.contains(words), "{about}");
    }
    let shown = gateway.cli(&["sessions", "show", "work"]).ok().stdout;
    assert!(
        shown.ends_with("\n[0] user\nhello\n\n[1] assistant\nGood morning.\n"),
        "{shown}"
    );
    let one = gateway
        .cli(&["sessions", "show", "work", "--limit", "1"])
        .ok()
        .stdout;
    assert!(
        one.contains("Good morning.") && !one.contains("hello"),
        "{one}"
    );
    gateway.cli(&["chat", "-s", "work", "hello"]).ok();
    let compacted = gateway
        .cli(&["sessions", "compact", "work", "--keep", "2"])
        .ok()
        .stdout;
    assert!(compacted.starts_with("2 archived in "), "{compacted}");
    let reset = gateway.cli(&["sessions", "reset", "work"]).ok().stdout;
    assert!(reset.starts_with("cleared agent:main:work; "), "{reset}");
    let shown = gateway.cli(&["sessions", "show", "work"]).ok().stdout;
    assert!(!shown.contains("Good morning."), "{shown}");
    let other = gateway.cli(&["sessions", "show", "main"]).ok().stdout;
    assert!(other.contains("Good morning."), "{other}");
    failed(
        &gateway.cli(&["sessions", "show", "absent"]),
        "there is no session agent:main:absent",
    );
}

#[test]
fn models_are_listed_and_tested() {
    let gateway = gateway();
    let listed = gateway.cli(&["models"]).ok().stdout;
    for words in [
        "default    scripted/demo\n",
        "scripted (scripted)  replays a file; no model is called\n",
        "  scripted/demo  configured",
        "  scripted/other",
    ] {
        assert!(listed.contains(words), "{listed}");
    }
    assert_eq!(
        gateway.cli(&["models", "--json"]).ok().json()["default"],
        "scripted/demo"
    );
    let tested = gateway.cli(&["models", "test"]).ok().stdout;
    assert!(
        tested.starts_with("ok  scripted/demo replied in "),
        "{tested}"
    );
    assert!(
        tested.contains("it replays a file, no model was called"),
        "{tested}"
    );
    let ran = gateway.cli(&["models", "test", "nowhere/x"]);
    failed(&ran, "nowhere");
    assert!(ran.stderr.contains("hint: "), "{ran:?}");
    let doctor = gateway.cli(&["doctor"]).stdout;
    assert!(
        doctor.contains("ok     models     scripted/demo"),
        "{doctor}"
    );
}

#[test]
fn agents_are_listed_with_model_tools_and_files() {
    let gateway = Gateway::on(home(SCRIPT, "[agents.helper]\ntools = [\"gsv__*\"]\n"));
    gateway.write("notes.md", "seven");
    let listed = gateway.cli(&["agents"]).ok().stdout;
    for words in ["main", "scripted/demo", "notes.md", "helper", "gsv__*"] {
        assert!(listed.contains(words), "{listed}");
    }
    let ran = gateway.cli(&["chat", "--agent", "helper", "hello"]).ok();
    assert_eq!(ran.stdout, "Good morning.\n");
    let listed = gateway.cli(&["sessions"]).ok().stdout;
    assert!(listed.contains("agent:helper:main"), "{listed}");
}

#[test]
fn usage_is_shown_by_day_agent_and_model() {
    let gateway = gateway();
    assert!(
        gateway
            .cli(&["usage"])
            .ok()
            .stdout
            .starts_with("no model usage since ")
    );
    let other = [
        "chat",
        "--model",
        "scripted/other",
        "--think",
        "low",
        "hello",
    ];
    gateway.cli(&other).ok();
    let used = gateway.cli(&["usage", "--days", "7"]).ok().stdout;
    for words in ["DAY", "main", "scripted/other", "total"] {
        assert!(used.contains(words), "{used}");
    }
    assert_eq!(
        gateway.cli(&["usage", "--json"]).ok().json()["total"]["calls"],
        1
    );
}

#[test]
fn without_a_model_the_required_setting_is_named() {
    let gateway = Gateway::start();
    for args in [&["chat", "hello"][..], &["models", "test"]] {
        let ran = gateway.cli(args);
        failed(&ran, "no model is configured");
        for words in [
            "manyhands models add anthropic",
            "manyhands models add ollama",
            "[models.providers.work]",
        ] {
            assert!(ran.stderr.contains(words), "{ran:?}");
        }
    }
    assert!(
        gateway
            .cli(&["models"])
            .ok()
            .stdout
            .starts_with("no model is configured\nhint: ")
    );
    let doctor = gateway.cli(&["doctor"]).stdout;
    assert!(
        doctor.contains("WARN   models     none configured"),
        "{doctor}"
    );
    let sessions = gateway.cli(&["sessions", "--json"]).ok().json();
    assert_eq!(sessions["count"], 0, "nothing was begun: {sessions}");
}

/// The program at a terminal of its own.
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    shown: Arc<(Mutex<String>, Condvar)>,
    reader: JoinHandle<()>,
    seen: usize,
}

impl Terminal {
    pub fn chat(gateway: &Gateway) -> Self {
        let mut terminal = Self::open(&gateway.home, "chat");
        terminal.sees("session main");
        terminal.sees("> ");
        terminal
    }

    /// Runs the program with these words. Without colours, so that what it shows can be compared.
    pub fn open(home: &Home, words: &str) -> Self {
        Self::open_with(home, words, 80, &[("TERM", "xterm"), ("NO_COLOR", "1")])
    }

    /// Runs the program with these words, on so many columns, in this environment.
    pub fn open_with(home: &Home, words: &str, columns: u16, env: &[(&str, &str)]) -> Self {
        let mut command = home.wrap(Command::new("script"));
        let line = format!("stty cols {columns} rows 40; exec {BINARY} {words}");
        command
            .envs(env.iter().copied())
            .args(["-qec", &line, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("script, of util-linux");
        let shown = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let (mut stdout, copy) = (child.stdout.take().expect("its output"), shown.clone());
        let reader = std::thread::spawn(move || {
            let (mut buffer, mut held) = ([0; 4096], Vec::new());
            while let Ok(read @ 1..) = stdout.read(&mut buffer) {
                held.extend_from_slice(&buffer[..read]);
                // A character of which only a part has come waits for the rest.
                let whole = match std::str::from_utf8(&held) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => held.len(),
                };
                let piece: Vec<u8> = held.drain(..whole).collect();
                let piece = String::from_utf8_lossy(&piece);
                copy.0.lock().expect("the screen").push_str(&piece);
                copy.1.notify_all();
            }
        });
        let keys = child.stdin.take().expect("its keys");
        Self {
            child,
            keys,
            shown,
            reader,
            seen: 0,
        }
    }

    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("a terminal");
        self.keys.flush().expect("a terminal");
    }

    /// Waits until these words are shown after those that were seen before; gives what came between.
    #[track_caller]
    pub fn sees(&mut self, words: &str) -> String {
        let (screen, grown) = &*self.shown;
        let shown = screen.lock().expect("the screen");
        let seen = self.seen;
        let waited =
            grown.wait_timeout_while(shown, PATIENCE, |shown| !shown[seen..].contains(words));
        let (shown, _) = waited.expect("the screen");
        let at = shown[seen..].find(words);
        let at = at.unwrap_or_else(|| panic!("{words:?} never came:\n{}", &shown[seen..]));
        self.seen = seen + at + words.len();
        shown[seen..self.seen].to_owned()
    }

    /// Waits for the end of the program; gives all that it showed.
    #[track_caller]
    pub fn ends(mut self) -> String {
        let status = self.child.wait().expect("its end");
        self.reader.join().expect("all that it showed");
        assert_eq!(
            status.code(),
            Some(0),
            "{}",
            self.shown.0.lock().expect("the screen")
        );
        self.shown.0.lock().expect("the screen").clone()
    }
}

#[test]
fn a_conversation_at_a_terminal() {
    let gateway = Gateway::on(home(SCRIPT, ASKS));
    let notes = gateway.home.blob("agents/main/notes.md");
    std::fs::create_dir_all(notes.parent().expect("a folder")).expect("a folder");
    std::fs::write(&notes, "seven").expect("the notes");
    let mut terminal = Terminal::chat(&gateway);
    terminal.types("hello\r");
    terminal.sees("Good morning.");
    terminal.sees("> ");
    terminal.types("look\\\rat it\r");
    terminal.sees("Let me look.");
    terminal.sees("1 ✓ gsv__ReadFile notes.md … ok ");
    terminal.sees("It says seven.");
    terminal.sees("> ");
    terminal.types("/show 1\r");
    terminal.sees("\"path\": \"notes.md\"");
    terminal.sees("seven");
    terminal.sees("> ");
    terminal.types("\u{1b}[200~hello\nthere\u{1b}[201~\r");
    terminal.sees("Good morning.");
    terminal.sees("> ");
    terminal.types("/help\r");
    terminal.sees("/stop");
    terminal.sees("> ");
    terminal.types("\u{4}");
    terminal.ends();
    let history = gateway.home.path().join("chat-history");
    let kept = std::fs::read_to_string(&history).expect("the history");
    let lines: Vec<&str> = kept.lines().take(4).collect();
    let expect = [
        r#""hello""#,
        r#""look\nat it""#,
        r#""/show 1""#,
        r#""hello\nthere""#,
    ];
    assert_eq!(lines, expect);
    let mode = std::fs::metadata(&history)
        .expect("the history")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn at_a_terminal_the_person_is_asked_and_sees_exactly_what_will_run() {
    let gateway = Gateway::on(home(SCRIPT, ASKS));
    let mut terminal = Terminal::chat(&gateway);
    terminal.types("write\r");
    terminal.sees("gsv__WriteFile needs your approval. It will run with exactly this:");
    let exactly = terminal.sees("[n]o, or a reason to deny: ");
    assert!(
        exactly.contains("\"content\": \"hi\"") && exactly.contains("\"path\": \"out.md\""),
        "{exactly}"
    );
    assert_eq!(gateway.read("out.md"), None);
    terminal.types("perhaps\r");
    terminal.sees("type y, c, a or n: ");
    terminal.types("n\r");
    terminal.sees("denied");
    terminal.sees("That was it.");
    terminal.sees("> ");
    assert_eq!(gateway.read("out.md"), None);
    terminal.types("scribble\r");
    terminal.sees("[n]o, or a reason to deny: ");
    terminal.types("y\r");
    terminal.sees("… ok ");
    terminal.sees("That was it.");
    terminal.sees("> ");
    assert_eq!(gateway.read("out.md").as_deref(), Some("ho"));
    terminal.types("/quit\r");
    terminal.ends();
}

#[test]
fn at_a_terminal_ctrl_c_stops_the_turn_and_then_leaves() {
    let gateway = gateway();
    let mut terminal = Terminal::chat(&gateway);
    terminal.types("forever\r");
    terminal.sees("one");
    terminal.types("\u{3}");
    terminal.sees("stopped");
    terminal.sees("> ");
    terminal.types("hello\r");
    terminal.sees("Good morning.");
    terminal.sees("> ");
    terminal.types("\u{3}");
    terminal.sees("Ctrl-C again");
    terminal.sees("> ");
    terminal.types("\u{3}");
    terminal.ends();
}

#[test]
fn at_a_terminal_a_deleted_conversation_is_reported_and_restarted() {
    let gateway = gateway();
    let mut terminal = Terminal::chat(&gateway);
    terminal.types("hello\r");
    terminal.sees("Good morning.");
    terminal.sees("> ");
    gateway.cli(&["sessions", "delete", "main"]).ok();
    terminal.types("hello\r");
    terminal.sees("the session was deleted meanwhile; starting a new one");
    terminal.sees("Good morning.");
    terminal.sees("> ");
    terminal.types("hello\r");
    let said = terminal.sees("Good morning.");
    assert!(!said.contains("deleted"), "it is told once: {said}");
    terminal.sees("> ");
    terminal.types("/quit\r");
    terminal.ends();
}
