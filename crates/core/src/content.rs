//! Content blocks: what a tool shows beside its structured value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The blocks of a value that is nothing but content, `{"content": [...]}`, as tools of nodes and
/// MCP servers give pictures. Such a value is shown as what it holds.
pub fn content_of(value: &Value) -> Option<Vec<ContentBlock>> {
    // Only if there is nothing else: other fields would not be shown.
    let object = value.as_object().filter(|object| object.len() == 1)?;
    let blocks = object.get("content")?.as_array()?;
    let read = |block: &Value| ContentBlock::deserialize(block).ok();
    blocks.iter().map(read).collect()
}

/// One piece of content, in the shapes MCP and model APIs share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// The bytes in base64.
        data: String,
        /// For example `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// Something kept elsewhere, such as an artifact.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// What to call it.
        name: String,
        /// For example `application/json`.
        #[serde(rename = "mimeType", skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its size in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_value_without_other_fields_is_content() {
        let picture = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
        let blocks = content_of(&json!({ "content": [picture] })).unwrap();
        assert!(matches!(&blocks[..], [ContentBlock::Image { .. }]));
        for other in [
            json!({ "content": "text" }),
            json!({ "content": [{ "type": "unknown" }] }),
            json!({ "content": [picture], "path": "a" }),
            json!([picture]),
        ] {
            assert_eq!(content_of(&other), None, "{other}");
        }
    }
}
