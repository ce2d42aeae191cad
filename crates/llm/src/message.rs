//! A conversation in words that no one provider owns.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::model::ModelId;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What a person, or whoever speaks to the model, said.
    User {
        /// Texts and pictures.
        content: Vec<Block>,
    },
    /// What the model said.
    Assistant {
        /// Texts, thoughts and calls.
        content: Vec<ReplyBlock>,
    },
    /// What the calls of the message before gave.
    Tool {
        /// One for each call.
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

/// A piece of what the model is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// The bytes in base64.
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

/// A piece of what the model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReplyBlock {
    /// A text.
    Text {
        /// The text.
        text: String,
        /// What its provider wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// A thought, or its summary.
    Thinking {
        /// The thought; empty where the provider keeps it to itself.
        text: String,
        /// What its provider wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// A call of a tool.
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

/// Data of a provider that only the model it came from can read. It goes back to exactly that one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The model it came from.
    pub from: ModelId,
    /// What it is, in the provider's own shape.
    pub data: Value,
}

impl Opaque {
    /// The data, if it is `model`'s own.
    pub(crate) fn for_model(this: Option<&Self>, model: &ModelId) -> Option<Value> {
        this.filter(|opaque| opaque.from == *model)
            .map(|opaque| opaque.data.clone())
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id in this conversation.
    pub id: String,
    /// The tool, as the model names it.
    pub name: String,
    /// With what.
    pub arguments: Arguments,
    /// What its provider wants back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// By name.
    Named(Map<String, Value>),
    /// The model wrote something else. The problem is for the model to read.
    Broken {
        /// What it wrote.
        raw: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl Arguments {
    /// Reads what a model wrote. Nothing at all means no arguments.
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

    /// As an object that every provider takes back.
    pub(crate) fn as_object(&self) -> Value {
        match self {
            Self::Named(named) => Value::Object(named.clone()),
            Self::Broken { raw, .. } => json!({ "unreadable_arguments": raw }),
        }
    }
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Texts and pictures.
    pub content: Vec<Block>,
    /// Whether it failed.
    #[serde(default)]
    pub is_error: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_not_an_object_say_what_to_do() {
        assert_eq!(Arguments::parse(" "), Arguments::Named(Map::new()));
        assert_eq!(Arguments::parse("null"), Arguments::Named(Map::new()));
        let Arguments::Named(named) = Arguments::parse(r#"{"a": 1}"#) else {
            panic!("an object is read");
        };
        assert_eq!(named["a"], 1);
        for raw in ["{\"a\": ", "[1]", "\"a\"", "a=1"] {
            let Arguments::Broken { raw: kept, problem } = Arguments::parse(raw) else {
                panic!("{raw} is no object");
            };
            assert_eq!(kept, raw);
            assert!(problem.contains("JSON"), "{problem}");
        }
    }

    #[test]
    fn a_conversation_survives_being_written_down() {
        let from: ModelId = "a/b".parse().unwrap();
        let data = json!({ "signature": "s" });
        let said = vec![
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
        let whole = vec![Message::user("hi"), Message::Assistant { content: said }];
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Message>>(&text).unwrap(), whole);
    }
}
