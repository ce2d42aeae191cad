//! Detects changes of the file.
//!
//! The file is polled every half second instead of using kernel notifications: those miss changes on network file
//! systems and replaced directories, and one `stat` costs next to nothing.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::check::Provenance;
use crate::error::ConfigError;
use crate::file::ConfigFile;
use crate::settings::Settings;

/// Polling interval.
pub const POLL: Duration = Duration::from_millis(500);

/// Watches a configuration. A change is reported once the file was stable for one interval, because an editor that
/// truncates the file before writing it would otherwise disable every rule for a moment.
#[derive(Debug)]
pub struct Watcher {
    file: ConfigFile,
    looks: Interval,
    /// The file's last state, and its contents when it was last read.
    last: Option<Identity>,
    text: Option<String>,
    settled: bool,
}

/// Distinguishes states of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Watcher {
    /// Watches `file` from its current state on. Create it before the first load, so that no change is missed in between.
    /// Needs a tokio runtime.
    pub fn new(file: ConfigFile) -> Self {
        let mut looks = interval_at(Instant::now() + POLL, POLL);
        // After a suspend the missed ticks would otherwise all fire at once.
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Before the text: a change in between is then noticed at the first tick.
        let last = identity(&file).ok().flatten();
        let text = file.text().ok().flatten();
        Self {
            file,
            looks,
            last,
            text,
            settled: true,
        }
    }

    /// Waits for the contents to change and returns the new settings. An invalid or deleted file is reported once, as an
    /// error; the current settings should stay active. Cancel-safe.
    pub async fn changed(&mut self) -> Result<(Settings, Provenance), ConfigError> {
        loop {
            self.looks.tick().await;
            let now = match identity(&self.file) {
                Ok(now) => now,
                // Temporarily unreadable; compared again at the next tick.
                Err(_) => continue,
            };
            if now != self.last {
                self.last = now;
                self.settled = false;
                continue;
            }
            if self.settled {
                continue;
            }
            self.settled = true;
            let text = self.file.text()?;
            // Only the metadata changed, or the same text was written again.
            if text == self.text {
                continue;
            }
            self.text = text;
            return match &self.text {
                Some(text) => self.file.check(text),
                None => Err(ConfigError::Gone {
                    file: self.file.path().to_owned(),
                }),
            };
        }
    }
}

fn identity(file: &ConfigFile) -> io::Result<Option<Identity>> {
    match std::fs::metadata(file.path()) {
        Ok(of) => Ok(Some(Identity {
            inode: of.ino(),
            size: of.size(),
            modified: (of.mtime(), of.mtime_nsec()),
            changed: (of.ctime(), of.ctime_nsec()),
        })),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;
    use tokio::time::timeout;

    struct Home {
        _folder: tempfile::TempDir,
        file: ConfigFile,
        watcher: Watcher,
    }

    fn home(text: Option<&str>) -> Home {
        let folder = tempfile::tempdir().unwrap();
        let file = ConfigFile::new(folder.path().join("config.toml"));
        if let Some(text) = text {
            fs::write(file.path(), text).unwrap();
        }
        let watcher = Watcher::new(file.clone());
        Home {
            _folder: folder,
            file,
            watcher,
        }
    }

    impl Home {
        fn write(&self, text: &str) {
            fs::write(self.file.path(), text).unwrap();
        }

        /// What the watcher tells within `looks` looks; the clock is paused, so
        /// waiting takes no time.
        async fn within(&mut self, looks: u32) -> Option<Result<Settings, ConfigError>> {
            let told = timeout(POLL * looks, self.watcher.changed()).await.ok()?;
            Some(told.map(|(settings, _)| settings))
        }
    }

    const LEVEL: &str = "[log]\nlevel = \"warn\"\n";

    #[tokio::test(start_paused = true)]
    async fn a_change_is_reported_once_within_a_second_and_a_half() {
        let mut home = home(Some(""));
        assert!(home.within(100).await.is_none(), "nothing changed");
        home.write(LEVEL);
        let settings = home.within(3).await.unwrap().unwrap();
        assert_eq!(settings.log.level, "warn");
        assert!(home.within(100).await.is_none());
        home.file.set("log.level", &json!("debug")).unwrap();
        let settings = home.within(3).await.unwrap().unwrap();
        assert_eq!(settings.log.level, "debug");
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_file_is_reported_once_and_can_be_fixed() {
        let mut home = home(Some(LEVEL));
        home.write("[log]\nlevl = 1\n");
        let error = home.within(3).await.unwrap().unwrap_err();
        assert_eq!(error.problems()[0].line, Some(2));
        assert!(home.within(100).await.is_none(), "told once");
        home.write(LEVEL);
        let settings = home.within(3).await.unwrap().unwrap();
        assert_eq!(settings.log.level, "warn");
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_vanishes_keeps_the_settings_in_force() {
        let mut home = home(Some(LEVEL));
        fs::remove_file(home.file.path()).unwrap();
        let error = home.within(3).await.unwrap().unwrap_err();
        assert!(matches!(error, ConfigError::Gone { .. }), "{error}");
        assert!(home.within(100).await.is_none(), "told once");
        home.write(LEVEL);
        assert!(home.within(3).await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_file_is_reported_and_a_missing_one_is_not() {
        let mut home = home(None);
        assert!(home.within(100).await.is_none());
        home.write(LEVEL);
        assert!(home.within(3).await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_still_being_written_is_not_read() {
        let mut home = home(Some(LEVEL));
        for growing in ["", "[log]\n", "[log]\nlevel = \"deb"] {
            home.write(growing);
            assert!(home.within(1).await.is_none(), "{growing:?}");
        }
        home.write("[log]\nlevel = \"debug\"\n");
        let settings = home.within(3).await.unwrap().unwrap();
        assert_eq!(settings.log.level, "debug");
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_contents_written_again_are_no_change() {
        let mut home = home(Some(LEVEL));
        home.write("");
        assert!(home.within(3).await.unwrap().is_ok());
        fs::remove_file(home.file.path()).unwrap();
        home.write("");
        assert!(home.within(100).await.is_none());
    }
}
