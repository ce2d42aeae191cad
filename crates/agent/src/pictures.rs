//! Pictures in messages.

use manyhands_core::ToolError;
use manyhands_llm::Message;

use crate::key::SessionKey;
use crate::picture_ref::{PictureRef, pictures};
use crate::runtime::Minds;

/// A stored picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The bytes, in base64.
    pub data: String,
    /// MIME type, as declared by its source.
    pub mime_type: String,
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
