//! Entry points for `make fuzz` and the replay of its corpora; not a public API.

use manyhands_guard::{SseEvent, SseParser};

use crate::message;

/// Parses bytes as one JSON-RPC message or batch.
pub fn json_rpc(bytes: &[u8]) -> usize {
    message::read(bytes).map_or(0, |messages| messages.len())
}

/// Parses server-sent events in chunks of `size` bytes, returning name and data of each.
pub fn events(bytes: &[u8], size: usize) -> Option<Vec<(String, Vec<u8>)>> {
    let mut events = SseParser::new(1 << 20);
    let mut all = Vec::new();
    for bytes in bytes.chunks(size.max(1)) {
        let completed = events.push(bytes).ok()?;
        all.extend(
            completed
                .into_iter()
                .map(|SseEvent { name, data }| (name, data)),
        );
    }
    Some(all)
}
