//! Differences between the two eras of the protocol.

use manyhands_upstream::Peer;
use serde_json::{Map, Value, json};

/// First protocol version without a handshake.
pub(super) const MODERN: &str = "2026-07-28";
/// Versions with an `initialize` handshake, newest first.
pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

pub(super) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Log levels, least severe first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];
pub(super) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Adds the fields that modern clients require in every result.
pub(super) fn modern(method: &str, mut result: Value) -> Value {
    let Some(map) = result.as_object_mut() else {
        return result;
    };
    map.entry("resultType").or_insert_with(|| json!("complete"));
    let cacheable = matches!(
        method,
        "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "server/discover"
    );
    if cacheable {
        map.entry("ttlMs").or_insert_with(|| json!(0));
        map.entry("cacheScope").or_insert_with(|| json!("private"));
    }
    result
}

/// Removes the fields that older clients do not know from a result.
pub(super) fn legacy(mut result: Value) -> Value {
    if let Some(map) = result.as_object_mut() {
        for key in ["resultType", "ttlMs", "cacheScope"] {
            map.remove(key);
        }
    }
    result
}

/// Removes the client's capabilities and identity from a modern request and returns the
/// capabilities.
pub(super) fn capabilities(params: &mut Map<String, Value>) -> Value {
    let Some(Value::Object(meta)) = params.get_mut("_meta") else {
        return json!({});
    };
    let said = meta.remove(META_CAPABILITIES);
    meta.remove(META_VERSION);
    meta.remove(META_CLIENT);
    said.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

/// The log level a modern request asks for; `None` if it asks for none.
pub(super) fn log_level(params: &Map<String, Value>) -> Option<usize> {
    let said = params.get("_meta")?.get(META_LOG_LEVEL)?.as_str()?;
    LEVELS.iter().position(|level| *level == said)
}

/// The level of a log message; unknown levels count as most severe, so that they are not lost.
pub(super) fn level_of(notice: &Value) -> usize {
    let known = |level: &str| LEVELS.iter().position(|known| *known == level);
    notice["level"]
        .as_str()
        .and_then(known)
        .unwrap_or(LEVELS.len())
}

/// Whether a server declares the capability a method needs.
pub(super) fn declares(peer: &Peer, method: &str) -> bool {
    let family = method.split('/').next().unwrap_or_default();
    match (family, method) {
        // Before 2025-03-26 servers could not declare it.
        ("completion", _) => peer.can("completions") || peer.version.as_str() < "2025-03-26",
        (_, "resources/subscribe" | "resources/unsubscribe") => {
            let resources = peer.capabilities.get("resources");
            resources.is_some_and(|able| able["subscribe"] == true)
        }
        ("prompts" | "resources" | "logging", _) => peer.can(family),
        _ => true,
    }
}

/// The capabilities of a server as the gateway can offer them.
pub(super) fn offered(capabilities: &Map<String, Value>, is_modern: bool) -> Value {
    let mut offered = capabilities.clone();
    offered.entry("tools").or_insert_with(|| json!({}));
    if let Some(Value::Object(tools)) = offered.get_mut("tools") {
        tools.insert("listChanged".to_owned(), true.into());
    }
    // Tasks outlive a request; the gateway keeps no state for them.
    offered.remove("tasks");
    if let Some(Value::Object(extensions)) = offered.get_mut("extensions") {
        extensions.remove("io.modelcontextprotocol/tasks");
    }
    if is_modern {
        return Value::Object(offered);
    }
    offered.remove("extensions");
    Value::Object(offered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_translated_to_the_clients_era() {
        let there = json!({ "tools": [] });
        let said = modern("tools/list", there.clone());
        assert_eq!(said["resultType"], "complete");
        assert_eq!(said["cacheScope"], "private");
        assert_eq!(legacy(said), there);
        let kept = modern("tools/call", json!({ "resultType": "input_required" }));
        assert_eq!(kept, json!({ "resultType": "input_required" }));
    }

    #[test]
    fn log_messages_follow_the_requested_level() {
        let wants = |level: &str| {
            let meta = json!({ META_LOG_LEVEL: level });
            log_level(&Map::from_iter([("_meta".to_owned(), meta)]))
        };
        assert_eq!(log_level(&Map::new()), None);
        let warning = level_of(&json!({ "level": "warning" }));
        assert!(wants("debug").is_some_and(|from| warning >= from));
        assert!(wants("error").is_some_and(|from| warning < from));
        assert_eq!(wants("loud"), None);
    }
}
