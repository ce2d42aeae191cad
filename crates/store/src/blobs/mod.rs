//! Blobs: bytes under a path, behind the trait of `object_store`, so that the code above works with a folder and with S3.

mod disk;
#[cfg(test)]
mod disk_tests;
mod listing;
mod metered;
#[cfg(test)]
mod metered_tests;
#[cfg(test)]
mod planted_tests;
mod trees;
mod upload;

use std::sync::Arc;

use manyhands_guard::{JailError, PathError, RelPath};
use object_store::ObjectStore;
use object_store::path::Path;

pub use disk::Disk;
pub(crate) use metered::Metered;

use crate::error::{StoreError, is_full};

/// A shared store of blobs.
pub type Blobs = Arc<dyn BlobStore>;

/// A store of blobs that can be restricted to a subtree.
pub trait BlobStore: ObjectStore {
    /// The same store restricted to blobs below `prefix`; other paths are refused. Paths still start at the root.
    fn scoped(&self, prefix: &Path) -> object_store::Result<Blobs>;
}

/// Parses the path of a blob. Names are kept exactly; what no store could keep, or what leads upwards, is refused with a
/// message for the caller.
pub fn blob_path(text: &str) -> Result<Path, StoreError> {
    let refused = |why: String| StoreError::invalid(format!("the path {why}"));
    let path = RelPath::parse(text).map_err(|error| refused(error.to_string()))?;
    Path::parse(path.as_str()).map_err(|error| refused(error.to_string()))
}

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error;
        match error {
            Error::NotFound { path, .. } => Self::NotFound { what: path },
            Error::AlreadyExists { path, .. } => Self::Exists { what: path },
            Error::Precondition { path, .. } => Self::Changed { what: path },
            Error::PermissionDenied { path, source } => Self::Escape {
                what: format!("{path}: {source}"),
            },
            Error::InvalidPath { source } => Self::invalid(source.to_string()),
            other => by_cause(&other),
        }
    }
}

/// Finds the cause of a general error: a full disk must not look like any other failure.
fn by_cause(error: &object_store::Error) -> StoreError {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = next {
        if let Some(path) = current.downcast_ref::<PathError>() {
            return StoreError::invalid(format!("the path {path}"));
        }
        if let Some(refused) = metered::refused(current) {
            return refused;
        }
        let jail_full = matches!(current.downcast_ref(), Some(JailError::Full));
        if jail_full || current.downcast_ref().is_some_and(is_full) {
            return StoreError::Full;
        }
        next = current.source();
    }
    StoreError::Blobs(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_blob_store_are_translated() {
        let generic = |source: Box<dyn std::error::Error + Send + Sync>| {
            StoreError::from(object_store::Error::Generic { store: "t", source })
        };
        assert_eq!(generic(Box::new(JailError::Full)), StoreError::Full);
        let enospc = std::io::Error::from_raw_os_error(28);
        assert_eq!(generic(Box::new(JailError::Io(enospc))), StoreError::Full);
        assert!(matches!(generic("odd".into()), StoreError::Blobs(_)));
        let changed = object_store::Error::Precondition {
            path: "a".to_owned(),
            source: "".into(),
        };
        let what = "a".to_owned();
        assert_eq!(StoreError::from(changed), StoreError::Changed { what });
    }

    #[test]
    fn paths_are_kept_exactly_or_refused() {
        for good in ["a b", "ü/ö.md", "50%", "a..b", "#1?", "a%20b", "[x]{y}"] {
            assert_eq!(blob_path(good).unwrap().as_ref(), good);
        }
        for bad in ["../a", "a/../b", "/etc/passwd", "a\nb", "a\0"] {
            assert!(
                matches!(blob_path(bad), Err(StoreError::Invalid { .. })),
                "{bad}"
            );
        }
    }
}
