//! Patterns of ids and names for the OpenAPI document. Each matches what its parser accepts.

use serde_json::{Value, json};

/// Agent id.
pub(crate) const AGENT: &str = "^[a-z0-9][a-z0-9_-]{0,63}$";
/// UUID.
pub(crate) const UUID: &str =
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";
/// Chat of artifacts, or `results`.
pub(crate) const CHAT: &str =
    "^(results|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$";
/// Node id.
pub(crate) const NODE: &str = "^[a-z0-9-]{1,32}$";
/// MCP server name, at most 32 characters.
pub(crate) const SERVER: &str = "^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$";
/// Name of a secret.
pub(crate) const SECRET: &str = "^[A-Za-z0-9_./-]{1,128}$";
/// Session: a name, or `agent:NAME:REST`.
pub(crate) const SESSION: &str = "^\\s*[A-Za-z0-9:_.@+/#-]+\\s*$";
/// Settings key: names separated by dots.
pub(crate) const SETTING: &str = "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$";
/// Display name: printable and not only spaces.
pub(crate) const NAME: &str = r"^[^\x00-\x1f\x7f-\x9f]{0,63}[^\s\x00-\x1f\x7f-\x9f]$";
/// File name, at most 200 bytes.
pub(crate) const FILE: &str =
    r"^[^\s/\\\x00-\x1f\x7f-\x9f]([^/\\\x00-\x1f\x7f-\x9f]*[^\s/\\.\x00-\x1f\x7f-\x9f])?$";
/// Non-empty text.
pub(crate) const WORDS: &str = "\\S";

/// Schema of a path parameter.
pub(super) fn in_path(path: &str, name: &str) -> Value {
    let resource = path.strip_prefix("/api/").unwrap_or(path);
    let resource = resource.split('/').next().unwrap_or_default();
    let pattern = match (resource, name) {
        ("artifacts" | "approvals" | "tokens", "id") => UUID,
        ("sessions", "key") => SESSION,
        ("sessions", "seq" | "index") => {
            return json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
        }
        ("secrets", "name") => SECRET,
        ("nodes", "id") | ("channels", "channel" | "account") => NODE,
        ("agents", "id") | (_, "agent") => AGENT,
        ("servers", "name") | (_, "server") => {
            return json!({ "type": "string", "pattern": SERVER, "maxLength": 32 });
        }
        _ => return json!({ "type": "string" }),
    };
    json!({ "type": "string", "pattern": pattern })
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use manyhands_agent::SessionKey;
    use manyhands_core::{AgentId, ArtifactId, NodeId, ServerName};
    use regex::Regex;

    use super::*;

    fn agrees<T: FromStr>(pattern: &str, most: usize, texts: &[&str]) {
        let pattern = Regex::new(pattern).unwrap();
        for text in texts {
            let fits = pattern.is_match(text) && text.len() <= most;
            assert_eq!(fits, text.parse::<T>().is_ok(), "{text:?}");
        }
    }

    #[test]
    fn patterns_match_what_their_parsers_accept() {
        let long = "a".repeat(65);
        let names = [
            "main",
            "a",
            "a-b_c",
            "-a",
            "_a",
            "A",
            "a.b",
            "",
            " a",
            "ä",
            "a__b",
            "a_",
            "0",
            &long[..32],
            &long[..33],
            &long[..64],
            &long,
        ];
        agrees::<AgentId>(AGENT, usize::MAX, &names);
        agrees::<NodeId>(NODE, usize::MAX, &names);
        agrees::<ServerName>(SERVER, 32, &names);
        let keys = [
            "main",
            " Work ",
            "agent:main:tg:dm:42",
            "",
            " ",
            "a b",
            "ä",
            "a/b#c",
        ];
        agrees::<SessionKey>(SESSION, usize::MAX, &keys);
        let ids = ["01890000-0000-7000-8000-000000000000", "0", "", "01890000"];
        agrees::<ArtifactId>(UUID, usize::MAX, &ids);
    }
}
