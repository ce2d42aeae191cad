//! Both ways with programs that nobody here wrote: a client from its registry drives our agent, and
//! agents from there, with a scripted model behind them, do tasks for ours.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::editor;
use crate::aimock::server::Aimock;
use crate::harness::{BINARY, Gateway, Home, Ran, eventually, run};
use crate::http::{Connection, Request};
use crate::npm::packages;

/// How long a task of a real agent may take: they are slow to begin, and the machine is busy.
const TASK: Duration = Duration::from_secs(240);

fn folder() -> PathBuf {
    packages("acp-client")
}

/// The Node.js that came with them: the machine's may be too old.
fn node() -> PathBuf {
    folder().join("node_modules/node/bin/node")
}

/// Says one thing to our agent through the client.
fn acpx(gateway: &Gateway, options: &[&str], prompt: &str) -> Ran {
    let mut command = gateway.home.wrap(Command::new(node()));
    command
        .arg(folder().join("node_modules/acpx/dist/cli.js"))
        .args(["--agent", &format!("{BINARY} acp"), "--timeout", "120"])
        .args(options)
        .args(["exec", prompt]);
    run(command, "")
}

/// What the client saw, message by message.
fn messages(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[test]
fn a_real_client_talks_with_our_agent() {
    let gateway = editor::gateway("");
    let ran = acpx(&gateway, &["--format", "quiet"], "hello").ok();
    assert_eq!(ran.stdout.trim(), "Good morning.", "{ran:?}");
    let ran = acpx(&gateway, &["--format", "json"], "write").ok();
    let seen = messages(&ran);
    let told = |what: &str| seen.iter().any(|one| one.to_string().contains(what));
    assert!(
        told("agent_message_chunk") && told("\"tool_call\"") && told("That was it."),
        "{ran:?}"
    );
    assert_eq!(gateway.read("out.md").as_deref(), Some("hi"));
}

#[test]
fn a_real_client_is_asked_for_the_owner() {
    const ASKS: &str = "[[policy.rules]]\ndecision = \"ask\"\ntools = [\"gsv__WriteFile\"]\n";
    for (option, written) in [("--approve-all", Some("hi")), ("--deny-all", None)] {
        let gateway = editor::gateway(ASKS);
        let ran = acpx(&gateway, &[option, "--format", "json"], "write");
        assert!(ran.stdout.contains("session/request_permission"), "{ran:?}");
        assert_eq!(gateway.read("out.md").as_deref(), written, "{option}");
    }
}

/// Gives a task to an agent that takes its time.
fn give(to: SocketAddr, owner: &str, task: &str) -> Value {
    let call = json!({ "agent": "real", "task": task });
    let request = Request::post("/api/tools/acp_spawn", &call).bearer(owner);
    let mut connection = Connection::open(to).expect("a connection");
    connection.patience(TASK);
    connection.send(&request).expect("an answer").json()
}

/// Gives a task in which permission is asked, and lets it.
fn give_and_permit(gateway: &Gateway, task: &str) -> (Value, Value) {
    std::thread::scope(|scope| {
        let (to, owner) = (gateway.addr, gateway.owner.as_str());
        let given = scope.spawn(move || give(to, owner, task));
        let mut asked = Value::Null;
        while !given.is_finished() && asked.is_null() {
            let listed = gateway.get("/api/approvals").json();
            asked = listed["result"]["approvals"][0].clone();
        }
        if let Some(id) = asked["id"].as_str() {
            gateway.cli(&["approvals", "approve", id]).ok();
        }
        (given.join().expect("the task"), asked)
    })
}

/// A real agent: its program, its arguments, what it calls its tool, and its environment.
struct Real {
    script: &'static str,
    args: &'static str,
    tool: &'static str,
    env: fn(&str) -> String,
}

const QWEN: Real = Real {
    script: "@qwen-code/qwen-code/cli.js",
    args: "\"--acp\", \"--auth-type\", \"openai\", \"--approval-mode\", \"default\"",
    tool: "write_file",
    env: |url| {
        format!("OPENAI_API_KEY = \"x\", OPENAI_BASE_URL = \"{url}/v1\", OPENAI_MODEL = \"gpt-4o\"")
    },
};

const CLAUDE: Real = Real {
    script: "@agentclientprotocol/claude-agent-acp/dist/index.js",
    args: "",
    tool: "Write",
    env: |url| {
        format!(
            "ANTHROPIC_API_KEY = \"x\", ANTHROPIC_BASE_URL = \"{url}\", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = \"1\""
        )
    },
};

/// A gateway with one real agent, and a model that has a file written and says so.
fn gateway(real: &Real) -> (Gateway, Aimock) {
    let home = Home::new();
    let work = home.outside("work");
    std::fs::create_dir(&work).expect("a folder");
    let arguments = json!({ "file_path": work.join("out.txt"), "content": "seven" }).to_string();
    let call = json!({ "name": real.tool, "arguments": arguments });
    let asked =
        |answered: bool| json!({ "userMessage": "write the number", "hasToolResult": answered });
    let model = Aimock::start(&json!([
        { "match": asked(false), "response": { "toolCalls": [call] } },
        { "match": asked(true), "response": { "content": "It is written." } },
    ]));
    let modules = folder().join("node_modules");
    let settings = format!(
        "[tools.acp_spawn]\nenabled = true\n[acp.agents.real]\ncommand = {:?}\nargs = [{:?}, {}]\nread = [{modules:?}]\ncwd = {work:?}\ntimeout = 200\nsandbox = \"off\"\nenv = {{ {} }}\n",
        node(),
        modules.join(real.script),
        real.args,
        (real.env)(&model.url()),
    );
    (Gateway::on(home.with_config(&settings)), model)
}

/// A task that needs the owner's yes, done by a real agent. These set modes of files or bring a
/// runtime that the sandbox does not let start, so their owner has to let them run free.
#[track_caller]
fn writes(real: &Real) {
    let (gateway, model) = gateway(real);
    let (said, asked) = give_and_permit(&gateway, "write the number");
    assert_eq!(said["result"]["status"], "done", "{said}");
    assert_eq!(said["result"]["output"], "It is written.", "{said}");
    assert_eq!(asked["tool"], "acp_permit", "{asked}");
    assert_eq!(asked["arguments"]["kind"], "edit", "{asked}");
    let written = std::fs::read_to_string(gateway.home.outside("work/out.txt"));
    assert_eq!(written.expect("the file").trim(), "seven");
    assert!(model.journal().len() >= 2);
    gateway.verify_audit();
}

#[test]
fn qwen_code_does_a_task_and_asks_first() {
    writes(&QWEN);
}

#[test]
fn claude_code_does_a_task_and_asks_first() {
    writes(&CLAUDE);
}

#[test]
fn a_real_agent_accepts_a_denial() {
    let (gateway, _model) = gateway(&CLAUDE);
    let rules = json!([{ "decision": "deny", "tools": ["acp_permit"] }]);
    gateway
        .cli(&["config", "set", "policy.rules", &rules.to_string()])
        .ok();
    eventually("the rule holds", || {
        gateway
            .cli(&["policy", "list"])
            .stdout
            .contains("acp_permit")
    });
    let said = give(gateway.addr, &gateway.owner, "write the number");
    assert_eq!(said["result"]["status"], "done", "{said}");
    assert!(!gateway.home.outside("work/out.txt").exists());
}
