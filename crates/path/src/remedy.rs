//! Remedy: hints that their reader can follow.
//!
//! Hints are written for the owner. Other callers cannot open the settings, so for them such a hint becomes
//! "ask the owner".

use async_trait::async_trait;
use manyhands_core::{Caller, Principal, ToolError};

use crate::layer::{Call, CallResult, Layer, Next};

const ASK: &str = "ask the owner of this gateway: only they can change this";

/// The settings that hints speak of, each by how its keys begin.
const SETTINGS: [&str; 9] = [
    "agents.",
    "channels.",
    "egress.",
    "limits.",
    "mcp.",
    "models.",
    "node.",
    "policy.",
    "tools.",
];

/// Replaces hints that only the owner could follow.
pub struct Remedy;

#[async_trait]
impl Layer for Remedy {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let result = next.run(call).await;
        result.map_err(|error| fit(&call.request.caller, error))
    }
}

fn fit(caller: &Caller, mut error: ToolError) -> ToolError {
    let person = matches!(
        caller.principal,
        Principal::Person { .. } | Principal::Guest(_)
    );
    let owners_only = error.hint.as_deref().is_some_and(|hint| {
        let settings = hint.contains("config.toml") || names_setting(hint);
        // A program with a token has the command line; somebody in a chat has neither.
        match person {
            true => settings || hint.contains("manyhands "),
            false => settings && !hint.contains("owner"),
        }
    });
    if owners_only && !caller.is_owner() {
        error.hint = Some(ASK.to_owned());
    }
    error
}

/// Whether a hint names a setting: a section and a key, not a section's word at the end of a sentence.
fn names_setting(hint: &str) -> bool {
    let mut words = hint.split(|c: char| c.is_whitespace() || "`\"'(),;".contains(c));
    words.any(|word| {
        let key = SETTINGS
            .iter()
            .find_map(|section| word.strip_prefix(section));
        key.is_some_and(|key| key.starts_with(|c: char| c.is_ascii_lowercase()))
    })
}

#[cfg(test)]
mod tests {
    use manyhands_core::{ErrorCode, Pattern, Rights, Role};

    use super::*;
    use crate::testing::{client, owner};

    #[test]
    fn only_the_owner_is_sent_to_the_settings() {
        let rights = Rights::new(Role::Client, vec![Pattern::new("*")]);
        let guest = Caller::new(Principal::person("telegram:22"), "Bo", rights);
        let clerk = client("clerk", &["*"]);
        let setting = "set `tools.web_search.tavily_api_key`";
        let command = "`manyhands tools` lists them";
        let told = "the owner can switch it on in config.toml under tools";
        let own = "name one with chat_id, as your tools. do";
        let bare = "install PowerShell, or set tools.powershell.enabled = false";
        for (hint, guests, clerks) in [
            (setting, ASK, ASK),
            (command, ASK, command),
            (told, ASK, told),
            (own, own, own),
            (bare, ASK, ASK),
        ] {
            let hint_for = |caller: &Caller| {
                let error = ToolError::new(ErrorCode::Failed, "no").hint(hint);
                fit(caller, error).hint.unwrap()
            };
            assert_eq!(hint_for(&guest), guests, "{hint}");
            assert_eq!(hint_for(&clerk), clerks, "{hint}");
            assert_eq!(hint_for(&owner()), hint, "the owner");
        }
    }
}
