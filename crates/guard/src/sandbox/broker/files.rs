//! Changes to modes, owners and times of files, applied through handles.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, UTIME_NOW, Uid,
    chmodat, chownat, fstat, open, openat2, readlink, utimensat,
};
use rustix::io::Errno;

use super::super::seccomp::FCHMODAT2;
use super::notice::{SeccompListener, SuspendedCall};

const FLAGS: i32 = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH;
/// Set-user-ID and set-group-ID.
const SET_ID: u32 = 0o6000;

/// The requested change.
#[derive(Debug)]
enum MetadataChange {
    Mode(u32),
    Owner(u32, u32),
    Times(Timestamps),
}

/// The file to change.
#[derive(Debug)]
enum ChangeTarget {
    /// The file behind a descriptor of the caller.
    Descriptor(i32),
    /// The file at a path, from the folder behind a descriptor.
    Path {
        from: i32,
        path: Vec<u8>,
        follow: bool,
    },
}

/// Applies the change that `call` requests if its target is inside `folders`.
pub(super) fn change(
    call: &SuspendedCall,
    listener: &SeccompListener,
    folders: &Folders,
) -> Result<(), Errno> {
    let (target, change) = read(call)?;
    let handle = target.open(call, folders)?;
    // Nothing is read from the caller after this point, so a reused thread id cannot matter.
    if !listener.is_valid(call) {
        return Err(Errno::SRCH);
    }
    if !folders.contains(handle.as_fd()) {
        return Err(Errno::PERM);
    }
    change.apply(&handle, folders.is_root(&handle))
}

/// Decodes a call. The caller's memory is read exactly once.
fn read(call: &SuspendedCall) -> Result<(ChangeTarget, MetadataChange), Errno> {
    let arguments = &call.arguments;
    let number = |argument: usize| arguments[argument] as i32;
    let word = |argument: usize| arguments[argument] as u32;
    let path = |from: i32, at: usize, flags: i32| {
        if flags & !FLAGS != 0 {
            return Err(Errno::INVAL);
        }
        let path = call.path(arguments[at])?;
        let follow = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
        ChangeTarget::of(from, path, follow, flags & libc::AT_EMPTY_PATH != 0)
    };
    let here = libc::AT_FDCWD;
    let owner = |at: usize| MetadataChange::Owner(word(at), word(at + 1));
    Ok(match call.number {
        libc::SYS_fchmod => (
            ChangeTarget::Descriptor(number(0)),
            MetadataChange::Mode(word(1)),
        ),
        libc::SYS_fchmodat => (path(number(0), 1, 0)?, MetadataChange::Mode(word(2))),
        FCHMODAT2 => (
            path(number(0), 1, number(3))?,
            MetadataChange::Mode(word(2)),
        ),
        libc::SYS_fchown => (ChangeTarget::Descriptor(number(0)), owner(1)),
        libc::SYS_fchownat => (path(number(0), 1, number(4))?, owner(2)),
        libc::SYS_utimensat => {
            let times = match arguments[2] {
                0 => now(),
                at => call.numbers(at).map(times)?,
            };
            let target = match arguments[1] {
                0 => ChangeTarget::Descriptor(number(0)),
                _ => path(number(0), 1, number(3))?,
            };
            (target, MetadataChange::Times(times))
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => (path(here, 0, 0)?, MetadataChange::Mode(word(1))),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chown => (path(here, 0, 0)?, owner(1)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lchown => (path(here, 0, libc::AT_SYMLINK_NOFOLLOW)?, owner(1)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utime => {
            let times = match arguments[1] {
                0 => now(),
                at => {
                    let [accessed, modified] = call.numbers(at)?;
                    times([accessed, 0, modified, 0])
                }
            };
            (path(here, 0, 0)?, MetadataChange::Times(times))
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utimes => (path(here, 0, 0)?, by_the_microsecond(call, 1)?),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat => {
            let target = match arguments[1] {
                0 => ChangeTarget::Descriptor(number(0)),
                _ => path(number(0), 1, 0)?,
            };
            (target, by_the_microsecond(call, 2)?)
        }
        _ => return Err(Errno::NOSYS),
    })
}

fn now() -> Timestamps {
    times([0, UTIME_NOW, 0, UTIME_NOW])
}

/// Seconds and nanoseconds of both times.
fn times(numbers: [i64; 4]) -> Timestamps {
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    Timestamps {
        last_access: time(numbers[0], numbers[1]),
        last_modification: time(numbers[2], numbers[3]),
    }
}

#[cfg(target_arch = "x86_64")]
fn by_the_microsecond(call: &SuspendedCall, argument: usize) -> Result<MetadataChange, Errno> {
    let at = call.arguments[argument];
    if at == 0 {
        return Ok(MetadataChange::Times(now()));
    }
    let numbers: [i64; 4] = call.numbers(at)?;
    if [numbers[1], numbers[3]]
        .iter()
        .any(|part| !(0..1_000_000).contains(part))
    {
        return Err(Errno::INVAL);
    }
    let [accessed, a, modified, m] = numbers;
    let times = times([accessed, a * 1000, modified, m * 1000]);
    Ok(MetadataChange::Times(times))
}

impl ChangeTarget {
    fn of(from: i32, path: Vec<u8>, follow: bool, may_be_empty: bool) -> Result<Self, Errno> {
        if path.is_empty() {
            let here = from == libc::AT_FDCWD;
            return match may_be_empty {
                true if here => Ok(Self::Path {
                    from,
                    path: b".".to_vec(),
                    follow,
                }),
                true => Ok(Self::Descriptor(from)),
                false => Err(Errno::NOENT),
            };
        }
        // How libc spells "the file behind this descriptor"; resolved here, it would be ours.
        let own = ["/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"];
        let descriptor = std::str::from_utf8(&path).ok().and_then(|path| {
            let number = own.iter().find_map(|own| path.strip_prefix(own))?;
            number.parse::<u16>().ok()
        });
        Ok(match descriptor.filter(|_| follow) {
            Some(number) => Self::Descriptor(number.into()),
            None => Self::Path { from, path, follow },
        })
    }

    /// Opens the target with `O_PATH`, which neither blocks nor touches the file's contents.
    fn open(&self, call: &SuspendedCall, folders: &Folders) -> Result<OwnedFd, Errno> {
        let (from, path, follow) = match self {
            Self::Descriptor(number) => return open_link(call, &format!("fd/{number}")),
            Self::Path { from, path, follow } => {
                (*from, Path::new(OsStr::from_bytes(path)), follow)
            }
        };
        let mut flags = OFlags::PATH | OFlags::CLOEXEC;
        if !follow {
            flags |= OFlags::NOFOLLOW;
        }
        let base = match from {
            _ if path.is_absolute() => None,
            libc::AT_FDCWD => Some(open_link(call, "cwd")?),
            number => Some(open_link(call, &format!("fd/{number}"))?),
        };
        let base = base.as_ref().map(|base| base.as_fd());
        lookup(base, path, flags).map_err(|error| folders.error_for(base, path, error))
    }
}

/// Resolves a path as the program would: this thread has no more rights than the program.
fn lookup(base: Option<BorrowedFd<'_>>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    // Magic links in /proc would resolve to this process.
    let resolve = ResolveFlags::NO_MAGICLINKS;
    openat2(base.unwrap_or(CWD), path, flags, Mode::empty(), resolve)
}

/// Opens a link in the caller's `/proc` folder: `cwd` or `fd/N`.
fn open_link(call: &SuspendedCall, name: &str) -> Result<OwnedFd, Errno> {
    let link = format!("/proc/{}/{name}", call.thread);
    let opened = open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    opened.map_err(|error| match error {
        Errno::NOENT => Errno::BADF,
        _ => Errno::PERM,
    })
}

/// The current path of a handle, computed by the kernel in one atomic step, so that a concurrent
/// rename cannot produce a mixed result. A deleted file keeps its last path, with a suffix.
fn location(handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let link = readlink(own_path(handle), Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(link.as_bytes())))
}

/// The path of a handle in this process's `/proc` folder.
fn own_path(handle: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// The writable files and folders of a program, as the same handles its Landlock rules use.
#[derive(Debug)]
pub(super) struct Folders(Vec<OwnedFd>);

impl Folders {
    pub(super) fn new(handles: Vec<OwnedFd>) -> Self {
        Self(handles)
    }

    /// Whether a handle is one of these or is located beneath one. Landlock prevents a program from
    /// moving or linking outside files into its folders, so whatever is located here it may change.
    pub(super) fn contains(&self, handle: BorrowedFd<'_>) -> bool {
        location(handle).is_ok_and(|place| self.places().any(|folder| place.starts_with(folder)))
    }

    /// Whether a handle is one of these folders itself.
    fn is_root(&self, handle: &OwnedFd) -> bool {
        let id = |handle: &OwnedFd| fstat(handle).map(|found| (found.st_dev, found.st_ino)).ok();
        self.0.iter().any(|folder| id(folder) == id(handle))
    }

    /// The current paths of the folders. A deleted folder is left out: its path may be reused.
    fn places(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().filter_map(|folder| {
            let there = fstat(folder).is_ok_and(|found| found.st_nlink > 0);
            there.then(|| location(folder.as_fd()).ok())?
        })
    }

    /// The error to report for a path that cannot be opened: the real one inside the folders, and
    /// always `EACCES` outside, so that the broker does not reveal what exists there.
    fn error_for(&self, base: Option<BorrowedFd<'_>>, path: &Path, error: Errno) -> Errno {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let parent = lookup(base, parent, OFlags::PATH | OFlags::CLOEXEC);
        let beneath = match parent {
            Ok(parent) => self.contains(parent.as_fd()),
            // A parent is missing. The path as written decides, unless it contains `..`.
            Err(_) if path.components().any(|part| part.as_os_str() == "..") => false,
            Err(_) => match base {
                Some(base) => self.contains(base),
                None => self.places().any(|folder| path.starts_with(folder)),
            },
        };
        if beneath { error } else { Errno::ACCESS }
    }
}

impl MetadataChange {
    /// `is_root` is set for a writable folder itself, as opposed to what it contains.
    fn apply(&self, handle: &OwnedFd, is_root: bool) -> Result<(), Errno> {
        match self {
            Self::Mode(mode) => {
                let kind = FileType::from_raw_mode(fstat(handle)?.st_mode);
                if kind.is_symlink() {
                    return Err(Errno::OPNOTSUPP);
                }
                // On a directory these bits only affect the ownership of new entries.
                if mode & SET_ID != 0 && !kind.is_dir() {
                    return Err(Errno::PERM);
                }
                // The owner keeps access to the folder itself: without it no later call could start
                // there, not even one that repairs the mode.
                if is_root && kind.is_dir() && mode & 0o700 != 0o700 {
                    return Err(Errno::PERM);
                }
                // fchmodat2 with AT_EMPTY_PATH exists only since Linux 6.6.
                let mode = Mode::from_raw_mode(mode & 0o7777);
                chmodat(CWD, own_path(handle.as_fd()), mode, AtFlags::empty())
            }
            Self::Owner(user, group) => {
                let given = |id: u32| (id != u32::MAX).then_some(id);
                let user = given(*user).map(Uid::from_raw);
                let group = given(*group).map(Gid::from_raw);
                chownat(handle, "", user, group, AtFlags::EMPTY_PATH)
            }
            Self::Times(times) => utimensat(handle, "", times, AtFlags::EMPTY_PATH),
        }
    }
}
