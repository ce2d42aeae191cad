//! Estimates of a request's size.

use crate::message::{Arguments, Block, Message, ReplyBlock};
use crate::request::ModelRequest;

/// Tokens per image: about the most that providers charge.
const IMAGE: u64 = 1_600;
/// Overhead per message, in bytes.
const FRAME: usize = 16;

/// Estimated input tokens of `request`: one per four bytes plus 20 %, and a fixed number per image.
pub fn input_tokens(request: &ModelRequest) -> u64 {
    let mut weight = Weight::default();
    for part in &request.system {
        weight.bytes += part.text.len();
    }
    for tool in &request.tools {
        weight.bytes += tool.name.len() + tool.description.len() + FRAME;
        weight.bytes += tool.input_schema.to_string().len();
    }
    if let Some(output) = &request.output {
        weight.bytes += output.schema.to_string().len();
    }
    for message in &request.messages {
        weight.message(message);
    }
    weight.tokens()
}

/// Estimated input tokens of `messages`.
pub fn conversation_tokens<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    let mut weight = Weight::default();
    for message in messages {
        weight.message(message);
    }
    weight.tokens()
}

#[derive(Default)]
struct Weight {
    bytes: usize,
    images: u64,
}

impl Weight {
    fn message(&mut self, message: &Message) {
        self.bytes += FRAME;
        match message {
            Message::User { content } => self.blocks(content),
            Message::Assistant { content } => {
                content.iter().for_each(|block| self.reply_block(block))
            }
            Message::Tool { results } => {
                for result in results {
                    self.bytes += FRAME + result.id.len();
                    self.blocks(&result.content);
                }
            }
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Text { text } => self.bytes += text.len(),
                Block::Image { .. } => self.images += 1,
            }
        }
    }

    fn reply_block(&mut self, block: &ReplyBlock) {
        self.bytes += match block {
            ReplyBlock::Text { text, .. } => text.len(),
            ReplyBlock::Thinking { text, opaque } => {
                let opaque_length = opaque.as_ref().map_or(0, |o| o.data.to_string().len());
                text.len() + opaque_length
            }
            ReplyBlock::Call(call) => {
                let arguments = match &call.arguments {
                    Arguments::Broken { raw, .. } => raw.len(),
                    named @ Arguments::Named(_) => named.as_object().to_string().len(),
                };
                call.id.len() + call.name.len() + arguments + FRAME
            }
        };
    }

    fn tokens(&self) -> u64 {
        let bytes = self.bytes as u64;
        (bytes * 3).div_ceil(10) + self.images * IMAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_are_a_token_and_a_fifth_goes_on_top() {
        let request = ModelRequest {
            messages: vec![Message::user("x".repeat(4_000 - FRAME))],
            ..ModelRequest::default()
        };
        assert_eq!(input_tokens(&request), 1_200);
        let image = Block::Image {
            data: "A".repeat(1_000_000),
            mime_type: "image/png".into(),
        };
        let request = ModelRequest {
            messages: vec![Message::User {
                content: vec![image],
            }],
            ..ModelRequest::default()
        };
        assert_eq!(input_tokens(&request), IMAGE + 5);
    }
}
