//! The two contact files and how they change together.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use manyhands_core::{Clock, ErrorCode, Timestamp, ToolError};
use manyhands_guard::Jail;

use super::document::{ContactSection, ContactsDocument};
use super::profile::Profile;
use super::sighting::Sighting;
use super::snapshot::{ContactSnapshot, NamedContact};
use crate::text_file::{FileVersion, TextFile, TextFileError, again};

/// The most active contacts; the ones that wrote longest ago become inactive.
pub const MAX_ACTIVE: usize = 150;
/// How long a contact is not messaged after a failed delivery.
pub const FAILURE_COOLDOWN: Duration = Duration::from_secs(72 * 60 * 60);

/// The largest `ACTIVE.md`.
const MAX_ACTIVE_BYTES: u64 = 1024 * 1024;
/// The largest `INACTIVE.md`.
const MAX_INACTIVE_BYTES: u64 = 4 * 1024 * 1024;
/// `last_interaction_at` is only rewritten when it is older than this, so that a lively chat does not write the file
/// with every message.
const INTERACTION_RESOLUTION: Duration = Duration::from_secs(60);
/// The most mentions recorded per message.
const MAX_MENTIONS: usize = 20;

/// A contact was not found or not changed.
#[derive(Debug, thiserror::Error)]
pub enum ContactError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] TextFileError),
    /// No contact has this id.
    #[error("there is no contact {0}")]
    Unknown(String),
    /// Several contacts match.
    #[error("{0} may be several contacts: {1}; name one by its contact_id")]
    Ambiguous(String, String),
}

impl From<ContactError> for ToolError {
    fn from(error: ContactError) -> Self {
        let message = error.to_string();
        match error {
            ContactError::File(error) => error.into(),
            ContactError::Unknown(_) => Self::not_found(message).hint(
                "list contacts with read_file on file_state_dir/contacts/ACTIVE.md and file_state_dir/contacts/INACTIVE.md",
            ),
            ContactError::Ambiguous(..) => Self::new(ErrorCode::InvalidArguments, message),
        }
    }
}

/// A contact and the file it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// The stored profile.
    pub profile: Profile,
    /// Whether it is in `ACTIVE.md`.
    pub active: bool,
}

/// The contacts of one gateway. Clones share one write lock. All calls block on file I/O.
#[derive(Clone)]
pub struct Contacts(Arc<ContactFiles>);

struct ContactFiles {
    active: TextFile,
    inactive: TextFile,
    writing: Mutex<()>,
    clock: Arc<dyn Clock>,
}

/// A file as it was read, and its edited content.
struct ContactsDraft {
    version: FileVersion,
    document: ContactsDocument,
}

impl Contacts {
    /// Uses the files below `folder`; see [`prepare`](Self::prepare).
    pub fn new(folder: &Jail, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(ContactFiles {
            active: TextFile::new(folder, "contacts/ACTIVE.md", MAX_ACTIVE_BYTES),
            inactive: TextFile::new(folder, "contacts/INACTIVE.md", MAX_INACTIVE_BYTES),
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
                match draft.version.text.is_none() {
                    true => Ok(sheet.write(&draft.version, &draft.document.text())?),
                    false => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// All contacts, active ones first.
    pub fn list(&self) -> Result<Vec<Contact>, ContactError> {
        let mut all: Vec<Contact> = Vec::new();
        for active in [true, false] {
            for section in self.0.draft(active)?.document.sections() {
                let profile = section.profile;
                let known = |one: &Contact| one.profile.contact_id == profile.contact_id;
                // A move that a crash interrupted leaves a contact in both files; the active entry comes first and wins.
                if !all.iter().any(known) {
                    all.push(Contact { profile, active });
                }
            }
        }
        Ok(all)
    }

    /// All contacts by names and addresses.
    pub fn snapshot(&self) -> Result<ContactSnapshot, ContactError> {
        let known = |contact: Contact| NamedContact {
            names: contact.profile.names(),
            ids: contact.profile.reachable_ids(),
            contact_id: contact.profile.contact_id,
        };
        let contacts = self.list()?.into_iter().map(known).collect();
        Ok(ContactSnapshot { contacts })
    }

    /// Finds a contact by id. `tg:@name` means the contact with that username and a private chat.
    pub fn find(&self, id: &str) -> Result<Contact, ContactError> {
        let id = id.trim();
        let all = self.list()?;
        let (mut found, exact): (Vec<Contact>, bool) = match id.strip_prefix("tg:@") {
            Some(name) => {
                let named = |one: &Contact| {
                    let known = one.profile.tg_username.trim_start_matches('@');
                    // Usernames alone reach nobody: a bot can only answer in a chat that the person opened.
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
        // Never the first of several: a message to the wrong person cannot be unsent.
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

    /// The contact that a sighting identifies.
    pub fn who(&self, seen: &Sighting) -> Result<Option<Contact>, ContactError> {
        let seen = seen.tidy();
        let mut all = self.list()?.into_iter();
        Ok(all.find(|one| seen.is(&one.profile)))
    }

    /// Records the sender of a message and the people it mentions. Unknown people become contacts; known ones are
    /// updated in the file they are in.
    pub fn observe(&self, sender: &Sighting, mentions: &[Sighting]) -> Result<(), ContactError> {
        let inner = &self.0;
        // Serialises our own writers, so that the retries below are left for conflicts with other programs.
        let _one = inner.writing.lock().unwrap_or_else(|e| e.into_inner());
        let now = inner.clock.now();
        inner.tried(|| {
            let (mut active, mut inactive) = (inner.draft(true)?, inner.draft(false)?);
            // Bounded: one message must not be able to fill the file with strangers.
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

/// Updates the contact that a sighting identifies; returns whether the file has one.
fn learn(document: &mut ContactsDocument, seen: &Sighting, spoke: Option<Timestamp>) -> bool {
    let all = document.sections();
    let Some(section) = all.iter().find(|section| seen.is(&section.profile)) else {
        return false;
    };
    let mut to = section.profile.clone();
    seen.teach(&mut to);
    if let Some(now) = spoke
        && (to != section.profile || now.since(to.last_spoke()) > INTERACTION_RESOLUTION)
    {
        seen.teach_now(&mut to, now);
    }
    if to != section.profile {
        document.change(section, &to);
    }
    true
}

impl ContactFiles {
    fn tried<T>(&self, work: impl FnMut() -> Result<T, ContactError>) -> Result<T, ContactError> {
        again(
            work,
            |error| matches!(error, ContactError::File(error) if error.is_race()),
        )
    }

    fn draft(&self, active: bool) -> Result<ContactsDraft, ContactError> {
        let (sheet, title) = match active {
            true => (&self.active, "# Active Contacts"),
            false => (&self.inactive, "# Inactive Contacts"),
        };
        let version = sheet.read()?;
        let now = self.clock.now().rfc3339();
        let document = ContactsDocument::of(title, version.text.as_deref(), &now);
        Ok(ContactsDraft { version, document })
    }

    /// Writes both files if they changed, and moves contacts beyond [`MAX_ACTIVE`] to the inactive ones.
    fn save(
        &self,
        mut active: ContactsDraft,
        mut inactive: ContactsDraft,
    ) -> Result<(), ContactError> {
        let mut all = active.document.sections();
        let over = all.len().saturating_sub(MAX_ACTIVE);
        if over > 0 {
            all.sort_by_key(|section| section.profile.last_spoke());
            all.truncate(over);
            // From the bottom up: removing lines would shift the positions of the sections below.
            all.sort_by_key(|section| std::cmp::Reverse(section.lines.start));
            for section in &all {
                give_way(&mut active.document, &mut inactive.document, section);
            }
        }
        // INACTIVE.md first: after a crash between the writes a moved contact is in both files, where ACTIVE.md wins,
        // instead of in neither.
        self.write(&self.inactive, inactive)?;
        self.write(&self.active, active)
    }

    fn write(&self, sheet: &TextFile, mut draft: ContactsDraft) -> Result<(), ContactError> {
        let before = draft.version.text.as_deref();
        // Unchanged files are not touched, and nothing is created just to hold no contact.
        if before == Some(&*draft.document.text())
            || before.is_none() && draft.document.sections().is_empty()
        {
            return Ok(());
        }
        draft.document.stamp(&self.clock.now().rfc3339());
        Ok(sheet.write(&draft.version, &draft.document.text())?)
    }
}

/// Moves a contact to the inactive ones, with all its text.
fn give_way(
    active: &mut ContactsDocument,
    inactive: &mut ContactsDocument,
    section: &ContactSection,
) {
    let id = &section.profile.contact_id;
    let all = inactive.sections();
    if let Some(old) = all.iter().find(|one| one.profile.contact_id == *id) {
        inactive.remove(old); // left there by a move that was interrupted
    }
    // On a copy, which is discarded if the other file cannot take the section.
    let mut rest = active.clone();
    let text = rest.remove(section);
    // Where INACTIVE.md cannot take it (an unclosed fence), the contact stays active rather than disappear.
    if inactive.adopt(&text, id) {
        *active = rest;
    }
}

#[cfg(test)]
mod tests;
