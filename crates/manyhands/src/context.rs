//! The context of every command: home directory, environment, and the gateway to talk to.
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
use crate::own_gateway;
use crate::remote::{Remote, absent};
use manyhands_terminal::output::Failure;

/// The context every command runs in.
#[derive(Clone)]
pub struct CliContext {
    /// Data directory of the gateway.
    pub home: PathBuf,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Id generator.
    pub ids: Ids,
    home_is_given: bool,
    url: Option<String>,
    token: Option<Secret>,
}

impl CliContext {
    /// Reads the environment once.
    pub fn new(args: &Args) -> Result<Self, Failure> {
        let home = match &args.home {
            // Made absolute once: services and child processes start in other directories.
            Some(home) => std::path::absolute(home)?,
            None => match std::env::home_dir() {
                Some(user) => user.join(".manyhands"),
                None => {
                    return Err(Failure(
                        "cannot determine the home directory; set MANYHANDS_HOME".to_owned(),
                    ));
                }
            },
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        Ok(Self {
            home,
            home_is_given: args.home.is_some(),
            ids: Ids::new(clock.clone(), Arc::new(OsEntropy)),
            clock,
            url: match args.url_is_taken {
                true => std::env::var("MANYHANDS_URL")
                    .ok()
                    // An empty variable is what `VAR= command` sets to override an exported one.
                    .filter(|url| !url.is_empty()),
                false => args.url.clone(),
            },
            token: args.token.as_deref().map(Secret::new),
        })
    }

    /// The same context on another home, and without a URL or token given by the user.
    pub fn on(&self, home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            url: None,
            token: None,
            ..self.clone()
        }
    }

    /// Whether the user named the home, with `--home` or `MANYHANDS_HOME`.
    pub fn home_is_given(&self) -> bool {
        self.home_is_given
    }

    /// Returns the vault's passphrase, if set.
    pub fn passphrase(&self) -> Option<Secret> {
        std::env::var("MANYHANDS_PASSPHRASE").ok().map(Secret::new)
    }

    /// Returns the gateway URL given by the user, if any.
    pub fn named_url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Returns the token given by the user, if any.
    pub fn given_token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }

    /// Returns the hostname.
    pub fn machine(&self) -> String {
        let name = rustix::system::uname();
        name.nodename().to_string_lossy().into_owned()
    }

    /// Returns the path of this executable.
    pub fn program(&self) -> Result<PathBuf, Failure> {
        Ok(std::env::current_exe()?)
    }

    /// Returns the current directory.
    pub fn here(&self) -> Result<PathBuf, Failure> {
        std::env::current_dir()
            .map_err(|e| Failure(format!("cannot use the current directory: {e}")))
    }

    /// Returns the user's home directory.
    pub fn user_folder(&self) -> Result<PathBuf, Failure> {
        std::env::home_dir()
            .filter(|folder| folder.is_absolute())
            .ok_or_else(|| Failure("cannot determine the home directory; set HOME".to_owned()))
    }

    /// Returns the environment variables that are valid UTF-8.
    pub fn environment(&self) -> BTreeMap<String, String> {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// Whether a service manager started this gateway: the service's definition sets the variable.
    pub fn is_service(&self) -> bool {
        std::env::var_os("MANYHANDS_SERVICE").is_some()
    }

    /// Returns the log filter from the environment, if set.
    pub fn log_filter(&self) -> Option<String> {
        std::env::var("MANYHANDS_LOG").ok()
    }

    /// Returns the settings file.
    pub fn config(&self) -> ConfigFile {
        ConfigFile::new(self.home.join(CONFIG_FILE))
    }

    /// Returns the URL of the gateway running on this home, as recorded in its lock file.
    pub fn running(&self) -> Option<String> {
        // The lock file is only believed while its process holds the lock.
        let listens = HomeLock::holder(&self.home).and_then(|holder| holder.listen);
        listens.map(|listens| own_gateway::reached(&listens))
    }

    /// Returns the URL at which to reach this home's gateway, if `named` refers to it: by its listen address or
    /// by `public_url` in its settings.
    pub fn own_address(&self, named: &str) -> Option<String> {
        let listens = HomeLock::holder(&self.home).and_then(|holder| holder.listen);
        if let Some(address) =
            listens.and_then(|listens| own_gateway::listening_address(named, &listens))
        {
            return Some(address);
        }
        // Invalid settings have no `public_url`; the error is reported by the commands that need them.
        let public = self.config().load().ok()?.0.public_url?;
        own_gateway::is_same(named, &public).then_some(public)
    }

    /// Connects to the selected gateway. A token given by the user is sent wherever the user says; the owner's
    /// token of this home is sent only to this home's gateway.
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
                    // No fallback to the configured address: another program may be listening there and would receive the token.
                    None => return Err(Failure(self.not_running()?)),
                }
            }
        };
        Remote::new(&address, self.owner_token()?)
    }

    /// Returns the address this home's gateway is configured to listen on.
    fn configured(&self) -> Result<String, Failure> {
        let listen = self.config().load()?.0.listen;
        Ok(own_gateway::reached(&format!("http://{listen}")))
    }

    fn not_running(&self) -> Result<String, Failure> {
        let why = format!("no gateway is running on {}", self.home.display());
        Ok(absent(&self.configured()?, &why).text())
    }

    /// Explains why the owner's token is not sent to `named`.
    fn foreign(&self, named: &str) -> Failure {
        let home = self.home.display();
        let own = match self.running() {
            Some(own) => format!("it belongs to the gateway at {own}"),
            None => format!("no gateway is running on {home}"),
        };
        Failure(format!(
            "{named} is not the gateway of {home}, so its token was not sent: {own}\n\
             hint: pass that gateway's token with --token or MANYHANDS_TOKEN; omit --url and MANYHANDS_URL to use the gateway of this home; or set `public_url` in config.toml if this is its address"
        ))
    }

    /// Reads the owner's token of this home.
    pub fn owner_token(&self) -> Result<Secret, Failure> {
        let file = self.home.join(OWNER_TOKEN_FILE);
        // Checked first: the error of a missing private file would not say what to do.
        if !file.exists() {
            return Err(Failure(format!(
                "no gateway has been started on {} yet\nhint: start one with `manyhands up`, or set MANYHANDS_TOKEN and MANYHANDS_URL to use another gateway",
                self.home.display()
            )));
        }
        let bytes = read_private(&file).map_err(|e| Failure(format!("{}: {e}", file.display())))?;
        Ok(Secret::new(String::from_utf8_lossy(&bytes).trim()))
    }

    /// Opens the store of this home while no gateway runs on it; the lock prevents one from starting meanwhile.
    pub async fn store(&self) -> Result<(HomeLock, Store), StoreError> {
        let us = Holder {
            pid: std::process::id(),
            listen: None,
            started_at: self.clock.now(),
        };
        // Locked before the database is opened: two writers would break the audit chain.
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

    /// Resolves a path given by the user against the current directory.
    pub fn file(&self, path: &Path) -> Result<PathBuf, Failure> {
        Ok(std::path::absolute(path)?)
    }
}
