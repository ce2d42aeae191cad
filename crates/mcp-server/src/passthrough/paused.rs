//! Calls that wait for the client's answer between two of its requests.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use manyhands_core::{Ids, TokenId};
use serde_json::Value;
use tokio::time::Instant;

use super::sink::{ClientMessage, MessageStream, Question};

/// Calls that may be paused at once.
const MAX_PAUSED: usize = 256;
/// How long a paused call is kept.
const KEPT: Duration = Duration::from_secs(600);
/// Prefix of our `requestState` values; all others belong to the server.
const PREFIX: &str = "manyhands-paused-";

/// A paused call.
struct Paused {
    token: TokenId,
    server: String,
    /// The open questions by their keys.
    questions: Vec<(String, Question)>,
    messages: MessageStream,
    since: Instant,
}

/// All paused calls.
#[derive(Default)]
pub(super) struct PausedCalls(Mutex<BTreeMap<String, Paused>>);

impl PausedCalls {
    /// Stores a call until it is answered and returns its name; `None` if too many are paused.
    /// Dropping an expired call also cancels it at the server.
    pub(super) fn store(
        &self,
        ids: &Ids,
        token: TokenId,
        server: &str,
        questions: Vec<(String, Question)>,
        messages: MessageStream,
    ) -> Option<String> {
        let mut calls = self.0.lock().expect("no panic while held");
        let now = Instant::now();
        calls.retain(|_, paused| now < paused.since + KEPT);
        if calls.len() >= MAX_PAUSED {
            return None;
        }
        // Unguessable: whoever knows the name can answer for the call, though only with the same
        // token.
        let random: [u8; 24] = ids.random();
        let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{PREFIX}{random}");
        let paused = Paused {
            token,
            server: server.to_owned(),
            questions,
            messages,
            since: now,
        };
        calls.insert(name.clone(), paused);
        Some(name)
    }

    /// Whether the gateway issued this name.
    pub(super) fn is_ours(name: &str) -> bool {
        name.starts_with(PREFIX)
    }

    /// Resumes a call of the same token at the same server. Questions left unanswered are asked
    /// again.
    pub(super) fn resume(
        &self,
        name: &str,
        token: TokenId,
        server: &str,
        answers: &Value,
    ) -> Option<MessageStream> {
        let mut calls = self.0.lock().expect("no panic while held");
        let paused = calls.get(name)?;
        if paused.token != token || paused.server != server {
            return None;
        }
        let Paused {
            questions,
            mut messages,
            ..
        } = calls.remove(name)?;
        drop(calls);
        for (key, question) in questions.into_iter().rev() {
            match answers.get(&key) {
                // A server that no longer waits reports that itself.
                Some(answer) => drop(question.reply.send(Ok(answer.clone()))),
                None => messages.first.push_front(ClientMessage::Question(question)),
            }
        }
        Some(messages)
    }
}
