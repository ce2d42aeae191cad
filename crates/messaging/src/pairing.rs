//! Pairing: unknown senders get a code that the owner approves.

use manyhands_channels::Inbound;
use manyhands_core::{ErrorCode, ToolError};
use manyhands_store::{SenderRow, SenderState};

use super::Chats;
use super::outgoing::OutgoingText;

/// How much of a stranger's first message is stored.
const SAID: usize = 200;
/// The alphabet of codes, without letters that look alike.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// A sender by id or by pairing code.
#[derive(Debug, Clone)]
pub struct Pair<'a> {
    /// The platform.
    pub channel: &'a str,
    /// A sender's id there, or a pairing code.
    pub who: &'a str,
}

/// The decision about a sender.
#[derive(Debug, Clone)]
pub struct Paired {
    pub channel: String,
    pub id: String,
    pub name: Option<String>,
}

impl Chats {
    /// Tells a stranger, once, how to pair.
    pub(super) async fn meet(&self, inbound: &Inbound, text: &str) -> Result<(), ToolError> {
        let place = &inbound.place;
        let sender = place.sender.clone().unwrap_or_default();
        let code = self.code();
        let row = SenderRow {
            channel: place.channel.clone(),
            id: sender.clone(),
            name: place.sender_name.clone(),
            handle: place.sender_handle.clone(),
            state: SenderState::Asking,
            owner: false,
            code: Some(code.clone()),
            first_message: Some(text.chars().take(SAID).collect()),
            chat: place.clone(),
            requested: self.0.clock.now(),
            decided: None,
        };
        let new = self.0.records.request_pairing(&row).await;
        if !new? {
            return Ok(());
        }
        tracing::info!(
            event = "pairing_requested",
            channel = place.channel,
            sender,
            "new pairing request; list requests with `manyhands pair list`"
        );
        let text = format!(
            "Hello. I only speak with people my owner knows. If you are my owner, run\n\n`manyhands pair approve {} {code} --owner`\n\nElse ask them to run it without `--owner`.",
            place.channel
        );
        let key = format!("pair:{}:{sender}:{code}", place.channel);
        let words = OutgoingText {
            ticket: inbound.ticket.clone(),
            ..OutgoingText::new(place, &text, &key)
        };
        let rows = self.rows(words)?;
        self.put(&rows).await.map(drop)
    }

    fn code(&self) -> String {
        let bytes: [u8; 8] = self.0.ids.random();
        let letter = |byte: &u8| char::from(LETTERS[usize::from(byte % 32)]);
        bytes.iter().map(letter).collect()
    }

    /// Approves a sender, as the owner or as a guest.
    pub async fn approve(&self, pair: Pair<'_>, owner: bool) -> Result<Paired, ToolError> {
        let row = self.meant(&pair).await?;
        self.decide(&row, SenderState::Approved, owner).await?;
        let text = match owner {
            true => "Welcome. You are known here as the owner.",
            false => "Welcome. You are known here now; write to me again.",
        };
        let key = format!("paired:{}:{}:{}", row.channel, row.id, self.0.clock.now().0);
        let rows = self.rows(OutgoingText::new(&row.chat, text, &key))?;
        self.put(&rows).await?;
        Ok(paired(row))
    }

    /// Rejects a sender, without telling them.
    pub async fn reject(&self, pair: Pair<'_>) -> Result<Paired, ToolError> {
        let row = self.meant(&pair).await?;
        self.decide(&row, SenderState::Rejected, false).await?;
        Ok(paired(row))
    }

    /// Forgets a sender, who becomes a stranger again.
    pub async fn forget(&self, pair: Pair<'_>) -> Result<Paired, ToolError> {
        let row = self.meant(&pair).await?;
        let done = self.0.records.remove_sender(&row.channel, &row.id).await;
        done?;
        self.learn_known().await?;
        Ok(paired(row))
    }

    async fn decide(
        &self,
        row: &SenderRow,
        state: SenderState,
        owner: bool,
    ) -> Result<(), ToolError> {
        let decided = self
            .0
            .records
            .decide_sender(&row.channel, &row.id, state, owner)
            .await;
        decided?;
        self.learn_known().await
    }

    async fn meant(&self, pair: &Pair<'_>) -> Result<SenderRow, ToolError> {
        let rows = self.0.records.senders().await?;
        let code = pair.who.trim().to_ascii_uppercase();
        let fits = |row: &SenderRow| {
            row.channel == pair.channel
                && (row.id == pair.who || row.code.as_deref() == Some(code.as_str()))
        };
        rows.into_iter().find(fits).ok_or_else(|| {
            let message = format!(
                "no pairing request on {} matches {}",
                pair.channel, pair.who
            );
            let hint =
                "`manyhands pair list` shows pairing requests; the sender has to write first";
            ToolError::new(ErrorCode::NotFound, message).hint(hint)
        })
    }
}

fn paired(row: SenderRow) -> Paired {
    Paired {
        channel: row.channel,
        id: row.id,
        name: row.name,
    }
}
