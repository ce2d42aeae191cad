//! Resolving and opening paths on this machine.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use manyhands_guard::RelPath;
use rustix::fs::OFlags;

use super::LocalError;
use crate::root::{LocateError, Root};

/// The files of this machine that a node may reach. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LocalFiles {
    workspace: PathBuf,
    jail: Option<Root>,
    /// The meaning of `~`.
    home: Option<PathBuf>,
}

/// A requested path: absolute, and beneath the jail if there is one.
#[derive(Debug, Clone)]
pub(super) struct LocalPath {
    pub(super) path: PathBuf,
    /// The path from the jail's root, through which it is opened.
    pub(super) relative: Option<RelPath>,
}

impl LocalFiles {
    /// Files with relative paths starting at `workspace`. With a `jail`, which must exist and contain the
    /// workspace, nothing outside is reachable.
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
        // `Root` would create a folder named by a typing error.
        if !std::fs::metadata(jail).map_err(failed(jail))?.is_dir() {
            return Err(LocalError::NotDirectory(jail.to_owned()));
        }
        let root = Root::open(jail).map_err(failed(jail))?;
        // Resolved before the comparison: a link inside the jail may lead out of it.
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

    /// Sets the meaning of `~`, which is confined by a jail like any path.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home.filter(|home| home.is_absolute());
        self
    }

    /// The absolute path of `requested`, without `.` and doubled slashes. `..` stays, since only the system knows
    /// what is above a link. `~` is the home of this machine's user; a file of that name is `./~`.
    /// `parameter` is the name of the path's parameter.
    pub fn absolute(
        &self,
        parameter: &'static str,
        requested: &str,
    ) -> Result<PathBuf, LocalError> {
        let below = match requested.strip_prefix('~') {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        let joined = match below {
            None => self.workspace.join(requested),
            Some(below) => {
                let home = self.home.as_ref().ok_or_else(|| {
                    let message = "~ cannot be used: the node's user has no home folder; write the path in full";
                    LocalError::parameter(parameter, message)
                })?;
                // `~//etc` is below the home too, not an absolute path.
                home.join(below.trim_start_matches('/'))
            }
        };
        Ok(joined.components().collect())
    }

    /// The start of relative paths.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The jail's folder, if the owner set one.
    pub fn jail(&self) -> Option<&Path> {
        self.jail.as_ref().map(Root::folder)
    }

    pub(super) fn root(&self) -> Option<&Root> {
        self.jail.as_ref()
    }

    pub(super) fn locate(&self, requested: &str) -> Result<LocalPath, LocalError> {
        // The system would silently cut the path there.
        if requested.contains('\0') {
            return Err(LocalError::parameter("path", "contains a NUL character"));
        }
        let path = self.absolute("path", requested)?;
        let Some(root) = &self.jail else {
            return Ok(LocalPath {
                path,
                relative: None,
            });
        };
        let spelled = path
            .to_str()
            .ok_or_else(|| LocalError::parameter("path", "is not UTF-8"))?;
        match root.locate(spelled) {
            Ok(kept) => Ok(LocalPath {
                path,
                relative: Some(kept),
            }),
            Err(LocateError::Outside { .. }) => Err(LocalError::Outside {
                path,
                jail: root.folder().to_owned(),
            }),
            Err(LocateError::Path(error)) => Err(LocalError::parameter("path", error.to_string())),
        }
    }

    /// Opens a regular file and returns its size. Nothing else is ever opened: a fifo would block, and some
    /// devices react to being opened.
    pub(super) fn open_file(&self, location: &LocalPath) -> Result<(File, u64), LocalError> {
        match (&self.jail, &location.relative) {
            (Some(root), Some(kept)) => root
                .jail()
                .open_file(kept)
                .map(|(file, meta)| (file, meta.size))
                .map_err(|error| LocalError::jailed(&location.path, root.folder(), error)),
            _ => {
                // Before opening: opening a device may already have an effect.
                let there = std::fs::metadata(&location.path)
                    .map_err(|error| LocalError::io(&location.path, error))?;
                regular(&location.path, &there)?;
                open_regular(&location.path)
            }
        }
    }
}

/// Opens what was a regular file a moment ago, and verifies that it still is.
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
