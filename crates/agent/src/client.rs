//! Requests in a model's own format, whose clients bring tools along and run those themselves.
//!
//! A turn whose model calls a client's tool ends with that call. What the agent did before, which the client does not
//! see, is handed over with it, and joined again when the results come with the next request.

use std::sync::Arc;

use manyhands_core::{Taint, ToolError};
use manyhands_llm::{Message, Sampling, ToolCall, ToolChoice, ToolDef, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::{Conversation, calls};
use crate::key::SessionKey;
use crate::minds::Minds;
use crate::turn::Work;

/// How a client asks for one answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientRequest {
    /// Tools that the client runs itself.
    pub tools: Vec<ClientTool>,
    /// Whether the first reply may, must or must not call tools.
    pub tool_choice: ToolChoice,
    /// How the model chooses its words.
    pub sampling: Sampling,
    /// The most tokens of one reply.
    pub max_tokens: Option<u32>,
    /// Nothing new is said: the conversation that is there is continued, for example after results of tools.
    pub continues: bool,
    /// The untrusted text in what the client sent, and in what its agent read before.
    pub taint: Taint,
}

/// A tool that the client of a request runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientTool {
    /// 1-64 of `A-Za-z0-9_-`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
}

impl ClientTool {
    pub(crate) fn shown(&self) -> ToolDef {
        ToolDef {
            name: self.name.clone(),
            description: self.description.clone(),
            input_schema: Arc::new(self.input_schema.clone()),
        }
    }
}

/// What a turn did before it ended with calls of its client's tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// Its replies and the results of its own calls; the last reply has the client's calls too.
    messages: Vec<Message>,
    /// The calls that the client has to run, by the ids that their model gave them.
    calls: Vec<ToolCall>,
    /// The untrusted text that was read.
    pub taint: Taint,
}

impl Handover {
    /// The calls that the client has to run.
    pub fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// The exchange with the client's results in it: each with the number of its call.
    pub fn joined(mut self, results: Vec<(usize, ToolResult)>) -> Vec<Message> {
        let theirs = results.into_iter().filter_map(|(number, result)| {
            let call = self.calls.get(number)?;
            Some(ToolResult {
                id: call.id.clone(),
                name: call.name.clone(),
                ..result
            })
        });
        let theirs: Vec<ToolResult> = theirs.collect();
        match self.messages.last_mut() {
            Some(Message::Tool { results }) => results.extend(theirs),
            _ => self.messages.push(Message::Tool { results: theirs }),
        }
        self.messages
    }
}

impl Minds {
    /// What a turn hands over to its client; `None` when it ended with an answer.
    pub async fn handover(
        &self,
        key: &SessionKey,
        turn: &str,
        tools: &[ClientTool],
    ) -> Result<Option<Handover>, ToolError> {
        let sessions = &self.inner.sessions;
        let gone = || ToolError::internal("the turn of this request is gone");
        let session = sessions.get(key.as_str()).await?;
        let session = session.ok_or_else(gone)?;
        let record = sessions.turn(turn).await?.ok_or_else(gone)?;
        let conversation = Conversation::load(sessions, &session.id, session.floor).await;
        let own = conversation?.said.into_iter();
        let own = own.filter(|said| said.turn.as_deref() == Some(turn));
        let messages: Vec<Message> = own
            .map(|said| said.message)
            .filter(|message| !matches!(message, Message::User { .. }))
            .collect();
        let last = messages.iter().rev().find_map(|message| match message {
            Message::Assistant { content } => Some(content.as_slice()),
            _ => None,
        });
        let theirs = |call: &ToolCall| tools.iter().any(|tool| tool.name == call.name);
        let calls: Vec<ToolCall> = calls(last.unwrap_or(&[]))
            .into_iter()
            .filter(theirs)
            .collect();
        let work: Work = serde_json::from_str(&record.work).unwrap_or_default();
        Ok((!calls.is_empty()).then_some(Handover {
            messages,
            calls,
            taint: work.tainted,
        }))
    }
}

#[cfg(test)]
mod tests {
    use manyhands_llm::{Arguments, Block, ReplyBlock};

    use super::*;

    fn call(id: &str, name: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: Arguments::parse("{}"),
            opaque: None,
        }
    }

    fn result(id: &str, name: &str, text: &str) -> ToolResult {
        ToolResult {
            id: id.to_owned(),
            name: name.to_owned(),
            content: vec![Block::text(text)],
            is_error: false,
        }
    }

    fn reply(calls: &[ToolCall]) -> Message {
        let content = calls.iter().cloned().map(ReplyBlock::Call).collect();
        Message::Assistant { content }
    }

    #[test]
    fn results_of_the_client_join_those_of_the_agent_under_the_ids_of_the_model() {
        let (own, theirs) = (call("a", "own"), call("b", "theirs"));
        let mixed = Handover {
            messages: vec![
                reply(&[own.clone(), theirs.clone()]),
                Message::Tool {
                    results: vec![result("a", "own", "1")],
                },
            ],
            calls: vec![theirs.clone()],
            taint: Taint::NONE,
        };
        let joined = mixed.joined(vec![(0, result("x", "", "2")), (7, result("y", "", "3"))]);
        let results = vec![result("a", "own", "1"), result("b", "theirs", "2")];
        assert_eq!(
            joined,
            [reply(&[own, theirs.clone()]), Message::Tool { results }]
        );
        let alone = Handover {
            messages: vec![reply(std::slice::from_ref(&theirs))],
            calls: vec![theirs.clone()],
            taint: Taint::NONE,
        };
        let joined = alone.joined(vec![(0, result("x", "", "2"))]);
        let results = vec![result("b", "theirs", "2")];
        assert_eq!(joined, [reply(&[theirs]), Message::Tool { results }]);
    }
}
