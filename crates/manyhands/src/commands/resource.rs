//! `resource`: datastores, filestores, knowledge bases and vaults, and who may use them.

use std::io::Read as _;
use std::process::ExitCode;

use serde_json::json;

use super::call::segment;
use crate::args::{Resource, VaultSecret};
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::remote::text;

/// Runs one of them.
pub async fn run(resource: Resource, ground: &Ground) -> Done {
    let remote = ground.remote()?;
    let at = |which: &str| format!("/api/resources/{}", segment(which));
    match resource {
        Resource::List { json } => {
            let listed = remote.get("/api/resources").await?;
            if json {
                output::json(&listed["resources"]);
            } else {
                let rows = listed["resources"].as_array().into_iter().flatten();
                let columns = [
                    "collectionId",
                    "kind",
                    "name",
                    "items",
                    "bytes",
                    "description",
                ];
                let rows =
                    rows.map(|one| columns.iter().map(|column| text(&one[column])).collect());
                let header = ["id", "kind", "name", "items", "bytes", "description"];
                output::table(&header, rows.collect());
            }
        }
        Resource::Create {
            kind,
            name,
            description,
            grant,
        } => {
            let mut grants: Vec<_> = grant
                .into_iter()
                .map(|(agent, level)| json!({ "agent": agent, "level": level }))
                .collect();
            if grants.is_empty() {
                grants.push(json!({ "agent": "main", "level": "admin" }));
            }
            let new = json!({
                "kind": kind, "name": name, "description": description, "grants": grants,
            });
            output::json(&remote.expect_post("/api/resources", &new).await?);
        }
        Resource::Show { which } => output::json(&remote.get(&at(&which)).await?),
        Resource::Rm { which } => {
            remote.delete(&at(&which)).await?;
            output::say(format!("{which} is removed"));
        }
        Resource::Grant {
            which,
            agent,
            level,
        } => {
            let path = format!("{}/grants/{}", at(&which), segment(&agent));
            remote.put(&path, &json!({ "level": level })).await?;
            output::say(format!("{agent} may {} {which}", level.word()));
        }
        Resource::Revoke { which, agent } => {
            let path = format!("{}/grants/{}", at(&which), segment(&agent));
            remote.delete(&path).await?;
            output::say(format!("{agent} may no longer use {which}"));
        }
        Resource::Secret(VaultSecret::Set { which, name, host }) => {
            let mut value = String::new();
            std::io::stdin().read_to_string(&mut value)?;
            let value = value.trim_end_matches(['\n', '\r']);
            if value.is_empty() {
                return Err(Failure(format!(
                    "nothing came on standard input\nhint: printf %s \"$SECRET\" | manyhands resource secret set {which} {name}"
                )));
            }
            let path = format!("{}/secrets/{}", at(&which), segment(&name));
            let new = json!({ "value": value, "hosts": host });
            remote.put(&path, &new).await?;
            output::say(format!("{name} is stored in {which}"));
        }
        Resource::Secret(VaultSecret::Rm { which, name }) => {
            let path = format!("{}/secrets/{}", at(&which), segment(&name));
            remote.delete(&path).await?;
            output::say(format!("{name} is forgotten"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
