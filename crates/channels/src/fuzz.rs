//! Entry points for `make fuzz` and the replay of its corpora; not a public API.

use crate::discord::render::discord;
use crate::slack::render::mrkdwn;
use crate::telegram::html;
use crate::whatsapp::format::written;
use crate::{chunk, markdown};

/// Renders a text for every platform, and splits it into chunks of at most `limit` for the strictest.
pub fn markdown(text: &str, limit: usize) {
    markdown::plain(text);
    for rendered in [
        discord(text),
        mrkdwn(text),
        html::render(text).html,
        written(text),
    ] {
        assert!(
            rendered.len() <= 64 * (text.len() + 1),
            "marks take bounded room"
        );
    }
    let count: &dyn Fn(&str) -> usize = &|piece| piece.chars().count();
    for piece in chunk::pieces(text, limit, count) {
        assert!(!piece.trim().is_empty(), "no piece is blank");
        assert!(count(&piece) <= limit.max(1), "{} > {limit}", count(&piece));
    }
    chunk::pieces(text, limit, &html::size);
}
