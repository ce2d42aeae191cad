//! launchd: agents of a user and daemons of the machine.

use std::path::{Path, PathBuf};

use super::{Activity, Definition, Name, Scope, Session, State, plain};
use manyhands_terminal::output::Failure;

/// Path of the plist.
pub fn file(name: &Name, scope: Scope, user: &Path) -> PathBuf {
    let plist = format!("{}.plist", name.label);
    match scope {
        Scope::User => user.join("Library/LaunchAgents").join(plist),
        Scope::System => Path::new("/Library/LaunchDaemons").join(plist),
    }
}

/// Contents of the plist.
pub fn text(service: &Definition, name: &Name) -> Result<String, Failure> {
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
    let label = &name.label;
    let of_gateway = match &service.gateway {
        None => String::new(),
        Some(gateway) => {
            let user = gateway.user.as_deref().map(escaped).transpose()?;
            let user = user.map_or_else(String::new, |user| {
                format!("  <key>UserName</key>\n  <string>{user}</string>\n")
            });
            // 63 is 077: what it creates is for its user only.
            format!(
                "{user}  <key>Umask</key>\n  <integer>63</integer>\n  <key>ExitTimeOut</key>\n  <integer>120</integer>\n"
            )
        }
    };
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
{of_gateway}  <key>RunAtLoad</key>
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

/// Reads a text that [`escaped`] wrote.
fn unescaped(text: &str) -> String {
    let text = text.replace("&apos;", "'").replace("&quot;", "\"");
    let text = text.replace("&gt;", ">").replace("&lt;", "<");
    text.replace("&amp;", "&")
}

/// The string in the first line after the one that is `before`.
fn string_after(text: &str, before: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| *line == before)?;
    let value = lines.find(|line| line.starts_with("<string>"))?;
    let value = value.strip_prefix("<string>")?.strip_suffix("</string>")?;
    Some(unescaped(value))
}

/// The value of an environment variable in a plist.
pub fn variable(text: &str, name: &str) -> Option<String> {
    string_after(text, &format!("<key>{name}</key>"))
}

/// The executable in a plist.
pub fn program(text: &str) -> Option<String> {
    string_after(text, "<key>ProgramArguments</key>")
}

/// A launchd domain: the user's or the machine's.
pub struct Launchd<'a> {
    session: &'a Session,
    domain: String,
}

impl<'a> Launchd<'a> {
    /// The launchd of this scope.
    pub fn new(session: &'a Session, scope: Scope) -> Self {
        let domain = match scope {
            Scope::User => format!("gui/{}", rustix::process::getuid().as_raw()),
            Scope::System => "system".to_owned(),
        };
        Self { session, domain }
    }

    /// Fails if there is none; the error suggests `foreground`.
    pub fn check(&self, foreground: &str) -> Result<(), Failure> {
        match self.session.find("launchctl") {
            Some(_) => Ok(()),
            None => Err(Failure(format!(
                "`launchctl` is not installed, which a service needs\nhint: run it in the foreground: {foreground}"
            ))),
        }
    }

    fn target(&self, name: &Name) -> String {
        format!("{}/{}", self.domain, name.label)
    }

    /// Loads and starts the job, now and at every login or boot.
    pub async fn start(&self, name: &Name, file: &Path) -> Result<(), Failure> {
        let _ = self.stop(name).await; // bootstrap fails if an older version is still loaded
        let file = file.display().to_string();
        let args = ["bootstrap", self.domain.as_str(), &file];
        self.session.run("launchctl", &args).await.map(drop)
    }

    /// Stops the job.
    pub async fn stop(&self, name: &Name) -> Result<(), Failure> {
        let args = ["bootout", &self.target(name)];
        self.session.run("launchctl", &args).await.map(drop)
    }

    /// State of the job.
    pub async fn state(&self, name: &Name) -> State {
        let args = ["print", &self.target(name)];
        let shown = self.session.run("launchctl", &args).await;
        let shown = shown.unwrap_or_default();
        let state = shown.lines().map(str::trim);
        let mut state = state.filter_map(|line| line.strip_prefix("state = "));
        let text = state.next().unwrap_or("stopped").to_owned();
        State {
            activity: match text.as_str() {
                "running" | "spawn scheduled" => Activity::Running,
                _ => Activity::Stopped,
            },
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(workspace: &str) -> Definition {
        let words = ["/m", "node", "--id", "laptop", "--workspace", workspace];
        Definition {
            description: "Manyhands node laptop".to_owned(),
            command: words.map(str::to_owned).to_vec(),
            environment: vec![("PATH".to_owned(), "/usr/bin".to_owned())],
            log: PathBuf::from("/home/a/laptop.log"),
            gateway: None,
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
        assert_eq!(
            text(&service(workspace), &Name::node("laptop")).unwrap(),
            expect
        );
    }

    #[test]
    fn a_name_with_a_line_break_is_refused() {
        assert!(text(&service("/a\nb"), &Name::node("laptop")).is_err());
        assert!(text(&service("/a b"), &Name::node("laptop")).is_ok());
    }

    #[test]
    fn what_was_written_is_read_back() {
        let mut service = service("/a");
        service.command = vec!["/Users/a/R&D <new>/m".to_owned(), "up".to_owned()];
        service.environment = vec![("MANYHANDS_HOME".to_owned(), "/a&b".to_owned())];
        let text = text(&service, &Name::gateway()).unwrap();
        assert_eq!(program(&text).as_deref(), Some("/Users/a/R&D <new>/m"));
        assert_eq!(variable(&text, "MANYHANDS_HOME").as_deref(), Some("/a&b"));
        assert_eq!(variable(&text, "PATH"), None);
    }
}
