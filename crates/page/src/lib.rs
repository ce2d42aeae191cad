//! The web page as built into the program. Releases always have one; `build/source.rs` says where it comes from.
//!
//! A development build started with `MANYHANDS_PAGE=folder` serves that folder instead, so that working on the page
//! takes no compiler.

#[cfg(debug_assertions)]
#[path = "../build/files.rs"]
mod built;
#[cfg(test)]
#[path = "../build/source.rs"]
mod source;

/// One file of the page.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Its name below the root, such as `assets/index-4f2a.js`.
    pub name: &'static str,
    /// What it holds, as it is kept.
    pub bytes: &'static [u8],
    /// Whether that is packed with gzip. Browsers take it so; it is kept only once.
    pub packed: bool,
}

const EMBEDDED: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// All files, by name. None when the page was not built before the program was.
#[cfg(not(debug_assertions))]
pub fn files() -> &'static [File] {
    EMBEDDED
}

/// All files, by name. None when the page was not built before the program was.
#[cfg(debug_assertions)]
pub fn files() -> &'static [File] {
    static NAMED: std::sync::OnceLock<Option<Vec<File>>> = std::sync::OnceLock::new();
    #[allow(
        clippy::disallowed_methods,
        reason = "an aid for development that no release contains, so no setting either"
    )]
    let named = || {
        let folder = std::env::var_os("MANYHANDS_PAGE")?;
        let found = built::list(std::path::Path::new(&folder));
        let read = |(name, path, packed): (String, _, bool)| {
            let bytes = std::fs::read(path).unwrap_or_default();
            File {
                name: name.leak(),
                bytes: bytes.leak(),
                packed,
            }
        };
        Some(found.into_iter().map(read).collect())
    };
    NAMED.get_or_init(named).as_deref().unwrap_or(EMBEDDED)
}

/// One file by name.
pub fn file(name: &str) -> Option<&'static File> {
    let files = files();
    let at = files.binary_search_by(|file| file.name.cmp(name)).ok()?;
    files.get(at)
}

impl File {
    /// Its type.
    pub fn mime(&self) -> &'static str {
        match self.name.rsplit('.').next().unwrap_or_default() {
            "html" => "text/html; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "json" => "application/json",
            "webmanifest" => "application/manifest+json",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "ico" => "image/x-icon",
            "woff2" => "font/woff2",
            _ => "application/octet-stream",
        }
    }

    /// Whether its name changes with what it holds, so that it may be kept for ever.
    pub fn is_lasting(&self) -> bool {
        self.name.starts_with("assets/")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A folder of the build directory, empty at first.
    fn empty(name: &str) -> std::path::PathBuf {
        let folder = Path::new(env!("OUT_DIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        folder.canonicalize().expect("a folder")
    }

    #[test]
    fn a_release_without_a_page_is_refused_unless_that_is_requested() {
        let built = empty("release");
        let refused = source::folder("", &built, true).expect_err("there is no page");
        assert!(refused.contains("make page"), "{refused}");
        assert!(refused.contains("MANYHANDS_PAGE"), "{refused}");
        assert_eq!(source::folder("none", &built, true), Ok(None));
        assert_eq!(source::folder("", &built, false), Ok(None));

        std::fs::write(built.join(".built"), "").expect("a marker");
        assert_eq!(source::folder("", &built, true), Ok(Some(built.clone())));
    }

    #[test]
    fn a_prebuilt_page_must_be_one() {
        let (prebuilt, built) = (empty("prebuilt"), empty("unused"));
        let named = prebuilt.to_str().expect("a name");
        for release in [false, true] {
            let refused = source::folder(named, &built, release).expect_err("it has no page");
            assert!(refused.contains("index.html"), "{refused}");
        }
        std::fs::write(prebuilt.join("index.html"), "").expect("a page");
        for release in [false, true] {
            let found = source::folder(named, &built, release);
            assert_eq!(found, Ok(Some(prebuilt.clone())));
        }
    }

    #[test]
    fn a_manifest_is_sent_as_one() {
        let of = |name| {
            File {
                name,
                bytes: &[],
                packed: false,
            }
            .mime()
        };
        assert_eq!(of("manifest.webmanifest"), "application/manifest+json");
        assert_eq!(of("sw.js"), "text/javascript; charset=utf-8");
    }

    #[test]
    fn every_file_is_found_by_its_name_and_nothing_else_is() {
        for one in files() {
            assert_eq!(file(one.name).map(|found| found.bytes), Some(one.bytes));
        }
        assert!(file("../Cargo.toml").is_none());
        assert!(file("").is_none());
    }
}
