//! `contacts_send`

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp as Instant;
use manyhands_agent_services::People;
use manyhands_agent_services::contact_delivery::{ContactDelivery, ContactMessage};
use manyhands_core::{
    CallContext, ChatRef, ChatScope, Effects, ErrorCode, Ids, Outcome, ToolError, ToolSpec,
    TypedTool,
};
use manyhands_host::machine::blocking;
use manyhands_people::contacts::{Contact, MessageTarget, RouteError, is_speaking, route};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::registration::{Registration, typed};

/// Topic of every message.
const TOPIC: &str = "chat.message";
/// Longest message text, in bytes.
const MAX_TEXT: usize = 64 * 1024;
/// Longest envelope in base64, in bytes.
const MAX_ENVELOPE: usize = 128 * 1024;

/// Send a single message to one contact, routed by itself to where they can be reached. To read contacts, use `read_file` on
/// `file_state_dir/contacts/ACTIVE.md` and `file_state_dir/contacts/INACTIVE.md`; to change them, use `write_file`. Never use it to
/// answer whoever is talking to you.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Target contact ID.
    #[schemars(length(min = 1))]
    contact_id: String,
    /// Optional chat hint (for example `tg:-1001234567890`, `slack:T001:C002`, `line:Cgroup001`).
    chat_id: Option<String>,
    /// Payload type; must be `application/json`, which it is when not given.
    content_type: Option<String>,
    /// Message text; it is wrapped into an envelope. This or `message_base64` is required.
    message_text: Option<String>,
    /// base64url-encoded envelope JSON: `message_id`, `text`, `sent_at` (RFC3339), `session_id` (UUIDv7), and perhaps `reply_to`.
    message_base64: Option<String>,
    /// Session ID (UUIDv7).
    session_id: Option<String>,
    /// Optional reply target `message_id`.
    reply_to: Option<String>,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether it was accepted.
    ok: bool,
    /// The contact.
    contact_id: String,
    /// The platform.
    channel: String,
    /// The chat.
    chat_id: String,
    /// Always `chat.message`.
    topic: &'static str,
    /// The message.
    message_id: String,
    /// The session it belongs to.
    session_id: String,
    /// When it was sent.
    sent_at: String,
    /// The message it replies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<String>,
    /// Idempotency key: the same message to the same chat has the same key for an hour and is sent
    /// once.
    idempotency_key: String,
    /// Whether it was already sent within the hour; the delivery is that of the first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
    /// Delivery state.
    delivery: ContactDelivery,
}

/// A message as it is transmitted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    message_id: String,
    text: String,
    sent_at: String,
    session_id: String,
    reply_to: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "contacts_send",
    enabled: |tools| tools.contacts_send.enabled,
    build: |deps| {
        typed(ContactsSend {
            people: deps.people.clone(),
            ids: deps.ids.clone(),
        })
    },
};

struct ContactsSend {
    people: People,
    ids: Ids,
}

impl TypedTool for ContactsSend {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::SENDS.and(Effects::LEAVES))
            .chats(ChatScope::NotShared)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let place = context.chat.as_deref();
        // In a group anybody could make the agent message the owner's contacts.
        if place.is_some_and(ChatRef::is_shared) {
            let message = "contacts_send is not available in group chats";
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("ask the requester to message you directly"));
        }
        let (mut envelope, given) = self.envelope(&params)?;
        let (contacts, id) = (self.people.contacts.clone(), params.contact_id.clone());
        // Contacts are files; reading them must not block an async thread.
        let contact = blocking(move || Ok(contacts.find(&id)?)).await?;
        let hint = params.chat_id.as_deref().map(str::trim);
        let hint = hint.filter(|hint| !hint.is_empty());
        let target = route(&contact.profile, hint).map_err(|e| route_error(&e))?;
        // A reply belongs in the conversation; sending it here would duplicate it.
        if place.is_some_and(|place| is_speaking(&contact.profile, &target, place)) {
            let message = format!("{} is who you are talking to", contact.profile.contact_id);
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("answer in this conversation instead of sending a message"));
        }
        self.refuse_cooling(&contact)?;
        let own_key = fingerprint(&target, &envelope, given);
        let (key, repeated) = match given {
            MessageIdSource::ByCaller => (own_key.clone(), false),
            MessageIdSource::Here => self.people.recent.key(&own_key, self.people.clock.now()),
        };
        if given == MessageIdSource::Here {
            // A repeated call must return the id of the message that was sent.
            envelope.message_id = message_id(&key);
        }
        let hinted = hint.is_some();
        let delivered = self
            .deliver(&contact, &target, hinted, &envelope, &key)
            .await;
        // A failed message must not count as sent, or a retry would be swallowed.
        let delivery = delivered.inspect_err(|_| self.people.recent.failed(&own_key))?;
        Outcome::of(&Output {
            ok: true,
            contact_id: contact.profile.contact_id,
            channel: target.channel.to_owned(),
            chat_id: target.chat_id(),
            topic: TOPIC,
            message_id: envelope.message_id,
            session_id: envelope.session_id,
            sent_at: envelope.sent_at,
            reply_to: envelope.reply_to,
            idempotency_key: key,
            repeated,
            delivery,
        })
    }
}

/// Source of a message id.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageIdSource {
    /// Given by the caller: another id means another message.
    ByCaller,
    /// Generated here, so it does not distinguish messages.
    Here,
}

impl ContactsSend {
    /// Builds and validates the message.
    fn envelope(&self, params: &Params) -> Result<(Envelope, MessageIdSource), ToolError> {
        check_content_type(params.content_type.as_deref())?;
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let (text, encoded) = (given(&params.message_text), given(&params.message_base64));
        let (session, reply_to) = (given(&params.session_id), given(&params.reply_to));
        if let Some(session) = &session {
            check_session("session_id", session)?;
        }
        let Some(encoded) = encoded else {
            let text = text.ok_or_else(|| {
                let message = "message_text or message_base64 is required";
                ToolError::new(ErrorCode::InvalidArguments, message)
            })?;
            check_text("message_text", &text)?;
            let made = Envelope {
                message_id: String::new(), // named by its key
                text,
                sent_at: self.people.clock.now().rfc3339(),
                session_id: session.unwrap_or_else(|| self.ids.next::<Uuid>().to_string()),
                reply_to,
            };
            return Ok((made, MessageIdSource::Here));
        };
        let mut envelope = decode(&encoded)?;
        let differs = |name: &str| {
            let message = "differs from message_base64; omit one of them";
            Err(ToolError::parameter(name, message))
        };
        if text.is_some_and(|text| text != envelope.text) {
            return differs("message_text");
        }
        if session.is_some_and(|session| session != envelope.session_id) {
            return differs("session_id");
        }
        match (&reply_to, &envelope.reply_to) {
            (Some(given), Some(inside)) if given != inside => return differs("reply_to"),
            (Some(_), None) => envelope.reply_to = reply_to,
            _ => {}
        }
        Ok((envelope, MessageIdSource::ByCaller))
    }

    /// Rejects messages to a contact for a while after a failure.
    fn refuse_cooling(&self, contact: &Contact) -> Result<(), ToolError> {
        let now = self.people.clock.now();
        match contact.profile.cooling_until() {
            Some(until) if until > now => {
                let id = &contact.profile.contact_id;
                let message = format!(
                    "{id} is cooling down until {} after a message that could not be sent",
                    until.rfc3339()
                );
                Err(ToolError::new(ErrorCode::Unavailable, message)
                    .hint("wait, or remove cooldown_until from the contact's profile once it is reachable again")
                    .retry_after(until.since(now)))
            }
            _ => Ok(()),
        }
    }

    async fn deliver(
        &self,
        contact: &Contact,
        target: &MessageTarget,
        hinted: bool,
        envelope: &Envelope,
        key: &str,
    ) -> Result<ContactDelivery, ToolError> {
        let courier = self.people.courier.get().ok_or_else(|| {
            let message = format!("no {} channel is configured", target.channel);
            ToolError::new(ErrorCode::Unavailable, message)
                .hint("the owner can set one up under [channels] in config.toml; or name a chat of another platform with chat_id")
        })?;
        let account = courier.account(target.channel, target.team.as_deref());
        let account = account.map_err(|error| match (hinted, error.code) {
            // The workspace comes from the contact's profile, so the call itself is not at fault.
            (false, ErrorCode::InvalidArguments) => {
                let why = error.problems.into_iter().map(|problem| problem.message);
                let why = why.collect::<Vec<_>>().join("; ");
                let message = format!("cannot send to {}: {why}", contact.profile.contact_id);
                ToolError {
                    hint: error.hint,
                    ..ToolError::new(ErrorCode::Unavailable, message)
                }
            }
            _ => error,
        })?;
        let to = ChatRef {
            kind: target.kind,
            ..ChatRef::dm(target.channel, account, &target.chat)
        };
        let message = ContactMessage {
            id: &envelope.message_id,
            text: &envelope.text,
            reply_to: envelope.reply_to.as_deref(),
            key,
        };
        let delivered = courier.deliver(&to, &message).await?;
        if delivered.state == "failed" {
            let id = &contact.profile.contact_id;
            let why = delivered.reason.as_deref();
            let why = why.unwrap_or("the platform gave no reason");
            let message = format!("the message to {id} could not be sent: {why}");
            return Err(ToolError::new(ErrorCode::Failed, message)
                .details(json!({ "delivery": delivered })));
        }
        Ok(delivered)
    }
}

/// The message id derived from its key.
fn message_id(key: &str) -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(key)[..16]);
    format!(
        "msg_{}",
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    )
}

fn route_error(error: &RouteError) -> ToolError {
    let message = error.to_string();
    match error {
        RouteError::Hint(_) => ToolError::parameter("chat_id", message),
        RouteError::Channel { .. } | RouteError::Nowhere(_) => {
            ToolError::new(ErrorCode::Failed, message)
                .hint("add a chat to the contact's profile in file_state_dir/contacts, or name one with chat_id")
        }
    }
}

/// Content and target determine the key: a repeated call is the same message, unless the caller
/// gave it another id.
fn fingerprint(target: &MessageTarget, envelope: &Envelope, named: MessageIdSource) -> String {
    let name = (named == MessageIdSource::ByCaller).then_some(&envelope.message_id);
    let identity = json!([
        TOPIC,
        target.channel,
        target.team,
        target.chat,
        envelope.text,
        envelope.reply_to,
        name,
    ]);
    let hash = Sha256::digest(identity.to_string());
    let hex: String = hash.iter().take(16).map(|b| format!("{b:02x}")).collect();
    format!("contacts_send:{hex}")
}

fn check_content_type(content_type: Option<&str>) -> Result<(), ToolError> {
    let Some(given) = content_type.filter(|given| !given.trim().is_empty()) else {
        return Ok(());
    };
    let mut parts = given.split(';').map(str::trim);
    let json = parts
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let parameter = |part: &str| {
        let name = part.split_once('=').map(|(name, _)| name.trim());
        part.is_empty() || name.is_some_and(|name| !name.is_empty())
    };
    match json && parts.all(parameter) {
        true => Ok(()),
        false => Err(ToolError::parameter(
            "content_type",
            format!("must be application/json, not {given:?}"),
        )),
    }
}

fn check_text(parameter: &str, text: &str) -> Result<(), ToolError> {
    let size = text.len();
    match size > MAX_TEXT {
        true => Err(ToolError::new(
            ErrorCode::TooLarge,
            format!("{parameter}: is {size} bytes, over the {MAX_TEXT} of one message"),
        )),
        false => Ok(()),
    }
}

fn check_session(parameter: &str, session: &str) -> Result<(), ToolError> {
    let parsed = Uuid::try_parse(session).ok();
    match parsed.is_some_and(|id| id.get_version_num() == 7 && id.to_string() == session) {
        true => Ok(()),
        false => Err(ToolError::parameter(
            parameter,
            "session_id must be a UUIDv7, as in 0199f0a0-7c1e-7b1c-8000-000000000000",
        )),
    }
}

/// Parses an envelope; every field must be valid.
fn decode(encoded: &str) -> Result<Envelope, ToolError> {
    let wrong = |message: String| ToolError::parameter("message_base64", message);
    if encoded.len() > MAX_ENVELOPE {
        let size = encoded.len();
        let message =
            format!("message_base64: is {size} bytes, over the {MAX_ENVELOPE} of one envelope");
        return Err(ToolError::new(ErrorCode::TooLarge, message));
    }
    let bytes = URL_SAFE_NO_PAD
        .decode(encoded)
        .map_err(|e| wrong(format!("is not base64url without padding: {e}")))?;
    // serde_json accepts white space around a value, and the specification does not.
    let framed = bytes.first() == Some(&b'{') && bytes.last() == Some(&b'}');
    let envelope: Envelope = serde_json::from_slice(&bytes)
        .map_err(|e| wrong(format!("does not contain envelope JSON: {e}")))?;
    if !framed {
        return Err(wrong("contains more than envelope JSON".to_owned()));
    }
    for (name, text) in [
        ("message_id", &envelope.message_id),
        ("text", &envelope.text),
    ] {
        if text.trim().is_empty() {
            return Err(wrong(format!("{name} must not be empty")));
        }
    }
    check_text("message_base64", &envelope.text)?;
    if envelope.sent_at.parse::<Instant>().is_err() {
        let message = "sent_at must be RFC3339, as in 2026-02-11T09:30:00Z";
        return Err(wrong(message.to_owned()));
    }
    check_session("message_base64", &envelope.session_id)?;
    Ok(envelope)
}

#[path = "contacts_send/tests.rs"] // the build script's own `path` counts as the folder
#[cfg(test)]
mod tests;
