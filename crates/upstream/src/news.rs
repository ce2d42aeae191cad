//! What a server tells without being asked.

use serde_json::{Map, Value};

/// What a server tells without being asked.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// Its tools are others than before, or may be: it was connected to anew.
    Tools,
    /// Its prompts are others.
    Prompts,
    /// Its resources are others.
    Resources,
    /// A resource that was subscribed to has changed.
    Updated {
        /// Which.
        uri: String,
        /// All it said.
        params: Map<String, Value>,
    },
    /// A log message that belongs to no one request.
    Log(Map<String, Value>),
    /// Some other notification.
    Other {
        /// Its name.
        method: String,
        /// Its parameters.
        params: Map<String, Value>,
    },
}

impl News {
    /// The news that a notification carries; `None` for those that are nobody's business.
    pub(crate) fn of(method: &str, params: Map<String, Value>) -> Option<Self> {
        Some(match method {
            "notifications/tools/list_changed" => Self::Tools,
            "notifications/prompts/list_changed" => Self::Prompts,
            "notifications/resources/list_changed" => Self::Resources,
            "notifications/resources/updated" => Self::Updated {
                uri: params.get("uri")?.as_str()?.to_owned(),
                params,
            },
            "notifications/message" => Self::Log(params),
            // Progress of a request that has ended, or of none at all.
            "notifications/progress"
            | "notifications/cancelled"
            | "notifications/subscriptions/acknowledged" => return None,
            _ => Self::Other {
                method: method.to_owned(),
                params,
            },
        })
    }
}
