//! `secret`: put in, named, taken out; never shown.

use std::io::Read;
use std::process::ExitCode;

use serde_json::json;

use super::call::encode;
use crate::args::Secret;
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::remote::text;

/// Runs one of the three.
pub async fn run(secret: Secret, ground: &Ground) -> Done {
    let remote = ground.remote()?;
    match secret {
        Secret::Set { name } => {
            let mut value = String::new();
            std::io::stdin().read_to_string(&mut value)?;
            let value = value.trim_end_matches(['\n', '\r']);
            if value.is_empty() {
                return Err(Failure(format!(
                    "nothing came on standard input\nhint: printf %s \"$SECRET\" | manyhands secret set {name}"
                )));
            }
            remote
                .put(
                    &format!("/api/secrets/{}", encode(&name)),
                    &json!({ "value": value }),
                )
                .await?;
            output::say(format!("{name} is stored"));
        }
        Secret::List => {
            let listed = remote.get("/api/secrets").await?;
            for name in listed["names"].as_array().into_iter().flatten() {
                output::say(text(name));
            }
        }
        Secret::Remove { name } => {
            remote
                .delete(&format!("/api/secrets/{}", encode(&name)))
                .await?;
            output::say(format!("{name} is forgotten"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
