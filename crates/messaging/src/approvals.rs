//! Approval requests to the owner, as buttons in a chat.

use manyhands_agent::SessionKey;
use manyhands_channels::{Button, Inbound, InboundEvent, OutgoingContent, OutgoingMessage};
use manyhands_core::{AgentId, ApprovalId, ChatRef, ToolError};
use manyhands_store::{InboxState, PendingReply};
use serde_json::Value;

use super::Chats;
use super::outgoing::{OutgoingText, row};

/// How much of the arguments is shown; all of them are on the page and the command line.
const SHOWN: usize = 3_000;
/// Prefixes of our button data.
const ONCE: &str = "approve:";
const CONVERSATION: &str = "conversation:";
const ALWAYS: &str = "always:";
const DENY: &str = "deny:";

impl Chats {
    /// Asks the owner to approve a call, in the chat where they write or where the turn runs.
    pub(super) async fn ask_owner(
        &self,
        promise: &PendingReply,
        by_owner: bool,
        approval: ApprovalId,
        tool: &str,
        arguments: &Value,
    ) -> Result<(), ToolError> {
        let here = by_owner && !promise.chat.is_shared();
        let place = match here {
            true => Some(promise.chat.clone()),
            false => self.owners_chats().await?.into_iter().next(),
        };
        let key = format!("ask:{approval}");
        let Some(place) = place else {
            let text = "This needs my owner's approval, which they give on their own device.";
            let rows = self.rows(OutgoingText::new(&promise.chat, text, &key))?;
            return self.put(&rows).await.map(drop);
        };
        if !by_owner {
            self.announce_wait(promise).await?;
        }
        let whole = serde_json::to_string_pretty(arguments).unwrap_or_default();
        let mut shown: String = whole.chars().take(SHOWN).collect();
        if shown.len() < whole.len() {
            shown.push_str("\n… (`manyhands approvals` shows all of it)");
        }
        let shown = shown.replace("```", "'''");
        let who = match here {
            true => String::new(),
            false => format!(", requested for {}", who(&promise.chat)),
        };
        let mut text = format!("**Approval needed** for `{tool}`{who}\n```json\n{shown}\n```");
        text.push_str(&self.about(approval).await);
        let channel = self.channel(&place.channel, &place.account);
        let buttons = match channel.is_some_and(|channel| channel.abilities().buttons) {
            true => buttons(approval),
            false => {
                text.push_str(&format!(
                    "\n/approve {approval}\n/approve {approval} conversation\n/approve {approval} always\n/deny {approval}"
                ));
                Vec::new()
            }
        };
        let words = OutgoingText {
            buttons,
            session: Some(promise.session_key.clone()),
            ..OutgoingText::new(&place, &text, &key)
        };
        let rows = self.rows(words)?;
        self.put(&rows).await.map(drop)
    }

    /// Tells the requester, once per turn, that the owner was asked. The details go to the owner
    /// only, since others may read along here.
    async fn announce_wait(&self, promise: &PendingReply) -> Result<(), ToolError> {
        let text = "This needs my owner's approval. I have asked them and will answer here once they decide.";
        let key = format!("waits:{}:{}", promise.session_key, promise.run_id);
        let words = OutgoingText {
            reply_to: super::intake::answers(&promise.chat),
            session: Some(promise.session_key.clone()),
            ..OutgoingText::new(&promise.chat, text, &key)
        };
        let rows = self.rows(words)?;
        self.put(&rows).await.map(drop)
    }

    /// What the owner should know before deciding: untrusted text read before, and the rule that
    /// "always" would add.
    async fn about(&self, approval: ApprovalId) -> String {
        let now = self.0.clock.now();
        let Ok(Some(asked)) = self.0.store.approvals().get(approval, now).await else {
            return String::new();
        };
        let mut text = String::new();
        if let Some(source) = &asked.tainted_by {
            text.push_str(&format!(
                "\nRequested after reading untrusted text: {source}"
            ));
        }
        if let Some(rule) = &asked.proposal {
            text.push_str(&format!("\nAlways allow would add the rule: `{rule}`"));
        }
        text
    }

    /// The owner's direct chats, most recent first.
    pub(super) async fn owners_chats(&self) -> Result<Vec<ChatRef>, ToolError> {
        let settings = self.0.settings.current();
        let known = self.0.known.load_full();
        let main = SessionKey::main(&AgentId::main());
        let last = self.0.store.sessions().get(main.as_str()).await;
        let last = last?.and_then(|record| record.peer);
        let last: Option<ChatRef> = last.and_then(|last| serde_json::from_str(&last).ok());
        let senders = self.0.records.senders().await?;
        let paired = senders.into_iter().map(|sender| sender.chat);
        let is_owners = |place: &ChatRef| {
            let used = self.channel(&place.channel, &place.account).is_some();
            let caller = super::caller_of(&settings, &known, place);
            used && !place.is_shared() && caller.is_some_and(|caller| caller.is_owner())
        };
        Ok(last.into_iter().chain(paired).filter(is_owners).collect())
    }

    /// Handles a pressed button.
    pub(super) async fn take_button(
        &self,
        inbound: &Inbound,
        data: &str,
    ) -> Result<super::intake::IntakeOutcome, ToolError> {
        use super::intake::IntakeOutcome;
        let settings = self.0.settings.current();
        let known = self.0.known.load_full();
        let ignored = |why: &str| {
            Ok(IntakeOutcome::Settled(
                InboxState::Ignored,
                Some(why.to_owned()),
            ))
        };
        let Some(caller) = super::caller_of(&settings, &known, &inbound.place) else {
            return ignored("the sender is not allowed to decide");
        };
        let commands = [
            (ONCE, "/approve", ""),
            (CONVERSATION, "/approve", " conversation"),
            (ALWAYS, "/approve", " always"),
            (DENY, "/deny", ""),
        ];
        let mut commands = commands.iter();
        let command = commands.find_map(|(prefix, command, scope)| {
            let id = data.strip_prefix(prefix)?;
            Some(format!("{command} {id}{scope}"))
        });
        let Some(command) = command else {
            return ignored("unknown button");
        };
        let minds = self.minds()?;
        let key = SessionKey::main(&super::agent_for(&settings, &inbound.place));
        let reply = minds.command(&key, &command, &caller).await?;
        let Some(reply) = reply else {
            return ignored("unknown button");
        };
        let word = reply
            .error
            .clone()
            .unwrap_or_else(|| reply.response.clone());
        let channel = self.channel(&inbound.place.channel, &inbound.place.account);
        if let Some(channel) = &channel
            && let InboundEvent::Button { .. } = inbound.what
            && let Err(error) = channel.acknowledge_button(inbound, &word).await
        {
            tracing::debug!(event = "button_ack_failed", %error, "failed to acknowledge a pressed button to the platform");
        }
        // Where messages cannot be edited, the reply was already sent as a new message.
        let edits = channel.is_some_and(|channel| channel.abilities().edits);
        if reply.error.is_none()
            && edits
            && let Some(message) = &inbound.place.message
        {
            let settled = OutgoingMessage {
                to: inbound.place.chat_only(),
                reply_to: None,
                ticket: None,
                content: OutgoingContent::Text {
                    text: reply.response,
                    buttons: Vec::new(),
                    edits: Some(message.clone()),
                },
            };
            let key = format!("pressed:{}", inbound.event);
            self.put(&[row(&settled, key, None)?]).await?;
        }
        Ok(IntakeOutcome::Settled(InboxState::Done, reply.error))
    }
}

fn buttons(approval: ApprovalId) -> Vec<Vec<Button>> {
    let button = |label: &str, data: String, refuses| Button {
        label: label.to_owned(),
        data,
        refuses,
    };
    vec![
        vec![
            button("Allow once", format!("{ONCE}{approval}"), false),
            button("Deny", format!("{DENY}{approval}"), true),
        ],
        vec![
            button(
                "Allow in conversation",
                format!("{CONVERSATION}{approval}"),
                false,
            ),
            button("Always allow", format!("{ALWAYS}{approval}"), false),
        ],
    ]
}

fn who(place: &ChatRef) -> String {
    let name = place.sender_name.as_deref().or(place.sender.as_deref());
    format!("{} on {}", name.unwrap_or("somebody"), place.channel)
}
