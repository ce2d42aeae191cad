//! What LINE refuses.

use serde_json::{Map, Value, json};

use super::error;
use crate::hub::Told;

/// A refusal that names the property.
pub(super) fn problem(property: &str, message: &str) -> Told {
    Told::json(
        400,
        &json!({
            "message": "The request body has 1 error(s)",
            "details": [{"message": message, "property": property}],
        }),
    )
}

pub(super) fn is_chat(id: &str) -> bool {
    id.len() == 33
        && id.starts_with(['U', 'C', 'R'])
        && id[1..].chars().all(|c| c.is_ascii_hexdigit())
}

/// Checks a whole call; `known` are its fields.
pub(super) fn messages(body: &Value, known: &[&str]) -> Result<(), Told> {
    only(body, known, "")?;
    let messages = body["messages"].as_array();
    let messages = messages.filter(|all| (1..=5).contains(&all.len()));
    let Some(messages) = messages else {
        return Err(problem("messages", "Size must be between 1 and 5"));
    };
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages[{index}]");
        match message["type"].as_str() {
            Some("text") => {
                only(message, &["type", "text", "quoteToken"], &at)?;
                text(message, "text", 1, 5_000, &at)?;
            }
            Some("image") => {
                only(
                    message,
                    &["type", "originalContentUrl", "previewImageUrl"],
                    &at,
                )?;
                address(message, "originalContentUrl", &at)?;
                address(message, "previewImageUrl", &at)?;
            }
            Some("template") => {
                only(message, &["type", "altText", "template"], &at)?;
                text(message, "altText", 1, 1_500, &at)?;
                buttons(&message["template"], &format!("{at}.template"))?;
            }
            _ => return Err(problem(&format!("{at}.type"), "unknown message type")),
        }
    }
    Ok(())
}

fn buttons(template: &Value, at: &str) -> Result<(), Told> {
    only(template, &["type", "text", "actions"], at)?;
    if template["type"] != "buttons" {
        return Err(problem(&format!("{at}.type"), "unknown template type"));
    }
    text(template, "text", 1, 160, at)?;
    let actions = template["actions"].as_array();
    let Some(actions) = actions.filter(|all| (1..=4).contains(&all.len())) else {
        return Err(problem(
            &format!("{at}.actions"),
            "Size must be between 1 and 4",
        ));
    };
    for (index, action) in actions.iter().enumerate() {
        let at = format!("{at}.actions[{index}]");
        only(action, &["type", "label", "data", "displayText"], &at)?;
        if action["type"] != "postback" {
            return Err(problem(&format!("{at}.type"), "unknown action type"));
        }
        text(action, "label", 1, 20, &at)?;
        text(action, "data", 1, 300, &at)?;
        text(action, "displayText", 1, 300, &at)?;
    }
    Ok(())
}

/// A text within bounds, in UTF-16 units.
fn text(of: &Value, name: &str, least: usize, most: usize, at: &str) -> Result<(), Told> {
    let size = of[name].as_str().map(|text| text.encode_utf16().count());
    match size {
        Some(size) if (least..=most).contains(&size) => Ok(()),
        Some(0) | None => Err(problem(&format!("{at}.{name}"), "May not be empty")),
        Some(_) => {
            let words = format!("Length must be between 0 and {most}");
            Err(problem(&format!("{at}.{name}"), &words))
        }
    }
}

fn address(of: &Value, name: &str, at: &str) -> Result<(), Told> {
    let url = of[name].as_str().unwrap_or_default();
    match url.starts_with("https://") && url.len() <= 2_000 {
        true => Ok(()),
        false => Err(problem(
            &format!("{at}.{name}"),
            "Must be a valid HTTPS URL",
        )),
    }
}

/// No field that LINE does not know.
fn only(of: &Value, known: &[&str], at: &str) -> Result<(), Told> {
    let empty = Map::new();
    let fields = of.as_object().unwrap_or(&empty);
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(problem(&format!("{at}.{name}"), "unknown property")),
        None => Ok(()),
    }
}

pub(super) fn loading(body: &Value) -> Told {
    let chat = body["chatId"].as_str().unwrap_or_default();
    if !is_chat(chat) || !chat.starts_with('U') {
        return error(400, "Invalid chatId");
    }
    match body["loadingSeconds"].as_u64() {
        Some(seconds) if (5..=60).contains(&seconds) && seconds % 5 == 0 => {
            Told::json(202, &json!({}))
        }
        _ => error(400, "Invalid loadingSeconds"),
    }
}
