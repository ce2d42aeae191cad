//! Modes, owners and times of files, changed through handles.

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
use super::notice::{Call, Listener};

const FLAGS: i32 = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH;
/// Bits that make a file run as its owner or group.
const SET_ID: u32 = 0o6000;

/// What is to be changed.
#[derive(Debug)]
enum Change {
    Mode(u32),
    Owner(u32, u32),
    Times(Timestamps),
}

/// Whose.
#[derive(Debug)]
enum Target {
    /// The file behind a descriptor of the caller.
    Descriptor(i32),
    /// The file at a path, from the folder behind a descriptor.
    Path {
        from: i32,
        path: Vec<u8>,
        follow: bool,
    },
}

/// Makes the change that `call` is about, if it is one in `folders`.
pub(super) fn change(call: &Call, listener: &Listener, folders: &Folders) -> Result<(), Errno> {
    let (target, change) = read(call)?;
    let handle = target.open(call, folders)?;
    // From here on nothing of the caller is looked at any more, and all that was is its own.
    if !listener.waits(call) {
        return Err(Errno::SRCH);
    }
    if !folders.hold(handle.as_fd()) {
        return Err(Errno::PERM);
    }
    change.make(&handle)
}

/// What a call is about, read once.
fn read(call: &Call) -> Result<(Target, Change), Errno> {
    let arguments = &call.arguments;
    let number = |argument: usize| arguments[argument] as i32;
    let word = |argument: usize| arguments[argument] as u32;
    let path = |from: i32, at: usize, flags: i32| {
        if flags & !FLAGS != 0 {
            return Err(Errno::INVAL);
        }
        let path = call.path(arguments[at])?;
        let follow = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
        Target::of(from, path, follow, flags & libc::AT_EMPTY_PATH != 0)
    };
    let here = libc::AT_FDCWD;
    let owner = |at: usize| Change::Owner(word(at), word(at + 1));
    Ok(match call.number {
        libc::SYS_fchmod => (Target::Descriptor(number(0)), Change::Mode(word(1))),
        libc::SYS_fchmodat => (path(number(0), 1, 0)?, Change::Mode(word(2))),
        FCHMODAT2 => (path(number(0), 1, number(3))?, Change::Mode(word(2))),
        libc::SYS_fchown => (Target::Descriptor(number(0)), owner(1)),
        libc::SYS_fchownat => (path(number(0), 1, number(4))?, owner(2)),
        libc::SYS_utimensat => {
            let times = match arguments[2] {
                0 => now(),
                at => call.numbers(at).map(times)?,
            };
            let target = match arguments[1] {
                0 => Target::Descriptor(number(0)),
                _ => path(number(0), 1, number(3))?,
            };
            (target, Change::Times(times))
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => (path(here, 0, 0)?, Change::Mode(word(1))),
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
            (path(here, 0, 0)?, Change::Times(times))
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utimes => (path(here, 0, 0)?, by_the_microsecond(call, 1)?),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat => {
            let target = match arguments[1] {
                0 => Target::Descriptor(number(0)),
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
fn by_the_microsecond(call: &Call, argument: usize) -> Result<Change, Errno> {
    let at = call.arguments[argument];
    if at == 0 {
        return Ok(Change::Times(now()));
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
    Ok(Change::Times(times))
}

impl Target {
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
        // How libc spells "the file behind this handle". Looked up here it would be our own.
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

    /// A handle that only names the file: opening it waits for nothing and asks the file nothing.
    fn open(&self, call: &Call, folders: &Folders) -> Result<OwnedFd, Errno> {
        let (from, path, follow) = match self {
            Self::Descriptor(number) => return behind(call, &format!("fd/{number}")),
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
            libc::AT_FDCWD => Some(behind(call, "cwd")?),
            number => Some(behind(call, &format!("fd/{number}"))?),
        };
        let base = base.as_ref().map(|base| base.as_fd());
        lookup(base, path, flags).map_err(|error| folders.told(base, path, error))
    }
}

/// Opens a path as the program would. The kernel checks with this thread's rights, which are no
/// more than the program's.
fn lookup(base: Option<BorrowedFd<'_>>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    // Links of /proc would lead through our own process.
    let resolve = ResolveFlags::NO_MAGICLINKS;
    openat2(base.unwrap_or(CWD), path, flags, Mode::empty(), resolve)
}

/// What a descriptor of the caller, or its working folder, leads to.
fn behind(call: &Call, name: &str) -> Result<OwnedFd, Errno> {
    let link = format!("/proc/{}/{name}", call.thread);
    let opened = open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    opened.map_err(|error| match error {
        Errno::NOENT => Errno::BADF,
        _ => Errno::PERM,
    })
}

/// Where a handle's file lies now, as the kernel knows it: one answer, which no rename can make
/// half true. Of a file that was deleted, where it lay, with a note at the end.
fn location(handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let link = readlink(ours(handle), Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(link.as_bytes())))
}

/// A handle of this process as a path.
fn ours(handle: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// What a program may write, by the handles its Landlock rules were made of.
#[derive(Debug)]
pub(super) struct Folders(Vec<OwnedFd>);

impl Folders {
    pub(super) fn new(handles: Vec<OwnedFd>) -> Self {
        Self(handles)
    }

    /// Whether a handle's file is one of these or lies beneath one. A program cannot move or link
    /// anything from outside to here (Landlock refuses that), so what lies here is its to change.
    pub(super) fn hold(&self, handle: BorrowedFd<'_>) -> bool {
        location(handle).is_ok_and(|place| self.places().any(|folder| place.starts_with(folder)))
    }

    /// Where the folders lie now. One that was deleted holds nothing, and its name may be another's.
    fn places(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().filter_map(|folder| {
            let there = fstat(folder).is_ok_and(|found| found.st_nlink > 0);
            there.then(|| location(folder.as_fd()).ok())?
        })
    }

    /// The error a program is told of a path that cannot be opened: the true one where it is about
    /// a place beneath these folders, and of all others the same, whatever is there.
    fn told(&self, base: Option<BorrowedFd<'_>>, path: &Path, error: Errno) -> Errno {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let parent = lookup(base, parent, OFlags::PATH | OFlags::CLOEXEC);
        let beneath = match parent {
            Ok(parent) => self.hold(parent.as_fd()),
            // A folder on the way is missing: where it would be, unless the path climbs.
            Err(_) if path.components().any(|part| part.as_os_str() == "..") => false,
            Err(_) => match base {
                Some(base) => self.hold(base),
                None => self.places().any(|folder| path.starts_with(folder)),
            },
        };
        if beneath { error } else { Errno::ACCESS }
    }
}

impl Change {
    fn make(&self, handle: &OwnedFd) -> Result<(), Errno> {
        match self {
            Self::Mode(mode) => {
                let kind = FileType::from_raw_mode(fstat(handle)?.st_mode);
                if kind.is_symlink() {
                    return Err(Errno::OPNOTSUPP);
                }
                // On a folder they only say how what is made in it is owned.
                if mode & SET_ID != 0 && !kind.is_dir() {
                    return Err(Errno::PERM);
                }
                // By handle alone only from Linux 6.6 on.
                let mode = Mode::from_raw_mode(mode & 0o7777);
                chmodat(CWD, ours(handle.as_fd()), mode, AtFlags::empty())
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
