//! The requests a server supports, as named in 2025-11-25 regardless of its era.

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::error::UpstreamError;
use crate::hooks::Hooks;
use crate::server::Bounds;

/// Sends requests to a server. Results are unchanged, with all additional fields.
#[async_trait]
pub trait McpClient: Send + Sync {
    /// Sends any request by its 2025-11-25 name, translated to the server's era: `ping`,
    /// `logging/setLevel`, `resources/subscribe` and `resources/unsubscribe` work with all servers.
    /// Dropping the future cancels the request.
    async fn request(
        &self,
        method: &str,
        params: Map<String, Value>,
        hooks: &Hooks,
    ) -> Result<Value, UpstreamError>;

    /// The size limits.
    fn bounds(&self) -> &Bounds;

    /// Lists all tools.
    async fn list_tools(&self, hooks: &Hooks) -> Result<Vec<Value>, UpstreamError> {
        self.list("tools/list", "tools", hooks).await
    }

    /// Calls a tool.
    async fn call_tool(
        &self,
        name: &str,
        arguments: Value,
        hooks: &Hooks,
    ) -> Result<Value, UpstreamError> {
        let mut params = named("name", name);
        if !arguments.is_null() {
            params.insert("arguments".to_owned(), arguments);
        }
        self.request("tools/call", params, hooks).await
    }

    /// Lists all resources.
    async fn list_resources(&self, hooks: &Hooks) -> Result<Vec<Value>, UpstreamError> {
        self.list("resources/list", "resources", hooks).await
    }

    /// Lists all resource templates.
    async fn list_resource_templates(&self, hooks: &Hooks) -> Result<Vec<Value>, UpstreamError> {
        let method = "resources/templates/list";
        self.list(method, "resourceTemplates", hooks).await
    }

    /// Reads a resource.
    async fn read_resource(&self, uri: &str, hooks: &Hooks) -> Result<Value, UpstreamError> {
        self.request("resources/read", named("uri", uri), hooks)
            .await
    }

    /// Subscribes to changes of a resource, reported as [`ServerNotification::Updated`](crate::ServerNotification::Updated).
    async fn subscribe(&self, uri: &str, hooks: &Hooks) -> Result<(), UpstreamError> {
        let done = self.request("resources/subscribe", named("uri", uri), hooks);
        done.await.map(drop)
    }

    /// Cancels a subscription.
    async fn unsubscribe(&self, uri: &str, hooks: &Hooks) -> Result<(), UpstreamError> {
        let done = self.request("resources/unsubscribe", named("uri", uri), hooks);
        done.await.map(drop)
    }

    /// Lists all prompts.
    async fn list_prompts(&self, hooks: &Hooks) -> Result<Vec<Value>, UpstreamError> {
        self.list("prompts/list", "prompts", hooks).await
    }

    /// Renders a prompt.
    async fn get_prompt(
        &self,
        name: &str,
        arguments: Value,
        hooks: &Hooks,
    ) -> Result<Value, UpstreamError> {
        let mut params = named("name", name);
        if !arguments.is_null() {
            params.insert("arguments".to_owned(), arguments);
        }
        self.request("prompts/get", params, hooks).await
    }

    /// Completes an argument. `reference` names a prompt or a resource template.
    async fn complete(
        &self,
        reference: Value,
        argument: Value,
        hooks: &Hooks,
    ) -> Result<Value, UpstreamError> {
        let mut params = Map::new();
        params.insert("ref".to_owned(), reference);
        params.insert("argument".to_owned(), argument);
        self.request("completion/complete", params, hooks).await
    }

    /// Sets the minimum level of log messages.
    async fn set_log_level(&self, level: &str, hooks: &Hooks) -> Result<(), UpstreamError> {
        let done = self.request("logging/setLevel", named("level", level), hooks);
        done.await.map(drop)
    }

    /// Checks that the server replies.
    async fn ping(&self, hooks: &Hooks) -> Result<(), UpstreamError> {
        self.request("ping", Map::new(), hooks).await.map(drop)
    }

    /// Lists all pages.
    async fn list(
        &self,
        method: &str,
        key: &str,
        hooks: &Hooks,
    ) -> Result<Vec<Value>, UpstreamError> {
        let bounds = *self.bounds();
        let (mut all, mut size) = (Vec::new(), 0);
        let mut cursor: Option<Value> = None;
        for _ in 0..bounds.pages {
            let mut params = Map::new();
            if let Some(cursor) = &cursor {
                params.insert("cursor".to_owned(), cursor.clone());
            }
            let mut page = self.request(method, params, hooks).await?;
            let Some(Value::Array(entries)) = page.get_mut(key).map(Value::take) else {
                let what = format!("its reply to {method} has no {key}");
                return Err(UpstreamError::Garbage(what));
            };
            // Entries are counted in memory too: a few may be huge, and many small ones exceed their JSON
            // size.
            size += entries.iter().map(weight).sum::<usize>();
            all.extend(entries);
            if all.len() > bounds.entries || size > bounds.list {
                return Err(UpstreamError::TooLarge {
                    what: "its list",
                    limit: bounds.list,
                });
            }
            let next = page.get_mut("nextCursor").map(Value::take);
            match next.filter(|next| !next.is_null()) {
                // A server that returns the same cursor again would be paged forever.
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                _ => return Ok(all),
            }
        }
        let pages = bounds.pages;
        Err(UpstreamError::Garbage(format!(
            "its list has more than {pages} pages"
        )))
    }
}

fn named(key: &str, name: &str) -> Map<String, Value> {
    let Value::Object(params) = json!({ key: name }) else {
        return Map::new();
    };
    params
}

/// Approximate size of a value in memory, in bytes.
fn weight(value: &Value) -> usize {
    const EACH: usize = 32;
    EACH + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| key.len() + weight(value))
            .sum(),
        _ => 0,
    }
}
