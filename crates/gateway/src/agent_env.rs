//! The environment agents run in: models, callers, files, skills and the local time.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use manyhands_agent::{
    AgentEnv, AgentSettings, ApprovalReply, LocalTime, MindParts, Minds, ModelClient, Origin,
    ResetPolicy, SkillNote, TurnLimits,
};
use manyhands_agent_services::{ModelRegistry, SpawnedAgents, local_time, skills};
use manyhands_config::{Reset, ResetMode};
use manyhands_core::{AgentId, ApprovalId, Caller, Clock, ErrorCode, Invoke, Taint, ToolError};
use manyhands_host::LiveSettings;
use manyhands_host::workspace::{Workspace, WorkspaceEntry};
use manyhands_llm::ModelId;
use manyhands_store::ApprovalDecision;
use tokio_util::sync::CancellationToken;

use crate::gateway::Gateway;

/// The agents' environment in one gateway.
struct GatewayEnv {
    gateway: Weak<Gateway>,
    settings: LiveSettings,
    model_registry: Arc<ModelRegistry>,
    workspace: Workspace,
    spawned_agents: Arc<SpawnedAgents>,
    clock: Arc<dyn Clock>,
    stopping: CancellationToken,
}

/// Creates the gateway's agents.
pub fn minds(
    gateway: &Arc<Gateway>,
    model_registry: Arc<ModelRegistry>,
    workspace: Workspace,
) -> Minds {
    let house = GatewayEnv {
        gateway: Arc::downgrade(gateway),
        settings: gateway.settings.clone(),
        model_registry,
        workspace,
        spawned_agents: gateway.post().spawned_agents.clone(),
        clock: gateway.clock.clone(),
        stopping: gateway.stopping().clone(),
    };
    let path: Arc<dyn Invoke> = gateway.path.clone();
    Minds::new(MindParts {
        sessions: gateway.store.sessions().clone(),
        blobs: gateway.store.archives().clone(),
        path,
        env: Arc::new(house),
        clock: gateway.clock.clone(),
        ids: gateway.ids.clone(),
    })
}

#[async_trait]
impl AgentEnv for GatewayEnv {
    fn models(&self) -> Arc<dyn ModelClient> {
        self.model_registry.now()
    }

    fn default_model(&self) -> Option<ModelId> {
        self.model_registry.now().default_model().cloned()
    }

    fn title_model(&self, used: &ModelId) -> Option<ModelId> {
        let settings = self.settings.current();
        let named = settings.sessions.title_model.as_deref();
        let named = named.and_then(|text| text.parse::<ModelId>().ok());
        let model = named.unwrap_or_else(|| used.clone());
        let wanted = settings.sessions.titles && self.model_registry.now().can_title(&model);
        wanted.then_some(model)
    }

    fn has_models(&self) -> bool {
        !self.settings.current().models.providers.is_empty()
    }

    fn knows(&self, model: &ModelId) -> Result<(), ToolError> {
        let settings = self.settings.current();
        let providers = &settings.models.providers;
        if providers.contains_key(&model.provider) {
            return Ok(());
        }
        let named: Vec<&str> = providers.keys().map(String::as_str).collect();
        let message = format!("unknown provider {:?}", model.provider);
        Err(ToolError::not_found(message).hint(match named.is_empty() {
            true => {
                "add one with `manyhands models add`, or in config.toml under [models.providers]"
                    .to_owned()
            }
            false => format!("available: {}", named.join(", ")),
        }))
    }

    async fn decide(
        &self,
        caller: &Caller,
        approval: &str,
        verdict: ApprovalReply,
    ) -> Result<String, ToolError> {
        let gone = || ToolError::new(ErrorCode::Unavailable, "the gateway is stopping");
        let gateway = self.gateway.upgrade().ok_or_else(gone)?;
        if !caller.is_owner() {
            let message = "only the owner answers approval requests";
            return Err(ToolError::new(ErrorCode::Forbidden, message));
        }
        let id: ApprovalId = approval.parse().map_err(|_| {
            ToolError::new(ErrorCode::InvalidArguments, "invalid approval id")
                .hint("`manyhands approvals list` shows what is pending")
        })?;
        let (decision, message, word) = match verdict {
            ApprovalReply::Approve(scope) => (ApprovalDecision::Approve(scope), None, "approved"),
            ApprovalReply::Deny(message) => (ApprovalDecision::Deny, message, "denied"),
        };
        let record = gateway
            .decide(caller, id, decision, message.as_deref())
            .await?;
        Ok(format!("{word}: {}", record.tool))
    }

    fn agent(&self, id: &AgentId) -> Option<AgentSettings> {
        let settings = self.settings.current();
        let said = settings.agents.get(id);
        // Agents outside of the settings were spawned by other agents, except `main`, which always
        // exists.
        if said.is_none() && *id != AgentId::main() {
            return self.spawned_agents.settings(id);
        }
        let said = said.cloned().unwrap_or_default();
        let model = said.model.as_deref();
        Some(AgentSettings {
            id: id.clone(),
            model: model.and_then(|model| model.parse::<ModelId>().ok()),
            thinking: said.thinking.and_then(|level| level.as_str().parse().ok()),
            tools: said.tools,
            discover: said.discover,
            system_prompt: said.system_prompt,
            reset: policy(said.reset.unwrap_or(settings.sessions.reset)),
            payer: None,
            taint: Taint::NONE,
        })
    }

    fn limits(&self) -> TurnLimits {
        let settings = self.settings.current();
        let sessions = &settings.sessions;
        let minutes = |minutes: u32| std::time::Duration::from_secs(u64::from(minutes) * 60);
        TurnLimits {
            steps: sessions.max_steps,
            repeats: sessions.max_repeats,
            wall: minutes(sessions.turn_minutes),
            approval: minutes(settings.limits.approval_minutes),
            queued: sessions.max_queued as usize,
            sessions: settings.limits.agent_sessions,
            window: sessions.window_tokens,
            ..TurnLimits::default()
        }
    }

    fn admit(&self, caller: &Caller, bytes: u64) -> Result<(), ToolError> {
        let gone = || ToolError::new(ErrorCode::Unavailable, "the gateway is stopping");
        let gateway = self.gateway.upgrade().ok_or_else(gone)?;
        gateway.path.charge(caller, bytes)
    }

    fn caller(&self, origin: &Origin) -> Result<Arc<Caller>, ToolError> {
        let gone = || ToolError::new(ErrorCode::Unavailable, "the gateway is stopping");
        let gateway = self.gateway.upgrade().ok_or_else(gone)?;
        // A person of a chat has no token: their rights follow from the chat account as it is now.
        if let Some(person) = &origin.person {
            let caller = gateway.chats().caller(person, origin.place.as_ref());
            return caller.map(Arc::new);
        }
        match origin.token {
            Some(token) => gateway.auth.caller(token).ok_or_else(|| {
                let message = "the token that started this turn has expired or was revoked";
                ToolError::new(ErrorCode::Unauthenticated, message)
            }),
            None => Ok(Arc::new(Caller::gateway())),
        }
    }

    async fn file(&self, agent: &AgentId, path: &str) -> Option<(String, Taint)> {
        match self.workspace.find(agent, path).await {
            Ok(WorkspaceEntry::File(file)) => Some((file.text, file.taint)),
            _ => None,
        }
    }

    async fn skills(&self, agent: &AgentId) -> Vec<SkillNote> {
        let able = match self.gateway.upgrade() {
            Some(gateway) => gateway.nodes.abilities(),
            None => Vec::new(),
        };
        let said = &self.settings.current().skills;
        skills::eligible(&self.workspace, agent, said, &able).await
    }

    fn facts(&self) -> Vec<String> {
        let mut facts = vec![format!("Manyhands {}.", env!("CARGO_PKG_VERSION"))];
        let Some(gateway) = self.gateway.upgrade() else {
            return facts;
        };
        let nodes = gateway.nodes.abilities();
        if nodes.is_empty() {
            facts.push("No other machine is connected.".to_owned());
        }
        // Capped, since every fact is part of each prompt.
        for (node, able) in nodes.iter().take(50) {
            facts.push(format!("Machine {node} is connected: {}.", able.join(", ")));
        }
        facts
    }

    fn local_time(&self) -> LocalTime {
        let named = self.settings.current().timezone.clone();
        local_time(self.clock.now().0, named.as_deref())
    }

    fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }
}

fn policy(reset: Reset) -> ResetPolicy {
    match reset.mode {
        ResetMode::Manual => ResetPolicy::Manual,
        ResetMode::Daily => ResetPolicy::Daily {
            at_hour: reset.at_hour,
        },
        ResetMode::Idle => ResetPolicy::Idle {
            idle_minutes: reset.idle_minutes,
        },
    }
}
