//! The REST interface.

use std::time::{Duration, Instant};

use axum::http::Method;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::world::{self, World};
use super::{ADA, APP, BOT, DIRECT, ROLE, SERVER, TOKEN};
use crate::hub::{Asked, Told};
use crate::whatsapp::form;

/// The longest text, in characters.
const TEXT: usize = 2_000;
/// The largest file.
const FILE: usize = 10 * 1024 * 1024;

/// A path as the published description names it.
pub(super) fn named(path: &str) -> String {
    let Some(path) = path.strip_prefix("/api/v10") else {
        return path.to_owned();
    };
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let name = match parts[..] {
        ["channels", _] => "channels/{channel_id}",
        ["channels", _, "messages"] => "channels/{channel_id}/messages",
        ["channels", _, "messages", _] => "channels/{channel_id}/messages/{message_id}",
        ["channels", _, "messages", _, "reactions", _, "@me"] => {
            "channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me"
        }
        ["channels", _, "typing"] => "channels/{channel_id}/typing",
        ["interactions", _, _, "callback"] => {
            "interactions/{interaction_id}/{interaction_token}/callback"
        }
        ["webhooks", _, _] => "webhooks/{webhook_id}/{webhook_token}",
        ["guilds", _, "members", _] => "guilds/{guild_id}/members/{user_id}",
        _ => return path.to_owned(),
    };
    format!("/{name}")
}

/// The fields of a request: of a form those of its JSON, and its files.
pub(super) fn fields(asked: &Asked) -> Option<Value> {
    let Some(parts) = form::parts(asked) else {
        return asked.json();
    };
    let json = parts.iter().find(|part| part.name == "payload_json")?;
    let mut fields: Value = serde_json::from_slice(&json.body).ok()?;
    for part in parts.iter().filter(|part| part.file.is_some()) {
        fields[&part.name] =
            json!({ "name": part.file, "type": part.mime, "size": part.body.len() });
    }
    Some(fields)
}

fn refused(status: u16, code: u64, message: &str) -> Told {
    Told::json(status, &json!({ "message": message, "code": code }))
}

/// What is wrong with a field, as Discord writes it.
fn invalid(field: &str, code: &str, message: &str) -> Told {
    let errors = json!({ field: { "_errors": [{ "code": code, "message": message }] } });
    let body = json!({ "message": "Invalid Form Body", "code": 50_035, "errors": errors });
    Told::json(400, &body)
}

fn nothing() -> Told {
    Told {
        body: Bytes::new(),
        content_type: "text/html; charset=utf-8".to_owned(),
        ..Told::json(204, &Value::Null)
    }
}

/// Answers a request.
pub(super) fn answer(world: &mut World, asked: &Asked) -> Told {
    let Some(path) = asked.path.strip_prefix("/api/v10/") else {
        return file(world, asked);
    };
    let path = percent(path);
    let parts: Vec<&str> = path.split('/').collect();
    let method = asked.method.clone();
    match parts[..] {
        ["interactions", id, token, "callback"] => return callback(world, asked, id, token),
        ["webhooks", app, token] => return whisper(world, asked, app, token),
        _ => {}
    }
    if !asked.header("user-agent").starts_with("DiscordBot (") {
        return refused(403, 40_333, "internal network error");
    }
    if asked.header("authorization") != format!("Bot {TOKEN}") || world.revoked {
        return refused(401, 0, "401: Unauthorized");
    }
    match (method, &parts[..]) {
        (Method::GET, ["users", "@me"]) => Told::json(200, &world::bot()),
        (Method::GET, ["oauth2", "applications", "@me"]) => Told::json(
            200,
            &json!({
                "id": APP, "name": "hands", "icon": null, "description": "", "bot_public": true,
                "bot_require_code_grant": false, "verify_key": "00", "flags": 0, "hook": true,
                "owner": { "id": ADA, "username": "ada", "discriminator": "0", "avatar": null },
            }),
        ),
        (Method::GET, ["gateway", "bot"]) => {
            let limit = json!({ "total": 1_000, "remaining": world.starts_left, "reset_after": 14_400_000, "max_concurrency": 1 });
            Told::json(
                200,
                &json!({ "url": world.gateway, "shards": 1, "session_start_limit": limit }),
            )
        }
        (Method::POST, ["users", "@me", "channels"]) => {
            match asked.json().is_some_and(|body| body["recipient_id"] == ADA) {
                true => Told::json(200, &world.channels[DIRECT]),
                false => refused(400, 50_033, "Invalid Recipient(s)"),
            }
        }
        (Method::GET, ["guilds", SERVER, "members", BOT]) => Told::json(
            200,
            &json!({ "user": { "id": BOT }, "roles": [ROLE], "nick": null }),
        ),
        (Method::GET, ["channels", id]) => match world.channels.get(*id) {
            Some(channel) => Told::json(200, channel),
            None => refused(404, 10_003, "Unknown Channel"),
        },
        (_, ["channels", id, ..]) if !world.channels.contains_key(*id) => {
            refused(404, 10_003, "Unknown Channel")
        }
        (Method::POST, ["channels", id, "typing"]) => {
            world.typing.push((*id).to_owned());
            nothing()
        }
        (Method::POST, ["channels", id, "messages"]) => {
            limited(world, id, |world| create(world, asked, id))
        }
        (Method::PATCH, ["channels", id, "messages", message]) => edit(world, asked, id, message),
        (
            Method::PUT,
            [
                "channels",
                _,
                "messages",
                message,
                "reactions",
                emoji,
                "@me",
            ],
        ) => react(world, message, emoji),
        _ => refused(404, 0, "404: Not Found"),
    }
}

/// Counts a request against what a channel takes.
fn limited(world: &mut World, channel: &str, then: impl FnOnce(&mut World) -> Told) -> Told {
    let Some((most, milliseconds)) = world.rate else {
        return then(world);
    };
    let now = Instant::now();
    let span = Duration::from_millis(milliseconds);
    let window = world
        .windows
        .entry(channel.to_owned())
        .or_insert((now + span, 0));
    if window.0 <= now {
        *window = (now + span, 0);
    }
    window.1 += 1;
    let (until, used) = *window;
    let after = (until - now).as_secs_f64();
    let mut told = match used > most {
        true => Told::json(
            429,
            &json!({
                "message": "You are being rate limited.", "retry_after": after, "global": false,
            }),
        ),
        false => then(world),
    };
    told.headers.extend([
        ("x-ratelimit-bucket", "abcd1234".to_owned()),
        ("x-ratelimit-limit", most.to_string()),
        (
            "x-ratelimit-remaining",
            most.saturating_sub(used).to_string(),
        ),
        ("x-ratelimit-reset-after", format!("{after:.3}")),
    ]);
    told
}

/// Checks what a message says; what is wrong with it otherwise.
fn check(body: &Map<String, Value>, files: usize) -> Result<(), Told> {
    let known = [
        "content",
        "nonce",
        "enforce_nonce",
        "allowed_mentions",
        "message_reference",
        "components",
        "attachments",
        "flags",
        "embeds",
        "tts",
        "sticker_ids",
    ];
    if let Some(name) = body.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(invalid(
            name,
            "UNKNOWN_FIELD",
            "this fake knows no such field",
        ));
    }
    let content = body.get("content").and_then(Value::as_str).unwrap_or("");
    if content.chars().count() > TEXT {
        return Err(invalid(
            "content",
            "BASE_TYPE_MAX_LENGTH",
            "Must be 2000 or fewer in length.",
        ));
    }
    if content.trim().is_empty() && files == 0 {
        return Err(refused(400, 50_006, "Cannot send an empty message"));
    }
    let too_long = |nonce: &Value| nonce.as_str().is_none_or(|nonce| nonce.len() > 25);
    if body.get("nonce").is_some_and(too_long) {
        return Err(invalid(
            "nonce",
            "NONCE_TYPE_TOO_LONG",
            "Must be 25 or fewer in length.",
        ));
    }
    let rows = body.get("components").and_then(Value::as_array);
    let rows = rows.map(Vec::as_slice).unwrap_or_default();
    if rows.len() > 5 {
        return Err(invalid(
            "components",
            "BASE_TYPE_BAD_LENGTH",
            "Must be between 1 and 5 in length.",
        ));
    }
    for row in rows {
        let buttons = row["components"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let fits = |button: &Value| {
            let length = |name: &str| button[name].as_str().map_or(0, |text| text.chars().count());
            button["type"] == 2
                && (1..=4).contains(&button["style"].as_u64().unwrap_or(0))
                && (1..=80).contains(&length("label"))
                && (1..=100).contains(&length("custom_id"))
        };
        if row["type"] != 1 || !(1..=5).contains(&buttons.len()) || !buttons.iter().all(fits) {
            return Err(invalid(
                "components",
                "COMPONENT_INVALID",
                "The component is invalid.",
            ));
        }
    }
    Ok(())
}

fn create(world: &mut World, asked: &Asked, channel: &str) -> Told {
    let Some(Value::Object(mut body)) = fields(asked) else {
        return refused(400, 50_109, "The request body contains invalid JSON.");
    };
    let names: Vec<String> = body
        .keys()
        .filter(|name| name.starts_with("files["))
        .cloned()
        .collect();
    let files: Vec<Value> = names.iter().filter_map(|name| body.remove(name)).collect();
    if files
        .iter()
        .any(|file| file["size"].as_u64() > Some(FILE as u64))
    {
        return refused(413, 40_005, "Request entity too large");
    }
    if let Err(told) = check(&body, files.len()) {
        return told;
    }
    let nonce = body
        .get("nonce")
        .and_then(Value::as_str)
        .unwrap_or("")
        .to_owned();
    let key = (channel.to_owned(), nonce);
    if body.get("enforce_nonce") == Some(&json!(true))
        && let Some(known) = world.nonces.get(&key)
    {
        return Told::json(200, known);
    }
    let id = world.id();
    let mut message = message(&id, channel);
    super::lay_over(&mut message, Value::Object(body));
    message["attachments"] = files
        .iter()
        .map(|file| json!({
            "id": world.id(), "filename": file["name"], "size": file["size"], "content_type": file["type"],
            "url": format!("{}/x", world.files_at), "proxy_url": format!("{}/x", world.files_at),
        }))
        .collect();
    world.nonces.insert(key, message.clone());
    world.posted.push(message.clone());
    Told::json(200, &message)
}

/// A message of the bot's that says nothing yet.
fn message(id: &str, channel: &str) -> Value {
    json!({
        "id": id, "channel_id": channel, "type": 0, "content": "", "flags": 0,
        "timestamp": "2026-11-01T10:00:00.000000+00:00", "edited_timestamp": null,
        "author": world::bot(), "attachments": [], "embeds": [], "mentions": [],
        "mention_roles": [], "mention_everyone": false, "pinned": false, "tts": false,
        "components": [],
    })
}

fn edit(world: &mut World, asked: &Asked, channel: &str, id: &str) -> Told {
    let Some(Value::Object(body)) = asked.json() else {
        return refused(400, 50_109, "The request body contains invalid JSON.");
    };
    if let Err(told) = check(&body, 0) {
        return told;
    }
    let fits = |message: &&mut Value| message["id"] == id && message["channel_id"] == channel;
    match world.posted.iter_mut().find(fits) {
        Some(message) => {
            super::lay_over(message, Value::Object(body));
            message["edited_timestamp"] = json!("2026-11-01T10:00:01.000000+00:00");
            Told::json(200, message)
        }
        None => refused(404, 10_008, "Unknown Message"),
    }
}

fn react(world: &mut World, message: &str, emoji: &str) -> Told {
    let own = emoji
        .split_once(':')
        .is_some_and(|(name, id)| !name.is_empty() && id.parse::<u64>().is_ok());
    if emoji.is_ascii() && !own {
        return refused(400, 10_014, "Unknown Emoji");
    }
    let one = (message.to_owned(), emoji.to_owned());
    if !world.reactions.contains(&one) {
        world.reactions.push(one);
    }
    nothing()
}

fn callback(world: &mut World, asked: &Asked, id: &str, token: &str) -> Told {
    let Some((known, done)) = world
        .presses
        .get_mut(id)
        .filter(|(known, _)| known == token)
    else {
        return refused(404, 10_062, "Unknown interaction");
    };
    let _ = known;
    if *done {
        return refused(400, 40_060, "Interaction has already been acknowledged.");
    }
    if !asked.json().is_some_and(|body| body["type"] == 6) {
        return invalid(
            "type",
            "BASE_TYPE_CHOICES",
            "this fake expects a deferred update",
        );
    }
    *done = true;
    if wants(asked, "with_response") {
        let interaction = json!({ "id": id, "type": 3, "response_message_loading": false });
        let told = json!({ "interaction": interaction, "resource": { "type": 6 } });
        return Told::json(200, &told);
    }
    nothing()
}

fn whisper(world: &mut World, asked: &Asked, app: &str, token: &str) -> Told {
    let open = world
        .presses
        .values()
        .any(|(known, done)| known == token && *done);
    if app != APP || !open {
        return refused(404, 10_015, "Unknown Webhook");
    }
    let Some(Value::Object(body)) = asked.json() else {
        return refused(400, 50_109, "The request body contains invalid JSON.");
    };
    if let Err(told) = check(&body, 0) {
        return told;
    }
    let mut message = message(&world.id(), DIRECT);
    super::lay_over(&mut message, Value::Object(body.clone()));
    world.whispers.push(Value::Object(body));
    match wants(asked, "wait") {
        true => Told::json(200, &message),
        false => nothing(),
    }
}

/// Whether the query asks for something.
fn wants(asked: &Asked, name: &str) -> bool {
    let mut query = url::form_urlencoded::parse(asked.query.as_bytes());
    query.any(|(key, value)| key == name && matches!(&*value, "1" | "true" | "True"))
}

/// A file of a message.
fn file(world: &World, asked: &Asked) -> Told {
    // The address is signed; a token has no business here.
    if asked.headers.contains_key("authorization") {
        return refused(400, 0, "unexpected credentials");
    }
    match world.files.get(&asked.path) {
        Some((mime, bytes)) if asked.query == "ex=1&hm=2" => Told {
            content_type: mime.clone(),
            body: bytes.clone(),
            ..Told::json(200, &Value::Null)
        },
        _ => refused(404, 0, "This content is no longer available."),
    }
}

/// A path without its escapes.
fn percent(path: &str) -> String {
    let mut all = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let hex = |byte: Option<u8>| char::from(byte.unwrap_or(0)).to_digit(16).unwrap_or(0) as u8;
        match byte {
            b'%' => all.push(hex(bytes.next()) * 16 + hex(bytes.next())),
            byte => all.push(byte),
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}
