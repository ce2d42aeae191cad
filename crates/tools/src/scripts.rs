//! The dependencies of scripts, and the connections they select.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwap;
use manyhands_core::{AgentId, Catalogue, ToolError};
use manyhands_federation::servers::Servers;
use manyhands_host::artifacts::ArtifactStore;
use manyhands_path::Path;
use manyhands_script::Pool;

/// Dependencies of scripts.
#[derive(Clone)]
pub struct Scripts {
    /// Pool of script processes.
    pub pool: Pool,
    /// Artifacts.
    pub artifacts: ArtifactStore,
    /// The catalogue of all tools.
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    /// MCP servers.
    pub servers: Arc<Servers>,
    /// Set once the path exists, which itself holds the tools.
    pub path: Arc<OnceLock<Weak<Path>>>,
}

impl Scripts {
    /// Rejects selections that no call could use: a misspelled service would silently select its
    /// first account.
    pub(crate) fn check_selections(
        &self,
        selected: &BTreeMap<String, String>,
        agent: &AgentId,
    ) -> Result<(), ToolError> {
        const PARAMETER: &str = "connectionSelections";
        let accounts = self.servers.accounts().of_agent(agent);
        let services: BTreeSet<&str> = accounts.iter().map(|one| one.service.as_str()).collect();
        for (service, pcid) in selected {
            if !services.contains(service.as_str()) {
                // Names come from the caller and are quoted in errors.
                let shown: String = service.chars().take(100).collect();
                let known = match services.is_empty() {
                    true => "no connections exist".to_owned(),
                    false => {
                        let names: Vec<&str> = services.iter().copied().take(50).collect();
                        format!("use one of {}", names.join(", "))
                    }
                };
                let message = format!("there is no service {shown:?} with connections; {known}");
                return Err(ToolError::parameter(PARAMETER, message));
            }
            let chosen = self.servers.accounts().choose(service, agent, Some(pcid));
            chosen.map_err(|error| ToolError {
                hint: error.hint,
                // The original error names the parameter of other tools.
                ..ToolError::parameter(
                    PARAMETER,
                    match error.problems.into_iter().next() {
                        Some(problem) => problem.message,
                        None => error.message,
                    },
                )
            })?;
        }
        Ok(())
    }
}
