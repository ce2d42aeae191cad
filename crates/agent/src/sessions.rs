//! Listing sessions, reading their messages, changing their settings and shortening them.

use std::collections::HashMap;

use manyhands_core::{AgentId, ErrorCode, ToolError};
use manyhands_llm::ModelId;
use manyhands_store::{Rearrangement, SessionChange, SessionRecord, StoreError, TranscriptEntry};

use crate::archive;
use crate::compaction::{Compaction, place_to_cut_last};
use crate::key::{JOB_RUN, SessionKey};
use crate::outcome::spent;
use crate::runtime::{Minds, MindsInner};
use crate::settings::SessionSettings;
use crate::transcript::{MessagePage, MessageWindow, SessionMessage, StoredMessage};
use crate::usage::{TurnUsage, usage_of};

/// How often a change of settings is retried when others change them at the same time.
const MAX_ATTEMPTS: usize = 100;

/// Result of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// Number of messages that the model no longer sees.
    pub trimmed: usize,
    /// Number of messages that it still sees.
    pub kept: usize,
    /// Path of the archive.
    pub archived_to: String,
}

impl Minds {
    /// Sessions, most recently active first, and their total number.
    pub async fn list(
        &self,
        agent: Option<&AgentId>,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<SessionRecord>, u64), ToolError> {
        let sessions = &self.inner.sessions;
        let listed = sessions.list(agent, limit, offset).await?;
        let count = sessions.count().await?;
        Ok((listed, count))
    }

    /// Sessions other than job runs, most recently active first; their number, and the number of job runs left out.
    pub async fn conversations(
        &self,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<SessionRecord>, u64, u64), ToolError> {
        let sessions = &self.inner.sessions;
        let listed = sessions.list_conversations(limit, offset).await;
        let listed = listed?;
        let (_, runs) = self.list_under(JOB_RUN, None, 0, 0).await?;
        let all = sessions.count().await?;
        Ok((listed, all.saturating_sub(runs), runs))
    }

    /// Sessions whose keys continue with `rest` after the agent, most recently active first, and their number.
    pub async fn list_under(
        &self,
        rest: &str,
        agent: Option<&AgentId>,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<SessionRecord>, u64), ToolError> {
        let sessions = &self.inner.sessions;
        let listed = sessions.list_below(rest, agent, None, limit, offset).await;
        listed.map_err(ToolError::from)
    }

    /// Changes the settings and the label of a session.
    pub async fn patch(
        &self,
        key: &SessionKey,
        change: impl Fn(&mut SessionSettings, &mut Option<String>) + Send + Sync,
    ) -> Result<SessionRecord, ToolError> {
        let mut attempts = 0;
        loop {
            let session = self.get(key).await?;
            let (mut settings, mut label) = (self.settings(&session), session.label.clone());
            change(&mut settings, &mut label);
            let settings =
                serde_json::to_string(&settings).map_err(|e| ToolError::internal(e.to_string()))?;
            let before = session.label.clone();
            let acts = vec![SessionChange::Settings {
                was: (session.settings, session.label),
                settings,
                label,
            }];
            let (sessions, now) = (&self.inner.sessions, self.inner.now());
            match sessions.commit(key.as_str(), &session.id, acts, now).await {
                Ok(patched) => {
                    if patched.label != before {
                        self.inner.publish_changed(key.as_str());
                    }
                    return Ok(patched);
                }
                // Changed by somebody else since we read it: apply our change to theirs instead of overwriting it.
                Err(StoreError::Changed { .. }) if attempts < MAX_ATTEMPTS => attempts += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Changes how a session is arranged in lists.
    pub async fn arrange(
        &self,
        key: &SessionKey,
        change: Rearrangement,
    ) -> Result<SessionRecord, ToolError> {
        let session = self.get(key).await?;
        if change == Rearrangement::default() {
            return Ok(session);
        }
        let (sessions, now) = (&self.inner.sessions, self.inner.now());
        let acts = vec![SessionChange::Arrange(change)];
        let arranged = sessions
            .commit(key.as_str(), &session.id, acts, now)
            .await?;
        if arranged.arrangement != session.arrangement {
            self.inner.publish_changed(key.as_str());
        }
        Ok(arranged)
    }

    /// Sessions that are archived or not, pinned ones first, then most recently active first; and their number. With
    /// `rest` only those whose keys continue with it after the agent.
    pub async fn list_arranged(
        &self,
        rest: Option<&str>,
        agent: Option<&AgentId>,
        archived: bool,
        (limit, offset): (u32, u32),
    ) -> Result<(Vec<SessionRecord>, u64), ToolError> {
        let sessions = &self.inner.sessions;
        let listed = match rest {
            Some(rest) => {
                let only = Some(archived);
                sessions.list_below(rest, agent, only, limit, offset).await
            }
            None => sessions.list_arranged(agent, archived, limit, offset).await,
        };
        listed.map_err(ToolError::from)
    }

    /// A page of the messages of a session as text, and the number after which later ones follow.
    pub async fn page_as_text(
        &self,
        key: &SessionKey,
        window: MessageWindow,
        limit: u32,
    ) -> Result<(Vec<SessionMessage>, Option<i64>), ToolError> {
        let session = self.get(key).await?;
        let page = self.page(&session, window, limit).await?;
        let messages = page.messages.into_iter().map(StoredMessage::into_text);
        Ok((messages.collect(), page.next_after))
    }

    /// The last messages of a session, oldest first.
    pub async fn recent(
        &self,
        key: &SessionKey,
        limit: u32,
    ) -> Result<Vec<SessionMessage>, ToolError> {
        self.before(key, i64::MAX, limit).await
    }

    /// The last messages before number `before` that the model still sees, oldest first.
    pub async fn before(
        &self,
        key: &SessionKey,
        before: i64,
        limit: u32,
    ) -> Result<Vec<SessionMessage>, ToolError> {
        let session = self.get(key).await?;
        let page = self.messages(&session, before, limit).await?;
        Ok(page.into_iter().map(StoredMessage::into_text).collect())
    }

    /// Marks a conversation as trusted by the owner; returns whether it was tainted.
    pub async fn trust(&self, key: &SessionKey) -> Result<bool, ToolError> {
        let session = self.get(key).await?;
        if !session.taint.is_tainted() {
            return Ok(false);
        }
        let now = self.inner.clock.now();
        let sessions = &self.inner.sessions;
        let trusted = sessions.commit(&session.key, &session.id, vec![SessionChange::Trust], now);
        trusted.await.map(|_| true).map_err(ToolError::from)
    }

    /// Archives all but the last `keep` messages.
    pub async fn trim(&self, key: &SessionKey, keep: usize) -> Result<Compacted, ToolError> {
        let inner = &self.inner;
        // Held from the start, so that no archive is written for a session that is being deleted.
        let _changing = inner.changing.lock().await;
        let session = self.get(key).await?;
        let all = inner.conversation(&session).await?;
        let Some(cut) = place_to_cut_last(&all.entries, keep) else {
            return Ok(Compacted {
                trimmed: 0,
                kept: all.entries.len(),
                archived_to: String::new(),
            });
        };
        // Archive, then move the floor: a crash in between leaves the messages in both places.
        let archived_to = archive::write(inner, &session, &all.entries[..cut]).await?;
        // Read again: turns may have added messages and usage while the archive was written.
        let latest = self.get(key).await?;
        let latest = Some(latest).filter(|latest| latest.id == session.id);
        let mut latest = latest.unwrap_or(session); // reset meanwhile: the commit is refused
        latest.floor = all.entries[cut].seq;
        inner.change(latest).await?;
        Ok(Compacted {
            trimmed: cut,
            kept: all.entries.len() - cut,
            archived_to,
        })
    }

    /// Archives the older part of a session and replaces it with a model's summary. Nothing changes if no model answers, or
    /// if the session is busy.
    pub async fn compact(&self, key: &SessionKey) -> Result<Compacted, ToolError> {
        let inner = &self.inner;
        let agent = inner.agent(key.agent())?;
        let hold = self.hold_idle(key).await?;
        let session = self.get(key).await?;
        let all = inner.conversation(&session).await?;
        let Some(compaction) = Compaction::find(&all.entries, inner.env.limits().window) else {
            return Ok(Compacted {
                trimmed: 0,
                kept: all.entries.len(),
                archived_to: String::new(),
            });
        };
        let request = compaction.request(self.settings(&session).model.or(agent.model));
        let models = inner.env.models();
        // The hold's token: /stop cancels the summary like a turn.
        let reply = models.reply(&request, &mut |_| {}, &hold.stop).await;
        let reply = reply.map_err(|error| {
            let message = format!("summary failed, nothing was changed: {error}");
            ToolError::new(ErrorCode::Failed, message)
        })?;
        // Archive, then commit: a crash in between leaves the conversation as it was and an archive that is overwritten.
        let archived_to = archive::write(inner, &session, &compaction.older).await?;
        let (trimmed, kept_count) = (compaction.older.len(), compaction.newer.len());
        let (mut acts, _) = compaction.acts(&session, &reply.text());
        acts.push(SessionChange::Spend(usage_of(&reply, inner.now())));
        let committed = inner
            .sessions
            .commit(key.as_str(), &session.id, acts, inner.now());
        committed.await?;
        Ok(Compacted {
            trimmed,
            kept: kept_count,
            archived_to,
        })
    }

    /// The messages before number `before` that the model still sees, oldest first, with times and usage.
    pub async fn messages(
        &self,
        session: &SessionRecord,
        before: i64,
        limit: u32,
    ) -> Result<Vec<StoredMessage>, ToolError> {
        let page = self.page(session, MessageWindow::Before(before), limit);
        page.await.map(|page| page.messages)
    }

    /// A page of the messages that the model still sees.
    pub async fn page(
        &self,
        session: &SessionRecord,
        window: MessageWindow,
        limit: u32,
    ) -> Result<MessagePage, ToolError> {
        let sessions = &self.inner.sessions;
        let id = session.id.as_str();
        let (mut entries, before) = match window {
            MessageWindow::Before(before) => {
                (sessions.entries_before(id, before, limit).await?, before)
            }
            MessageWindow::Around(seq) => {
                let mut entries = sessions.entries_before(id, seq, limit / 2).await?;
                let left = limit - u32::try_from(entries.len()).unwrap_or(limit);
                entries.extend(sessions.entries(id, seq, left).await?);
                let before = entries.last().map_or(seq, |last| last.seq + 1);
                (entries, before)
            }
            MessageWindow::After(seq) => {
                let entries = sessions.entries(id, seq.saturating_add(1), limit).await?;
                let before = entries.last().map_or(seq, |last| last.seq + 1);
                (entries, before)
            }
        };
        entries.retain(|entry| entry.seq >= session.floor);
        let spent = self.inner.spent_in(session, &entries, before).await;
        let mut spent = spent?;
        let last = entries.last().map(|last| last.seq);
        let next_after = match (window, last) {
            (MessageWindow::Before(_), _) | (_, None) => None,
            (_, Some(last)) => {
                let next = sessions.entries(id, last + 1, 1).await?;
                (!next.is_empty()).then_some(last)
            }
        };
        let shown = entries.into_iter().filter_map(|entry| {
            let usage = spent.remove(&entry.seq);
            StoredMessage::read(entry, usage)
        });
        Ok(MessagePage {
            messages: shown.collect(),
            next_after,
        })
    }

    /// Number of messages that the model still sees, by session key; sessions without any are left out.
    pub async fn message_counts(
        &self,
        listed: &[SessionRecord],
    ) -> Result<HashMap<String, u64>, ToolError> {
        let counts = self.inner.sessions.shown_counts(listed).await;
        counts.map_err(ToolError::from)
    }

    /// Number of messages of a session that the model still sees.
    pub async fn message_count(&self, session: &SessionRecord) -> Result<u64, ToolError> {
        let sessions = &self.inner.sessions;
        let count = sessions.count_entries(&session.id, session.floor).await;
        count.map_err(ToolError::from)
    }

    /// The session with this key, created if it does not exist, and marked as active.
    pub async fn open(&self, key: &SessionKey) -> Result<SessionRecord, ToolError> {
        self.inner.agent(key.agent())?;
        self.inner.session(key).await?;
        let _changing = self.inner.changing.lock().await;
        let mut session = self.get(key).await?;
        session.last_active = self.inner.now();
        self.inner.change(session).await
    }

    /// Whether a provider serves a model; the error lists the providers.
    pub fn knows(&self, model: &ModelId) -> Result<(), ToolError> {
        self.inner.env.knows(model)
    }
}

impl MindsInner {
    /// Usage of the turns that end in a page of messages, by the number of their last message. A turn counts once, even if a
    /// compaction copied parts of it.
    async fn spent_in(
        &self,
        session: &SessionRecord,
        page: &[TranscriptEntry],
        before: i64,
    ) -> Result<HashMap<i64, TurnUsage>, StoreError> {
        let mut lasts: HashMap<&str, i64> = HashMap::new();
        for entry in page {
            if let Some(turn) = &entry.turn {
                lasts.insert(turn, entry.seq);
            }
        }
        if before < session.next_seq {
            // A turn that continues on the next page ends there, not here.
            let next = self.sessions.entries(&session.id, before, 1).await?;
            let next = next.into_iter().next().and_then(|entry| entry.turn);
            if let Some(turn) = next {
                lasts.remove(turn.as_str());
            }
        }
        let turns: Vec<&str> = lasts.keys().copied().collect();
        let ends = self.sessions.turn_ends(&turns).await?;
        let spent = ends
            .iter()
            .filter_map(|end| Some((*lasts.get(end.id.as_str())?, spent(end)?)));
        Ok(spent.collect())
    }

    async fn change(&self, session: SessionRecord) -> Result<SessionRecord, ToolError> {
        let (key, id) = (session.key.clone(), session.id.clone());
        let acts = vec![SessionChange::Session(Box::new(session))];
        self.sessions
            .commit(&key, &id, acts, self.now())
            .await
            .map_err(ToolError::from)
    }
}
