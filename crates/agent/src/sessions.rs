//! Looking at sessions and changing them: lists, settings, resets, archives.

use std::collections::HashMap;
use std::sync::Arc;

use manyhands_core::{AgentId, ErrorCode, Timestamp, ToolError};
use manyhands_llm::{Block, Message, ModelId, ReplyBlock};
use manyhands_store::{SessionChange, SessionRecord, StoreError, TranscriptEntry};
use uuid::Uuid;

use crate::archive;
use crate::conversation::{Conversation, made};
use crate::event::TurnUsage;
use crate::fence;
use crate::key::{JOB_RUN, SessionKey};
use crate::minds::{Inner, Minds};
use crate::outcome::spent;
use crate::pictures::{PictureRef, refs};
use crate::settings::{ResetPolicy, SessionSettings};
use crate::shape::Made;
use crate::turn::{Room, place_to_cut_last, usage};

/// How often a session that changes meanwhile is looked at before a reset is given up.
const MAX_LOOKS: usize = 100;

/// One message of a session, in words.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SessionMessage")]
pub struct Spoken {
    /// Its number in the session.
    pub seq: i64,
    /// `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// What was said.
    pub text: String,
    /// The tools that were called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The pictures in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PictureRef>,
    /// What the turn that ends with this message used up; absent in all other messages, and where it
    /// is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TurnUsage>,
}

/// One message of a session, as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Its number in the session.
    pub seq: i64,
    /// When it was said.
    pub at: Timestamp,
    /// The message.
    pub message: Message,
    /// What the turn that ends with it used up, where that is known.
    pub usage: Option<TurnUsage>,
    /// For what tools gave: how each call went, where that is known.
    pub made: Vec<Option<Made>>,
}

/// What a reset did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// The id before.
    pub old: String,
    /// The id after.
    pub new: String,
    /// How many messages went into the archive.
    pub archived: usize,
    /// Where that is; empty when nothing was said.
    pub archived_to: String,
    /// The tokens that were counted before.
    pub tokens: i64,
}

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// How many messages are no longer shown.
    pub trimmed: usize,
    /// How many still are.
    pub kept: usize,
    /// Where the others are.
    pub archived_to: String,
}

impl Minds {
    /// Sessions, the latest active first.
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

    /// Sessions that are no runs of jobs, the latest active first; how many there are, and how many
    /// runs of jobs were left out.
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

    /// Sessions whose keys go on with `rest` after the agent, the latest active first, and how many
    /// there are.
    pub async fn list_under(
        &self,
        rest: &str,
        agent: Option<&AgentId>,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<SessionRecord>, u64), ToolError> {
        let sessions = &self.inner.sessions;
        let listed = sessions.list_under(rest, agent, limit, offset).await;
        listed.map_err(ToolError::from)
    }

    /// One session.
    pub async fn get(&self, key: &SessionKey) -> Result<SessionRecord, ToolError> {
        let found = self.inner.sessions.get(key.as_str()).await?;
        found.ok_or_else(|| {
            ToolError::not_found(format!("there is no session {key}"))
                .hint("`manyhands sessions` lists them; a message to a new key makes one")
        })
    }

    /// What is set for a session.
    pub fn settings(&self, session: &SessionRecord) -> SessionSettings {
        serde_json::from_str(&session.settings).unwrap_or_default()
    }

    /// How many inputs wait in a session.
    pub async fn queued(&self, key: &SessionKey) -> Result<usize, ToolError> {
        let open = self.inner.sessions.open_turns(key.as_str()).await;
        open.map(|open| open.len()).map_err(ToolError::from)
    }

    /// Changes what is set for a session.
    pub async fn patch(
        &self,
        key: &SessionKey,
        change: impl Fn(&mut SessionSettings, &mut Option<String>) + Send + Sync,
    ) -> Result<SessionRecord, ToolError> {
        let mut looks = 0;
        loop {
            let session = self.get(key).await?;
            let (mut settings, mut label) = (self.settings(&session), session.label.clone());
            change(&mut settings, &mut label);
            let settings =
                serde_json::to_string(&settings).map_err(|e| ToolError::internal(e.to_string()))?;
            let acts = vec![SessionChange::Settings {
                was: (session.settings, session.label),
                settings,
                label,
            }];
            let (sessions, now) = (&self.inner.sessions, self.inner.now());
            match sessions.commit(key.as_str(), &session.id, acts, now).await {
                // Somebody else changed it meanwhile: theirs stays, and ours is added.
                Err(StoreError::Changed { .. }) if looks < MAX_LOOKS => looks += 1,
                done => return done.map_err(ToolError::from),
            }
        }
    }

    /// The last messages of a session, oldest first.
    pub async fn recent(&self, key: &SessionKey, limit: u32) -> Result<Vec<Spoken>, ToolError> {
        self.before(key, i64::MAX, limit).await
    }

    /// The last messages before number `before` that a model is still shown, oldest first.
    pub async fn before(
        &self,
        key: &SessionKey,
        before: i64,
        limit: u32,
    ) -> Result<Vec<Spoken>, ToolError> {
        let session = self.get(key).await?;
        let page = self.messages(&session, before, limit).await?;
        let said = page.into_iter().map(|one| Spoken {
            usage: one.usage,
            ..spoken(one.seq, &one.message)
        });
        Ok(said.collect())
    }

    /// Begins a session anew; what was said is archived.
    pub async fn reset(&self, key: &SessionKey) -> Result<Reset, ToolError> {
        self.get(key).await?;
        let _hold = self.inner.take_over(key.as_str()).await;
        let session = self.get(key).await?;
        self.inner.reset(session).await.map(|(reset, _)| reset)
    }

    /// The owner trusts a conversation as it is now; whether it was tainted.
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

    /// Leaves out all but the last messages from what a model is shown; they are archived.
    pub async fn trim(&self, key: &SessionKey, keep: usize) -> Result<Compacted, ToolError> {
        let inner = &self.inner;
        // Held from the start, so that nothing is archived of a session that is being deleted.
        let _changing = inner.changing.lock().await;
        let session = self.get(key).await?;
        let all = inner.conversation(&session).await?;
        let Some(cut) = place_to_cut_last(&all.said, keep) else {
            return Ok(Compacted {
                trimmed: 0,
                kept: all.said.len(),
                archived_to: String::new(),
            });
        };
        let archived_to = archive::keep(inner, &session, &all.said[..cut]).await?;
        let latest = self.get(key).await?;
        let latest = Some(latest).filter(|latest| latest.id == session.id);
        let mut latest = latest.unwrap_or(session); // begun anew meanwhile: refused as changed
        latest.floor = all.said[cut].seq;
        inner.change(latest).await?;
        Ok(Compacted {
            trimmed: cut,
            kept: all.said.len() - cut,
            archived_to,
        })
    }

    /// Has the older part of a session summarised; it is archived. Nothing is changed when no
    /// model answers, or while the session is being worked on.
    pub async fn compact(&self, key: &SessionKey) -> Result<Compacted, ToolError> {
        let inner = &self.inner;
        let agent = inner.agent(key.agent())?;
        let hold = self.alone(key).await?;
        let session = self.get(key).await?;
        let all = inner.conversation(&session).await?;
        let Some(room) = Room::find(&all.said, inner.house.limits().window) else {
            return Ok(Compacted {
                trimmed: 0,
                kept: all.said.len(),
                archived_to: String::new(),
            });
        };
        let request = room.request(self.settings(&session).model.or(agent.model));
        let models = inner.house.models();
        let reply = models.reply(&request, &mut |_| {}, &hold.stop).await;
        let reply = reply.map_err(|error| {
            let message = format!("no model made a summary, so nothing was changed: {error}");
            ToolError::new(ErrorCode::Failed, message)
        })?;
        let archived_to = archive::keep(inner, &session, &room.older).await?;
        let (trimmed, kept_count) = (room.older.len(), room.newer.len());
        let (mut acts, _) = room.acts(&session, &reply.text());
        acts.push(SessionChange::Spend(usage(&reply, inner.now())));
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

    /// The messages that a model is still shown before number `before`, oldest first, with their
    /// numbers and times, and what their turns used up.
    pub async fn messages(
        &self,
        session: &SessionRecord,
        before: i64,
        limit: u32,
    ) -> Result<Vec<Kept>, ToolError> {
        let sessions = &self.inner.sessions;
        let entries = sessions.entries_before(&session.id, before, limit).await;
        let mut entries = entries?;
        entries.retain(|entry| entry.seq >= session.floor);
        let spent = self.inner.spent_in(session, &entries, before).await;
        let mut spent = spent?;
        let shown = entries.into_iter().filter_map(|entry| {
            let message = serde_json::from_str(&entry.body).ok()?;
            Some(Kept {
                seq: entry.seq,
                at: entry.at,
                made: made(&message, &entry.body),
                message,
                usage: spent.remove(&entry.seq),
            })
        });
        Ok(shown.collect())
    }

    /// How many messages a model is still shown of each of these sessions, by their keys; one without
    /// any is left out.
    pub async fn message_counts(
        &self,
        listed: &[SessionRecord],
    ) -> Result<HashMap<String, u64>, ToolError> {
        let counts = self.inner.sessions.shown_counts(listed).await;
        counts.map_err(ToolError::from)
    }

    /// How many messages of a session a model is still shown.
    pub async fn message_count(&self, session: &SessionRecord) -> Result<u64, ToolError> {
        let sessions = &self.inner.sessions;
        let count = sessions.count_entries(&session.id, session.floor).await;
        count.map_err(ToolError::from)
    }

    /// The session of that key, made when it is not there.
    pub async fn open(&self, key: &SessionKey) -> Result<SessionRecord, ToolError> {
        self.inner.agent(key.agent())?;
        self.inner.session(key).await?;
        let _changing = self.inner.changing.lock().await;
        let mut session = self.get(key).await?;
        session.last_active = self.inner.now();
        self.inner.change(session).await
    }

    /// When an agent's sessions begin anew by themselves, unless they say otherwise.
    pub fn reset_policy(&self, agent: &AgentId) -> ResetPolicy {
        let agent = self.inner.house.agent(agent);
        agent.map(|agent| agent.reset).unwrap_or_default()
    }

    /// Whether there is anybody who could serve a model; the error says who there is.
    pub fn knows(&self, model: &ModelId) -> Result<(), ToolError> {
        self.inner.house.knows(model)
    }
}

impl Inner {
    /// What the turns used up that end in a page of messages, by the number of the last message of
    /// each. A turn is counted once, however much of it was taken over into a shorter conversation.
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
            // A turn that goes on after this page ends there.
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

    pub(crate) async fn conversation(
        &self,
        session: &SessionRecord,
    ) -> Result<Conversation, ToolError> {
        let loaded = Conversation::load(&self.sessions, &session.id, session.floor);
        loaded.await.map_err(ToolError::from)
    }

    async fn change(&self, session: SessionRecord) -> Result<SessionRecord, ToolError> {
        let (key, id) = (session.key.clone(), session.id.clone());
        let acts = vec![SessionChange::Session(Box::new(session))];
        self.sessions
            .commit(&key, &id, acts, self.now())
            .await
            .map_err(ToolError::from)
    }

    /// Begins a session anew. What is said while it is being archived is archived too: then it is
    /// looked at once more.
    async fn reset(&self, session: SessionRecord) -> Result<(Reset, SessionRecord), ToolError> {
        let mut session = session;
        for _ in 0..MAX_LOOKS {
            let all = self.conversation(&session).await?;
            let archived_to = archive::keep(self, &session, &all.said).await?;
            let _changing = self.changing.lock().await;
            let latest = self.sessions.get(&session.key).await?;
            let latest = latest.filter(|latest| latest.id == session.id);
            let latest = latest.unwrap_or_else(|| session.clone());
            let (fresh, now) = (self.begun_anew(&latest), self.now());
            let reset = Reset {
                old: session.id.clone(),
                new: fresh.id.clone(),
                archived: all.said.len(),
                archived_to,
                tokens: session.input_tokens + session.output_tokens,
            };
            let acts = vec![
                SessionChange::Unmoved(session.next_seq),
                SessionChange::Session(Box::new(fresh)),
            ];
            let (key, old) = (session.key.clone(), session.id.clone());
            match self.sessions.commit(&key, &old, acts, now).await {
                Ok(fresh) => return Ok((reset, fresh)),
                Err(StoreError::Changed { .. }) => {
                    let again = self.sessions.get(&key).await?;
                    session = again.ok_or_else(|| gone(&key))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let message = format!("{} changes all the time", session.key);
        Err(ToolError::new(ErrorCode::Conflict, message).hint("stop what runs in it with /stop"))
    }

    /// A session as it begins anew.
    fn begun_anew(&self, session: &SessionRecord) -> SessionRecord {
        let mut previous = session.previous.clone();
        previous.push(session.id.clone());
        let surplus = previous.len().saturating_sub(100);
        previous.drain(..surplus);
        SessionRecord {
            id: self.ids.next::<Uuid>().to_string(),
            previous,
            floor: session.next_seq,
            input_tokens: 0,
            output_tokens: 0,
            cost_micros: 0,
            last_reset: Some(self.now()),
            ..session.clone()
        }
    }

    /// The session, begun anew when its time has come.
    pub(crate) async fn reset_if_due(
        self: &Arc<Self>,
        key: &SessionKey,
        mut session: SessionRecord,
        now: Timestamp,
    ) -> Result<SessionRecord, ToolError> {
        let settings: SessionSettings = serde_json::from_str(&session.settings).unwrap_or_default();
        let of_agent = self.house.agent(key.agent()).map(|agent| agent.reset);
        let policy = settings.reset_policy.or(of_agent).unwrap_or_default();
        let due = session.next_seq > session.floor && self.is_due(policy, session.last_active, now);
        if due && let Some(_hold) = self.hold(key.as_str()) {
            session = self.reset(session).await?.1;
        }
        Ok(session)
    }

    fn is_due(&self, policy: ResetPolicy, last: Timestamp, now: Timestamp) -> bool {
        let ago = now.0.saturating_sub(last.0);
        match policy {
            ResetPolicy::Manual => false,
            ResetPolicy::Idle { idle_minutes } => ago >= i64::from(idle_minutes) * 60_000,
            ResetPolicy::Daily { at_hour } => {
                // Whether the hour struck since somebody last spoke.
                let day = 86_400_000;
                let since =
                    self.house.local_time().since_midnight_ms - i64::from(at_hour) * 3_600_000;
                ago >= since.rem_euclid(day)
            }
        }
    }
}

pub(crate) fn gone(key: &str) -> ToolError {
    ToolError::not_found(format!("there is no session {key}"))
}

/// A message in words.
pub(crate) fn spoken(seq: i64, message: &Message) -> Spoken {
    fn texts(content: &[Block], read: fn(&str) -> &str) -> String {
        let text = content.iter().map(|block| match block {
            Block::Text { text } => read(text),
            Block::Image { .. } => "[a picture]",
        });
        text.collect::<Vec<_>>().join("\n")
    }
    let pictures = refs(seq, message);
    match message {
        Message::User { content } => Spoken {
            seq,
            role: "user",
            text: texts(content, |said| said), // that it is somebody else's stays visible
            tools: Vec::new(),
            pictures,
            usage: None,
        },
        Message::Tool { results } => Spoken {
            seq,
            role: "tool",
            text: results
                .iter()
                .map(|result| texts(&result.content, fence::inside))
                .collect::<Vec<_>>()
                .join("\n"),
            tools: results.iter().map(|result| result.name.clone()).collect(),
            pictures,
            usage: None,
        },
        Message::Assistant { content } => {
            let mut spoken = Spoken {
                seq,
                role: "assistant",
                text: String::new(),
                tools: Vec::new(),
                pictures,
                usage: None,
            };
            for block in content {
                match block {
                    ReplyBlock::Text { text, .. } => spoken.text.push_str(text),
                    ReplyBlock::Call(call) => spoken.tools.push(call.name.clone()),
                    ReplyBlock::Thinking { .. } => {}
                }
            }
            spoken
        }
    }
}
