//! How a conversation looks and is typed at a terminal. The models are scripted.

use serde_json::Value;

use crate::chat_cli::Terminal;
use crate::harness::{Gateway, Home, eventually};

const SCRIPT: &str = r##"
models: [demo, other]
turns:
  - when: { user: report }
    deltas: ["# Wea", "ther\n\nIt is **ver", "y** warm, see [more](https://example.com).\n\n- one\n- two\n\n```rust\nlet x", " = 1; // y\n```\n\n| Name | Value |\n|---|--:|\n| a | 1 |\n", "\nThe end."]
  - when: { user: hostile }
    text: "**a\x1b[2J**\x1b]52;c;x\x07 `b\u202ec`"
  - when: { user: write }
    calls: [{ name: gsv__WriteFile, arguments: { path: out.md, content: "one\ntwo" } }]
  - when: { result_of: gsv__WriteFile }
    text: That was it.
  - when: { user: edit }
    calls: [{ name: gsv__EditFile, arguments: { path: notes.md, oldString: "seven\neight", newString: "seven\nnine" } }]
  - when: { result_of: gsv__EditFile }
    text: Edited.
  - when: { user: "" }
    text: Good morning.
"##;

const ASKS: &str = "[[policy.rules]]\ndecision = \"ask\"\ntools = [\"gsv__WriteFile\", \"gsv__EditFile\"]\nreason = \"look first\"\n";

const COLOURS: [(&str, &str); 1] = [("TERM", "xterm")];

fn gateway(more: &str) -> Gateway {
    let home = Home::new();
    std::fs::write(home.outside("turns.yaml"), SCRIPT).expect("the script");
    let settings = format!(
        "[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {:?}\n{more}",
        home.outside("turns.yaml")
    );
    Gateway::on(home.with_config(&settings))
}

fn notes(gateway: &Gateway, text: &str) {
    let notes = gateway.home.blob("agents/main/notes.md");
    std::fs::create_dir_all(notes.parent().expect("a folder")).expect("a folder");
    std::fs::write(&notes, text).expect("the notes");
}

/// Whether a text contains a colour or another style.
fn is_styled(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';');
        end.is_some_and(|end| rest[end..].starts_with('m'))
    })
}

#[test]
fn a_reply_is_rendered_while_it_is_written() {
    let gateway = gateway("");
    let mut terminal = Terminal::open_with(&gateway.home, "chat", 80, &COLOURS);
    terminal.sees("session main · main · scripted/demo");
    terminal.sees("> ");
    terminal.types("report\r");
    terminal.sees("Ctrl-C to stop");
    for part in [
        "\u{1b}[1;4mWeather\u{1b}[0m",
        "It is \u{1b}[1mvery\u{1b}[0m warm, see",
        "\u{1b}[2m (https://example.com)\u{1b}[0m",
        "\u{1b}[36m• \u{1b}[0mone",
        "\u{1b}[35mlet\u{1b}[0m x = \u{1b}[33m1\u{1b}[0m; \u{1b}[2m// y\u{1b}[0m",
        "─",
        "The end.",
        "main · scripted/demo · ",
    ] {
        terminal.sees(part);
    }
    terminal.sees("> ");
    terminal.types("/quit\r");
    let shown = terminal.ends();
    assert!(!shown.contains("**") && !shown.contains("```"), "{shown}");
}

#[test]
fn without_colours_the_text_is_still_laid_out() {
    let gateway = gateway("");
    let mut terminal = Terminal::chat(&gateway);
    terminal.types("report\r");
    terminal.sees("# Weather");
    terminal.sees("It is **very** warm");
    terminal.sees("│ a    │     1 │");
    terminal.sees("The end.");
    terminal.sees("> ");
    terminal.types("/quit\r");
    let shown = terminal.ends();
    assert!(!is_styled(&shown), "{shown:?}");
}

#[test]
fn a_dumb_terminal_gets_the_text_as_it_is() {
    let gateway = gateway("");
    let mut terminal = Terminal::open_with(&gateway.home, "chat", 80, &[("TERM", "dumb")]);
    terminal.sees("session main");
    terminal.sees("> ");
    terminal.types("report\r");
    terminal.sees("It is **very** warm");
    terminal.sees("| a | 1 |");
    terminal.sees("The end.");
    terminal.sees("> ");
    terminal.types("/quit\r");
    let shown = terminal.ends();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn rendered_text_never_controls_the_terminal() {
    let gateway = gateway("");
    let mut terminal = Terminal::chat(&gateway);
    terminal.types("hostile\r");
    terminal.sees("a\\u{1b}[2J");
    terminal.sees("\\u{1b}]52;c;x\\u{7}");
    terminal.sees("b\\u{202e}c");
    terminal.sees("> ");
    terminal.types("/quit\r");
    let shown = terminal.ends();
    assert!(
        !shown.contains("\u{1b}[2J") && !shown.contains("\u{1b}]"),
        "{shown:?}"
    );
}

#[test]
fn an_approval_shows_rule_and_reason_and_takes_a_message_or_the_whole_conversation() {
    let gateway = gateway(ASKS);
    let mut terminal = Terminal::chat(&gateway);
    terminal.types("write\r");
    let asked = terminal.sees("or a reason to deny: ");
    for part in [
        "\"path\": \"out.md\"",
        "\"content\":",
        "│ one",
        "│ two",
        "policy.rules.0",
        "adds the rule",
    ] {
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
    terminal.types("n use another name\r");
    terminal.sees("That was it.");
    terminal.sees("> ");
    assert_eq!(gateway.read("out.md"), None);
    let shown = gateway
        .cli(&["sessions", "show", "main", "--json"])
        .ok()
        .stdout;
    assert!(
        shown.contains("use another name"),
        "the model is told: {shown}"
    );
    terminal.types("/new\r");
    terminal.sees("new session");
    terminal.sees("> ");
    for (round, answer) in [(1, Some("c\r")), (2, None)] {
        notes(&gateway, "seven\neight\n");
        terminal.types("edit\r");
        if let Some(answer) = answer {
            let asked = terminal.sees("or a reason to deny: ");
            assert!(
                asked.contains("-eight") && asked.contains("+nine"),
                "{asked}"
            );
            terminal.types(answer);
        }
        let shown = terminal.sees("Edited.");
        assert!(shown.contains("gsv__EditFile notes.md … ok"), "{shown}");
        assert!(
            shown.contains("-eight") && shown.contains("+nine"),
            "{shown}"
        );
        assert!(
            !shown.contains("or a reason"),
            "in round {round} it is asked: {shown}"
        );
        terminal.sees("> ");
        assert_eq!(gateway.read("notes.md").as_deref(), Some("seven\nnine\n"));
    }
    terminal.types("/quit\r");
    terminal.ends();
}

#[test]
fn what_is_typed_before_a_question_is_not_its_answer() {
    let gateway = gateway(ASKS);
    let mut terminal = Terminal::chat(&gateway);
    // Both lines arrive before the question can be on the screen.
    terminal.types("write\ry\r");
    terminal.sees("or a reason to deny: ");
    let listed = gateway.cli(&["approvals", "--json"]).ok().json();
    let pending = listed["approvals"].as_array().map(Vec::len);
    assert_eq!(pending, Some(1), "{listed}");
    assert_eq!(gateway.read("out.md"), None);
    terminal.types("y\r");
    terminal.sees("That was it.");
    assert_eq!(gateway.read("out.md").as_deref(), Some("one\ntwo"));
    terminal.sees("> ");
    terminal.types("/quit\r");
    terminal.ends();
}

#[test]
fn commands_and_models_are_completed_and_explained() {
    let gateway = gateway("");
    let mut terminal = Terminal::chat(&gateway);
    terminal.types("/mod\t");
    terminal.sees("/model ");
    terminal.types("oth\t");
    terminal.sees("scripted/other");
    terminal.types("\r");
    terminal.sees("> ");
    eventually("the model is set", || {
        let shown = gateway.cli(&["sessions", "show", "main"]).ok().stdout;
        shown.contains("scripted/other")
    });
    terminal.types("/s\t\t");
    terminal.sees("show settings, usage and activity");
    terminal.types("\u{15}/quit\r");
    terminal.ends();
}

#[test]
fn a_mentioned_file_is_completed_and_attached() {
    let gateway = gateway("");
    let file = gateway.home.outside("shopping list.md");
    std::fs::write(&file, "milk and bread\n").expect("the file");
    let folder = file.parent().expect("a folder").display().to_string();
    let mut terminal = Terminal::chat(&gateway);
    terminal.types(&format!("sort @{folder}/shop\t"));
    terminal.sees("shopping list.md\"");
    terminal.types(" please, ask me@example.com\r");
    terminal.sees("attached ");
    terminal.sees("Good morning.");
    terminal.sees("> ");
    terminal.types("/quit\r");
    terminal.ends();
    let shown = gateway
        .cli(&["sessions", "show", "main", "--json"])
        .ok()
        .json();
    let sent = shown["messages"][0]["text"].as_str().unwrap_or_default();
    assert!(sent.starts_with("sort @\""), "{sent}");
    assert!(sent.contains("```md\nmilk and bread\n```"), "{sent}");
}

#[test]
fn earlier_messages_are_remembered_across_conversations() {
    let gateway = gateway("");
    let mut terminal = Terminal::chat(&gateway);
    terminal.types("first question\r");
    terminal.sees("Good morning.");
    terminal.sees("> ");
    terminal.types("/quit\r");
    terminal.ends();
    let mut terminal = Terminal::open(&gateway.home, "chat -s other");
    terminal.sees("session other");
    terminal.sees("> ");
    // Over `/quit` to the question before it.
    terminal.types("\u{1b}[A\u{1b}[A\r");
    terminal.sees("Good morning.");
    terminal.sees("> ");
    terminal.types("/quit\r");
    terminal.ends();
    let shown = gateway
        .cli(&["sessions", "show", "other", "--json"])
        .ok()
        .json();
    assert_eq!(shown["messages"][0]["text"], "first question", "{shown}");
}

#[test]
fn one_message_at_a_terminal_is_rendered_and_in_a_pipe_it_is_not() {
    let gateway = gateway("");
    let terminal = Terminal::open_with(&gateway.home, "chat report", 80, &COLOURS);
    let shown = terminal.ends();
    assert!(
        shown.contains("It is \u{1b}[1mvery\u{1b}[0m warm"),
        "{shown}"
    );
    let piped = gateway.cli(&["chat", "report"]).ok();
    assert!(piped.stdout.contains("It is **very** warm"), "{piped:?}");
    assert_eq!(piped.stderr, "");
}

#[test]
fn tables_fit_the_terminal_and_are_whole_in_a_pipe() {
    let gateway = gateway("");
    let name = "a-token-with-a-long-name-that-is-used-for-one-purpose-only";
    gateway.cli(&["token", "create", name]).ok();
    let listed: Value = gateway.cli(&["token", "--json"]).ok().json();
    let ids: Vec<&str> = listed["tokens"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|token| token["id"].as_str())
        .collect();
    assert!(ids.len() >= 2, "{listed}");
    let shown = Terminal::open(&gateway.home, "token list");
    let wide = Terminal::open_with(&gateway.home, "token list", 300, &COLOURS);
    let (shown, wide) = (shown.ends(), wide.ends());
    for line in shown.lines() {
        assert!(line.trim_end().chars().count() <= 80, "{line:?}");
    }
    for id in &ids {
        assert!(shown.contains(id), "{id} is whole: {shown}");
    }
    let together = |text: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.contains(name) && ids.iter().any(|id| line.contains(id)))
    };
    assert!(shown.contains(name) && !together(&shown), "{shown}");
    assert!(together(&wide), "with enough room it is a table: {wide}");
    let piped = gateway.cli(&["token", "list"]).ok().stdout;
    assert!(together(&piped), "{piped}");
}
