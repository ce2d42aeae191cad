//! The text of documents, extracted once and cached for a while, since a reader pages through it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use manyhands_core::{ErrorCode, ToolError};
use manyhands_hands::documents::{self, DocumentError, DocumentKind, DocumentLimits, DocumentText};
use manyhands_store::StoreError;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The largest document, in bytes: it is in memory while it is read.
pub const MOST: u64 = 64 * 1024 * 1024;
/// The most documents read at once.
const READERS: usize = 2;
/// The most bytes of cached text.
const KEPT: usize = 16 * 1024 * 1024;

/// The text of a document.
#[derive(Debug, Clone)]
pub struct Extracted {
    /// The kind of document.
    pub kind: DocumentKind,
    /// Its text.
    pub text: Bytes,
}

/// Extracts documents. Cheap to clone.
#[derive(Clone)]
pub struct Documents {
    places: Arc<Semaphore>,
    /// The last ones by content hash, newest last.
    kept: Arc<Mutex<VecDeque<(String, Extracted)>>>,
}

impl Default for Documents {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(READERS)),
            kept: Arc::default(),
        }
    }
}

impl Documents {
    /// The text of the document with this hash, whose bytes come from `pieces`. `html` says that it
    /// is a web page.
    pub async fn read(
        &self,
        sha256: &str,
        html: bool,
        pieces: BoxStream<'static, Result<Bytes, StoreError>>,
        cancel: &CancellationToken,
    ) -> Result<Extracted, ToolError> {
        let key = format!("{sha256}{}", if html { " html" } else { "" });
        if let Some(known) = self.known(&key) {
            return Ok(known);
        }
        let place = self.places.clone().acquire_owned().await;
        let place = place.map_err(|e| ToolError::internal(e.to_string()))?;
        // Another reader may have extracted it while this one waited.
        if let Some(known) = self.known(&key) {
            return Ok(known);
        }
        let all = pieces.try_fold(BytesMut::new(), |mut all, piece| async move {
            all.extend_from_slice(&piece);
            Ok(all)
        });
        let all = all.await?;
        let cancel = cancel.child_token();
        // If the caller goes away, the extraction stops and frees its slot.
        let stop = cancel.clone().drop_guard();
        let done = tokio::task::spawn_blocking(move || {
            let read = match html {
                true => Ok(documents::read_html(&all, DocumentLimits::default())),
                false => {
                    documents::read(&all, DocumentLimits::default(), &|| cancel.is_cancelled())
                }
            };
            // Freed by the job, which keeps running if the caller goes away.
            drop(place);
            read
        });
        // A panic of a parser, fed with untrusted files, must not take the gateway down.
        let done = done.await.unwrap_or_else(|error| {
            tracing::error!(event = "document_parser_panicked", %error, "internal error (a bug in manyhands) while reading a document");
            Err(DocumentError::Damaged("it could not be read".to_owned()))
        });
        stop.disarm();
        let DocumentText { kind, text } = done.map_err(|error| refusal(&error))?;
        let extracted = Extracted {
            kind,
            text: Bytes::from(text),
        };
        self.cache(key, &extracted);
        Ok(extracted)
    }

    fn known(&self, key: &str) -> Option<Extracted> {
        let kept = self.kept.lock().expect("no panic while held");
        let found = kept.iter().find(|(known, _)| known == key);
        found.map(|(_, extracted)| extracted.clone())
    }

    fn cache(&self, key: String, extracted: &Extracted) {
        let mut kept = self.kept.lock().expect("no panic while held");
        kept.push_back((key, extracted.clone()));
        let mut size: usize = kept.iter().map(|(_, one)| one.text.len()).sum();
        while size > KEPT
            && let Some((_, oldest)) = kept.pop_front()
        {
            size -= oldest.text.len();
        }
    }
}

fn refusal(error: &DocumentError) -> ToolError {
    let code = match error {
        DocumentError::Cancelled => ErrorCode::Cancelled,
        _ => ErrorCode::Failed,
    };
    ToolError::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;

    #[tokio::test]
    async fn a_document_is_parsed_once_and_the_oldest_is_evicted() {
        let documents = Documents::default();
        let cancel = CancellationToken::new();
        let page = |text: &str| {
            let piece = Bytes::from(format!("<p>{text}</p>"));
            stream::iter([Ok(piece)]).boxed()
        };
        let first = documents
            .read("a", true, page("one"), &cancel)
            .await
            .unwrap();
        assert_eq!(
            (first.kind, &first.text[..]),
            (DocumentKind::Html, &b"one"[..])
        );
        let again = documents
            .read("a", true, page("another"), &cancel)
            .await
            .unwrap();
        assert_eq!(again.text, first.text, "by its hash");
        let huge = Extracted {
            kind: DocumentKind::Pdf,
            text: Bytes::from(vec![b'x'; KEPT]),
        };
        documents.cache("b".to_owned(), &huge);
        assert!(documents.known("a html").is_none() && documents.known("b").is_some());
        let error = documents
            .read("c", false, page("x"), &cancel)
            .await
            .unwrap_err();
        assert!(error.message.contains("not a document"), "{error}");
    }
}
