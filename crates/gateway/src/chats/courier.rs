//! Carrying words to chats for others: tools, contacts and jobs.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_agent::contacts::{Contacts, Seen};
use manyhands_channels::{Heard, Inbound};
use manyhands_core::{ErrorCode, PeerKind, Place, ToolError};
use tokio::sync::mpsc;

use super::{Chats, unkept};
use crate::cron::{self, Cron};
use crate::families::People;
use crate::families::unified::contacts_send;

/// How long a tool waits to see what becomes of a message.
pub(crate) const WAIT: Duration = Duration::from_secs(10);

/// How the keys of messages to contacts begin: what becomes of them is noted there.
pub(super) const CONTACT: &str = "contact:";

/// Whom a message is for, as far as it is said.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Address<'a> {
    pub(crate) channel: Option<&'a str>,
    pub(crate) to: Option<&'a str>,
    pub(crate) kind: Option<PeerKind>,
    pub(crate) account: Option<&'a str>,
    /// The conversation whose last chat is meant where nothing is said.
    pub(crate) session: Option<&'a str>,
    /// The chat in which it is said.
    pub(crate) here: Option<&'a Place>,
}

impl Chats {
    /// Brings the words of contacts and jobs to chats.
    pub(crate) fn carry_for(&self, people: &People, cron: &Cron) {
        let carrier: Arc<Carrier> = Arc::new(Carrier(self.clone()));
        let _ = people.courier.set(carrier.clone()); // set here and nowhere else
        cron.delivers_by(carrier);
    }

    /// The chat that somebody means; `None` when nothing is named and nobody has written yet.
    pub(crate) async fn find(&self, address: Address<'_>) -> Result<Option<Place>, ToolError> {
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

/// Carries words for others.
struct Carrier(Chats);

#[async_trait]
impl contacts_send::Deliver for Carrier {
    fn account(&self, channel: &str, _team: Option<&str>) -> Option<String> {
        self.0.account_for(channel, None, None).ok()
    }

    async fn deliver(
        &self,
        to: &Place,
        text: &str,
        reply_to: Option<&str>,
        key: &str,
    ) -> Result<contacts_send::Delivered, ToolError> {
        let key = format!("{CONTACT}{key}");
        let told = self.0.tell(to, text, reply_to, &key, None, WAIT).await?;
        Ok(contacts_send::Delivered {
            id: told.id,
            state: told.state.word().to_owned(),
        })
    }
}

#[async_trait]
impl cron::Deliver for Carrier {
    async fn deliver(
        &self,
        target: cron::Target,
        text: &str,
        key: &str,
    ) -> Result<cron::Delivered, ToolError> {
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
                _ => return Ok(cron::Delivered::NoChat),
            },
        };
        let told = self
            .0
            .tell(&place, text, None, key, Some(&session), Duration::ZERO)
            .await?;
        let _ = told.state; // it is kept; the outbox says what becomes of it
        Ok(cron::Delivered::To(place.lane()))
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
        tracing::warn!(%error, "the contacts could not be brought up to date");
    }
}
