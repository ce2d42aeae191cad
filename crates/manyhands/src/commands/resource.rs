//! `resource`: datastores, filestores, knowledge bases and vaults.

use std::io::Read as _;
use std::process::ExitCode;

use serde_json::json;

use super::call::segment;
use crate::args::{Resource, VaultSecret};
use crate::context::CliContext;
use crate::remote::text;
use manyhands_terminal::output::{self, Done, Failure};

/// Runs a `resource` command.
pub async fn run(resource: Resource, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    let at = |resource: &str| format!("/api/resources/{}", segment(resource));
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
        Resource::Show { resource } => output::json(&remote.get(&at(&resource)).await?),
        Resource::Rm { resource } => {
            remote.delete(&at(&resource)).await?;
            output::print_line(format!("deleted {resource}"));
        }
        Resource::Grant {
            resource,
            agent,
            level,
        } => {
            let path = format!("{}/grants/{}", at(&resource), segment(&agent));
            remote.put(&path, &json!({ "level": level })).await?;
            output::print_line(format!(
                "granted {agent} {} access to {resource}",
                level.as_str()
            ));
        }
        Resource::Revoke { resource, agent } => {
            let path = format!("{}/grants/{}", at(&resource), segment(&agent));
            remote.delete(&path).await?;
            output::print_line(format!("revoked access of {agent} to {resource}"));
        }
        Resource::Secret(VaultSecret::Set { vault, name, host }) => {
            let mut value = String::new();
            std::io::stdin().read_to_string(&mut value)?;
            // `echo` adds a line break that is not part of the secret.
            let value = value.trim_end_matches(['\n', '\r']);
            if value.is_empty() {
                return Err(Failure(format!(
                    "no value on standard input\nhint: printf %s \"$SECRET\" | manyhands resource secret set {vault} {name}"
                )));
            }
            let path = format!("{}/secrets/{}", at(&vault), segment(&name));
            let new = json!({ "value": value, "hosts": host });
            remote.put(&path, &new).await?;
            output::print_line(format!("stored {name} in {vault}"));
        }
        Resource::Secret(VaultSecret::Rm { vault, name }) => {
            let path = format!("{}/secrets/{}", at(&vault), segment(&name));
            remote.delete(&path).await?;
            output::print_line(format!("deleted {name}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
