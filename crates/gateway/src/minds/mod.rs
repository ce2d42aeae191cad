//! The house around the minds: models, people, files, skills and the time of day.

mod delete;
mod kin;
pub(crate) mod makers;
pub(crate) mod memory;
mod post;
pub(crate) mod skills;

pub(crate) use kin::{Child, Kin};
pub(crate) use post::Post;

use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, ToSpan as _, Zoned};
use manyhands_agent::{
    AgentEnv, AgentSettings, ApprovalDecision, Input, InvalidKey, LocalTime, MindParts, Minds,
    ModelClient, Origin, ResetPolicy, SessionKey, SkillNote, TurnLimits,
};
use manyhands_config::{Reset, ResetMode, Settings};
use manyhands_core::{
    AgentId, ApprovalId, Caller, Clock, ErrorCode, Ids, Invoke, Principal, Role, Secret, Taint,
    Timestamp, ToolError,
};
use manyhands_llm::{Caps, MemoryBudget, ModelId, Models, Outside, Scope, Secrets};
use manyhands_path::may_act_for;
use manyhands_store::{Decision, Store, StoreError, Vault};
use manyhands_wire::ExecEvent;
use tokio_util::sync::CancellationToken;

use crate::doorman::Admitted;
use crate::gateway::Gateway;
use crate::nodes::News;
use crate::settings::LiveSettings;
use crate::workspace::{Found, Workspace};

/// The models there are now.
pub(crate) struct Thinkers {
    models: ArcSwap<Models>,
    /// Held by whoever adds or removes a provider: the vault and the file change as one.
    changing: tokio::sync::Mutex<()>,
    budget: MemoryBudget,
    vault: Vault,
    clock: Arc<dyn Clock>,
    ids: Ids,
}

impl Thinkers {
    /// The models of `settings`. What was spent today, before a restart, still counts.
    pub(crate) async fn open(
        settings: &Settings,
        store: &Store,
        kin: &Kin,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Result<Self, StoreError> {
        let budget = MemoryBudget::new(Caps::default(), clock.clone());
        let today = day(clock.now());
        for row in store.sessions().usage(&today).await? {
            let count = |number: i64| u64::try_from(number).unwrap_or(0);
            let usage = &row.usage;
            let tokens = count(usage.input_tokens).saturating_add(count(usage.output_tokens));
            let micros = count(usage.cost_micros);
            let (_, payer) = kin.place(&row.agent);
            budget.remember(Scope::Agent, payer.as_str(), micros, tokens);
            budget.remember(Scope::Day, "", micros, tokens);
        }
        let vault = store.vault().clone();
        let models = make(settings, &budget, &vault, &clock, &ids);
        Ok(Self {
            models: ArcSwap::from_pointee(models),
            changing: tokio::sync::Mutex::new(()),
            budget,
            vault,
            clock,
            ids,
        })
    }

    /// The models there are now.
    pub(crate) fn now(&self) -> Arc<Models> {
        self.models.load_full()
    }

    /// Takes new settings over, from the next question on.
    pub(crate) fn reconfigure(&self, settings: &Settings) {
        let models = make(settings, &self.budget, &self.vault, &self.clock, &self.ids);
        for problem in models.problems() {
            tracing::warn!("models: {problem}");
        }
        self.models.store(Arc::new(models));
    }
}

/// The day of an instant by UTC, as what was spent is booked.
fn day(at: Timestamp) -> String {
    at.rfc3339().chars().take(10).collect()
}

fn make(
    settings: &Settings,
    budget: &MemoryBudget,
    vault: &Vault,
    clock: &Arc<dyn Clock>,
    ids: &Ids,
) -> Models {
    let caps = Caps::from(&settings.models.limits);
    let outside = Outside {
        secrets: Arc::new(Keys(vault.clone())),
        budget: Arc::new(budget.under(caps)),
        clock: clock.clone(),
        ids: ids.clone(),
    };
    Models::new(&settings.models, outside)
}

/// Keys of providers, from the vault.
struct Keys(Vault);

#[async_trait]
impl Secrets for Keys {
    async fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        self.0.get(name).await.map_err(|e| e.to_string())
    }
}

/// The house around the minds of one gateway.
struct Rooms {
    gateway: Weak<Gateway>,
    settings: LiveSettings,
    thinkers: Arc<Thinkers>,
    workspace: Workspace,
    kin: Arc<Kin>,
    clock: Arc<dyn Clock>,
    stopping: CancellationToken,
}

/// The minds of a gateway.
pub(crate) fn minds(
    gateway: &Arc<Gateway>,
    thinkers: Arc<Thinkers>,
    workspace: Workspace,
) -> Minds {
    let house = Rooms {
        gateway: Arc::downgrade(gateway),
        settings: gateway.settings.clone(),
        thinkers,
        workspace,
        kin: gateway.post().kin.clone(),
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

/// Somebody who was let in, as a turn remembers them.
pub(crate) fn origin(asker: &Admitted) -> Origin {
    origin_of(&asker.caller)
}

/// Whoever calls, as a turn remembers them.
pub(crate) fn origin_of(caller: &Caller) -> Origin {
    Origin {
        token: caller.principal.token(),
        person: caller.principal.person_reference(),
        place: None,
        name: caller.name.clone(),
        trusted: caller.is_owner(),
        depth: 0,
        tainted: Taint::NONE,
        job: match &caller.actor {
            Some(Principal::Job(job)) => Some(job.clone()),
            _ => None,
        },
        lineage: Vec::new(),
    }
}

/// The session that somebody means by `text`, who means `agent` unless they name another: any for
/// the owner, and for a client those under its own name. Others have none.
pub(crate) fn session_key(
    caller: &Caller,
    agent: &AgentId,
    text: &str,
) -> Result<SessionKey, ToolError> {
    let wrong = |e: InvalidKey| ToolError::parameter("sessionKey", e.to_string());
    let said = SessionKey::parse_for(agent, text).map_err(wrong)?;
    let refused = |message: String| Err(ToolError::new(ErrorCode::Forbidden, message));
    if !may_act_for(caller, said.agent()) {
        return refused(format!(
            "this token may not talk to the agent {}",
            said.agent()
        ));
    }
    match caller.rights.role {
        Role::Owner => Ok(said),
        Role::Client => {
            let own = part_of(caller);
            let named = text.trim().to_ascii_lowercase().starts_with("agent:");
            if !named {
                return SessionKey::parse_for(agent, &format!("{own}{}", said.rest()))
                    .map_err(wrong);
            }
            match said.rest().strip_prefix(&own) {
                Some(rest) if !rest.is_empty() => Ok(said),
                _ => refused(format!(
                    "the sessions of this token are agent:{}:{own}NAME",
                    said.agent()
                )),
            }
        }
        role @ (Role::Node | Role::ReadOnly | Role::Channel) => {
            refused(format!("a {role} token does not talk to agents"))
        }
    }
}

/// How the keys of a caller's own sessions go on after the agent. By who they are, never by what they
/// call themselves: a name in a chat opens nobody else's conversations.
pub(crate) fn part_of(caller: &Caller) -> String {
    match caller.principal.credential() {
        Some(credential) => SessionKey::client_prefix(&credential.name),
        None => SessionKey::principal_prefix(&caller.principal.to_string()),
    }
}

/// How the keys of the sessions go on that somebody sees who talks to agents; `None` for the owner,
/// who sees all.
pub(crate) fn own_part(caller: &Caller) -> Option<String> {
    (!caller.is_owner()).then(|| part_of(caller))
}

/// What is to be said in the conversation that started a program, once it has ended.
pub(crate) fn announcement(news: &News) -> Option<(SessionKey, String, Input, Origin)> {
    let started = news.origin.as_ref()?;
    let key: SessionKey = started.session.as_ref()?.parse().ok()?;
    let told = &news.told;
    let how = match told.event {
        ExecEvent::Started => return None,
        ExecEvent::Finished => "has finished".to_owned(),
        ExecEvent::TimedOut => "was stopped because its time was up".to_owned(),
        ExecEvent::Failed => match (told.exit_code, &told.signal) {
            (Some(code), _) => format!("has failed with exit code {code}"),
            (None, Some(signal)) => format!("was ended by {signal}"),
            (None, None) => "has failed".to_owned(),
        },
    };
    let tail = told
        .output_tail
        .as_deref()
        .unwrap_or("(it printed nothing)");
    let text = format!(
        "The program {} in the background of {} {how}. The end of its output:\n{tail}",
        told.session_id, news.node
    );
    let origin = Origin {
        token: started.token,
        person: started.caller.strip_prefix("person:").map(str::to_owned),
        place: None,
        name: news.node.to_string(),
        trusted: false,
        depth: 0,
        tainted: Taint::by(format!("node:{}", news.node)),
        job: None,
        lineage: Vec::new(),
    };
    Some((
        key,
        format!("exec-{}", told.event_id),
        Input::text(text),
        origin,
    ))
}

#[async_trait]
impl AgentEnv for Rooms {
    fn models(&self) -> Arc<dyn ModelClient> {
        self.thinkers.now()
    }

    fn default_model(&self) -> Option<ModelId> {
        self.thinkers.now().default_model().cloned()
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
        let message = format!("there is no provider {:?}", model.provider);
        Err(ToolError::not_found(message).hint(match named.is_empty() {
            true => "config.toml names providers under [models.providers]".to_owned(),
            false => format!("there are: {}", named.join(", ")),
        }))
    }

    async fn decide(
        &self,
        caller: &Caller,
        approval: &str,
        verdict: ApprovalDecision,
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
            ApprovalDecision::Approve(scope) => (Decision::Approve(scope), None, "approved"),
            ApprovalDecision::Deny(message) => (Decision::Deny, message, "denied"),
        };
        let record = gateway
            .decide(caller, id, decision, message.as_deref())
            .await?;
        Ok(format!("{word}: {}", record.tool))
    }

    fn agent(&self, id: &AgentId) -> Option<AgentSettings> {
        let settings = self.settings.current();
        let said = settings.agents.get(id);
        if said.is_none() && *id != AgentId::main() {
            return self.kin.settings(id);
        }
        let said = said.cloned().unwrap_or_default();
        let model = said.model.as_deref();
        Some(AgentSettings {
            id: id.clone(),
            model: model.and_then(|model| model.parse::<ModelId>().ok()),
            thinking: said.thinking.and_then(|level| level.word().parse().ok()),
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
        if let Some(person) = &origin.person {
            let caller = gateway.chats().caller(person, origin.place.as_ref());
            return caller.map(Arc::new);
        }
        match origin.token {
            Some(token) => gateway.doorman.caller(token).ok_or_else(|| {
                let message = "the token by which this was asked is no longer good";
                ToolError::new(ErrorCode::Unauthenticated, message)
            }),
            None => Ok(Arc::new(Caller::gateway())),
        }
    }

    async fn file(&self, agent: &AgentId, path: &str) -> Option<(String, Taint)> {
        match self.workspace.find(agent, path).await {
            Ok(Found::File(file)) => Some((file.text, file.taint)),
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

/// The user's time at an instant, in a zone or the machine's own.
pub(crate) fn local_time(at_ms: i64, zone: Option<&str>) -> LocalTime {
    let zone = match zone.map(TimeZone::get) {
        Some(Ok(zone)) => zone,
        _ => TimeZone::system(),
    };
    let instant = Instant::from_millisecond(at_ms).unwrap_or(Instant::UNIX_EPOCH);
    let now: Zoned = instant.to_zoned(zone);
    let midnight = now
        .start_of_day()
        .map_or(at_ms, |day| day.timestamp().as_millisecond());
    let before = now
        .date()
        .checked_sub(1.day())
        .unwrap_or_else(|_| now.date());
    LocalTime {
        day: now.date().to_string(),
        day_before: before.to_string(),
        clock: now.strftime("%H:%M").to_string(),
        zone: now
            .time_zone()
            .iana_name()
            .unwrap_or("local time")
            .to_owned(),
        since_midnight_ms: at_ms - midnight,
    }
}

#[cfg(test)]
mod tests {
    use manyhands_core::{Credential, Rights};

    use super::*;

    #[test]
    fn the_day_is_the_users_own() {
        // 2026-11-15 23:30 UTC is the next day in Berlin.
        let at = 1_794_785_400_000;
        let utc = local_time(at, Some("UTC"));
        assert_eq!(
            (utc.day.as_str(), utc.clock.as_str()),
            ("2026-11-15", "23:30")
        );
        let berlin = local_time(at, Some("Europe/Berlin"));
        assert_eq!(
            (berlin.day.as_str(), berlin.clock.as_str()),
            ("2026-11-16", "00:30")
        );
        assert_eq!(berlin.day_before, "2026-11-15");
        assert_eq!(berlin.since_midnight_ms, 30 * 60_000);
    }

    #[test]
    fn a_client_has_the_sessions_under_its_name_and_no_others() {
        let of = |role: Role, name: &str| {
            let credential = Credential {
                id: "0192f0c1-2345-7890-abcd-ef0123456789".parse().unwrap(),
                name: name.into(),
            };
            let rights = Rights::new(role, Vec::new());
            Caller::new(Principal::Token(credential), name, rights)
        };
        let agent = AgentId::main();
        let key = |caller: &Caller, text: &str| session_key(caller, &agent, text);
        let (owner, phone) = (of(Role::Owner, "me"), of(Role::Client, "phone"));
        for (caller, text, meant) in [
            (&owner, "main", "agent:main:main"),
            (
                &owner,
                "agent:x:client:phone:main",
                "agent:x:client:phone:main",
            ),
            (&phone, "main", "agent:main:client:phone:main"),
            (
                &phone,
                "client:tv:main",
                "agent:main:client:phone:client:tv:main",
            ),
            (&phone, "agent:x:client:phone:b", "agent:x:client:phone:b"),
            (
                &of(Role::Client, "Phone"),
                "main",
                "agent:main:client:+50hone:main",
            ),
            (
                &of(Role::Client, "a:b c"),
                "main",
                "agent:main:client:a+3ab+20c:main",
            ),
        ] {
            assert_eq!(key(caller, text).unwrap().as_str(), meant);
        }
        for (caller, text, code) in [
            (&phone, "agent:main:main", ErrorCode::Forbidden),
            (&phone, "agent:main:client:tv:main", ErrorCode::Forbidden),
            (&phone, " AGENT:main:main", ErrorCode::Forbidden),
            (&phone, "agent:main:client:phone:", ErrorCode::Forbidden),
            (&phone, "agent:main:client:phoney:x", ErrorCode::Forbidden),
            (&phone, "a b", ErrorCode::InvalidArguments),
            (&of(Role::ReadOnly, "r"), "main", ErrorCode::Forbidden),
            (&of(Role::Node, "n"), "main", ErrorCode::Forbidden),
        ] {
            assert_eq!(key(caller, text).unwrap_err().code, code, "{text}");
        }
    }
}
