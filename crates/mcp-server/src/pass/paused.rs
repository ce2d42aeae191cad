//! Calls that wait for an answer of whoever made them, between two requests of theirs.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use manyhands_core::{Ids, TokenId};
use serde_json::Value;
use tokio::time::Instant;

use super::voice::{Out, Question, Stretch};

/// How many calls may wait.
const MAX_PAUSED: usize = 256;
/// How long they may.
const KEPT: Duration = Duration::from_secs(600);
/// What our names for them begin with; all others are the far server's.
const PREFIX: &str = "manyhands-paused-";

/// One call that waits.
struct Paused {
    token: TokenId,
    server: String,
    /// What is to be answered, each under its key.
    questions: Vec<(String, Question)>,
    heard: Stretch,
    since: Instant,
}

/// All calls that wait.
#[derive(Default)]
pub(super) struct Waiting(Mutex<BTreeMap<String, Paused>>);

impl Waiting {
    /// Keeps a call until it is answered, and names it; nothing when too many wait. What is given
    /// up is taken back at the far server too.
    pub(super) fn keep(
        &self,
        ids: &Ids,
        token: TokenId,
        server: &str,
        questions: Vec<(String, Question)>,
        heard: Stretch,
    ) -> Option<String> {
        let mut waiting = self.0.lock().expect("no panic while held");
        let now = Instant::now();
        waiting.retain(|_, paused| now < paused.since + KEPT);
        if waiting.len() >= MAX_PAUSED {
            return None;
        }
        let random: [u8; 24] = ids.random();
        let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{PREFIX}{random}");
        let paused = Paused {
            token,
            server: server.to_owned(),
            questions,
            heard,
            since: now,
        };
        waiting.insert(name.clone(), paused);
        Some(name)
    }

    /// Whether a name is one of ours.
    pub(super) fn is_ours(name: &str) -> bool {
        name.starts_with(PREFIX)
    }

    /// Goes on with a call of the same asker at the same server, with what they answered. What
    /// they left out is asked again.
    pub(super) fn go_on(
        &self,
        name: &str,
        token: TokenId,
        server: &str,
        answers: &Value,
    ) -> Option<Stretch> {
        let mut waiting = self.0.lock().expect("no panic while held");
        let paused = waiting.get(name)?;
        if paused.token != token || paused.server != server {
            return None;
        }
        let Paused {
            questions,
            mut heard,
            ..
        } = waiting.remove(name)?;
        drop(waiting);
        for (key, question) in questions.into_iter().rev() {
            match answers.get(&key) {
                // A server that no longer waits will say so itself.
                Some(answer) => drop(question.reply.send(Ok(answer.clone()))),
                None => heard.first.push_front(Out::Asked(question)),
            }
        }
        Some(heard)
    }
}
