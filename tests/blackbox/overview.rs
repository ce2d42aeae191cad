//! What the program says to a person who tries it: alone, with half a command, and where a client was expected.

use crate::chat_cli::Terminal;
use crate::harness::{Gateway, Home};

#[test]
fn without_a_command_the_state_and_the_next_steps_are_printed() {
    let home = Home::new();
    let ran = home.cli(&[]).ok();
    for words in [
        "gateway     not running",
        "Next steps",
        "manyhands up",
        "manyhands --help",
    ] {
        assert!(ran.stdout.contains(words), "{ran:?}");
    }
    let gateway = Gateway::start();
    let ran = gateway.cli(&[]).ok();
    assert_eq!(ran.stderr, "");
    for words in [
        &format!("gateway     running at {}", gateway.url),
        "agents      main",
        "model       none configured",
        "approvals   none pending",
        "manyhands models add anthropic",
    ] {
        assert!(ran.stdout.contains(words), "{words} is not in {ran:?}");
    }
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn pending_approvals_are_the_first_next_step() {
    let gateway = Gateway::with_config(
        "[[policy.rules]]\ndecision = \"ask\"\ntools = [\"gsv__WriteFile\"]\n",
    );
    gateway.cli(&["call", "gsv__WriteFile", r#"{"path":"a.md","content":"x"}"#]);
    let ran = gateway.cli(&[]).ok();
    assert!(ran.stdout.contains("approvals   1 pending"), "{ran:?}");
    let (_, steps) = ran.stdout.split_once("Next steps\n").expect("steps");
    assert!(steps.starts_with("  manyhands approvals "), "{steps}");
}

#[test]
fn commands_with_a_list_print_it_without_a_subcommand() {
    let gateway = Gateway::start();
    for command in [
        "approvals",
        "audit",
        "channel",
        "connection",
        "cron",
        "pair",
        "policy",
        "resource",
        "secret",
        "token",
        "trust",
    ] {
        let short = gateway.cli(&[command, "--json"]).ok();
        let list = short.json();
        assert!(list.is_object() || list.is_array(), "{command}: {short:?}");
    }
    let short = gateway.cli(&["cron"]).ok().stdout;
    assert_eq!(short, gateway.cli(&["cron", "list"]).ok().stdout);
    assert_eq!(gateway.cli(&["cron", "frobnicate"]).code, Some(2));
}

#[test]
fn usage_lines_name_no_global_option() {
    let home = Home::new();
    let ran = home.cli(&["call"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let usage = ran.stderr.lines().find(|line| line.starts_with("Usage: "));
    assert_eq!(
        usage,
        Some("Usage: manyhands call [OPTIONS] <TOOL> [JSON|-]"),
        "{ran:?}"
    );
}

#[test]
fn help_is_grouped_and_every_command_has_examples() {
    let home = Home::new();
    let help = home.cli(&["--help"]).ok().stdout;
    for heading in [
        "Gateway:",
        "Agents:",
        "Nodes:",
        "Automation:",
        "Access:",
        "Maintenance:",
    ] {
        assert!(help.contains(&format!("\n{heading}\n")), "{help}");
    }
    let help = home.cli(&["approvals", "--help"]).ok().stdout;
    assert!(help.contains("Examples:\n  manyhands approvals "), "{help}");
    assert!(help.contains("\nGateway options:\n"), "{help}");
}

#[test]
fn mcp_and_acp_explain_themselves_at_a_terminal_and_nowhere_else() {
    let gateway = Gateway::start();
    for (command, waits, hint) in [
        ("mcp", "waiting for an MCP client", "manyhands connect"),
        ("acp", "waiting for an editor", "manyhands chat"),
    ] {
        let mut terminal = Terminal::open(&gateway.home, command);
        terminal.sees(waits);
        terminal.sees(hint);
        terminal.types("\u{4}");
        terminal.ends();
        let piped = gateway.cli(&[command]);
        assert_eq!(piped.stderr, "", "{command}");
    }
}
