//! Messages of a session, in the wire format.

use manyhands_agent::{
    CallStats, CallVerdict, PictureRef, StoredMessage, TurnFailure, TurnUsage, result_pictures,
};
use manyhands_llm::{Arguments, Block, Message, ReplyBlock};
use manyhands_wire::{
    CallOutcome, CallPicture, CallResult, ChatBlock, ChatError, ChatMessage, ChatRole, ChatUsage,
};
use serde_json::Value;

/// Converts a stored message; each tool result becomes a message of its own.
pub(super) fn chat_messages(stored: StoredMessage) -> Vec<ChatMessage> {
    let usage = stored.usage.as_ref().map(chat_usage);
    let mut all = messages(stored);
    if let Some(last) = all.last_mut() {
        last.usage = usage;
    }
    all
}

fn messages(stored: StoredMessage) -> Vec<ChatMessage> {
    let StoredMessage {
        seq,
        at,
        message,
        made,
        note,
        ..
    } = stored;
    let mut made = made.into_iter();
    let refs = result_pictures(seq, &message);
    let mut refs = refs.into_iter();
    let dated = |message: ChatMessage| ChatMessage {
        seq: Some(seq),
        timestamp: Some(at.0),
        ..message
    };
    let mut pictures = 0;
    let mut blocks = |content: Vec<Block>| -> Vec<ChatBlock> {
        let block = |block| match block {
            Block::Text { text } => ChatBlock::Text { text },
            Block::Image { mime_type, .. } => {
                let reference = Some(PictureRef::name(seq, pictures));
                pictures += 1;
                ChatBlock::Image {
                    mime_type,
                    reference,
                }
            }
        };
        content.into_iter().map(block).collect()
    };
    match message {
        Message::User { content } => {
            vec![dated(ChatMessage::new(ChatRole::User, blocks(content)))]
        }
        Message::Assistant { content } => {
            let content = content.into_iter().filter_map(reply_block).collect();
            vec![ChatMessage {
                stopped: note.stopped.then_some(true),
                error: note.error.map(chat_error),
                ..dated(ChatMessage::new(ChatRole::Assistant, content))
            }]
        }
        Message::Tool { results } => results
            .into_iter()
            .map(|result| {
                let made = made.next().flatten();
                let pictures = refs.next().unwrap_or_default();
                ChatMessage {
                    call: call_result(made.as_ref(), result.is_error, &pictures),
                    tool_call_id: Some(result.id),
                    tool_name: Some(result.name),
                    is_error: Some(result.is_error),
                    duration_ms: made.as_ref().map(|made| made.ms),
                    audit_call: made.and_then(|made| made.call).map(|call| call.to_string()),
                    ..dated(ChatMessage::new(
                        ChatRole::ToolResult,
                        blocks(result.content),
                    ))
                }
            })
            .collect(),
    }
}

fn reply_block(block: ReplyBlock) -> Option<ChatBlock> {
    match block {
        ReplyBlock::Text { text, .. } => Some(ChatBlock::Text { text }),
        ReplyBlock::Call(call) => Some(ChatBlock::ToolCall {
            id: call.id,
            name: call.name,
            arguments: match call.arguments {
                Arguments::Named(named) => Value::Object(named),
                Arguments::Broken { raw, .. } => Value::String(raw),
            },
        }),
        // Empty where the provider keeps its reasoning to itself.
        ReplyBlock::Thinking { text, .. } if text.is_empty() => None,
        ReplyBlock::Thinking { text, .. } => Some(ChatBlock::Thinking { thinking: text }),
    }
}

/// Converts a turn's usage to its wire format.
pub(super) fn chat_usage(usage: &TurnUsage) -> ChatUsage {
    ChatUsage {
        replies: usage.replies,
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cost_micros: usage.cost_micros,
        duration_ms: usage.duration_ms,
    }
}

/// Converts how a call went to its wire format.
pub(super) fn call_result(
    stats: Option<&CallStats>,
    is_error: bool,
    pictures: &[PictureRef],
) -> CallResult {
    let picture = |one: &PictureRef| CallPicture {
        reference: one.reference.clone(),
        mime_type: one.mime_type.clone(),
    };
    let waited = stats.map(|stats| stats.waited_ms);
    CallResult {
        outcome: Some(match CallStats::verdict(stats, is_error) {
            CallVerdict::Ok => CallOutcome::Ok,
            CallVerdict::Failed => CallOutcome::Failed,
            CallVerdict::Denied => CallOutcome::Denied,
            CallVerdict::Stopped => CallOutcome::Stopped,
        }),
        exit_code: stats.and_then(|stats| stats.exit_code),
        waited_ms: waited.filter(|waited| *waited > 0),
        pictures: pictures.iter().map(picture).collect(),
        diff: stats.and_then(|stats| stats.diff.clone()),
    }
}

fn chat_error(failure: TurnFailure) -> ChatError {
    ChatError {
        code: failure.code,
        failure: failure.failure,
        message: failure.message,
        retryable: failure.retryable,
        retry_after_ms: failure.retry_after_ms,
    }
}
