//! The whole text of config.toml over the network: masked, with a version, and without what is decided on this machine.

use manyhands_config::{ConfigError, Problem, Settings, local_changes};
use manyhands_core::{Caller, ErrorCode, ToolError};
use sha2::{Digest, Sha256};

use crate::folders::keep_roots_apart;
use crate::gateway::Gateway;
use crate::reconfigure::{config_refusal, rules};

/// The text of config.toml with its secrets masked.
pub struct ConfigText {
    /// The text.
    pub text: String,
    /// Identifies the text; a write names the version it is based on.
    pub version: String,
}

/// What a new text changed.
pub struct ConfigWritten {
    /// The new version.
    pub version: String,
    /// Keys whose values changed.
    pub changed: Vec<String>,
    /// Keys that take effect after a restart.
    pub needs_restart: Vec<String>,
}

impl Gateway {
    /// The text of config.toml, or of the default file if there is none.
    pub async fn config_text(&self) -> Result<ConfigText, ToolError> {
        let file = self.config.clone();
        let whole = blocking(move || file.whole()).await?;
        let whole = whole.map_err(|e| config_refusal(&e))?;
        let version = version(&whole.text);
        let text = whole.masked.ok_or_else(|| {
            let message = "config.toml has syntax errors, or a key that looks like a secret";
            ToolError::new(ErrorCode::Failed, message)
                .hint("run `manyhands config check` on the gateway's machine")
        })?;
        Ok(ConfigText { text, version })
    }

    /// Validates a text that may contain masked values of config.toml.
    pub async fn check_config_text(&self, text: String) -> Result<Vec<Problem>, ToolError> {
        let file = self.config.clone();
        let checked = blocking(move || file.check_text(&text)).await?;
        let checked = checked.map_err(|e| config_refusal(&e))?;
        let settings = match checked {
            Ok(settings) => settings,
            Err(problems) => return Ok(problems),
        };
        let general = |key: &str, message: String| Problem {
            line: None,
            column: None,
            key: key.to_owned(),
            message,
            nearest: None,
        };
        let mut problems = Vec::new();
        let local = local_changes(&self.settings.current(), &settings);
        problems.extend(local.iter().map(|key| general(key, only_here(key))));
        if let Err(why) = self.acceptable(&settings) {
            problems.push(general("", why.message));
        }
        Ok(problems)
    }

    /// Replaces the text of config.toml and applies it. Masked values keep what they stand for; keys that are decided
    /// on this machine must not change.
    pub async fn write_config_text(
        &self,
        caller: &Caller,
        text: String,
        based_on: String,
    ) -> Result<ConfigWritten, ToolError> {
        let (file, in_force) = (self.config.clone(), self.settings.current());
        let (home, spawned_agents) = (
            self.home().to_owned(),
            self.tool_deps.post.spawned_agents.clone(),
        );
        let written = blocking(move || {
            file.replace_text(&text, |now, settings| {
                if version(now) != based_on {
                    let message = "config.toml was changed meanwhile; nothing was written";
                    return Err(ToolError::new(ErrorCode::Conflict, message)
                        .hint("load it again and repeat your change"));
                }
                let local = local_changes(&in_force, settings);
                if let Some(first) = local.first() {
                    return Err(ToolError::new(ErrorCode::Forbidden, only_here(first))
                        .hint("edit config.toml on that machine"));
                }
                keep_roots_apart(&home, settings)
                    .map_err(|e| ToolError::parameter("text", e.to_string()))?;
                rules(settings, &spawned_agents)
                    .map_err(|e| ToolError::parameter("text", format!("policy.rules: {e}")))?;
                Ok(())
            })
        });
        let settings = written.await?.map_err(|e| match e {
            ConfigError::Invalid { .. } => ToolError::parameter("text", e.to_string()),
            other => config_refusal(&other),
        })??;
        // Applied immediately rather than by the file watcher, so that the caller sees the effect.
        let changes = self.apply_settings(settings)?;
        self.note(caller, "config.write", &changes.keys.join(" "))
            .await?;
        let file = self.config.clone();
        let now = blocking(move || file.whole()).await?;
        let now = now.map_err(|e| config_refusal(&e))?;
        Ok(ConfigWritten {
            version: version(&now.text),
            changed: changes.keys,
            needs_restart: changes.needs_restart,
        })
    }

    fn acceptable(&self, settings: &Settings) -> Result<(), ToolError> {
        keep_roots_apart(self.home(), settings)
            .map_err(|e| ToolError::parameter("text", e.to_string()))?;
        rules(settings, &self.tool_deps.post.spawned_agents)
            .map(drop)
            .map_err(|e| ToolError::parameter("text", format!("policy.rules: {e}")))
    }
}

fn only_here(key: &str) -> String {
    format!(
        "{key} refers to programs or files of the gateway's machine and can only be changed there"
    )
}

fn version(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| ToolError::internal(e.to_string()))
}
