//! Programs on machines: inside a sandbox they run, outside of one the owner is asked first.

use super::{REST, answer, ends, gateway, pauses};
use crate::harness::{Gateway, Home, eventually};
use crate::nodes::fixture::{Machine, tools_of};
use serde_json::json;

#[test]
fn an_agent_asks_before_it_runs_a_program_on_a_machine_without_a_sandbox() {
    let turns = "  - when: { user: touch it }
    calls: [{ name: box__Bash, arguments: { command: touch touched } }]
  - when: { user: put it }
    calls: [{ name: box__Write, arguments: { path: put, content: x } }]
";
    let gateway = gateway(turns, "");
    let machine = Machine::lend(&gateway, "box");
    for (session, message, file) in [("one", "touch it", "touched"), ("two", "put it", "put")] {
        let asked = pauses(&gateway, session, message);
        assert!(asked["taintedBy"].is_null(), "{asked}");
        assert!(!machine.file(file).exists());
        answer(&gateway, &asked, json!({ "decision": "approve" }));
        eventually("what was approved runs", || machine.file(file).exists());
    }
}

#[test]
fn an_agent_runs_programs_on_the_gateways_own_machine_without_a_question() {
    let home = Home::new();
    let script = home.outside("script.yaml");
    let turns = "turns:\n  - when: { user: touch it }\n    calls: [{ name: own__Bash, arguments: { command: touch touched } }]\n";
    std::fs::write(&script, format!("{turns}{REST}")).expect("the script");
    let config = format!(
        "[node]\nid = \"own\"\n# asks by default\n[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {script:?}\n"
    );
    let home = home.with_config(&config);
    let mut command = home.command();
    command.args(["up", "--listen", "127.0.0.1:0"]);
    let gateway = Gateway::from(home, command);
    eventually("its own node", || !tools_of(&gateway, "own").is_empty());
    ends(&gateway, "main", "touch it");
    assert!(gateway.home.path().join("host/workspace/touched").exists());
}
