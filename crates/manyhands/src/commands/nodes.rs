//! `nodes`: lists and manages the machines connected to the gateway.

use std::process::ExitCode;

use manyhands_core::NodeId;
use serde_json::{Value, json};

use super::call::segment;
use crate::args::{Nodes, NodesCommand};
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done};

/// Runs a `nodes` command.
pub async fn run(nodes: Nodes, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match nodes.command {
        None => list(&remote, nodes.json).await?,
        Some(NodesCommand::Code { name, expires }) => {
            let new = json!({ "nodeId": name, "expiresInSeconds": expires });
            let made = remote.expect_post("/api/nodes/codes", &new).await?;
            output::print_line(text(&made["code"]));
            output::print_note(invitation(&made, remote.url()));
        }
        Some(NodesCommand::Rename { old, new }) => {
            let path = path(&old, "/rename");
            remote.expect_post(&path, &json!({ "to": new })).await?;
            output::print_line(format!("renamed {old} to {new}"));
        }
        Some(NodesCommand::Revoke { name }) => {
            let done = remote
                .expect_post(&path(&name, "/revoke"), &json!({}))
                .await?;
            output::print_line(format!("revoked {name}{}", disconnected(&done)));
        }
        Some(NodesCommand::Forget { name, force }) => {
            let path = path(&name, if force { "?force=true" } else { "" });
            let done = remote.delete(&path).await?;
            output::print_line(match done["removed"] == true {
                true => format!("removed {name}{}", disconnected(&done)),
                false => format!("{name} is not registered"),
            });
        }
        Some(NodesCommand::Logs { name, lines }) => logs(&remote, name, lines).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn path(name: &NodeId, rest: &str) -> String {
    format!("/api/nodes/{}{rest}", segment(name.as_str()))
}

fn disconnected(done: &Value) -> &'static str {
    match done["disconnected"] == true {
        true => "; it was disconnected",
        false => "",
    }
}

async fn list(remote: &Remote, json: bool) -> Result<(), output::Failure> {
    let listed = remote.get("/api/nodes").await?;
    if json {
        output::json(&listed);
        return Ok(());
    }
    let nodes = listed["nodes"].as_array().cloned().unwrap_or_default();
    if nodes.is_empty() {
        output::print_line("no nodes yet\nhint: enrol a machine with `manyhands nodes code NAME`");
        return Ok(());
    }
    output::table(
        &[
            "node",
            "state",
            "system",
            "version",
            "tools",
            "terminal",
            "last seen",
            "former names",
        ],
        nodes.iter().map(row).collect(),
    );
    Ok(())
}

fn row(node: &Value) -> Vec<String> {
    let words = |key: &str| {
        let all = node[key].as_array().into_iter().flatten();
        all.map(text).collect::<Vec<_>>().join(" ")
    };
    let state = match node["online"] == true {
        true => "online",
        false => "offline",
    };
    vec![
        text(&node["nodeId"]),
        state.to_owned(),
        text(&node["clientPlatform"]),
        text(&node["clientVersion"]),
        words("tools"),
        match node["terminal"] == true {
            true => "yes".to_owned(),
            false => String::new(),
        },
        text(&node["lastSeenAt"]),
        words("formerIds"),
    ]
}

/// Explains how to use an enrolment code.
fn invitation(made: &Value, url: &str) -> String {
    let (code, name) = (text(&made["code"]), text(&made["nodeId"]));
    let mut words = format!(
        "This code enrols one machine as {name} and is valid until {}. Run there:\n  manyhands node --url {url} --code {code}\nUse `node install` instead of `node` to run it as a service.",
        text(&made["expiresAt"])
    );
    if is_loopback(url) {
        words.push_str(&format!(
            "\n{url} works only on the gateway's own machine; elsewhere, use an address at which the gateway can be reached."
        ));
    }
    words
}

fn is_loopback(url: &str) -> bool {
    let Ok(url) = url::Url::parse(url) else {
        return false;
    };
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(url::Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        // Other names are assumed to resolve from elsewhere, too.
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

async fn logs(remote: &Remote, name: Option<NodeId>, lines: u32) -> Result<(), output::Failure> {
    let mut ask = json!({ "lines": lines });
    if let Some(name) = name {
        ask["nodeId"] = json!(name);
    }
    let log = remote.expect_post("/api/tools/gsv__LogsGet", &ask).await?;
    for line in log["lines"].as_array().into_iter().flatten() {
        output::print_line(text(line));
    }
    if log["truncated"] == true {
        output::print_note("older lines omitted; see --lines");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_comes_with_the_command_to_type() {
        let made =
            json!({ "code": "AB-CD", "nodeId": "laptop", "expiresAt": "2026-01-02T03:04:05Z" });
        let words = invitation(&made, "https://hands.example");
        assert_eq!(
            words.lines().nth(1),
            Some("  manyhands node --url https://hands.example --code AB-CD")
        );
        assert!(
            words.starts_with("This code enrols one machine as laptop and is valid until 2026-")
        );
        assert!(!words.contains("only on the gateway's own machine"));
        for url in [
            "http://127.0.0.1:7717",
            "http://[::1]:1",
            "http://localhost:1",
            "http://0.0.0.0:1",
        ] {
            assert!(
                invitation(&made, url).contains("only on the gateway's own machine"),
                "{url}"
            );
        }
    }

    #[test]
    fn a_row_shows_the_important_columns() {
        let node = json!({
            "nodeId": "laptop", "online": true, "clientPlatform": "linux-x64", "clientVersion": "0.1.0",
            "tools": ["Bash", "Read"], "lastSeenAt": "t", "formerIds": ["old"], "terminal": true,
        });
        let expect = [
            "laptop",
            "online",
            "linux-x64",
            "0.1.0",
            "Bash Read",
            "yes",
            "t",
            "old",
        ];
        assert_eq!(row(&node), expect);
    }
}
