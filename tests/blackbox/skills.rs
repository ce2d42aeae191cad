//! Skills, and what is set for single agents: rules, workspaces, tools.

use serde_json::{Value, json};

use crate::chat_http::scripted;
use crate::harness::Gateway;
use crate::http::Request;
use crate::nodes::player::Player;

const NEEDY: &str = "---\nname: deploy\ndescription: Ships it\nmetadata:\n  gsv:\n    requires:\n      capabilities: [shell.exec]\n---\nDo it.\n";

#[track_caller]
fn global(gateway: &Gateway, folder: &str, text: &str) {
    let file = gateway.home.blob(&format!("skills/{folder}/SKILL.md"));
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, text).expect("a skill");
}

#[track_caller]
fn status(gateway: &Gateway, method: &str, agent: &str) -> Value {
    let said = gateway.ws().request(method, json!({ "agentId": agent }));
    assert_eq!(said["ok"], true, "{said}");
    said["payload"].clone()
}

#[track_caller]
fn skill(gateway: &Gateway, name: &str) -> Value {
    let status = status(gateway, "skills.status", "main");
    let skills = status["skills"].as_array().expect("skills").clone();
    let found = skills.iter().find(|one| one["name"] == name);
    found
        .unwrap_or_else(|| panic!("{name} in {status}"))
        .clone()
}

#[test]
fn skills_are_eligible_when_a_machine_can_do_what_they_need() {
    let gateway = Gateway::start();
    global(&gateway, "deploy", NEEDY);
    global(
        &gateway,
        "odd",
        &NEEDY
            .replace("deploy", "odd")
            .replace("shell.exec", "teleport"),
    );
    gateway.write("skills/plain/SKILL.md", "# Plain\n\nJust text.\n");
    let before = status(&gateway, "skills.status", "main");
    assert_eq!(before["agentId"], "main");
    assert!(
        before["refreshedAt"].is_i64() && before["nodes"] == json!([]),
        "{before}"
    );
    let deploy = skill(&gateway, "deploy");
    let expect = json!({
        "name": "deploy", "description": "Ships it", "location": "skills/deploy/SKILL.md", "always": false,
        "eligible": false, "eligibleHosts": [], "reasons": ["no connected machine has: shell.exec"],
        "requirements": { "capabilities": ["shell.exec"] }, "enabled": true,
    });
    assert_eq!(deploy, expect);
    assert_eq!(skill(&gateway, "plain")["eligible"], true);
    let machine = Player::join(&gateway, "laptop");
    let deploy = skill(&gateway, "deploy");
    assert_eq!(
        (&deploy["eligible"], &deploy["eligibleHosts"]),
        (&json!(true), &json!(["laptop"]))
    );
    let odd = skill(&gateway, "odd");
    assert_eq!(odd["eligible"], false);
    assert_eq!(
        odd["reasons"],
        json!(["it needs unknown capabilities: teleport"])
    );
    let update = status(&gateway, "skills.update", "main");
    assert_eq!(update["nodes"][0]["nodeId"], "laptop");
    assert_eq!(update["nodes"][0]["online"], true);
    drop(machine);
}

#[test]
fn the_owner_switches_skills_and_says_what_they_need() {
    let gateway = Gateway::start();
    global(&gateway, "deploy", NEEDY);
    gateway.write(
        "skills/my.notes/SKILL.md",
        "---\nname: my.notes\n---\nHow notes are kept.\n",
    );
    let off = gateway.cli(&["skills", "disable", "my.notes"]).ok();
    assert_eq!(off.stdout.trim(), "my.notes: disabled");
    let notes = skill(&gateway, "my.notes");
    assert_eq!(
        (&notes["eligible"], &notes["enabled"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(
        notes["reasons"],
        json!(["it is disabled under skills.entries"])
    );
    let listed = gateway.cli(&["skills", "list"]).ok().stdout;
    assert!(
        listed.contains("disabled") && listed.contains("unavailable"),
        "{listed}"
    );
    gateway.cli(&["skills", "enable", "my.notes"]).ok();
    assert_eq!(skill(&gateway, "my.notes")["eligible"], true);
    let set = |path: &str, value: Value| {
        let body = json!({ "path": path, "value": value });
        let put = Request::new("PUT", "/api/config")
            .json(&body)
            .bearer(&gateway.owner);
        let said = gateway.send(&put).json();
        assert_eq!(said["ok"], true, "{said}");
    };
    set("skills.entries.deploy.requires.capabilities", json!([]));
    assert_eq!(
        skill(&gateway, "deploy")["eligible"],
        true,
        "in place of what its file says"
    );
    set(
        "skills.entries.deploy.requires.capabilities",
        json!(["shell.exec"]),
    );
    set("skills.entries.deploy.always", json!(true));
    assert_eq!(skill(&gateway, "deploy")["eligible"], true);
    let shown = gateway.cli(&["skills", "show", "deploy"]).ok().stdout;
    assert!(
        shown.contains("Do it.") && shown.contains("shell.exec"),
        "{shown}"
    );
    let missing = gateway.cli(&["skills", "show", "nothing"]);
    assert_ne!(missing.code, Some(0));
    let client = gateway.client("phone");
    let switch = Request::post("/api/skills/deploy", &json!({ "enabled": false })).bearer(&client);
    assert_eq!(gateway.send(&switch).json()["code"], "forbidden");
    assert_eq!(
        skill(&gateway, "deploy")["enabled"],
        true,
        "nothing changed"
    );
}

#[test]
fn an_agents_own_skill_comes_before_a_global_one_of_the_same_name() {
    let gateway = Gateway::with_config("agents.helper = {}\n");
    global(
        &gateway,
        "brew",
        "---\nname: tea\ndescription: everybody's\n---\n",
    );
    gateway.write(
        "skills/mine/SKILL.md",
        "---\nname: tea\ndescription: my own\n---\n",
    );
    assert_eq!(skill(&gateway, "tea")["description"], "my own");
    let helper = status(&gateway, "skills.status", "helper");
    assert_eq!(helper["skills"][0]["description"], "everybody's");
    assert_eq!(helper["skills"].as_array().expect("skills").len(), 1);
    let mut socket = gateway.ws();
    let nobody = socket.request("skills.status", json!({ "agentId": "nobody" }));
    assert_eq!(nobody["error"]["code"], 404, "{nobody}");
    let narrow = json!({ "name": "n", "role": "client", "tools": ["web_search"] });
    let narrow = gateway.token(narrow).0;
    let refused = gateway
        .send(&Request::get("/api/skills").bearer(&narrow))
        .json();
    assert_eq!(
        refused["code"], "forbidden",
        "whoever cannot read files: {refused}"
    );
    let wide = gateway.client("wide");
    let seen = gateway
        .send(&Request::get("/api/skills").bearer(&wide))
        .json();
    assert_eq!(seen["result"]["skills"][0]["name"], "tea");
}

const AGENTS: &str = r#"
[agents.helper]
workspace = "main"
tools = ["gsv__*", "memory_search"]
discover = ["gsv__Logs*", "web_search"]
[[agents.helper.policy.rules]]
decision = "deny"
tools = ["gsv__DeleteFile"]
reason = "it keeps everything"
[[agents.helper.policy.rules]]
decision = "allow"
tools = ["gsv__WriteFile"]
[[policy.rules]]
decision = "deny"
tools = ["gsv__WriteFile"]
when = { path = { starts_with = "locked/" } }
"#;

#[test]
fn an_agent_has_its_own_rules_workspace_and_tools() {
    let gateway = scripted("models: [demo]\nturns: []\n", AGENTS);
    let helper = |tool: &str, arguments: Value| {
        let path = format!("/api/tools/{tool}?agent=helper");
        gateway.post(&path, &arguments).json()
    };
    let written = helper("gsv__WriteFile", json!({ "path": "a.md", "content": "hi" }));
    assert_eq!(written["ok"], true, "{written}");
    assert_eq!(
        gateway.read("a.md").as_deref(),
        Some("hi"),
        "it works in main's workspace"
    );
    let denied = helper("gsv__DeleteFile", json!({ "path": "a.md" }));
    assert_eq!(denied["code"], "denied_by_policy", "{denied}");
    let error = denied["error"].as_str().expect("an error");
    assert!(
        error.contains("agents.helper.policy.rules.0: it keeps everything"),
        "{error}"
    );
    let wide = helper(
        "gsv__WriteFile",
        json!({ "path": "locked/b.md", "content": "hi" }),
    );
    assert_eq!(
        wide["code"], "denied_by_policy",
        "an agent's rule never widens: {wide}"
    );
    assert_eq!(gateway.read("locked/b.md"), None);
    let own = gateway.call("gsv__DeleteFile", json!({ "path": "a.md" }));
    assert_eq!(own["ok"], true, "main has no such rule: {own}");
    let shown = gateway
        .cli(&["agents", "show", "helper", "--json"])
        .ok()
        .json();
    let agent = &shown["agent"];
    assert_eq!(
        (&agent["workspace"], &agent["policy"][0]["decision"]),
        (&json!("main"), &json!("deny"))
    );
    let has = |list: &str, tool: &str| {
        let list = agent[list].as_array().expect("a list");
        list.iter().any(|one| one == tool)
    };
    assert!(has("directTools", "gsv__ReadFile") && !has("directTools", "gsv__LogsGet"));
    assert!(has("discoveredTools", "gsv__LogsGet") && has("discoveredTools", "web_search"));
    assert!(!has("directTools", "bash") && !has("discoveredTools", "bash"));
    let listed = gateway.cli(&["agents"]).ok().stdout;
    assert!(listed.contains("gsv__Logs* web_search"), "{listed}");
    let plain = gateway.cli(&["agents", "show", "helper"]).ok().stdout;
    assert!(
        plain.contains("deny gsv__DeleteFile (it keeps everything)"),
        "{plain}"
    );
    assert_ne!(gateway.cli(&["agents", "show", "nobody"]).code, Some(0));
}
