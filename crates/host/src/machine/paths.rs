//! Paths as tools write them: aliases, relative, absolute.

use std::path::Path;

use manyhands_core::{ErrorCode, ToolError};
use manyhands_guard::RelPath;
use manyhands_hands::Root;
use serde_json::Value;

use super::{Host, located};

/// The folders with an alias in paths.
const ALIASES: [&str; 2] = ["file_cache_dir", "file_state_dir"];

/// A file in one of the folders.
#[derive(Debug, Clone)]
pub struct ResolvedPath {
    /// The folder.
    pub root: Root,
    /// The path in it.
    pub path: RelPath,
}

impl ResolvedPath {
    /// The absolute path, for display.
    pub fn shown(&self) -> String {
        self.root.absolute(&self.path)
    }
}

impl Host {
    /// Resolves a file to read: in any of the three folders, or in one the owner added.
    pub fn to_read(&self, asked: &str) -> Result<ResolvedPath, ToolError> {
        let settings = self.settings();
        let mut roots = vec![
            self.cache().clone(),
            self.state().clone(),
            self.workspace().clone(),
        ];
        for folder in &settings.tools.read_file.roots {
            match Path::new(folder)
                .is_dir()
                .then(|| Root::open(Path::new(folder)))
            {
                // A missing folder is skipped rather than an error: the others stay readable.
                Some(Ok(root)) => roots.push(root),
                _ => tracing::warn!(
                    event = "read_root_unavailable",
                    folder,
                    "cannot open a folder listed in tools.read_file.roots"
                ),
            }
        }
        let place = self.find(asked, &roots)?;
        let denied = settings.tools.read_file.deny_paths.iter();
        let denied: Vec<String> = denied
            .map(|entry| self.expand_aliases(entry, Syntax::Plain))
            .collect();
        // Checked on the resolved path, so that neither `..` nor an alias gets around it.
        refuse_denied(&place, &denied)?;
        Ok(place)
    }

    /// Resolves a file to write: in the two file folders only.
    pub fn to_write(&self, asked: &str) -> Result<ResolvedPath, ToolError> {
        self.find(asked, &[self.cache().clone(), self.state().clone()])
    }

    /// Resolves a file below `file_cache_dir`.
    pub fn in_cache(&self, asked: &str) -> Result<ResolvedPath, ToolError> {
        let place = self.find(asked, &[self.cache().clone()])?;
        // The alias `file_state_dir/` resolves to the other folder.
        if place.root.folder() != self.cache().folder() {
            let message = format!("'{asked}' is outside file_cache_dir");
            return Err(ToolError::parameter("path", message));
        }
        Ok(place)
    }

    /// Normalises the workspace path in `key`. An invalid one is left for the tool to reject.
    pub fn canonical_in_workspace(&self, mut arguments: Value, key: &str) -> Value {
        if let Some(Value::String(path)) = arguments.get_mut(key)
            && let Ok(place) = self.workspace().locate(path)
        {
            let slash = if path.ends_with('/') { "/" } else { "" };
            *path = if place.is_root() {
                ".".to_owned()
            } else {
                format!("{}{slash}", place.as_str())
            };
        }
        arguments
    }

    /// Normalises the file in `path`, by alias if one fits, so that rules see one spelling.
    pub fn canonical_place(&self, mut arguments: Value) -> Value {
        let roots = [
            self.cache().clone(),
            self.state().clone(),
            self.workspace().clone(),
        ];
        if let Some(Value::String(path)) = arguments.get_mut("path")
            && let Ok(place) = self.find(path, &roots)
        {
            let alias = ALIASES
                .into_iter()
                .zip([self.cache(), self.state()])
                .find(|(_, root)| root.folder() == place.root.folder());
            *path = match alias {
                Some((alias, _)) => format!("{alias}/{}", place.path.as_str()),
                None => place.shown(),
            };
        }
        arguments
    }

    /// Resolves a download destination: below `file_cache_dir` only.
    pub fn to_download(&self, asked: &str) -> Result<ResolvedPath, ToolError> {
        let below = asked.strip_prefix("file_cache_dir/").unwrap_or(asked);
        // `file_cache_dir/file_state_dir/x` is a confusion of aliases, not a folder of that name.
        if ALIASES
            .iter()
            .any(|alias| below == *alias || below.starts_with(&format!("{alias}/")))
        {
            let message = "must be a path below file_cache_dir, as in pages/a.html";
            return Err(ToolError::parameter("download_path", message));
        }
        self.place(self.cache(), below).map_err(|e| {
            let why = e
                .problems
                .first()
                .map_or(e.message, |problem| problem.message.clone());
            ToolError::parameter("download_path", why)
        })
    }

    fn find(&self, asked: &str, roots: &[Root]) -> Result<ResolvedPath, ToolError> {
        let root_of = |alias: &str| {
            if alias == ALIASES[0] {
                self.cache()
            } else {
                self.state()
            }
        };
        for alias in ALIASES {
            let Some(rest) = asked.strip_prefix(alias) else {
                continue;
            };
            if let Some(below) = rest.strip_prefix('/') {
                return self.place(root_of(alias), below);
            }
            if rest.is_empty() {
                let message = format!(
                    "{alias} alone names no file; add a relative path, as in {alias}/notes.txt"
                );
                return Err(ToolError::parameter("path", message));
            }
        }
        // Relative paths belong to the cache, as the spec says.
        if !Path::new(asked).is_absolute() {
            return self.place(self.cache(), asked);
        }
        let inside = roots.iter().find(|root| root.locate(asked).is_ok());
        match inside {
            Some(root) => self.place(root, asked),
            None => {
                let folders: Vec<String> = roots
                    .iter()
                    .map(|root| root.folder().display().to_string())
                    .collect();
                Err(ToolError::parameter(
                    "path",
                    format!("'{asked}' is outside the folders of this tool"),
                )
                .hint(format!(
                    "they are {}; file_cache_dir/… and file_state_dir/… name the first two",
                    folders.join(", ")
                )))
            }
        }
    }

    fn place(&self, root: &Root, asked: &str) -> Result<ResolvedPath, ToolError> {
        let path = located(root.locate(asked), "path")?;
        if path.is_root() {
            return Err(ToolError::parameter("path", "must name a file"));
        }
        Ok(ResolvedPath {
            root: root.clone(),
            path,
        })
    }

    /// Replaces aliases at the beginning of a path by their folders, quoted for `syntax`.
    pub fn expand_aliases(&self, text: &str, syntax: Syntax) -> String {
        let mut expanded = text.to_owned();
        for (alias, root) in ALIASES.into_iter().zip([self.cache(), self.state()]) {
            let folder = root.folder().display().to_string();
            expanded = replace_alias(&expanded, alias, &folder, syntax);
        }
        expanded
    }

    /// Resolves the working directory of a command.
    pub fn directory(&self, asked: Option<&str>) -> Result<ResolvedPath, ToolError> {
        let workspace = ResolvedPath {
            root: self.workspace().clone(),
            path: RelPath::root(),
        };
        let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
            return Ok(workspace);
        };
        // Models write Windows paths for commands, too.
        let asked = asked.replace('\\', "/");
        for (alias, root) in ALIASES.into_iter().zip([self.cache(), self.state()]) {
            let below = asked.strip_prefix(alias);
            let below = below.filter(|rest| rest.is_empty() || rest.starts_with('/'));
            if let Some(below) = below {
                let path = located(root.locate(below.trim_start_matches('/')), "cwd")?;
                return Ok(ResolvedPath {
                    root: root.clone(),
                    path,
                });
            }
        }
        let roots = [self.workspace(), self.cache(), self.state()];
        let inside = roots
            .iter()
            .find(|root| Path::new(&asked).is_absolute() && root.locate(&asked).is_ok());
        let root = inside.copied().unwrap_or(self.workspace());
        let path = located(root.locate(&asked), "cwd")?;
        Ok(ResolvedPath {
            root: root.clone(),
            path,
        })
    }
}

/// The syntax of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// A path, or PowerShell: a folder is inserted as it is, and a backslash also ends a name.
    Plain,
    /// A bash command line: a folder is quoted for its position.
    Bash,
}

fn replace_alias(text: &str, alias: &str, folder: &str, syntax: Syntax) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quote = None;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let before = out.chars().next_back();
        // Only at the beginning of a path: `my_file_cache_dir` and `a/file_cache_dir` are other
        // names.
        let begins = before.is_none_or(|c| !(c.is_alphanumeric() || "_-./\\".contains(c)));
        if begins && let Some(after) = rest.strip_prefix(alias) {
            let ends = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '.');
            if after.chars().next().is_none_or(ends) {
                match syntax {
                    Syntax::Plain => out.push_str(folder),
                    Syntax::Bash => out.push_str(&quoted(folder, quote)),
                }
                rest = after;
                continue;
            }
        }
        // In bash an escaped character never opens or closes a quote.
        let escaped = next == '\\' && quote != Some('\'') && syntax == Syntax::Bash;
        match (quote, next) {
            (None, '\'' | '"') if syntax == Syntax::Bash => quote = Some(next),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
        let taken = next.len_utf8()
            + if escaped {
                rest[1..].chars().next().map_or(0, char::len_utf8)
            } else {
                0
            };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

/// A folder quoted for bash: bare, or inside the open quotes.
fn quoted(folder: &str, quote: Option<char>) -> String {
    match quote {
        Some('\'') => folder.replace('\'', "'\\''"),
        Some(_) => {
            let escape = |c: char| {
                if "\"$`\\".contains(c) {
                    format!("\\{c}")
                } else {
                    c.to_string()
                }
            };
            folder.chars().map(escape).collect()
        }
        None => {
            let plain = |c: char| c.is_alphanumeric() || "/._-+@%,:".contains(c);
            let escape = |c: char| {
                if plain(c) {
                    c.to_string()
                } else {
                    format!("\\{c}")
                }
            };
            folder.chars().map(escape).collect()
        }
    }
}

/// Rejects a path that the owner has denied.
fn refuse_denied(place: &ResolvedPath, denied: &[String]) -> Result<(), ToolError> {
    // Compare the target of a symbolic link as well as the path as written, or a link would get
    // around the rule.
    let link = Path::new(&place.shown()).canonicalize();
    let shown = link.map_or_else(|_| place.shown(), |real| real.display().to_string());
    let asked = place.shown();
    for entry in denied {
        let wanted: Vec<&str> = entry.split('/').filter(|part| !part.is_empty()).collect();
        let names = |text: &str| {
            let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
            parts
                .windows(wanted.len())
                .any(|window| window == wanted.as_slice())
        };
        if !wanted.is_empty() && (names(&shown) || names(&asked)) {
            let message = format!(
                "{} is denied by tools.read_file.deny_paths ({entry})",
                place.shown()
            );
            return Err(ToolError::new(ErrorCode::Forbidden, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        for syntax in [Syntax::Plain, Syntax::Bash] {
            assert_eq!(replace_alias(text, "file_cache_dir", "/c", syntax), expect);
        }
    }

    #[test]
    fn an_alias_is_expanded_at_the_start_of_a_path() {
        check("cat file_cache_dir/a.txt", "cat /c/a.txt");
        check(
            "cat 'file_cache_dir/a b' > file_cache_dir/c",
            "cat '/c/a b' > /c/c",
        );
        check(
            "X=file_cache_dir/a; ls \"file_cache_dir\"",
            "X=/c/a; ls \"/c\"",
        );
        check("type file_cache_dir\\a.txt", "type /c\\a.txt");
        check("my_file_cache_dir/a", "my_file_cache_dir/a");
        check("x/file_cache_dir/a", "x/file_cache_dir/a");
        check("file_cache_directory/a", "file_cache_directory/a");
        check("", "");
    }

    #[test]
    fn a_folder_with_odd_characters_is_read_back_as_it_is() {
        let folder = "/my home/it's $5";
        let bash = |text: &str| replace_alias(text, "file_cache_dir", folder, Syntax::Bash);
        assert_eq!(
            bash("cat file_cache_dir/a"),
            "cat /my\\ home/it\\'s\\ \\$5/a"
        );
        assert_eq!(
            bash("cat \"file_cache_dir/a\""),
            "cat \"/my home/it's \\$5/a\""
        );
        assert_eq!(
            bash("cat 'file_cache_dir/a'"),
            "cat '/my home/it'\\''s $5/a'"
        );
    }

    #[test]
    fn a_denied_name_or_folder_is_refused_anywhere_in_a_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let denied = [
            "config.yaml".to_owned(),
            "private/".to_owned(),
            "a/b".to_owned(),
        ];
        for (path, refused) in [
            ("config.yaml", true),
            ("x/config.yaml", true),
            ("private/x", true),
            ("a/b", true),
            ("x/a/b/c", true),
            ("config.yaml.bak", false),
            ("privately/x", false),
            ("b/a", false),
        ] {
            let place = ResolvedPath {
                root: root.clone(),
                path: RelPath::parse(path).unwrap(),
            };
            assert_eq!(refuse_denied(&place, &denied).is_err(), refused, "{path}");
        }
    }
}
