//! Names and types of files.

use manyhands_core::ToolError;

/// The longest name, in bytes.
const MAX_NAME: usize = 200;

/// A type of text file that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileType {
    /// The extension.
    pub word: &'static str,
    /// The media type.
    pub mime: &'static str,
    also: &'static [&'static str],
}

const fn kind(word: &'static str, mime: &'static str, also: &'static [&'static str]) -> FileType {
    FileType { word, mime, also }
}

const TYPES: [FileType; 9] = [
    kind("csv", "text/csv", &[]),
    kind("json", "application/json", &[]),
    kind("txt", "text/plain", &["text"]),
    kind("md", "text/markdown", &["markdown"]),
    kind("html", "text/html", &["htm"]),
    kind("js", "text/javascript", &["mjs", "cjs"]),
    kind("ts", "text/typescript", &["mts", "cts"]),
    kind("py", "text/x-python", &[]),
    kind("xml", "application/xml", &[]),
];

impl FileType {
    /// The type named by `text`, such as `csv` or `.csv`, if `name` has the same extension.
    pub fn of(text: &str, name: &str) -> Result<Self, ToolError> {
        let word = text.trim().trim_start_matches('.').to_ascii_lowercase();
        let Some(found) = TYPES.into_iter().find(|kind| kind.is(&word)) else {
            let words = TYPES.map(|kind| kind.word).join(", ");
            return Err(ToolError::parameter(
                "fileType",
                format!("must be one of {words}"),
            ));
        };
        match extension(name) {
            Some(end) if found.is(&end) => Ok(found),
            Some(end) => Err(ToolError::parameter(
                "filename",
                format!(
                    "ends in .{end}, but fileType is {}; make them agree",
                    found.word
                ),
            )),
            None => Err(ToolError::parameter(
                "filename",
                format!("must end in .{}, such as data.{0}", found.word),
            )),
        }
    }

    fn is(&self, word: &str) -> bool {
        self.word == word || self.also.contains(&word)
    }
}

/// The extension of a name, in lower case.
fn extension(name: &str) -> Option<String> {
    let (stem, end) = name.rsplit_once('.')?;
    let plain =
        !stem.is_empty() && !end.is_empty() && end.chars().all(|c| c.is_ascii_alphanumeric());
    plain.then(|| end.to_ascii_lowercase())
}

/// The media type that a name suggests.
pub fn mime_by_name(name: &str) -> Option<&'static str> {
    let end = extension(name)?;
    if let Some(kind) = TYPES.into_iter().find(|kind| kind.is(&end)) {
        return Some(kind.mime);
    }
    Some(match end.as_str() {
        "log" => "text/plain",
        "tsv" => "text/tab-separated-values",
        "css" => "text/css",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "jsonl" | "ndjson" => "application/jsonl",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "tar" => "application/x-tar",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "doc" => "application/msword",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls" => "application/vnd.ms-excel",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "ppt" => "application/vnd.ms-powerpoint",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        _ => return None,
    })
}

/// Checks a file name: no folder, no hidden or direction-changing characters.
pub fn check_name(name: &str, parameter: &str) -> Result<(), ToolError> {
    let wrong = |why: &str| Err(ToolError::parameter(parameter, why));
    let turns = |c: char| matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    if name.is_empty() || name.len() > MAX_NAME {
        return wrong("must have 1 to 200 bytes");
    }
    if name.contains(['/', '\\']) || matches!(name, "." | "..") {
        return wrong("must be a name without a folder");
    }
    if name.chars().any(|c| c.is_control() || turns(c)) {
        return wrong("must have no control characters");
    }
    if name.trim() != name || name.ends_with('.') {
        return wrong("must not begin or end with a space, nor end with a full stop");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_type_and_extension_must_agree() {
        for (kind, name, mime) in [
            ("csv", "data.csv", "text/csv"),
            (".CSV", "a.b.CSV", "text/csv"),
            ("html", "x.htm", "text/html"),
            ("py", "x.py", "text/x-python"),
        ] {
            assert_eq!(FileType::of(kind, name).unwrap().mime, mime);
        }
        for (kind, name, words) in [
            ("exe", "a.exe", "fileType: must be one of csv, json"),
            (
                "csv",
                "a.json",
                "filename: ends in .json, but fileType is csv",
            ),
            ("csv", "a", "filename: must end in .csv"),
            ("csv", ".csv", "filename: must end in .csv"),
        ] {
            let error = FileType::of(kind, name).unwrap_err();
            assert!(error.message.contains(words), "{}", error.message);
        }
    }

    #[test]
    fn a_file_name_has_no_path_components() {
        for good in ["a.csv", "ü ö.txt", "a..b", ".hidden", "50% [x].md"] {
            check_name(good, "filename").unwrap();
        }
        let long = "x".repeat(201);
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "..\\a",
            "a\nb",
            "a\0",
            "x\u{202e}vsc.exe",
            " a",
            "a ",
            "a.",
            &long,
        ] {
            assert!(check_name(bad, "filename").is_err(), "{bad:?}");
        }
    }
}
