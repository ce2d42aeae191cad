//! `agents`: who there is to talk to.

use std::process::ExitCode;

use manyhands_wire::{WorkspaceListParams, WorkspaceListResult};
use serde_json::{Value, json};

use crate::ground::Ground;
use crate::output::{self, Done};
use crate::remote::text;
use crate::socket::Socket;

/// Lists them.
pub async fn run(json: bool, ground: &Ground) -> Done {
    let remote = ground.remote()?;
    let mut listed = remote.get("/api/agents").await?;
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
    let header = ["agent", "model", "thinking", "tools", "files"];
    output::table(&header, agents.iter().map(row).collect());
    Ok(ExitCode::SUCCESS)
}

/// The files at the top of an agent's workspace.
async fn files(socket: &mut Socket, agent: &str) -> Vec<String> {
    let ask = WorkspaceListParams {
        agent_id: Some(agent.to_owned()),
        ..WorkspaceListParams::default()
    };
    let Ok(listed) = socket.ask(&ask, |_| {}).await else {
        return Vec::new(); // an agent nobody has talked to has none yet
    };
    let listed: Option<WorkspaceListResult> = serde_json::from_value(listed).ok();
    listed.map(|listed| listed.files).unwrap_or_default()
}

fn row(agent: &Value) -> Vec<String> {
    let words = |name: &str| {
        let all = agent[name].as_array().into_iter().flatten();
        all.map(text).collect::<Vec<_>>().join(" ")
    };
    let model = match agent["model"].as_str() {
        Some(model) => model.to_owned(),
        None => "none".to_owned(),
    };
    vec![
        text(&agent["id"]),
        model,
        text(&agent["thinking"]),
        words("tools"),
        words("files"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_what_a_person_looks_for() {
        let agent = json!({ "id": "main", "model": "p/m", "thinking": "low", "tools": ["gsv__*", "bash"], "files": ["SOUL.md"] });
        assert_eq!(
            row(&agent),
            ["main", "p/m", "low", "gsv__* bash", "SOUL.md"]
        );
        assert_eq!(row(&json!({ "id": "x" })), ["x", "none", "", "", ""]);
    }
}
