//! The workspace of one agent gives no way into another's, nor into artifacts or archives.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::fixture::{Machine, transfer};
use crate::harness::{Gateway, Home, tree};

const CANARY: &str = "of somebody else";

/// What else is among the blobs.
fn others(home: &Home) {
    for path in [
        "agents/b/secret.md",
        "agents/b/memory/secret.md",
        "skills/s/secret.md",
        "templates/secret.md",
        "artifacts/secret.md",
        "archives/secret.md",
    ] {
        let path = home.blob(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, CANARY).expect("a canary");
    }
}

fn all_others(home: &Home) -> Vec<Vec<(String, Vec<u8>)>> {
    ["agents/b", "skills", "templates", "artifacts", "archives"]
        .map(|name| tree(&home.blob(name)))
        .to_vec()
}

/// Everything that can be done to a path of a workspace.
fn everything(gateway: &Gateway, machine: &Machine, path: &str) -> Vec<(String, Value)> {
    let folder = Path::new(path).parent().expect("a folder");
    let folder = folder.display().to_string();
    let new = format!("{folder}/new.md");
    let good = machine.put("good.md", b"good");
    let mut said = Vec::new();
    let mut tool = |name: &str, arguments: Value| {
        said.push((format!("{name} {arguments}"), gateway.call(name, arguments)));
    };
    tool("gsv__ReadFile", json!({ "path": path }));
    tool("gsv__ReadFile", json!({ "path": folder }));
    tool("gsv__ReadFile", json!({ "path": format!("{folder}/") }));
    let edit = json!({ "path": path, "oldString": "somebody", "newString": "nobody" });
    tool("gsv__EditFile", edit);
    for path in [path, &new] {
        tool("gsv__WriteFile", json!({ "path": path, "content": "evil" }));
    }
    tool("gsv__DeleteFile", json!({ "path": path }));
    let mut socket = gateway.ws();
    for (method, params) in [
        (
            "workspace.write",
            json!({ "path": path, "content": "evil" }),
        ),
        ("workspace.write", json!({ "path": new, "content": "evil" })),
        ("workspace.read", json!({ "path": path })),
        ("workspace.list", json!({ "path": folder })),
        ("workspace.delete", json!({ "path": path })),
    ] {
        let answer = socket.request(method, params);
        said.push((format!("{method} {path}"), answer));
    }
    for (from, to) in [
        (good.clone(), format!("gsv:{path}")),
        (format!("gsv:{path}"), machine.end("stolen")),
        (format!("gsv:{path}"), "gsv:stolen.md".to_owned()),
        (good, format!("gsv:{new}")),
        ("gsv:mine.md".to_owned(), format!("gsv:{new}")),
    ] {
        let answer = transfer(gateway, &from, &to).answer();
        said.push((format!("{from} to {to}"), answer));
    }
    said
}

#[test]
fn a_workspace_cannot_reach_another_tree() {
    let gateway = Gateway::start();
    let home = &gateway.home;
    others(home);
    let machine = Machine::lend(&gateway, "laptop");
    gateway.write("mine.md", "mine");
    let main = home.blob("agents/main");
    for (link, target) in [
        ("to-b", "../b"),
        ("to-agents", ".."),
        ("to-templates", "../../templates"),
        ("to-artifacts", "../../artifacts"),
        ("to-archives", "../../archives"),
    ] {
        symlink(target, main.join(link)).expect("a link");
    }
    let before = (all_others(home), fs::read_dir(&main).expect("it").count());
    let mut tried = 0;
    for path in [
        "to-b/secret.md",
        "to-b/memory/secret.md",
        "to-agents/b/secret.md",
        "to-templates/secret.md",
        "to-artifacts/secret.md",
        "to-archives/secret.md",
    ] {
        for (what, said) in everything(&gateway, &machine, path) {
            assert_eq!(said["ok"], false, "{what}: {said}");
            assert!(!said.to_string().contains(CANARY), "{what}: {said}");
            tried += 1;
        }
        let after = (all_others(home), fs::read_dir(&main).expect("it").count());
        assert!(after == before, "{path}: something changed");
        assert!(!machine.file("stolen").exists(), "{path}");
    }
    assert_eq!(tried, 6 * 17);
    // The same, where there is no link in the way.
    gateway.write("real/own.md", "of somebody");
    for (what, said) in everything(&gateway, &machine, "real/own.md") {
        assert_eq!(said["ok"], true, "the control: {what}: {said}");
    }
    gateway.verify_audit();
}

#[test]
fn an_agents_folder_that_is_a_link_is_no_workspace() {
    let home = Home::new();
    others(&home);
    symlink("b", home.blob("agents/main")).expect("a link");
    let gateway = Gateway::on(home);
    let machine = Machine::lend(&gateway, "laptop");
    let before = all_others(&gateway.home);
    for path in ["memory/secret.md", "new/secret.md"] {
        for (what, said) in everything(&gateway, &machine, path) {
            assert_eq!(said["ok"], false, "{what}: {said}");
            assert!(!said.to_string().contains(CANARY), "{what}: {said}");
        }
        assert!(all_others(&gateway.home) == before, "{path}");
    }
    fs::remove_file(gateway.home.blob("agents/main")).expect("the link goes");
    gateway.write("memory/own.md", "mine");
    assert_eq!(gateway.read("memory/own.md").as_deref(), Some("mine"));
}
