//! Generates the protocol reference: `docs/protocol.md` and `docs/protocol.json`.
//!
//! Fields are sorted, required ones first: the order must not depend on the features of `serde_json` that other crates in
//! the build enable.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::bridge::{
    ChannelInboundParams, ChannelOutboundEvent, ChannelSentParams, ChannelTypingEvent,
};
use crate::channels::{
    ChannelLoginParams, ChannelLogoutParams, ChannelStartParams, ChannelStatusParams,
    ChannelStopParams, ChannelsListParams, PairApproveParams, PairListParams, PairRejectParams,
};
use crate::chat::{
    ChatEventPayload, ChatGapEvent, ChatSendParams, ChatStopParams, ChatTakenEvent, ChatToolEvent,
};
use crate::code::{Code, ErrorShape};
use crate::connect::ConnectParams;
use crate::cron::{
    CronAddParams, CronListParams, CronPreviewParams, CronRemoveParams, CronRunParams,
    CronRunsParams, CronStatusParams, CronUpdateParams, HeartbeatStartParams,
    HeartbeatStatusParams, HeartbeatTriggerParams,
};
use crate::event::{
    ApprovalsChangedEvent, ChannelsChangedEvent, CronChangedEvent, NodesChangedEvent, Payload,
    ToolProgressEvent, ToolsChangedEvent,
};
use crate::method::Params;
use crate::node::{
    LogsGetEvent, LogsGetParams, LogsResultParams, NodeExecEventParams, NodeExecNotice,
    NodeForgetParams, NodesListParams, ToolCancelEvent, ToolInvokeEvent, ToolOutputEvent,
    ToolResultParams,
};
use crate::params::{
    ConfigGetParams, ConfigSetParams, ToolInvokeParams, ToolRequestParams, ToolsListParams,
    WorkspaceDeleteParams, WorkspaceListParams, WorkspaceReadParams, WorkspaceWriteParams,
};
use crate::process::{
    ProcessOutputEvent, ProcessUnwatchEvent, ProcessUnwatchParams, ProcessWatchEvent,
    ProcessWatchParams,
};
use crate::session::{
    SessionBranchParams, SessionChangedEvent, SessionCompactParams, SessionDeleteParams,
    SessionDeletedEvent, SessionGetParams, SessionHistoryParams, SessionPatchParams,
    SessionPreviewParams, SessionResetParams, SessionRewindParams, SessionStatsParams,
    SessionsListParams,
};
use crate::skills::{SkillsStatusParams, SkillsUpdateParams};
use crate::terminal::{
    TerminalCloseEvent, TerminalCloseParams, TerminalClosedEvent, TerminalInputEvent,
    TerminalInputParams, TerminalOpenParams, TerminalOutputEvent, TerminalReadEvent,
    TerminalResizeEvent, TerminalResizeParams,
};
use crate::transfer::{
    TransferAcceptParams, TransferAckEvent, TransferCancelEvent, TransferCompleteParams,
    TransferDoneParams, TransferEndEvent, TransferMetaParams, TransferReceiveEvent,
    TransferSendEvent, TransferStartEvent,
};

const HEAD: &str = "\
# The socket protocol

<!-- Generated from crates/wire; run `UPDATE_DOCS=1 cargo test -p manyhands-wire` after a change. -->

`GET /ws` opens the socket. Text frames are JSON objects distinguished by `type`:

| frame | fields |
| --- | --- |
| `req` | `id`, `method`, `params?` |
| `res` | `id`, `ok`, `payload?`, `error?` |
| `evt` | `event`, `payload?`, `seq?` |

The first frame is a `connect` request, within 15 seconds. Unknown fields in
incoming frames are ignored, and absent fields are omitted.

A binary frame is a transfer id (u32, little-endian) followed by at most 256 KiB of
that transfer's bytes. It is accepted only for a transfer assigned to this socket.

A transfer goes `transfer.send`, `transfer.meta`, `transfer.receive`,
`transfer.accept`, `transfer.start`, frames, `transfer.complete`, `transfer.end`,
`transfer.done`; if one side is the workspace, its half is omitted. If both sides
announced the addition `transfer.checked`, at most 4 MiB are in flight beyond the
last `transfer.ack`, and the file's SHA-256 is sent with `transfer.complete` and
`transfer.end`.

## The socket

`/ws` follows RFC 6455, without extensions, before `connect` as after it, for clients, nodes and bridges alike:

- A ping is answered with a pong, a Close with a Close that has the same code. The gateway pings every 10 seconds; a
  peer that sends nothing for 30 seconds, or reads nothing for 30 seconds, is disconnected. A slow peer that makes
  progress is not.
- A violation of the framing (reserved bits and opcodes, frames without a mask, fragmented or long control frames,
  an unexpected continuation, a Close with a reserved code) closes the socket with 1002, text that is not
  UTF-8 with 1007, a message larger than `limits.request_bytes` with 1009, and a binary message without a
  transfer with 1003.
- Other codes are 1008 for a refused `connect`, 4001 if the token is missing, invalid or revoked, 1012 when the
  gateway stops, and 1013 when it is overloaded.

**Every request gets a response**, in the order of completion. A client's socket has at most 64 open requests:
further ones are queued, and beyond the read-ahead (64 requests or 256 KiB) the gateway stops reading from the
connection until one is done, so that TCP slows the client down. A client that sends many requests
should read while it sends; one that does not is disconnected after 30 seconds without reading anything.
Events are different: they are dropped when 128 messages are queued for a slow reader. Closing the socket cancels the
client's requests.
";

const SESSIONS: &str = "
## Chats and sessions

A session key is a plain name such as `main`, or `agent:NAME:REST`; responses and events use its
canonical form. The owner can see and change every session, and the owner's `main` is
`agent:main:main`. A client token has its own sessions, `agent:NAME:client:TOKEN:REST` with the
token's name (characters other than lower-case letters, digits and `-_.` are written as `+` and their bytes in hex):
its plain `main` is `agent:main:client:TOKEN:main`, and other keys get 403. Tokens with the same
name share their sessions. A read-only token has none.

A message that starts with a slash and a word is a slash command, and answered at once; `/help` lists them. `/t:LEVEL` and
`/m:PROVIDER/MODEL` at the beginning of a message apply to that message only.

`session.delete` is allowed for callers that may use the session. It deletes the messages with their images, queued
messages, settings and label, archives, and the search index of `memory_search`; pending approval requests are
cancelled. An active run is stopped first, as by `session.reset`. It keeps the audit log, usage
records, workspace files, artifacts, memory files, the sessions of its sub-agents, and existing backups. The
main session can be deleted, too: the next message starts a new one.

A repeated `runId` is not processed again: if its run has ended, the socket is sent its final event
once more.
";

/// Returns the reference in Markdown: frames, methods with parameters and results, codes.
pub fn protocol_markdown() -> String {
    build().markdown
}

/// Returns the reference as a JSON Schema: `methods` by name with `params` and `result`, `events` by name.
pub fn protocol_schema() -> Value {
    let mut reference = build();
    let error = reference.schemas.subschema_for::<ErrorShape>();
    // Taken last: describing the methods above has added them.
    let definitions = Value::Object(reference.schemas.take_definitions(true));
    sorted(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Protocol",
        "description": "Generated from crates/wire; run `UPDATE_DOCS=1 cargo test -p manyhands-wire` after a change.",
        "type": "object",
        "properties": {
            "methods": all_of(reference.methods),
            "events": all_of(reference.events),
            "error": error,
        },
        "required": ["methods", "events", "error"],
        "additionalProperties": false,
        "definitions": definitions,
    }))
}

/// The reference under construction, as text and as schemas.
struct Reference {
    markdown: String,
    schemas: SchemaGenerator,
    methods: Map<String, Value>,
    events: Map<String, Value>,
}

impl Reference {
    fn new(markdown: &str) -> Self {
        Self {
            markdown: markdown.to_owned(),
            schemas: SchemaSettings::draft07().into_generator(),
            methods: Map::new(),
            events: Map::new(),
        }
    }

    fn push_str(&mut self, markdown: &str) {
        self.markdown.push_str(markdown);
    }
}

/// An object with exactly these properties, all required.
fn all_of(properties: Map<String, Value>) -> Value {
    let names: Vec<&String> = properties.keys().collect();
    let names = json!(names);
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

/// Sorts the keys of every object, and lists of names, which are sets.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            let in_order = entries
                .into_iter()
                .map(|(key, value)| match (key.as_str(), value) {
                    ("required", Value::Array(mut names)) if names.iter().all(Value::is_string) => {
                        names.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
                        (key, Value::Array(names))
                    }
                    (_, value) => (key, sorted(value)),
                });
            Value::Object(in_order.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        plain => plain,
    }
}

fn build() -> Reference {
    let mut text = Reference::new(HEAD);
    text.push_str("\n## Methods\n");
    method::<ConnectParams>(&mut text);
    method::<ToolsListParams>(&mut text);
    method::<ToolInvokeParams>(&mut text);
    method::<ToolRequestParams>(&mut text);
    method::<ConfigGetParams>(&mut text);
    method::<ConfigSetParams>(&mut text);
    method::<WorkspaceListParams>(&mut text);
    method::<WorkspaceReadParams>(&mut text);
    method::<WorkspaceWriteParams>(&mut text);
    method::<WorkspaceDeleteParams>(&mut text);
    method::<LogsGetParams>(&mut text);
    method::<NodesListParams>(&mut text);
    method::<NodeForgetParams>(&mut text);
    method::<ProcessWatchParams>(&mut text);
    method::<ProcessUnwatchParams>(&mut text);
    method::<TerminalOpenParams>(&mut text);
    method::<TerminalInputParams>(&mut text);
    method::<TerminalResizeParams>(&mut text);
    method::<TerminalCloseParams>(&mut text);
    text.push_str(SESSIONS);
    method::<ChatSendParams>(&mut text);
    method::<ChatStopParams>(&mut text);
    method::<SessionsListParams>(&mut text);
    method::<SessionGetParams>(&mut text);
    method::<SessionStatsParams>(&mut text);
    method::<SessionResetParams>(&mut text);
    method::<SessionPatchParams>(&mut text);
    method::<SessionCompactParams>(&mut text);
    method::<SessionRewindParams>(&mut text);
    method::<SessionBranchParams>(&mut text);
    method::<SessionDeleteParams>(&mut text);
    method::<SessionHistoryParams>(&mut text);
    method::<SessionPreviewParams>(&mut text);
    method::<SkillsStatusParams>(&mut text);
    method::<SkillsUpdateParams>(&mut text);
    method::<CronStatusParams>(&mut text);
    method::<CronListParams>(&mut text);
    method::<CronAddParams>(&mut text);
    method::<CronUpdateParams>(&mut text);
    method::<CronRemoveParams>(&mut text);
    method::<CronRunParams>(&mut text);
    method::<CronRunsParams>(&mut text);
    method::<CronPreviewParams>(&mut text);
    method::<HeartbeatStatusParams>(&mut text);
    method::<HeartbeatStartParams>(&mut text);
    method::<HeartbeatTriggerParams>(&mut text);
    method::<ChannelsListParams>(&mut text);
    method::<ChannelStatusParams>(&mut text);
    method::<ChannelStartParams>(&mut text);
    method::<ChannelStopParams>(&mut text);
    method::<ChannelLoginParams>(&mut text);
    method::<ChannelLogoutParams>(&mut text);
    method::<PairListParams>(&mut text);
    method::<PairApproveParams>(&mut text);
    method::<PairRejectParams>(&mut text);
    text.push_str("\n## Methods for bridges\n");
    method::<ChannelInboundParams>(&mut text);
    method::<ChannelSentParams>(&mut text);
    text.push_str("\n## Methods for nodes\n");
    method::<ToolResultParams>(&mut text);
    method::<LogsResultParams>(&mut text);
    method::<NodeExecEventParams>(&mut text);
    method::<TransferMetaParams>(&mut text);
    method::<TransferAcceptParams>(&mut text);
    method::<TransferCompleteParams>(&mut text);
    method::<TransferDoneParams>(&mut text);
    text.push_str("\n## Events for clients\n");
    event::<ToolsChangedEvent>(&mut text);
    event::<ToolProgressEvent>(&mut text);
    event::<ProcessOutputEvent>(&mut text);
    event::<TerminalOutputEvent>(&mut text);
    event::<TerminalClosedEvent>(&mut text);
    event::<NodeExecNotice>(&mut text);
    event::<ChatEventPayload>(&mut text);
    event::<ChatToolEvent>(&mut text);
    event::<ChatGapEvent>(&mut text);
    event::<ChatTakenEvent>(&mut text);
    event::<SessionDeletedEvent>(&mut text);
    event::<SessionChangedEvent>(&mut text);
    event::<ApprovalsChangedEvent>(&mut text);
    event::<NodesChangedEvent>(&mut text);
    event::<CronChangedEvent>(&mut text);
    event::<ChannelsChangedEvent>(&mut text);
    text.push_str("\n## Events for bridges\n");
    event::<ChannelOutboundEvent>(&mut text);
    event::<ChannelTypingEvent>(&mut text);
    text.push_str("\n## Events for nodes\n");
    event::<ToolInvokeEvent>(&mut text);
    event::<ToolCancelEvent>(&mut text);
    event::<ToolOutputEvent>(&mut text);
    event::<ProcessWatchEvent>(&mut text);
    event::<ProcessUnwatchEvent>(&mut text);
    event::<TerminalReadEvent>(&mut text);
    event::<TerminalInputEvent>(&mut text);
    event::<TerminalResizeEvent>(&mut text);
    event::<TerminalCloseEvent>(&mut text);
    event::<LogsGetEvent>(&mut text);
    event::<TransferSendEvent>(&mut text);
    event::<TransferReceiveEvent>(&mut text);
    event::<TransferStartEvent>(&mut text);
    event::<TransferAckEvent>(&mut text);
    event::<TransferEndEvent>(&mut text);
    event::<TransferCancelEvent>(&mut text);
    text.push_str("\n## Errors\n");
    table(&mut text.markdown, "Fields", &schema::<ErrorShape>());
    text.push_str("\n| code | meaning |\n| --- | --- |\n");
    for code in Code::ALL {
        let row = format!("| {} | {} |\n", code.number(), code.meaning());
        text.push_str(&row);
    }
    text
}

fn method<P: Params>(reference: &mut Reference) {
    let open = if P::METHOD.open_to_nodes() {
        " Open to nodes."
    } else {
        ""
    };
    let (name, summary) = (P::METHOD.name(), P::METHOD.summary());
    let (params, result) = (
        reference.schemas.subschema_for::<P>(),
        reference.schemas.subschema_for::<P::Result>(),
    );
    let both = json!({
        "type": "object",
        "description": summary,
        "properties": { "params": params, "result": result },
        "required": ["params", "result"],
        "additionalProperties": false,
    });
    reference.methods.insert(name.to_owned(), both);
    let text = &mut reference.markdown;
    text.push_str(&format!("\n### `{name}`\n\n{summary}{open}\n"));
    table(text, "Parameters", &schema::<P>());
    table(text, "Result", &schema::<P::Result>());
}

fn event<P: Payload>(reference: &mut Reference) {
    let (name, summary) = (P::EVENT.name(), P::EVENT.summary());
    let payload = reference.schemas.subschema_for::<P>();
    reference.events.insert(name.to_owned(), payload.into());
    let text = &mut reference.markdown;
    text.push_str(&format!("\n### `evt {name}`\n\n{summary}\n"));
    table(text, "Payload", &schema::<P>());
}

fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.into_generator().into_root_schema_for::<T>().into()
}

fn table(text: &mut String, title: &str, schema: &Value) {
    let shapes = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    let shapes = match shapes {
        Some(shapes) => shapes.iter().collect(),
        None => vec![schema],
    };
    for (at, shape) in shapes.into_iter().enumerate() {
        let title = if at == 0 { title } else { "Or" };
        let mut rows = Vec::new();
        fields(&mut rows, "", shape);
        if rows.is_empty() {
            let what = match shape["type"].as_str() {
                Some("object") => "none",
                _ => "any JSON value, as the tool documents it",
            };
            text.push_str(&format!("\n{title}: {what}.\n"));
            continue;
        }
        text.push_str(&format!("\n{title}:\n\n"));
        text.push_str("| field | type | required | meaning |\n| --- | --- | --- | --- |\n");
        text.extend(rows);
    }
}

fn fields(rows: &mut Vec<String>, above: &str, schema: &Value) {
    let required = |name: &str| {
        let mut names = schema["required"].as_array().into_iter().flatten();
        names.any(|required| required == name)
    };
    let mut names: Vec<(&String, &Value)> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .collect();
    names.sort_by_key(|(name, _)| (!required(name), *name));
    for (name, field) in names {
        let path = format!("{above}{name}");
        let field = &without_null(field);
        let must = if required(name) { "yes" } else { "no" };
        let kind = kind(field);
        // The tag of a variant has the variant's description.
        let described = match field["const"].is_string() {
            true => field["description"]
                .as_str()
                .or(schema["description"].as_str()),
            false => field["description"].as_str(),
        };
        let meaning = described.unwrap_or("").replace('\n', " ");
        rows.push(format!("| `{path}` | {kind} | {must} | {meaning} |\n"));
        fields(rows, &format!("{path}."), field);
        fields(rows, &format!("{path}[]."), &field["items"]);
        for shape in field["items"]["oneOf"].as_array().into_iter().flatten() {
            fields(rows, &format!("{path}[]."), shape);
        }
    }
}

/// The schema of a nullable field without null.
fn without_null(field: &Value) -> Value {
    let options = field["anyOf"].as_array().into_iter().flatten();
    let mut real = options.filter(|option| option["type"] != "null");
    match (real.next(), real.next()) {
        (Some(one), None) => {
            let mut one = one.clone();
            one["description"] = field["description"].clone();
            one
        }
        _ => field.clone(),
    }
}

fn kind(field: &Value) -> String {
    if let Some(word) = field["const"].as_str() {
        return format!("`{word}`");
    }
    if let Some(options) = field["oneOf"].as_array() {
        let mut markdown: Vec<String> = options.iter().map(kind).collect();
        markdown.dedup();
        return markdown.join(" or ");
    }
    let named = match &field["type"] {
        Value::Array(options) => options
            .iter()
            .find_map(|o| o.as_str().filter(|o| *o != "null")),
        one => one.as_str(),
    };
    match named {
        Some("array") => format!("list of {}", kind(&field["items"])),
        Some(named) => named.to_owned(),
        None => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;
    use crate::method::Method;

    #[test]
    fn the_reference_in_docs_is_up_to_date() {
        in_docs("protocol.md", &protocol_markdown());
    }

    #[test]
    fn the_schema_in_docs_is_up_to_date() {
        let text = serde_json::to_string_pretty(&protocol_schema()).unwrap();
        in_docs("protocol.json", &(text + "\n"));
    }

    #[track_caller]
    fn in_docs(name: &str, text: &str) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
        let path = format!("{folder}{name}");
        #[allow(
            clippy::disallowed_methods,
            reason = "a switch for whoever runs the test"
        )]
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == text,
            "docs/{name} is out of date; run UPDATE_DOCS=1 cargo test -p manyhands-wire"
        );
    }

    #[test]
    fn every_method_and_code_is_in_it_and_every_field_has_a_meaning() {
        let text = protocol_markdown();
        let schema = protocol_schema();
        let (methods, events) = (
            &schema["properties"]["methods"]["properties"],
            &schema["properties"]["events"]["properties"],
        );
        for method in Method::ALL {
            assert!(text.contains(&format!("### `{method}`\n")), "{method}");
            assert!(methods[method.name()].is_object(), "{method}");
        }
        for event in EventKind::ALL {
            assert!(text.contains(&format!("### `evt {event}`\n")), "{event}");
            assert!(events[event.name()].is_object(), "{event}");
        }
        for code in Code::ALL {
            assert!(text.contains(&format!("| {} |", code.number())));
        }
        for row in text.lines().filter(|line| line.starts_with("| `")) {
            assert!(!row.ends_with("|  |"), "{row}");
        }
    }
}
