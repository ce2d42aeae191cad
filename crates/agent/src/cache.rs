//! Cache of long conversations, so that their next turn need not read them again. Bounded, and used only if the session
//! has not changed since.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use manyhands_llm::{Block, Message, conversation_tokens};
use manyhands_store::SessionRecord;

use crate::conversation::Conversation;

/// Shorter conversations are read from disk quickly enough.
const MIN_MESSAGES: usize = 64;
/// The most conversations held.
const MAX_CONVERSATIONS: usize = 64;
/// Approximate total size, in tokens.
const MAX_TOKENS: u64 = 4_000_000;

/// The cached conversations, the latest last.
#[derive(Default)]
pub(crate) struct ConversationCache(Mutex<VecDeque<CachedConversation>>);

struct CachedConversation {
    place: Position,
    tokens: u64,
    conversation: Conversation,
}

/// The state of a session at which a conversation was cached: every entry and every cut changes it.
#[derive(PartialEq, Eq)]
struct Position {
    id: String,
    floor: i64,
    next_seq: i64,
}

impl Position {
    fn of(session: &SessionRecord) -> Self {
        Self {
            id: session.id.clone(),
            floor: session.floor,
            next_seq: session.next_seq,
        }
    }
}

impl ConversationCache {
    fn lock(&self) -> MutexGuard<'_, VecDeque<CachedConversation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes and returns the conversation of a session, if it is cached and still current.
    pub(crate) fn take(&self, session: &SessionRecord) -> Option<Conversation> {
        let mut held = self.lock();
        let at = held.iter().position(|one| one.place.id == session.id)?;
        let found = held.remove(at)?;
        (found.place == Position::of(session)).then_some(found.conversation)
    }

    /// Drops the conversation of a session, part of which was undone or deleted.
    pub(crate) fn forget(&self, id: &str) {
        self.lock().retain(|one| one.place.id != id);
    }

    /// Caches a conversation; older ones are evicted.
    pub(crate) fn put(&self, session: &SessionRecord, conversation: Conversation) {
        // A picture counts as a fixed number of tokens whatever its size, so the bound on tokens would not bound memory.
        let messages = || conversation.entries.iter().map(|entry| &entry.message);
        if conversation.entries.len() < MIN_MESSAGES || messages().any(has_picture) {
            return;
        }
        // The session may have been cut or reset while the turn held its copy; such a copy must not be used again.
        let begins = conversation.entries.first().map(|entry| entry.seq);
        let ends = conversation.entries.last().map(|entry| entry.seq + 1);
        if begins < Some(session.floor) || ends != Some(session.next_seq) {
            return;
        }
        let tokens = conversation_tokens(messages());
        let mut held = self.lock();
        held.retain(|one| one.place.id != session.id);
        held.push_back(CachedConversation {
            place: Position::of(session),
            tokens,
            conversation,
        });
        let mut sum: u64 = held.iter().map(|one| one.tokens).sum();
        while held.len() > MAX_CONVERSATIONS || sum > MAX_TOKENS {
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
    fn a_cached_conversation_is_used_only_if_unchanged() {
        let cache = ConversationCache::default();
        cache.put(&session("a", 70), long(70, "x"));
        assert!(cache.take(&session("b", 70)).is_none());
        let found = cache.take(&session("a", 70)).unwrap();
        assert_eq!(found.entries.len(), 70);
        assert!(cache.take(&session("a", 70)).is_none(), "it was taken");
        cache.put(&session("a", 70), long(70, "x"));
        assert!(
            cache.take(&session("a", 71)).is_none(),
            "something was said"
        );
        cache.put(&session("a", 70), long(70, "x"));
        let cut = SessionRecord {
            floor: 3,
            ..session("a", 70)
        };
        assert!(cache.take(&cut).is_none(), "something was cut");
        cache.put(&cut, long(70, "x"));
        assert!(cache.take(&cut).is_none(), "it was cut during the turn");
        cache.put(&session("a", 71), long(70, "x"));
        assert!(
            cache.take(&session("a", 71)).is_none(),
            "an entry is missing"
        );
    }

    #[test]
    fn the_cache_is_bounded_and_skips_short_conversations() {
        let cache = ConversationCache::default();
        cache.put(&session("short", 3), long(3, "x"));
        assert!(cache.take(&session("short", 3)).is_none());
        for number in 0..=MAX_CONVERSATIONS {
            cache.put(&session(&number.to_string(), 64), long(64, "x"));
        }
        assert!(cache.take(&session("0", 64)).is_none(), "the oldest went");
        assert!(cache.take(&session("1", 64)).is_some());
        let large = "x".repeat(200_000);
        cache.put(&session("large", 100), long(100, &large));
        assert!(cache.lock().is_empty(), "one alone may be too large");
        let picture = Message::User {
            content: vec![Block::Image {
                data: String::new(),
                mime_type: "image/png".to_owned(),
            }],
        };
        let mut pictured = long(70, "x");
        pictured.add(70, "t", picture, Vec::new());
        cache.put(&session("p", 71), pictured);
        assert!(cache.lock().is_empty());
    }
}
