//! The Web API, as strict as Slack.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::world::{Posted, Uploaded, World};
use super::{APP_TOKEN, BOT, BOT_TOKEN, BOT_USER, Failure, State, blocks};
use crate::Recorded;

/// Standard names that a test may use; Slack knows many more.
const STANDARD: [&str; 8] = [
    "+1",
    "thumbsup",
    "eyes",
    "heart",
    "tada",
    "white_check_mark",
    "x",
    "rocket",
];

type Fields = BTreeMap<String, String>;
type Said = Result<Value, &'static str>;

/// Any method.
pub(super) async fn call(
    Shared(state): Shared<Arc<State>>,
    Path(name): Path<String>,
    verb: Method,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Response {
    let kind = text(&headers, header::CONTENT_TYPE);
    let fields = fields(&verb, &kind, query.as_deref(), &body);
    let failure = {
        let mut world = state.world();
        let found = world
            .failures
            .iter()
            .position(|(method, _)| *method == name);
        found.map(|at| world.failures.remove(at).1)
    };
    let token = text(&headers, header::AUTHORIZATION);
    let said = match (failure, fields.clone()) {
        (Some(failure), Ok(fields)) if failure != Failure::DoneThenReset => Err((failure, fields)),
        (_, fields) => Ok(fields.and_then(|fields| answer(&state, &name, &token, &fields))),
    };
    let response = match (&said, failure) {
        (Err((Failure::RateLimited(seconds), _)), _) => limited(*seconds),
        (Err((Failure::Status(status), _)), _) => {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_GATEWAY);
            (status, "<html>upstream trouble</html>").into_response()
        }
        (Err((Failure::Said(word), _)), _) => refused(word),
        (Err((Failure::Garbage, _)), _) => "<<<not json".into_response(),
        (_, Some(Failure::DoneThenReset)) => broken(),
        (Ok(Ok(value)), _) => axum::Json(value.clone()).into_response(),
        (Ok(Err("ratelimited")), _) => limited(1),
        (Ok(Err(word)), _) => refused(word),
        (Err(_), _) => StatusCode::OK.into_response(),
    };
    state.journal.keep(Recorded {
        platform: "slack",
        method: verb.to_string(),
        path: format!("/{name}"),
        content_type: kind,
        body: json!(fields.unwrap_or_default()),
        status: response.status().as_u16(),
    });
    state.change();
    if let Err((Failure::Hang, _)) = said {
        pending::<()>().await;
    }
    response
}

fn limited(seconds: u64) -> Response {
    let body = axum::Json(json!({ "ok": false, "error": "ratelimited" }));
    let after = [("retry-after", seconds.to_string())];
    (StatusCode::TOO_MANY_REQUESTS, after, body).into_response()
}

fn refused(word: &str) -> Response {
    let mut said = json!({ "ok": false, "error": word });
    if word == "missing_scope" {
        said["needed"] = json!("some:scope");
        said["provided"] = json!("chat:write");
    }
    axum::Json(said).into_response()
}

/// An answer that breaks off.
fn broken() -> Response {
    let pieces = [
        Ok(Bytes::from("{\"ok\":")),
        Err(std::io::Error::other("reset")),
    ];
    Response::new(Body::from_stream(futures_util::stream::iter(pieces)))
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

/// The fields of a call, from wherever Slack takes them.
fn fields(
    verb: &Method,
    kind: &str,
    query: Option<&str>,
    body: &[u8],
) -> Result<Fields, &'static str> {
    let mut all: Fields = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .into_owned()
        .collect();
    if *verb == Method::GET || body.is_empty() {
        return Ok(all);
    }
    if kind.starts_with("application/x-www-form-urlencoded") {
        all.extend(form_urlencoded::parse(body).into_owned());
    } else if kind.starts_with("application/json") {
        let object: serde_json::Map<String, Value> =
            serde_json::from_slice(body).map_err(|_| "json_not_object")?;
        all.extend(object.into_iter().map(|(name, value)| match value {
            Value::String(text) => (name, text),
            other => (name, other.to_string()),
        }));
    } else {
        return Err("invalid_post_type");
    }
    Ok(all)
}

fn answer(state: &State, name: &str, authorization: &str, fields: &Fields) -> Said {
    let mut world = state.world();
    let token = authorization.strip_prefix("Bearer ").unwrap_or_default();
    let wanted = if name == "apps.connections.open" {
        APP_TOKEN
    } else {
        BOT_TOKEN
    };
    match token {
        "" => return Err("not_authed"),
        _ if world.revoked => return Err("token_revoked"),
        token if token == wanted => {}
        BOT_TOKEN | APP_TOKEN => return Err("not_allowed_token_type"),
        _ => return Err("invalid_auth"),
    }
    let channel = fields.get("channel").or(fields.get("channel_id"));
    if let Some(word) = channel.and_then(|channel| world.poisoned.get(channel)) {
        return Err(word);
    }
    match name {
        "auth.test" => Ok(json!({
            "ok": true, "url": "https://team.slack.com/", "team": "Team", "team_id": world.team,
            "user": "hands", "user_id": BOT_USER, "bot_id": BOT, "is_enterprise_install": false,
        })),
        "apps.connections.open" => {
            world.count += 1;
            let ticket = format!("ticket-{}", world.count);
            let url = format!("ws://{}/link?ticket={ticket}&app_id=x", state.address);
            world.tickets.push(ticket);
            Ok(json!({ "ok": true, "url": url }))
        }
        "users.info" => {
            let user = world
                .users
                .get(field(fields, "user")?)
                .ok_or("user_not_found")?;
            Ok(json!({ "ok": true, "user": user }))
        }
        "conversations.info" => {
            let channel = known(&world, fields)?;
            Ok(json!({ "ok": true, "channel": world.channels[&channel] }))
        }
        "conversations.open" => {
            let user = field(fields, "users")?;
            let name = user
                .strip_prefix('U')
                .filter(|_| world.users.contains_key(user));
            let name = name
                .and_then(|name| name.strip_prefix('0'))
                .ok_or("user_not_found")?;
            Ok(json!({ "ok": true, "channel": { "id": format!("D0{name}") } }))
        }
        "emoji.list" => {
            let all = world
                .emoji
                .iter()
                .map(|name| (name.clone(), json!("https://emoji.test/x.png")));
            let all: serde_json::Map<String, Value> = all.collect();
            Ok(json!({ "ok": true, "emoji": all, "cache_ts": "1700000000.000000" }))
        }
        "chat.postMessage" => post_message(&mut world, fields),
        "chat.postEphemeral" => {
            let only = field(fields, "user")?.to_owned();
            if !world.users.contains_key(&only) {
                return Err("user_not_in_channel");
            }
            let said = post_message(&mut world, fields)?;
            if let Some(last) = world.posted.last_mut() {
                last.only = Some(only);
            }
            Ok(json!({ "ok": true, "message_ts": said["ts"] }))
        }
        "chat.update" => update(&mut world, fields),
        "reactions.add" => react(&mut world, fields),
        "files.info" => {
            let id = field(fields, "file")?;
            let (mime, bytes) = world.files.get(id).ok_or("file_not_found")?;
            let url = format!("http://{}/files-pri/{id}", state.address);
            Ok(json!({ "ok": true, "file": {
                "id": id, "mimetype": mime, "size": bytes.len(), "url_private_download": url,
            } }))
        }
        "files.getUploadURLExternal" => {
            let name = field(fields, "filename")?.to_owned();
            let length: usize = field(fields, "length")?
                .parse()
                .map_err(|_| "invalid_arguments")?;
            if length == 0 || name.is_empty() {
                return Err("invalid_arguments");
            }
            world.count += 1;
            let id = format!("F{:06}", world.count);
            let url = format!("http://{}/upload/{id}", state.address);
            let upload = Uploaded {
                name,
                length,
                ..Uploaded::default()
            };
            world.uploads.insert(id.clone(), upload);
            Ok(json!({ "ok": true, "upload_url": url, "file_id": id }))
        }
        "files.completeUploadExternal" => complete(&mut world, fields),
        _ => Err("unknown_method"),
    }
}

fn field<'a>(fields: &'a Fields, name: &str) -> Result<&'a str, &'static str> {
    fields
        .get(name)
        .map(String::as_str)
        .ok_or("invalid_arguments")
}

/// The channel of a call, which there must be.
fn known(world: &World, fields: &Fields) -> Result<String, &'static str> {
    let channel = fields.get("channel").or(fields.get("channel_id"));
    let channel = channel.filter(|channel| world.channels.contains_key(*channel));
    channel.cloned().ok_or("channel_not_found")
}

fn is_stamp(ts: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    ts.split_once('.')
        .is_some_and(|(seconds, rest)| digits(seconds) && digits(rest))
}

fn post_message(world: &mut World, fields: &Fields) -> Said {
    let channel = known(world, fields)?;
    let (text, blocks) = words(fields)?;
    let thread = fields.get("thread_ts").cloned();
    if thread.as_deref().is_some_and(|thread| !is_stamp(thread)) {
        return Err("invalid_thread_ts");
    }
    if world.rates {
        let now = Instant::now();
        let last = world.last.get(&channel);
        if last.is_some_and(|last| now.duration_since(*last) < Duration::from_secs(1)) {
            return Err("ratelimited");
        }
        world.last.insert(channel.clone(), now);
    }
    let ts = world.stamp();
    // What is longer is cut off, without a word.
    let text: String = text.chars().take(40_000).collect();
    let message =
        json!({ "type": "message", "text": text, "ts": ts, "user": BOT_USER, "bot_id": BOT });
    let said = json!({ "ok": true, "channel": channel, "ts": ts, "message": message });
    world.posted.push(Posted {
        channel,
        ts,
        text,
        blocks,
        thread,
        only: None,
        edits: 0,
    });
    Ok(said)
}

fn words(fields: &Fields) -> Result<(String, Vec<Value>), &'static str> {
    let text = fields.get("text").cloned().unwrap_or_default();
    let blocks = fields.get("blocks").map(|blocks| blocks::read(blocks));
    let blocks = blocks.transpose()?.unwrap_or_default();
    if text.is_empty() && blocks.is_empty() {
        return Err("no_text");
    }
    Ok((text, blocks))
}

fn update(world: &mut World, fields: &Fields) -> Said {
    let channel = known(world, fields)?;
    let ts = field(fields, "ts")?;
    let (text, blocks) = words(fields)?;
    if text.chars().count() > 4_000 {
        return Err("msg_too_long");
    }
    let found = world
        .posted
        .iter_mut()
        .find(|one| one.channel == channel && one.ts == ts);
    let message = found.ok_or("message_not_found")?;
    message.text = text.clone();
    // Blocks that are not named stay.
    if fields.contains_key("blocks") {
        message.blocks = blocks;
    }
    message.edits += 1;
    Ok(json!({ "ok": true, "channel": channel, "ts": ts, "text": text }))
}

fn react(world: &mut World, fields: &Fields) -> Said {
    let channel = known(world, fields)?;
    let ts = field(fields, "timestamp")?;
    let name = field(fields, "name")?;
    if !is_stamp(ts) {
        return Err("bad_timestamp");
    }
    let plain = name.split("::").next().unwrap_or_default();
    if !STANDARD.contains(&plain) && !world.emoji.iter().any(|one| one == plain) {
        return Err("invalid_name");
    }
    if !world.has(&channel, ts) {
        return Err("message_not_found");
    }
    let one = (ts.to_owned(), name.to_owned());
    if world.reactions.contains(&one) {
        return Err("already_reacted");
    }
    world.reactions.push(one);
    Ok(json!({ "ok": true }))
}

fn complete(world: &mut World, fields: &Fields) -> Said {
    let channel = known(world, fields)?;
    let files: Value =
        serde_json::from_str(field(fields, "files")?).map_err(|_| "invalid_arguments")?;
    let files = files
        .as_array()
        .filter(|files| !files.is_empty())
        .ok_or("invalid_arguments")?;
    for file in files {
        let id = file["id"].as_str().ok_or("invalid_arguments")?;
        let upload = world.uploads.get_mut(id).ok_or("file_not_found")?;
        if upload.bytes.len() != upload.length {
            return Err("file_not_found");
        }
        upload.shared = Some(channel.clone());
        upload.thread = fields.get("thread_ts").cloned();
        upload.comment = fields.get("initial_comment").cloned();
    }
    Ok(json!({ "ok": true, "files": files }))
}

/// Takes the bytes of a file.
pub(super) async fn upload(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut world = state.world();
    let failure = world
        .failures
        .iter()
        .position(|(method, _)| method == "upload");
    if let Some(at) = failure {
        world.failures.remove(at);
        return StatusCode::BAD_GATEWAY.into_response();
    }
    // The address is the right to it; a token has no business here.
    let Some(upload) = world.uploads.get_mut(&id) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if headers.contains_key(header::AUTHORIZATION) || body.len() != upload.length {
        return StatusCode::BAD_REQUEST.into_response();
    }
    upload.bytes = body.to_vec();
    format!("OK - {}", body.len()).into_response()
}

/// Gives a file to whoever has the token, and leads everybody else to a page to log in on.
pub(super) async fn download(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let world = state.world();
    let token = text(&headers, header::AUTHORIZATION);
    if token != format!("Bearer {BOT_TOKEN}") || world.revoked {
        return Redirect::to("/signin").into_response();
    }
    match world.files.get(&id) {
        Some((mime, bytes)) => {
            let kind = [(header::CONTENT_TYPE, mime.clone())];
            (kind, bytes.clone()).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The page to log in on.
pub(super) async fn signin() -> Response {
    let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    (kind, "<html>Sign in</html>").into_response()
}
