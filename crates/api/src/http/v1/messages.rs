//! `POST /v1/messages` (Anthropic): parsing requests.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::Response;
use axum::{Extension, Json};
use http::HeaderMap;
use manyhands_core::ToolError;
use manyhands_gateway::Gateway;
use manyhands_http_common::{Authenticated, Refusal};
use manyhands_llm::{
    Arguments, Block, ModelRequest, ReplyBlock, SystemPart, Thinking, ToolChoice, ToolDef,
    input_tokens,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::chat::block;
use super::super::object;
use super::answer::{AnswerContext, answer};
use super::chat::Metadata;
use super::messages_answer::MessageAnswer;
use super::models::{ServingSince, may_talk};
use super::prompt::{Prompt, client_call};

/// Type prefixes of tools that Anthropic would run.
const HOSTED: [&str; 4] = [
    "web_search_",
    "web_fetch_",
    "code_execution_",
    "mcp_toolset",
];

/// The body of a request.
#[derive(Deserialize, JsonSchema)]
pub struct MessagesRequest {
    /// The agent: `agent/NAME` or `NAME`.
    model: String,
    /// The conversation.
    #[schemars(length(min = 1))]
    messages: Vec<SentMessage>,
    /// Most tokens per reply of the agent's model.
    #[schemars(range(min = 1))]
    max_tokens: Option<u32>,
    /// System prompt.
    system: Option<System>,
    /// Whether to stream the response.
    stream: Option<bool>,
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    #[schemars(range(min = 0.0, max = 1.0))]
    top_p: Option<f64>,
    top_k: Option<u32>,
    /// Stop sequences.
    #[schemars(length(max = 16), inner(length(min = 1)))]
    stop_sequences: Option<Vec<String>>,
    /// Tools the client runs, besides the agent's own.
    #[schemars(length(max = 128))]
    tools: Option<Vec<SentTool>>,
    tool_choice: Option<Choice>,
    thinking: Option<SentThinking>,
    output_config: Option<OutputConfig>,
    /// `session`: the session to send the last message to, unless the header `x-session-key` names
    /// one.
    metadata: Option<Metadata>,
}

/// System prompt.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "must be a text, or a list of {type: text, text}"
)]
enum System {
    Text(String),
    Blocks(Vec<TextBlock>),
}

#[derive(Deserialize, JsonSchema)]
struct TextBlock {
    text: String,
}

/// A message.
#[derive(Deserialize, JsonSchema)]
struct SentMessage {
    role: MessagesRole,
    content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum MessagesRole {
    User,
    Assistant,
    System,
}

/// Contents of a message.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "must be a text, or a list of blocks: text, image, tool_use, tool_result, thinking"
)]
enum Content {
    Text(String),
    Blocks(Vec<SentBlock>),
}

/// A block of a message.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SentBlock {
    Text {
        text: String,
    },
    Image {
        source: ImageSource,
    },
    /// A call of the assistant.
    ToolUse {
        id: String,
        name: String,
        input: Option<Map<String, Value>>,
    },
    /// The result of a call.
    ToolResult {
        tool_use_id: String,
        content: Option<ResultContent>,
        is_error: Option<bool>,
    },
    Thinking {
        thinking: String,
    },
    RedactedThinking {},
}

/// Contents of a result.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be a text, or a list of texts and images")]
enum ResultContent {
    Text(String),
    Blocks(Vec<ResultBlock>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResultBlock {
    Text { text: String },
    Image { source: ImageSource },
}

/// Source of an image.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ImageSource {
    Base64 { media_type: String, data: String },
}

/// A tool the client runs.
#[derive(Deserialize, JsonSchema)]
struct SentTool {
    /// `custom` by default. Tools that Anthropic would run (`web_search_...`, `web_fetch_...`,
    /// `code_execution_...`) are ignored, since the agent has its own.
    #[serde(rename = "type")]
    kind: Option<String>,
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    name: String,
    description: Option<String>,
    /// JSON Schema of its arguments.
    input_schema: Option<Map<String, Value>>,
}

/// Whether the model may, must or must not call tools.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice {
    Auto {
        disable_parallel_tool_use: Option<bool>,
    },
    Any {
        disable_parallel_tool_use: Option<bool>,
    },
    Tool {
        name: String,
        disable_parallel_tool_use: Option<bool>,
    },
    None {},
}

/// Reasoning options.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SentThinking {
    Enabled { budget_tokens: u32 },
    Adaptive {},
    Disabled {},
}

#[derive(Deserialize, JsonSchema)]
struct OutputConfig {
    effort: Option<Effort>,
    format: Option<OutputFormat>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Effort {
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputFormat {
    JsonSchema { schema: Map<String, Value> },
}

/// Answers a conversation.
pub async fn message(
    State(gateway): State<Arc<Gateway>>,
    Extension(since): Extension<ServingSince>,
    Authenticated(admitted): Authenticated,
    headers: HeaderMap,
    body: Result<object::Json<MessagesRequest>, JsonRejection>,
) -> Result<Response, Refusal> {
    let request = super::body(body)?;
    let model = request.model.clone();
    let asked = request.thinking.as_ref();
    let thinks = asked.is_some_and(|asked| !matches!(asked, SentThinking::Disabled {}));
    let prompt = request.prompt()?;
    let asking = AnswerContext {
        gateway,
        since,
        admitted,
        headers,
    };
    let answered = answer(asking, prompt, |id, _| {
        MessageAnswer::new(format!("msg_{id}"), model, thinks)
    });
    Ok(answered.await?)
}

/// Estimates the tokens of a conversation, without what the agent adds.
pub async fn count(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    body: Result<object::Json<MessagesRequest>, JsonRejection>,
) -> Result<Json<Value>, Refusal> {
    may_talk(&admitted)?;
    let prompt = super::body(body)?.prompt()?;
    super::agent(&gateway.settings.current(), &prompt.model)?;
    let tools = prompt.client.tools.into_iter().map(|tool| ToolDef {
        name: tool.name,
        description: tool.description,
        input_schema: Arc::new(tool.input_schema),
    });
    let tokens = input_tokens(&ModelRequest {
        system: prompt.system.into_iter().map(SystemPart::stable).collect(),
        messages: prompt.messages,
        tools: tools.collect(),
        ..ModelRequest::default()
    });
    Ok(Json(json!({ "input_tokens": tokens })))
}

impl MessagesRequest {
    fn prompt(self) -> Result<Prompt, ToolError> {
        if self.messages.is_empty() {
            let message = "must have at least one message";
            return Err(ToolError::parameter("messages", message));
        }
        let config = self.output_config;
        let effort = config.as_ref().and_then(|config| config.effort);
        let mut prompt = Prompt {
            model: self.model,
            stream: self.stream == Some(true),
            session: self.metadata.and_then(|metadata| metadata.session),
            thinking: effort.map(level).or(self.thinking.and_then(asked_level)),
            output: config
                .and_then(|config| config.format)
                .map(|OutputFormat::JsonSchema { schema }| schema.into()),
            ..Prompt::default()
        };
        prompt.client.max_tokens = self.max_tokens;
        let sampling = &mut prompt.client.sampling;
        sampling.temperature = self.temperature;
        sampling.top_p = self.top_p;
        sampling.top_k = self.top_k;
        prompt.stop_at("stop_sequences", self.stop_sequences.unwrap_or_default())?;
        match self.system {
            Some(System::Text(text)) => prompt.system.push(text),
            Some(System::Blocks(blocks)) => {
                prompt
                    .system
                    .extend(blocks.into_iter().map(|block| block.text));
            }
            None => {}
        }
        prompt.system.retain(|text| !text.is_empty());
        for (at, tool) in self.tools.unwrap_or_default().into_iter().enumerate() {
            let parameter = format!("tools[{at}]");
            // Older clients send no type.
            let kind = tool.kind.as_deref().unwrap_or("custom");
            if HOSTED.iter().any(|hosted| kind.starts_with(hosted)) {
                continue;
            }
            if kind != "custom" {
                let message = "must be custom: the schema of this tool is unknown here";
                return Err(ToolError::parameter(&format!("{parameter}.type"), message));
            }
            prompt.tool(&parameter, tool.name, tool.description, tool.input_schema)?;
        }
        // After the tools, because a choice may name one of them.
        if let Some(choice) = self.tool_choice {
            let (choice, alone) = choice.into_choice();
            prompt.choose(choice)?;
            prompt.client.sampling.parallel_calls = alone.map(|alone| !alone);
        }
        for (at, message) in self.messages.into_iter().enumerate() {
            message.add(&format!("messages[{at}]"), &mut prompt)?;
        }
        // Last, because a call and its result are two messages.
        prompt.check_calls("messages")?;
        Ok(prompt)
    }
}

fn level(effort: Effort) -> Thinking {
    match effort {
        Effort::Low => Thinking::Low,
        Effort::Medium => Thinking::Medium,
        Effort::High => Thinking::High,
        Effort::Xhigh | Effort::Max => Thinking::Xhigh,
    }
}

fn asked_level(asked: SentThinking) -> Option<Thinking> {
    match asked {
        SentThinking::Disabled {} => Some(Thinking::None),
        SentThinking::Adaptive {} => None,
        // Agents have levels, because not every provider has budgets.
        SentThinking::Enabled { budget_tokens } => Some(match budget_tokens {
            0..=4_096 => Thinking::Low,
            4_097..=16_384 => Thinking::Medium,
            _ => Thinking::High,
        }),
    }
}

impl Choice {
    /// The tool choice, and whether parallel calls are disabled.
    fn into_choice(self) -> (ToolChoice, Option<bool>) {
        match self {
            Self::Auto {
                disable_parallel_tool_use: alone,
            } => (ToolChoice::Auto, alone),
            Self::Any {
                disable_parallel_tool_use: alone,
            } => (ToolChoice::Required, alone),
            Self::Tool {
                name,
                disable_parallel_tool_use: alone,
            } => (ToolChoice::Tool(name), alone),
            Self::None {} => (ToolChoice::None, None),
        }
    }
}

impl SentMessage {
    fn add(self, parameter: &str, prompt: &mut Prompt) -> Result<(), ToolError> {
        let blocks = match self.content {
            Content::Text(text) => vec![SentBlock::Text { text }],
            Content::Blocks(blocks) => blocks,
        };
        let wrong = |at: usize, message: &str| {
            let parameter = format!("{parameter}.content[{at}]");
            Err(ToolError::parameter(&parameter, message))
        };
        let (mut texts, mut pictures) = (Vec::new(), Vec::new());
        let mut answered = false;
        for (at, block) in blocks.into_iter().enumerate() {
            let named = format!("{parameter}.content[{at}]");
            match (self.role, block) {
                (MessagesRole::Assistant, SentBlock::Text { text }) if !text.is_empty() => {
                    prompt.assistant([ReplyBlock::text(text)]);
                }
                (MessagesRole::Assistant, SentBlock::ToolUse { id, name, input }) => {
                    let arguments = Arguments::Named(input.unwrap_or_default());
                    prompt.assistant([client_call(id, name, arguments)]);
                }
                (MessagesRole::Assistant, SentBlock::Thinking { thinking: text }) => {
                    prompt.assistant([ReplyBlock::Thinking { text, opaque: None }]);
                }
                (
                    MessagesRole::Assistant,
                    SentBlock::RedactedThinking {} | SentBlock::Text { .. },
                ) => {}
                (
                    MessagesRole::User,
                    SentBlock::ToolResult {
                        tool_use_id,
                        content,
                        is_error,
                    },
                ) => {
                    let content = shown(&named, content)?;
                    let failed = is_error == Some(true);
                    prompt.result(&named, &tool_use_id, content, failed)?;
                    answered = true;
                }
                (MessagesRole::User | MessagesRole::System, SentBlock::Text { text }) => {
                    texts.push(text)
                }
                (MessagesRole::User, SentBlock::Image { source }) => {
                    pictures.push(image(&named, source)?)
                }
                (MessagesRole::User | MessagesRole::System, _) => {
                    return wrong(at, "this block type is not allowed in this role");
                }
                (MessagesRole::Assistant, _) => {
                    return wrong(at, "this block type is not allowed in this role");
                }
            }
        }
        let text = texts.join("\n");
        match self.role {
            MessagesRole::Assistant => Ok(()),
            MessagesRole::System => {
                prompt.system.extend((!text.is_empty()).then_some(text));
                Ok(())
            }
            // A message of results alone is no new input: the agent continues its turn.
            MessagesRole::User if answered && text.is_empty() && pictures.is_empty() => Ok(()),
            MessagesRole::User => prompt.user(text, pictures),
        }
    }
}

fn image(parameter: &str, source: ImageSource) -> Result<Block, ToolError> {
    let ImageSource::Base64 { media_type, data } = source;
    block(parameter, data, media_type)
}

/// Blocks of a tool result.
fn shown(parameter: &str, content: Option<ResultContent>) -> Result<Vec<Block>, ToolError> {
    let blocks = match content {
        None => return Ok(Vec::new()),
        Some(ResultContent::Text(text)) => return Ok(vec![Block::text(text)]),
        Some(ResultContent::Blocks(blocks)) => blocks,
    };
    let one = |block| match block {
        ResultBlock::Text { text } => Ok(Block::text(text)),
        ResultBlock::Image { source } => image(parameter, source),
    };
    blocks.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use manyhands_llm::Message;

    use super::*;

    fn read(body: Value) -> Result<Prompt, ToolError> {
        let request: MessagesRequest = serde_json::from_value(body).unwrap();
        request.prompt()
    }

    #[test]
    fn a_conversation_with_tools_is_read() {
        let prompt = read(json!({
            "model": "main", "max_tokens": 50, "temperature": 0, "stop_sequences": ["END"],
            "system": [{ "type": "text", "text": "be brief", "cache_control": { "type": "ephemeral" } }],
            "metadata": { "user_id": "u" },
            "thinking": { "type": "enabled", "budget_tokens": 10_000 },
            "tools": [{ "name": "weather", "input_schema": { "type": "object" } }],
            "tool_choice": { "type": "any", "disable_parallel_tool_use": true },
            "messages": [
                { "role": "user", "content": "weather?" },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "hm", "signature": "s" },
                    { "type": "text", "text": "I look." },
                    { "type": "tool_use", "id": "t1", "name": "weather", "input": { "city": "Oslo" } },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "t1", "content": [{ "type": "text", "text": "rain" }] },
                    { "type": "text", "text": "and tomorrow?" },
                ] },
            ],
        }))
        .unwrap();
        assert_eq!(prompt.system, ["be brief"]);
        assert_eq!(prompt.thinking, Some(Thinking::Medium));
        assert_eq!(prompt.client.tool_choice, ToolChoice::Required);
        assert_eq!(prompt.client.sampling.parallel_calls, Some(false));
        assert_eq!(prompt.client.sampling.stop, ["END"]);
        let kinds: Vec<&str> = prompt
            .messages
            .iter()
            .map(|message| match message {
                Message::User { .. } => "user",
                Message::Assistant { .. } => "assistant",
                Message::Tool { .. } => "tool",
            })
            .collect();
        assert_eq!(kinds, ["user", "assistant", "tool", "user"]);
        assert_eq!(prompt.ready().input.text, "and tomorrow?");
    }

    #[test]
    fn blocks_in_the_wrong_role_and_calls_without_results_are_refused() {
        for (messages, parameter) in [
            (
                json!([{ "role": "user", "content": [{ "type": "tool_use", "id": "1", "name": "t", "input": {} }] }]),
                "messages[0].content[0]",
            ),
            (
                json!([{ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1" }] }]),
                "messages[0].content[0]",
            ),
            (
                json!([{ "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "t", "input": {} }] }]),
                "messages",
            ),
            (json!([]), "messages"),
        ] {
            let error = read(json!({ "model": "main", "messages": messages })).err();
            assert_eq!(error.expect(parameter).problems[0].parameter, parameter);
        }
    }
}
