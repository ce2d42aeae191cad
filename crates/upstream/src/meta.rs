//! The `_meta` fields of the modern era, which repeats in every request what older servers learn once in the handshake.

use serde_json::{Map, Value, json};

/// Our name and version.
pub(crate) fn client_info() -> Value {
    json!({ "name": "manyhands", "version": env!("CARGO_PKG_VERSION") })
}

/// Metadata of each modern request.
pub(crate) fn modern_meta(version: &str, capabilities: Map<String, Value>) -> Map<String, Value> {
    let mut meta = Map::new();
    for (key, value) in [
        (PROTOCOL_VERSION, version.into()),
        (CLIENT_INFO, client_info()),
        (CLIENT_CAPABILITIES, capabilities.into()),
    ] {
        meta.insert(key.to_owned(), value);
    }
    meta
}

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
