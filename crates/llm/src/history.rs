//! Makes a conversation valid for every provider: each call has exactly one result right after it,
//! and no message is empty. Calls left open by a crash or a cut are closed here, visibly.

use std::collections::BTreeSet;

use crate::message::{Block, Message, ReplyBlock, ToolCall, ToolResult};

const OPEN: &str = "interrupted, outcome unknown";
const GO_ON: &str = "(the conversation goes on)";

/// `messages` with calls and results paired, without empty messages, with alternating roles,
/// starting and ending with the user's side.
pub(crate) fn tidy(messages: &[Message]) -> Vec<Message> {
    let mut tidied: Vec<Message> = Vec::new();
    let mut known = BTreeSet::new();
    let mut messages = messages.iter().peekable();
    while let Some(message) = messages.next() {
        match message {
            Message::User { content } => add_user(&mut tidied, sent_blocks(content)),
            Message::Assistant { content } => {
                // Results belong to the message right before them; providers reject any other
                // order.
                let results = match messages.peek() {
                    Some(Message::Tool { results }) => {
                        messages.next();
                        results.as_slice()
                    }
                    _ => &[],
                };
                add_reply(&mut tidied, &mut known, content, results);
            }
            // Results whose calls were cut from the history become plain text: providers reject them.
            Message::Tool { results } => {
                let orphans = results.iter().flat_map(as_text);
                add_user(&mut tidied, orphans.collect());
            }
        }
    }
    // A conversation must begin with the user; compaction may have cut that message.
    if matches!(tidied.first(), Some(Message::Assistant { .. })) {
        tidied.insert(0, Message::user(GO_ON));
    }
    // Some providers continue a final assistant message instead of answering it.
    if matches!(tidied.last(), None | Some(Message::Assistant { .. })) {
        tidied.push(Message::user(GO_ON));
    }
    tidied
}

fn sent_blocks(content: &[Block]) -> Vec<Block> {
    let full = |block: &&Block| !matches!(block, Block::Text { text } if text.trim().is_empty());
    content.iter().filter(full).cloned().collect()
}

fn add_user(tidied: &mut Vec<Message>, mut more: Vec<Block>) {
    if more.is_empty() {
        return;
    }
    match tidied.last_mut() {
        // Providers require that roles alternate.
        Some(Message::User { content }) => content.append(&mut more),
        _ => tidied.push(Message::User { content: more }),
    }
}

fn add_reply(
    tidied: &mut Vec<Message>,
    known: &mut BTreeSet<String>,
    content: &[ReplyBlock],
    results: &[ToolResult],
) {
    let full = |block: &&ReplyBlock| match block {
        ReplyBlock::Text { text, opaque } => opaque.is_some() || !text.trim().is_empty(),
        ReplyBlock::Thinking { .. } | ReplyBlock::Call(_) => true,
    };
    let mut reply_blocks: Vec<ReplyBlock> = content.iter().filter(full).cloned().collect();
    // A message of thoughts alone is rejected by providers, so it is dropped.
    let has_text = reply_blocks
        .iter()
        .any(|block| !matches!(block, ReplyBlock::Thinking { .. }));
    let mut left: Vec<&ToolResult> = results.iter().collect();
    let mut paired = Vec::new();
    for block in &mut reply_blocks {
        if let ReplyBlock::Call(call) = block {
            paired.push(pair(call, &mut left, known));
        }
    }
    if has_text {
        match tidied.last_mut() {
            Some(Message::Assistant { content }) => content.append(&mut reply_blocks),
            _ => tidied.push(Message::Assistant {
                content: reply_blocks,
            }),
        }
    }
    if !paired.is_empty() {
        tidied.push(Message::Tool { results: paired });
    }
    add_user(tidied, left.into_iter().flat_map(as_text).collect());
}

/// The result of `call`, removed from `left`. Some servers give every first call the same id; each
/// call of a conversation gets a unique one.
fn pair(
    call: &mut ToolCall,
    left: &mut Vec<&ToolResult>,
    known: &mut BTreeSet<String>,
) -> ToolResult {
    // Looked up by the original id, before the call may get another.
    let at = left.iter().position(|result| result.id == call.id);
    let mut id = call.id.clone();
    let mut number = 2;
    // Some providers reject a conversation in which two calls share an id.
    while !known.insert(id.clone()) {
        id = format!("{}_{number}", call.id);
        number += 1;
    }
    call.id.clone_from(&id);
    match at.map(|at| left.remove(at)) {
        Some(result) => ToolResult {
            id,
            ..result.clone()
        },
        // A crash left this call without a result. It must not be repeated, and the model has to
        // know.
        None => ToolResult {
            id,
            name: call.name.clone(),
            content: vec![Block::text(OPEN)],
            is_error: true,
        },
    }
}

fn as_text(result: &ToolResult) -> Vec<Block> {
    let mut blocks = vec![Block::text(format!(
        "(result of an earlier call of {})",
        result.name
    ))];
    blocks.extend(sent_blocks(&result.content));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Arguments;

    fn call(id: &str) -> ReplyBlock {
        ReplyBlock::Call(ToolCall {
            id: id.into(),
            name: "t".into(),
            arguments: Arguments::parse(""),
            opaque: None,
        })
    }

    fn result(id: &str) -> ToolResult {
        ToolResult {
            id: id.into(),
            name: "t".into(),
            content: vec![Block::text("done")],
            is_error: false,
        }
    }

    /// One letter a message: u, a, and t with its ids.
    fn shape(messages: &[Message]) -> String {
        let letters = messages.iter().map(|message| match message {
            Message::User { .. } => "u".to_owned(),
            Message::Assistant { .. } => "a".to_owned(),
            Message::Tool { results } => {
                let ids: Vec<&str> = results.iter().map(|result| result.id.as_str()).collect();
                format!("t({})", ids.join(","))
            }
        });
        letters.collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(messages: &[Message], expect: &str) {
        assert_eq!(shape(&tidy(messages)), expect);
    }

    #[test]
    fn every_history_becomes_one_that_can_be_sent() {
        let reply_blocks = |content| Message::Assistant { content };
        let tool = |results| Message::Tool { results };
        let user = || Message::user("hi");
        check(&[], "u");
        check(&[user()], "u");
        check(&[user(), user()], "u");
        check(&[Message::assistant("a")], "u a u");
        check(&[user(), Message::user(" "), reply_blocks(vec![])], "u");
        check(
            &[user(), reply_blocks(vec![call("1"), call("2")])],
            "u a t(1,2)",
        );
        check(
            &[
                user(),
                reply_blocks(vec![call("1"), call("2")]),
                tool(vec![result("2")]),
            ],
            "u a t(1,2)",
        );
        check(&[user(), tool(vec![result("9")])], "u");
        check(
            &[
                user(),
                reply_blocks(vec![call("1")]),
                tool(vec![result("1"), result("9")]),
                user(),
            ],
            "u a t(1) u",
        );
        check(
            &[
                user(),
                reply_blocks(vec![call("1")]),
                user(),
                tool(vec![result("1")]),
            ],
            "u a t(1) u",
        );
    }

    #[test]
    fn repeated_call_ids_become_unique() {
        let reply_blocks = |content| Message::Assistant { content };
        let tool = |results| Message::Tool { results };
        let twice = [
            Message::user("hi"),
            reply_blocks(vec![call("c"), call("c")]),
            tool(vec![result("c"), result("c")]),
            reply_blocks(vec![call("c")]),
            tool(vec![result("c")]),
        ];
        check(&twice, "u a t(c,c_2) a t(c_3)");
    }

    #[test]
    fn a_call_without_result_is_marked_interrupted() {
        let reply_blocks = Message::Assistant {
            content: vec![call("1")],
        };
        let tidied = tidy(&[Message::user("hi"), reply_blocks]);
        let Some(Message::Tool { results }) = tidied.last() else {
            panic!("{tidied:?}");
        };
        assert!(results[0].is_error);
        assert_eq!(results[0].content, [Block::text(OPEN)]);
    }
}
