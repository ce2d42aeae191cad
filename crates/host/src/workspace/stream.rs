//! Streaming access to workspace files that are too large for memory.

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use manyhands_core::{AgentId, ToolError};
use object_store::path::Path as Key;
use object_store::{Attribute, AttributeValue, MultipartUpload, ObjectMeta, PutMultipartOptions};

use super::{Author, Workspace, WorkspacePath, content_type, get};

/// The size of an uploaded part: the minimum of every object store.
const PART: usize = 5 * 1024 * 1024;

/// A file opened for reading.
pub struct OpenFile {
    /// Its size in bytes.
    pub size: u64,
    /// Changes when the file does.
    pub version: String,
    /// Its bytes as a stream.
    pub bytes: BoxStream<'static, object_store::Result<Bytes>>,
    place: WorkspacePath,
}

impl OpenFile {
    /// The error for bytes that could not be read.
    pub fn failed(&self, error: object_store::Error) -> ToolError {
        self.place.failed(error)
    }
}

/// A file being written; invisible until it is finished.
pub struct Upload {
    workspace: Workspace,
    author: Author,
    upload: Box<dyn MultipartUpload>,
    part: BytesMut,
    place: WorkspacePath,
}

impl Workspace {
    /// Opens a file for reading, the agent's own or a global skill.
    pub async fn open(&self, agent: &AgentId, path: &str) -> Result<OpenFile, ToolError> {
        let place = WorkspacePath::of_file(&self.tree(agent), path)?;
        let own = place.own_key()?;
        let mut found = get(&self.own(&place)?, &place, &own).await?;
        if found.is_none()
            && let Some(global) = place.global_key()?
        {
            found = get(&self.skills(&place)?, &place, &global).await?;
        }
        let Some(found) = found else {
            return Err(self.no_file(&place).await);
        };
        let ObjectMeta {
            size,
            e_tag,
            last_modified,
            ..
        } = found.meta.clone();
        let version = e_tag.unwrap_or_else(|| last_modified.timestamp_millis().to_string());
        Ok(OpenFile {
            size,
            version,
            bytes: found.into_stream(),
            place,
        })
    }

    /// Starts writing a file of the agent's own tree.
    pub async fn begin(
        &self,
        agent: &AgentId,
        path: &str,
        mime: Option<&str>,
        author: Author,
    ) -> Result<Upload, ToolError> {
        let place = WorkspacePath::of_file(&self.tree(agent), path)?;
        // Checked before the first byte arrives, not after the last.
        if let Some(refusal) = self.not_a_file(&place).await {
            return Err(refusal);
        }
        let key: Key = place.own_key()?;
        let kind = mime.unwrap_or_else(|| content_type(&place.path)).to_owned();
        let mut options = PutMultipartOptions::default();
        let kind = AttributeValue::from(kind);
        options.attributes.insert(Attribute::ContentType, kind);
        let opened = self.own(&place)?.put_multipart_opts(&key, options).await;
        Ok(Upload {
            workspace: self.clone(),
            author,
            upload: opened.map_err(|e| place.failed(e))?,
            part: BytesMut::new(),
            place,
        })
    }
}

impl Upload {
    /// Adds bytes.
    pub async fn put(&mut self, bytes: Bytes) -> Result<(), ToolError> {
        self.part.extend_from_slice(&bytes);
        if self.part.len() < PART {
            return Ok(());
        }
        self.put_part().await
    }

    async fn put_part(&mut self) -> Result<(), ToolError> {
        let part = self.part.split().freeze();
        let put = self.upload.put_part(part.into()).await;
        put.map_err(|e| self.place.failed(e))
    }

    /// Moves the file into place.
    pub async fn finish(mut self) -> Result<(), ToolError> {
        if !self.part.is_empty() {
            self.put_part().await?;
        }
        // Marked before the file becomes visible, and cleared only after: see `Workspace::write`.
        self.workspace.mark(&self.place, &self.author).await?;
        let finished = self.upload.complete().await;
        finished.map_err(|e| self.place.failed(e))?;
        self.workspace.unmark(&self.place, &self.author).await;
        Ok(())
    }

    /// Discards the upload.
    pub async fn abandon(mut self) {
        if let Err(error) = self.upload.abort().await {
            tracing::warn!(event = "partial_upload_cleanup_failed", %error, "failed to remove a partial upload");
        }
    }
}
