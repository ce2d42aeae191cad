//! `trust`: lists content influenced by untrusted text, and marks it trusted.

use std::process::ExitCode;

use serde_json::json;

use crate::args::Trust;
use crate::context::CliContext;
use crate::remote::text;
use manyhands_terminal::output::{self, Done};

/// Runs a `trust` command.
pub async fn run(trust: Trust, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
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
            let head = ["kind", "id", "written by", "after reading", "time"];
            output::table(&head, rows.collect());
        }
        Trust::Accept { kind, id } => {
            let wanted = json!({ "kind": kind.word(), "id": id });
            let done = remote.expect_post("/api/trust", &wanted).await?;
            output::print_line(match done["changed"] == true {
                // It may have been trusted on the page meanwhile; that is not an error.
                true => format!("{id} is now trusted"),
                false => format!("{id} was already trusted"),
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}
