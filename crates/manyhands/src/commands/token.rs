//! `token`: creates, lists and revokes access tokens.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::args::Token;
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// Runs a `token` command.
pub async fn run(token: Token, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match token {
        Token::Create {
            name,
            role,
            tools,
            agents,
            expires,
        } => {
            let new = json!({
                "name": name, "role": role.as_str(), "tools": tools, "agents": agents,
                "expiresInSeconds": expires,
            });
            let made = remote.expect_post("/api/tokens", &new).await?;
            // The token alone on stdout, so that a script can capture it.
            output::print_line(text(&made["token"]));
            output::print_note(format!(
                "token {}; it is not shown again",
                text(&made["record"]["id"])
            ));
        }
        Token::List { json } => {
            let listed = remote.get("/api/tokens").await?;
            if json {
                output::json(&listed);
                return Ok(ExitCode::SUCCESS);
            }
            let rows = listed["tokens"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|token| {
                    let words = |key: &str| -> String {
                        let all = token[key].as_array().into_iter().flatten();
                        all.map(text).collect::<Vec<_>>().join(" ")
                    };
                    vec![
                        text(&token["id"]),
                        text(&token["name"]),
                        text(&token["role"]),
                        text(&token["state"]),
                        words("tools"),
                        words("agents"),
                        text(&token["expiresAt"]),
                        text(&token["lastUsedAt"]),
                    ]
                });
            output::table(
                &[
                    "id",
                    "name",
                    "role",
                    "state",
                    "tools",
                    "agents",
                    "expires",
                    "last used",
                ],
                rows.collect(),
            );
        }
        Token::Revoke { id_or_name } => {
            let id = find(&remote, &id_or_name).await?;
            remote.delete(&format!("/api/tokens/{id}")).await?;
            output::print_line(format!("revoked {id_or_name}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds a token by its id, or by a name that is unique among active tokens.
async fn find(remote: &Remote, wanted: &str) -> Result<String, Failure> {
    let listed = remote.get("/api/tokens").await?;
    let all: Vec<&Value> = listed["tokens"].as_array().into_iter().flatten().collect();
    if let Some(token) = all.iter().find(|token| token["id"] == wanted) {
        return Ok(text(&token["id"]));
    }
    let named: Vec<&&Value> = all
        .iter()
        // Names of revoked tokens can be reused, so only active ones count.
        .filter(|token| token["name"] == wanted && token["state"] == "active")
        .collect();
    match named.as_slice() {
        [one] => Ok(text(&one["id"])),
        [] => Err(Failure(format!(
            "no active token {wanted:?}\nhint: list them with `manyhands token list`"
        ))),
        several => Err(Failure(format!(
            "{} active tokens are named {wanted:?}\nhint: use the id from `manyhands token list`",
            several.len()
        ))),
    }
}
