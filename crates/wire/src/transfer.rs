//! Messages between gateway and nodes about file transfers.
//!
//! Fields and events marked as additions are used only if both sides announced the addition `transfer.checked`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of unacknowledged bytes of one transfer: 16 chunks.
// Bounds what a slow receiver makes the gateway hold in memory, and still keeps a fast connection busy.
pub const WINDOW: u64 = 16 * crate::CHUNK as u64;

/// Asks a node for a file; answered by `transfer.meta`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferSendEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// The file.
    pub path: String,
}

/// Metadata of the requested file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferMetaParams {
    /// The transfer.
    pub transfer_id: u32,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// MIME type, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Version, which changes with the file; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it cannot be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Offers a file to a node; answered by `transfer.accept`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferReceiveEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// The destination.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// MIME type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Identifies the file's version and destination; a partial file stored under the same key is resumed. 64 hex digits; an
    /// addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

/// Whether a node accepts the offered file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferAcceptParams {
    /// The transfer.
    pub transfer_id: u32,
    /// Number of bytes it already has; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Tells the sending node to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferStartEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// Position to start at, if not the beginning; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// Acknowledges received bytes: from the receiving node to the gateway, and from the gateway to the sending node. An
/// addition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferAckEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// Number of bytes received, from the beginning of the file.
    pub bytes: u64,
}

/// The sending node has sent everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferCompleteParams {
    /// The transfer.
    pub transfer_id: u32,
    /// SHA-256 of the complete file, 64 hex digits; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Why not everything was sent; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Tells the receiving node that everything was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferEndEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// Expected SHA-256 of the complete file, 64 hex digits; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// The file was stored, or not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferDoneParams {
    /// The transfer.
    pub transfer_id: u32,
    /// The size of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// Why it was not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Cancels a transfer on a node. An addition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferCancelEvent {
    /// The transfer.
    pub transfer_id: u32,
    /// Whether the partial file is kept, to be resumed later.
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
