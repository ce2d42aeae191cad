//! A message to a session, as it is queued.

use manyhands_llm::{Block, Message};
use serde::{Deserialize, Serialize};

use crate::client::{ClientRequest, ClientTool};
use crate::fence;
use crate::origin::Origin;

/// An input of a turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Input {
    /// The text.
    pub text: String,
    /// Attached pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Block>,
    /// Restricts the turn to these tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Overrides the session's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<manyhands_llm::ModelId>,
    /// JSON Schema of the answer, as far as the provider enforces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<serde_json::Value>,
    /// Overrides the session's reasoning effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<manyhands_llm::Thinking>,
    /// Options of a client that uses a provider's API format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Box<ClientRequest>>,
    /// W3C trace context of whoever sent it. Stored, because the turn may run much later or after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// W3C trace state, if there is a `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

impl Input {
    /// An input with only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Whether it has no options of its own, so that it can be merged into a running turn.
    pub(crate) fn is_plain(&self) -> bool {
        self.tools.is_none()
            && self.model.is_none()
            && self.output.is_none()
            && self.thinking.is_none()
            && self.client.is_none()
    }

    /// Whether it has no message and continues the existing conversation.
    pub(crate) fn continues(&self) -> bool {
        let client = self.client.as_ref();
        client.is_some_and(|client| client.continues)
    }

    /// The tool of this name that the client runs.
    pub(crate) fn client_tool(&self, name: &str) -> Option<&ClientTool> {
        let client = self.client.as_ref()?;
        client.tools.iter().find(|tool| tool.name == name)
    }
}

/// The message as the model sees it: trusted text as it is, other text fenced as data.
pub(crate) fn as_message(input: &Input, origin: &Origin) -> Message {
    let text = match origin.trusted {
        true => input.text.clone(),
        false => fence::fenced(&format!("person:{}", origin.name), &input.text),
    };
    let mut content = vec![Block::Text { text }];
    content.extend(input.pictures.iter().cloned());
    Message::User { content }
}
