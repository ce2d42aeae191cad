//! What gateway and nodes tell each other about a file on its way.
//!
//! Fields and events that are marked as additions are used only where both ends announced
//! the addition `transfer.checked`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many bytes of one transfer may be on their way before the end they lead to has told
/// that it took some: 16 chunks.
pub const WINDOW: u64 = 16 * crate::CHUNK as u64;

/// Asks a node for a file; it answers with `transfer.meta`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferSendEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// The file.
    pub path: String,
}

/// What the file is that a node was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferMetaParams {
    /// The transfer.
    pub transfer_id: u32,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What kind of file it is, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Changes when the file does; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it cannot be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Offers a node a file; it answers with `transfer.accept`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferReceiveEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// Where it goes.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// What kind of file it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Names the file in its present state and where it goes; a part that was kept under the
    /// same name is taken up again. 64 hex digits; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

/// Whether a node takes the file it was offered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferAcceptParams {
    /// The transfer.
    pub transfer_id: u32,
    /// How many bytes of it are there already; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Tells the sending node to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferStartEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// Where to begin, when not at the beginning; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// How much of a transfer has been taken: from the receiving node to the gateway, from the
/// gateway to the sending node. An addition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferAckEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// Bytes of the file that were taken, counted from its beginning.
    pub bytes: u64,
}

/// The sending node has sent everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferCompleteParams {
    /// The transfer.
    pub transfer_id: u32,
    /// The SHA-256 of the whole file, 64 hex digits; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Why it could not send everything; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Tells the receiving node that everything has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferEndEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// The SHA-256 that the whole file must have, 64 hex digits; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// The file is in its place, or not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferDoneParams {
    /// The transfer.
    pub transfer_id: u32,
    /// The size of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// Why it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Tells a node that a transfer is off. An addition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferCancelEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// Whether the part that has come is kept, to be taken up again.
    #[serde(default)]
    pub keep: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_str, to_string};

    #[test]
    fn without_the_additions_the_text_is_that_of_the_first_version() {
        let meta = TransferMetaParams {
            transfer_id: 7,
            size: Some(3),
            mime: Some("text/plain".into()),
            ..Default::default()
        };
        assert_eq!(
            to_string(&meta).unwrap(),
            r#"{"transferId":7,"size":3,"mime":"text/plain"}"#
        );
        let start = TransferStartEvent {
            transfer_id: 7,
            offset: None,
        };
        assert_eq!(to_string(&start).unwrap(), r#"{"transferId":7}"#);
        let done: TransferDoneParams = from_str(r#"{"transferId":7,"bytesWritten":3}"#).unwrap();
        assert_eq!(done.bytes_written, Some(3));
    }
}
