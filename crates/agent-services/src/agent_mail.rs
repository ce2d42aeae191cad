//! Messages between agents, delivered into the main session of the recipient.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use manyhands_agent::{Input, Lagged, Minds, Origin, SessionKey, Subscription};
use manyhands_core::{
    AgentId, CallId, Clock, ErrorCode, Ids, Taint, Timestamp, TokenId, ToolError,
};
use manyhands_host::LiveSettings;
use manyhands_store::{AgentMail, AgentMessage, MailboxFull};
use serde::{Deserialize, Serialize};

use crate::spawned_agents::SpawnedAgents;

/// The most messages queued for one agent.
const MAX_QUEUED: i64 = 1_000;
/// The most messages two agents may exchange in a minute, both directions together; stops two
/// agents from talking to each other without end.
const PAIR_A_MINUTE: i64 = 10;
/// The most messages delivered at once.
const PAGE: u32 = 16;

/// A stored message: its text, and the token it was sent with.
#[derive(Serialize, Deserialize)]
struct Letter {
    token: Option<TokenId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<String>,
    #[serde(default)]
    tainted: Taint,
    text: String,
}

/// Message delivery between agents.
#[derive(Clone)]
pub struct AgentMailer {
    /// The stored messages.
    pub mail: AgentMail,
    /// The running agents, once the gateway is assembled.
    pub minds: Arc<OnceLock<Minds>>,
    /// The settings in force.
    pub settings: LiveSettings,
    /// Spawned agents.
    pub spawned_agents: Arc<SpawnedAgents>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Ids,
}

impl AgentMailer {
    /// Accepts a message. It is on disk when this returns, and delivered when the recipient has
    /// room.
    pub async fn send(
        &self,
        origin: &Origin,
        sender: AgentId,
        recipient: AgentId,
        text: String,
    ) -> Result<(), ToolError> {
        let now = self.clock.now();
        let letter = Letter {
            token: origin.token,
            person: origin.person.clone(),
            tainted: origin.tainted.clone(),
            text,
        };
        let body =
            serde_json::to_string(&letter).map_err(|e| ToolError::internal(e.to_string()))?;
        let message = AgentMessage {
            id: self.ids.next::<CallId>().to_string(),
            sender,
            recipient,
            body,
            at: now,
        };
        let since = Timestamp(now.0 - 60_000);
        let main = SessionKey::main(&message.recipient);
        let taken = self
            .mail
            // Limits are checked and the message stored in one transaction, or concurrent senders
            // could exceed them together.
            .send(&message, main.as_str(), MAX_QUEUED, PAIR_A_MINUTE, since);
        taken.await?.map_err(|full| {
            let (what, hint) = match full {
                MailboxFull::Queue => (
                    format!(
                        "{MAX_QUEUED} messages are already queued for {}",
                        message.recipient
                    ),
                    "send again once it has read some",
                ),
                MailboxFull::Pair => (
                    format!(
                        "{} and {} have already exchanged {PAIR_A_MINUTE} messages in a minute",
                        message.sender, message.recipient
                    ),
                    "put more into one message, or wait a minute",
                ),
            };
            ToolError::new(ErrorCode::RateLimited, what)
                .hint(hint)
                .retry_after(Duration::from_secs(60))
        })?;
        // The message is already on disk, so a failed delivery is not the sender's error;
        // `go_round` delivers it later.
        if let Err(error) = self.deliver(&message.recipient).await {
            tracing::warn!(event = "agent_message_delayed", agent = %message.recipient, %error, "failed to deliver an agent message; it stays queued");
        }
        Ok(())
    }

    /// Delivers queued messages into an agent's main session while it has room. A message counts as
    /// read when its turn is on disk; the run id comes from the message, so delivering it twice
    /// starts one turn.
    async fn deliver(&self, agent: &AgentId) -> Result<(), ToolError> {
        let Some(minds) = self.minds.get() else {
            return Ok(());
        };
        let key = SessionKey::main(agent);
        loop {
            let waiting = self.mail.waiting(agent, PAGE).await?;
            if waiting.is_empty() {
                return Ok(());
            }
            for message in waiting {
                let letter: Letter = serde_json::from_str(&message.body)
                    .map_err(|e| ToolError::internal(format!("a message is damaged: {e}")))?;
                let origin = Origin {
                    token: letter.token,
                    person: letter.person,
                    place: None,
                    name: message.sender.to_string(),
                    // Text from another agent is data, even if the same person is behind both.
                    trusted: false,
                    depth: 0,
                    tainted: letter.tainted,
                    job: None,
                    lineage: Vec::new(),
                };
                // The run id comes from the message: a message that is delivered again after a
                // crash starts no second turn.
                let run = Some(format!("mail-{}", message.id));
                match minds
                    .send(&key, run, Input::text(letter.text), &origin)
                    .await
                {
                    Ok(_) => {}
                    // The token was revoked after sending. Discard the message instead of blocking
                    // the queue behind it for ever.
                    Err(error) if error.code == ErrorCode::Unauthenticated => {
                        tracing::warn!(event = "agent_message_discarded", from = %message.sender, to = %agent, "discarded an agent message: the sender's token is no longer valid");
                    }
                    // The session queue is full. The end of its next turn wakes `go_round`.
                    Err(error) if error.code == ErrorCode::RateLimited => return Ok(()),
                    Err(error) => return Err(error),
                }
                let read = [message.id];
                let noted = self.mail.read(&read, self.clock.now()).await;
                noted?;
            }
        }
    }

    /// Delivers messages queued before the start, then whenever a main session has room again.
    pub async fn go_round(self) {
        let Some(minds) = self.minds.get() else {
            return;
        };
        // Subscribe before the first pass, or a turn that ends meanwhile would go unnoticed.
        let mut ends = minds.listen(Subscription::Ends);
        let mut agents = self.everybody();
        loop {
            for agent in agents {
                if let Err(error) = self.deliver(&agent).await {
                    tracing::warn!(event = "agent_messages_delayed", %agent, %error, "failed to deliver agent messages; they stay queued");
                }
            }
            agents = match ends.next().await {
                Ok(event) if event.session.is_main() => vec![event.session.agent().clone()],
                Ok(_) => Vec::new(),
                // Events were lost, so any session may have room now.
                Err(Lagged(_)) => self.everybody(),
            };
        }
    }

    /// Every agent: configured and spawned.
    pub fn everybody(&self) -> Vec<AgentId> {
        let settings = self.settings.current();
        let mut all = self.spawned_agents.names();
        all.push(AgentId::main());
        all.extend(settings.agents.keys().cloned());
        all
    }
}
