//! `trust`: what untrusted text had an influence on, and the owner's decision to trust it.

use std::process::ExitCode;

use serde_json::json;

use crate::args::Trust;
use crate::ground::Ground;
use crate::output::{self, Done};
use crate::remote::text;

/// Lists, or trusts one.
pub async fn run(trust: Trust, ground: &Ground) -> Done {
    let remote = ground.remote()?;
    match trust {
        Trust::List { json } => {
            let listed = remote.get("/api/trust").await?;
            if json {
                output::json(&listed);
                return Ok(ExitCode::SUCCESS);
            }
            let objects = listed["objects"].as_array().into_iter().flatten();
            let rows = objects.map(|one| {
                ["kind", "id", "author", "source", "at"]
                    .map(|key| text(&one[key]))
                    .to_vec()
            });
            let head = ["kind", "id", "written by", "after reading", "at"];
            output::table(&head, rows.collect());
        }
        Trust::Accept { kind, id } => {
            let wanted = json!({ "kind": kind.word(), "id": id });
            let done = remote.expect_post("/api/trust", &wanted).await?;
            output::say(match done["changed"] == true {
                true => format!("{id} is trusted"),
                false => format!("{id} was trusted already"),
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}
