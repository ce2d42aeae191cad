//! Pictures in messages, named by the number of their message and their index in it.

use manyhands_core::ToolError;
use manyhands_llm::{Block, Message};
use schemars::JsonSchema;
use serde::Serialize;

use crate::key::SessionKey;
use crate::runtime::Minds;

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

/// A stored picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The bytes, in base64.
    pub data: String,
    /// MIME type, as declared by its source.
    pub mime_type: String,
}

/// The pictures of a message, in order: MIME type and data.
fn pictures(message: &Message) -> Vec<(&str, &str)> {
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

impl Minds {
    /// A picture of a message that is part of the session.
    pub async fn picture(
        &self,
        key: &SessionKey,
        seq: i64,
        index: usize,
    ) -> Result<Picture, ToolError> {
        let session = self.get(key).await?;
        let sessions = &self.inner.sessions;
        let entry = sessions.entries(&session.id, seq, 1).await?;
        // The next entry is returned if `seq` itself was undone.
        let entry = entry.into_iter().find(|entry| entry.seq == seq);
        let message = entry.and_then(|entry| serde_json::from_str::<Message>(&entry.body).ok());
        let found = message.as_ref().and_then(|message| {
            let picture = pictures(message).get(index).copied();
            picture.map(|(mime_type, data)| Picture {
                data: data.to_owned(),
                mime_type: mime_type.to_owned(),
            })
        });
        found.ok_or_else(|| {
            let name = PictureRef::name(seq, index);
            ToolError::not_found(format!("there is no picture {name} in {key}"))
                .hint("session.history lists them as `ref`")
        })
    }
}
