//! Names of pictures: the number of their message and their index in it.

use manyhands_llm::{Block, Message};
use schemars::JsonSchema;
use serde::Serialize;

/// A picture in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PictureRef {
    /// `SEQ/INDEX`: the name to request it by.
    #[serde(rename = "ref")]
    pub reference: String,
    /// MIME type.
    pub mime_type: String,
}

impl PictureRef {
    /// The name of picture `index` of message `seq`.
    pub fn name(seq: i64, index: usize) -> String {
        format!("{seq}/{index}")
    }
}

/// The pictures of a message, in order: MIME type and data.
pub(crate) fn pictures(message: &Message) -> Vec<(&str, &str)> {
    fn of(content: &[Block]) -> impl Iterator<Item = (&str, &str)> {
        content.iter().filter_map(|block| match block {
            Block::Image { data, mime_type } => Some((mime_type.as_str(), data.as_str())),
            Block::Text { .. } => None,
        })
    }
    match message {
        Message::User { content } => of(content).collect(),
        Message::Tool { results } => results.iter().flat_map(|one| of(&one.content)).collect(),
        Message::Assistant { .. } => Vec::new(),
    }
}

/// References to the pictures of a message.
pub(crate) fn refs(seq: i64, message: &Message) -> Vec<PictureRef> {
    let all = pictures(message).into_iter().enumerate();
    let one = |(index, (mime_type, _)): (usize, (&str, _))| PictureRef {
        reference: PictureRef::name(seq, index),
        mime_type: mime_type.to_owned(),
    };
    all.map(one).collect()
}

/// References to the pictures of each result of a message of tool results.
pub fn result_pictures(seq: i64, message: &Message) -> Vec<Vec<PictureRef>> {
    let Message::Tool { results } = message else {
        return Vec::new();
    };
    let is_picture = |block: &&Block| matches!(block, Block::Image { .. });
    let mut all = refs(seq, message).into_iter();
    results
        .iter()
        .map(|one| {
            let count = one.content.iter().filter(is_picture).count();
            all.by_ref().take(count).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_llm::ToolResult;

    #[test]
    fn pictures_are_numbered_over_all_results_of_a_message() {
        let picture = || Block::Image {
            data: String::new(),
            mime_type: "image/png".to_owned(),
        };
        let result = |content| ToolResult {
            id: "c".to_owned(),
            name: "look".to_owned(),
            content,
            is_error: false,
        };
        let results = vec![
            result(vec![Block::text("a"), picture()]),
            result(vec![Block::text("b")]),
            result(vec![picture(), picture()]),
        ];
        let message = Message::Tool { results };
        let names: Vec<Vec<String>> = result_pictures(7, &message)
            .into_iter()
            .map(|refs| refs.into_iter().map(|one| one.reference).collect())
            .collect();
        assert_eq!(names, [vec!["7/0"], vec![], vec!["7/1", "7/2"]]);
        assert!(result_pictures(7, &Message::user("x")).is_empty());
    }
}
