//! What Slack says of blocks.

use std::collections::HashSet;

use serde_json::Value;

/// Reads blocks and refuses what Slack would.
pub(super) fn read(text: &str) -> Result<Vec<Value>, &'static str> {
    let blocks: Value = serde_json::from_str(text).map_err(|_| "invalid_blocks_format")?;
    let Value::Array(blocks) = blocks else {
        return Err("invalid_blocks_format");
    };
    let mut actions = HashSet::new();
    let fits = |block: &Value| match block["type"].as_str() {
        Some("section") => fits_text(&block["text"], &["mrkdwn", "plain_text"], 3_000),
        Some("actions") => block["elements"].as_array().is_some_and(|elements| {
            let named = |one: &Value| {
                let id = one["action_id"].as_str().unwrap_or_default();
                !id.is_empty() && id.len() <= 255 && actions.insert(id.to_owned())
            };
            let fits = elements.iter().all(fits_button);
            (1..=25).contains(&elements.len()) && fits && elements.iter().all(named)
        }),
        _ => false,
    };
    if blocks.len() > 50 || !blocks.iter().all(fits) {
        return Err("invalid_blocks");
    }
    Ok(blocks)
}

fn fits_button(one: &Value) -> bool {
    let style = one
        .get("style")
        .is_none_or(|style| style == "primary" || style == "danger");
    let value = one["value"]
        .as_str()
        .is_some_and(|value| value.len() <= 2_000);
    one["type"] == "button" && fits_text(&one["text"], &["plain_text"], 75) && style && value
}

fn fits_text(text: &Value, kinds: &[&str], most: usize) -> bool {
    let kind = text["type"]
        .as_str()
        .is_some_and(|kind| kinds.contains(&kind));
    let words = text["text"].as_str().unwrap_or_default();
    kind && (1..=most).contains(&words.encode_utf16().count())
}
