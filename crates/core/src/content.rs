//! Content blocks: what a tool shows beside its structured value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
