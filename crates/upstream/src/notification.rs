//! Unsolicited notifications of a server.

use serde_json::{Map, Value};

/// An unsolicited notification of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerNotification {
    /// Its tools changed, or may have: it was reconnected.
    Tools,
    /// Its prompts changed.
    Prompts,
    /// Its resources changed.
    Resources,
    /// A subscribed resource changed.
    Updated {
        /// The resource.
        uri: String,
        /// All parameters.
        params: Map<String, Value>,
    },
    /// A log message that belongs to no request.
    Log(Map<String, Value>),
    /// Any other notification.
    Other {
        /// The method.
        method: String,
        /// Its parameters.
        params: Map<String, Value>,
    },
}

impl ServerNotification {
    /// Converts a notification; `None` for those of no interest to callers.
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
            // Passed on: clients may know extensions that this gateway does not.
            _ => Self::Other {
                method: method.to_owned(),
                params,
            },
        })
    }
}
