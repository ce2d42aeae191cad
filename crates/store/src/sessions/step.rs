//! One step of a conversation: everything it changes, in one transaction.

use manyhands_core::{Taint, Timestamp};

use super::Sessions;
use super::record::{
    CallRecord, CallState, Rearrangement, SESSION_COLUMNS, SessionRecord, TurnState,
};
use super::usage::Usage;
use crate::error::StoreError;
use crate::sql::{Statement, Tx};

/// A part of a step.
#[derive(Debug, Clone)]
pub enum SessionChange {
    /// Something was said or done.
    Append {
        /// The turn it belongs to.
        turn: Option<String>,
        /// What it is.
        kind: &'static str,
        /// What was said, as JSON.
        body: String,
    },
    /// A turn came to another state.
    Turn {
        /// The turn.
        id: String,
        /// Where it stands now.
        state: TurnState,
        /// How far it is, when that changed.
        work: Option<String>,
        /// What came of it.
        outcome: Option<String>,
    },
    /// A reply asked for a tool.
    AddCall(CallRecord),
    /// A call came to another state.
    Call {
        /// The turn.
        turn: String,
        /// Which reply of the turn.
        step: i64,
        /// Which of the reply's calls.
        place: i64,
        /// Where it stands now.
        state: CallState,
        /// What came of it.
        outcome: Option<String>,
    },
    /// A model was used.
    Spend(Usage),
    /// The session was changed by somebody. What is counted meanwhile stays counted, unless it
    /// begins anew under another id.
    Session(Box<SessionRecord>),
    /// A model is shown the entries from here on.
    Floor(i64),
    /// The entries from here on, all of them still shown, are taken back: they must be in an archive
    /// by then. Their numbers are not used again.
    Truncate(i64),
    /// Only if the next entry is this one: nothing was said since somebody looked.
    ExpectNextSeq(i64),
    /// Untrusted text was read. The first source stays.
    Taint(Taint),
    /// The owner trusts the conversation as it is now.
    Trust,
    /// Gives the session a title; with `replaces`, only while it has that one.
    Title {
        /// The title that it replaces; `None` if there is none yet.
        replaces: Option<String>,
        /// The title.
        title: String,
    },
    /// Tokens of the conversation at the last reply.
    ContextTokens(i64),
    /// Arranges the session in lists.
    Arrange(Rearrangement),
    /// A call of another session started this one, unless that is known already.
    Parent {
        /// The key of the other session.
        session: String,
        /// The model's id of the call, if known.
        call: Option<String>,
    },
    /// Changes what is set, and the label; refused as changed when they are no longer what they were.
    Settings {
        /// The settings and the label as they were read.
        was: (String, Option<String>),
        /// The settings.
        settings: String,
        /// The label.
        label: Option<String>,
    },
}

impl Sessions {
    /// Does all of it or nothing. The session must still have the id `session_id`: a step of a
    /// conversation that was reset meanwhile is refused as changed. Answers with the session as
    /// it is then.
    pub async fn commit(
        &self,
        key: &str,
        session_id: &str,
        acts: Vec<SessionChange>,
        now: Timestamp,
    ) -> Result<SessionRecord, StoreError> {
        let mut tx = self.sql.begin().await?;
        let select = Statement::new(SESSION_COLUMNS).then_with(" WHERE key = ", key);
        let row = tx.one(select).await?;
        let Some(row) = row else {
            tx.abandon().await;
            return Err(StoreError::not_found(format!("the session {key}")));
        };
        let mut session = SessionRecord::read(&row)?;
        // A reset gives the session a new id. A turn of the old conversation must not write into the new one.
        if session.id != session_id {
            tx.abandon().await;
            return Err(StoreError::Changed {
                what: format!("the session {key}"),
            });
        }
        let says = acts
            .iter()
            .any(|act| matches!(act, SessionChange::Append { .. }));
        for act in acts {
            act.apply(&mut tx, &mut session, now).await?;
        }
        // The session row is written last, with the sequence numbers that the changes used up; all of it is
        // one transaction, so a crash leaves either the whole step or nothing of it.
        session.updated = now;
        tx.run(session.update()?).await?;
        tx.commit().await?;
        // After the commit: an indexer that wakes earlier would read the conversation without the new entries.
        if says {
            self.index_backlog.session(key);
        }
        Ok(session)
    }
}

impl SessionChange {
    async fn apply(
        self,
        tx: &mut Tx,
        session: &mut SessionRecord,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match self {
            Self::Append { turn, kind, body } => {
                let insert = Statement::new(
                    "INSERT INTO session_entry (session_id, seq, turn, kind, body, at)
                     VALUES ($1, $2, $3, $4, $5, $6)",
                )
                .bind(session.id.as_str())
                .bind(session.next_seq)
                .bind(turn)
                .bind(kind)
                .bind(body)
                .bind(now);
                session.next_seq += 1;
                tx.run(insert).await.map(drop)
            }
            Self::Turn {
                id,
                state,
                work,
                outcome,
            } => {
                let started = (state == TurnState::Running).then_some(now);
                let ended = state.has_ended().then_some(now);
                let update = Statement::new(
                    "UPDATE turn SET state = $2, work = COALESCE($3, work),
                         outcome = COALESCE($4, outcome), started = COALESCE(started, $5), ended = $6
                     WHERE id = $1 AND state IN ('queued', 'running', 'waiting')",
                )
                .bind(id.as_str())
                .bind(state.as_str())
                .bind(work)
                .bind(outcome)
                .bind(started)
                .bind(ended);
                match tx.run(update).await? {
                    // The turn ended meanwhile, for example because somebody stopped it: its end must not be undone.
                    0 => Err(StoreError::Changed {
                        what: format!("the turn {id}"),
                    }),
                    _ => Ok(()),
                }
            }
            Self::AddCall(call) => tx.run(call.insert()).await.map(drop),
            Self::Call {
                turn,
                step,
                place,
                state,
                outcome,
            } => {
                let update = Statement::new(
                    "UPDATE turn_call SET state = $4, outcome = COALESCE($5, outcome)
                     WHERE turn = $1 AND step = $2 AND place = $3",
                )
                .bind(turn)
                .bind(step)
                .bind(place)
                .bind(state.as_str())
                .bind(outcome);
                tx.run(update).await.map(drop)
            }
            Self::Spend(usage) => {
                session.input_tokens += usage.input_tokens;
                session.output_tokens += usage.output_tokens;
                session.cost_micros += usage.cost_micros;
                tx.run(usage.add(&session.agent, &session.key))
                    .await
                    .map(drop)
            }
            Self::Session(changed) => {
                let before = std::mem::replace(session, *changed);
                // What is set changes only by `Settings`: whoever read it earlier does not undo it.
                session.settings = before.settings;
                session.label = before.label;
                session.arrangement = before.arrangement;
                // The caller read the session a while ago; numbers that were assigned since must not be assigned again.
                session.next_seq = session.next_seq.max(before.next_seq);
                // A new conversation has no title yet, and its size is not known before the first reply.
                session.title = None;
                session.context_tokens = None;
                if session.id == before.id {
                    session.taint = before.taint;
                    session.title = before.title;
                    session.floor = session.floor.max(before.floor);
                    if session.floor == before.floor {
                        session.context_tokens = before.context_tokens;
                    }
                    session.input_tokens = before.input_tokens;
                    session.output_tokens = before.output_tokens;
                    session.cost_micros = before.cost_micros;
                    return Ok(());
                }
                session.taint = Taint::NONE;
                // What was approved for the conversation ends with it.
                let end = Statement::new("UPDATE approval SET scope = 'once'")
                    .then_with(" WHERE session = ", session.key.as_str())
                    .then(" AND scope = 'conversation'");
                tx.run(end).await.map(drop)
            }
            Self::Taint(taint) => {
                session.taint.absorb(&taint);
                Ok(())
            }
            Self::Trust => {
                session.taint = Taint::NONE;
                Ok(())
            }
            Self::Settings {
                was,
                settings,
                label,
            } => {
                if (&session.settings, &session.label) != (&was.0, &was.1) {
                    return Err(StoreError::Changed {
                        what: format!("what is set for the session {}", session.key),
                    });
                }
                session.settings = settings;
                session.label = label;
                Ok(())
            }
            Self::Floor(seq) => {
                session.floor = seq;
                session.context_tokens = None;
                Ok(())
            }
            Self::Title { replaces, title } => {
                if session.title == replaces {
                    session.title = Some(title);
                }
                Ok(())
            }
            Self::ContextTokens(tokens) => {
                session.context_tokens = Some(tokens);
                Ok(())
            }
            Self::Arrange(change) => {
                let arrangement = &mut session.arrangement;
                arrangement.pinned = change.pinned.unwrap_or(arrangement.pinned);
                arrangement.archived = change.archived.unwrap_or(arrangement.archived);
                if let Some(folder) = change.folder {
                    arrangement.folder = folder;
                }
                Ok(())
            }
            Self::Parent {
                session: parent,
                call,
            } => {
                if session.parent.is_none() {
                    session.parent = Some(parent);
                    session.parent_call = call;
                }
                Ok(())
            }
            Self::Truncate(seq) => {
                // Below the floor is only the archive: nothing there can be taken back.
                if seq < session.floor {
                    return Err(StoreError::Changed {
                        what: format!("the session {}", session.key),
                    });
                }
                let delete = Statement::new("DELETE FROM session_entry")
                    .then_with(" WHERE session_id = ", session.id.as_str())
                    .then_with(" AND seq >= ", seq);
                session.context_tokens = None;
                tx.run(delete).await.map(drop)
            }
            Self::ExpectNextSeq(seq) => match session.next_seq == seq {
                true => Ok(()),
                false => Err(StoreError::Changed {
                    what: format!("the session {}", session.key),
                }),
            },
        }
    }
}
