//! Unpacks an archive that anybody may have made.
//!
//! Nothing in it is trusted: not its names, types, sizes or counts. Everything is written beneath the handle of an empty
//! folder, within the free disk space, and compared with the manifest at its end.

use std::fs::{File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use flate2::read::GzDecoder;
use manyhands_guard::{Jail, JailError, RelPath, WriteMode};
use tar::{Archive, Entry, EntryType};

use super::manifest::{FORMAT, Hashing, MANIFEST, Manifest, Member, PRODUCT};
use super::{PLAIN, TREES};
use crate::error::StoreError;
use crate::home::{AUDIT_HEAD, BLOBS, DATABASE};

/// Maximum size of the manifest, which is held in memory.
const MAX_MANIFEST: u64 = 256 << 20;
/// Maximum number of files; each is held in memory until the manifest arrives.
const MAX_MEMBERS: usize = 1_000_000;
/// Maximum length of a name. A long one is a member of its own, which is held in memory.
const MAX_NAME: u64 = 8 << 10;
/// Disk space that stays free, so that a restore does not stop other programs.
const RESERVE: u64 = 64 << 20;
/// Maximum number of zeros after the last member.
const MAX_PADDING: u64 = 1 << 20;
/// The folder whose files may be executable.
const PROGRAMS: &str = "host/";

pub(super) fn damaged_backup(why: impl std::fmt::Display) -> StoreError {
    StoreError::corrupt(format!(
        "the backup is damaged or incomplete ({why}): use another; nothing was changed"
    ))
}

/// Unpacks into `target`, an empty folder, and checks every byte against the manifest.
pub(super) fn unpack(file: File, target: &Path) -> Result<Manifest, StoreError> {
    let failed = |error: &io::Error| StoreError::io(format!("writing {}", target.display()), error);
    let jail = Jail::open(target).map_err(|error| failed(&error))?;
    let blobs = RelPath::parse(BLOBS).map_err(damaged_backup)?;
    jail.create_dirs(&blobs).map_err(write_failed)?;
    let mut unpacking = Unpacking {
        free_space: free_space(target)?,
        jail,
        members: Vec::new(),
        manifest: None,
        long_name: None,
    };
    let mut archive = Archive::new(GzDecoder::new(io::BufReader::new(file)));
    // Raw, because otherwise the reader holds names and attributes of any length in memory.
    for entry in archive.entries().map_err(damaged_backup)?.raw(true) {
        unpacking.take(entry.map_err(damaged_backup)?)?;
    }
    check_padding(archive.into_inner())?;
    let manifest = unpacking.manifest;
    let manifest = manifest.ok_or_else(|| damaged_backup("it has no manifest"))?;
    check(&manifest, unpacking.members)?;
    Ok(manifest)
}

/// Number of bytes that may be written.
fn free_space(target: &Path) -> Result<u64, StoreError> {
    let found = rustix::fs::statvfs(target).map_err(|errno| {
        StoreError::io(format!("looking at {}", target.display()), &errno.into())
    })?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    Ok(free.saturating_sub(RESERVE))
}

/// Reads to the end: what follows the archive holds the checksum of the whole stream.
fn check_padding(mut rest: impl Read) -> Result<(), StoreError> {
    let mut buffer = [0; 4096];
    let mut seen = 0;
    loop {
        let count = rest.read(&mut buffer).map_err(damaged_backup)?;
        if count == 0 {
            return Ok(());
        }
        seen += count as u64;
        if seen > MAX_PADDING || buffer[..count].iter().any(|byte| *byte != 0) {
            return Err(damaged_backup("something follows its end"));
        }
    }
}

struct Unpacking {
    jail: Jail,
    free_space: u64,
    members: Vec<Member>,
    manifest: Option<Manifest>,
    /// The name of the next member, if it did not fit into its header.
    long_name: Option<Vec<u8>>,
}

impl Unpacking {
    fn take<R: Read>(&mut self, mut entry: Entry<'_, R>) -> Result<(), StoreError> {
        if self.manifest.is_some() {
            return Err(damaged_backup("something follows the manifest"));
        }
        match entry.header().entry_type() {
            EntryType::GNULongName if self.long_name.is_none() => {
                self.long_name = Some(long_name(&mut entry)?);
                return Ok(());
            }
            EntryType::Regular => {}
            _ => {
                return Err(damaged_backup(
                    "it holds something that is not a regular file",
                ));
            }
        }
        let name = match self.long_name.take() {
            Some(name) => name,
            None => entry.path_bytes().into_owned(),
        };
        let path = member_path(&name)?;
        if path.as_str() == MANIFEST {
            self.manifest = Some(read_manifest(&mut entry)?);
            return Ok(());
        }
        self.member(&path, entry)
    }

    fn member<R: Read>(&mut self, path: &RelPath, entry: Entry<'_, R>) -> Result<(), StoreError> {
        if self.members.len() == MAX_MEMBERS {
            return Err(damaged_backup(format!(
                "it holds more than {MAX_MEMBERS} files"
            )));
        }
        // Before anything of it is written: a few compressed bytes can expand to any size.
        self.free_space = self
            .free_space
            .checked_sub(entry.size())
            .ok_or(StoreError::Full)?;
        let mode = entry.header().mode().unwrap_or(0);
        // Nothing else in a home is ever executed, so no archive gets to mark it as executable.
        let runs = mode & 0o100 != 0 && path.as_str().starts_with(PROGRAMS);
        let mut content = Hashing::new(entry);
        let mut pending = self.jail.begin_write(path).map_err(write_failed)?;
        pending.copy_from(&mut content).map_err(write_failed)?;
        match pending.commit(WriteMode::CreateNew) {
            Ok(_) => self.members.push(content.member(path.as_str())),
            // A second member of the same name would replace one that was hashed already.
            Err(JailError::Exists) => return Err(damaged_backup(format!("{path} is in it twice"))),
            Err(error) => return Err(write_failed(error)),
        }
        if runs {
            let file = self.jail.open_file(path).map_err(write_failed)?.0;
            file.set_permissions(Permissions::from_mode(0o700))
                .map_err(|error| StoreError::io(format!("writing {path}"), &error))?;
        }
        Ok(())
    }
}

fn long_name(entry: &mut impl Read) -> Result<Vec<u8>, StoreError> {
    let mut name = Vec::new();
    let read = entry.take(MAX_NAME + 1).read_to_end(&mut name);
    read.map_err(damaged_backup)?;
    if name.len() as u64 > MAX_NAME {
        return Err(damaged_backup("a name in it is too long"));
    }
    if name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

/// The path of a member, if it belongs in a home.
fn member_path(name: &[u8]) -> Result<RelPath, StoreError> {
    let text = std::str::from_utf8(name).map_err(damaged_backup)?;
    let path = RelPath::parse(text)
        .map_err(|error| damaged_backup(format!("the path {text:?} {error}")))?;
    let first = path.components().next().unwrap_or_default();
    let alone = path.as_str() == first;
    let known = match alone {
        true => [DATABASE, AUDIT_HEAD, MANIFEST].contains(&first) || PLAIN.contains(&first),
        false => TREES.iter().any(|tree| {
            text.strip_prefix(tree)
                .is_some_and(|rest| rest.starts_with('/'))
        }),
    };
    // The exact spelling too: two spellings of one path could pass for two members.
    if path.as_str() != text || !known {
        return Err(damaged_backup(format!(
            "{text:?} does not belong in a home"
        )));
    }
    Ok(path)
}

fn read_manifest<R: Read>(entry: &mut Entry<'_, R>) -> Result<Manifest, StoreError> {
    if entry.size() > MAX_MANIFEST {
        return Err(damaged_backup("its manifest is too large"));
    }
    let mut text = Vec::new();
    entry.read_to_end(&mut text).map_err(damaged_backup)?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(damaged_backup)?;
    if manifest.product != PRODUCT {
        return Err(damaged_backup("it is not a backup of a manyhands home"));
    }
    if manifest.format != FORMAT {
        return Err(StoreError::Schema {
            what: format!(
                "the backup was made by version {:?} in a form this version does not know: use that version",
                manifest.product_version
            ),
        });
    }
    Ok(manifest)
}

/// Blames the disk if it is full, otherwise the backup.
fn write_failed(error: JailError) -> StoreError {
    match error {
        JailError::Full => StoreError::Full,
        other => damaged_backup(other),
    }
}

fn check(manifest: &Manifest, mut found: Vec<Member>) -> Result<(), StoreError> {
    let mut claimed = manifest.members.clone();
    claimed.sort();
    found.sort();
    if let Some((_, wrong)) = claimed
        .iter()
        .zip(&found)
        .find(|(claim, found)| claim != found)
    {
        return Err(damaged_backup(format!(
            "{} is not as the manifest says",
            wrong.path
        )));
    }
    if claimed.len() != found.len() {
        return Err(damaged_backup("files are missing or too many"));
    }
    if !found.iter().any(|member| member.path == DATABASE) {
        return Err(damaged_backup("it has no database"));
    }
    Ok(())
}
