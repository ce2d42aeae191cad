//! What each method does and refuses.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::hub::{Asked, Told};

use super::form::{Form, Upload};
use super::{Inner, State, Telegram, html, published};

/// The longest text.
const TEXT: usize = 4_096;
/// The longest line below a file.
const CAPTION: usize = 1_024;
/// The longest text with its tags.
const RAW: usize = 32_768;
/// The largest picture, and the largest other file.
const PHOTO: usize = 10 * 1024 * 1024;
const FILE: usize = 50 * 1024 * 1024;
/// The largest file that a bot may load.
const LOAD: usize = 20 * 1024 * 1024;
/// The time of everything, which nobody asks for.
const DATE: i64 = 1_700_000_000;

/// A refusal, as Telegram writes it.
pub(super) fn refusal(code: u16, description: &str, parameters: Value) -> Value {
    let mut body = json!({"ok": false, "error_code": code, "description": description});
    if !parameters.is_null() {
        body["parameters"] = parameters;
    }
    body
}

pub(super) fn refused(code: u16, description: &str) -> Told {
    Told::json(code, &refusal(code, description, Value::Null))
}

pub(super) fn done(result: &Value) -> Told {
    Told::json(200, &json!({"ok": true, "result": result}))
}

type Outcome = Result<Value, Told>;

fn bad<T>(why: &str) -> Result<T, Told> {
    Err(refused(400, &format!("Bad Request: {why}")))
}

impl Inner {
    pub(super) fn call(&self, method: &str, form: &Form) -> Told {
        if method == "getUpdates" {
            return self.get_updates(form);
        }
        let mut state = self.state();
        let outcome = match method {
            "getMe" => Ok(me()),
            "setWebhook" => state.set_webhook(form),
            "deleteWebhook" => {
                state.webhook = None;
                Ok(json!(true))
            }
            "getWebhookInfo" => Ok(state.webhook_info()),
            "sendMessage" => state.send_message(form),
            "editMessageText" => state.edit(form),
            "sendPhoto" => state.send_file(form, "photo", PHOTO),
            "sendVoice" => state.send_file(form, "voice", FILE),
            "sendDocument" => state.send_file(form, "document", FILE),
            "sendChatAction" => state.chat_action(form),
            "setMessageReaction" => state.react(form),
            "answerCallbackQuery" => state.answer_press(form),
            "getFile" => state.get_file(form),
            _ => Err(refused(404, "Not Found: method not found")),
        };
        drop(state);
        self.news.send_modify(|news| *news += 1);
        outcome.map_or_else(|told| told, |result| done(&result))
    }

    pub(super) fn file(&self, asked: &Asked, rest: &str) -> Told {
        let Some((token, path)) = rest.split_once('/') else {
            return refused(404, "Not Found");
        };
        if token != Telegram::TOKEN {
            return refused(401, "Unauthorized");
        }
        let state = self.state();
        let file = state.files.values().find(|(at, _)| at == path);
        match file {
            Some((_, bytes)) if asked.method == "GET" => Told {
                status: 200,
                headers: Vec::new(),
                content_type: "application/octet-stream".to_owned(),
                body: bytes.clone(),
            },
            _ => refused(404, "Not Found"),
        }
    }
}

fn me() -> Value {
    json!({
        "id": Telegram::BOT,
        "is_bot": true,
        "first_name": "Hands",
        "username": Telegram::HANDLE,
        "can_join_groups": true,
        "can_read_all_group_messages": false,
        "supports_inline_queries": false,
    })
}

fn text<'a>(form: &'a Form, name: &str) -> Option<&'a str> {
    form.fields.get(name).and_then(Value::as_str)
}

/// What is seen of a text, with its entities.
fn words(form: &Form, name: &str, most: usize) -> Result<(String, Vec<Value>), Told> {
    let raw = text(form, name).unwrap_or("");
    if raw.len() > RAW {
        return bad("text is too long");
    }
    let (seen, entities) = match text(form, "parse_mode") {
        None => (raw.to_owned(), Vec::new()),
        Some("HTML") => match html::parse(raw) {
            Ok(read) => read,
            Err(why) => return bad(&format!("can't parse entities: {why}")),
        },
        Some(_) => return bad("unsupported parse_mode"),
    };
    if seen.encode_utf16().count() > most {
        let what = if name == "caption" {
            "message caption"
        } else {
            "message"
        };
        return bad(&format!("{what} is too long"));
    }
    Ok((seen, entities))
}

fn keyboard(form: &Form) -> Result<Option<Value>, Told> {
    let Some(markup) = form.fields.get("reply_markup") else {
        return Ok(None);
    };
    let Some(rows) = markup["inline_keyboard"].as_array() else {
        return bad("object expected as reply markup");
    };
    for button in rows
        .iter()
        .flat_map(|row| row.as_array().into_iter().flatten())
    {
        let data = button["callback_data"].as_str().unwrap_or("");
        if button["text"].as_str().unwrap_or("").trim().is_empty() {
            return bad("text buttons are unallowed in the inline keyboard");
        }
        if !(1..=64).contains(&data.len()) {
            return bad("BUTTON_DATA_INVALID");
        }
        let style = &button["style"];
        if !style.is_null()
            && !["danger", "success", "primary"]
                .iter()
                .any(|known| style == known)
        {
            return bad("BUTTON_STYLE_INVALID");
        }
    }
    Ok(Some(markup.clone()))
}

impl State {
    /// The chat, if the bot can write there.
    fn chat(&self, form: &Form) -> Result<(i64, String), Told> {
        let Some(id) = form.fields.get("chat_id").and_then(Value::as_i64) else {
            return bad("chat not found");
        };
        if let Some(moved) = self.moved.get(&id) {
            let why = "Bad Request: group chat was upgraded to a supergroup chat";
            let body = refusal(400, why, json!({"migrate_to_chat_id": moved}));
            return Err(Told::json(400, &body));
        }
        if self.blocked.contains(&id) {
            return Err(refused(403, "Forbidden: bot was blocked by the user"));
        }
        match self.chats.get(&id) {
            Some(kind) => Ok((id, kind.clone())),
            None => bad("chat not found"),
        }
    }

    /// The chat, its topic and what is answered, for a message that the bot writes.
    fn envelope(&mut self, form: &Form) -> Result<(i64, Value), Told> {
        let (id, kind) = self.chat(form)?;
        if self.limits {
            let soon = self
                .last
                .get(&id)
                .is_some_and(|last| last.elapsed() < Duration::from_secs(1));
            if soon {
                let why = "Too Many Requests: retry after 1";
                return Err(Told::json(
                    429,
                    &refusal(429, why, json!({"retry_after": 1})),
                ));
            }
            self.last.insert(id, Instant::now());
        }
        let chat = match kind.as_str() {
            "private" => json!({"id": id, "type": kind, "first_name": "Somebody"}),
            _ => json!({"id": id, "type": kind, "title": "Some place"}),
        };
        let mut message = json!({"message_id": 0, "from": me(), "chat": chat, "date": DATE});
        if let Some(topic) = form.fields.get("message_thread_id").and_then(Value::as_i64) {
            if !self.topics.contains(&(id, topic)) {
                return bad("message thread not found");
            }
            message["message_thread_id"] = json!(topic);
            message["is_topic_message"] = json!(true);
        }
        if let Some(reply) = form.fields.get("reply_parameters") {
            let Some(to) = reply["message_id"].as_i64() else {
                return bad("message_id of reply_parameters is required");
            };
            match self.messages.get(&(id, to)) {
                Some(answered) => message["reply_to_message"] = answered.clone(),
                None if reply["allow_sending_without_reply"] == true => {}
                None => return bad("message to be replied not found"),
            }
        }
        Ok((id, message))
    }

    fn keep(&mut self, chat: i64, mut message: Value) -> Value {
        message["message_id"] = json!(self.next_message);
        self.messages
            .insert((chat, self.next_message), message.clone());
        self.next_message += 1;
        message
    }

    fn send_message(&mut self, form: &Form) -> Outcome {
        let (seen, entities) = words(form, "text", TEXT)?;
        if seen.trim().is_empty() {
            return bad("message text is empty");
        }
        let markup = keyboard(form)?;
        let (chat, mut message) = self.envelope(form)?;
        write(&mut message, "text", seen, entities, markup);
        Ok(self.keep(chat, message))
    }

    fn edit(&mut self, form: &Form) -> Outcome {
        let (seen, entities) = words(form, "text", TEXT)?;
        if seen.trim().is_empty() {
            return bad("message text is empty");
        }
        let markup = keyboard(form)?;
        let (chat, _) = self.chat(form)?;
        let number = form
            .fields
            .get("message_id")
            .and_then(Value::as_i64)
            .unwrap_or(0);
        let Some(there) = self.messages.get_mut(&(chat, number)) else {
            return bad("message to edit not found");
        };
        if there["from"]["id"] != Telegram::BOT {
            return bad("message can't be edited");
        }
        let before = there.clone();
        write(there, "text", seen, entities, markup);
        if *there == before {
            return bad(
                "message is not modified: specified new message content and reply markup are \
                 exactly the same as a current content and reply markup of the message",
            );
        }
        there["edit_date"] = json!(DATE);
        Ok(there.clone())
    }

    fn send_file(&mut self, form: &Form, field: &str, most: usize) -> Outcome {
        let file = form.files.iter().find(|(name, _)| name == field);
        let Some((_, file)) = file else {
            return bad("wrong file identifier/HTTP URL specified");
        };
        let size = file.bytes.len();
        if size > most {
            return Err(refused(413, "Request Entity Too Large"));
        }
        if size == 0 {
            return bad("file must be non-empty");
        }
        let (seen, entities) = words(form, "caption", CAPTION)?;
        let told = described(field, file)?;
        let (chat, mut message) = self.envelope(form)?;
        if !seen.is_empty() {
            write(&mut message, "caption", seen, entities, None);
        }
        message[field] = told;
        Ok(self.keep(chat, message))
    }

    fn chat_action(&mut self, form: &Form) -> Outcome {
        self.chat(form)?;
        let known = [
            "typing",
            "upload_photo",
            "record_voice",
            "upload_voice",
            "upload_document",
        ];
        match text(form, "action") {
            Some(action) if known.contains(&action) => Ok(json!(true)),
            _ => bad("wrong parameter action in request"),
        }
    }

    fn react(&mut self, form: &Form) -> Outcome {
        let (chat, _) = self.chat(form)?;
        let number = form
            .fields
            .get("message_id")
            .and_then(Value::as_i64)
            .unwrap_or(0);
        if !self.messages.contains_key(&(chat, number)) {
            return bad("message to react not found");
        }
        let wanted = form.fields.get("reaction").and_then(Value::as_array);
        let wanted = wanted.cloned().unwrap_or_default();
        if wanted.len() > 1 {
            return bad("REACTIONS_TOO_MANY");
        }
        let mut emoji = Vec::new();
        for one in wanted {
            let said = one["emoji"].as_str().unwrap_or("");
            // Selectors of colour change nothing to Telegram.
            let bare = said.replace('\u{fe0f}', "");
            let known = published::REACTIONS.split(' ').any(|known| known == bare);
            if one["type"] != "emoji" || !known {
                return bad("REACTION_INVALID");
            }
            emoji.push(said.to_owned());
        }
        self.reactions.insert((chat, number), emoji);
        Ok(json!(true))
    }

    fn answer_press(&mut self, form: &Form) -> Outcome {
        let id = text(form, "callback_query_id").unwrap_or("");
        if !self.queries.remove(id) {
            return bad("query is too old and response timeout expired or query ID is invalid");
        }
        if text(form, "text").unwrap_or("").encode_utf16().count() > 200 {
            return bad("MESSAGE_TOO_LONG");
        }
        Ok(json!(true))
    }

    fn get_file(&mut self, form: &Form) -> Outcome {
        let id = text(form, "file_id").unwrap_or("");
        let Some((path, bytes)) = self.files.get(id) else {
            return bad("wrong file_id or the file is temporarily unavailable");
        };
        if bytes.len() > LOAD {
            return bad("file is too big");
        }
        Ok(json!({
            "file_id": id,
            "file_unique_id": format!("u{id}"),
            "file_size": bytes.len(),
            "file_path": path,
        }))
    }

    fn set_webhook(&mut self, form: &Form) -> Outcome {
        let url = text(form, "url").unwrap_or("");
        let near = url.starts_with("http://127.0.0.1:");
        if !url.starts_with("https://") && !near {
            return bad("bad webhook: An HTTPS URL must be provided for webhook");
        }
        let secret = text(form, "secret_token").unwrap_or("");
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if secret.len() > 256 || !secret.chars().all(plain) {
            return bad("secret token contains unallowed characters");
        }
        self.webhook = Some(Value::Object(form.fields.clone()));
        Ok(json!(true))
    }

    fn webhook_info(&self) -> Value {
        let url = self
            .webhook
            .as_ref()
            .map_or(json!(""), |set| set["url"].clone());
        let mut info = json!({
            "url": url,
            "has_custom_certificate": false,
            "pending_update_count": self.updates.len(),
        });
        if let Some((at, why)) = &self.webhook_error {
            info["last_error_date"] = json!(at);
            info["last_error_message"] = json!(why);
        }
        info
    }
}

/// Puts words into a message.
fn write(
    message: &mut Value,
    name: &str,
    seen: String,
    entities: Vec<Value>,
    markup: Option<Value>,
) {
    let marks = if name == "caption" {
        "caption_entities"
    } else {
        "entities"
    };
    let Some(fields) = message.as_object_mut() else {
        return;
    };
    fields.insert(name.to_owned(), json!(seen));
    let parts = [
        (
            marks,
            Some(json!(entities)).filter(|_| !entities.is_empty()),
        ),
        ("reply_markup", markup),
    ];
    for (name, value) in parts {
        match value {
            Some(value) => fields.insert(name.to_owned(), value),
            None => fields.remove(name),
        };
    }
}

/// A file as it stands in a message.
fn described(field: &str, file: &Upload) -> Outcome {
    let id = format!("file-{}", file.bytes.len());
    let size = file.bytes.len();
    let common = json!({"file_id": id, "file_unique_id": "u", "file_size": size});
    let with = |more: Value| {
        let mut all = common.clone();
        for (name, value) in more.as_object().into_iter().flatten() {
            all[name] = value.clone();
        }
        all
    };
    Ok(match field {
        "photo" => {
            if !is_picture(&file.bytes) {
                return bad("IMAGE_PROCESS_FAILED");
            }
            json!([with(json!({"width": 1, "height": 1}))])
        }
        "voice" => with(json!({"duration": 1, "mime_type": file.mime})),
        _ => with(json!({"file_name": file.name, "mime_type": file.mime})),
    })
}

fn is_picture(bytes: &Bytes) -> bool {
    let known: [&[u8]; 4] = [b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF"];
    known.iter().any(|magic| bytes.starts_with(magic))
}
