//! What tools that delegate work share: the subtask envelope, the check of a result, and progress.

use std::sync::Arc;

use manyhands_agent::{TurnEvent, json_in};
use manyhands_core::ToolError;
use manyhands_path::{check_schema_aside, validate_against};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest summary, in characters.
const MAX_SUMMARY: usize = 160;

/// The subtask envelope.
#[derive(Serialize, JsonSchema)]
pub struct Subtask<T> {
    /// Task id.
    pub task_id: String,
    /// `done` or `failed`.
    pub status: &'static str,
    /// One-line summary, at most 160 characters.
    pub summary: String,
    /// Type of `output`: `text` or `json`.
    pub output_kind: &'static str,
    /// Schema of `output`: its name or its JSON Schema; null for text.
    pub output_schema: Value,
    /// The result.
    pub output: T,
    /// Why it failed; empty on success.
    pub error: String,
}

/// The first line of a text, shortened to a summary.
pub fn summary(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(MAX_SUMMARY).collect()
}

/// A JSON Schema, or a name.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OutputSchema {
    /// A name: the result must be JSON.
    Name(String),
    /// A JSON Schema the result must match.
    Schema(serde_json::Map<String, Value>),
}

impl OutputSchema {
    /// Rejects a schema that is invalid or too expensive to check.
    pub async fn check(&self) -> Result<(), ToolError> {
        match self {
            Self::Name(_) => Ok(()),
            // On another thread: compiling a hostile schema may take long.
            Self::Schema(_) => check_schema_aside(self.value()).await.map_err(|why| {
                let message = format!("is not a usable JSON Schema: it {why}");
                ToolError::parameter("output_schema", message)
            }),
        }
    }

    /// The schema as reported in the envelope.
    pub fn value(&self) -> Value {
        match self {
            Self::Name(name) => Value::from(name.as_str()),
            Self::Schema(schema) => Value::Object(schema.clone()),
        }
    }

    /// Instructions for the sub-agent.
    pub fn instructions(&self) -> String {
        let json = "Your whole answer must be one JSON value, without words or fences around it.";
        match self {
            Self::Name(name) => format!("{json} Its shape is called {name}."),
            Self::Schema(_) => format!("{json} It must fit this JSON Schema: {}", self.value()),
        }
    }

    /// Parses the answer as JSON and checks it.
    pub async fn parse(&self, text: &str) -> Result<Value, String> {
        let value = json_in(text).ok_or("it is not JSON")?;
        match self {
            Self::Name(_) => Ok(value),
            Self::Schema(_) => validate_against(Arc::new(self.value()), value).await,
        }
    }

    /// Checks a sub-agent's answer, or passes its failure on.
    pub async fn parse_reply(
        &self,
        reply: Result<String, String>,
    ) -> Result<Result<Value, String>, String> {
        Ok(self.parse(&reply?).await)
    }
}

/// How much progress to report.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum Observe {
    #[default]
    Default,
    LongShell,
    WebExtract,
}

impl Observe {
    /// The progress message for an event, if it is reported.
    pub fn progress_message(self, what: &TurnEvent) -> Option<String> {
        match (self, what) {
            (
                Self::LongShell,
                TurnEvent::ToolStarted {
                    tool, arguments, ..
                },
            ) => {
                let line = ["cmd", "command", "path", "url", "query", "q"]
                    .iter()
                    .find_map(|key| arguments[key].as_str());
                Some(format!("{tool}: {}", summary(line.unwrap_or("..."))))
            }
            (
                Self::LongShell,
                TurnEvent::ToolDone {
                    tool, ok, stats, ..
                },
            ) => {
                let how = if *ok { "done" } else { "failed" };
                Some(format!("{tool}: {how} after {} ms", stats.ms))
            }
            (Self::WebExtract, TurnEvent::ToolStarted { arguments, .. }) => {
                let page = arguments["url"]
                    .as_str()
                    .map(|url| format!("page {}", summary(url)));
                let search = ["query", "q"]
                    .iter()
                    .find_map(|key| arguments[key].as_str());
                page.or_else(|| search.map(|words| format!("search {}", summary(words))))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_profile_reports_its_events() {
        let started = |tool: &str, arguments: Value| TurnEvent::ToolStarted {
            call_id: String::new(),
            tool: tool.to_owned(),
            arguments,
            call: None,
        };
        let done = TurnEvent::ToolDone {
            call_id: String::new(),
            tool: "bash".to_owned(),
            ok: false,
            shown: String::new(),
            stats: Box::new(manyhands_agent::CallStats {
                ms: 7,
                ..Default::default()
            }),
            pictures: Vec::new(),
        };
        let bash = started("bash", json!({ "cmd": "make\nmake test" }));
        let page = started("url_fetch", json!({ "url": "https://a.example/" }));
        let search = started("web_search", json!({ "q": "tea" }));
        for (profile, what, expect) in [
            (Observe::Default, &bash, None),
            (Observe::Default, &page, None),
            (Observe::LongShell, &bash, Some("bash: make")),
            (Observe::LongShell, &done, Some("bash: failed after 7 ms")),
            (
                Observe::LongShell,
                &page,
                Some("url_fetch: https://a.example/"),
            ),
            (Observe::WebExtract, &bash, None),
            (Observe::WebExtract, &done, None),
            (Observe::WebExtract, &page, Some("page https://a.example/")),
            (Observe::WebExtract, &search, Some("search tea")),
        ] {
            assert_eq!(
                profile.progress_message(what).as_deref(),
                expect,
                "{what:?}"
            );
        }
    }
}
