//! `POST /v1/chat/completions` (OpenAI): parsing requests. Fields that would change the answer and
//! cannot be honoured are rejected by name; hints, bookkeeping and unknown fields are accepted and
//! ignored.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::Response;
use http::HeaderMap;
use manyhands_core::ToolError;
use manyhands_gateway::Gateway;
use manyhands_http_common::{Authenticated, Refusal};
use manyhands_llm::{Arguments, Block, OutputSchema, ReplyBlock, Thinking, ToolChoice};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::object::Json;
use super::answer::{AnswerContext, answer};
use super::chat_answer::Completion;
use super::models::ServingSince;
use super::prompt::{ContentPart, Function, Prompt, client_call, text_and_pictures};

/// The body of a request.
#[derive(Deserialize, JsonSchema)]
pub struct ChatRequest {
    /// The agent: `agent/NAME` or `NAME`.
    model: String,
    /// The conversation.
    #[schemars(length(min = 1))]
    messages: Vec<ChatMessage>,
    /// Whether to stream the response.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Most tokens per reply of the agent's model.
    #[schemars(range(min = 1))]
    max_tokens: Option<u32>,
    /// Newer name of `max_tokens`.
    #[schemars(range(min = 1))]
    max_completion_tokens: Option<u32>,
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    #[schemars(range(min = 0.0, max = 1.0))]
    top_p: Option<f64>,
    top_k: Option<u32>,
    #[schemars(range(min = -2.0, max = 2.0))]
    presence_penalty: Option<f64>,
    #[schemars(range(min = -2.0, max = 2.0))]
    frequency_penalty: Option<f64>,
    seed: Option<i64>,
    /// Stop sequences.
    stop: Option<StopSequences>,
    /// Bias of tokens, by token id.
    logit_bias: Option<Map<String, Value>>,
    /// Reasoning effort.
    reasoning_effort: Option<Thinking>,
    response_format: Option<ResponseFormat>,
    /// Tools the client runs, besides the agent's own.
    #[schemars(length(max = 128))]
    tools: Option<Vec<ChatTool>>,
    tool_choice: Option<ChatChoice>,
    parallel_tool_calls: Option<bool>,
    /// Number of answers: only 1.
    #[schemars(range(min = 1, max = 1))]
    n: Option<u32>,
    /// Not supported.
    #[schemars(skip)]
    logprobs: Option<bool>,
    /// Not supported.
    #[schemars(skip)]
    audio: Option<Value>,
    /// Older name of `tools`.
    #[schemars(skip)]
    functions: Option<Vec<Value>>,
    /// `session`: the session to send the last message to, unless the header `x-session-key` names
    /// one. Other keys are accepted and ignored.
    metadata: Option<Metadata>,
}

/// Metadata of a request.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Metadata {
    /// Session key.
    pub(super) session: Option<String>,
}

/// Options of a stream.
#[derive(Deserialize, JsonSchema)]
struct StreamOptions {
    /// Whether the last chunk contains the usage.
    #[serde(default)]
    include_usage: Option<bool>,
}

/// Stop sequences.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be a text or a list of texts")]
enum StopSequences {
    One(#[schemars(length(min = 1))] String),
    Many(#[schemars(length(max = 16), inner(length(min = 1)))] Vec<String>),
}

/// A message.
#[derive(Deserialize, JsonSchema)]
struct ChatMessage {
    role: ChatMessageRole,
    /// Text, or a list of texts and images.
    content: Option<Content>,
    /// The assistant's calls of client tools.
    tool_calls: Option<Vec<ChatCall>>,
    /// The call that a message with role `tool` answers.
    tool_call_id: Option<String>,
    /// The assistant's reasoning.
    reasoning_content: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ChatMessageRole {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

/// Contents of a message.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "must be a text, or a list of {type: text, text} and {type: image_url, image_url: {url}}"
)]
enum Content {
    Text(String),
    Parts(Vec<MessagePart>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum MessagePart {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
    Refusal { refusal: String },
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be {url}")]
enum ImageUrl {
    Object {
        /// A data URL: `data:image/png;base64,...`.
        url: String,
    },
    Text(String),
}

/// A call of a tool.
#[derive(Deserialize, JsonSchema)]
struct ChatCall {
    id: String,
    function: CalledFunction,
}

#[derive(Deserialize, JsonSchema)]
struct CalledFunction {
    name: String,
    /// JSON text.
    #[serde(default)]
    arguments: String,
}

/// A tool the client runs.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatTool {
    Function { function: Function },
}

/// Whether the model may, must or must not call tools.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "must be auto, none, required or {type: function, function: {name}}"
)]
enum ChatChoice {
    Word(ChoiceWord),
    Named { function: ChosenFunction },
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChoiceWord {
    Auto,
    None,
    Required,
}

impl ChoiceWord {
    pub(super) fn into_choice(self) -> ToolChoice {
        match self {
            Self::Auto => ToolChoice::Auto,
            Self::None => ToolChoice::None,
            Self::Required => ToolChoice::Required,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct ChosenFunction {
    name: String,
}

/// Format of the answer.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat {
    Text,
    /// Any JSON object.
    JsonObject,
    JsonSchema {
        json_schema: NamedSchema,
    },
}

#[derive(Deserialize, JsonSchema)]
struct NamedSchema {
    /// The JSON Schema.
    schema: Map<String, Value>,
}

/// Answers a conversation.
pub async fn complete(
    State(gateway): State<Arc<Gateway>>,
    Extension(since): Extension<ServingSince>,
    Authenticated(admitted): Authenticated,
    headers: HeaderMap,
    body: Result<Json<ChatRequest>, JsonRejection>,
) -> Result<Response, Refusal> {
    let request = super::body(body)?;
    let model = request.model.clone();
    let options = request.stream_options.as_ref();
    let tells_usage = options.is_some_and(|options| options.include_usage == Some(true));
    let prompt = request.prompt()?;
    let asking = AnswerContext {
        gateway,
        since,
        admitted,
        headers,
    };
    let answered = answer(asking, prompt, |id, created| Completion {
        id: format!("chatcmpl-{id}"),
        created,
        model,
        tells_usage,
    });
    Ok(answered.await?)
}

impl ChatRequest {
    fn prompt(self) -> Result<Prompt, ToolError> {
        self.check()?;
        let mut prompt = Prompt {
            model: self.model,
            stream: self.stream == Some(true),
            session: self.metadata.and_then(|metadata| metadata.session),
            thinking: self.reasoning_effort,
            output: self.response_format.and_then(|format| match format {
                ResponseFormat::Text => None,
                ResponseFormat::JsonObject => Some(OutputSchema::any_object()),
                ResponseFormat::JsonSchema { json_schema } => Some(json_schema.schema.into()),
            }),
            ..Prompt::default()
        };
        // OpenAI renamed the field; the newer name wins.
        prompt.client.max_tokens = self.max_completion_tokens.or(self.max_tokens);
        let sampling = &mut prompt.client.sampling;
        sampling.temperature = self.temperature;
        sampling.top_p = self.top_p;
        sampling.top_k = self.top_k;
        sampling.seed = self.seed;
        sampling.presence_penalty = self.presence_penalty;
        sampling.frequency_penalty = self.frequency_penalty;
        sampling.logit_bias = self.logit_bias.unwrap_or_default();
        sampling.parallel_calls = self.parallel_tool_calls;
        match self.stop {
            Some(StopSequences::One(stop)) => prompt.stop_at("stop", vec![stop])?,
            Some(StopSequences::Many(stop)) => prompt.stop_at("stop", stop)?,
            None => {}
        }
        for (at, tool) in self.tools.unwrap_or_default().into_iter().enumerate() {
            let ChatTool::Function { function } = tool;
            let parameter = format!("tools[{at}].function");
            let (description, parameters) = (function.description, function.parameters);
            prompt.tool(&parameter, function.name, description, parameters)?;
        }
        // After the tools, because a choice may name one of them.
        match self.tool_choice {
            Some(ChatChoice::Word(word)) => prompt.choose(word.into_choice())?,
            Some(ChatChoice::Named { function }) => {
                prompt.choose(ToolChoice::Tool(function.name))?;
            }
            None => {}
        }
        for (at, message) in self.messages.into_iter().enumerate() {
            message.add(&format!("messages[{at}]"), &mut prompt)?;
        }
        // Last, because a call and its result are two messages.
        prompt.check_calls("messages")?;
        Ok(prompt)
    }

    /// Rejects fields that would have to be ignored.
    fn check(&self) -> Result<(), ToolError> {
        let refused = |name: &str, message: &str| Err(ToolError::parameter(name, message));
        if self.messages.is_empty() {
            return refused("messages", "must have at least one message");
        }
        // One run gives one answer.
        if self.n.is_some_and(|n| n != 1) {
            return refused("n", "must be 1");
        }
        if self.logprobs == Some(true) {
            return refused("logprobs", "not supported; omit it");
        }
        if self.audio.is_some() {
            return refused("audio", "not supported; omit it");
        }
        if self.functions.as_ref().is_some_and(|all| !all.is_empty()) {
            return refused("functions", "use tools instead: {type: function, function}");
        }
        let limits = [
            ("max_tokens", self.max_tokens),
            ("max_completion_tokens", self.max_completion_tokens),
        ];
        if let Some((name, _)) = limits.iter().find(|(_, limit)| *limit == Some(0)) {
            return refused(name, "must be at least 1");
        }
        Ok(())
    }
}

impl ChatMessage {
    fn add(self, parameter: &str, prompt: &mut Prompt) -> Result<(), ToolError> {
        let (text, pictures) = match self.content {
            Some(content) => content.read(&format!("{parameter}.content"))?,
            None => (String::new(), Vec::new()),
        };
        if !pictures.is_empty()
            && !matches!(self.role, ChatMessageRole::User | ChatMessageRole::Tool)
        {
            let message = "images are allowed only in user and tool messages";
            return Err(ToolError::parameter(parameter, message));
        }
        match self.role {
            ChatMessageRole::User => prompt.user(text, pictures),
            ChatMessageRole::System | ChatMessageRole::Developer => {
                prompt.system.extend((!text.is_empty()).then_some(text));
                Ok(())
            }
            ChatMessageRole::Assistant => {
                let thought = self.reasoning_content.filter(|text| !text.is_empty());
                // Without the provider's signature, which clients never get.
                let thought = thought.map(|text| ReplyBlock::Thinking { text, opaque: None });
                let text = (!text.is_empty()).then(|| ReplyBlock::text(text));
                let calls = self.tool_calls.unwrap_or_default();
                let calls = calls.into_iter().map(|call| {
                    let arguments = Arguments::parse(&call.function.arguments);
                    client_call(call.id, call.function.name, arguments)
                });
                prompt.assistant(thought.into_iter().chain(text).chain(calls));
                Ok(())
            }
            ChatMessageRole::Tool => {
                let parameter = format!("{parameter}.tool_call_id");
                let id = self.tool_call_id.ok_or_else(|| {
                    ToolError::parameter(&parameter, "required: the id of the call this answers")
                })?;
                let mut content = vec![Block::text(text)];
                content.extend(pictures);
                prompt.result(&parameter, &id, content, false)
            }
        }
    }
}

impl Content {
    /// Text and pictures.
    fn read(self, parameter: &str) -> Result<(String, Vec<Block>), ToolError> {
        let parts = match self {
            Self::Text(text) => return Ok((text, Vec::new())),
            Self::Parts(parts) => parts,
        };
        let parts = parts.into_iter().map(|part| match part {
            MessagePart::Text { text } | MessagePart::Refusal { refusal: text } => {
                ContentPart::Text(text)
            }
            // Some clients send the URL itself instead of an object.
            MessagePart::ImageUrl {
                image_url: ImageUrl::Object { url } | ImageUrl::Text(url),
            } => ContentPart::Picture(url),
        });
        text_and_pictures(parameter, parts)
    }
}

#[cfg(test)]
mod tests {
    use manyhands_llm::Message;
    use serde_json::json;

    use super::*;

    fn read(body: Value) -> Result<Prompt, ToolError> {
        let request: ChatRequest = serde_json::from_value(body).unwrap();
        request.prompt()
    }

    fn hi() -> Value {
        json!([{ "role": "user", "content": "hi" }])
    }

    #[test]
    fn hints_bookkeeping_and_unknown_fields_change_nothing() {
        let plain = json!({ "model": "main", "messages": [
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": "two" },
            { "role": "user", "content": "three" },
        ] });
        let mut hinted = plain.clone();
        for (name, value) in [
            ("user", json!("work")),
            ("metadata", json!({ "trace": "7" })),
            ("store", json!(true)),
            ("service_tier", json!("flex")),
            ("safety_identifier", json!("s")),
            ("prompt_cache_key", json!("k")),
            ("verbosity", json!("low")),
            ("hologram", json!({ "a": 1 })),
            ("stream_options", json!({ "include_usage": true })),
        ] {
            hinted[name] = value;
        }
        let (plain, hinted) = (read(plain).unwrap(), read(hinted).unwrap());
        assert!(hinted.session.is_none(), "only our own field names one");
        assert_eq!(plain.system, hinted.system);
        assert_eq!(plain.messages, hinted.messages);
        assert_eq!(plain.client, hinted.client);
    }

    #[test]
    fn sampling_is_read() {
        let prompt = read(json!({
            "model": "main", "messages": hi(), "temperature": 0, "top_p": 0.5, "stop": "END",
            "seed": 7, "max_tokens": 99, "presence_penalty": 1, "parallel_tool_calls": false,
            "response_format": { "type": "json_object" },
        }))
        .unwrap();
        let sampling = &prompt.client.sampling;
        assert_eq!(sampling.temperature, Some(0.0));
        assert_eq!(sampling.stop, ["END"]);
        assert_eq!(sampling.seed, Some(7));
        assert_eq!(sampling.parallel_calls, Some(false));
        assert_eq!(prompt.client.max_tokens, Some(99));
        assert_eq!(prompt.output, Some(OutputSchema::any_object()));
        assert!(prompt.check_sampling().is_ok());
        let hot = read(json!({ "model": "main", "messages": hi(), "temperature": 3 })).unwrap();
        let error = hot.check_sampling().unwrap_err();
        assert_eq!(error.problems[0].parameter, "temperature");
    }

    #[test]
    fn unsupported_fields_are_refused_by_name() {
        for (name, value) in [
            ("n", json!(2)),
            ("logprobs", json!(true)),
            ("functions", json!([{}])),
            ("max_tokens", json!(0)),
            ("stop", json!([""])),
            (
                "tool_choice",
                json!({ "type": "function", "function": { "name": "x" } }),
            ),
            ("messages", json!([])),
        ] {
            let mut body = json!({ "model": "main", "messages": hi() });
            body[name] = value;
            let error = read(body).err().expect(name);
            assert_eq!(error.problems[0].parameter, name);
        }
    }

    #[test]
    fn a_conversation_with_tools_is_read() {
        let prompt = read(json!({
            "model": "main",
            "messages": [
                { "role": "user", "content": [
                    { "type": "text", "text": "weather?", "cache_control": { "type": "ephemeral" } },
                    { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
                ] },
                { "role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                    { "id": "1", "type": "function", "function": { "name": "weather", "arguments": "{\"a\":1}" } },
                ] },
                { "role": "tool", "tool_call_id": "1", "content": [{ "type": "text", "text": "sunny" }] },
            ],
            "tools": [{ "type": "function", "function": { "name": "weather" } }],
            "tool_choice": "required",
        }))
        .unwrap();
        assert_eq!(prompt.client.tool_choice, ToolChoice::Required);
        assert_eq!(prompt.client.tools[0].input_schema["type"], "object");
        let Message::Tool { results } = &prompt.messages[2] else {
            panic!("{:?}", prompt.messages);
        };
        assert_eq!(results[0].name, "weather");
        let ready = prompt.ready();
        assert_eq!(ready.before.len(), 3);
        assert!(ready.input.client.unwrap().continues);
    }

    #[test]
    fn an_impossible_conversation_is_refused() {
        let image = |url: &str| json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": url } }] }]);
        let call = json!({ "role": "assistant", "tool_calls": [
            { "id": "1", "type": "function", "function": { "name": "t", "arguments": "{}" } },
        ] });
        for (messages, parameter) in [
            (image("https://example.com/a.png"), "messages[0].content[0]"),
            (
                image("data:text/html;base64,AAAA"),
                "messages[0].content[0]",
            ),
            (
                json!([call, { "role": "user", "content": "x" }]),
                "messages",
            ),
            (
                json!([{ "role": "tool", "tool_call_id": "9", "content": "x" }]),
                "messages[0].tool_call_id",
            ),
            (
                json!([call, { "role": "tool", "content": "x" }]),
                "messages[1].tool_call_id",
            ),
        ] {
            let error = read(json!({ "model": "main", "messages": messages })).err();
            let error = error.expect(parameter);
            assert_eq!(error.problems[0].parameter, parameter);
        }
        for messages in [
            json!([{ "role": "user", "content": "" }]),
            json!([{ "role": "system", "content": "only this" }]),
            json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": "" }]),
        ] {
            assert!(read(json!({ "model": "main", "messages": messages })).is_ok());
        }
    }
}
