//! A server's description of itself.

use serde_json::{Map, Value};

/// The protocol era of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Up to 2025-11-25: a connection begins with `initialize`.
    Legacy,
    /// Since 2026-07-28: each request is self-contained.
    Modern,
}

/// A server's description of itself.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its protocol era.
    pub era: Era,
    /// Its protocol version.
    pub version: String,
    /// Its name and version, as sent.
    pub info: Value,
    /// Its capabilities.
    pub capabilities: Map<String, Value>,
    /// Its instructions for use.
    pub instructions: Option<String>,
    /// The remaining fields of its description.
    pub extra: Map<String, Value>,
}

impl Peer {
    pub(crate) fn new(
        era: Era,
        version: &str,
        info: Value,
        mut fields: Map<String, Value>,
    ) -> Self {
        let capabilities = match fields.remove("capabilities") {
            Some(Value::Object(capabilities)) => capabilities,
            _ => Map::new(),
        };
        let instructions = fields.remove("instructions");
        Self {
            era,
            version: version.to_owned(),
            info,
            capabilities,
            instructions: instructions.and_then(|i| i.as_str().map(str::to_owned)),
            extra: fields,
        }
    }

    /// Whether it declares `capability`, such as `prompts`.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.contains_key(capability)
    }
}
