//! A node as a systemd user unit.

use std::path::{Path, PathBuf};

use manyhands_core::NodeId;

use super::service::{Blueprint, plain};
use super::session::Session;
use crate::output::{self, Failure};

/// Name of the unit.
pub fn unit(id: &NodeId) -> String {
    format!("manyhands-node-{id}.service")
}

/// Path of the unit file.
pub fn file(id: &NodeId, user: &Path) -> PathBuf {
    user.join(".config/systemd/user").join(unit(id))
}

/// Contents of the unit file.
pub fn text(service: &Blueprint) -> Result<String, Failure> {
    let (program, arguments) = service.command.split_first().unwrap_or((&service.id, &[]));
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
    Ok(format!(
        "[Unit]\n\
         Description=Manyhands node {}\n\
         \n\
         [Service]\n\
         ExecStart={command}\n\
         {environment}\
         Restart=always\n\
         RestartSec=3\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        service.id
    ))
}

/// Quotes a word for a unit file; specifiers are escaped.
fn quoted(word: &str) -> Result<String, Failure> {
    let word = plain(word)?.replace('\\', "\\\\").replace('"', "\\\"");
    Ok(format!("\"{}\"", word.replace('%', "%%")))
}

/// The user's systemd.
pub struct Systemd<'a> {
    session: &'a Session,
}

impl<'a> Systemd<'a> {
    /// Connects to the user's systemd; if there is none, the error suggests `foreground`.
    pub async fn here(session: &'a Session, foreground: &str) -> Result<Self, Failure> {
        let asked = session.run("systemctl", &["--user", "show", "--property=Version"]);
        match asked.await {
            Ok(_) => Ok(Self { session }),
            Err(failure) => Err(Failure(format!(
                "no systemd user session, which a service needs: {}\nhint: log in on the machine or over ssh (a container or `su` has none), or run it in the foreground: {foreground}",
                failure.0.replace('\n', "; ")
            ))),
        }
    }

    async fn ctl(&self, args: &[&str]) -> Result<String, Failure> {
        // Never the system's instance: a node runs with the rights of its user.
        let args: Vec<&str> = std::iter::once(&"--user").chain(args).copied().collect();
        self.session.run("systemctl", &args).await
    }

    /// Loads and starts the unit, now and at every login.
    pub async fn enable(&self, id: &NodeId, changed: bool) -> Result<(), Failure> {
        let unit = unit(id);
        self.ctl(&["daemon-reload"]).await?;
        self.ctl(&["enable", "--now", &unit]).await?;
        // `enable --now` leaves a unit that is already running with its old command line.
        if changed {
            self.ctl(&["restart", &unit]).await?;
        }
        self.remind_of_linger().await;
        Ok(())
    }

    /// Stops the unit and disables it.
    pub async fn disable(&self, id: &NodeId) -> Result<(), Failure> {
        self.ctl(&["disable", "--now", &unit(id)]).await.map(drop)
    }

    /// Makes systemd forget a removed unit.
    pub async fn reload(&self) -> Result<(), Failure> {
        self.ctl(&["daemon-reload"]).await.map(drop)
    }

    /// Starts the unit.
    pub async fn start(&self, id: &NodeId) -> Result<(), Failure> {
        self.ctl(&["start", &unit(id)]).await.map(drop)
    }

    /// Stops the unit.
    pub async fn stop(&self, id: &NodeId) -> Result<(), Failure> {
        self.ctl(&["stop", &unit(id)]).await.map(drop)
    }

    /// State of the unit, as systemd reports it.
    pub async fn state(&self, id: &NodeId) -> Result<String, Failure> {
        let properties = "--property=ActiveState,SubState,UnitFileState";
        let shown = self.ctl(&["show", properties, &unit(id)]).await?;
        let of = |key: &str| {
            let line = shown.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|rest| rest.strip_prefix('='))
                .unwrap_or("unknown")
                .to_owned()
        };
        Ok(format!(
            "{} ({}), {}",
            of("ActiveState"),
            of("SubState"),
            of("UnitFileState")
        ))
    }

    async fn remind_of_linger(&self) {
        let us = rustix::process::getuid().as_raw().to_string();
        let asked = ["show-user", &us, "--property=Linger"];
        let linger = self.session.run("loginctl", &asked).await;
        // Without loginctl nothing is known, and nothing is said.
        if linger.is_ok_and(|said| said.trim() == "Linger=no") {
            output::print_note(
                "it stops when you log out; to keep it running: loginctl enable-linger",
            );
        }
    }
}

/// Returns the last lines of the unit's log.
pub async fn logs(session: &Session, id: &NodeId, lines: u32) -> Result<String, Failure> {
    let (unit, lines) = (unit(id), lines.to_string());
    let args = [
        "--user",
        "-u",
        &unit,
        "-n",
        &lines,
        "--no-pager",
        "-o",
        "short-iso",
    ];
    session.run("journalctl", &args).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(program: &str, workspace: &str) -> Blueprint {
        let words = [program, "node", "--id", "laptop", "--workspace", workspace];
        Blueprint {
            id: "laptop".to_owned(),
            command: words.map(str::to_owned).to_vec(),
            environment: vec![
                ("PATH".to_owned(), "/opt/100% mine/bin:/usr/bin".to_owned()),
                ("MANYHANDS_HOME".to_owned(), "/home/a/.manyhands".to_owned()),
            ],
            log: PathBuf::from("/unused"),
        }
    }

    #[test]
    fn the_unit_has_its_golden_text() {
        let text = text(&service("/usr/bin/manyhands", "/home/a/work")).unwrap();
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
    fn hostile_names_are_escaped_or_refused() {
        let started = |workspace: &str| {
            let text = text(&service("/m", workspace))?;
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
        assert!(text(&service("/opt/$x/m", "/a")).is_err());
    }

    #[test]
    fn a_variable_keeps_its_dollars_and_percents() {
        let mut service = service("/m", "/a");
        service.environment = vec![("PATH".to_owned(), "/a$b/100%:/c\"d".to_owned())];
        let text = text(&service).unwrap();
        assert!(
            text.contains("Environment=\"PATH=/a$b/100%%:/c\\\"d\"\n"),
            "{text}"
        );
    }
}
