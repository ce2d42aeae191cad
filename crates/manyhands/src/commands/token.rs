//! `token`: made, listed, taken back.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::args::Token;
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::remote::{Remote, text};

/// Runs one of the three.
pub async fn run(token: Token, ground: &Ground) -> Done {
    let remote = ground.remote()?;
    match token {
        Token::Create {
            name,
            role,
            tools,
            expires,
        } => {
            let new = json!({ "name": name, "role": role.word(), "tools": tools, "expiresInSeconds": expires });
            let made = remote.expect_post("/api/tokens", &new).await?;
            output::say(text(&made["token"]));
            output::remark(format!(
                "This is token {}. It is not shown again.",
                text(&made["record"]["id"])
            ));
        }
        Token::List => {
            let listed = remote.get("/api/tokens").await?;
            let rows = listed["tokens"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|token| {
                    let tools: Vec<String> = token["tools"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .map(text)
                        .collect();
                    vec![
                        text(&token["id"]),
                        text(&token["name"]),
                        text(&token["role"]),
                        text(&token["state"]),
                        tools.join(" "),
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
                    "expires",
                    "last used",
                ],
                rows.collect(),
            );
        }
        Token::Revoke { which } => {
            let id = find(&remote, &which).await?;
            remote.delete(&format!("/api/tokens/{id}")).await?;
            output::say(format!("{which} is revoked"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A token by its id or by a name that only one active token has.
async fn find(remote: &Remote, wanted: &str) -> Result<String, Failure> {
    let listed = remote.get("/api/tokens").await?;
    let all: Vec<&Value> = listed["tokens"].as_array().into_iter().flatten().collect();
    if let Some(token) = all.iter().find(|token| token["id"] == wanted) {
        return Ok(text(&token["id"]));
    }
    let named: Vec<&&Value> = all
        .iter()
        .filter(|token| token["name"] == wanted && token["state"] == "active")
        .collect();
    match named.as_slice() {
        [one] => Ok(text(&one["id"])),
        [] => Err(Failure(format!(
            "there is no active token {wanted:?}\nhint: `manyhands token list` shows all"
        ))),
        several => Err(Failure(format!(
            "{} active tokens are named {wanted:?}\nhint: give the id, from `manyhands token list`",
            several.len()
        ))),
    }
}
