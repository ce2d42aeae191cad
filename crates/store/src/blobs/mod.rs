//! Blobs: bytes under a path, behind `object_store`'s trait, so that a folder and S3
//! are the same to everybody above.

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

/// Where blobs are kept.
pub type Blobs = Arc<dyn BlobStore>;

/// A store of blobs that can be narrowed to a part of them.
pub trait BlobStore: ObjectStore {
    /// The same store without any blob that is not below `prefix`: every other path is refused,
    /// however it came about. Paths stay as they are, from the root down.
    fn scoped(&self, prefix: &Path) -> object_store::Result<Blobs>;
}

/// The path of a blob. Names are kept letter for letter; what no store could keep, or
/// what climbs, is refused with words for a caller.
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

/// What lies beneath a general refusal: a full disk must not look like any other.
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
    fn refusals_of_a_store_become_ours() {
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
    fn paths_are_kept_letter_for_letter_or_refused() {
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
