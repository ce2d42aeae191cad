//! Reading, writing and listing files in a [`Root`]. All functions block.

use std::io::Read;

use manyhands_guard::{EntryKind, Jail, JailError, ListedEntry, RelPath, WriteMode};

/// The text of a file, or its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// The text.
    pub text: String,
    /// The size of the whole file in bytes.
    pub size: u64,
    /// Whether `text` is only the beginning.
    pub truncated: bool,
}

/// Why a file was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A file system error.
    #[error(transparent)]
    Jail(#[from] JailError),
    /// Not a text file.
    #[error("it is not UTF-8 text ({size} bytes)")]
    NotText {
        /// The size of the file.
        size: u64,
    },
}

/// How a write treats an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextWriteMode {
    /// Replace it.
    Overwrite,
    /// Append to it.
    Append,
}

/// Reads at most `limit` bytes of a text file, cut at a character boundary.
pub fn read_text(jail: &Jail, place: &RelPath, limit: u64) -> Result<TextFile, FileError> {
    let (file, meta) = jail.open_file(place)?;
    let mut bytes = Vec::new();
    let read = file.take(limit).read_to_end(&mut bytes);
    read.map_err(JailError::from)?;
    let size = meta.size.max(bytes.len() as u64);
    let truncated = size > bytes.len() as u64;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            // Only a character split by the cut itself may be dropped.
            let (valid, split) = (
                error.utf8_error().valid_up_to(),
                error.utf8_error().error_len().is_none(),
            );
            if !(truncated && split) {
                return Err(FileError::NotText { size });
            }
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    Ok(TextFile {
        text,
        size,
        truncated,
    })
}

/// Maximum size of a file to append to: an append rewrites the whole file.
const MAX_APPENDED_TO: u64 = 64 * 1024 * 1024;

/// Writes a file atomically; returns its new size. `limit` applies to `text`, not to the file it is
/// appended to. An append fails if the file changed meanwhile.
pub fn write_text(
    jail: &Jail,
    place: &RelPath,
    text: &str,
    mode: TextWriteMode,
    limit: u64,
) -> Result<u64, JailError> {
    let too_large = |size: u64| JailError::TooLarge { limit, size };
    if text.len() as u64 > limit {
        return Err(too_large(text.len() as u64));
    }
    if mode == TextWriteMode::Overwrite {
        return jail
            .write(place, text.as_bytes(), WriteMode::Overwrite)
            .map(|meta| meta.size);
    }
    let (mut bytes, write) = match jail.read(place, MAX_APPENDED_TO) {
        Ok((bytes, meta)) => (bytes, WriteMode::IfVersion(meta.version)),
        Err(JailError::NotFound) => (Vec::new(), WriteMode::CreateNew),
        Err(error) => return Err(error),
    };
    bytes.extend_from_slice(text.as_bytes());
    jail.write(place, &bytes, write).map(|meta| meta.size)
}

/// Depth of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Direct entries only.
    One,
    /// Recursive.
    All,
}

/// A directory listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Files and directories, with paths relative to the listed directory.
    pub entries: Vec<ListedEntry>,
    /// Whether entries were omitted.
    pub truncated: bool,
    /// Number of entries, listed or not; counting stops at [`MAX_COUNTED`].
    pub total: u64,
    /// Number of other things: pipes, sockets, links that lead outside or nowhere.
    pub skipped: u64,
}

/// Maximum entries counted beyond the listed ones.
pub const MAX_COUNTED: u64 = 250_000;

/// Lists a directory, at most `limit` entries. Links to directories are listed but not followed, so
/// loops cannot occur.
pub fn list(
    jail: &Jail,
    place: &RelPath,
    depth: Depth,
    limit: usize,
) -> Result<Listing, JailError> {
    let mut listing = Listing::default();
    let mut waiting = vec![RelPath::root()];
    while let Some(below) = waiting.pop() {
        let Ok(folder) = place.join(&below) else {
            listing.skipped += 1; // deeper than any path can name
            continue;
        };
        let Some(entries) = jail.list(&folder)? else {
            if below.is_root() {
                return Err(JailError::NotFound);
            }
            continue; // it went while we looked
        };
        let mut folders = Vec::new();
        for entry in entries {
            if entry.kind == EntryKind::Other {
                listing.skipped += 1;
                continue;
            }
            if listing.total > MAX_COUNTED {
                return Ok(listing);
            }
            let name = RelPath::parse(&entry.name).and_then(|name| below.join(&name));
            let Ok(name) = name else {
                listing.skipped += 1;
                continue;
            };
            if depth == Depth::All && entry.kind == EntryKind::Dir && !entry.link {
                folders.push(name.clone());
            }
            listing.total += 1;
            if listing.entries.len() == limit {
                listing.truncated = true;
                continue;
            }
            listing.entries.push(ListedEntry {
                name: name.as_str().to_owned(),
                ..entry
            });
        }
        waiting.extend(folders.into_iter().rev());
    }
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;
    use std::os::unix::fs::symlink;

    struct Fixture {
        dir: tempfile::TempDir,
        root: Root,
    }

    fn fixture() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("secret"), "canary").unwrap();
        let root = Root::open(&dir.path().join("work")).unwrap();
        Fixture { dir, root }
    }

    fn place(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    impl Fixture {
        fn put(&self, path: &str, bytes: &[u8]) {
            self.root
                .jail()
                .write(&place(path), bytes, WriteMode::Overwrite)
                .unwrap();
        }

        fn get(&self, path: &str) -> String {
            read_text(self.root.jail(), &place(path), 1 << 20)
                .unwrap()
                .text
        }

        fn names(&self, path: &str, depth: Depth, limit: usize) -> (Vec<String>, bool, u64) {
            let listing = list(self.root.jail(), &place(path), depth, limit).unwrap();
            (
                listing.entries.into_iter().map(|e| e.name).collect(),
                listing.truncated,
                listing.skipped,
            )
        }
    }

    #[test]
    fn text_is_cut_between_characters_and_marked() {
        let fixture = fixture();
        fixture.put("a.txt", "äöü".as_bytes());
        for (limit, text, truncated) in [
            (6, "äöü", false),
            (5, "äö", true),
            (1, "", true),
            (0, "", true),
            (99, "äöü", false),
        ] {
            let read = read_text(fixture.root.jail(), &place("a.txt"), limit).unwrap();
            assert_eq!(
                (read.text.as_str(), read.size, read.truncated),
                (text, 6, truncated),
                "{limit}"
            );
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let fixture = fixture();
        fixture.put("a.bin", b"ab\xff\xfecd");
        for limit in [3, 4, 100] {
            let refused = read_text(fixture.root.jail(), &place("a.bin"), limit);
            assert!(
                matches!(refused, Err(FileError::NotText { size: 6 })),
                "{limit}"
            );
        }
        assert_eq!(
            read_text(fixture.root.jail(), &place("a.bin"), 2)
                .unwrap()
                .text,
            "ab"
        );
    }

    #[test]
    fn an_append_adds_and_an_overwrite_replaces() {
        let fixture = fixture();
        let write = |text, mode| {
            write_text(fixture.root.jail(), &place("d/a.txt"), text, mode, 10).unwrap()
        };
        assert_eq!(write("one", TextWriteMode::Append), 3);
        assert_eq!(write(" two", TextWriteMode::Append), 7);
        assert_eq!(fixture.get("d/a.txt"), "one two");
        assert_eq!(write("x", TextWriteMode::Overwrite), 1);
        assert_eq!(fixture.get("d/a.txt"), "x");
    }

    #[test]
    fn what_is_too_large_is_refused_and_nothing_changes() {
        let fixture = fixture();
        fixture.put("a.txt", b"12345678");
        for mode in [TextWriteMode::Overwrite, TextWriteMode::Append] {
            let text = "x".repeat(11);
            let refused = write_text(fixture.root.jail(), &place("a.txt"), &text, mode, 10);
            assert!(matches!(
                refused,
                Err(JailError::TooLarge {
                    limit: 10,
                    size: 11
                })
            ));
            assert_eq!(fixture.get("a.txt"), "12345678");
        }
        let added = "9".repeat(10);
        let append = write_text(
            fixture.root.jail(),
            &place("a.txt"),
            &added,
            TextWriteMode::Append,
            10,
        );
        assert_eq!(append.unwrap(), 18, "the limit is for what a call writes");
    }

    #[test]
    fn a_listing_really_recurses_and_says_what_it_leaves_out() {
        let fixture = fixture();
        for path in ["b.txt", "a/x.txt", "a/deep/y.txt", "c/.hidden"] {
            fixture.put(path, b"1");
        }
        symlink(
            fixture.dir.path().join("secret"),
            fixture.root.folder().join("out"),
        )
        .unwrap();
        symlink("..", fixture.root.folder().join("a/loop")).unwrap();
        let (top, _, skipped) = fixture.names("", Depth::One, 100);
        assert_eq!(
            (top, skipped),
            (vec!["a".to_owned(), "b.txt".to_owned(), "c".to_owned()], 1)
        );
        let (all, truncated, _) = fixture.names("", Depth::All, 100);
        let expect = [
            "a",
            "b.txt",
            "c",
            "a/deep",
            "a/loop",
            "a/x.txt",
            "a/deep/y.txt",
            "c/.hidden",
        ];
        assert_eq!(
            (all, truncated),
            (expect.map(str::to_owned).to_vec(), false)
        );
        assert_eq!(fixture.names("a", Depth::All, 2).0, ["deep", "loop"]);
        assert!(fixture.names("a", Depth::All, 2).1);
    }

    #[test]
    fn nothing_outside_is_read_or_listed() {
        let fixture = fixture();
        symlink(fixture.dir.path(), fixture.root.folder().join("up")).unwrap();
        symlink(
            fixture.dir.path().join("secret"),
            fixture.root.folder().join("s"),
        )
        .unwrap();
        let jail = fixture.root.jail();
        assert!(read_text(jail, &place("s"), 100).is_err());
        assert!(read_text(jail, &place("up/secret"), 100).is_err());
        assert!(list(jail, &place("up"), Depth::All, 100).is_err());
        assert!(write_text(jail, &place("up/new"), "x", TextWriteMode::Overwrite, 100).is_err());
        assert!(!fixture.dir.path().join("new").exists());
        fixture.put("fine", b"x");
        assert_eq!(fixture.get("fine"), "x");
    }
}
