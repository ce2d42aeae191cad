//! Where a path leads on this machine, and opening what is there.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use manyhands_guard::RelPath;
use rustix::fs::OFlags;

use super::LocalError;
use crate::root::{LocateError, Root};

/// The files of this machine, as far as its owner lets a node reach. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LocalFiles {
    workspace: PathBuf,
    jail: Option<Root>,
    /// What `~` stands for.
    home: Option<PathBuf>,
}

/// A path that was asked for: absolute, and beneath the jail where there is one.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// The way from the jail's root, which is how it is opened then.
    pub(super) kept: Option<RelPath>,
}

impl LocalFiles {
    /// Files with relative paths starting at `workspace`. With a `jail`, which must be there
    /// and hold the workspace, nothing outside of it is reached.
    pub fn open(workspace: &Path, jail: Option<&Path>) -> Result<Self, LocalError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| LocalError::io(&path, source)
        };
        let Some(jail) = jail else {
            return Ok(Self {
                workspace: std::path::absolute(workspace).map_err(failed(workspace))?,
                jail: None,
                home: None,
            });
        };
        // `Root` would make a folder that a typing error named.
        if !std::fs::metadata(jail).map_err(failed(jail))?.is_dir() {
            return Err(LocalError::NotDirectory(jail.to_owned()));
        }
        let root = Root::open(jail).map_err(failed(jail))?;
        let workspace = workspace.canonicalize().map_err(failed(workspace))?;
        if !workspace.starts_with(root.folder()) {
            return Err(LocalError::Outside {
                path: workspace,
                jail: root.folder().to_owned(),
            });
        }
        Ok(Self {
            workspace,
            jail: Some(root),
            home: None,
        })
    }

    /// The same, with `~` standing for this folder. It is reached like any other: not out of a jail.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home.filter(|home| home.is_absolute());
        self
    }

    /// The absolute path that somebody means, without `.` and doubled slashes. `..` stays, since only
    /// the system knows what is above a link. `~` alone is the home of this machine's user; a file that
    /// is really called that is `./~`. `parameter` is what the path is called where it was given.
    pub fn absolute(&self, parameter: &'static str, asked: &str) -> Result<PathBuf, LocalError> {
        let below = match asked.strip_prefix('~') {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        let joined = match below {
            None => self.workspace.join(asked),
            Some(below) => {
                let home = self.home.as_ref().ok_or_else(|| {
                    let message = "~ cannot be used: the node's user has no home folder; write the path in full";
                    LocalError::parameter(parameter, message)
                })?;
                // `~//etc` is below the home too, and not a path of its own.
                home.join(below.trim_start_matches('/'))
            }
        };
        Ok(joined.components().collect())
    }

    /// Where relative paths start.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The folder nothing leaves, if the owner set one.
    pub fn jail(&self) -> Option<&Path> {
        self.jail.as_ref().map(Root::folder)
    }

    pub(super) fn root(&self) -> Option<&Root> {
        self.jail.as_ref()
    }

    pub(super) fn locate(&self, asked: &str) -> Result<Place, LocalError> {
        if asked.contains('\0') {
            return Err(LocalError::parameter("path", "contains a NUL character"));
        }
        let path = self.absolute("path", asked)?;
        let Some(root) = &self.jail else {
            return Ok(Place { path, kept: None });
        };
        let spelled = path
            .to_str()
            .ok_or_else(|| LocalError::parameter("path", "is not UTF-8"))?;
        match root.locate(spelled) {
            Ok(kept) => Ok(Place {
                path,
                kept: Some(kept),
            }),
            Err(LocateError::Outside { .. }) => Err(LocalError::Outside {
                path,
                jail: root.folder().to_owned(),
            }),
            Err(LocateError::Path(error)) => Err(LocalError::parameter("path", error.to_string())),
        }
    }

    /// Opens a regular file and says how large it is. Nothing else is ever opened: a fifo would
    /// wait for a writer, and some devices act on being opened.
    pub(super) fn open_file(&self, place: &Place) -> Result<(File, u64), LocalError> {
        match (&self.jail, &place.kept) {
            (Some(root), Some(kept)) => root
                .jail()
                .open_file(kept)
                .map(|(file, meta)| (file, meta.size))
                .map_err(|error| LocalError::jailed(&place.path, root.folder(), error)),
            _ => {
                let there = std::fs::metadata(&place.path)
                    .map_err(|error| LocalError::io(&place.path, error))?;
                regular(&place.path, &there)?;
                open_regular(&place.path)
            }
        }
    }
}

/// Opens what was a regular file a moment ago, and makes sure that it still is.
pub(super) fn open_regular(path: &Path) -> Result<(File, u64), LocalError> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .and_then(|file| file.metadata().map(|meta| (file, meta)));
    let (file, meta) = opened.map_err(|error| LocalError::io(path, error))?;
    regular(path, &meta)?;
    Ok((file, meta.len()))
}

pub(super) fn regular(path: &Path, meta: &std::fs::Metadata) -> Result<(), LocalError> {
    if meta.is_dir() {
        return Err(LocalError::IsDirectory(path.to_owned()));
    }
    if !meta.is_file() {
        return Err(LocalError::NotRegular(path.to_owned()));
    }
    Ok(())
}
