//! Entry points for `make fuzz` and the replay of its corpora; not a public API.

use manyhands_core::Ids;
use manyhands_guard::SseParser;

use crate::draft::ReplyDraft;
use crate::exchange::{MAX_EVENT, decode};
use crate::model::ModelId;
use crate::settings::ProviderKind;
use crate::wire;

/// The formats whose replies are parsed.
pub const KINDS: [ProviderKind; 4] = [
    ProviderKind::Anthropic,
    ProviderKind::Openai,
    ProviderKind::OpenaiResponses,
    ProviderKind::Gemini,
];

/// Parses a streamed reply in chunks of `size` bytes; returns the result as text.
pub fn reply(kind: ProviderKind, bytes: &[u8], size: usize, ids: &Ids) -> Option<String> {
    let mut decoder = wire::of(kind)?.decoder(ids);
    let model: ModelId = "fuzz/model".parse().ok()?;
    let mut draft = ReplyDraft::new(model);
    let mut parser = SseParser::new(MAX_EVENT);
    for bytes in bytes.chunks(size.max(1)) {
        let read = decode(&mut parser, bytes, &mut *decoder, &mut draft, &mut |_| {});
        if let Err(fault) = read {
            return Some(format!("{fault:?}"));
        }
        if draft.ended {
            break;
        }
    }
    decoder.end(&mut draft);
    Some(match draft.finish() {
        Ok(finished) => format!("{finished:?}"),
        Err(fault) => format!("{fault:?}"),
    })
}
