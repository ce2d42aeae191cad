//! Provider-neutral conversations.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::model::ModelId;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A message from the user or another caller.
    User {
        /// Text and images.
        content: Vec<Block>,
    },
    /// A message from the model.
    Assistant {
        /// Text, thoughts and tool calls.
        content: Vec<ReplyBlock>,
    },
    /// Results of the previous message's calls.
    Tool {
        /// One per call.
        results: Vec<ToolResult>,
    },
}

impl Message {
    /// A text from the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User {
            content: vec![Block::text(text)],
        }
    }

    /// A text from the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant {
            content: vec![ReplyBlock::text(text)],
        }
    }
}

/// A part of a message shown to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// The image in base64.
        data: String,
        /// For example `image/png`.
        mime_type: String,
    },
}

impl Block {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A part of a model's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReplyBlock {
    /// A text.
    Text {
        /// The text.
        text: String,
        /// Provider data to send back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// A thought, or its summary.
    Thinking {
        /// The text; empty if the provider keeps it secret.
        text: String,
        /// Provider data to send back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// A tool call.
    Call(ToolCall),
}

impl ReplyBlock {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            opaque: None,
        }
    }
}

/// Provider data that only the originating model can read. It is sent back to that model only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The originating model.
    pub from: ModelId,
    /// The data in the provider's format.
    pub data: Value,
}

impl Opaque {
    /// The data, if it is from `model`.
    pub(crate) fn for_model(this: Option<&Self>, model: &ModelId) -> Option<Value> {
        this.filter(|opaque| opaque.from == *model)
            .map(|opaque| opaque.data.clone())
    }
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id within the conversation.
    pub id: String,
    /// The tool, as the model names it.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
    /// Provider data to send back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

/// Arguments of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// By parameter name.
    Named(Map<String, Value>),
    /// The model wrote something else. The problem is addressed to the model.
    Broken {
        /// The text it wrote.
        raw: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl Arguments {
    /// Parses what a model wrote. Empty text means no arguments.
    pub fn parse(raw: &str) -> Self {
        if raw.trim().is_empty() {
            return Self::Named(Map::new());
        }
        let problem = match serde_json::from_str::<Value>(raw) {
            Ok(Value::Object(named)) => return Self::Named(named),
            Ok(Value::Null) => return Self::Named(Map::new()),
            Ok(_) => "the arguments are not a JSON object; write them as {\"name\": value}".into(),
            Err(error) => {
                format!("the arguments are not JSON ({error}); call the tool again with valid JSON")
            }
        };
        let raw = raw.to_owned();
        Self::Broken { raw, problem }
    }

    /// As an object, which every provider accepts.
    pub(crate) fn as_object(&self) -> Value {
        match self {
            Self::Named(named) => Value::Object(named.clone()),
            Self::Broken { raw, .. } => json!({ "unreadable_arguments": raw }),
        }
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Text and images.
    pub content: Vec<Block>,
    /// Whether it failed.
    #[serde(default)]
    pub is_error: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_not_an_object_are_explained() {
        assert_eq!(Arguments::parse(" "), Arguments::Named(Map::new()));
        assert_eq!(Arguments::parse("null"), Arguments::Named(Map::new()));
        let Arguments::Named(named) = Arguments::parse(r#"{"a": 1}"#) else {
            panic!("an object is read");
        };
        assert_eq!(named["a"], 1);
        for raw in ["{\"a\": ", "[1]", "\"a\"", "a=1"] {
            let Arguments::Broken {
                raw: raw_text,
                problem,
            } = Arguments::parse(raw)
            else {
                panic!("{raw} is no object");
            };
            assert_eq!(raw_text, raw);
            assert!(problem.contains("JSON"), "{problem}");
        }
    }

    #[test]
    fn a_conversation_survives_being_written_down() {
        let from: ModelId = "a/b".parse().unwrap();
        let data = json!({ "signature": "s" });
        let blocks = vec![
            ReplyBlock::Thinking {
                text: "hm".into(),
                opaque: Some(Opaque { from, data }),
            },
            ReplyBlock::Call(ToolCall {
                id: "1".into(),
                name: "t".into(),
                arguments: Arguments::parse("{"),
                opaque: None,
            }),
        ];
        let conversation = vec![Message::user("hi"), Message::Assistant { content: blocks }];
        let text = serde_json::to_string(&conversation).unwrap();
        assert_eq!(
            serde_json::from_str::<Vec<Message>>(&text).unwrap(),
            conversation
        );
    }
}
