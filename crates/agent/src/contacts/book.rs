//! The two files of contacts, and who may write them when.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use manyhands_core::{Clock, ErrorCode, Timestamp, ToolError};
use manyhands_guard::Jail;

use super::document::{Document, Section};
use super::profile::Profile;
use super::seen::Seen;
use super::snapshot::{Known, Snapshot};
use crate::pages::{Page, PageError, Sheet, again};

/// How many contacts are active at most; those who spoke longest ago give way.
pub const MAX_ACTIVE: usize = 150;
/// How long nothing is sent to a contact after a failure.
pub const FAILURE_COOLDOWN: Duration = Duration::from_secs(72 * 60 * 60);

/// The largest `ACTIVE.md`.
const MAX_ACTIVE_BYTES: u64 = 1024 * 1024;
/// The largest `INACTIVE.md`.
const MAX_INACTIVE_BYTES: u64 = 4 * 1024 * 1024;
/// How old the last word of somebody has to be before it is worth writing a newer one down.
const LATELY: Duration = Duration::from_secs(60);
/// The most people one message may speak of.
const MAX_MENTIONS: usize = 20;

/// Why a contact was not found or not changed.
#[derive(Debug, thiserror::Error)]
pub enum ContactError {
    /// A file could not be read or written.
    #[error(transparent)]
    Page(#[from] PageError),
    /// Nobody is called like that.
    #[error("there is no contact {0}")]
    Unknown(String),
    /// Several are.
    #[error("{0} may be several contacts: {1}; name one by its contact_id")]
    Ambiguous(String, String),
}

impl From<ContactError> for ToolError {
    fn from(error: ContactError) -> Self {
        let message = error.to_string();
        match error {
            ContactError::Page(error) => error.into(),
            ContactError::Unknown(_) => Self::not_found(message).hint(
                "see who there is with read_file on file_state_dir/contacts/ACTIVE.md and file_state_dir/contacts/INACTIVE.md",
            ),
            ContactError::Ambiguous(..) => Self::new(ErrorCode::InvalidArguments, message),
        }
    }
}

/// A contact, and in which file it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// What is known.
    pub profile: Profile,
    /// Whether it is among the active ones.
    pub active: bool,
}

/// The contacts of one gateway. Clones are the same, and one of them writes at a time. All calls block.
#[derive(Clone)]
pub struct Contacts(Arc<Inner>);

struct Inner {
    active: Sheet,
    inactive: Sheet,
    writing: Mutex<()>,
    clock: Arc<dyn Clock>,
}

/// A file as it was read and as it is to be.
struct Draft {
    page: Page,
    document: Document,
}

impl Contacts {
    /// The files below `folder`; see [`prepare`](Self::prepare).
    pub fn new(folder: &Jail, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            active: Sheet::new(folder, "contacts/ACTIVE.md", MAX_ACTIVE_BYTES),
            inactive: Sheet::new(folder, "contacts/INACTIVE.md", MAX_INACTIVE_BYTES),
            writing: Mutex::default(),
            clock,
        }))
    }

    /// Creates missing files, each with a profile template, so that a model that reads them learns the
    /// format.
    pub fn prepare(&self) -> Result<(), ContactError> {
        let inner = &self.0;
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        for (active, sheet) in [(true, &inner.active), (false, &inner.inactive)] {
            inner.tried(|| {
                let draft = inner.draft(active)?;
                match draft.page.text.is_none() {
                    true => Ok(sheet.write(&draft.page, &draft.document.text())?),
                    false => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// Everybody, the active ones first.
    pub fn list(&self) -> Result<Vec<Contact>, ContactError> {
        let mut all: Vec<Contact> = Vec::new();
        for active in [true, false] {
            for section in self.0.draft(active)?.document.sections() {
                let profile = section.profile;
                let known = |one: &Contact| one.profile.contact_id == profile.contact_id;
                if !all.iter().any(known) {
                    all.push(Contact { profile, active });
                }
            }
        }
        Ok(all)
    }

    /// Everybody by names and addresses.
    pub fn snapshot(&self) -> Result<Snapshot, ContactError> {
        let known = |contact: Contact| Known {
            names: contact.profile.names(),
            ids: contact.profile.reachable_ids(),
            contact_id: contact.profile.contact_id,
        };
        let contacts = self.list()?.into_iter().map(known).collect();
        Ok(Snapshot { contacts })
    }

    /// The contact that an id means. `tg:@name` means whoever has that name and a private chat.
    pub fn find(&self, id: &str) -> Result<Contact, ContactError> {
        let id = id.trim();
        let all = self.list()?;
        let (mut found, exact): (Vec<Contact>, bool) = match id.strip_prefix("tg:@") {
            Some(name) => {
                let named = |one: &Contact| {
                    let known = one.profile.tg_username.trim_start_matches('@');
                    known.eq_ignore_ascii_case(name) && !one.profile.tg_private_chat_id.is_empty()
                };
                (
                    all.iter().filter(|one| named(one)).cloned().collect(),
                    false,
                )
            }
            None => {
                let is = |one: &&Contact| one.profile.contact_id == id;
                (all.iter().filter(is).cloned().collect(), true)
            }
        };
        if found.is_empty() && !exact {
            let is = |one: &&Contact| one.profile.contact_id.eq_ignore_ascii_case(id);
            found = all.iter().filter(is).cloned().collect();
        }
        if found.is_empty()
            && let Some(chat) = id.strip_prefix("tg:")
        {
            let is = |one: &&Contact| one.profile.tg_private_chat_id == chat;
            found = all.iter().filter(is).cloned().collect();
        }
        match found.len() {
            0 => Err(ContactError::Unknown(id.to_owned())),
            1 => Ok(found.remove(0)),
            _ => {
                let ids = found.iter().map(|one| one.profile.contact_id.as_str());
                let ids = ids.collect::<Vec<_>>().join(", ");
                Err(ContactError::Ambiguous(id.to_owned(), ids))
            }
        }
    }

    /// Whoever was seen like that.
    pub fn who(&self, seen: &Seen) -> Result<Option<Contact>, ContactError> {
        let seen = seen.tidy();
        let mut all = self.list()?.into_iter();
        Ok(all.find(|one| seen.is(&one.profile)))
    }

    /// Takes note of whoever sent a message and of whom it speaks. Who is not known yet becomes a contact; of
    /// those who are, only what was seen changes, in the file they stand in.
    pub fn observe(&self, sender: &Seen, mentions: &[Seen]) -> Result<(), ContactError> {
        let inner = &self.0;
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        let now = inner.clock.now();
        inner.tried(|| {
            let (mut active, mut inactive) = (inner.draft(true)?, inner.draft(false)?);
            let mentions = mentions.iter().take(MAX_MENTIONS);
            let everybody = mentions.map(|seen| (seen.tidy(), None));
            let speaker = std::iter::once((sender.tidy(), Some(now)));
            for (seen, spoke) in everybody.chain(speaker) {
                let known = learn(&mut active.document, &seen, spoke)
                    || learn(&mut inactive.document, &seen, spoke);
                if !known {
                    let mut profile = Profile::default();
                    let Some(id) = seen.contact_id() else {
                        continue;
                    };
                    profile.contact_id = id;
                    match spoke {
                        Some(now) => seen.teach_now(&mut profile, now),
                        None => seen.teach(&mut profile),
                    }
                    active.document.add(&profile);
                }
            }
            inner.save(active, inactive)
        })
    }

    /// Records whether the contact with this private chat could be reached. An unreachable contact is in
    /// cooldown until that expires or a delivery succeeds.
    pub fn sent_to(&self, channel: &str, chat: &str, well: bool) -> Result<(), ContactError> {
        let has = |profile: &Profile| {
            let own: [&str; 2] = match channel {
                "telegram" => [&profile.tg_private_chat_id, ""],
                "slack" => [&profile.slack_dm_channel_id, &profile.slack_user_id],
                "line" => [&profile.line_user_id, ""],
                "discord" => [&profile.discord_dm_channel_id, &profile.discord_user_id],
                "whatsapp" => [&profile.wa_id, ""],
                _ => ["", ""],
            };
            !chat.is_empty() && own.contains(&chat)
        };
        self.note(well, &has)
    }

    fn note(&self, well: bool, is: &dyn Fn(&Profile) -> bool) -> Result<(), ContactError> {
        let inner = &self.0;
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        let until = match well {
            true => String::new(),
            false => inner.clock.now().plus(FAILURE_COOLDOWN).rfc3339(),
        };
        inner.tried(|| {
            let (mut active, mut inactive) = (inner.draft(true)?, inner.draft(false)?);
            for draft in [&mut active, &mut inactive] {
                let all = draft.document.sections();
                let Some(section) = all.iter().find(|section| is(&section.profile)) else {
                    continue;
                };
                let mut to = section.profile.clone();
                to.cooldown_until.clone_from(&until);
                draft.document.change(section, &to);
                break;
            }
            inner.save(active, inactive)
        })
    }
}

/// Tells the contact that was seen what that says of them; whether there is one in this file.
fn learn(document: &mut Document, seen: &Seen, spoke: Option<Timestamp>) -> bool {
    let all = document.sections();
    let Some(section) = all.iter().find(|section| seen.is(&section.profile)) else {
        return false;
    };
    let mut to = section.profile.clone();
    seen.teach(&mut to);
    if let Some(now) = spoke
        && (to != section.profile || now.since(to.last_spoke()) > LATELY)
    {
        seen.teach_now(&mut to, now);
    }
    if to != section.profile {
        document.change(section, &to);
    }
    true
}

impl Inner {
    fn tried<T>(&self, work: impl FnMut() -> Result<T, ContactError>) -> Result<T, ContactError> {
        again(
            work,
            |error| matches!(error, ContactError::Page(error) if error.is_race()),
        )
    }

    fn draft(&self, active: bool) -> Result<Draft, ContactError> {
        let (sheet, title) = match active {
            true => (&self.active, "# Active Contacts"),
            false => (&self.inactive, "# Inactive Contacts"),
        };
        let page = sheet.read()?;
        let now = self.clock.now().rfc3339();
        let document = Document::of(title, page.text.as_deref(), &now);
        Ok(Draft { page, document })
    }

    /// Writes what changed. Who gives way is written among the inactive ones before they are taken out, so that
    /// nobody is lost; whoever stands in both files is active.
    fn save(&self, mut active: Draft, mut inactive: Draft) -> Result<(), ContactError> {
        let mut all = active.document.sections();
        let over = all.len().saturating_sub(MAX_ACTIVE);
        if over > 0 {
            all.sort_by_key(|section| section.profile.last_spoke());
            all.truncate(over);
            // From the bottom up, so that the places of the others stay.
            all.sort_by_key(|section| std::cmp::Reverse(section.lines.start));
            for section in &all {
                give_way(&mut active.document, &mut inactive.document, section);
            }
        }
        self.write(&self.inactive, inactive)?;
        self.write(&self.active, active)
    }

    fn write(&self, sheet: &Sheet, mut draft: Draft) -> Result<(), ContactError> {
        let before = draft.page.text.as_deref();
        if before == Some(&*draft.document.text())
            || before.is_none() && draft.document.sections().is_empty()
        {
            return Ok(());
        }
        draft.document.stamp(&self.clock.now().rfc3339());
        Ok(sheet.write(&draft.page, &draft.document.text())?)
    }
}

/// Moves a contact to the inactive ones, with everything that was written about it.
fn give_way(active: &mut Document, inactive: &mut Document, section: &Section) {
    let id = &section.profile.contact_id;
    let all = inactive.sections();
    if let Some(old) = all.iter().find(|one| one.profile.contact_id == *id) {
        inactive.remove(old); // a move that was cut off left it there
    }
    let mut rest = active.clone();
    let text = rest.remove(section);
    if inactive.adopt(&text, id) {
        *active = rest;
    }
}

#[cfg(test)]
mod tests;
