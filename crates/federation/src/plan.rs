//! What a server about to be added will run or connect to, for its owner to decide.

use std::ffi::OsString;

use manyhands_config::{McpServer, masked_args, masked_text};

use crate::servers::find_program;

/// What a server does once it is added.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerPlan {
    /// The program with its arguments, or the URL. Literal secrets are masked.
    pub runs: Vec<String>,
    /// What would keep it from working.
    pub problems: Vec<String>,
}

impl ServerPlan {
    /// The plan of a server; programs are looked for in `path`.
    pub fn of(server: &McpServer, path: &OsString) -> Self {
        let Some(command) = &server.command else {
            let runs = server.url.iter().map(|url| masked_text(url));
            return Self {
                runs: runs.collect(),
                problems: Vec::new(),
            };
        };
        // Pasted arguments may contain keys.
        let mut runs = vec![masked_text(command)];
        runs.extend(masked_args(&server.args));
        let problems = match find_program(command, path) {
            Some(_) => Vec::new(),
            None => vec![format!("{} was not found{}", runs[0], install(command))],
        };
        Self { runs, problems }
    }

    /// The program with its arguments as a shell would take them.
    pub fn command_line(&self) -> String {
        let words = self.runs.iter().map(|word| quoted(word));
        words.collect::<Vec<_>>().join(" ")
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn install(command: &str) -> &'static str {
    match command {
        "npx" => "; install Node.js from https://nodejs.org",
        "uvx" => "; install uv from https://docs.astral.sh/uv",
        "docker" => "; install Docker from https://docs.docker.com/get-docker",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(command: &str, args: &[&str]) -> ServerPlan {
        let server = McpServer {
            command: Some(command.to_owned()),
            args: args.iter().map(|&word| word.to_owned()).collect(),
            ..McpServer::default()
        };
        ServerPlan::of(&server, &"/nowhere".into())
    }

    #[test]
    fn the_exact_command_is_shown_without_its_secrets() {
        let shown = plan(
            "sh",
            &["-c", "echo it's me", "--token", "s3cr3t-value-1234"],
        );
        assert_eq!(shown.runs, ["sh", "-c", "echo it's me", "--token", "***"]);
        assert_eq!(
            shown.command_line(),
            r"sh -c 'echo it'\''s me' --token '***'"
        );
    }

    #[test]
    fn a_missing_program_is_a_problem_with_advice() {
        assert_eq!(
            plan("npx", &[]).problems,
            ["npx was not found; install Node.js from https://nodejs.org"]
        );
        assert_eq!(plan("/bin/sh", &[]).problems, [""; 0]);
    }

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        let server = McpServer {
            url: Some("https://me:word@x.example/mcp".to_owned()),
            ..McpServer::default()
        };
        let shown = ServerPlan::of(&server, &OsString::new());
        assert!(!shown.runs[0].contains("word"), "{:?}", shown.runs);
        assert!(shown.runs[0].contains("x.example/mcp"));
    }
}
