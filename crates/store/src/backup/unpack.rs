//! Reading an archive that anybody may have made.
//!
//! Nothing in it is believed: not its names, kinds, sizes or counts. Everything is written beneath
//! the handle of an empty folder, within the room there is on the disk, and compared with the
//! manifest at its end.

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

/// A manifest larger than this is not ours: it is held in memory.
const MAX_MANIFEST: u64 = 256 << 20;
/// More files than any home has; each takes a place in memory until the manifest comes.
const MAX_MEMBERS: usize = 1_000_000;
/// A name that does not fit a header comes as a member of its own, which is held in memory.
const MAX_NAME: u64 = 8 << 10;
/// What is left free on the disk, so that a restore does not stop everybody else there.
const RESERVE: u64 = 64 << 20;
/// After its last member an archive is filled up with zeros, not with anything else.
const MAX_PADDING: u64 = 1 << 20;
/// The folder whose files may be programs.
const PROGRAMS: &str = "host/";

pub(super) fn spoiled(why: impl std::fmt::Display) -> StoreError {
    StoreError::corrupt(format!(
        "the backup is damaged or incomplete ({why}): use another; nothing was changed"
    ))
}

/// Unpacks into `target`, an empty folder, and checks every byte against the manifest.
pub(super) fn unpack(file: File, target: &Path) -> Result<Manifest, StoreError> {
    let failed = |error: &io::Error| StoreError::io(format!("writing {}", target.display()), error);
    let jail = Jail::open(target).map_err(|error| failed(&error))?;
    let blobs = RelPath::parse(BLOBS).map_err(spoiled)?;
    jail.create_dirs(&blobs).map_err(write_failed)?;
    let mut unpacking = Unpacking {
        room: room(target)?,
        jail,
        members: Vec::new(),
        manifest: None,
        long_name: None,
    };
    let mut archive = Archive::new(GzDecoder::new(io::BufReader::new(file)));
    // Raw, because otherwise the reader holds names and attributes of any length in memory.
    for entry in archive.entries().map_err(spoiled)?.raw(true) {
        unpacking.take(entry.map_err(spoiled)?)?;
    }
    check_padding(archive.into_inner())?;
    let manifest = unpacking.manifest;
    let manifest = manifest.ok_or_else(|| spoiled("it has no manifest"))?;
    check(&manifest, unpacking.members)?;
    Ok(manifest)
}

/// How many bytes may be written.
fn room(target: &Path) -> Result<u64, StoreError> {
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
        let count = rest.read(&mut buffer).map_err(spoiled)?;
        if count == 0 {
            return Ok(());
        }
        seen += count as u64;
        if seen > MAX_PADDING || buffer[..count].iter().any(|byte| *byte != 0) {
            return Err(spoiled("something follows its end"));
        }
    }
}

struct Unpacking {
    jail: Jail,
    room: u64,
    members: Vec<Member>,
    manifest: Option<Manifest>,
    /// The name of the next member, where it did not fit its header.
    long_name: Option<Vec<u8>>,
}

impl Unpacking {
    fn take<R: Read>(&mut self, mut entry: Entry<'_, R>) -> Result<(), StoreError> {
        if self.manifest.is_some() {
            return Err(spoiled("something follows the manifest"));
        }
        match entry.header().entry_type() {
            EntryType::GNULongName if self.long_name.is_none() => {
                self.long_name = Some(long_name(&mut entry)?);
                return Ok(());
            }
            EntryType::Regular => {}
            _ => return Err(spoiled("it holds something that is not a regular file")),
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
            return Err(spoiled(format!("it holds more than {MAX_MEMBERS} files")));
        }
        // Before anything of it is written: what was packed small may be large.
        self.room = self
            .room
            .checked_sub(entry.size())
            .ok_or(StoreError::Full)?;
        let mode = entry.header().mode().unwrap_or(0);
        let runs = mode & 0o100 != 0 && path.as_str().starts_with(PROGRAMS);
        let mut content = Hashing::new(entry);
        let mut pending = self.jail.begin_write(path).map_err(write_failed)?;
        pending.copy_from(&mut content).map_err(write_failed)?;
        match pending.commit(WriteMode::CreateNew) {
            Ok(_) => self.members.push(content.member(path.as_str())),
            Err(JailError::Exists) => return Err(spoiled(format!("{path} is in it twice"))),
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
    read.map_err(spoiled)?;
    if name.len() as u64 > MAX_NAME {
        return Err(spoiled("a name in it is too long"));
    }
    if name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

/// Where a member goes: a plain path of a file that belongs in a home.
fn member_path(name: &[u8]) -> Result<RelPath, StoreError> {
    let text = std::str::from_utf8(name).map_err(spoiled)?;
    let path =
        RelPath::parse(text).map_err(|error| spoiled(format!("the path {text:?} {error}")))?;
    let first = path.components().next().unwrap_or_default();
    let alone = path.as_str() == first;
    let known = match alone {
        true => [DATABASE, AUDIT_HEAD, MANIFEST].contains(&first) || PLAIN.contains(&first),
        false => TREES.iter().any(|tree| {
            text.strip_prefix(tree)
                .is_some_and(|rest| rest.starts_with('/'))
        }),
    };
    if path.as_str() != text || !known {
        return Err(spoiled(format!("{text:?} does not belong in a home")));
    }
    Ok(path)
}

fn read_manifest<R: Read>(entry: &mut Entry<'_, R>) -> Result<Manifest, StoreError> {
    if entry.size() > MAX_MANIFEST {
        return Err(spoiled("its manifest is too large"));
    }
    let mut text = Vec::new();
    entry.read_to_end(&mut text).map_err(spoiled)?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(spoiled)?;
    if manifest.product != PRODUCT {
        return Err(spoiled("it is not a backup of a manyhands home"));
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

/// A failure while unpacking is the disk's when it is full, and else the backup's.
fn write_failed(error: JailError) -> StoreError {
    match error {
        JailError::Full => StoreError::Full,
        other => spoiled(other),
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
        return Err(spoiled(format!(
            "{} is not as the manifest says",
            wrong.path
        )));
    }
    if claimed.len() != found.len() {
        return Err(spoiled("files are missing or too many"));
    }
    if !found.iter().any(|member| member.path == DATABASE) {
        return Err(spoiled("it has no database"));
    }
    Ok(())
}
