//! `agents`: lists and shows agents.

use std::process::ExitCode;

use manyhands_wire::{WorkspaceListParams, WorkspaceListResult};
use serde_json::{Value, json};

use super::call::segment;
use crate::args::{Agents, AgentsCommand};
use crate::context::CliContext;
use crate::remote::text;
use crate::socket::Socket;
use manyhands_terminal::output::{self, Done};

/// Lists agents, or shows one.
pub async fn run(agents: Agents, ctx: &CliContext) -> Done {
    match agents.command {
        None => list(agents.json, ctx).await,
        Some(AgentsCommand::List { json }) => list(json, ctx).await,
        Some(AgentsCommand::Show { name, json }) => show(name.as_str(), json, ctx).await,
    }
}

async fn show(name: &str, json: bool, ctx: &CliContext) -> Done {
    let path = format!("/api/agents/{}", segment(name));
    let found = ctx.remote()?.get(&path).await?;
    match json {
        true => output::json(&found),
        false => output::print_line(about(&found["agent"])),
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats an agent.
fn about(agent: &Value) -> String {
    let mut lines = vec![text(&agent["id"])];
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<12} {value}"));
        }
    };
    line("model", text(&agent["model"]));
    line("reasoning", text(&agent["thinking"]));
    line("created by", text(&agent["madeBy"]));
    line("workspace", text(&agent["workspace"]));
    line("dm scope", text(&agent["dmScope"]));
    line("tools", words(agent, "tools"));
    line("discovery", words(agent, "discover"));
    line("direct", words(agent, "directTools"));
    line("discoverable", words(agent, "discoveredTools"));
    for rule in agent["policy"].as_array().into_iter().flatten() {
        let mut said = format!("{} {}", text(&rule["decision"]), words(rule, "tools"));
        if let Some(reason) = rule["reason"].as_str() {
            said.push_str(&format!(" ({reason})"));
        }
        line("rule", said);
    }
    lines.join("\n")
}

async fn list(json: bool, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    let mut listed = remote.get("/api/agents").await?;
    // Files are a bonus: a token that may list agents may not be allowed to read workspaces.
    let mut socket = Socket::open(remote.url(), remote.token()).await.ok();
    for agent in listed["agents"].as_array_mut().into_iter().flatten() {
        if let Some(socket) = &mut socket {
            agent["files"] = json!(files(socket, &text(&agent["id"])).await);
        }
    }
    if json {
        output::json(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    let agents = listed["agents"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let header = [
        "agent",
        "model",
        "reasoning",
        "tools",
        "discovery",
        "workspace",
        "rules",
        "files",
    ];
    output::table(&header, agents.iter().map(row).collect());
    Ok(ExitCode::SUCCESS)
}

/// Lists the files at the top of an agent's workspace.
async fn files(socket: &mut Socket, agent: &str) -> Vec<String> {
    let ask = WorkspaceListParams {
        agent_id: Some(agent.to_owned()),
        ..WorkspaceListParams::default()
    };
    let Ok(listed) = socket.request(&ask, |_| {}).await else {
        return Vec::new(); // an agent without a conversation has no workspace yet
    };
    let listed: Option<WorkspaceListResult> = serde_json::from_value(listed).ok();
    listed.map(|listed| listed.files).unwrap_or_default()
}

fn words(of: &Value, name: &str) -> String {
    let all = of[name].as_array().into_iter().flatten();
    all.map(text).collect::<Vec<_>>().join(" ")
}

fn row(agent: &Value) -> Vec<String> {
    let model = match agent["model"].as_str() {
        Some(model) => model.to_owned(),
        None => "none".to_owned(),
    };
    let rules = agent["policy"].as_array().map_or(0, Vec::len);
    vec![
        text(&agent["id"]),
        model,
        text(&agent["thinking"]),
        words(agent, "tools"),
        words(agent, "discover"),
        text(&agent["workspace"]),
        rules.to_string(),
        words(agent, "files"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_the_important_columns() {
        let agent = json!({
            "id": "main", "model": "p/m", "thinking": "low", "tools": ["gsv__*", "bash"], "files": ["SOUL.md"],
            "discover": ["x*"], "workspace": "main", "policy": [{ "decision": "ask", "tools": ["bash"], "reason": "mind it" }],
            "directTools": ["bash"],
        });
        assert_eq!(
            row(&agent),
            [
                "main",
                "p/m",
                "low",
                "gsv__* bash",
                "x*",
                "main",
                "1",
                "SOUL.md"
            ]
        );
        assert_eq!(
            row(&json!({ "id": "x" })),
            ["x", "none", "", "", "", "", "0", ""]
        );
        let expect = "main\n  model        p/m\n  reasoning    low\n  workspace    main\n  tools        gsv__* bash\n  \
            discovery    x*\n  direct       bash\n  rule         ask bash (mind it)";
        assert_eq!(about(&agent), expect);
    }
}
