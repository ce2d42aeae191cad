//! systemd: units of a user or of the machine.

use std::path::{Path, PathBuf};

use super::{Activity, Definition, GatewayService, Name, Scope, Session, State, path_text, plain};
use manyhands_terminal::output::{self, Failure};

/// Where the owner's units are, and where packages install theirs.
const SYSTEM_FOLDERS: [&str; 3] = [
    "/etc/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

/// Restart limits: a gateway that cannot start, such as one with invalid settings, is not started forever.
const RESTART: &str = "Restart=on-failure\nRestartSec=3\n";

/// Restrictions that need no privileges, so that a user's unit can have them. `ProtectSystem=` and similar need a
/// user namespace there, which many machines refuse, and then the unit would not start. Setting setgid bits and
/// creating namespaces stay allowed: programs in the gateway's own sandbox need the one, browsers the other.
const HARDENED: &str = "\
    NoNewPrivileges=yes\n\
    UMask=0077\n\
    LockPersonality=yes\n\
    RestrictRealtime=yes\n\
    SystemCallArchitectures=native\n";

/// Restrictions of a system unit. None of them touches Landlock or seccomp, of which the gateway's own sandbox
/// consists.
const SYSTEM_HARDENED: &str = "\
    CapabilityBoundingSet=\n\
    AmbientCapabilities=\n\
    KeyringMode=private\n\
    PrivateDevices=yes\n\
    PrivateTmp=yes\n\
    ProtectClock=yes\n\
    ProtectControlGroups=yes\n\
    ProtectHostname=yes\n\
    ProtectKernelLogs=yes\n\
    ProtectKernelModules=yes\n\
    ProtectKernelTunables=yes\n\
    ProtectProc=invisible\n\
    ProtectSystem=strict\n\
    RemoveIPC=yes\n\
    RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK\n";

/// Path of the unit file.
pub fn file(name: &Name, scope: Scope, user: &Path) -> PathBuf {
    let unit = name.unit_file();
    match scope {
        Scope::User => user.join(".config/systemd/user").join(unit),
        Scope::System => {
            let mut files = SYSTEM_FOLDERS.iter().map(|dir| Path::new(dir).join(&unit));
            let found = files.find(|file| file.is_file());
            found.unwrap_or_else(|| Path::new(SYSTEM_FOLDERS[0]).join(&unit))
        }
    }
}

/// Contents of the unit file.
pub fn text(service: &Definition, scope: Scope) -> Result<String, Failure> {
    let (program, arguments) = service
        .command
        .split_first()
        .unwrap_or((&service.description, &[]));
    // systemd does not expand variables in the executable's path, so `$$` would be taken literally there.
    if program.contains('$') {
        return Err(Failure(format!(
            "{program} contains a $, which systemd cannot start\nhint: move the executable elsewhere"
        )));
    }
    let mut command = quoted(program)?;
    for argument in arguments {
        command.push(' ');
        command.push_str(&quoted(argument)?.replace('$', "$$"));
    }
    let mut environment = String::new();
    for (name, value) in &service.environment {
        let set = quoted(&format!("{name}={value}"))?;
        environment.push_str(&format!("Environment={set}\n"));
    }
    let (limits, restart) = match &service.gateway {
        None => (String::new(), "Restart=always\nRestartSec=3\n".to_owned()),
        Some(gateway) => (limits(scope), format!("{RESTART}{}", of_gateway(gateway)?)),
    };
    let target = match scope {
        Scope::User => "default.target",
        Scope::System => "multi-user.target",
    };
    Ok(format!(
        "[Unit]\n\
         Description={}\n\
         {limits}\
         \n\
         [Service]\n\
         ExecStart={command}\n\
         {environment}\
         {restart}\
         \n\
         [Install]\n\
         WantedBy={target}\n",
        service.description
    ))
}

fn limits(scope: Scope) -> String {
    let network = match scope {
        // A user's units cannot depend on the machine's.
        Scope::User => "",
        Scope::System => "Wants=network-online.target\nAfter=network-online.target\n",
    };
    format!("{network}StartLimitIntervalSec=120\nStartLimitBurst=10\n")
}

/// How a gateway is stopped, and what it may do.
fn of_gateway(gateway: &GatewayService) -> Result<String, Failure> {
    let home = &gateway.home;
    let variables = home.join("service.env");
    let mut text = format!(
        "# Optional: variables such as API keys or MANYHANDS_PASSPHRASE, one NAME=value per line, mode 600.\n\
         EnvironmentFile=-{}\n\
         # Only the gateway gets the signal: it lets running calls finish and ends their programs itself.\n\
         KillMode=mixed\n\
         TimeoutStopSec=120\n",
        bare(&variables)?
    );
    let Some(user) = &gateway.user else {
        text.push_str(HARDENED);
        return Ok(text);
    };
    text.push_str(&format!("User={}\n", plain(user)?));
    let inside = home.strip_prefix("/var/lib").ok().and_then(Path::to_str);
    match inside.filter(|name| !name.is_empty() && !name.contains(['/', '%', ' '])) {
        Some(name) => text.push_str(&format!("StateDirectory={name}\nStateDirectoryMode=0700\n")),
        None => text.push_str(&format!("ReadWritePaths={}\n", bare(home)?)),
    }
    text.push_str(HARDENED);
    text.push_str(SYSTEM_HARDENED);
    let among_users = ["/home", "/root", "/run/user"];
    if !among_users.iter().any(|folder| home.starts_with(folder)) {
        text.push_str("ProtectHome=yes\n");
    }
    text.push_str(
        "# To let the gateway write to other folders, run `systemctl edit manyhands` and add, for example:\n\
         #   [Service]\n\
         #   ReadWritePaths=/srv/data\n",
    );
    Ok(text)
}

/// A path in a setting that takes no quotes.
fn bare(path: &Path) -> Result<String, Failure> {
    let text = path_text(path)?;
    let text = plain(&text)?;
    if text.contains(char::is_whitespace) || text.contains(['"', '\'', '\\']) {
        return Err(Failure(format!(
            "{text} contains a space or a quote, which systemd cannot use as the home of a service\nhint: choose another folder with --home"
        )));
    }
    Ok(text.replace('%', "%%"))
}

/// Quotes a word for a unit file; specifiers are escaped.
fn quoted(word: &str) -> Result<String, Failure> {
    let word = plain(word)?.replace('\\', "\\\\").replace('"', "\\\"");
    Ok(format!("\"{}\"", word.replace('%', "%%")))
}

/// Reads a word that [`quoted`] wrote; `None` if it is not one. What follows it is ignored.
fn unquoted(text: &str) -> Option<String> {
    let mut word = String::new();
    let mut rest = text.strip_prefix('"')?.chars();
    loop {
        match rest.next()? {
            '"' => return Some(word.replace("%%", "%")),
            '\\' => word.push(rest.next()?),
            other => word.push(other),
        }
    }
}

/// The value of an environment variable in a unit file.
pub fn variable(text: &str, name: &str) -> Option<String> {
    let mut set = text.lines().filter_map(|line| {
        let word = unquoted(line.strip_prefix("Environment=")?)?;
        let (key, value) = word.split_once('=')?;
        (key == name).then(|| value.to_owned())
    });
    set.next()
}

/// The executable in a unit file.
pub fn program(text: &str) -> Option<String> {
    let mut lines = text.lines();
    lines.find_map(|line| unquoted(line.strip_prefix("ExecStart=")?))
}

/// A systemd: the user's or the machine's.
pub struct Systemd<'a> {
    session: &'a Session,
    scope: Scope,
}

impl<'a> Systemd<'a> {
    /// The systemd of this scope.
    pub fn new(session: &'a Session, scope: Scope) -> Self {
        Self { session, scope }
    }

    /// Fails if it is not running; the error suggests `foreground`.
    pub async fn check(&self, foreground: &str) -> Result<(), Failure> {
        let asked = self.run(&["show", "--property=Version"]).await;
        let Err(failure) = asked else {
            return Ok(());
        };
        let why = failure.0.replace('\n', "; ");
        Err(Failure(match self.scope {
            Scope::User => format!(
                "no systemd user session, which a service needs: {why}\nhint: log in on the machine or over ssh (a container or `su` has none), or run it in the foreground: {foreground}"
            ),
            Scope::System => format!(
                "systemd is not running, which a service needs: {why}\nhint: in a container, let its runtime restart it; or run it in the foreground: {foreground}"
            ),
        }))
    }

    async fn run(&self, args: &[&str]) -> Result<String, Failure> {
        let user: &[&str] = match self.scope {
            Scope::User => &["--user"],
            Scope::System => &[],
        };
        self.session.run("systemctl", &[user, args].concat()).await
    }

    /// Starts, stops or restarts the unit.
    pub async fn ctl(&self, verb: &str, name: &Name) -> Result<(), Failure> {
        self.run(&[verb, &name.unit_file()]).await.map(drop)
    }

    /// Loads and starts the unit, now and at every login or boot.
    pub async fn enable(&self, name: &Name, is_new: bool) -> Result<(), Failure> {
        let unit = name.unit_file();
        self.reload().await?;
        self.run(&["enable", "--now", &unit]).await?;
        // `enable --now` leaves a unit that is already running with its old command line.
        if !is_new {
            self.run(&["restart", &unit]).await?;
        }
        if self.scope == Scope::User {
            self.remind_of_linger().await;
        }
        Ok(())
    }

    /// Stops the unit and disables it.
    pub async fn disable(&self, name: &Name) -> Result<(), Failure> {
        let unit = name.unit_file();
        self.run(&["disable", "--now", &unit]).await.map(drop)
    }

    /// Makes systemd read changed and forget removed units.
    pub async fn reload(&self) -> Result<(), Failure> {
        self.run(&["daemon-reload"]).await.map(drop)
    }

    /// State of the unit.
    pub async fn state(&self, name: &Name) -> Result<State, Failure> {
        let properties = "--property=ActiveState,SubState,UnitFileState";
        let shown = self.run(&["show", properties, &name.unit_file()]).await?;
        let of = |key: &str| {
            let line = shown.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|rest| rest.strip_prefix('='))
                .unwrap_or("unknown")
                .to_owned()
        };
        let active = of("ActiveState");
        Ok(State {
            activity: match active.as_str() {
                // A unit that waits for its next restart has failed: it is not about to become ready.
                "activating" if of("SubState") == "auto-restart" => Activity::Failed,
                "active" | "activating" | "reloading" => Activity::Running,
                "failed" => Activity::Failed,
                _ => Activity::Stopped,
            },
            text: format!("{active} ({}), {}", of("SubState"), of("UnitFileState")),
        })
    }

    /// The last lines of the unit's log.
    pub async fn logs(&self, name: &Name, lines: u32) -> Result<String, Failure> {
        let args = self.journal(name, lines);
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        args.push("--no-pager");
        self.session.run("journalctl", &args).await
    }

    /// Prints the last lines of the unit's log and what is added, until Ctrl-C.
    pub async fn follow(&self, name: &Name, lines: u32) -> Result<(), Failure> {
        let args = self.journal(name, lines);
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        args.push("--follow");
        self.session.follow("journalctl", &args).await
    }

    fn journal(&self, name: &Name, lines: u32) -> Vec<String> {
        let user: &[&str] = match self.scope {
            Scope::User => &["--user"],
            Scope::System => &[],
        };
        let (unit, lines) = (name.unit_file(), lines.to_string());
        let rest = ["-u", &unit, "-n", &lines, "-o", "short-iso"];
        let args = user.iter().copied().chain(rest);
        args.map(str::to_owned).collect()
    }

    async fn remind_of_linger(&self) {
        let us = rustix::process::getuid().as_raw().to_string();
        let asked = ["show-user", &us, "--property=Linger"];
        let linger = self.session.run("loginctl", &asked).await;
        // Without loginctl nothing is known, and nothing is printed.
        if linger.is_ok_and(|answer| answer.trim() == "Linger=no") {
            output::print_note(
                "it stops when you log out; to keep it running: loginctl enable-linger",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(program: &str, workspace: &str) -> Definition {
        let words = [program, "node", "--id", "laptop", "--workspace", workspace];
        Definition {
            description: "Manyhands node laptop".to_owned(),
            command: words.map(str::to_owned).to_vec(),
            environment: vec![
                ("PATH".to_owned(), "/opt/100% mine/bin:/usr/bin".to_owned()),
                ("MANYHANDS_HOME".to_owned(), "/home/a/.manyhands".to_owned()),
            ],
            log: PathBuf::from("/unused"),
            gateway: None,
        }
    }

    #[test]
    fn the_unit_has_its_golden_text() {
        let text = text(&service("/usr/bin/manyhands", "/home/a/work"), Scope::User).unwrap();
        assert_eq!(
            text,
            r#"[Unit]
Description=Manyhands node laptop

[Service]
ExecStart="/usr/bin/manyhands" "node" "--id" "laptop" "--workspace" "/home/a/work"
Environment="PATH=/opt/100%% mine/bin:/usr/bin"
Environment="MANYHANDS_HOME=/home/a/.manyhands"
Restart=always
RestartSec=3

[Install]
WantedBy=default.target
"#
        );
    }

    #[test]
    fn hostile_names_are_written_as_themselves_or_refused() {
        let started = |workspace: &str| {
            let text = text(&service("/m", workspace), Scope::User)?;
            let line = text.lines().find(|line| line.starts_with("ExecStart="));
            let line = line
                .unwrap()
                .rsplit_once("\"--workspace\" ")
                .unwrap()
                .1
                .to_owned();
            Ok::<_, Failure>(line)
        };
        for (workspace, written) in [
            ("/a b", r#""/a b""#),
            (r#"/a"b'c"#, r#""/a\"b'c""#),
            (r"/a\b", r#""/a\\b""#),
            ("/100%h", r#""/100%%h""#),
            ("/$HOME/${X}", r#""/$$HOME/$${X}""#),
            ("/a ; rm -rf /", r#""/a ; rm -rf /""#),
            ("/ä", r#""/ä""#),
        ] {
            assert_eq!(started(workspace).unwrap(), written);
        }
        for refused in [
            "/a\nExecStart=/bin/sh",
            "/a\r",
            "/a\0",
            "/a\tb",
            "/a\u{85}b",
        ] {
            let why = started(refused).unwrap_err().0;
            assert!(why.contains("cannot be written to a service file"), "{why}");
        }
        assert!(text(&service("/opt/$x/m", "/a"), Scope::User).is_err());
    }

    #[test]
    fn a_variable_keeps_its_dollars_and_percents() {
        let mut service = service("/m", "/a");
        service.environment = vec![("PATH".to_owned(), "/a$b/100%:/c\"d".to_owned())];
        let text = text(&service, Scope::User).unwrap();
        assert!(
            text.contains("Environment=\"PATH=/a$b/100%%:/c\\\"d\"\n"),
            "{text}"
        );
    }

    fn gateway(home: &str, user: Option<&str>) -> Definition {
        Definition {
            description: "Manyhands gateway".to_owned(),
            command: ["/usr/bin/manyhands", "up"].map(str::to_owned).to_vec(),
            environment: vec![("MANYHANDS_HOME".to_owned(), home.to_owned())],
            log: PathBuf::from("/unused"),
            gateway: Some(GatewayService {
                home: PathBuf::from(home),
                user: user.map(str::to_owned),
            }),
        }
    }

    #[test]
    fn a_users_gateway_has_only_restrictions_that_need_no_privileges() {
        let text = text(&gateway("/home/a/.manyhands", None), Scope::User).unwrap();
        for line in [
            "NoNewPrivileges=yes",
            "KillMode=mixed",
            "WantedBy=default.target",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}: {text}");
        }
        for word in ["ProtectSystem", "PrivateTmp", "User=", "network-online"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }

    #[test]
    fn a_system_gateway_writes_to_its_home_only() {
        let system = |home| text(&gateway(home, Some("manyhands")), Scope::System).unwrap();
        let text = system("/var/lib/manyhands");
        for line in [
            "User=manyhands",
            "StateDirectory=manyhands",
            "ProtectSystem=strict",
            "ProtectHome=yes",
            "NoNewPrivileges=yes",
            "EnvironmentFile=-/var/lib/manyhands/service.env",
            "WantedBy=multi-user.target",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}: {text}");
        }
        let text = system("/srv/hands");
        assert!(text.contains("\nReadWritePaths=/srv/hands\n"), "{text}");
        assert!(!text.contains("StateDirectory"), "{text}");
        let text = system("/home/hands");
        assert!(!text.contains("ProtectHome=yes"), "{text}");
    }

    #[test]
    fn a_home_that_systemd_would_split_is_refused() {
        for home in ["/srv/a b", "/srv/a\"b", "/srv/a\nb"] {
            assert!(text(&gateway(home, None), Scope::User).is_err(), "{home:?}");
        }
        assert!(text(&gateway("/srv/100%", None), Scope::User).is_ok());
    }

    #[test]
    fn what_was_written_is_read_back() {
        let mut service = service("/opt/a \"b\"\\/m", "/a");
        service.environment = vec![("MANYHANDS_HOME".to_owned(), "/100%/c\"d\\".to_owned())];
        let text = text(&service, Scope::User).unwrap();
        assert_eq!(program(&text).as_deref(), Some("/opt/a \"b\"\\/m"));
        assert_eq!(
            variable(&text, "MANYHANDS_HOME").as_deref(),
            Some("/100%/c\"d\\")
        );
        assert_eq!(variable(&text, "PATH"), None);
    }
}
