//! A request under `/v1`, independent of its format.

use manyhands_agent::{ClientRequest, ClientTool, Input, fence};
use manyhands_core::{Caller, Taint, ToolError};
use manyhands_llm::{
    Arguments, Block, Message, ReplyBlock, Thinking, ToolCall, ToolChoice, ToolResult,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::chat::{at_most, block};
use super::continuation::ResponseNote;

/// Most tools a client may send.
const MAX_TOOLS: usize = 128;
/// Most stop sequences.
const MAX_STOPS: usize = 16;

/// A parsed request.
#[derive(Default)]
pub(super) struct Prompt {
    /// The agent, as named by the client.
    pub(super) model: String,
    /// Whether to stream the response.
    pub(super) stream: bool,
    /// The session named in the body.
    pub(super) session: Option<String>,
    /// System prompt.
    pub(super) system: Vec<String>,
    /// The conversation.
    pub(super) messages: Vec<Message>,
    /// Reasoning level.
    pub(super) thinking: Option<Thinking>,
    /// JSON Schema the answer must match.
    pub(super) output: Option<Value>,
    /// Tools, sampling and limits.
    pub(super) client: ClientRequest,
    /// Stored for later requests that refer to the response.
    pub(super) remembered: Option<ResponseNote>,
}

/// A request ready to be sent to its agent.
pub(super) struct ReadyPrompt {
    pub(super) system: Option<String>,
    /// Earlier messages.
    pub(super) before: Vec<Message>,
    /// The new input.
    pub(super) input: Input,
}

impl Prompt {
    /// Adds a user message.
    pub(super) fn user(&mut self, text: String, pictures: Vec<Block>) -> Result<(), ToolError> {
        let mut content = vec![Block::text(text)];
        content.extend(at_most(pictures)?);
        self.messages.push(Message::User { content });
        Ok(())
    }

    /// Adds part of an assistant message; consecutive parts are merged.
    pub(super) fn assistant(&mut self, blocks: impl IntoIterator<Item = ReplyBlock>) {
        match self.messages.last_mut() {
            // Formats send a reply as several items, which models know as one message.
            Some(Message::Assistant { content }) => content.extend(blocks),
            _ => {
                let content = blocks.into_iter().collect();
                self.messages.push(Message::Assistant { content });
            }
        }
    }

    /// Adds the result of a client call.
    pub(super) fn result(
        &mut self,
        parameter: &str,
        id: &str,
        content: Vec<Block>,
        is_error: bool,
    ) -> Result<(), ToolError> {
        let name = self.name_of(id).ok_or_else(|| {
            let message = format!("no tool call before it has the id {id:?}");
            ToolError::parameter(parameter, message)
        })?;
        let result = ToolResult {
            id: id.to_owned(),
            name,
            content: at_most(content)?,
            is_error,
        };
        match self.messages.last_mut() {
            // Results of one reply belong into one message.
            Some(Message::Tool { results }) => results.push(result),
            _ => self.messages.push(Message::Tool {
                results: vec![result],
            }),
        }
        Ok(())
    }

    /// The tool called with this id in the last reply.
    fn name_of(&self, id: &str) -> Option<String> {
        let last = self
            .messages
            .iter()
            .rev()
            .find_map(|message| match message {
                Message::Assistant { content } => Some(content),
                _ => None,
            });
        // Only in the last reply, because some providers use the same ids in every reply.
        let mut calls = calls(last?);
        Some(calls.find(|call| call.id == id)?.name.clone())
    }

    /// Rejects a conversation with a call that has no result, as the providers do: what follows
    /// would refer to something that never happened.
    pub(super) fn check_calls(&self, parameter: &str) -> Result<(), ToolError> {
        for (at, message) in self.messages.iter().enumerate() {
            let Message::Assistant { content } = message else {
                continue;
            };
            let results = match self.messages.get(at + 1) {
                Some(Message::Tool { results }) => results.as_slice(),
                _ => &[],
            };
            let answered = |call: &&ToolCall| results.iter().any(|result| result.id == call.id);
            if let Some(open) = calls(content).find(|call| !answered(call)) {
                let message = format!(
                    "the tool call {:?} of {} has no result; send it right after the message with the call",
                    open.id, open.name
                );
                return Err(ToolError::parameter(parameter, message));
            }
        }
        Ok(())
    }

    /// Adds a tool the client runs.
    pub(super) fn tool(
        &mut self,
        parameter: &str,
        name: String,
        description: Option<String>,
        schema: Option<Map<String, Value>>,
    ) -> Result<(), ToolError> {
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(legal) {
            let message = "must be 1 to 64 letters, digits, underscores or dashes";
            return Err(ToolError::parameter(&format!("{parameter}.name"), message));
        }
        let tools = &mut self.client.tools;
        if tools.iter().any(|tool| tool.name == name) {
            let message = format!("duplicate tool name {name:?}");
            return Err(ToolError::parameter(parameter, message));
        }
        if tools.len() == MAX_TOOLS {
            let message = format!("at most {MAX_TOOLS} tools are allowed");
            return Err(ToolError::parameter("tools", message));
        }
        let empty = || json!({ "type": "object", "properties": {} });
        // Some providers reject an empty schema.
        let schema = schema.filter(|schema| !schema.is_empty());
        tools.push(ClientTool {
            name,
            description: description.unwrap_or_default(),
            input_schema: schema.map_or_else(empty, Value::Object),
        });
        Ok(())
    }

    /// Sets the tool choice, once all tools are known.
    pub(super) fn choose(&mut self, choice: ToolChoice) -> Result<(), ToolError> {
        if let ToolChoice::Tool(name) = &choice
            && !self.client.tools.iter().any(|tool| tool.name == *name)
        {
            let message = format!("names {name:?}, which is not in tools");
            return Err(ToolError::parameter("tool_choice", message));
        }
        self.client.tool_choice = choice;
        Ok(())
    }

    /// Sets the stop sequences.
    pub(super) fn stop_at(&mut self, name: &str, stop: Vec<String>) -> Result<(), ToolError> {
        if stop.len() > MAX_STOPS || stop.iter().any(String::is_empty) {
            let message = format!("must be at most {MAX_STOPS} non-empty texts");
            return Err(ToolError::parameter(name, message));
        }
        self.client.sampling.stop = stop;
        Ok(())
    }

    /// Rejects sampling parameters that no model accepts.
    pub(super) fn check_sampling(&self) -> Result<(), ToolError> {
        let sampling = &self.client.sampling;
        for (name, value, low, high) in [
            ("temperature", sampling.temperature, 0.0, 2.0),
            ("top_p", sampling.top_p, 0.0, 1.0),
            ("presence_penalty", sampling.presence_penalty, -2.0, 2.0),
            ("frequency_penalty", sampling.frequency_penalty, -2.0, 2.0),
        ] {
            if value.is_some_and(|value| !(low..=high).contains(&value)) {
                let message = format!("must be between {low} and {high}");
                return Err(ToolError::parameter(name, message));
            }
        }
        if self.client.max_tokens == Some(0) {
            return Err(ToolError::parameter("max_tokens", "must be at least 1"));
        }
        Ok(())
    }

    /// Marks untrusted data: messages of anybody but the owner, and tool results. The new input is
    /// marked when it is sent.
    pub(super) fn fence(&mut self, caller: &Caller) {
        let person = format!("person:{}", caller.name);
        let owner = caller.is_owner();
        let last = self.messages.len().saturating_sub(1);
        for (at, message) in self.messages.iter_mut().enumerate() {
            match message {
                Message::User { content } if !owner && at < last => mark(content, &person),
                Message::Tool { results } => {
                    for result in results {
                        let source = format!("tool:{}", result.name);
                        mark(&mut result.content, &source);
                        self.client.taint.absorb(&Taint::by(source));
                    }
                }
                Message::User { .. } | Message::Assistant { .. } => {}
            }
        }
        for text in self.system.iter_mut().filter(|_| !owner) {
            *text = fence::fenced(&person, text);
        }
    }

    /// Splits the conversation into earlier messages and the new input.
    pub(super) fn ready(mut self) -> ReadyPrompt {
        let last = match self.messages.pop() {
            Some(Message::User { content }) => Some(content),
            other => {
                self.messages.extend(other);
                None
            }
        };
        // Without a user message at the end the agent continues from the results of its last calls.
        self.client.continues = last.is_none();
        let (mut text, mut pictures) = (String::new(), Vec::new());
        for block in last.unwrap_or_default() {
            match block {
                Block::Text { text: more } => text.push_str(&more),
                picture @ Block::Image { .. } => pictures.push(picture),
            }
        }
        ReadyPrompt {
            system: (!self.system.is_empty()).then(|| self.system.join("\n\n")),
            before: self.messages,
            input: Input {
                text,
                pictures,
                output: self.output,
                thinking: self.thinking,
                client: Some(Box::new(self.client)),
                ..Input::default()
            },
        }
    }
}

/// Marks texts as data from `source`.
fn mark(content: &mut [Block], source: &str) {
    for block in content {
        if let Block::Text { text } = block {
            *text = fence::fenced(source, text);
        }
    }
}

fn calls(content: &[ReplyBlock]) -> impl Iterator<Item = &ToolCall> {
    content.iter().filter_map(|block| match block {
        ReplyBlock::Call(call) => Some(call),
        _ => None,
    })
}

/// A call of the assistant, as the client repeats it.
pub(super) fn client_call(id: String, name: String, arguments: Arguments) -> ReplyBlock {
    ReplyBlock::Call(ToolCall {
        id,
        name,
        arguments,
        // Clients do not get the provider's data of a call, so they cannot send it back.
        opaque: None,
    })
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Function {
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// JSON Schema of its arguments.
    pub(super) parameters: Option<Map<String, Value>>,
}

/// A part of a message, independent of the format.
pub(super) enum ContentPart {
    Text(String),
    /// URL of a picture.
    Picture(String),
}

/// The text and the pictures of a message.
pub(super) fn text_and_pictures(
    parameter: &str,
    parts: impl Iterator<Item = ContentPart>,
) -> Result<(String, Vec<Block>), ToolError> {
    let (mut texts, mut pictures) = (Vec::new(), Vec::new());
    for (at, part) in parts.enumerate() {
        match part {
            ContentPart::Text(text) => texts.push(text),
            ContentPart::Picture(url) => {
                pictures.push(picture(&format!("{parameter}[{at}]"), &url)?);
            }
        }
    }
    Ok((texts.join("\n"), pictures))
}

/// A picture in a data URL.
fn picture(parameter: &str, url: &str) -> Result<Block, ToolError> {
    let data = url.strip_prefix("data:");
    let split = data.and_then(|data| data.split_once(";base64,"));
    let Some((mime_type, data)) = split else {
        let message = "an image must be a data URL: data:image/png;base64,...; nothing is fetched";
        return Err(ToolError::parameter(parameter, message));
    };
    block(parameter, data.to_owned(), mime_type.to_owned())
}
