//! The web page, as it was built into the program: the files of `web/dist`.

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

/// All files, by name. None when the page was not built before the program was.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// One file by name.
pub fn file(name: &str) -> Option<&'static File> {
    let at = FILES.binary_search_by(|file| file.name.cmp(name)).ok()?;
    FILES.get(at)
}

impl File {
    /// Its type.
    pub fn mime(&self) -> &'static str {
        match self.name.rsplit('.').next().unwrap_or_default() {
            "html" => "text/html; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "json" | "webmanifest" => "application/json",
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
    use super::*;

    #[test]
    fn every_file_is_found_by_its_name_and_nothing_else_is() {
        for one in FILES {
            assert_eq!(file(one.name).map(|found| found.bytes), Some(one.bytes));
        }
        assert!(file("../Cargo.toml").is_none());
        assert!(file("").is_none());
    }
}
