//! A file that arrives in pieces, across several attempts.
//!
//! Its part is a hidden file beside the destination: locked while a writer appends to it, kept
//! when the writer disconnects, and found again by its name.

use std::fs::File;

use cap_std::fs::Dir;
use rustix::fs::{
    AtFlags, FlockOperation, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, flock, fstat, fsync,
    openat, renameat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::meta::{EntryKind, Meta, kind_of};
use super::pending::{commit_lock, make_newer_than, stat_if_there, sync_dir};
use super::sweep::Temporary;
use super::write::Destination;
use super::{Jail, JailError};
use crate::rel_path::RelPath;

/// Attempts to lock a part that may vanish between open and lock.
const TRIES: usize = 100;

/// Permissions of a newly created file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFile {
    /// Readable by its owner only.
    Private,
    /// The umask decides; an existing file keeps its owner where we may set it.
    Ordinary,
}

/// A partial file. The destination is unchanged until [`commit`](Self::commit). Dropped before
/// that, a named part stays for resumption and an unnamed one is removed.
#[derive(Debug)]
pub struct PartFile {
    dir: Dir,
    /// The destination.
    path: RelPath,
    part: String,
    temporary: Option<Temporary>,
    new: NewFile,
    file: File,
    on_drop: OnDrop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDrop {
    Keep,
    Remove,
    Placed,
}

impl Jail {
    /// Starts a file that will be at `path`, or resumes the existing part named `part`; other parts
    /// of the same file are removed. The name is [`PART_PREFIX`](crate::PART_PREFIX), one word for the file, a dash,
    /// and one for its content. [`JailError::Exists`] means that another writer holds the part.
    pub fn begin_part(
        &self,
        path: &RelPath,
        part: Option<&str>,
        new: NewFile,
    ) -> Result<PartFile, JailError> {
        let Destination { dir, path, old } = self.destination(path)?;
        let mode = match (new, &old) {
            (NewFile::Ordinary, None) => 0o666,
            // A private file's new content must not be readable by others, not even for a moment.
            _ => 0o600,
        };
        let Some(part) = part else {
            let temporary = Temporary::claim();
            let name = temporary.name().to_owned();
            let opened = open(&dir, &name, mode);
            if opened.is_err() {
                temporary.forget();
            }
            let file = opened?;
            // An earlier process may have had our process id and left a file of this name.
            file.set_len(0)?;
            return Ok(PartFile {
                file,
                part: name,
                temporary: Some(temporary),
                on_drop: OnDrop::Remove,
                dir,
                path,
                new,
            });
        };
        remove_others(&dir, part)?;
        Ok(PartFile {
            file: open(&dir, part, mode)?,
            part: part.to_owned(),
            temporary: None,
            on_drop: OnDrop::Keep,
            dir,
            path,
            new,
        })
    }
}

impl PartFile {
    /// The data received so far, open for reading and appending.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// The path of the part itself, from the jail's root.
    pub fn place(&self) -> String {
        match self.path.parent() {
            Some(parent) if !parent.is_root() => format!("{parent}/{}", self.part),
            _ => self.part.clone(),
        }
    }

    /// Moves the file to its destination and returns once it is on disk. An existing file's mode is
    /// kept. On failure the part is removed.
    pub fn commit(mut self) -> Result<Meta, JailError> {
        self.on_drop = OnDrop::Remove;
        let name = self.path.file_name().unwrap_or_default();
        fsync(&self.file)?;
        {
            let mut newest = commit_lock(&self.dir)?;
            if let Some(old) = stat_if_there(&self.dir, name)? {
                if kind_of(&old) == EntryKind::Dir {
                    return Err(JailError::IsDirectory);
                }
                self.copy_owner_and_mode(&old)?;
            }
            make_newer_than(&self.file, &mut newest)?;
            renameat(&self.dir, &self.part, &self.dir, name)?;
        }
        self.on_drop = OnDrop::Placed;
        match sync_dir(&self.dir) {
            // A directory that may be written but not read cannot be synced.
            Err(JailError::Io(error)) if error.kind() == std::io::ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
        Ok(Meta::of(&self.file)?)
    }

    /// Removes the part.
    pub fn discard(mut self) {
        self.on_drop = OnDrop::Remove;
    }

    fn copy_owner_and_mode(&self, old: &Stat) -> Result<(), JailError> {
        let ours = fstat(&self.file)?;
        if self.new == NewFile::Ordinary && (ours.st_uid, ours.st_gid) != (old.st_uid, old.st_gid) {
            let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            // Only root may change a file's owner; a group we belong to, we may set.
            let _ = fchown(&self.file, Some(owner), Some(group))
                .or_else(|_| fchown(&self.file, None, Some(group)));
        }
        Ok(fchmod(
            &self.file,
            Mode::from_raw_mode(old.st_mode & 0o777),
        )?)
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if self.on_drop == OnDrop::Remove {
            let _ = unlinkat(&self.dir, &self.part, AtFlags::empty());
        }
        if let Some(temporary) = &self.temporary {
            temporary.forget();
        }
    }
}

/// Opens or creates the part called `name` and locks it.
fn open(dir: &Dir, name: &str, mode: u32) -> Result<File, JailError> {
    let flags = OFlags::RDWR
        | OFlags::CREATE
        | OFlags::CLOEXEC
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY;
    for _ in 0..TRIES {
        let file = File::from(openat(dir, name, flags, Mode::from_raw_mode(mode))?);
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(JailError::Exists),
            locked => locked?,
        }
        let ours = fstat(&file)?;
        // The previous lock holder may have committed the part between our open and our lock.
        let there = stat_if_there(dir, name)?;
        if there.is_none_or(|there| (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)) {
            continue;
        }
        if kind_of(&ours) == EntryKind::File
            && ours.st_uid == geteuid().as_raw()
            && ours.st_nlink == 1
        {
            return Ok(file);
        }
        // Another user could change it after this check.
        unlinkat(dir, name, AtFlags::empty())?;
    }
    Err(JailError::Exists)
}

/// Removes unlocked parts of the same file.
fn remove_others(dir: &Dir, part: &str) -> Result<(), JailError> {
    let Some((same_file, _)) = part.rsplit_once('-') else {
        return Ok(());
    };
    for entry in dir.entries()? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        let sibling = name
            .rsplit_once('-')
            .is_some_and(|(file, _)| file == same_file);
        if sibling && name != part && open(dir, name, 0o600).is_ok() {
            let _ = unlinkat(dir, name, AtFlags::empty());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Read, Seek, SeekFrom, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    const PART: &str = ".mh-part-aa-11";

    fn jail() -> (TempDir, Jail) {
        let dir = tempfile::tempdir().unwrap();
        let jail = Jail::open(dir.path()).unwrap();
        (dir, jail)
    }

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    fn names(dir: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(dir.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn begin(jail: &Jail, to: &str, part: &str) -> Result<PartFile, JailError> {
        jail.begin_part(&path(to), Some(part), NewFile::Private)
    }

    #[test]
    fn a_part_is_stored_resumed_and_committed() {
        let (dir, jail) = jail();
        fs::write(dir.path().join("f"), "old").unwrap();
        fs::set_permissions(dir.path().join("f"), PermissionsExt::from_mode(0o640)).unwrap();
        let mut part = begin(&jail, "f", PART).unwrap();
        assert_eq!(part.place(), PART);
        part.file().write_all(b"half").unwrap();
        drop(part);
        assert_eq!(names(&dir), [PART, "f"]);
        assert_eq!(jail.list(&RelPath::root()).unwrap().unwrap().len(), 1);
        let mut part = begin(&jail, "f", PART).unwrap();
        let mut so_far = String::new();
        part.file().read_to_string(&mut so_far).unwrap();
        assert_eq!(so_far, "half");
        part.file().seek(SeekFrom::End(0)).unwrap();
        part.file().write_all(b" whole").unwrap();
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"old");
        part.commit().unwrap();
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"half whole");
        let mode = fs::metadata(dir.path().join("f"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(names(&dir), ["f"]);
    }

    #[test]
    fn parts_of_another_state_of_the_file_go_and_others_stay() {
        let (dir, jail) = jail();
        for other in [".mh-part-aa-22", ".mh-part-bb-22"] {
            fs::write(dir.path().join(other), "x").unwrap();
        }
        let busy = begin(&jail, "f", ".mh-part-aa-33").unwrap();
        assert_eq!(names(&dir), [".mh-part-aa-33", ".mh-part-bb-22"]);
        let part = begin(&jail, "f", PART).unwrap();
        assert_eq!(names(&dir), [PART, ".mh-part-aa-33", ".mh-part-bb-22"]);
        let twice = begin(&jail, "f", PART);
        assert!(
            matches!(twice, Err(JailError::Exists)),
            "one adds at a time"
        );
        part.discard();
        drop(busy);
        assert_eq!(names(&dir), [".mh-part-aa-33", ".mh-part-bb-22"]);
    }

    #[test]
    fn a_part_without_a_name_leaves_nothing_behind() {
        let (dir, jail) = jail();
        for commit in [false, true] {
            let mut part = jail
                .begin_part(&path("d/f"), None, NewFile::Private)
                .unwrap();
            part.file().write_all(b"x").unwrap();
            assert!(part.place().starts_with("d/.mh-tmp-"));
            if commit {
                part.commit().unwrap();
            }
        }
        assert_eq!(names(&dir), ["d"]);
        let left = fs::read_dir(dir.path().join("d")).unwrap().count();
        assert_eq!(
            (left, fs::read(dir.path().join("d/f")).unwrap()),
            (1, b"x".to_vec())
        );
    }

    #[test]
    fn a_planted_part_is_not_written_through() {
        let (dir, jail) = jail();
        let outside = tempfile::tempdir().unwrap();
        let canary = outside.path().join("canary");
        fs::write(&canary, "canary").unwrap();
        symlink(&canary, dir.path().join(PART)).unwrap();
        assert!(begin(&jail, "f", PART).is_err());
        fs::remove_file(dir.path().join(PART)).unwrap();
        fs::hard_link(&canary, dir.path().join(PART)).unwrap();
        let mut part = begin(&jail, "f", PART).unwrap();
        part.file().write_all(b"overwritten").unwrap();
        part.commit().unwrap();
        assert_eq!(fs::read(&canary).unwrap(), b"canary");
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"overwritten");
        symlink(outside.path(), dir.path().join("out")).unwrap();
        assert!(matches!(
            begin(&jail, "out/f", PART),
            Err(JailError::Escapes)
        ));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_that_came_meanwhile_stays_and_the_part_goes() {
        let (dir, jail) = jail();
        let part = begin(&jail, "f", PART).unwrap();
        fs::create_dir(dir.path().join("f")).unwrap();
        assert!(matches!(part.commit(), Err(JailError::IsDirectory)));
        assert_eq!(names(&dir), ["f"]);
    }
}
