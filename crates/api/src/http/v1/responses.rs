//! `POST /v1/responses` (OpenAI): parsing requests.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::Response;
use http::HeaderMap;
use manyhands_core::ToolError;
use manyhands_gateway::{Admitted, Gateway};
use manyhands_http_common::{Authenticated, Refusal};
use manyhands_llm::{Arguments, Block, OutputSchema, ReplyBlock, Thinking, ToolChoice};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::object::Json;
use super::answer::{AnswerContext, answer};
use super::chat::{ChoiceWord, Metadata};
use super::continuation::{self, ResponseNote};
use super::models::ServingSince;
use super::prompt::{ContentPart, Function, Prompt, client_call, text_and_pictures};
use super::responses_answer::{EchoedRequest, ResponseAnswer, ToolNames};

/// The body of a request.
#[derive(Deserialize, JsonSchema)]
pub struct ResponsesRequest {
    /// The agent: `agent/NAME` or `NAME`.
    model: String,
    /// Input: a text or a conversation.
    input: Option<ResponsesInput>,
    /// System prompt.
    instructions: Option<String>,
    /// Whether to stream the response.
    stream: Option<bool>,
    /// Id of the response this follows. Responses are stored for a day, unless `store` is false.
    previous_response_id: Option<String>,
    /// Whether later requests may refer to the response; true by default.
    store: Option<bool>,
    /// Most tokens per reply of the agent's model.
    #[schemars(range(min = 1))]
    max_output_tokens: Option<u32>,
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    #[schemars(range(min = 0.0, max = 1.0))]
    top_p: Option<f64>,
    /// Tools the client runs, besides the agent's own.
    #[schemars(length(max = 128))]
    tools: Option<Vec<SentTool>>,
    tool_choice: Option<Choice>,
    parallel_tool_calls: Option<bool>,
    text: Option<TextOptions>,
    reasoning: Option<Reasoning>,
    /// Not supported.
    #[schemars(skip)]
    background: Option<bool>,
    /// `session`: the session to send the last message to, unless the header `x-session-key` names
    /// one.
    metadata: Option<Metadata>,
}

/// Input of a request.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "must be a text, or a list of items: message, function_call, function_call_output, reasoning, item_reference"
)]
enum ResponsesInput {
    Text(String),
    Items(Vec<Item>),
}

/// An item of a conversation.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Item {
    Tagged(TaggedItem),
    /// A message without a type.
    Plain(PlainMessage),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TaggedItem {
    Message(PlainMessage),
    FunctionCall {
        call_id: String,
        name: String,
        namespace: Option<String>,
        /// JSON text.
        arguments: String,
    },
    CustomToolCall {
        call_id: String,
        name: String,
        input: String,
    },
    #[serde(alias = "custom_tool_call_output")]
    FunctionCallOutput {
        call_id: String,
        output: Content,
    },
    Reasoning {},
    ItemReference {
        id: String,
    },
}

#[derive(Deserialize, JsonSchema)]
struct PlainMessage {
    role: ItemRole,
    content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ItemRole {
    System,
    Developer,
    User,
    Assistant,
}

#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "must be a text, or a list of input_text, input_image, output_text"
)]
enum Content {
    Text(String),
    Parts(Vec<InputPart>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputPart {
    InputText {
        text: String,
    },
    OutputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    InputImage {
        /// A data URL: `data:image/png;base64,...`.
        image_url: String,
    },
}

/// A tool the client runs.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SentTool {
    Function(Function),
    /// A namespace of tools, within which names are unique.
    Namespace {
        #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
        name: String,
        #[schemars(length(max = 128))]
        tools: Vec<SpacedTool>,
    },
    /// A tool that takes text instead of JSON.
    Custom {
        #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
        name: String,
        description: Option<String>,
    },
    /// A tool that OpenAI would run: ignored, since the agent has its own.
    #[serde(other)]
    Hosted,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SpacedTool {
    Function(Function),
}

impl SentTool {
    fn add(
        self,
        parameter: &str,
        prompt: &mut Prompt,
        names: &mut ToolNames,
    ) -> Result<(), ToolError> {
        match self {
            Self::Function(Function {
                name,
                description,
                parameters,
            }) => prompt.tool(parameter, name, description, parameters),
            Self::Namespace { name: space, tools } => {
                for (at, tool) in tools.into_iter().enumerate() {
                    let SpacedTool::Function(function) = tool;
                    let name = names.spaced(&space, &function.name);
                    let parameter = format!("{parameter}.tools[{at}]");
                    let (description, parameters) = (function.description, function.parameters);
                    prompt.tool(&parameter, name, description, parameters)?;
                }
                Ok(())
            }
            Self::Custom { name, description } => {
                // Models know only tools with JSON arguments, so the text becomes the argument
                // `input`.
                names.custom.insert(name.clone());
                let schema = json!({
                    "type": "object",
                    "properties": { "input": { "type": "string" } },
                    "required": ["input"],
                });
                let schema = schema.as_object().cloned();
                prompt.tool(parameter, name, description, schema)
            }
            Self::Hosted => Ok(()),
        }
    }
}

/// Whether the model may, must or must not call tools.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "must be auto, none, required or {type: function, name}"
)]
enum Choice {
    Word(ChoiceWord),
    Named { name: String },
}

#[derive(Deserialize, JsonSchema)]
struct TextOptions {
    format: Option<TextFormat>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TextFormat {
    Text,
    /// Any JSON object.
    JsonObject,
    JsonSchema {
        schema: Map<String, Value>,
    },
}

#[derive(Deserialize, JsonSchema)]
struct Reasoning {
    effort: Option<Thinking>,
}

/// Answers a conversation.
pub async fn respond(
    State(gateway): State<Arc<Gateway>>,
    Extension(since): Extension<ServingSince>,
    Authenticated(admitted): Authenticated,
    headers: HeaderMap,
    body: Result<Json<ResponsesRequest>, JsonRejection>,
) -> Result<Response, Refusal> {
    let request = super::body(body)?;
    // Chosen before the run, because what is stored for later requests refers to it.
    let id: Uuid = gateway.ids.next();
    let mut shown = EchoedRequest {
        model: request.model.clone(),
        instructions: request.instructions.clone(),
        previous: request.previous_response_id.clone(),
        store: request.store != Some(false),
        ..EchoedRequest::default()
    };
    let prompt = request.prompt(&gateway, &admitted, id, &mut shown.names);
    let prompt = prompt.await?;
    shown.client = prompt.client.clone();
    shown.output = prompt.output.clone();
    let asking = AnswerContext {
        gateway,
        since,
        admitted,
        headers,
    };
    let answered = answer(asking, prompt, |_, created| {
        ResponseAnswer::new(id, created, shown)
    });
    Ok(answered.await?)
}

impl ResponsesRequest {
    async fn prompt(
        self,
        gateway: &Gateway,
        admitted: &Admitted,
        id: Uuid,
        names: &mut ToolNames,
    ) -> Result<Prompt, ToolError> {
        if self.background == Some(true) {
            let message = "not supported; use stream, or wait for the response";
            return Err(ToolError::parameter("background", message));
        }
        let format = self.text.and_then(|text| text.format);
        let mut prompt = Prompt {
            model: self.model,
            stream: self.stream == Some(true),
            session: self.metadata.and_then(|metadata| metadata.session),
            system: self.instructions.into_iter().collect(),
            thinking: self.reasoning.and_then(|reasoning| reasoning.effort),
            output: format.and_then(|format| match format {
                TextFormat::Text => None,
                TextFormat::JsonObject => Some(OutputSchema::any_object()),
                TextFormat::JsonSchema { schema } => Some(schema.into()),
            }),
            ..Prompt::default()
        };
        // Some clients send an empty text for no instructions.
        prompt.system.retain(|text| !text.is_empty());
        prompt.client.max_tokens = self.max_output_tokens;
        let sampling = &mut prompt.client.sampling;
        sampling.temperature = self.temperature;
        sampling.top_p = self.top_p;
        sampling.parallel_calls = self.parallel_tool_calls;
        for (at, tool) in self.tools.unwrap_or_default().into_iter().enumerate() {
            tool.add(&format!("tools[{at}]"), &mut prompt, names)?;
        }
        // After the tools, because a choice may name one of them.
        match self.tool_choice {
            Some(Choice::Word(word)) => prompt.choose(word.into_choice())?,
            Some(Choice::Named { name }) => prompt.choose(ToolChoice::Tool(name))?,
            None => {}
        }
        let previous = match &self.previous_response_id {
            Some(named) => Some(earlier(gateway, admitted, named, &mut prompt).await?),
            None => None,
        };
        // Only the input of this request is stored with it; what came before is reached through
        // `previous`.
        let before = prompt.messages.len();
        match self.input {
            None => {}
            Some(ResponsesInput::Text(text)) => prompt.user(text, Vec::new())?,
            Some(ResponsesInput::Items(items)) => {
                for (at, item) in items.into_iter().enumerate() {
                    let parameter = format!("input[{at}]");
                    let spaced = |space: &str, name: &str| names.spaced(space, name);
                    item.add(gateway, admitted, &parameter, &mut prompt, spaced)
                        .await?;
                }
            }
        }
        if prompt.messages.is_empty() && prompt.system.is_empty() {
            let message = "required: a text or a list of items";
            return Err(ToolError::parameter("input", message));
        }
        prompt.check_calls("input")?;
        if self.store != Some(false) {
            let input = prompt.messages[before..].to_vec();
            prompt.remembered = Some(ResponseNote::new(id, previous, input));
        }
        Ok(prompt)
    }
}

/// Prepends the conversation before this request.
async fn earlier(
    gateway: &Gateway,
    admitted: &Admitted,
    named: &str,
    prompt: &mut Prompt,
) -> Result<Uuid, ToolError> {
    let id = named
        .strip_prefix("resp_")
        .and_then(|id| Uuid::try_parse(id).ok());
    let messages = match id {
        Some(id) => continuation::before(gateway, admitted, id).await?,
        None => None,
    };
    let (Some(id), Some(messages)) = (id, messages) else {
        let message = "unknown or expired: responses are stored for a day; send the whole conversation in input";
        return Err(ToolError::parameter("previous_response_id", message));
    };
    prompt.messages = messages;
    Ok(id)
}

impl Item {
    async fn add(
        self,
        gateway: &Gateway,
        admitted: &Admitted,
        parameter: &str,
        prompt: &mut Prompt,
        mut spaced: impl FnMut(&str, &str) -> String,
    ) -> Result<(), ToolError> {
        match self {
            Self::Plain(message) | Self::Tagged(TaggedItem::Message(message)) => {
                message.add(&format!("{parameter}.content"), prompt)
            }
            Self::Tagged(TaggedItem::FunctionCall {
                call_id,
                name,
                namespace,
                arguments,
            }) => {
                let name = match namespace {
                    Some(space) => spaced(&space, &name),
                    None => name,
                };
                let arguments = Arguments::parse(&arguments);
                prompt.assistant([client_call(call_id, name, arguments)]);
                Ok(())
            }
            Self::Tagged(TaggedItem::CustomToolCall {
                call_id,
                name,
                input,
            }) => {
                let input = Map::from_iter([("input".to_owned(), Value::String(input))]);
                prompt.assistant([client_call(call_id, name, Arguments::Named(input))]);
                Ok(())
            }
            Self::Tagged(TaggedItem::FunctionCallOutput { call_id, output }) => {
                let (text, pictures) = output.read(&format!("{parameter}.output"))?;
                let mut content = vec![Block::text(text)];
                content.extend(pictures);
                let parameter = format!("{parameter}.call_id");
                prompt.result(&parameter, &call_id, content, false)
            }
            Self::Tagged(TaggedItem::Reasoning {}) => Ok(()),
            // Reasoning is not stored, and nothing is lost without it.
            Self::Tagged(TaggedItem::ItemReference { id }) if id.starts_with("rs_") => Ok(()),
            Self::Tagged(TaggedItem::ItemReference { id }) => {
                let block = continuation::item(gateway, admitted, &id).await?;
                let block = block.ok_or_else(|| {
                    let message =
                        "unknown or expired: responses are stored for a day; send the item itself";
                    ToolError::parameter(&format!("{parameter}.id"), message)
                })?;
                prompt.assistant([block]);
                Ok(())
            }
        }
    }
}

impl PlainMessage {
    fn add(self, parameter: &str, prompt: &mut Prompt) -> Result<(), ToolError> {
        let (text, pictures) = self.content.read(parameter)?;
        if !pictures.is_empty() && self.role != ItemRole::User {
            return Err(ToolError::parameter(
                parameter,
                "images are allowed only in user messages",
            ));
        }
        match self.role {
            ItemRole::User => return prompt.user(text, pictures),
            _ if text.is_empty() => {}
            ItemRole::System | ItemRole::Developer => prompt.system.push(text),
            ItemRole::Assistant => prompt.assistant([ReplyBlock::text(text)]),
        }
        Ok(())
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
            InputPart::InputText { text }
            | InputPart::OutputText { text }
            | InputPart::Refusal { refusal: text } => ContentPart::Text(text),
            InputPart::InputImage { image_url } => ContentPart::Picture(image_url),
        });
        text_and_pictures(parameter, parts)
    }
}
