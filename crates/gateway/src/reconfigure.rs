//! Changes of settings: written to config.toml or found there, and applied to every part they
//! concern.

use std::collections::BTreeMap;
use std::sync::Arc;

use manyhands_agent_services::SpawnedAgents;
use manyhands_config::{Changes, ConfigError, Settings, diff};
use manyhands_core::{AgentId, Caller, ErrorCode, ToolError};
use manyhands_path::{AgentRules, Authorizer, RootOf};
use manyhands_store::Quotas;
use serde_json::Value;

use crate::folders::keep_roots_apart;
use crate::gateway::Gateway;

/// The rules decisions are made from: the owner's and those of agents. A spawned agent is bound by
/// the rules and the mode of the configured agent it descends from.
pub fn rules(
    settings: &Settings,
    spawned_agents: &Arc<SpawnedAgents>,
) -> Result<Authorizer, String> {
    let own = settings.agents.iter();
    let own: BTreeMap<AgentId, AgentRules> = own
        .map(|(agent, said)| {
            let rules = AgentRules {
                rules: said.policy.rules.clone(),
                mode: said.mode,
            };
            (agent.clone(), rules)
        })
        .collect();
    let (spawned_agents, named) = (spawned_agents.clone(), own.clone());
    let root_of: RootOf = Arc::new(move |agent| match named.contains_key(agent) {
        true => agent.clone(),
        false => spawned_agents.position(agent).1,
    });
    Authorizer::with_agents(&settings.policy, &own, root_of).map_err(|e| e.to_string())
}

/// The storage quotas.
pub fn quotas(settings: &Settings) -> Quotas {
    let limits = &settings.limits;
    Quotas {
        workspace_bytes: limits.workspace_bytes,
        workspace_files: limits.workspace_files,
        min_free_bytes: limits.min_free_bytes,
    }
}

impl Gateway {
    /// Sets a value in config.toml and applies it; returns the keys that need a restart.
    pub async fn set_config(
        &self,
        caller: &Caller,
        path: &str,
        value: Value,
    ) -> Result<Vec<String>, ToolError> {
        may_set(path)?;
        self.set_local(caller, path, Some(value)).await
    }

    /// Removes a value from config.toml, so that its default applies; returns the keys that need a
    /// restart.
    pub async fn unset_config(
        &self,
        caller: &Caller,
        path: &str,
    ) -> Result<Vec<String>, ToolError> {
        may_set(path)?;
        self.set_local(caller, path, None).await
    }

    /// Sets a value, including local-only keys, which the caller must have checked; `None` removes
    /// it.
    pub async fn set_local(
        &self,
        caller: &Caller,
        path: &str,
        value: Option<Value>,
    ) -> Result<Vec<String>, ToolError> {
        let (file, key) = (self.config.clone(), path.to_owned());
        let set = tokio::task::spawn_blocking(move || match value {
            Some(value) => file.set(&key, &value),
            None => file.unset(&key),
        });
        let (settings, _) = set
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?
            .map_err(|e| config_refusal(&e))?;
        // Applied immediately rather than by the file watcher, so that the caller sees the effect.
        let changes = self.apply_settings(settings)?;
        self.note(caller, "config.set", path).await?;
        Ok(changes.needs_restart)
    }

    /// Reads config.toml and applies its changes without waiting for the file watcher.
    pub async fn reload_config(&self, caller: &Caller) -> Result<Changes, ToolError> {
        let file = self.config.clone();
        let (settings, _) = tokio::task::spawn_blocking(move || file.load())
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?
            .map_err(|e| config_refusal(&e))?;
        let changes = self.apply_settings(settings)?;
        if changes.keys.iter().any(of_servers) {
            self.servers.take_over(&self.settings).await; // awaited, so that new tools are listed when this returns
        }
        if !changes.is_empty() {
            self.note(caller, "config.reload", &changes.keys.join(" "))
                .await?;
        }
        Ok(changes)
    }

    /// Applies new settings. Changes that need a restart are reported and stay pending.
    pub fn apply_settings(&self, settings: Settings) -> Result<Changes, ToolError> {
        keep_roots_apart(self.home(), &settings)
            .map_err(|e| ToolError::parameter("tools.read_file.roots", e.to_string()))?;
        let changes = diff(&self.settings.current(), &settings);
        let rules = rules(&settings, &self.tool_deps.post.spawned_agents)
            .map_err(|e| ToolError::parameter("policy.rules", e))?;
        // Everything that can fail comes before this line, so that settings are applied fully or
        // not at all.
        self.path.reconfigure(settings.limits.clone(), rules);
        self.store.limit(quotas(&settings));
        self.settings.replace(settings);
        if changes.keys.iter().any(|key| key.starts_with("tools.")) {
            let built_in = manyhands_tools::built_in(&self.tool_deps);
            self.catalogue.rcu(|all| all.with_built_in(&built_in));
            self.nodes.note_change();
        }
        let of_rules = |key: &String| key.starts_with("policy.") || key.starts_with("agents.");
        if changes.keys.iter().any(of_rules) {
            self.nodes.note_change(); // lists depend on what is allowed
        }
        self.tool_deps.web.reconfigure();
        self.cron().look();
        let of_chats = |key: &String| {
            ["channels", "egress", "public_url"]
                .iter()
                .any(|part| key.starts_with(part))
        };
        if changes.keys.iter().any(of_chats) {
            // In the background: reconnecting accounts may take long, and callers wait for this.
            let chats = self.chats().clone();
            tokio::spawn(async move { chats.take_over().await });
        }
        if changes.keys.iter().any(|key| key.starts_with("models.")) {
            self.model_registry.reconfigure(&self.settings.current());
        }
        if changes.keys.iter().any(of_servers) {
            let (servers, settings) = (self.servers.clone(), self.settings.clone());
            tokio::spawn(async move { servers.take_over(&settings).await });
        }
        if !changes.is_empty() {
            tracing::info!(event = "settings_changed", keys = ?changes.keys, needs_restart = ?changes.needs_restart, "settings changed");
        }
        Ok(changes)
    }
}

/// Whether a key concerns MCP servers.
fn of_servers(key: impl AsRef<str>) -> bool {
    let key = key.as_ref();
    key == "mcpServers" || key.starts_with("mcpServers.")
}

/// Rejects keys that may only be set on the gateway's machine.
fn may_set(path: &str) -> Result<(), ToolError> {
    if !manyhands_config::is_local(path) {
        return Ok(());
    }
    let message = format!(
        "{path} refers to programs or files of the gateway's machine and can only be set there"
    );
    Err(ToolError::new(ErrorCode::Forbidden, message)
        .hint("edit config.toml on that machine, or run `manyhands config set` there"))
}

pub fn config_refusal(error: &ConfigError) -> ToolError {
    match error {
        ConfigError::Changed { .. } => ToolError::new(ErrorCode::Conflict, error.to_string()),
        ConfigError::Invalid { .. } | ConfigError::Path(_) | ConfigError::Value { .. } => {
            ToolError::parameter("path", error.to_string())
        }
        _ => ToolError::new(ErrorCode::Failed, error.to_string()),
    }
}
