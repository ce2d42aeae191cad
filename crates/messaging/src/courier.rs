//! Sends messages for tools, contacts and jobs.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_agent_services::{People, contact_delivery, job_delivery};
use manyhands_channels::{Inbound, InboundEvent};
use manyhands_config::GroupPolicy;
use manyhands_core::{ChatRef, ErrorCode, PeerKind, ToolError};
use manyhands_people::contacts::{Contacts, Sighting};
use manyhands_store::{OutboxKey, OutboxState};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::Chats;

/// How long a tool waits for the delivery state of a message.
pub const WAIT: Duration = Duration::from_secs(10);

/// The recipient of a message, as far as it is named.
#[derive(Debug, Clone, Copy, Default)]
pub struct Address<'a> {
    /// The platform.
    pub channel: Option<&'a str>,
    /// The chat, in the platform's notation.
    pub to: Option<&'a str>,
    /// The kind of chat.
    pub kind: Option<PeerKind>,
    /// Our account there.
    pub account: Option<&'a str>,
    /// The session whose last chat is used if nothing is named.
    pub session: Option<&'a str>,
    /// The chat of the running turn.
    pub here: Option<&'a ChatRef>,
}

impl Chats {
    /// Registers these chats as the delivery of messages to contacts, and returns the delivery of
    /// jobs.
    pub fn carry_for(&self, people: &People) -> Arc<dyn job_delivery::Deliver> {
        let carrier: Arc<Carrier> = Arc::new(Carrier(self.clone()));
        let _ = people.courier.set(carrier.clone()); // set only here
        carrier
    }

    /// Resolves a recipient; `None` if nothing is named and nobody has written yet.
    pub async fn find(&self, address: Address<'_>) -> Result<Option<ChatRef>, ToolError> {
        let last = self.last_place(address.session).await?;
        let current = address.here.cloned().or(last);
        let Some(channel) = address
            .channel
            .or(current.as_ref().map(|current| current.channel.as_str()))
        else {
            return match address.to {
                None => Ok(None),
                Some(_) => {
                    let message = "is required: nobody has written in this session yet";
                    Err(ToolError::parameter("channel", message))
                }
            };
        };
        let channel = channel.to_ascii_lowercase();
        if self.0.settings.current().channels.get(&channel).is_none() {
            let message = format!("there is no channel {channel:?}");
            return Err(ToolError::parameter("channel", message)
                .hint("telegram, slack, line, discord or whatsapp"));
        }
        let same = current.filter(|current| current.channel == channel);
        let account = self.account_for(&channel, address.account, same.as_ref())?;
        let Some(to) = address.to else {
            let own = same.filter(|same| same.account == account);
            if let Some(own) = own {
                return Ok(Some(own));
            }
            let owner = self.owners_chats().await?;
            let owner = owner
                .into_iter()
                .find(|place| place.channel == channel && place.account == account);
            return owner.map(Some).ok_or_else(|| {
                let message = format!("is required: no known sender has written on {channel}");
                ToolError::parameter("to", message)
            });
        };
        let known = self.0.records.chat(&channel, &account, to).await;
        let known = known?;
        let kind = address.kind.or(known.map(|known| known.kind));
        let thread = same
            .filter(|same| same.chat == to && same.account == account)
            .and_then(|same| same.thread);
        Ok(Some(ChatRef {
            kind: kind.unwrap_or_default(),
            thread,
            ..ChatRef::dm(channel, account, to)
        }))
    }

    /// Rejects a group or channel that `allow_groups` excludes. Not used for the chat of the
    /// session itself, whose members were already admitted.
    pub fn may_reach(&self, place: &ChatRef, parameter: &str) -> Result<(), ToolError> {
        let settings = self.0.settings.current();
        let Some(channel) = settings.channels.get(&place.channel) else {
            return Ok(());
        };
        let listed = channel.allow_groups.is_empty() || channel.allow_groups.contains(&place.chat);
        if !place.is_shared() || (listed && channel.groups != GroupPolicy::Off) {
            return Ok(());
        }
        let message = format!(
            "{} is not among the allowed groups and channels",
            place.chat
        );
        let hint = format!(
            "add it to channels.{}.allow_groups in config.toml, or name one of those",
            place.channel
        );
        Err(ToolError::parameter(parameter, message).hint(hint))
    }

    fn account_for(
        &self,
        channel: &str,
        named: Option<&str>,
        current: Option<&ChatRef>,
    ) -> Result<String, ToolError> {
        let used = self.accounts_of(channel);
        if let Some(named) = named {
            if used.iter().any(|one| one == named) {
                return Ok(named.to_owned());
            }
            let message = format!("no running {channel} account is called {named:?}");
            let hint = match used.is_empty() {
                true => format!("add one with `manyhands channel login {channel}`"),
                false => format!("running accounts: {}", used.join(", ")),
            };
            return Err(ToolError::parameter("accountId", message).hint(hint));
        }
        let current = current.map(|current| current.account.clone());
        if let Some(current) = current.filter(|current| used.contains(current)) {
            return Ok(current);
        }
        let default = used.iter().find(|one| *one == "default").or(used.first());
        default.cloned().ok_or_else(|| {
            let message = format!("{channel} is not in use");
            ToolError::new(ErrorCode::Unavailable, message).hint(format!(
                "set it up with `manyhands channel login {channel}`"
            ))
        })
    }

    /// The chat of the last message to a session.
    async fn last_place(&self, session: Option<&str>) -> Result<Option<ChatRef>, ToolError> {
        let Some(session) = session else {
            return Ok(None);
        };
        let record = self.0.store.sessions().get(session).await;
        let peer = record?.and_then(|record| record.peer);
        Ok(peer.and_then(|peer| serde_json::from_str(&peer).ok()))
    }
}

/// Key prefix of a message to a contact, by which it is found again by its `message_id`.
fn named_key(message_id: &str) -> String {
    let hash = Sha256::digest(message_id);
    let hex: String = hash.iter().take(16).map(|b| format!("{b:02x}")).collect();
    OutboxKey::contact_prefix(&hex)
}

impl Chats {
    /// Our account in a Slack workspace.
    fn account_of_team(&self, channel: &str, team: &str) -> Result<String, ToolError> {
        let accounts = self.accounts();
        let mut known = Vec::new();
        let mut unknown = Vec::new();
        for ((_, account), running) in accounts.iter().filter(|((of, _), _)| of == channel) {
            match running.state().me.as_ref().and_then(|me| me.team.clone()) {
                Some(own) if own == team => return Ok(account.clone()),
                Some(own) => known.push(format!("{own} (account {account})")),
                None => unknown.push(account.clone()),
            }
        }
        if !unknown.is_empty() {
            let message = format!(
                "cannot tell which account belongs to the workspace {team}: {} not connected yet",
                unknown.join(", ")
            );
            return Err(ToolError::new(ErrorCode::Unavailable, message)
                .hint("try again once the account is connected"));
        }
        let message = format!("there is no account in the {channel} workspace {team:?}");
        Err(ToolError::parameter("chat_id", message)
            .hint(format!("workspaces in use: {}", known.join(", "))))
    }

    /// The platform's id of the message to reply to: one of ours by its `message_id`, or an id in
    /// the platform's notation. `None` if the platform assigned none and it cannot be quoted.
    async fn answered(&self, to: &ChatRef, named: &str) -> Result<Option<String>, ToolError> {
        let row = self
            .0
            .records
            .outbound_by_key(&to.lane(), &named_key(named))
            .await;
        let Some(row) = row? else {
            return match is_platform_id(&to.channel, named) {
                true => Ok(Some(named.to_owned())),
                false => {
                    let message =
                        format!("{named:?} is not a message that contacts_send sent to this chat");
                    Err(ToolError::parameter("reply_to", message).hint(
                        "use the message_id that contacts_send returned, or leave reply_to out",
                    ))
                }
            };
        };
        match row.state {
            OutboxState::Sent => Ok(row.message),
            OutboxState::Pending | OutboxState::Sending => {
                let message = format!("reply_to: {named} has not been delivered yet");
                Err(ToolError::new(ErrorCode::Unavailable, message)
                    .hint("try again in a moment, or leave reply_to out"))
            }
            OutboxState::Failed | OutboxState::Unknown | OutboxState::Dropped => {
                let message = format!("{named} was not delivered, so it cannot be replied to");
                Err(ToolError::parameter("reply_to", message).hint("leave reply_to out"))
            }
        }
    }
}

/// Returns whether a text can be a message id of a platform.
fn is_platform_id(channel: &str, id: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match channel {
        "telegram" => id.parse::<i64>().is_ok_and(|id| id > 0),
        "slack" => id
            .split_once('.')
            .is_some_and(|(seconds, rest)| digits(seconds) && digits(rest)),
        "discord" | "line" => digits(id),
        "whatsapp" => id.starts_with("wamid."),
        // Ids behind a bridge can have any form, except that of our own.
        _ => !id.starts_with("msg_"),
    }
}

/// Delivery for contacts and jobs.
struct Carrier(Chats);

#[async_trait]
impl contact_delivery::Deliver for Carrier {
    fn account(&self, channel: &str, team: Option<&str>) -> Result<String, ToolError> {
        if self.0.accounts_of(channel).is_empty() {
            let message = format!("no {channel} channel is configured");
            return Err(ToolError::new(ErrorCode::Unavailable, message).hint(
                "set one up under [channels] in config.toml, or name a chat of another platform with chat_id",
            ));
        }
        match team {
            Some(team) => self.0.account_of_team(channel, team),
            None => self.0.account_for(channel, None, None),
        }
    }

    async fn deliver(
        &self,
        to: &ChatRef,
        message: &contact_delivery::ContactMessage<'_>,
    ) -> Result<contact_delivery::ContactDelivery, ToolError> {
        let reply_to = match message.reply_to {
            Some(named) => self.0.answered(to, named).await?,
            None => None,
        };
        let key = format!("{}{}", named_key(message.id), message.key);
        let told = self
            .0
            .tell(to, message.text, reply_to.as_deref(), &key, None, WAIT)
            .await?;
        Ok(contact_delivery::ContactDelivery {
            id: told.id,
            state: told.state.as_str().to_owned(),
            reason: told.why,
        })
    }
}

#[async_trait]
impl job_delivery::Deliver for Carrier {
    async fn deliver(
        &self,
        target: job_delivery::DeliveryTarget,
        text: &str,
        key: &str,
    ) -> Result<job_delivery::JobDelivery, ToolError> {
        let session = target.session.to_string();
        let found = self
            .0
            .find(Address {
                channel: target.channel.as_deref(),
                to: target.to.as_deref(),
                session: Some(&session),
                ..Address::default()
            })
            .await?;
        let place = match found.or(target.place) {
            Some(place) => place,
            None => match self.0.owners_chats().await?.into_iter().next() {
                Some(place) if target.origin.trusted => place,
                _ => return Ok(job_delivery::JobDelivery::NoChat),
            },
        };
        let told = self
            .0
            .tell(&place, text, None, key, Some(&session), Duration::ZERO)
            .await?;
        let _ = told.state; // stored; the outbox knows its state
        Ok(job_delivery::JobDelivery::To(place.lane().to_string()))
    }
}

impl Chats {
    /// Updates contacts from incoming messages, in the background.
    pub(super) async fn note_people(self, mut seen: mpsc::Receiver<Inbound>) {
        while let Some(inbound) = seen.recv().await {
            let contacts = self.0.people.contacts.clone();
            let noted = tokio::task::spawn_blocking(move || observe(&contacts, &inbound));
            let _ = noted.await;
        }
    }
}

fn observe(contacts: &Contacts, inbound: &Inbound) {
    let Some(mut sender) = Sighting::in_place(&inbound.place) else {
        return;
    };
    sender.username = inbound.handle.clone();
    let mentions = match &inbound.what {
        InboundEvent::Message(message) => &message.mentions[..],
        _ => &[],
    };
    let mentioned = mentions.iter().map(|one| Sighting {
        channel: inbound.place.channel.clone(),
        user: one.id.clone(),
        username: one.handle.clone(),
        name: one.name.clone(),
        ..Sighting::default()
    });
    let mentioned: Vec<Sighting> = mentioned.collect();
    if let Err(error) = contacts.observe(&sender, &mentioned) {
        tracing::warn!(event = "contact_update_failed", %error, "failed to update the contact of a sender");
    }
}
