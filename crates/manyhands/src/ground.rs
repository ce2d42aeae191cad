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
use crate::own_gateway;
use crate::remote::{Remote, absent};

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

    /// The gateway that runs on this home, by its own note: where it is reached from here.
    pub fn running(&self) -> Option<String> {
        let listens = HomeLock::holder(&self.home).and_then(|holder| holder.listen);
        listens.map(|listens| own_gateway::reached(&listens))
    }

    /// Where to reach the gateway of this home, if that is the one that `named` means: by the
    /// address it listens on, or the one its settings say others reach it by.
    pub fn own_address(&self, named: &str) -> Option<String> {
        let listens = HomeLock::holder(&self.home).and_then(|holder| holder.listen);
        if let Some(address) = listens.and_then(|listens| own_gateway::meant(named, &listens)) {
            return Some(address);
        }
        // Settings that cannot be read name no address.
        let public = self.config().load().ok()?.0.public_url?;
        own_gateway::is_same(named, &public).then_some(public)
    }

    /// The gateway in question, with the token to show it. A token that was given goes where the
    /// user says; the owner's token of this home goes to the gateway of this home and nowhere else.
    pub fn remote(&self) -> Result<Remote, Failure> {
        match &self.token {
            Some(token) => {
                let url = self.url.clone().or_else(|| self.running());
                Remote::new(&url.map_or_else(|| self.configured(), Ok)?, token.clone())
            }
            None => self.own_remote(),
        }
    }

    /// The gateway of this home, with the owner's token.
    fn own_remote(&self) -> Result<Remote, Failure> {
        let address = match &self.url {
            Some(named) => match self.own_address(named) {
                Some(address) => address,
                None => return Err(self.foreign(named)),
            },
            None => {
                let token = self.owner_token()?;
                match self.running() {
                    Some(address) => return Remote::new(&address, token),
                    // Another program may listen where the gateway would.
                    None => return Err(Failure(self.not_running()?)),
                }
            }
        };
        Remote::new(&address, self.owner_token()?)
    }

    /// Where the gateway of this home would listen.
    fn configured(&self) -> Result<String, Failure> {
        let listen = self.config().load()?.0.listen;
        Ok(own_gateway::reached(&format!("http://{listen}")))
    }

    fn not_running(&self) -> Result<String, Failure> {
        let why = format!("none runs on {}", self.home.display());
        Ok(absent(&self.configured()?, &why).text())
    }

    /// Why the owner's token is not sent to `named`.
    fn foreign(&self, named: &str) -> Failure {
        let home = self.home.display();
        let own = match self.running() {
            Some(own) => format!("it belongs to the gateway at {own}"),
            None => format!("no gateway runs on {home}"),
        };
        Failure(format!(
            "{named} is not known as the gateway of {home}, so its token was not sent: {own}\n\
             hint: give the token of the gateway at that address with --token or MANYHANDS_TOKEN; leave out --url and MANYHANDS_URL to use the gateway of this home; or set `public_url` in config.toml if this is its address"
        ))
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
