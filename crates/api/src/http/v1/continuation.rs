//! State that later requests refer to: the agent's work before it called a client tool, and
//! responses in the Responses format. Both are stored for a day.
//!
//! The client sees only the calls of its own tools. Their ids lead to the stored exchange, which
//! replaces them in the next request, with the agent's own calls and the data its model needs back.

use std::collections::BTreeMap;

use manyhands_agent::Handover;
use manyhands_core::ToolError;
use manyhands_gateway::{Admitted, Gateway};
use manyhands_http_common::Refusal;
use manyhands_llm::{Arguments, Message, ReplyBlock, ToolCall, ToolResult};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::prompt::Prompt;

/// Most responses in a conversation continued by reference.
const MAX_CHAIN: usize = 500;

/// A call the client has to run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClientCall {
    pub(super) id: String,
    pub(super) name: String,
    arguments: Arguments,
}

impl ClientCall {
    /// Arguments as text, as the model wrote them.
    pub(super) fn text(&self) -> String {
        match &self.arguments {
            Arguments::Named(named) => Value::Object(named.clone()).to_string(),
            Arguments::Broken { raw, .. } => raw.clone(),
        }
    }

    /// Arguments as an object.
    pub(super) fn object(&self) -> Value {
        match &self.arguments {
            Arguments::Named(named) => Value::Object(named.clone()),
            Arguments::Broken { raw, .. } => json!({ "unreadable_arguments": raw }),
        }
    }
}

/// Stored data of a response that later requests may refer to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ResponseNote {
    /// Id of the response.
    pub(super) id: Uuid,
    /// The response it followed.
    pub(super) previous: Option<Uuid>,
    /// Input of the client.
    pub(super) input: Vec<Message>,
    /// Output, once complete.
    output: Option<Message>,
}

impl ResponseNote {
    pub(super) fn new(id: Uuid, previous: Option<Uuid>, input: Vec<Message>) -> Self {
        Self {
            id,
            previous,
            input,
            output: None,
        }
    }

    /// Stores it with its output.
    pub(super) async fn remember(
        mut self,
        gateway: &Gateway,
        admitted: &Admitted,
        text: &str,
        calls: &[ClientCall],
    ) -> Result<(), ToolError> {
        let text = (!text.is_empty()).then(|| ReplyBlock::text(text));
        let calls = calls.iter().map(|call| {
            ReplyBlock::Call(ToolCall {
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                // Provider data such as signatures is kept in the handover, not in what clients may
                // see.
                opaque: None,
            })
        });
        let content = text.into_iter().chain(calls).collect();
        self.output = Some(Message::Assistant { content });
        put(gateway, admitted, self.id, &self).await
    }
}

/// The conversation up to a referenced response.
pub(super) async fn before(
    gateway: &Gateway,
    admitted: &Admitted,
    id: Uuid,
) -> Result<Option<Vec<Message>>, ToolError> {
    let mut notes = Vec::new();
    let mut next = Some(id);
    while let Some(id) = next {
        let note = get::<ResponseNote>(gateway, admitted, id).await?;
        // An expired or overlong chain cannot be continued: half a conversation would be a
        // different one.
        let Some(note) = note.filter(|_| notes.len() < MAX_CHAIN) else {
            return Ok(None);
        };
        next = note.previous;
        notes.push(note);
    }
    let oldest_first = notes.into_iter().rev();
    let messages = oldest_first.flat_map(|note| note.input.into_iter().chain(note.output));
    Ok(Some(messages.collect()))
}

/// The part of an earlier response referred to by an item id.
pub(super) async fn item(
    gateway: &Gateway,
    admitted: &Admitted,
    id: &str,
) -> Result<Option<ReplyBlock>, ToolError> {
    let call = id.strip_prefix("fc_").or_else(|| id.strip_prefix("ctc_"));
    if let Some(of) = call.map(|rest| format!("call_{rest}")) {
        let Some((handover, number)) = named(&of) else {
            return Ok(None);
        };
        let handover = get::<Handover>(gateway, admitted, handover).await?;
        let call = handover.and_then(|handover| handover.calls().get(number).cloned());
        return Ok(call.map(|call| ReplyBlock::Call(ToolCall { id: of, ..call })));
    }
    let Some(of) = id
        .strip_prefix("msg_")
        .and_then(|id| Uuid::try_parse(id).ok())
    else {
        return Ok(None);
    };
    let note = get::<ResponseNote>(gateway, admitted, of).await?;
    Ok(note.and_then(|note| match note.output {
        Some(Message::Assistant { content }) => content
            .into_iter()
            .find(|block| matches!(block, ReplyBlock::Text { .. })),
        _ => None,
    }))
}

async fn put<T: Serialize>(
    gateway: &Gateway,
    admitted: &Admitted,
    id: Uuid,
    what: &T,
) -> Result<(), ToolError> {
    let body = serde_json::to_string(what).map_err(|e| ToolError::internal(e.to_string()))?;
    // Bound to the caller: another token cannot continue the conversation by guessing an id.
    let (caller, now) = (admitted.caller.key(), gateway.clock.now());
    let put = gateway.store.continuations().put(id, &caller, &body, now);
    put.await.map_err(|e| Refusal::from(e).0)
}

async fn get<T: DeserializeOwned>(
    gateway: &Gateway,
    admitted: &Admitted,
    id: Uuid,
) -> Result<Option<T>, ToolError> {
    let caller = admitted.caller.key();
    let body = gateway.store.continuations().get(id, &caller).await;
    let body = body.map_err(|e| Refusal::from(e).0)?;
    // A record of another version counts as expired.
    Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
}

/// At most 40 characters, the limit of some clients and providers.
fn id_of(of: Uuid, number: usize) -> String {
    format!("call_{}_{number}", of.simple())
}

/// What an id refers to, if the gateway issued it.
fn named(id: &str) -> Option<(Uuid, usize)> {
    let (of, number) = id.strip_prefix("call_")?.split_once('_')?;
    Some((Uuid::try_parse(of).ok()?, number.parse().ok()?))
}

/// Stores what a turn hands over, and assigns ids to its calls.
pub(super) async fn remember(
    gateway: &Gateway,
    admitted: &Admitted,
    handover: &Handover,
) -> Result<Vec<ClientCall>, ToolError> {
    let id: Uuid = gateway.ids.next();
    // Stored before the ids are given out, so that a client never holds an id that leads nowhere.
    put(gateway, admitted, id, handover).await?;
    let calls = handover.calls().iter().enumerate();
    let calls = calls.map(|(number, call)| ClientCall {
        id: id_of(id, number),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    });
    Ok(calls.collect())
}

/// Replaces calls given to the client by the stored exchange. Calls that are no longer stored stay
/// as the client sent them.
pub(super) async fn restore(
    gateway: &Gateway,
    admitted: &Admitted,
    prompt: &mut Prompt,
) -> Result<(), ToolError> {
    let mut restored = Vec::with_capacity(prompt.messages.len());
    let mut messages = std::mem::take(&mut prompt.messages).into_iter().peekable();
    while let Some(message) = messages.next() {
        let Some(id) = continues(&message) else {
            restored.push(message);
            continue;
        };
        let Some(handover) = get::<Handover>(gateway, admitted, id).await? else {
            restored.push(message);
            continue;
        };
        let results = messages.next_if(|next| matches!(next, Message::Tool { .. }));
        // What the agent read before the handover still influences the continued conversation.
        prompt.client.taint.absorb(&handover.taint);
        restored.extend(handover.joined(numbered(id, results)));
    }
    prompt.messages = restored;
    Ok(())
}

/// The stored exchange that the calls of a reply refer to.
fn continues(message: &Message) -> Option<Uuid> {
    let Message::Assistant { content } = message else {
        return None;
    };
    content.iter().find_map(|block| match block {
        ReplyBlock::Call(call) => Some(named(&call.id)?.0),
        _ => None,
    })
}

/// The client's results by call number; the last one counts if there are several.
fn numbered(of: Uuid, results: Option<Message>) -> Vec<(usize, ToolResult)> {
    let Some(Message::Tool { results }) = results else {
        return Vec::new();
    };
    let numbered = results.into_iter().filter_map(|result| {
        let (id, number) = named(&result.id)?;
        (id == of).then_some((number, result))
    });
    let numbered: BTreeMap<usize, ToolResult> = numbered.collect();
    numbered.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continuation_ids_are_unique_and_short_enough() {
        let of = Uuid::from_u128(u128::MAX);
        let id = id_of(of, 99);
        assert!(id.len() <= 40, "{id}");
        assert_eq!(named(&id), Some((of, 99)));
        for foreign in ["call_abc", "call_x_1", "toolu_01", "", "call_", "call__0"] {
            assert_eq!(named(foreign), None, "{foreign}");
        }
    }
}
