//! The way to call tools.

use std::sync::Arc;

use async_trait::async_trait;

use crate::authorize::{Question, Verdict};
use crate::call::CallRequest;
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::tool::Catalogue;

/// The only way to the tools: every interface, agents, jobs and scripts call through it.
#[async_trait]
pub trait Invoke: Send + Sync {
    /// Takes the call down the whole path. Dropping the future cancels the call.
    async fn invoke(&self, request: CallRequest) -> Result<Outcome, ToolError>;
    /// The verdict that a call would get. Lists and checks outside of calls use it too, so that no
    /// two interfaces can disagree.
    fn authorize(&self, question: Question<'_>) -> Verdict;
    /// All tools there are now.
    fn catalogue(&self) -> Arc<Catalogue>;
}
