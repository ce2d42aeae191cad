//! What WhatsApp refuses.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::refusal;
use crate::hub::Told;

const MIB: usize = 1024 * 1024;

/// The largest file of a type, if it is taken at all.
pub(super) fn largest(mime: &str) -> Option<usize> {
    match mime {
        "image/jpeg" | "image/png" => Some(5 * MIB),
        "image/webp" => Some(500 * 1024),
        "audio/aac" | "audio/amr" | "audio/mpeg" | "audio/mp4" | "audio/ogg" => Some(16 * MIB),
        "video/mp4" | "video/3gpp" => Some(16 * MIB),
        "text/plain" | "application/pdf" | "application/msword" | "application/vnd.ms-excel" => {
            Some(100 * MIB)
        }
        _ => None,
    }
}

/// The receipt for a message, and the sign that an answer is being written.
pub(super) fn read(body: &Value) -> Result<String, Told> {
    only(
        body,
        &[
            "messaging_product",
            "status",
            "message_id",
            "typing_indicator",
        ],
    )?;
    let message = body["message_id"].as_str().unwrap_or_default();
    if body["status"] != "read" || !message.starts_with("wamid.") {
        return Err(invalid("Invalid status or message_id"));
    }
    let typing = &body["typing_indicator"];
    if !typing.is_null() && typing["type"] != "text" {
        return Err(invalid("typing_indicator.type must be text"));
    }
    Ok(message.to_owned())
}

/// A message. `known` says which files there are.
pub(super) fn message(body: &Value, known: &dyn Fn(&str) -> bool) -> Result<(), Told> {
    let kind = body["type"].as_str().unwrap_or_default();
    let all = [
        "messaging_product",
        "recipient_type",
        "recipient",
        "to",
        "type",
        "context",
        kind,
    ];
    only(body, &all)?;
    let to = body["to"].as_str().unwrap_or_default();
    let scoped = body["recipient"].as_str().unwrap_or_default();
    match body["recipient_type"].as_str() {
        // Somebody who keeps their number to themselves.
        Some("individual") if to.is_empty() && scoped.get(2..3) == Some(".") => {}
        Some("individual") => {
            let digits = to.chars().all(|c| c.is_ascii_digit());
            if !digits || !(7..=15).contains(&to.len()) {
                return Err(refusal(400, 131_009, "Parameter value is not valid", "to"));
            }
        }
        Some("group") if !to.is_empty() => {}
        _ => return Err(invalid("recipient_type must be one of {individual, group}")),
    }
    if !body["context"].is_null() {
        only(&body["context"], &["message_id"])?;
        wamid(&body["context"]["message_id"])?;
    }
    let what = &body[kind];
    match kind {
        "text" => {
            only(what, &["body", "preview_url"])?;
            text(&what["body"], 4_096, "text.body")
        }
        "reaction" => {
            only(what, &["message_id", "emoji"])?;
            wamid(&what["message_id"])?;
            match what["emoji"].as_str() {
                Some(emoji) if !emoji.is_ascii() || emoji.is_empty() => Ok(()),
                _ => Err(invalid("Param reaction['emoji'] must be a valid emoji")),
            }
        }
        "image" | "audio" | "document" => media(kind, what, known),
        "interactive" => interactive(what),
        _ => Err(invalid(
            "Param type must be one of {AUDIO, CONTACTS, DOCUMENT, …}",
        )),
    }
}

fn media(kind: &str, what: &Value, known: &dyn Fn(&str) -> bool) -> Result<(), Told> {
    match kind {
        "image" => only(what, &["id", "caption"])?,
        "audio" => only(what, &["id"])?,
        _ => only(what, &["id", "caption", "filename"])?,
    }
    if !what["caption"].is_null() {
        text(&what["caption"], 1_024, "caption")?;
    }
    match what["id"].as_str() {
        Some(id) if known(id) => Ok(()),
        _ => Err(refusal(
            400,
            131_009,
            "Parameter value is not valid",
            "Media ID not found",
        )),
    }
}

fn interactive(what: &Value) -> Result<(), Told> {
    only(what, &["type", "body", "action"])?;
    let (body, action) = (&what["body"], &what["action"]);
    only(body, &["text"])?;
    match what["type"].as_str() {
        Some("button") => {
            text(&body["text"], 1_024, "body.text")?;
            only(action, &["buttons"])?;
            let buttons = list(&action["buttons"], 3, "buttons")?;
            for button in buttons {
                only(button, &["type", "reply"])?;
                only(&button["reply"], &["id", "title"])?;
            }
            let replies: Vec<&Value> = buttons.iter().map(|one| &one["reply"]).collect();
            choices(&replies, 256, 20)
        }
        Some("list") => {
            text(&body["text"], 1_024, "body.text")?;
            only(action, &["button", "sections"])?;
            text(&action["button"], 20, "action.button")?;
            let sections = list(&action["sections"], 10, "sections")?;
            let mut rows = Vec::new();
            for section in sections {
                only(section, &["title", "rows"])?;
                text(&section["title"], 24, "section.title")?;
                rows.extend(list(&section["rows"], 10, "rows")?);
            }
            if rows.len() > 10 {
                return Err(too_many("rows"));
            }
            for row in &rows {
                only(row, &["id", "title"])?;
            }
            choices(&rows, 200, 24)
        }
        _ => Err(invalid(
            "Param interactive['type'] must be one of {button, list, …}",
        )),
    }
}

/// Things to choose from: no two the same.
fn choices(all: &[&Value], id: usize, title: usize) -> Result<(), Told> {
    let (mut ids, mut titles) = (HashSet::new(), HashSet::new());
    for one in all {
        text(&one["id"], id, "id")?;
        text(&one["title"], title, "title")?;
        let blank = |text: &str| text.trim() != text;
        if blank(one["id"].as_str().unwrap_or_default()) {
            return Err(invalid("id has leading or trailing spaces"));
        }
        if !ids.insert(one["id"].to_string()) || !titles.insert(one["title"].to_string()) {
            return Err(refusal(
                400,
                131_009,
                "Parameter value is not valid",
                "Duplicated",
            ));
        }
    }
    Ok(())
}

fn list<'a>(of: &'a Value, most: usize, name: &str) -> Result<&'a Vec<Value>, Told> {
    let all = of.as_array().filter(|all| (1..=most).contains(&all.len()));
    all.ok_or_else(|| too_many(name))
}

fn too_many(name: &str) -> Told {
    let details = format!("Invalid {name} count");
    refusal(400, 131_009, "Parameter value is not valid", &details)
}

fn text(of: &Value, most: usize, name: &str) -> Result<(), Told> {
    let size = of.as_str().map(|text| text.encode_utf16().count());
    match size {
        Some(size) if (1..=most).contains(&size) => Ok(()),
        _ => {
            let words = format!("Param {name} must be at most {most} characters long.");
            Err(invalid(&words))
        }
    }
}

fn wamid(of: &Value) -> Result<(), Told> {
    match of.as_str() {
        Some(id) if id.starts_with("wamid.") => Ok(()),
        _ => Err(invalid("Invalid message_id")),
    }
}

/// No field that the platform does not know, and an object.
fn only(of: &Value, known: &[&str]) -> Result<(), Told> {
    let empty = Map::new();
    let Some(fields) = of.as_object().or(known.is_empty().then_some(&empty)) else {
        return Err(invalid("Invalid parameter"));
    };
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(invalid(&format!("Unexpected key \"{name}\""))),
        None => Ok(()),
    }
}

fn invalid(words: &str) -> Told {
    refusal(400, 100, words, "")
}
