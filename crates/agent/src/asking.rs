//! Asking a session and waiting for its answer, without ever waiting in a circle.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use manyhands_core::{Caller, ErrorCode, Taint, ToolError};
use manyhands_llm::StopReason;
use manyhands_store::StoreError;

use crate::event::{ChatEvent, What};
use crate::key::SessionKey;
use crate::listening::{Listener, Missed, Whose};
use crate::minds::{Inner, Minds, Sent};
use crate::outcome::{ended, taint_of};
use crate::outside::Origin;
use crate::turn::Input;

/// How many questions there may be between the first asker and the last one asked.
const MAX_LINEAGE: usize = 5;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With these words.
    Said(String),
    /// Without an answer; this is why.
    Failed(String),
    /// Somebody stopped it.
    Stopped,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How its turn ended.
    pub end: End,
    /// Whether the turn read text from outside, which may be in its words.
    pub tainted: Taint,
}

/// Which sessions wait for which: an asker and whom it asked.
#[derive(Debug, Default)]
pub(crate) struct Waits(Arc<Mutex<Vec<Edge>>>);

type Edge = (String, String);

fn lock(edges: &Mutex<Vec<Edge>>) -> MutexGuard<'_, Vec<Edge>> {
    edges.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waits {
    /// Notes that the last of `lineage` waits for `key`, unless that one waits for any of them.
    fn begin(&self, lineage: &[String], key: &SessionKey) -> Result<Waiting, ToolError> {
        let mut edges = lock(&self.0);
        let waiting = reached(&edges, key.as_str());
        if let Some(first) = lineage.iter().find(|one| waiting.contains(one)) {
            let message = match first == key.as_str() {
                true => format!("this was asked in a turn of {key}, which cannot answer before"),
                false => format!("{key} waits for {first}, so each would wait for the other"),
            };
            let hint = "answer in your reply instead of sending a message back";
            return Err(ToolError::new(ErrorCode::Conflict, message).hint(hint));
        }
        if lineage.len() > MAX_LINEAGE {
            let message = format!(
                "{} sessions wait for one another already, and more may not",
                lineage.len()
            );
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("do it yourself, or say in your reply what is left to do"));
        }
        let edge = lineage.last().map(|asker| (asker.clone(), key.to_string()));
        edges.extend(edge.clone());
        Ok(Waiting {
            edges: self.0.clone(),
            edge,
        })
    }
}

/// A session and all for which it waits, directly or through others.
fn reached(edges: &[Edge], from: &str) -> Vec<String> {
    let mut reached = vec![from.to_owned()];
    let mut at = 0;
    while at < reached.len() {
        for (asker, asked) in edges {
            if *asker == reached[at] && !reached.contains(asked) {
                reached.push(asked.clone());
            }
        }
        at += 1;
    }
    reached
}

/// One waits for another until this is dropped.
#[derive(Debug)]
struct Waiting {
    edges: Arc<Mutex<Vec<Edge>>>,
    edge: Option<Edge>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut edges = lock(&self.edges);
        let own = edges
            .iter()
            .position(|edge| Some(edge) == self.edge.as_ref());
        own.map(|at| edges.swap_remove(at));
    }
}

/// A question that was taken, and whoever waits for its answer.
pub struct Asked {
    /// What became of it.
    pub sent: Sent,
    minds: Arc<Inner>,
    key: SessionKey,
    events: Listener,
    _waiting: Waiting,
}

impl Minds {
    /// Says something in a session on behalf of `origin`, whose lineage waits for the answer. A
    /// question that could only be answered after its asker had an answer is refused.
    pub async fn ask(
        &self,
        key: &SessionKey,
        input: Input,
        origin: &Origin,
    ) -> Result<Asked, ToolError> {
        self.ask_as(key, None, input, origin).await
    }

    /// Whoever came by an origin, with the rights they have now.
    pub fn caller(&self, origin: &Origin) -> Result<Arc<Caller>, ToolError> {
        self.inner.house.caller(origin)
    }

    /// Whether a session was asked something by that run id.
    pub async fn knows_run(&self, key: &SessionKey, run_id: &str) -> Result<bool, ToolError> {
        let found = self.inner.sessions.run(key.as_str(), run_id).await;
        found.map(|turn| turn.is_some()).map_err(ToolError::from)
    }

    /// The same by a run id of the asker's own: asked again, also after a crash, it is the same
    /// question, and its answer is the same.
    pub async fn ask_as(
        &self,
        key: &SessionKey,
        run_id: Option<String>,
        input: Input,
        origin: &Origin,
    ) -> Result<Asked, ToolError> {
        let waiting = self.inner.waits.begin(&origin.lineage, key)?;
        let events = self.listen(Whose::Session(key)); // before it is sent, so that no answer is missed
        let sent = self.send(key, run_id, input, origin).await?;
        Ok(Asked {
            sent,
            minds: self.inner.clone(),
            key: key.clone(),
            events,
            _waiting: waiting,
        })
    }
}

impl Asked {
    /// Waits for the end of the turn that this became, or became part of; `on` is told of it on
    /// the way.
    pub async fn answer(
        &mut self,
        on: &mut (dyn FnMut(&What) + Send),
    ) -> Result<Answer, ToolError> {
        if self.sent.repeated
            && let Some(answer) = self.minds.answer_of(&self.sent.turn).await?
        {
            return Ok(answer); // it ended before
        }
        loop {
            let event = tokio::select! {
                event = self.events.next() => event,
                () = self.minds.house.stopping().cancelled() => {
                    let message = "the gateway is stopping";
                    return Err(ToolError::new(ErrorCode::Unavailable, message));
                }
            };
            match event {
                Ok(event) if self.is_of_this(&event) => {
                    on(&event.what);
                    if event.what.is_end() {
                        let answer = self.minds.answer_of(&self.sent.turn).await;
                        let answer = answer?;
                        return Ok(answer.unwrap_or_else(|| as_told(&event.what)));
                    }
                }
                Ok(_) => {}
                Err(Missed(_)) => {
                    let answer = self.minds.answer_of(&self.sent.turn).await;
                    if let Some(answer) = answer? {
                        return Ok(answer);
                    }
                }
            }
        }
    }

    fn is_of_this(&self, event: &ChatEvent) -> bool {
        event.run_id == self.sent.run_id && event.session == self.key
    }
}

impl Inner {
    /// What came of a question whose turn ended; `None` while it goes on.
    async fn answer_of(&self, turn: &str) -> Result<Option<Answer>, StoreError> {
        let turn = self.whole_turn(turn).await?;
        Ok(turn.and_then(|turn| {
            let told = ended(&turn)?;
            Some(Answer {
                end: End::of(&told),
                tainted: taint_of(&turn),
            })
        }))
    }
}

impl End {
    fn of(what: &What) -> Self {
        match what {
            What::Final { text, stop, .. } => Self::Said(match stop {
                StopReason::Length => format!("{text}\n[the answer was cut off at its longest]"),
                _ => text.clone(),
            }),
            What::Error(failure) => Self::Failed(failure.text.clone()),
            _ => Self::Stopped,
        }
    }
}

/// How a turn ended whose end could not be kept.
fn as_told(what: &What) -> Answer {
    Answer {
        end: End::of(what),
        tainted: Taint::by("a turn whose end is unknown"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(waits: &Waits, lineage: &[&str], key: &str) -> Result<Waiting, ErrorCode> {
        let lineage: Vec<String> = lineage.iter().map(|one| key_of(one).to_string()).collect();
        waits
            .begin(&lineage, &key_of(key))
            .map_err(|error| error.code)
    }

    fn key_of(text: &str) -> SessionKey {
        text.parse().unwrap()
    }

    #[test]
    fn nobody_waits_in_a_circle() {
        let waits = Waits::default();
        let first = begin(&waits, &["a"], "b").unwrap();
        assert_eq!(
            begin(&waits, &["a"], "a").unwrap_err(),
            ErrorCode::Conflict,
            "itself"
        );
        assert_eq!(
            begin(&waits, &["a", "b"], "a").unwrap_err(),
            ErrorCode::Conflict
        );
        assert_eq!(
            begin(&waits, &["b"], "a").unwrap_err(),
            ErrorCode::Conflict,
            "a waits for b"
        );
        let second = begin(&waits, &["b"], "c").unwrap();
        assert_eq!(
            begin(&waits, &["c"], "a").unwrap_err(),
            ErrorCode::Conflict,
            "through b"
        );
        drop(first);
        drop(begin(&waits, &["c"], "a").unwrap());
        assert_eq!(lock(&waits.0).len(), 1);
        drop(second);
        assert!(lock(&waits.0).is_empty());
    }

    #[test]
    fn five_questions_may_hang_on_one_another_and_no_more() {
        let waits = Waits::default();
        assert!(begin(&waits, &["a", "b", "c", "d", "e"], "f").is_ok());
        let deeper = begin(&waits, &["a", "b", "c", "d", "e", "f"], "g");
        assert_eq!(deeper.unwrap_err(), ErrorCode::Forbidden);
        assert!(begin(&waits, &[], "a").is_ok(), "a person asks");
    }
}
