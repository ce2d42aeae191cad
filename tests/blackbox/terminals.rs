//! Terminals on nodes: a real shell, for the owner alone, on machines whose owner allows it.

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, eventually};
use crate::nodes::fixture::{Machine, Plan, descriptors, lives, on_record, resident};
use crate::nodes::player::Player;
use crate::socket::{Closed, Socket, envelope};

/// How much more memory a gateway or a node may have while a flood is shown.
const GROWTH: u64 = 64 << 20;

/// A machine that allows terminals.
#[track_caller]
fn machine(gateway: &Gateway, name: &str, flags: &[&str]) -> Machine {
    Plan::new(gateway, name)
        .with(&["--terminal"])
        .with(flags)
        .lend(gateway)
}

/// A socket with a terminal, and what the terminal showed so far.
struct Screen {
    socket: Socket,
    id: String,
    text: String,
    /// How it closed.
    closed: Option<Value>,
}

impl Screen {
    /// Opens a terminal with a plain prompt.
    #[track_caller]
    fn open(gateway: &Gateway, node: &str) -> Self {
        Self::on(gateway.ws(), node, json!({ "cols": 80, "rows": 24 }))
    }

    #[track_caller]
    fn on(mut socket: Socket, node: &str, mut params: Value) -> Self {
        params["nodeId"] = json!(node);
        let opened = socket.request("terminal.open", params);
        let id = opened["payload"]["terminalId"].as_str();
        Self {
            id: id.unwrap_or_else(|| panic!("{opened}")).to_owned(),
            socket,
            text: String::new(),
            closed: None,
        }
    }

    /// Takes the next frame: an answer, if it is one.
    fn frame(&mut self) -> Result<Option<Value>, Closed> {
        let frame = self.socket.frame()?;
        let told = &frame["payload"];
        if told["terminalId"] == self.id.as_str() {
            match frame["event"].as_str() {
                Some("terminal.output") => {
                    self.text.push_str(told["data"].as_str().expect("output"));
                }
                Some("terminal.closed") => self.closed = Some(told.clone()),
                _ => {}
            }
        }
        Ok((frame["type"] == "res").then_some(frame))
    }

    /// Makes a request of this terminal: its answer.
    #[track_caller]
    fn request(&mut self, method: &str, mut params: Value) -> Value {
        params["terminalId"] = json!(self.id);
        let id = self.socket.ask(method, params);
        loop {
            if let Some(answer) = self.frame().expect("an open socket")
                && answer["id"] == id.as_str()
            {
                return answer;
            }
        }
    }

    #[track_caller]
    fn types(&mut self, data: &str) {
        let said = self.request("terminal.input", json!({ "data": data }));
        assert_eq!(said["ok"], true, "{said}");
    }

    /// Reads until it has shown `words`: what it showed before.
    #[track_caller]
    fn until(&mut self, words: &str) -> String {
        loop {
            if let Some(at) = self.text.find(words) {
                let rest = self.text.split_off(at + words.len());
                return std::mem::replace(&mut self.text, rest);
            }
            assert_eq!(self.closed, None, "{}", self.text);
            self.frame().expect("an open socket");
        }
    }

    /// Reads until it is closed: how.
    #[track_caller]
    fn end(&mut self) -> Value {
        loop {
            if let Some(closed) = &self.closed {
                return closed.clone();
            }
            self.frame().expect("an open socket");
        }
    }
}

/// The entries of the audit for one tool, oldest first.
#[track_caller]
fn recorded(gateway: &Gateway, tool: &str) -> Vec<Value> {
    let mut entries = gateway.audit();
    entries.retain(|entry| entry["tool"] == tool);
    entries.reverse();
    entries
}

#[track_caller]
fn refused(said: &Value, code: i64, words: &str) {
    assert_eq!(said["error"]["code"], code, "{said}");
    assert!(said.to_string().contains(words), "{said}");
}

#[test]
fn what_is_typed_runs_in_a_terminal_of_the_size_and_folder_asked_for() {
    let gateway = Gateway::start();
    let laptop = machine(&gateway, "laptop", &[]);
    assert_eq!(
        on_record(&gateway, "laptop").expect("a node")["terminal"],
        true
    );
    let listed = gateway.cli(&["nodes"]).ok();
    assert!(listed.stdout.contains("yes"), "{listed:?}");
    std::fs::create_dir(laptop.file("in")).expect("a folder");

    let size = json!({ "cols": 91, "rows": 33, "cwd": "in" });
    let mut screen = Screen::on(gateway.ws(), "laptop", size);
    screen.types("stty size; pwd; echo $TERM-$COLORTERM; tty; echo do''ne\n");
    let shown = screen.until("\r\ndone");
    assert!(shown.contains("33 91"), "{shown}");
    let folder = laptop.file("in");
    assert!(shown.contains(folder.to_str().expect("a path")), "{shown}");
    assert!(shown.contains("xterm-256color-truecolor"), "{shown}");
    assert!(shown.contains("/dev/pts/"), "{shown}");

    // A program learns of a new size while it runs.
    let script = "trap 'echo winch' WINCH; echo ready; \
                  until [ \"$(stty size)\" = '40 120' ]; do sleep 0.02; done; echo changed\n";
    laptop.put("size.sh", script.as_bytes());
    screen.types("bash ../size.sh\n");
    screen.until("ready\r\n");
    let said = screen.request("terminal.resize", json!({ "cols": 120, "rows": 40 }));
    assert_eq!(said["ok"], true, "{said}");
    let shown = screen.until("changed\r\n");
    assert!(shown.contains("winch"), "{shown}");

    screen.types("exit 3\n");
    let end = screen.end();
    assert_eq!(end, json!({ "terminalId": screen.id, "exitCode": 3 }));
    let said = screen.request("terminal.input", json!({ "data": "x" }));
    refused(&said, 404, "no terminal");
}

#[test]
fn colours_and_characters_arrive_whole() {
    let gateway = Gateway::start();
    let _laptop = machine(&gateway, "laptop", &[]);
    let mut screen = Screen::open(&gateway, "laptop");
    // One byte at a time, so that characters are split over reads; then many, split over pieces.
    screen.types(
        "for b in '\\xe2' '\\x82' '\\xac' '\\xf0' '\\x9f' '\\x98' '\\x80'; do printf $b; sleep 0.05; done; \
         printf '\\033[38;2;1;2;3mcolour\\033[0m \\xff'; echo sp''lit\n",
    );
    let shown = screen.until("split\r\n");
    assert!(
        shown.ends_with("€😀\u{1b}[38;2;1;2;3mcolour\u{1b}[0m \u{fffd}split\r\n"),
        "{shown:?}"
    );
    screen.types("c=$(printf 'a\\xe2\\x82\\xac\\xf0\\x9f\\x98\\x80'); i=0; while [ $i -lt 20000 ]; do printf $c; i=$((i+1)); done; echo m''any\n");
    let shown = screen.until("many\r\n");
    assert_eq!(shown.matches("a€😀").count(), 20_000);
    assert!(!shown.contains('\u{fffd}'), "no character was split");

    screen.types("echo ä日本\n");
    screen.until("ä日本\r\n");
}

#[test]
fn opening_is_a_call_in_the_audit_from_its_start_to_its_end() {
    let gateway = Gateway::start();
    let _laptop = machine(&gateway, "laptop", &[]);
    let mut screen = Screen::open(&gateway, "laptop");
    let entries = recorded(&gateway, "laptop__Terminal");
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0]["kind"], "started", "{entries:?}");
    assert_eq!(entries[0]["call"], screen.id.as_str(), "{entries:?}");
    screen.types("se''cret-word 2>&1; exit 7\n");
    screen.end();
    let entries = recorded(&gateway, "laptop__Terminal");
    assert_eq!(entries.len(), 2, "{entries:?}");
    let end = &entries[1];
    assert_eq!(end["kind"], "finished", "{end}");
    assert_eq!(end["status"], "ok", "{end}");
    assert_eq!(end["code"], "exit 7", "{end}");
    assert!(end["durationUs"].as_u64().expect("a duration") > 0, "{end}");
    assert!(
        !json!(entries).to_string().contains("word"),
        "what is typed is not recorded"
    );

    let mut closed = Screen::open(&gateway, "laptop");
    // A shell that still reads its profile does not end by the hangup, but is killed.
    closed.types("echo he''re\n");
    closed.until("here\r\n");
    closed.request("terminal.close", json!({}));
    let entries = recorded(&gateway, "laptop__Terminal");
    let end = entries.last().expect("an entry");
    assert_eq!(
        (&end["kind"], &end["status"]),
        (&json!("finished"), &json!("ok")),
        "{end}"
    );
    assert_eq!(end["code"], "SIGHUP", "{end}");
    // Only `terminal.open` can make this call: the tool is in no catalogue.
    let said = gateway.call("laptop__Terminal", json!({ "cols": 80, "rows": 24 }));
    assert_eq!(said["code"], "unknown_tool", "{said}");
}

/// A shell with three kinds of programs below it: in front, in the background, and stopped.
#[track_caller]
fn busy(gateway: &Gateway, laptop: &Machine) -> Screen {
    let before = laptop.children().len();
    let mut screen = Screen::open(gateway, "laptop");
    screen.types("(trap '' HUP TERM; sleep 1001) & nohup sleep 1002 >/dev/null 2>&1 & disown; sh -c 'sleep 1003 & sleep 1004'\n");
    eventually("its programs", || laptop.children().len() >= before + 5);
    screen
}

#[track_caller]
fn all_gone(laptop: &Machine, pids: &[u32]) {
    eventually("its programs gone", || !pids.iter().any(|pid| lives(*pid)));
    assert!(lives(laptop.daemon.pid()), "the node goes on");
}

#[test]
fn closing_ends_everything_that_was_started() {
    let gateway = Gateway::start();
    let laptop = machine(&gateway, "laptop", &[]);
    laptop.bash(&gateway, "true"); // which starts the keeper
    let open = descriptors(laptop.daemon.pid());
    for _ in 0..3 {
        let mut screen = busy(&gateway, &laptop);
        let pids = laptop.children();
        let said = screen.request("terminal.close", json!({}));
        assert_eq!(said["payload"]["ok"], true, "{said}");
        assert_eq!(screen.end()["reason"], "closed");
        assert!(
            !pids.iter().any(|pid| lives(*pid)),
            "gone when it is answered"
        );
    }
    // By its own shell.
    let mut screen = Screen::open(&gateway, "laptop");
    screen.types("sleep 1005 & exit\n");
    screen.end();
    eventually("no program", || laptop.children().is_empty());
    eventually("no terminal", || descriptors(laptop.daemon.pid()) <= open);
}

#[test]
fn a_terminal_ends_with_its_socket_its_token_its_node_and_its_gateway() {
    let mut gateway = Gateway::start();
    let mut laptop = machine(&gateway, "laptop", &[]);

    let screen = busy(&gateway, &laptop);
    let pids = laptop.children();
    drop(screen);
    all_gone(&laptop, &pids);
    eventually("its end on record", || {
        recorded(&gateway, "laptop__Terminal").len() == 2
    });

    let new = json!({ "name": "second", "role": "owner" });
    let (token, id) = gateway.token(new);
    let params = json!({ "cols": 80, "rows": 24 });
    let mut screen = Screen::on(Socket::connect(gateway.addr, &token), "laptop", params);
    screen.types("sleep 1006\n");
    eventually("a program", || laptop.children().len() >= 2);
    let pids = laptop.children();
    gateway.cli(&["token", "revoke", &id]).ok();
    assert_eq!(screen.socket.closed().code, Some(4001));
    all_gone(&laptop, &pids);

    let mut screen = busy(&gateway, &laptop);
    let pids = laptop.children();
    laptop.daemon.kill9();
    let why = screen.end()["reason"].to_string();
    assert!(why.contains("laptop"), "{why}");
    eventually("all gone", || !pids.iter().any(|pid| lives(*pid)));

    let laptop = machine(&gateway, "laptop", &[]);
    let _screen = busy(&gateway, &laptop);
    let pids = laptop.children();
    gateway.daemon.kill9();
    all_gone(&laptop, &pids);
}

#[test]
fn nothing_opens_without_permission_and_in_impossible_sizes() {
    let gateway = Gateway::with_config("[[policy.rules]]\ndecision = \"allow\"\n");
    let laptop = machine(&gateway, "laptop", &[]);
    let closed = Machine::lend(&gateway, "closed");
    assert_eq!(
        on_record(&gateway, "closed")
            .expect("a node")
            .get("terminal"),
        None
    );
    let foreign = Player::join(&gateway, "foreign");
    let mut owner = gateway.ws();
    let mut open = |node: &str, more: Value| {
        let mut params = json!({ "nodeId": node, "cols": 80, "rows": 24 });
        for (key, value) in more.as_object().expect("an object") {
            params[key] = value.clone();
        }
        owner.request("terminal.open", params)
    };
    refused(&open("closed", json!({})), 403, "--terminal");
    refused(&open("foreign", json!({})), 403, "--terminal");
    refused(&open("nowhere", json!({})), 404, "nowhere");
    for (wrong, words) in [
        (json!({ "cols": 0 }), "cols: must be from 1 to 1000"),
        (json!({ "rows": 0 }), "rows: must be from 1 to 1000"),
        (json!({ "cols": 1001 }), "cols: must be from 1 to 1000"),
        (json!({ "rows": 70_000 }), "rows: must be from 1 to 1000"),
        (json!({ "cols": -1 }), "-1"),
        (json!({ "rows": "24" }), "expected u32"),
    ] {
        refused(&open("laptop", wrong), 400, words);
    }
    let gone = open("laptop", json!({ "cwd": "not-there" }));
    refused(&gone, 400, "cwd: ");
    refused(&gone, 400, "not-there does not exist");
    foreign.leave();
    eventually("foreign gone", || {
        open("foreign", json!({}))["error"]["code"] == 503
    });

    let roles = [
        json!({ "name": "c", "role": "client", "tools": ["*"] }),
        json!({ "name": "t", "role": "client", "tools": ["laptop__Terminal"] }),
        json!({ "name": "r", "role": "read-only" }),
    ];
    for new in roles {
        let mut guest = Socket::connect(gateway.addr, &gateway.token(new).0);
        let params = json!({ "nodeId": "laptop", "cols": 80, "rows": 24 });
        refused(&guest.request("terminal.open", params), 403, "owner");
        for method in ["terminal.input", "terminal.resize", "terminal.close"] {
            let params = json!({ "terminalId": "x", "data": "x", "cols": 80, "rows": 24 });
            refused(&guest.request(method, params), 403, "owner");
        }
    }
    assert_eq!(laptop.children(), closed.children(), "nothing was started");
    let started = |entry: &&Value| entry["kind"] == "started";
    let entries = recorded(&gateway, "laptop__Terminal");
    // It was in order as far as the gateway can know; the node refused the folder.
    assert_eq!(entries.iter().filter(started).count(), 1, "{entries:?}");
    assert_eq!(recorded(&gateway, "closed__Terminal"), [] as [Value; 0]);

    // The control.
    let mut screen = Screen::open(&gateway, "laptop");
    screen.types("echo he''re\n");
    screen.until("here\r\n");
    refused(
        &screen.request("terminal.resize", json!({ "cols": 0, "rows": 24 })),
        400,
        "1 to 1000",
    );
    // A terminal belongs to the socket that opened it.
    let mut other = gateway.ws();
    let params = json!({ "terminalId": screen.id, "data": "echo stolen\n" });
    refused(
        &other.request("terminal.input", params.clone()),
        404,
        "no terminal",
    );
    refused(&other.request("terminal.close", params), 404, "no terminal");
    // A rule can forbid what nobody but the owner may do.
    let rule = json!([{ "decision": "deny", "tools": ["laptop__Terminal"] }]);
    let set = json!({ "path": "policy.rules", "value": rule });
    assert_eq!(other.request("config.set", set)["ok"], true);
    let params = json!({ "nodeId": "laptop", "cols": 80, "rows": 24 });
    let said = other.request("terminal.open", params);
    assert_eq!(envelope(&said)["code"], "denied_by_policy", "{said}");
}

#[test]
fn a_socket_has_eight_terminals_and_a_place_is_free_when_one_closes() {
    let gateway = Gateway::start();
    let laptop = machine(&gateway, "laptop", &[]);
    let mut socket = gateway.ws();
    let params = json!({ "nodeId": "laptop", "cols": 80, "rows": 24 });
    let mut ids = Vec::new();
    for _ in 0..8 {
        let said = socket.request("terminal.open", params.clone());
        ids.push(
            said["payload"]["terminalId"]
                .as_str()
                .expect("one")
                .to_owned(),
        );
    }
    refused(
        &socket.request("terminal.open", params.clone()),
        503,
        "8 open terminals",
    );
    // Login shells start programs for a moment; then there are the shells alone.
    eventually("eight shells", || laptop.children().len() == 8);
    let starts = recorded(&gateway, "laptop__Terminal").into_iter();
    let starts = starts.filter(|entry| entry["kind"] == "started");
    assert_eq!(starts.count(), 8, "the ninth was no call");
    let said = socket.request("terminal.close", json!({ "terminalId": ids[3] }));
    assert_eq!(said["ok"], true, "{said}");
    let said = socket.request("terminal.open", params.clone());
    assert_eq!(said["ok"], true, "{said}");
    // Another socket has places of its own.
    let mut other = Screen::open(&gateway, "laptop");
    other.types("echo he''re\n");
    other.until("here\r\n");
}

#[test]
fn a_flood_is_bounded_and_can_be_interrupted() {
    let gateway = Gateway::start();
    let laptop = machine(&gateway, "laptop", &[]);
    let mut screen = Screen::open(&gateway, "laptop");
    let mut idle = Screen::open(&gateway, "laptop");
    idle.types("yes\n");
    screen.types("yes flood\n");
    screen.until("flood\r\nflood\r\n");
    let pids = [gateway.daemon.pid(), laptop.daemon.pid()];
    let before = pids.map(resident);
    // One that is read, and one that is not.
    let mut read = 0;
    while read < 4_000_000 {
        screen.frame().expect("an open socket");
        read += screen.text.len();
        screen.text.clear();
    }
    for (pid, before) in pids.into_iter().zip(before) {
        let now = resident(pid);
        assert!(now < before + GROWTH, "{before} bytes grew to {now}");
    }
    screen.types("\u{3}");
    screen.types("echo sto''pped\n");
    screen.until("stopped\r\n");
    // The one that was never read still works.
    idle.types("\u{3}echo al''so\n");
    idle.until("also\r\n");
}

#[test]
fn input_that_nobody_reads_is_dropped_visibly_and_the_terminal_still_closes() {
    let gateway = Gateway::start();
    let _laptop = machine(&gateway, "laptop", &[]);
    let mut screen = Screen::open(&gateway, "laptop");
    screen.types("stty raw -echo; echo rea''dy; sleep 1000\n");
    screen.until("ready");
    let half = "x".repeat(600_000);
    for _ in 0..3 {
        screen.types(&half);
    }
    screen.until("input was dropped");
    let too_much = "x".repeat(1_100_000);
    let said = screen.request("terminal.input", json!({ "data": too_much }));
    refused(&said, 400, "data");
    let said = screen.request("terminal.close", json!({}));
    assert_eq!(said["ok"], true, "{said}");
    // A large input that is read arrives whole.
    let mut screen = Screen::open(&gateway, "laptop");
    screen.types("stty raw -echo; echo rea''dy; head -c 900000 | wc -c\n");
    screen.until("ready");
    screen.types(&"y".repeat(900_000));
    screen.until("900000");
}

#[test]
fn a_terminal_is_confined_as_bash_is() {
    let gateway = Gateway::start();
    let jailed = machine(&gateway, "jailed", &["--sandbox", "workspace"]);
    let outside = gateway.home.outside("secret.txt");
    std::fs::write(&outside, "hidden words").expect("a file");
    let script = format!(
        "cat {0}; echo x > {0}; touch in''side; ls /proc/1 >/dev/null; curl -s http://{1}/ && echo reached",
        outside.display(),
        gateway.addr
    );
    let bash = jailed.bash(&gateway, &format!("({script}) 2>&1; true"));
    let mut screen = Screen::open(&gateway, "jailed");
    screen.types(&format!("{script}; echo do''ne\n"));
    let shown = screen.until("done\r\n");
    for (by, text) in [("Bash", bash["output"].to_string()), ("Terminal", shown)] {
        assert!(!text.contains("hidden words"), "{by}: {text}");
        assert!(text.contains("ermission denied"), "{by}: {text}");
        let reached = text.contains("reached\\n") || text.contains("reached\r\n");
        assert!(!reached, "{by}: {text}");
    }
    assert!(jailed.file("inside").exists(), "the control");
    assert_eq!(
        std::fs::read_to_string(&outside).expect("a file"),
        "hidden words"
    );

    // Job control works inside, and what it made ends with it.
    screen.types("sleep 1007 & sleep 1008 | sleep 1009\n");
    eventually("its programs", || jailed.children().len() >= 4);
    let pids = jailed.children();
    screen.types("\u{3}");
    screen.types("jobs; echo ag''ain\n");
    let shown = screen.until("again\r\n");
    assert!(shown.contains("sleep 1007"), "{shown}");
    screen.types("setsid sleep 1010 &\n");
    eventually("one more", || jailed.children().len() >= 3);
    screen.request("terminal.close", json!({}));
    all_gone(&jailed, &pids);
    eventually("nothing left", || jailed.children().is_empty());
}

#[test]
fn the_gateways_own_machine_allows_terminals_by_its_setting() {
    let home = Home::new().with_config("[node]\nid = \"own\"\nterminal = true\n");
    let mut command = home.command();
    command.args(["up", "--listen", "127.0.0.1:0"]);
    let gateway = Gateway::from(home, command);
    eventually("own online", || {
        on_record(&gateway, "own").is_some_and(|node| node["terminal"] == true)
    });
    let mut screen = Screen::open(&gateway, "own");
    screen.types("echo he''re; exit 0\n");
    screen.until("here\r\n");
    assert_eq!(screen.end()["exitCode"], 0);
}
