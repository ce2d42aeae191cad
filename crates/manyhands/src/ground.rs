//! What every command stands on: the home, the environment, the gateway in question.
#![allow(clippy::disallowed_methods)] // the one place the environment is read

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use manyhands_config::ConfigFile;
use manyhands_core::{Clock, Ids, OsEntropy, Secret, SystemClock};
use manyhands_gateway::{CONFIG_FILE, OWNER_TOKEN_FILE};
use manyhands_guard::read_private;
use manyhands_store::{Holder, HomeLock, Store, StoreError};

use crate::args::Args;
use crate::output::Failure;
use crate::remote::Remote;

/// What every command stands on.
#[derive(Clone)]
pub struct Ground {
    /// Where the gateway keeps everything.
    pub home: PathBuf,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Ids,
    url: Option<String>,
    token: Option<Secret>,
}

impl Ground {
    /// Reads the environment, once.
    pub fn new(args: &Args) -> Result<Self, Failure> {
        let home = match &args.home {
            Some(home) => std::path::absolute(home)?,
            None => match std::env::home_dir() {
                Some(user) => user.join(".manyhands"),
                None => {
                    return Err(Failure(
                        "there is no home directory; set MANYHANDS_HOME".to_owned(),
                    ));
                }
            },
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        Ok(Self {
            home,
            ids: Ids::new(clock.clone(), Arc::new(OsEntropy)),
            clock,
            url: match args.url_is_taken {
                true => std::env::var("MANYHANDS_URL")
                    .ok()
                    .filter(|url| !url.is_empty()),
                false => args.url.clone(),
            },
            token: args.token.as_deref().map(Secret::new),
        })
    }

    /// The passphrase of the vault, when it has one.
    pub fn passphrase(&self) -> Option<Secret> {
        std::env::var("MANYHANDS_PASSPHRASE").ok().map(Secret::new)
    }

    /// The gateway that was named, when one was.
    pub fn named_url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// The token that was given, when one was.
    pub fn given_token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }

    /// What this machine is called.
    pub fn machine(&self) -> String {
        let name = rustix::system::uname();
        name.nodename().to_string_lossy().into_owned()
    }

    /// This very program.
    pub fn program(&self) -> Result<PathBuf, Failure> {
        Ok(std::env::current_exe()?)
    }

    /// Where the user stands.
    pub fn here(&self) -> Result<PathBuf, Failure> {
        std::env::current_dir()
            .map_err(|e| Failure(format!("the current directory cannot be used: {e}")))
    }

    /// The user's own folder.
    pub fn user_folder(&self) -> Result<PathBuf, Failure> {
        std::env::home_dir()
            .filter(|folder| folder.is_absolute())
            .ok_or_else(|| Failure("there is no home directory; set HOME".to_owned()))
    }

    /// The environment this was started in.
    pub fn environment(&self) -> BTreeMap<String, String> {
        // A variable that is no text is none a tool could be given.
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// What the log filter is to be, when the environment says so.
    pub fn log_filter(&self) -> Option<String> {
        std::env::var("MANYHANDS_LOG").ok()
    }

    /// The settings' file.
    pub fn config(&self) -> ConfigFile {
        ConfigFile::new(self.home.join(CONFIG_FILE))
    }

    /// The gateway that runs on this home, by its own note.
    pub fn running(&self) -> Option<String> {
        HomeLock::holder(&self.home).and_then(|holder| holder.listen)
    }

    /// The gateway in question, with the token to show it.
    pub fn remote(&self) -> Result<Remote, Failure> {
        let url = match self.url.clone().or_else(|| self.running()) {
            Some(url) => url,
            None => format!("http://{}", self.config().load()?.0.listen),
        };
        let token = match &self.token {
            Some(token) => token.clone(),
            None => self.owner_token()?,
        };
        Remote::new(&url, token)
    }

    /// The owner's token of this home.
    pub fn owner_token(&self) -> Result<Secret, Failure> {
        let file = self.home.join(OWNER_TOKEN_FILE);
        if !file.exists() {
            return Err(Failure(format!(
                "no gateway was ever started on {}\nhint: start one with `manyhands up`, or set MANYHANDS_TOKEN and MANYHANDS_URL to use another",
                self.home.display()
            )));
        }
        let bytes = read_private(&file).map_err(|e| Failure(format!("{}: {e}", file.display())))?;
        Ok(Secret::new(String::from_utf8_lossy(&bytes).trim()))
    }

    /// The store of this home, for when no gateway runs on it; the lock keeps one from starting meanwhile.
    pub async fn store(&self) -> Result<(HomeLock, Store), StoreError> {
        let us = Holder {
            pid: std::process::id(),
            listen: None,
            started_at: self.clock.now(),
        };
        let lock = HomeLock::acquire(&self.home, &us)?;
        let store = Store::open(
            &self.home,
            self.clock.clone(),
            self.ids.clone(),
            self.passphrase(),
        )
        .await?;
        Ok((lock, store))
    }

    /// A file the user named, from where they stand.
    pub fn file(&self, path: &Path) -> Result<PathBuf, Failure> {
        Ok(std::path::absolute(path)?)
    }
}
