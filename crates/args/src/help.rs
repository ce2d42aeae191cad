//! Help: commands by group, examples, and usage lines.

use clap::Command;
use manyhands_terminal::style::Style;
use manyhands_terminal::wrap;

use super::examples::EXAMPLES;

/// The commands, grouped.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Gateway",
        &[
            "up",
            "status",
            "install",
            "uninstall",
            "start",
            "stop",
            "restart",
            "logs",
            "link",
        ],
    ),
    (
        "Agents",
        &[
            "chat", "sessions", "agents", "skills", "models", "usage", "acp",
        ],
    ),
    (
        "Tools and servers",
        &["tools", "call", "trigger", "mcp", "connect", "connection"],
    ),
    ("Nodes", &["node", "nodes", "cp"]),
    ("Automation", &["cron", "heartbeat", "todo", "contacts"]),
    ("Chat channels", &["channel", "pair", "outbox", "inbox"]),
    ("Files and data", &["artifact", "resource"]),
    (
        "Access",
        &["approvals", "policy", "token", "secret", "trust", "audit"],
    ),
    (
        "Maintenance",
        &[
            "config",
            "doctor",
            "backup",
            "restore",
            "upgrade",
            "completions",
        ],
    ),
];
/// Column at which the descriptions of commands begin.
const DESCRIPTIONS: usize = 15;
/// Maximum width of the help.
const MAX_WIDTH: usize = 100;

/// Adds the groups and examples, and usage lines without the global options.
pub fn complete(command: Command) -> Command {
    let mut command = command;
    for (name, examples) in EXAMPLES {
        command = command.mut_subcommand(name, |sub| sub.after_help(list(examples)));
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\n{}\n{{options}}\n\nRun `manyhands COMMAND --help` for the options and examples of a command.",
        groups(&command),
        heading("Options"),
    );
    command = command.help_template(template);
    // Built now, so that every subcommand knows its full name.
    command.build();
    with_usage(command)
}

/// Sets the usage of a command and of those below it. The usage that clap composes for an error
/// contains the options that were given, and one from the environment counts as given. Arguments cannot be changed
/// here: a command that was built finds them by their position.
fn with_usage(mut command: Command) -> Command {
    let usage = command.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in names {
        command = command.mut_subcommand(name, with_usage);
    }
    command.override_usage(usage)
}

fn heading(text: &str) -> String {
    // clap removes the style where the output is not a terminal.
    Style::HEADING.paint(&format!("{text}:"), true)
}

fn groups(command: &Command) -> String {
    let width = wrap::terminal_columns().unwrap_or(MAX_WIDTH).min(MAX_WIDTH);
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{}\n", heading(title)));
        for name in *names {
            let sub = command.find_subcommand(name);
            let about = sub.and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let rows = wrap::plain(&about, width.saturating_sub(DESCRIPTIONS));
            let name = Style::STRONG.paint(name, true);
            let pad = " ".repeat(DESCRIPTIONS - 2 - wrap::width(&wrap::without_style(&name)));
            let indent = format!("\n{}", " ".repeat(DESCRIPTIONS));
            text.push_str(&format!("  {name}{pad}{}\n", rows.join(&indent)));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Formats examples; comments are aligned where the commands are short enough.
fn list(examples: &[(&str, &str)]) -> String {
    let short = |line: &&str| line.len() <= 48;
    let lines = examples.iter().map(|(line, _)| *line);
    let column = lines.filter(|line| short(line)).map(str::len).max();
    let column = column.unwrap_or_default();
    let mut text = "Examples:".to_owned();
    for (line, comment) in examples {
        text.push_str(&format!("\n  {line}"));
        match comment.is_empty() {
            true => {}
            false if short(line) => {
                text.push_str(&" ".repeat(column - line.len() + 3));
                text.push_str(comment);
            }
            false => text.push_str(&format!("   {comment}")),
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Args;

    fn visible(command: &Command) -> Vec<&str> {
        let visible = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let names = visible.map(Command::get_name);
        names.filter(|name| *name != "help").collect()
    }

    #[test]
    fn every_command_is_in_one_group_and_has_examples() {
        let command = Args::definition("0");
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let mut all = visible(&command);
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
        for name in all {
            let sub = command.find_subcommand(name).expect("the command");
            let after = sub.get_after_help().map(ToString::to_string);
            let after = after.unwrap_or_default();
            assert!(after.starts_with("Examples:\n  "), "{name}: {after:?}");
        }
    }

    #[test]
    fn the_examples_are_valid() {
        for (line, _) in EXAMPLES.iter().flat_map(|(_, examples)| *examples) {
            let at = line.find("manyhands").expect("a call of the program");
            let line = line[at..].split(" > ").next().unwrap_or_default();
            let line = line.split(" < ").next().unwrap_or_default();
            let line = line.split(" && ").next().unwrap_or_default();
            let words = words(line);
            let parsed = Args::definition("0").try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }

    /// Splits a line as a shell does, for the quotes that the examples use.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in line.chars() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, ' ') => words.push(std::mem::take(&mut word)),
                (_, c) => word.push(c),
            }
        }
        words.push(word);
        words
    }

    #[test]
    fn usage_lines_contain_no_option_from_the_environment() {
        let given = ["manyhands", "--home", "/tmp/x", "call"];
        let refused = Args::definition("0").try_get_matches_from(given);
        let text = refused.expect_err("a tool is missing").to_string();
        assert!(
            text.contains("Usage: manyhands call [OPTIONS] <TOOL> [JSON|-]"),
            "{text}"
        );
    }
}
