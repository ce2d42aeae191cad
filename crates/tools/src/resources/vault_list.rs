//! `vault_list`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// A secret.
#[derive(Serialize, JsonSchema)]
pub struct Entry {
    /// Its name.
    name: String,
    /// Placeholder to use where secrets are accepted.
    reference: String,
    /// Hosts it may be sent to.
    hosts: Vec<String>,
}

/// List the secrets of a vault: their names, the hosts each may be sent to, and how to use them in
/// a header. Values are never returned.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the vault.
    #[schemars(length(min = 1))]
    collection_id: String,
}

/// The secrets of a vault.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Name of the vault.
    vault: String,
    /// Its secrets.
    secrets: Vec<Entry>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "vault_list",
    enabled: always,
    build: |deps| typed(VaultList(deps.resources.clone())),
};

struct VaultList(Resources);

impl TypedTool for VaultList {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, CollectionKind::Vault, Level::Read)
            .await?;
        let entries = self.0.store.vault_entries(found.id).await;
        let entries = entries?.into_iter().map(|entry| Entry {
            reference: format!("{{{{vault:{}/{}}}}}", found.name, entry.name),
            name: entry.name,
            hosts: entry.hosts,
        });
        Outcome::of(&Output {
            secrets: entries.collect(),
            vault: found.name,
        })
    }
}
