//! `secret`: stores, lists and deletes secrets; they are never shown.

use std::io::Read;
use std::process::ExitCode;

use serde_json::json;

use super::call::encode;
use crate::args::Secret;
use crate::context::CliContext;
use crate::remote::text;
use manyhands_terminal::output::{self, Done, Failure};

/// Runs a `secret` command.
pub async fn run(secret: Secret, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match secret {
        Secret::Set { name } => {
            let mut value = String::new();
            std::io::stdin().read_to_string(&mut value)?;
            // `echo` adds a line break that is not part of the secret.
            let value = value.trim_end_matches(['\n', '\r']);
            if value.is_empty() {
                return Err(Failure(format!(
                    "no value on standard input\nhint: printf %s \"$SECRET\" | manyhands secret set {name}"
                )));
            }
            remote
                .put(
                    &format!("/api/secrets/{}", encode(&name)),
                    &json!({ "value": value }),
                )
                .await?;
            output::print_line(format!("stored {name}"));
        }
        Secret::List { json } => {
            let listed = remote.get("/api/secrets").await?;
            if json {
                output::json(&listed);
                return Ok(ExitCode::SUCCESS);
            }
            for name in listed["names"].as_array().into_iter().flatten() {
                output::print_line(text(name));
            }
        }
        Secret::Remove { name } => {
            remote
                .delete(&format!("/api/secrets/{}", encode(&name)))
                .await?;
            output::print_line(format!("deleted {name}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
