//! Doors for `make fuzz` and for the replay of its corpora; not an interface.

use manyhands_core::Ids;

use crate::draft::Draft;
use crate::model::ModelId;
use crate::settings::ProviderKind;
use crate::sse::Parser;
use crate::wire;

/// The formats whose replies are read.
pub const KINDS: [ProviderKind; 4] = [
    ProviderKind::Anthropic,
    ProviderKind::Openai,
    ProviderKind::OpenaiResponses,
    ProviderKind::Gemini,
];

/// Reads a streamed reply that comes in pieces of this many bytes; what it came to, as text.
pub fn reply(kind: ProviderKind, bytes: &[u8], piece: usize, ids: &Ids) -> Option<String> {
    let mut decoder = wire::of(kind)?.decoder(ids);
    let model: ModelId = "fuzz/model".parse().ok()?;
    let mut draft = Draft::new(model);
    let mut parser = Parser::default();
    for bytes in bytes.chunks(piece.max(1)) {
        let read = parser.push(bytes, &mut |event| {
            decoder.event(&event, &mut draft, &mut |_| {})
        });
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
