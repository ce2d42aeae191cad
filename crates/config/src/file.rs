//! Reads and edits `config.toml`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::check::{Provenance, check};
use crate::document::default_file;
use crate::edit;
use crate::error::{ConfigError, PathError, Problem};
use crate::mask;
use crate::nearest::suggest_path;
use crate::path::KeyPath;
use crate::settings::Settings;
use crate::shape::root;
use crate::write::{Held, read};

/// One change of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// The setting.
    pub path: KeyPath,
    /// The new value; `None` removes it, so that the default applies.
    pub value: Option<Value>,
}

/// The text of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// As it is.
    pub text: String,
    /// With its secrets masked; `None` if they cannot be told from other text.
    pub masked: Option<String>,
}

/// The settings file. Its methods block briefly on file I/O.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    path: PathBuf,
}

impl ConfigFile {
    /// Refers to the file at `path`, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads and validates it. A missing file means the defaults; an invalid one is refused with all problems.
    pub fn load(&self) -> Result<(Settings, Provenance), ConfigError> {
        self.check(&self.text()?.unwrap_or_default())
    }

    /// The whole text; that of the default file if it does not exist.
    pub fn whole(&self) -> Result<FileText, ConfigError> {
        let text = self.text()?.unwrap_or_else(default_file);
        let masked = mask::mask_file(&crate::appended::merged(&text));
        Ok(FileText { text, masked })
    }

    /// Validates a text that may contain masked values of the file.
    pub fn check_text(&self, text: &str) -> Result<Result<Settings, Vec<Problem>>, ConfigError> {
        let before = self.text()?.unwrap_or_else(default_file);
        let whole = mask::unmask_file(text, &crate::appended::merged(&before));
        Ok(whole.and_then(|whole| check(&whole).map(|(settings, _)| settings)))
    }

    /// Replaces the whole text, with the file's own values for masked ones. `decide` sees the current text and the new
    /// settings while the file is locked, and returns an error to refuse them. Nothing is written unless the text is
    /// valid.
    pub fn replace_text<E>(
        &self,
        text: &str,
        decide: impl FnOnce(&str, &Settings) -> Result<(), E>,
    ) -> Result<Result<Settings, E>, ConfigError> {
        let held = self.hold()?;
        let before = self.read(held.target())?;
        let now = before.clone().unwrap_or_else(default_file);
        let whole = mask::unmask_file(text, &crate::appended::merged(&now));
        let whole = whole.map_err(|problems| ConfigError::Invalid {
            file: self.path.clone(),
            problems,
        })?;
        let (settings, _) = self.check(&whole)?;
        if let Err(why) = decide(&now, &settings) {
            return Ok(Err(why));
        }
        self.put(&held, &before, &whole)?;
        Ok(Ok(settings))
    }

    /// Writes the commented default file unless one exists; returns whether it did.
    pub fn create(&self) -> Result<bool, ConfigError> {
        // Locked across check and write: two gateways starting at once must not overwrite each other's file.
        let held = self.hold()?;
        if self.read(held.target())?.is_some() {
            return Ok(false);
        }
        self.replace(&held, &default_file())?;
        Ok(true)
    }

    /// Sets one value and leaves the rest of the file unchanged. Nothing is written unless the result is valid.
    pub fn set(&self, path: &str, value: &Value) -> Result<(Settings, Provenance), ConfigError> {
        let path: KeyPath = path.parse()?;
        known(&path)?;
        self.edit(&path, |text| edit::set(text, &path, value).map(Some))
    }

    /// Removes one value, so that its default applies. Nothing is written unless the result is valid.
    pub fn unset(&self, path: &str) -> Result<(Settings, Provenance), ConfigError> {
        let path: KeyPath = path.parse()?;
        self.edit(&path, |text| {
            let edited = edit::unset(text, &path)?;
            // A key that is in the file can be removed even if it is unknown: that is how mistakes are fixed.
            match (edited, known(&path)) {
                (None, Err(_)) => Err("is not in the file and not a setting"),
                (edited, _) => Ok(edited),
            }
        })
    }

    /// Makes several changes atomically. `decide` sees the current settings while the file is locked, and returns the
    /// changes to make, or an error.
    pub fn amend<E>(
        &self,
        decide: impl FnOnce(&Settings) -> Result<Vec<Edit>, E>,
    ) -> Result<Result<(Settings, Provenance), E>, ConfigError> {
        let held = self.hold()?;
        let before = self.read(held.target())?;
        let text = before.clone().unwrap_or_else(default_file);
        let now = self.check(&text)?;
        let edits = match decide(&now.0) {
            Ok(edits) => edits,
            Err(why) => return Ok(Err(why)),
        };
        let mut edited = text.clone();
        for Edit { path, value } in &edits {
            known(path)?;
            let changed = match value {
                Some(value) => edit::set(&edited, path, value).map(Some),
                None => edit::unset(&edited, path),
            };
            let refused = |why| ConfigError::Value {
                path: path.to_string(),
                why,
            };
            edited = changed.map_err(refused)?.unwrap_or(edited);
        }
        // Nothing changed: do not touch the file, which would wake up the watcher.
        if edited == text {
            return Ok(Ok(now));
        }
        let mut checked = self.check(&edited);
        for Edit { path, .. } in &edits {
            checked = checked.map_err(|e| without_lines(e, path));
        }
        let checked = checked?;
        // Written last: an invalid result has returned above, and nothing has changed.
        self.put(&held, &before, &edited)?;
        Ok(Ok(checked))
    }

    fn edit(
        &self,
        path: &KeyPath,
        change: impl FnOnce(&str) -> Result<Option<String>, edit::Refusal>,
    ) -> Result<(Settings, Provenance), ConfigError> {
        let held = self.hold()?;
        let before = self.read(held.target())?;
        let text = before.clone().unwrap_or_else(default_file);
        let refused = |why| ConfigError::Value {
            path: path.to_string(),
            why,
        };
        let Some(edited) = change(&text).map_err(refused)? else {
            return self.check(&text);
        };
        let checked = self.check(&edited).map_err(|e| without_lines(e, path))?;
        self.put(&held, &before, &edited)?;
        Ok(checked)
    }

    /// Writes the edit, unless another program that ignores the lock changed the file meanwhile.
    fn put(&self, held: &Held, before: &Option<String>, edited: &str) -> Result<(), ConfigError> {
        if self.read(held.target())? != *before {
            let file = self.path.clone();
            return Err(ConfigError::Changed { file });
        }
        self.replace(held, edited)
    }

    pub(crate) fn check(&self, text: &str) -> Result<(Settings, Provenance), ConfigError> {
        check(text).map_err(|problems| ConfigError::Invalid {
            file: self.path.clone(),
            problems,
        })
    }

    pub(crate) fn text(&self) -> Result<Option<String>, ConfigError> {
        self.read(&self.path)
    }

    fn read(&self, path: &Path) -> Result<Option<String>, ConfigError> {
        read(path).map_err(ConfigError::io(&self.path, "read"))
    }

    fn hold(&self) -> Result<Held, ConfigError> {
        Held::take(&self.path).map_err(ConfigError::io(&self.path, "open the folder of"))
    }

    fn replace(&self, held: &Held, text: &str) -> Result<(), ConfigError> {
        held.replace(text)
            .map_err(ConfigError::io(&self.path, "write"))
    }
}

/// Refuses an unknown path, suggesting the nearest known one.
fn known(path: &KeyPath) -> Result<(), PathError> {
    let (mut shape, mut at) = (root(), KeyPath::default());
    for segment in path.segments() {
        shape = shape.child(segment).ok_or_else(|| PathError::Unknown {
            path: path.to_string(),
            nearest: suggest_path(&at, shape, [], segment),
        })?;
        at = at.join(segment);
    }
    Ok(())
}

/// Removes line numbers from problems with the new value: they refer to a text that was never written.
fn without_lines(error: ConfigError, path: &KeyPath) -> ConfigError {
    let ConfigError::Invalid { file, mut problems } = error else {
        return error;
    };
    for problem in &mut problems {
        let key = problem.key.parse::<KeyPath>();
        if key.is_ok_and(|key| key.is_within(path)) {
            problem.line = None;
        }
    }
    ConfigError::Invalid { file, problems }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Home {
        folder: tempfile::TempDir,
        file: ConfigFile,
    }

    fn home(text: Option<&str>) -> Home {
        let folder = tempfile::tempdir().unwrap();
        let file = ConfigFile::new(folder.path().join("config.toml"));
        if let Some(text) = text {
            fs::write(file.path(), text).unwrap();
        }
        Home { folder, file }
    }

    impl Home {
        fn text(&self) -> String {
            fs::read_to_string(self.file.path()).unwrap()
        }

        fn mode(&self) -> u32 {
            let metadata = fs::metadata(self.file.path()).unwrap();
            metadata.permissions().mode() & 0o777
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(self.folder.path()).unwrap();
            let mut names: Vec<String> = entries
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    #[track_caller]
    fn check_set(before: &str, path: &str, value: Value, after: &str) {
        let home = home(Some(before));
        let (settings, _) = home.file.set(path, &value).unwrap();
        assert_eq!(home.text(), after);
        assert_eq!(settings, home.file.load().unwrap().0);
        assert_eq!(home.names(), ["config.toml"], "no temporary file is left");
    }

    /// A change that is refused leaves the file's bytes, time and mode alone.
    #[track_caller]
    fn check_refused(before: &str, change: impl Fn(&ConfigFile) -> ConfigError, expect: &str) {
        let home = home(Some(before));
        let stamp = fs::metadata(home.file.path()).unwrap().modified().unwrap();
        let error = change(&home.file).to_string();
        let error = error.replace(home.folder.path().to_str().unwrap(), "~");
        assert_eq!(error, expect);
        assert_eq!(home.text(), before);
        let after = fs::metadata(home.file.path()).unwrap().modified().unwrap();
        assert_eq!(after, stamp);
        assert_eq!(home.names(), ["config.toml"]);
    }

    const OWNERS: &str = "# mine\nlisten = \"127.0.0.1:1\" # why\n\n[log] # here\n# how much\nlevel = \"warn\" # quiet\nformat = \"json\"\n";

    #[test]
    fn a_missing_file_means_the_defaults_and_is_not_made_by_reading() {
        let home = home(None);
        assert_eq!(home.file.load().unwrap().0, Settings::default());
        assert!(home.names().is_empty());
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_name_lines_and_keys() {
        let home = home(Some("\n[limits]\nrequest_byte = 1\nfailed_logins = 0\n"));
        let error = home.file.load().unwrap_err();
        let name = home.file.path().display();
        assert_eq!(
            error.to_string(),
            format!(
                "{name}:3: unknown key `limits.request_byte`; did you mean `request_bytes`?\n\
                 {name}:4: `limits.failed_logins` must be at least 1"
            )
        );
        assert_eq!(error.problems()[0].key, "limits.request_byte");
        assert_eq!(
            error.problems()[0].nearest.as_deref(),
            Some("request_bytes")
        );
    }

    #[test]
    fn a_file_that_is_not_text_is_refused_by_name() {
        let home = home(None);
        fs::write(home.file.path(), [0xff, 0xfe]).unwrap();
        assert!(home.file.load().unwrap_err().to_string().contains("UTF-8"));
        fs::write(home.file.path(), " ".repeat(1024 * 1024 + 1)).unwrap();
        assert!(home.file.load().unwrap_err().to_string().contains("1 MiB"));
        fs::write(home.file.path(), " ".repeat(1024 * 1024)).unwrap();
        assert!(home.file.load().is_ok());
    }

    #[test]
    fn a_change_is_written_and_read_back() {
        let changed = OWNERS.replace("\"warn\"", "\"debug\"");
        check_set(OWNERS, "log.level", json!("debug"), &changed);
    }

    #[test]
    fn a_wrong_change_is_refused_and_changes_nothing() {
        let set = |path: &'static str, value: Value| {
            move |file: &ConfigFile| file.set(path, &value).unwrap_err()
        };
        check_refused(
            OWNERS,
            set("log.level", json!("loud")),
            "~/config.toml: `log.level` must be off, error, warn, info, debug or trace, or a list such as `info,manyhands_path=debug`",
        );
        check_refused(
            OWNERS,
            set("limits", json!({ "request_bytes": 0 })),
            "~/config.toml: `limits.request_bytes` must be at least 1",
        );
        check_refused(
            OWNERS,
            set("limits.request_byte", json!(1)),
            "unknown setting `limits.request_byte`; did you mean `limits.request_bytes`?",
        );
        check_refused(
            OWNERS,
            set("listen", Value::Null),
            "`listen` cannot be null; unset it to use the default",
        );
        check_refused(
            OWNERS,
            set("policy.rules.1.decision", json!("ask")),
            "`policy.rules.1.decision` does not exist; a new entry must directly follow the last one of the list",
        );
        check_refused(
            OWNERS,
            set("listen.port", json!(1)),
            "unknown setting `listen.port`; see docs/config.md for all of them",
        );
        let broken = "listn = 1\nlisten = \"a:1\"\n";
        check_refused(
            broken,
            set("listen", json!("a:2")),
            "~/config.toml:1: unknown key `listn`; did you mean `listen`?",
        );
        check_refused(
            OWNERS,
            |file| file.unset("nonsense").unwrap_err(),
            "`nonsense` is not in the file and not a setting",
        );
        check_refused(
            "[tls]\ncert = \"c\"\nkey = \"k\"\n",
            |file| file.unset("tls.key").unwrap_err(),
            "~/config.toml: `tls.key` is missing",
        );
        check_set(OWNERS, "log.level", json!("warn"), OWNERS);
    }

    #[test]
    fn unsetting_brings_the_default_back() {
        let home = home(Some(OWNERS));
        let (settings, _) = home.file.unset("log.format").unwrap();
        assert_eq!(settings.log.format, crate::LogFormat::Text);
        assert_eq!(settings.log.level, "warn");
        home.file.unset("log").unwrap();
        assert_eq!(home.text(), "# mine\nlisten = \"127.0.0.1:1\" # why\n");
        home.file.unset("log").unwrap();
        fs::write(home.file.path(), "listn = 1\n").unwrap();
        home.file.unset("listn").unwrap();
        assert_eq!(home.text(), "", "an unknown key can be taken out");
    }

    #[test]
    fn in_the_default_file_a_key_is_turned_on_and_off_where_it_is_explained() {
        let home = home(None);
        assert!(home.file.create().unwrap());
        let fresh = home.text();
        assert_eq!(home.mode(), 0o600);
        for (path, value, line) in [
            ("listen", json!("127.0.0.1:9"), "listen = \"127.0.0.1:9\""),
            ("log.level", json!("warn"), "level = \"warn\""),
            ("limits.calls_per_day", json!(5), "calls_per_day = 5"),
        ] {
            home.file.set(path, &value).unwrap();
            let text = home.text();
            let changed: Vec<(&str, &str)> = fresh
                .lines()
                .zip(text.lines())
                .filter(|(a, b)| a != b)
                .collect();
            assert_eq!(changed.len(), 1, "{path}");
            assert_eq!(changed[0].1, line);
            assert!(changed[0].0.starts_with('#'));
            home.file.unset(path).unwrap();
            assert_eq!(home.text(), fresh);
        }
        assert!(
            !home.file.create().unwrap(),
            "an existing file is left alone"
        );
        assert_eq!(home.text(), fresh);
    }

    fn change(path: &str, value: Value) -> Edit {
        Edit {
            path: path.parse().unwrap(),
            value: (!value.is_null()).then_some(value),
        }
    }

    #[test]
    fn several_changes_are_one_edit_and_keep_comments() {
        let home = home(Some(OWNERS));
        let amended = home.file.amend(|now| {
            assert_eq!(now.log.level, "warn");
            Ok::<_, ()>(vec![
                change("log.level", json!("off")),
                change("models.default", json!("a/m")),
                change("models.providers.a", json!({ "kind": "openai" })),
                change("log.format", Value::Null),
            ])
        });
        let (settings, _) = amended.unwrap().unwrap();
        assert_eq!(settings.models.default.as_deref(), Some("a/m"));
        assert_eq!(
            home.text(),
            "# mine\nlisten = \"127.0.0.1:1\" # why\n\n[log] # here\n# how much\nlevel = \"off\" # quiet\n\n[models]\ndefault = \"a/m\"\n\n[models.providers.a]\nkind = \"openai\"\n"
        );
        assert_eq!(home.names(), ["config.toml"]);
        let same = home.text();
        let again = home
            .file
            .amend(|_| Ok::<_, ()>(vec![change("models.default", json!("a/m"))]));
        again.unwrap().unwrap();
        assert_eq!(home.text(), same);
    }

    #[test]
    fn one_wrong_change_of_several_changes_nothing() {
        let several = |last: Edit| {
            move |file: &ConfigFile| {
                let edits = vec![change("log.level", json!("off")), last.clone()];
                file.amend(|_| Ok::<_, ()>(edits)).unwrap_err()
            }
        };
        check_refused(
            OWNERS,
            several(change("models.providers.a", json!({ "kind": "magic" }))),
            "~/config.toml: `models.providers.a.kind` must be one of `anthropic`, `openai`, `openai-responses`, `gemini`, `scripted`",
        );
        check_refused(
            OWNERS,
            several(change("models.defalt", json!("a/m"))),
            "unknown setting `models.defalt`; did you mean `models.default`?",
        );
        let home = home(Some(OWNERS));
        let refused = home.file.amend(|_| Err::<Vec<Edit>, _>("not today"));
        assert_eq!(refused.unwrap().unwrap_err(), "not today");
        assert_eq!(home.text(), OWNERS);
    }

    #[test]
    fn a_provider_is_added_under_its_header_of_the_default_file() {
        let home = home(None);
        home.file.create().unwrap();
        let fresh = home.text();
        let added = home.file.amend(|_| {
            Ok::<_, ()>(vec![
                change("models.providers.a", json!({ "kind": "openai" })),
                change("models.default", json!("a/m")),
            ])
        });
        added.unwrap().unwrap();
        let text = home.text();
        for line in fresh.lines() {
            assert!(text.lines().any(|kept| kept == line), "{line}");
        }
        let more: Vec<&str> = text
            .lines()
            .filter(|line| !fresh.lines().any(|old| old == *line))
            .collect();
        assert_eq!(
            more,
            [
                "default = \"a/m\"",
                "[models.providers.a]",
                "kind = \"openai\""
            ],
            "{text}"
        );
        let removed = home.file.amend(|_| {
            Ok::<_, ()>(vec![
                change("models.providers.a", Value::Null),
                change("models.default", Value::Null),
            ])
        });
        assert_eq!(removed.unwrap().unwrap().0, Settings::default());
        assert_eq!(home.text(), fresh);
    }

    #[test]
    fn the_mode_of_the_file_and_a_link_to_it_are_kept() {
        let home = home(Some(OWNERS));
        fs::set_permissions(home.file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        let link = ConfigFile::new(home.folder.path().join("link.toml"));
        symlink(home.file.path(), link.path()).unwrap();
        link.set("log.level", &json!("off")).unwrap();
        assert_eq!(home.mode(), 0o640);
        assert!(fs::symlink_metadata(link.path()).unwrap().is_symlink());
        assert!(home.text().contains("level = \"off\" # quiet"));
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let home = home(Some(""));
        let keys = [
            "request_bytes",
            "result_bytes",
            "artifact_bytes",
            "failed_logins",
        ];
        std::thread::scope(|scope| {
            for key in keys {
                let file = &home.file;
                scope.spawn(move || {
                    for n in 1..=10 {
                        file.set(&format!("limits.{key}"), &json!(n)).unwrap();
                    }
                });
            }
        });
        let limits = home.file.load().unwrap().0.limits;
        assert_eq!(
            (
                limits.request_bytes,
                limits.result_bytes,
                limits.artifact_bytes,
                limits.failed_logins
            ),
            (10, 10, 10, 10)
        );
    }
}
