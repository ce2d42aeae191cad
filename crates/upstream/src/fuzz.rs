//! Doors for `make fuzz` and for the replay of its corpora; not an interface.

use crate::message;
use crate::sse::{Event, Events};

/// Reads what a server sent as one JSON-RPC message or batch.
pub fn json_rpc(bytes: &[u8]) -> usize {
    message::read(bytes).map_or(0, |messages| messages.len())
}

/// Reads server-sent events in pieces of this many bytes: each with its name.
pub fn events(bytes: &[u8], piece: usize) -> Option<Vec<(String, Vec<u8>)>> {
    let mut events = Events::new(1 << 20);
    let mut all = Vec::new();
    for bytes in bytes.chunks(piece.max(1)) {
        let whole = events.push(bytes).ok()?;
        all.extend(whole.into_iter().map(|Event { name, data }| (name, data)));
    }
    Some(all)
}
