//! What is asked under `/v1`, in words that no one format owns.

use manyhands_agent::{ClientRequest, ClientTool, Input, fence};
use manyhands_core::{Caller, Taint, ToolError};
use manyhands_llm::{Block, Message, ReplyBlock, Thinking, ToolCall, ToolChoice, ToolResult};
use serde_json::{Map, Value, json};

use super::super::chat::{at_most, block};
use super::continuation::ResponseNote;

/// The most tools that a client may send along.
const MAX_TOOLS: usize = 128;
/// The most texts at which a reply ends.
const MAX_STOPS: usize = 16;

/// A request, read from any format.
#[derive(Default)]
pub(super) struct Prompt {
    /// The agent, as the client names it.
    pub(super) model: String,
    /// Whether to answer in pieces.
    pub(super) stream: bool,
    /// The session that the body names.
    pub(super) session: Option<String>,
    /// What the model is told besides.
    pub(super) system: Vec<String>,
    /// The conversation.
    pub(super) messages: Vec<Message>,
    /// How hard to think.
    pub(super) thinking: Option<Thinking>,
    /// The JSON Schema that the answer has to fit.
    pub(super) output: Option<Value>,
    /// Tools, sampling and limits.
    pub(super) client: ClientRequest,
    /// What later requests may refer to.
    pub(super) remembered: Option<ResponseNote>,
}

/// A request, ready to be sent to its agent.
pub(super) struct Ready {
    pub(super) system: Option<String>,
    /// What was said before.
    pub(super) before: Vec<Message>,
    /// What is said now.
    pub(super) input: Input,
}

impl Prompt {
    /// Adds what the user said.
    pub(super) fn user(&mut self, text: String, pictures: Vec<Block>) -> Result<(), ToolError> {
        let mut content = vec![Block::text(text)];
        content.extend(at_most(pictures)?);
        self.messages.push(Message::User { content });
        Ok(())
    }

    /// Adds a part of what the assistant said; consecutive parts are one message.
    pub(super) fn assistant(&mut self, blocks: impl IntoIterator<Item = ReplyBlock>) {
        match self.messages.last_mut() {
            Some(Message::Assistant { content }) => content.extend(blocks),
            _ => {
                let content = blocks.into_iter().collect();
                self.messages.push(Message::Assistant { content });
            }
        }
    }

    /// Adds the result of a call of the client's, which `parameter` holds.
    pub(super) fn result(
        &mut self,
        parameter: &str,
        id: &str,
        content: Vec<Block>,
        is_error: bool,
    ) -> Result<(), ToolError> {
        let name = self.name_of(id).ok_or_else(|| {
            let message = format!("answers no call: no tool call before it has the id {id:?}");
            ToolError::parameter(parameter, message)
        })?;
        let result = ToolResult {
            id: id.to_owned(),
            name,
            content: at_most(content)?,
            is_error,
        };
        match self.messages.last_mut() {
            Some(Message::Tool { results }) => results.push(result),
            _ => self.messages.push(Message::Tool {
                results: vec![result],
            }),
        }
        Ok(())
    }

    /// The tool that the last reply calls by this id.
    fn name_of(&self, id: &str) -> Option<String> {
        let last = self
            .messages
            .iter()
            .rev()
            .find_map(|message| match message {
                Message::Assistant { content } => Some(content),
                _ => None,
            });
        let mut calls = calls(last?);
        Some(calls.find(|call| call.id == id)?.name.clone())
    }

    /// Refuses a conversation in which a call has no result, as the formats' owners do: what follows would be about
    /// something nobody did.
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

    /// Adds a tool that the client runs.
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
            let message = format!("two tools are called {name:?}");
            return Err(ToolError::parameter(parameter, message));
        }
        if tools.len() == MAX_TOOLS {
            let message = format!("at most {MAX_TOOLS} tools can be sent along");
            return Err(ToolError::parameter("tools", message));
        }
        let empty = || json!({ "type": "object", "properties": {} });
        let schema = schema.filter(|schema| !schema.is_empty());
        tools.push(ClientTool {
            name,
            description: description.unwrap_or_default(),
            input_schema: schema.map_or_else(empty, Value::Object),
        });
        Ok(())
    }

    /// Sets which tool has to be called, once all tools are known.
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

    /// Sets the texts at which a reply ends.
    pub(super) fn stop_at(&mut self, name: &str, stop: Vec<String>) -> Result<(), ToolError> {
        if stop.len() > MAX_STOPS || stop.iter().any(String::is_empty) {
            let message = format!("must be at most {MAX_STOPS} texts, none of them empty");
            return Err(ToolError::parameter(name, message));
        }
        self.client.sampling.stop = stop;
        Ok(())
    }

    /// Refuses sampling parameters that no model takes.
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

    /// Marks what is data: the words of anybody but the owner, and results of tools. What is said now becomes so when
    /// it is sent.
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

    /// Splits it into what was said before and what is said now.
    pub(super) fn ready(mut self) -> Ready {
        let last = match self.messages.pop() {
            Some(Message::User { content }) => Some(content),
            other => {
                self.messages.extend(other);
                None
            }
        };
        self.client.continues = last.is_none();
        let (mut text, mut pictures) = (String::new(), Vec::new());
        for block in last.unwrap_or_default() {
            match block {
                Block::Text { text: more } => text.push_str(&more),
                picture @ Block::Image { .. } => pictures.push(picture),
            }
        }
        Ready {
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

/// A picture in a data URL.
pub(super) fn picture(parameter: &str, url: &str) -> Result<Block, ToolError> {
    let data = url.strip_prefix("data:");
    let split = data.and_then(|data| data.split_once(";base64,"));
    let Some((mime_type, data)) = split else {
        let message = "an image must be a data URL: data:image/png;base64,...; nothing is fetched";
        return Err(ToolError::parameter(parameter, message));
    };
    block(parameter, data.to_owned(), mime_type.to_owned())
}
