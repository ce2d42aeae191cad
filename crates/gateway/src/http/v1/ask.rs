//! What is asked at `/v1/chat/completions`. Fields that would change the answer and cannot be honoured are refused by
//! name; hints, bookkeeping and unknown fields are accepted and change nothing.

use manyhands_agent::Input;
use manyhands_core::ToolError;
use manyhands_llm::{Block, Message, Thinking};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::chat::{at_most, block};

/// The body of a request.
#[derive(Deserialize, JsonSchema)]
pub struct Ask {
    /// The agent: `agent/NAME` or `NAME`.
    pub(super) model: String,
    /// The conversation; the user's word comes last.
    #[schemars(length(min = 1))]
    messages: Vec<Said>,
    /// Whether to answer in pieces.
    #[serde(default)]
    pub(super) stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    /// The most tokens of one reply of the agent's model.
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_tokens: Option<u32>,
    /// The same by its newer name.
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_completion_tokens: Option<u32>,
    /// How hard to think.
    #[serde(default)]
    reasoning_effort: Option<Thinking>,
    /// `{"type":"text"}`, or `{"type":"json_schema","json_schema":{"schema":…}}`.
    #[serde(default)]
    response_format: Option<Value>,
    /// `session`: the session to say the last message in, where the header `x-session-key` does not name one. Other
    /// keys are accepted and ignored.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    /// What else was said.
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Map<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StreamOptions {
    /// Whether the last piece tells what was used up.
    #[serde(default)]
    include_usage: bool,
}

/// One message.
#[derive(Deserialize, JsonSchema)]
struct Said {
    role: Role,
    /// A text, or a list of texts and pictures.
    #[serde(default)]
    content: Value,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Map<String, Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
    Function,
}

/// The conversation of a request, in neutral words.
pub(super) struct Talk {
    /// What the model is told besides.
    pub(super) system: Option<String>,
    /// What was said before.
    pub(super) before: Vec<Message>,
    /// What is said now.
    pub(super) input: Input,
}

/// Parameters that would change the answer, and the value that says what happens anyway. All others are hints.
fn as_usual(name: &str) -> Option<Value> {
    Some(match name {
        "n" | "temperature" | "top_p" => json!(1),
        "presence_penalty" | "frequency_penalty" => json!(0),
        "logprobs" => json!(false),
        "parallel_tool_calls" => json!(true),
        "modalities" => json!(["text"]),
        "tools" | "functions" => json!([]),
        "stop" | "seed" | "tool_choice" | "function_call" | "logit_bias" | "audio" => Value::Null,
        _ => return None,
    })
}

fn same(a: &Value, b: &Value) -> bool {
    a == b || (a.is_number() && a.as_f64() == b.as_f64())
}

impl Ask {
    /// Refuses what would have to be ignored.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        for (name, value) in &self.rest {
            let Some(usual) = as_usual(name) else {
                continue;
            };
            if value.is_null() || same(value, &usual) {
                continue;
            }
            let message = match name.as_str() {
                "tools" | "functions" | "tool_choice" | "function_call" => {
                    "an agent calls its own tools; set which in [agents] of config.toml".to_owned()
                }
                _ => format!("an agent cannot be told this; leave it out, or send {usual}"),
            };
            return Err(ToolError::parameter(name, message));
        }
        if self.stream != Some(true) && self.stream_options.is_some() {
            let message = "goes with stream: true";
            return Err(ToolError::parameter("stream_options", message));
        }
        self.max_tokens().map(drop)
    }

    /// The most tokens of a reply.
    pub(super) fn max_tokens(&self) -> Result<Option<u32>, ToolError> {
        match (self.max_tokens, self.max_completion_tokens) {
            (Some(0), _) => Err(ToolError::parameter("max_tokens", "must be at least 1")),
            (_, Some(0)) => {
                let message = "must be at least 1";
                Err(ToolError::parameter("max_completion_tokens", message))
            }
            (Some(one), Some(other)) if one != other => {
                let message = "says something else than max_completion_tokens";
                Err(ToolError::parameter("max_tokens", message))
            }
            (one, other) => Ok(one.or(other)),
        }
    }

    /// The schema that the answer has to fit.
    fn output(&self) -> Result<Option<Value>, ToolError> {
        let wanted = self.response_format.as_ref();
        let kind = wanted.and_then(|wanted| wanted["type"].as_str());
        let schema = wanted.map(|wanted| &wanted["json_schema"]["schema"]);
        match (wanted, kind, schema) {
            (None, ..) | (_, Some("text"), _) => Ok(None),
            (_, Some("json_schema"), Some(schema)) if schema.is_object() => {
                Ok(Some(schema.clone()))
            }
            _ => {
                let message = "must be {type: text} or {type: json_schema, json_schema: {schema}}";
                Err(ToolError::parameter("response_format", message))
            }
        }
    }

    /// Whether the last piece tells what was used up.
    pub(super) fn tells_usage(&self) -> bool {
        let options = self.stream_options.as_ref();
        options.is_some_and(|options| options.include_usage)
    }

    /// The session that the body names, and by which parameter.
    pub(super) fn session(&self) -> Result<Option<(&'static str, &str)>, ToolError> {
        let named = self.metadata.as_ref().and_then(|m| m.get("session"));
        match named {
            Some(Value::String(key)) => Ok(Some(("metadata.session", key))),
            Some(Value::Null) | None => Ok(None),
            Some(_) => {
                let message = "must be the key of a session";
                Err(ToolError::parameter("metadata.session", message))
            }
        }
    }

    /// The parameter by which a named session would have to change, if one was sent.
    pub(super) fn changes_session(&self) -> Option<&'static str> {
        let said = [
            ("max_tokens", self.max_tokens.is_some()),
            (
                "max_completion_tokens",
                self.max_completion_tokens.is_some(),
            ),
        ];
        said.iter().find(|(_, said)| *said).map(|(name, _)| *name)
    }

    /// The conversation.
    pub(super) fn talk(self) -> Result<Talk, ToolError> {
        let output = self.output()?;
        let mut system = Vec::new();
        let mut before = Vec::new();
        let mut last = None;
        for (at, said) in self.messages.into_iter().enumerate() {
            let name = format!("messages[{at}]");
            said.check(&name)?;
            let (text, pictures) = content(&format!("{name}.content"), said.content)?;
            if let Some((text, pictures)) = last.take() {
                before.push(user(text, pictures));
            }
            let plain = pictures.is_empty();
            match said.role {
                Role::User => last = Some((text, pictures)),
                Role::System | Role::Developer if plain => system.push(text),
                Role::Assistant if plain => before.push(Message::assistant(text)),
                _ => return Err(ToolError::parameter(&name, "only the user shows pictures")),
            }
        }
        let Some((text, pictures)) = last else {
            let message = "the last message must be the user's";
            return Err(ToolError::parameter("messages", message));
        };
        let input = Input {
            pictures: at_most(pictures)?,
            output,
            thinking: self.reasoning_effort,
            ..Input::text(text)
        };
        Ok(Talk {
            system: (!system.is_empty()).then(|| system.join("\n\n")),
            before,
            input,
        })
    }
}

impl Said {
    fn check(&self, name: &str) -> Result<(), ToolError> {
        let calls = ["tool_calls", "function_call", "tool_call_id"];
        let called = calls
            .iter()
            .any(|c| self.rest.get(*c).is_some_and(|v| !v.is_null()));
        if called || matches!(self.role, Role::Tool | Role::Function) {
            let message = "an agent calls its own tools: send texts of user and assistant only";
            return Err(ToolError::parameter(name, message));
        }
        let harmless = ["name", "refusal", "annotations", "audio", "id"];
        let known = |key: &str| harmless.contains(&key) || calls.contains(&key);
        match self.rest.keys().find(|key| !known(key)) {
            Some(key) => {
                let message = "is not known here; leave it out";
                Err(ToolError::parameter(&format!("{name}.{key}"), message))
            }
            None => Ok(()),
        }
    }
}

fn user(text: String, pictures: Vec<Block>) -> Message {
    let mut content = vec![Block::text(text)];
    content.extend(pictures);
    Message::User { content }
}

/// The text and the pictures of a message.
fn content(name: &str, content: Value) -> Result<(String, Vec<Block>), ToolError> {
    let parts = match content {
        Value::String(text) if !text.is_empty() => return Ok((text, Vec::new())),
        Value::Array(parts) if !parts.is_empty() => parts,
        _ => {
            let message = "must be a text, or a list of texts and pictures, and not empty";
            return Err(ToolError::parameter(name, message));
        }
    };
    let (mut texts, mut pictures) = (Vec::new(), Vec::new());
    for (at, part) in parts.into_iter().enumerate() {
        let name = format!("{name}[{at}]");
        match (
            part["type"].as_str(),
            &part["text"],
            &part["image_url"]["url"],
        ) {
            (Some("text"), Value::String(text), _) => texts.push(text.clone()),
            (Some("image_url"), _, Value::String(url)) => pictures.push(picture(&name, url)?),
            _ => {
                let message = "must be {type: text, text} or {type: image_url, image_url: {url}}";
                return Err(ToolError::parameter(&name, message));
            }
        }
    }
    Ok((texts.join("\n"), pictures))
}

/// A picture in a data URL.
fn picture(name: &str, url: &str) -> Result<Block, ToolError> {
    let data = url.strip_prefix("data:");
    let split = data.and_then(|data| data.split_once(";base64,"));
    let Some((mime_type, data)) = split else {
        let message = "a picture must be a data URL: data:image/png;base64,…; nothing is fetched";
        return Err(ToolError::parameter(name, message));
    };
    block(name, data.to_owned(), mime_type.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(body: Value) -> Result<Talk, ToolError> {
        let ask: Ask = serde_json::from_value(body).unwrap();
        ask.check()?;
        ask.talk()
    }

    fn hi() -> Value {
        json!([{ "role": "user", "content": "hi" }])
    }

    #[test]
    fn what_would_be_ignored_is_refused_by_name() {
        for (name, value) in [
            ("temperature", json!(0.2)),
            ("top_p", json!(0.5)),
            ("n", json!(2)),
            ("stop", json!("x")),
            ("seed", json!(1)),
            ("tools", json!([{ "type": "function" }])),
            ("tool_choice", json!("none")),
            ("functions", json!([{}])),
            ("response_format", json!({ "type": "json_object" })),
            ("stream_options", json!({ "include_usage": true })),
            ("max_tokens", json!(0)),
        ] {
            let body = json!({ "model": "main", "messages": hi(), name: value });
            let error = ask(body).err().expect(name);
            assert_eq!(error.problems[0].parameter, name);
        }
        let usual = json!({
            "model": "main", "messages": hi(), "temperature": 1.0, "n": 1, "top_p": 1,
            "presence_penalty": 0, "tools": [], "stop": null, "response_format": { "type": "text" },
        });
        assert_eq!(ask(usual).unwrap().input.text, "hi");
    }

    #[test]
    fn hints_bookkeeping_and_unknown_fields_change_nothing() {
        let body = json!({
            "model": "main", "user": "work", "metadata": { "trace": "7" }, "store": true,
            "service_tier": "flex", "safety_identifier": "s", "prompt_cache_key": "k",
            "verbosity": "low", "hologram": { "a": 1 },
            "messages": [
                { "role": "system", "content": "be brief" },
                { "role": "user", "content": "one" },
                { "role": "assistant", "content": "two" },
                { "role": "user", "content": "three" },
            ],
        });
        let asked: Ask = serde_json::from_value(body).unwrap();
        asked.check().unwrap();
        assert!(
            asked.session().unwrap().is_none(),
            "no field but our own names a session"
        );
        let talk = asked.talk().unwrap();
        assert_eq!(talk.system.as_deref(), Some("be brief"));
        assert_eq!(talk.before.len(), 2);
        assert_eq!(talk.input.text, "three");
    }

    #[test]
    fn a_conversation_is_told_apart() {
        let talk = ask(json!({ "model": "main", "messages": [
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": "two" },
            { "role": "developer", "content": [{ "type": "text", "text": "be kind" }] },
            { "role": "user", "content": [
                { "type": "text", "text": "look" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
            ] },
        ] }))
        .unwrap();
        assert_eq!(talk.system.as_deref(), Some("be brief\n\nbe kind"));
        assert_eq!(
            talk.before,
            [Message::user("one"), Message::assistant("two")]
        );
        assert_eq!(talk.input.text, "look");
        assert_eq!(talk.input.pictures.len(), 1);
    }

    #[test]
    fn a_conversation_that_cannot_be_had_is_refused() {
        let image = |url: &str| json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": url } }] }]);
        for (messages, parameter) in [
            (json!([]), "messages"),
            (json!([{ "role": "assistant", "content": "x" }]), "messages"),
            (
                json!([{ "role": "user", "content": "" }]),
                "messages[0].content",
            ),
            (
                json!([{ "role": "user", "content": null }]),
                "messages[0].content",
            ),
            (
                json!([{ "role": "tool", "tool_call_id": "1", "content": "x" }]),
                "messages[0]",
            ),
            (
                json!([{ "role": "user", "content": "x", "color": 1 }]),
                "messages[0].color",
            ),
            (image("https://example.com/x.png"), "messages[0].content[0]"),
            (
                image("data:text/html;base64,AAAA"),
                "messages[0].content[0]",
            ),
            (
                image("data:image/png;base64,A$=="),
                "messages[0].content[0]",
            ),
        ] {
            let error = ask(json!({ "model": "main", "messages": messages })).err();
            let error = error.unwrap_or_else(|| panic!("{messages} was taken"));
            assert_eq!(error.problems[0].parameter, parameter);
        }
    }
}
