//! The settings in force, shared by all parts and replaced as a whole.

use std::sync::Arc;

use arc_swap::ArcSwap;
use manyhands_config::Settings;
use manyhands_core::ToolError;
use serde_json::Value;

/// The settings in force.
#[derive(Clone)]
pub struct LiveSettings {
    current: Arc<ArcSwap<Settings>>,
}

impl LiveSettings {
    /// Starts with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            current: Arc::new(ArcSwap::from_pointee(settings)),
        }
    }

    /// Returns the present settings.
    pub fn current(&self) -> Arc<Settings> {
        self.current.load_full()
    }

    /// Returns one value by its dotted path, with secrets masked.
    pub fn get(&self, path: &str) -> Result<Value, ToolError> {
        manyhands_config::masked(&self.current(), Some(path))
            .map_err(|e| ToolError::parameter("path", e.to_string()))
    }

    /// Returns all values, with secrets masked.
    pub fn all(&self) -> Value {
        manyhands_config::masked(&self.current(), None).unwrap_or_default()
    }

    /// Replaces the settings.
    pub fn replace(&self, settings: Settings) {
        self.current.store(Arc::new(settings));
    }
}
