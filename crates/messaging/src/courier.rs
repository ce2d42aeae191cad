//! Carrying words to chats for others: tools, contacts and jobs.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_agent::contacts::{Contacts, Seen};
use manyhands_agent_services::{People, contact_delivery, job_delivery};
use manyhands_channels::{Heard, Inbound};
use manyhands_config::GroupPolicy;
use manyhands_core::{ErrorCode, PeerKind, Place, ToolError};
use manyhands_store::OutboxState;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::{Chats, unkept};

/// How long a tool waits to see what becomes of a message.
pub const WAIT: Duration = Duration::from_secs(10);

/// How the keys of messages to contacts begin: what becomes of them is noted there.
pub(super) const CONTACT: &str = "contact:";

/// Whom a message is for, as far as it is said.
#[derive(Debug, Clone, Copy, Default)]
pub struct Address<'a> {
    /// The platform.
    pub channel: Option<&'a str>,
    /// The chat, as the platform names it.
    pub to: Option<&'a str>,
    /// What kind of chat it is.
    pub kind: Option<PeerKind>,
    /// Our account there.
    pub account: Option<&'a str>,
    /// The conversation whose last chat is meant where nothing is said.
    pub session: Option<&'a str>,
    /// The chat in which it is said.
    pub here: Option<&'a Place>,
}

impl Chats {
    /// Delivers messages to contacts through these chats. The result delivers those of jobs.
    pub fn carry_for(&self, people: &People) -> Arc<dyn job_delivery::Deliver> {
        let carrier: Arc<Carrier> = Arc::new(Carrier(self.clone()));
        let _ = people.courier.set(carrier.clone()); // set here and nowhere else
        carrier
    }

    /// The chat that somebody means; `None` when nothing is named and nobody has written yet.
    pub async fn find(&self, address: Address<'_>) -> Result<Option<Place>, ToolError> {
        let last = self.last_place(address.session).await?;
        let current = address.here.cloned().or(last);
        let Some(channel) = address
            .channel
            .or(current.as_ref().map(|current| current.channel.as_str()))
        else {
            return match address.to {
                None => Ok(None),
                Some(_) => {
                    let message = "must be named, since nobody has written in this session yet";
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
                let message = format!("must be named: nobody known has written on {channel}");
                ToolError::parameter("to", message)
            });
        };
        let known = self.0.records.chat(&channel, &account, to).await;
        let known = known.map_err(|e| unkept(&e))?;
        let kind = address.kind.or(known.map(|known| known.kind));
        let thread = same
            .filter(|same| same.chat == to && same.account == account)
            .and_then(|same| same.thread);
        Ok(Some(Place {
            kind: kind.unwrap_or_default(),
            thread,
            ..Place::dm(channel, account, to)
        }))
    }

    /// Refuses a group or channel that `allow_groups` excludes. Not for the chat of the conversation itself:
    /// its members were admitted already.
    pub fn may_reach(&self, place: &Place, parameter: &str) -> Result<(), ToolError> {
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
        current: Option<&Place>,
    ) -> Result<String, ToolError> {
        let used = self.accounts_of(channel);
        if let Some(named) = named {
            if used.iter().any(|one| one == named) {
                return Ok(named.to_owned());
            }
            let message = format!("there is no account {named:?} of {channel} in use");
            let hint = match used.is_empty() {
                true => format!("`manyhands channel login {channel}` makes one"),
                false => format!("there are: {}", used.join(", ")),
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
            ToolError::new(ErrorCode::Unavailable, message)
                .hint(format!("`manyhands channel login {channel}` sets it up"))
        })
    }

    /// The chat in which somebody last spoke to a conversation.
    async fn last_place(&self, session: Option<&str>) -> Result<Option<Place>, ToolError> {
        let Some(session) = session else {
            return Ok(None);
        };
        let record = self.0.store.sessions().get(session).await;
        let peer = record
            .map_err(|e| unkept(&e))?
            .and_then(|record| record.peer);
        Ok(peer.and_then(|peer| serde_json::from_str(&peer).ok()))
    }
}

/// How the keys of a message to a contact begin, so that it is found again by its `message_id`.
fn named_key(message_id: &str) -> String {
    let hash = Sha256::digest(message_id);
    let hex: String = hash.iter().take(16).map(|b| format!("{b:02x}")).collect();
    format!("{CONTACT}{hex}:")
}

impl Chats {
    /// The account of ours in a workspace.
    fn account_of_team(&self, channel: &str, team: &str) -> Result<String, ToolError> {
        let lines = self.lines();
        let mut known = Vec::new();
        let mut unknown = Vec::new();
        for ((_, account), line) in lines.iter().filter(|((of, _), _)| of == channel) {
            match line.state().me.as_ref().and_then(|me| me.team.clone()) {
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

    /// The platform's id of the message that is answered: one of ours by its `message_id`, or one that is
    /// named as the platform does. `None` where the platform has no id of it, and it cannot be quoted.
    async fn answered(&self, to: &Place, named: &str) -> Result<Option<String>, ToolError> {
        let row = self.0.records.said_as(&to.lane(), &named_key(named)).await;
        let Some(row) = row.map_err(|e| unkept(&e))? else {
            return match is_platform_id(&to.channel, named) {
                true => Ok(Some(named.to_owned())),
                false => {
                    let message =
                        format!("{named:?} is no message that contacts_send sent to this chat");
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

/// Whether a text can be a platform's own id of a message.
fn is_platform_id(channel: &str, id: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match channel {
        "telegram" => id.parse::<i64>().is_ok_and(|id| id > 0),
        "slack" => id
            .split_once('.')
            .is_some_and(|(seconds, rest)| digits(seconds) && digits(rest)),
        "discord" | "line" => digits(id),
        "whatsapp" => id.starts_with("wamid."),
        // Of a platform behind a bridge nothing is known, except that our own ids are none of its.
        _ => !id.starts_with("msg_"),
    }
}

/// Carries words for others.
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
        to: &Place,
        message: &contact_delivery::Message<'_>,
    ) -> Result<contact_delivery::Delivered, ToolError> {
        let reply_to = match message.reply_to {
            Some(named) => self.0.answered(to, named).await?,
            None => None,
        };
        let key = format!("{}{}", named_key(message.id), message.key);
        let told = self
            .0
            .tell(to, message.text, reply_to.as_deref(), &key, None, WAIT)
            .await?;
        Ok(contact_delivery::Delivered {
            id: told.id,
            state: told.state.word().to_owned(),
            reason: told.why,
        })
    }
}

#[async_trait]
impl job_delivery::Deliver for Carrier {
    async fn deliver(
        &self,
        target: job_delivery::Target,
        text: &str,
        key: &str,
    ) -> Result<job_delivery::Delivered, ToolError> {
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
                _ => return Ok(job_delivery::Delivered::NoChat),
            },
        };
        let told = self
            .0
            .tell(&place, text, None, key, Some(&session), Duration::ZERO)
            .await?;
        let _ = told.state; // it is kept; the outbox says what becomes of it
        Ok(job_delivery::Delivered::To(place.lane()))
    }
}

impl Chats {
    /// Notes in the files of contacts who spoke, and of whom, beside everything else.
    pub(super) async fn note_people(self, mut seen: mpsc::Receiver<Inbound>) {
        while let Some(inbound) = seen.recv().await {
            let contacts = self.0.people.contacts.clone();
            let noted = tokio::task::spawn_blocking(move || observe(&contacts, &inbound));
            let _ = noted.await; // it says itself what went wrong
        }
    }
}

fn observe(contacts: &Contacts, inbound: &Inbound) {
    let Some(mut sender) = Seen::in_place(&inbound.place) else {
        return;
    };
    sender.username = inbound.handle.clone();
    let mentions = match &inbound.what {
        Heard::Message(message) => &message.mentions[..],
        _ => &[],
    };
    let mentioned = mentions.iter().map(|one| Seen {
        channel: inbound.place.channel.clone(),
        user: one.id.clone(),
        username: one.handle.clone(),
        name: one.name.clone(),
        ..Seen::default()
    });
    let mentioned: Vec<Seen> = mentioned.collect();
    if let Err(error) = contacts.observe(&sender, &mentioned) {
        tracing::warn!(event = "contact_update_failed", %error, "failed to update the contact of a sender");
    }
}
