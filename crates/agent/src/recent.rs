//! Long conversations that were worked on lately, so that their next turn need not read them
//! again: bounded, and used only when nothing was said or cut meanwhile.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use manyhands_llm::{Block, Message, conversation_tokens};
use manyhands_store::SessionRecord;

use crate::conversation::Conversation;

/// Shorter ones are read quickly enough.
const LEAST: usize = 64;
/// How many are held.
const MOST: usize = 64;
/// About how many tokens all of them may have together.
const MAX_TOKENS: u64 = 4_000_000;

/// The conversations that are held, the latest last.
#[derive(Default)]
pub(crate) struct Recent(Mutex<VecDeque<Held>>);

struct Held {
    place: Place,
    tokens: u64,
    conversation: Conversation,
}

/// Where a conversation stood: every entry and every cut moves it.
#[derive(PartialEq, Eq)]
struct Place {
    id: String,
    floor: i64,
    next_seq: i64,
}

impl Place {
    fn of(session: &SessionRecord) -> Self {
        Self {
            id: session.id.clone(),
            floor: session.floor,
            next_seq: session.next_seq,
        }
    }
}

impl Recent {
    fn held(&self) -> MutexGuard<'_, VecDeque<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversation of a session as it stands now, if it is held.
    pub(crate) fn take(&self, session: &SessionRecord) -> Option<Conversation> {
        let mut held = self.held();
        let at = held.iter().position(|one| one.place.id == session.id)?;
        let found = held.remove(at)?;
        (found.place == Place::of(session)).then_some(found.conversation)
    }

    /// Holds the conversation of a session no longer: a part of it was taken back.
    pub(crate) fn forget(&self, id: &str) {
        self.held().retain(|one| one.place.id != id);
    }

    /// Holds a conversation that is worth it; older ones make room.
    pub(crate) fn hold(&self, session: &SessionRecord, conversation: Conversation) {
        let messages = || conversation.said.iter().map(|said| &said.message);
        if conversation.said.len() < LEAST || messages().any(has_picture) {
            return;
        }
        // Somebody may have cut it, or begun it anew, while the turn had it in mind.
        let begins = conversation.said.first().map(|said| said.seq);
        let ends = conversation.said.last().map(|said| said.seq + 1);
        if begins < Some(session.floor) || ends != Some(session.next_seq) {
            return;
        }
        let tokens = conversation_tokens(messages());
        let mut held = self.held();
        held.retain(|one| one.place.id != session.id);
        held.push_back(Held {
            place: Place::of(session),
            tokens,
            conversation,
        });
        let mut sum: u64 = held.iter().map(|one| one.tokens).sum();
        while held.len() > MOST || sum > MAX_TOKENS {
            let Some(oldest) = held.pop_front() else {
                return;
            };
            sum -= oldest.tokens;
        }
    }
}

fn has_picture(message: &Message) -> bool {
    let picture = |block: &Block| matches!(block, Block::Image { .. });
    match message {
        Message::User { content } => content.iter().any(picture),
        Message::Tool { results } => results.iter().any(|one| one.content.iter().any(picture)),
        Message::Assistant { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use manyhands_core::{AgentId, Timestamp};

    use super::*;

    fn session(id: &str, next_seq: i64) -> SessionRecord {
        let key = format!("agent:main:{id}");
        let mut made = SessionRecord::new(key, id.to_owned(), AgentId::main(), Timestamp(1));
        made.next_seq = next_seq;
        made
    }

    fn long(count: i64, text: &str) -> Conversation {
        let mut conversation = Conversation::default();
        for seq in 0..count {
            conversation.add(seq, "t", Message::user(text), Vec::new());
        }
        conversation
    }

    #[test]
    fn only_what_nobody_touched_is_used_again() {
        let recent = Recent::default();
        recent.hold(&session("a", 70), long(70, "x"));
        assert!(recent.take(&session("b", 70)).is_none());
        let found = recent.take(&session("a", 70)).unwrap();
        assert_eq!(found.said.len(), 70);
        assert!(recent.take(&session("a", 70)).is_none(), "it was taken");
        recent.hold(&session("a", 70), long(70, "x"));
        assert!(
            recent.take(&session("a", 71)).is_none(),
            "something was said"
        );
        recent.hold(&session("a", 70), long(70, "x"));
        let cut = SessionRecord {
            floor: 3,
            ..session("a", 70)
        };
        assert!(recent.take(&cut).is_none(), "something was cut");
        recent.hold(&cut, long(70, "x"));
        assert!(recent.take(&cut).is_none(), "it was cut during the turn");
        recent.hold(&session("a", 71), long(70, "x"));
        assert!(
            recent.take(&session("a", 71)).is_none(),
            "an entry is missing"
        );
    }

    #[test]
    fn what_is_held_is_bounded_and_short_ones_are_not() {
        let recent = Recent::default();
        recent.hold(&session("short", 3), long(3, "x"));
        assert!(recent.take(&session("short", 3)).is_none());
        for number in 0..=MOST {
            recent.hold(&session(&number.to_string(), 64), long(64, "x"));
        }
        assert!(recent.take(&session("0", 64)).is_none(), "the oldest went");
        assert!(recent.take(&session("1", 64)).is_some());
        let large = "x".repeat(200_000);
        recent.hold(&session("large", 100), long(100, &large));
        assert!(recent.held().is_empty(), "one alone may be too large");
        let picture = Message::User {
            content: vec![Block::Image {
                data: String::new(),
                mime_type: "image/png".to_owned(),
            }],
        };
        let mut pictured = long(70, "x");
        pictured.add(70, "t", picture, Vec::new());
        recent.hold(&session("p", 71), pictured);
        assert!(recent.held().is_empty());
    }
}
