//! A node as a launchd user agent.

use std::path::{Path, PathBuf};

use manyhands_core::NodeId;

use super::service::{Blueprint, plain};
use super::session::Session;
use crate::output::Failure;

/// Label of the agent.
pub fn label(id: &str) -> String {
    format!("manyhands.node.{id}")
}

/// Path of the agent's plist.
pub fn file(id: &NodeId, user: &Path) -> PathBuf {
    let name = format!("{}.plist", label(id.as_str()));
    user.join("Library/LaunchAgents").join(name)
}

/// Contents of the plist.
pub fn text(service: &Blueprint) -> Result<String, Failure> {
    let mut command = String::new();
    for word in &service.command {
        command.push_str(&format!("    <string>{}</string>\n", escaped(word)?));
    }
    let mut environment = String::new();
    for (name, value) in &service.environment {
        let (name, value) = (escaped(name)?, escaped(value)?);
        environment.push_str(&format!(
            "    <key>{name}</key>\n    <string>{value}</string>\n"
        ));
    }
    let log = escaped(&service.log.display().to_string())?;
    let label = label(&service.id);
    Ok(format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{label}</string>
  <key>ProgramArguments</key>
  <array>
{command}  </array>
  <key>EnvironmentVariables</key>
  <dict>
{environment}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>3</integer>
  <key>StandardOutPath</key>
  <string>{log}</string>
  <key>StandardErrorPath</key>
  <string>{log}</string>
</dict>
</plist>
"#
    ))
}

fn escaped(word: &str) -> Result<String, Failure> {
    // Ampersands first, or the escapes below would be escaped again.
    let word = plain(word)?.replace('&', "&amp;");
    let word = word.replace('<', "&lt;").replace('>', "&gt;");
    Ok(word.replace('"', "&quot;").replace('\'', "&apos;"))
}

/// The user's launchd.
pub struct Launchd<'a> {
    session: &'a Session,
    domain: String,
}

impl<'a> Launchd<'a> {
    /// The launchd domain of the current user.
    pub fn here(session: &'a Session) -> Self {
        let us = rustix::process::getuid().as_raw();
        Self {
            session,
            domain: format!("gui/{us}"),
        }
    }

    fn target(&self, id: &NodeId) -> String {
        format!("{}/{}", self.domain, label(id.as_str()))
    }

    /// Loads and starts the agent, now and at every login.
    pub async fn start(&self, id: &NodeId, file: &Path) -> Result<(), Failure> {
        let _ = self.stop(id).await; // bootstrap fails if an older version is still loaded
        let file = file.display().to_string();
        let args = ["bootstrap", self.domain.as_str(), &file];
        self.session.run("launchctl", &args).await.map(drop)
    }

    /// Stops the agent.
    pub async fn stop(&self, id: &NodeId) -> Result<(), Failure> {
        let args = ["bootout", &self.target(id)];
        self.session.run("launchctl", &args).await.map(drop)
    }

    /// State of the agent, as launchd reports it.
    pub async fn state(&self, id: &NodeId) -> String {
        let args = ["print", &self.target(id)];
        let shown = self.session.run("launchctl", &args).await;
        let shown = shown.unwrap_or_default();
        let state = shown.lines().map(str::trim);
        let mut state = state.filter_map(|line| line.strip_prefix("state = "));
        state.next().unwrap_or("stopped").to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(workspace: &str) -> Blueprint {
        let words = ["/m", "node", "--id", "laptop", "--workspace", workspace];
        Blueprint {
            id: "laptop".to_owned(),
            command: words.map(str::to_owned).to_vec(),
            environment: vec![("PATH".to_owned(), "/usr/bin".to_owned())],
            log: PathBuf::from("/home/a/laptop.log"),
        }
    }

    #[test]
    fn the_agent_has_its_golden_text() {
        let expect = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>manyhands.node.laptop</string>
  <key>ProgramArguments</key>
  <array>
    <string>/m</string>
    <string>node</string>
    <string>--id</string>
    <string>laptop</string>
    <string>--workspace</string>
    <string>/Users/a/R&amp;D &lt;new&gt; &quot;$HOME&quot; 100%</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>/usr/bin</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>3</integer>
  <key>StandardOutPath</key>
  <string>/home/a/laptop.log</string>
  <key>StandardErrorPath</key>
  <string>/home/a/laptop.log</string>
</dict>
</plist>
"#;
        let workspace = "/Users/a/R&D <new> \"$HOME\" 100%";
        assert_eq!(text(&service(workspace)).unwrap(), expect);
    }

    #[test]
    fn a_name_with_a_line_break_is_refused() {
        assert!(text(&service("/a\nb")).is_err());
        assert!(text(&service("/a b")).is_ok());
    }
}
