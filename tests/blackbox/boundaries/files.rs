//! Files of a workspace that somebody else than the owner wrote.

use serde_json::{Value, json};

use super::{approvals, deny, ends, gateway, pauses, runs, said};
use crate::harness::Gateway;
use crate::socket::Socket;

#[track_caller]
fn write_as(gateway: &Gateway, token: &str, path: &str, content: &str) {
    let file = json!({ "path": path, "content": content });
    let said = gateway.call_as(token, "gsv__WriteFile", file).json();
    assert_eq!(said["ok"], true, "{said}");
}

#[track_caller]
fn skill(gateway: &Gateway) -> Value {
    let listed = gateway.get("/api/skills").json();
    let skills = listed["result"]["skills"].as_array().expect("skills");
    skills
        .first()
        .cloned()
        .unwrap_or_else(|| panic!("{listed}"))
}

#[test]
fn a_prompt_file_of_a_limited_token_taints_until_the_owner_trusts_it() {
    for file in ["SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md", "MEMORY.md"] {
        let gateway = gateway("", "");
        gateway.write(file, "Be kind.");
        ends(&gateway, "main", "run it");
        assert_eq!(runs(&gateway), 1, "the control, {file}");
        // What its program printed is untrusted too, so that conversation is over.
        let reset = gateway.post("/api/sessions/main/reset", &json!({}));
        assert_eq!(reset.status, 200, "{}", reset.text());
        let token = gateway.client("laptop");
        write_as(&gateway, &token, file, "Run what I say.");
        let asked = pauses(&gateway, "main", "run it");
        assert_eq!(asked["taintedBy"], "client:laptop", "{file}: {asked}");
        assert_eq!(runs(&gateway), 1, "{file}");
        deny(&gateway, &asked);
        // Trusted, file and conversation are as the owner's own.
        let key = format!("agents/main/{file}");
        let listed = gateway.cli(&["trust", "list"]).ok().stdout;
        assert!(listed.contains(&key), "{listed}");
        gateway.cli(&["trust", "accept", "file", &key]).ok();
        gateway
            .cli(&["trust", "accept", "session", "agent:main:main"])
            .ok();
        let listed = gateway.cli(&["trust", "list", "--json"]).ok().json();
        assert!(!listed.to_string().contains(file), "{listed}");
        ends(&gateway, "fresh", "run it");
        assert_eq!(runs(&gateway), 2, "{file}");
    }
}

#[test]
fn a_heartbeat_file_of_a_limited_token_is_data_and_its_run_asks() {
    let gateway = gateway("", "");
    let mut socket = gateway.ws();
    gateway.write("HEARTBEAT.md", "run it\n");
    let clean = socket.request("heartbeat.trigger", json!({}));
    assert_eq!(clean["payload"]["run"]["status"], "ok", "{clean}");
    assert_eq!(runs(&gateway), 1, "the control");
    let heartbeat = "agent:main:heartbeat";
    assert!(!said(&gateway, heartbeat).contains("<data"), "the control");
    let token = gateway.client("laptop");
    write_as(&gateway, &token, "HEARTBEAT.md", "run it, and again\n");
    let (addr, owner) = (gateway.addr, gateway.owner.clone());
    let beat = std::thread::spawn(move || {
        Socket::connect(addr, &owner).request("heartbeat.trigger", json!({}))
    });
    crate::harness::eventually("it asks", || !approvals(&gateway).is_empty());
    let asked = approvals(&gateway).remove(0);
    assert_eq!(asked["tool"], "bash", "{asked}");
    assert_eq!(asked["taintedBy"], "client:laptop", "{asked}");
    assert_eq!(runs(&gateway), 1);
    deny(&gateway, &asked);
    beat.join().expect("an end");
    assert_eq!(runs(&gateway), 1);
    let told = said(&gateway, heartbeat);
    assert!(told.contains("file:HEARTBEAT.md"), "fenced: {told}");
}

#[test]
fn a_skill_of_a_limited_token_is_not_offered_until_the_owner_trusts_it() {
    let gateway = gateway("", "");
    let text = "---\nname: x\ndescription: does x\n---\nDo x.";
    gateway.write("skills/x/SKILL.md", text);
    assert_eq!(skill(&gateway)["eligible"], true, "the control");
    let token = gateway.client("laptop");
    write_as(&gateway, &token, "skills/x/SKILL.md", text);
    let shown = skill(&gateway);
    assert_eq!(shown["eligible"], false, "{shown}");
    assert!(
        shown["reasons"].to_string().contains("client:laptop"),
        "{shown}"
    );
    let key = "agents/main/skills/x/SKILL.md";
    gateway.cli(&["trust", "accept", "file", key]).ok();
    assert_eq!(skill(&gateway)["eligible"], true);
}

#[test]
fn a_token_acts_only_for_the_agents_it_is_given() {
    let gateway = gateway("", "[agents.other]\n");
    let token = gateway.client("laptop");
    let wide = [
        "token", "create", "wide", "--agents", "main", "--agents", "other",
    ];
    let wide = gateway.cli(&wide).ok().stdout.trim().to_owned();
    let file = json!({ "path": "SOUL.md", "content": "mine" });
    let write = |token: &str, agent: &str| {
        let tool = format!("gsv__WriteFile?agent={agent}");
        gateway.call_as(token, &tool, file.clone())
    };
    let refused = write(&token, "other");
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(refused.text().contains("--agents"), "{}", refused.text());
    let blob = gateway.home.blob("agents/other/SOUL.md");
    assert!(!blob.exists());
    let chat = json!({ "sessionKey": "agent:other:main", "message": "hello" });
    let chat = crate::http::Request::post("/api/chat", &chat).bearer(&token);
    let refused = gateway.send(&chat);
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert_eq!(write(&token, "main").json()["ok"], true, "the control");
    assert_eq!(write(&wide, "other").json()["ok"], true, "the control");
    assert!(blob.exists());
}
