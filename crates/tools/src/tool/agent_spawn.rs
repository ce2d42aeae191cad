//! `tool::agent_spawn`

use std::collections::BTreeSet;
use std::time::Duration;

use manyhands_agent::template::{self, Template};
use manyhands_agent::{Input, Minds, SessionKey, TurnOutcome};
use manyhands_agent_services::Child;
use manyhands_core::{
    AgentId, CallContext, Effects, ErrorCode, Outcome, RunsOn, Taint, ToolError, ToolSpec,
    TypedTool,
};
use manyhands_host::workspace::{Author, WorkspaceEntry};
use manyhands_store::StoreError;
use object_store::ObjectStoreExt as _;
use object_store::path::Path as Key;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::agent_deps::{AgentToolDeps, principal};
use crate::registration::{Registration, typed};

/// Deepest level of spawned agents.
const MAX_DEPTH: u32 = 5;
/// Active children per agent.
const MAX_CHILDREN: usize = 20;
/// Spawned agents in total.
const MAX_AGENTS: usize = 10_000;
/// Folder of templates, in a workspace and in the shared blobs.
const FOLDER: &str = "templates";
/// Time limit of the first reply.
const DEADLINE: Duration = Duration::from_secs(3_600);

/// Create an agent from a template, give it a first message, and wait for its reply. A template is a file:
/// `templates/NAME.md` of your workspace, else of the gateway's folder `blobs/templates/`, else one built into the program
/// (coder, researcher, reviewer). It contains front matter (model, thinking, tools) and the agent's instructions. The agent
/// persists, with its own workspace and main session; it has at most the tools you have, and its spending counts as yours.
/// Spawned agents may be nested 5 deep, and each may have at most 20 child agents that were active within a day.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Template identifier for the sub-agent type
    #[schemars(length(min = 1))]
    template: String,
    /// Parent agent ID for tracking hierarchy: yourself when not given, or an agent that you or yours made.
    parent_id: Option<String>,
    /// Initial message to send to the spawned agent
    #[schemars(length(min = 1))]
    message: String,
}

/// The new agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The newly created agent's ID
    #[schemars(with = "String")]
    agent_id: AgentId,
    /// The agent's response content
    response: String,
    /// Depth level in the agent hierarchy
    depth: u32,
}

pub(crate) const TOOL: Registration = Registration {
    name: "tool::agent_spawn",
    enabled: |tools| tools.agent_spawn.enabled,
    build: |deps| typed(AgentSpawn(deps.agents())),
};

struct AgentSpawn(AgentToolDeps);

impl TypedTool for AgentSpawn {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        // The agent's calls are judged one by one; spawning it only calls models and stores
        // records.
        super::spec(TOOL.name)
            .effects(Effects::READS.and(Effects::WRITES).and(Effects::LEAVES))
            .runs_on(RunsOn::Gateway)
            .deadline(DEADLINE)
            .waits_for_turns()
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let minds = self.0.minds()?;
        let child = self.make(minds, &params, context).await?;
        let key = SessionKey::main(&child.id);
        // Stops the child's turn when this call ends for any reason.
        let _stop = minds.stop_on_drop(&key);
        let input = Input::text(params.message);
        let mut asked = minds.ask(&key, input, &principal(context)).await?;
        let mut ignore = |_: &_| {};
        let answer = tokio::select! {
            answer = asked.answer(&mut ignore) => answer?,
            () = context.cancel.cancelled() => {
                let message = format!("{} was stopped because its caller was", child.id);
                return Err(ToolError::new(ErrorCode::Cancelled, message));
            }
        };
        let failed = match answer.end {
            TurnOutcome::Answered(response) => {
                let output = Output {
                    agent_id: child.id,
                    response,
                    depth: child.depth,
                };
                // The reply may repeat untrusted text the child has read.
                return Ok(Outcome::of(&output)?.tainted_by(answer.tainted));
            }
            TurnOutcome::Failed(error) => format!("{} did not reply: {error}", child.id),
            TurnOutcome::Stopped => format!("{} did not reply: it was stopped", child.id),
        };
        Err(ToolError {
            details: Some(json!({ "agentId": child.id, "depth": child.depth })),
            ..ToolError::new(ErrorCode::Failed, failed)
        })
    }
}

impl AgentSpawn {
    /// Creates the agent; on disk when this returns.
    async fn make(
        &self,
        minds: &Minds,
        params: &Params,
        context: &CallContext,
    ) -> Result<Child, ToolError> {
        let spawned_agents = &self.0.post.spawned_agents;
        let parent = self.parent(params.parent_id.as_deref(), context)?;
        // Depth counts from the configured agent, so a chain of spawned agents cannot evade it.
        let (above, root) = spawned_agents.position(&parent);
        let depth = above + 1;
        if depth > MAX_DEPTH {
            let message = format!("{parent} is at depth {above}, the deepest level allowed");
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("do it yourself, or report in your answer what remains to be done"));
        }
        let (template, taint) = self.template(&params.template, context).await?;
        let author = Author::of(context).copying(&taint);
        let Template {
            model,
            thinking,
            tools,
            prompt,
        } = template;
        // At most the caller's own tools: spawning must not widen rights.
        let tools = minds.tools_for_child(&parent, &tools, context).await?;
        // Serializes creation: two calls at once could both pass the limits below.
        let _making = spawned_agents.lock_creation().await;
        let now = self.0.post.clock.now();
        if spawned_agents.active_children(minds, &parent, now).await >= MAX_CHILDREN {
            let message = format!("{parent} already has {MAX_CHILDREN} active child agents");
            return Err(ToolError::new(ErrorCode::BudgetExceeded, message)
                .hint("send one of them a message instead; agents idle for a day do not count"));
        }
        if spawned_agents.names().len() >= MAX_AGENTS {
            let message = format!("the limit of {MAX_AGENTS} spawned agents is reached");
            return Err(ToolError::new(ErrorCode::BudgetExceeded, message)
                .hint("the owner can remove old ones from blobs/kin and restart the gateway"));
        }
        // Copied now: later changes of the parent do not change the child.
        let of_parent = minds.agent(&parent)?;
        // Random, so that names of removed agents and their archives are not reused.
        let [a, b, c, d] = self.0.ids.random::<4>();
        let id = format!("{}-{a:02x}{b:02x}{c:02x}{d:02x}", params.template);
        let child = Child {
            id: id.parse().map_err(|e: manyhands_core::InvalidName| {
                ToolError::parameter("template", e.to_string())
            })?,
            parent,
            root,
            depth,
            template: params.template.clone(),
            model: model.or(of_parent.model),
            thinking: thinking.or(of_parent.thinking),
            tools,
            prompt,
            created: now,
        };
        let unsaved =
            |error: StoreError| ToolError::from(error).context("failed to store the agent");
        // The author is recorded first: after a crash in between, the agent must not appear trusted.
        spawned_agents
            .mark(&child.id, &author, now)
            .await
            .map_err(unsaved)?;
        spawned_agents.add(child.clone()).await.map_err(unsaved)?;
        Ok(child)
    }

    /// The parent: the caller, or an agent it spawned.
    fn parent(&self, named: Option<&str>, context: &CallContext) -> Result<AgentId, ToolError> {
        let own = &context.agent;
        let Some(named) = named else {
            return Ok(own.clone());
        };
        let parent: AgentId = named.parse().map_err(|e: manyhands_core::InvalidName| {
            ToolError::parameter("parentId", e.to_string())
        })?;
        if self.0.post.spawned_agents.is_within(&parent, own) {
            return Ok(parent);
        }
        let message = format!(
            "parentId must be your own, {own}, or an agent you spawned: {parent} is neither"
        );
        Err(ToolError::new(ErrorCode::Forbidden, message))
    }

    async fn template(
        &self,
        name: &str,
        context: &CallContext,
    ) -> Result<(Template, Taint), ToolError> {
        let legal = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'_';
        if name.len() > 48 || name.starts_with(['-', '_']) || !name.bytes().all(legal) {
            let message = "must be 1-48 of a-z, 0-9, - and _, starting with a letter or digit";
            return Err(ToolError::parameter("template", message));
        }
        let path = format!("{FOLDER}/{name}.md");
        let own = self.0.workspace.find(&context.agent, &path).await;
        let (text, taint) = match own {
            Ok(WorkspaceEntry::File(file)) => (Some(file.text), file.taint),
            // Only the owner writes to the shared folder.
            _ => (self.shared(&path).await?, Taint::NONE),
        };
        let built_in = template::BUILT_IN.iter().find(|(known, _)| *known == name);
        let Some(text) = text.or_else(|| built_in.map(|(_, text)| (*text).to_owned())) else {
            let there = self.names(&context.agent).await;
            return Err(ToolError::not_found(format!(
                "no template {name}; available: {}",
                there.into_iter().collect::<Vec<_>>().join(", ")
            ))
            .hint(format!("create one by writing {path} with gsv__WriteFile")));
        };
        let parsed = template::parse(&text).map_err(|why| {
            ToolError::new(
                ErrorCode::Failed,
                format!("the template {name} cannot be used: {why}"),
            )
        })?;
        Ok((parsed, taint))
    }

    /// A file shared by all agents.
    async fn shared(&self, path: &str) -> Result<Option<String>, ToolError> {
        let failed =
            |error: object_store::Error| ToolError::from(StoreError::from(error)).context(path);
        let blobs = self.0.blobs.scoped(&Key::from(FOLDER)).map_err(failed)?;
        match blobs.get(&Key::from(path)).await {
            Ok(found) => {
                let bytes = found.bytes().await.map_err(failed)?;
                Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// The available templates.
    async fn names(&self, agent: &AgentId) -> BTreeSet<String> {
        let mut files: Vec<String> = Vec::new();
        if let Ok(WorkspaceEntry::Directory { files: own, .. }) =
            self.0.workspace.find(agent, &format!("{FOLDER}/")).await
        {
            files.extend(own);
        }
        let shared = Key::from(FOLDER);
        if let Ok(blobs) = self.0.blobs.scoped(&shared)
            && let Ok(listed) = blobs.list_with_delimiter(Some(&shared)).await
        {
            files.extend(
                listed
                    .objects
                    .iter()
                    .map(|object| object.location.to_string()),
            );
        }
        let name = |file: &String| {
            let last = file.rsplit('/').next().unwrap_or_default();
            last.strip_suffix(".md").map(str::to_owned)
        };
        let built_in = template::BUILT_IN
            .iter()
            .map(|(name, _)| (*name).to_owned());
        files
            .iter()
            .filter_map(name)
            .chain(built_in)
            // Listed in an error message.
            .take(200)
            .collect()
    }
}
