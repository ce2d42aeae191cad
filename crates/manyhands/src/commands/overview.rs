//! `manyhands` without a command: what is running, and what to do next.

use std::process::ExitCode;

use manyhands_store::HomeLock;
use serde_json::Value;

use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done};
use manyhands_terminal::style::Style;

/// Column at which values begin.
const VALUES: usize = 12;
/// Column at which the description of a next step begins.
const DESCRIPTIONS: usize = 32;
/// Names listed before the rest is counted.
const MAX_NAMES: usize = 8;

/// Prints the gateway's state and next steps.
pub async fn run(ctx: &CliContext) -> Done {
    let name = format!("manyhands {}", crate::VERSION);
    output::print_styled(&[(&name, Style::STRONG)]);
    let mut steps = Vec::new();
    match Overview::read(ctx).await {
        Ok(overview) => {
            row(
                "gateway",
                &format!("running at {}", overview.url),
                Style::GREEN,
            );
            if ctx.named_url().is_none() {
                row("home", &ctx.home.display().to_string(), Style::PLAIN);
            }
            overview.print();
            overview.steps(&mut steps);
        }
        Err(why) => {
            row("gateway", &why, Style::YELLOW);
            row("home", &ctx.home.display().to_string(), Style::PLAIN);
            steps.push(("manyhands up", "start it here, until Ctrl-C"));
            steps.push(("manyhands install", "or run it as a service"));
            steps.push(("manyhands doctor", "check the installation"));
        }
    }
    steps.push(("manyhands --help", "all commands"));
    output::print_styled(&[]);
    output::print_styled(&[("Next steps", Style::STRONG)]);
    for (command, what) in steps {
        let pad = " ".repeat(DESCRIPTIONS.saturating_sub(command.len()).max(2));
        output::print_styled(&[
            ("  ", Style::PLAIN),
            (command, Style::CYAN),
            (&pad, Style::PLAIN),
            (what, Style::PLAIN),
        ]);
    }
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str, value: &str, style: Style) {
    output::print_styled(&[(&format!("  {name:<VALUES$}"), Style::DIM), (value, style)]);
}

/// What a gateway says about itself. `None` is what the token may not see.
struct Overview {
    url: String,
    agents: Option<Vec<String>>,
    /// The default model; `Some(None)` if none is set.
    model: Option<Option<String>>,
    nodes: Option<Vec<String>>,
    approvals: Option<usize>,
}

impl Overview {
    /// Asks the gateway; an error says in what state it is.
    async fn read(ctx: &CliContext) -> Result<Self, String> {
        let selected = ctx.named_url().is_some() || ctx.given_token().is_some();
        if !selected && HomeLock::holder(&ctx.home).is_none() {
            return Err("not running".to_owned());
        }
        let remote = ctx.remote().map_err(|failure| first_line(&failure.0))?;
        let session = remote.get("/api/session").await;
        session.map_err(|failure| first_line(&failure.0))?;
        let models = get(&remote, "/api/config?path=models").await;
        Ok(Self {
            agents: get(&remote, "/api/agents").await.map(|listed| {
                each(&listed["agents"])
                    .map(|agent| text(&agent["id"]))
                    .collect()
            }),
            model: models.map(|models| models["value"]["default"].as_str().map(str::to_owned)),
            nodes: get(&remote, "/api/nodes")
                .await
                .map(|listed| each(&listed["nodes"]).map(node).collect()),
            approvals: get(&remote, "/api/approvals")
                .await
                .map(|listed| each(&listed["approvals"]).count()),
            url: remote.url().to_owned(),
        })
    }

    fn print(&self) {
        if let Some(agents) = &self.agents {
            row("agents", &names(agents), Style::PLAIN);
        }
        match &self.model {
            Some(Some(model)) => row("model", model, Style::PLAIN),
            Some(None) => row("model", "none configured", Style::YELLOW),
            None => {}
        }
        if let Some(nodes) = &self.nodes {
            row("nodes", &names(nodes), Style::PLAIN);
        }
        match self.approvals {
            Some(0) => row("approvals", "none pending", Style::PLAIN),
            Some(count) => row("approvals", &format!("{count} pending"), Style::YELLOW),
            None => {}
        }
    }

    /// Suggests what helps most in this state.
    fn steps(&self, steps: &mut Vec<(&'static str, &'static str)>) {
        if self.approvals.is_some_and(|count| count > 0) {
            steps.push(("manyhands approvals", "see what needs your approval"));
        }
        match self.model {
            Some(None) => {
                steps.push(("manyhands models add anthropic", "give the agents a model"));
                steps.push(("manyhands models providers", "list other providers"));
            }
            _ => steps.push(("manyhands chat", "talk to an agent")),
        }
        steps.push(("manyhands link", "open the page in a browser"));
        steps.push((
            "manyhands connect",
            "connect Claude, Cursor, VS Code and others",
        ));
        if self.nodes.as_ref().is_some_and(|nodes| nodes.len() < 2) {
            steps.push(("manyhands nodes code NAME", "share another machine"));
        }
        steps.push(("manyhands tools", "list all tools"));
    }
}

async fn get(remote: &Remote, path: &str) -> Option<Value> {
    remote.get(path).await.ok()
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn node(node: &Value) -> String {
    match node["online"] == true {
        true => text(&node["nodeId"]),
        false => format!("{} (offline)", text(&node["nodeId"])),
    }
}

/// Joins names; a long list is counted instead.
fn names(all: &[String]) -> String {
    match all.len().saturating_sub(MAX_NAMES) {
        _ if all.is_empty() => "none".to_owned(),
        0 => all.join(", "),
        more => format!("{} and {more} more", all[..MAX_NAMES].join(", ")),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overview() -> Overview {
        Overview {
            url: "http://127.0.0.1:1".to_owned(),
            agents: Some(vec!["main".to_owned()]),
            model: Some(Some("scripted/demo".to_owned())),
            nodes: Some(vec!["laptop".to_owned()]),
            approvals: Some(0),
        }
    }

    fn steps(overview: &Overview) -> Vec<&'static str> {
        let mut steps = Vec::new();
        overview.steps(&mut steps);
        steps.into_iter().map(|(command, _)| command).collect()
    }

    #[test]
    fn what_is_missing_comes_first() {
        assert_eq!(steps(&overview())[0], "manyhands chat");
        let bare = Overview {
            model: Some(None),
            ..overview()
        };
        assert_eq!(steps(&bare)[0], "manyhands models add anthropic");
        assert!(!steps(&bare).contains(&"manyhands chat"));
        let waiting = Overview {
            approvals: Some(2),
            ..overview()
        };
        assert_eq!(steps(&waiting)[0], "manyhands approvals");
    }

    #[test]
    fn long_lists_are_counted() {
        assert_eq!(names(&[]), "none");
        let many: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert_eq!(names(&many), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
    }
}
