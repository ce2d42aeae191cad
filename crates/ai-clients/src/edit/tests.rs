//! Every client's file, in every style that is met: what the edit adds, that nothing else changes, and that it can be
//! taken back.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{ClientServer, UserEnv};

fn server(token: &str) -> ClientServer<'_> {
    ClientServer::Command {
        program: "/opt/manyhands",
        url: "http://127.0.0.1:7717",
        token,
    }
}

fn place(client: Client) -> Place {
    let user_env = UserEnv {
        user: "/home/me".into(),
        env: Default::default(),
    };
    Place::of(client, &client.settings(&user_env))
}

/// What was inserted into `before` to get `after`: one range.
#[track_caller]
fn inserted<'a>(before: &str, after: &'a str) -> &'a str {
    let start = before
        .bytes()
        .zip(after.bytes())
        .take_while(|(old, new)| old == new)
        .count();
    let end = after.len() - (before.len() - start);
    assert_eq!(&after[end..], &before[start..], "{after}");
    &after[start..end]
}

/// Adds the entry, and checks that nothing else changed, that a second edit replaces it, and that it can be removed.
#[track_caller]
fn check(client: Client, before: &str, after: &str) {
    let place = place(client);
    let edited = place.with(before, &client.entry(&server("t1"))).unwrap();
    assert_eq!(edited, after, "{}\n{edited}", client.word());
    let other = place.with(&edited, &client.entry(&server("t2"))).unwrap();
    assert_eq!(other, after.replace("t1", "t2"), "{}", client.word());
    let added = !place.has_servers(before).unwrap();
    let without = place.without(&edited, added).unwrap().unwrap();
    let meaning = |text: &str| place.document(text).unwrap();
    let same = |text: &str| match meaning(text) {
        Value::Null => json!({}),
        // An empty key of the servers stays, as a map or list.
        mut document if document[place.key].is_null() => {
            document.as_object_mut().unwrap().shift_remove(place.key);
            document
        }
        document => document,
    };
    let mut expected = same(before);
    if !added && expected.get(place.key).is_none() {
        expected[place.key] = match place.layout {
            Layout::Map => json!({}),
            Layout::List => json!([]),
        };
    }
    assert_eq!(same(&without), expected, "{without}");
    assert_eq!(place.without(before, added), Ok(None));
}

const COMMAND: &str = r#""command": "/opt/manyhands""#;
const ENV: [&str; 2] = [
    r#""MANYHANDS_URL": "http://127.0.0.1:7717""#,
    r#""MANYHANDS_TOKEN": "t1""#,
];

#[test]
fn a_missing_or_empty_file_gets_the_entry_alone() {
    let usual = format!(
        "{{\n  \"mcpServers\": {{\n    \"manyhands\": {{\n      {COMMAND},\n      \"args\": [\"mcp\"],\n      \"env\": {{\n        {},\n        {}\n      }}\n    }}\n  }}\n}}\n",
        ENV[0], ENV[1]
    );
    for client in [
        Client::ClaudeDesktop,
        Client::Cursor,
        Client::Windsurf,
        Client::Gemini,
    ] {
        check(client, "", &usual);
        check(client, "{}\n", &usual);
    }
    let typed = usual.replace(COMMAND, &format!("\"type\": \"stdio\",\n      {COMMAND}"));
    for client in [Client::ClaudeCode, Client::Cline] {
        check(client, "", &typed);
    }
    check(
        Client::VsCode,
        "{}\n",
        &typed.replace("mcpServers", "servers"),
    );
    check(
        Client::ClaudeDesktop,
        "\u{feff}",
        &format!("\u{feff}{usual}"),
    );
    check(Client::ClaudeDesktop, "\n", &format!("\n{usual}"));
    let zed = usual.replace(
        COMMAND,
        &format!("\"source\": \"custom\",\n      {COMMAND}"),
    );
    check(
        Client::Zed,
        "",
        &zed.replace("mcpServers", "context_servers"),
    );
    check(
        Client::Opencode,
        "{}",
        &format!(
            "{{\n  \"mcp\": {{\n    \"manyhands\": {{\n      \"type\": \"local\",\n      \"command\": [\"/opt/manyhands\", \"mcp\"],\n      \"enabled\": true,\n      \"environment\": {{\n        {},\n        {}\n      }}\n    }}\n  }}\n}}",
            ENV[0], ENV[1]
        ),
    );
    check(
        Client::Codex,
        "",
        "[mcp_servers.manyhands]\ncommand = \"/opt/manyhands\"\nargs = [\"mcp\"]\nenv = { MANYHANDS_URL = \"http://127.0.0.1:7717\", MANYHANDS_TOKEN = \"t1\" }\n",
    );
    check(Client::Goose, "", GOOSE);
    check(Client::Continue, "", CONTINUE);
}

const GOOSE: &str = "extensions:\n  manyhands:\n    name: manyhands\n    type: stdio\n    enabled: true\n    cmd: \"/opt/manyhands\"\n    args:\n      - \"mcp\"\n    envs:\n      MANYHANDS_URL: \"http://127.0.0.1:7717\"\n      MANYHANDS_TOKEN: t1\n    timeout: 300\n";
const CONTINUE: &str = "mcpServers:\n  - name: manyhands\n    type: stdio\n    command: \"/opt/manyhands\"\n    args:\n      - \"mcp\"\n    env:\n      MANYHANDS_URL: \"http://127.0.0.1:7717\"\n      MANYHANDS_TOKEN: t1\n";

#[test]
fn comments_trailing_commas_and_indentation_stay() {
    let entry = |indent: &str, step: &str| {
        format!(
            "{indent}\"manyhands\": {{\n{indent}{step}\"source\": \"custom\",\n{indent}{step}{COMMAND},\n{indent}{step}\"args\": [\"mcp\"],\n{indent}{step}\"env\": {{\n{indent}{step}{step}{},\n{indent}{step}{step}{}\n{indent}{step}}}\n{indent}}}",
            ENV[0], ENV[1]
        )
    };
    for step in ["  ", "    ", "\t"] {
        let head =
            format!("// Zed settings\n{{ // all of them\n{step}\"theme\": \"One Dark\", // dark\n");
        let text = format!(
            "{head}{step}\"context_servers\": {{ /* mine */\n{step}{step}// the first\n{step}{step}\"other\": {{ \"command\": \"x\", }}, // last\n{step}}},\n}}\n"
        );
        let at = text.find(" /* mine */").unwrap() + " /* mine */".len();
        let indent = step.repeat(2);
        let after = format!("{}\n{},{}", &text[..at], entry(&indent, step), &text[at..]);
        check(Client::Zed, &text, &after);
        // Without the key, it is added at the top, in the same style.
        let text = format!("{head}}}\n");
        let at = text.find(" // all of them").unwrap() + " // all of them".len();
        let servers = format!(
            "{step}\"context_servers\": {{\n{}\n{step}}},",
            entry(&indent, step)
        );
        check(
            Client::Zed,
            &text,
            &format!("{}\n{servers}{}", &text[..at], &text[at..]),
        );
    }
}

#[test]
fn line_ends_of_windows_and_a_byte_order_mark_stay() {
    let text = "\u{feff}{\r\n  \"mcpServers\": {\r\n    \"a\": {\r\n      \"command\": \"x\"\r\n    }\r\n  }\r\n}\r\n";
    let place = place(Client::Cursor);
    let after = place
        .with(text, &Client::Cursor.entry(&server("t1")))
        .unwrap();
    let added = inserted(text, &after);
    assert_eq!(added.matches("\r\n").count(), added.matches('\n').count());
    assert_eq!(place.without(&after, false), Ok(Some(text.to_owned())));
    let text = "\u{feff}# mine\r\nmodel = \"o\" # fast\r\n\r\n[mcp_servers.a] # one\r\ncommand = \"x\"\r\n";
    let place = self::place(Client::Codex);
    let after = place
        .with(text, &Client::Codex.entry(&server("t1")))
        .unwrap();
    let added = inserted(text, &after);
    assert!(
        added.starts_with("\r\n[mcp_servers.manyhands]\r\n"),
        "{added}"
    );
    assert_eq!(added.matches("\r\n").count(), added.matches('\n').count());
    assert_eq!(place.without(&after, false), Ok(Some(text.to_owned())));
    let text = "GOOSE_MODEL: gpt # x\r\nextensions: # mine\r\n    developer:\r\n        enabled: true\r\n# end\r\n";
    let place = self::place(Client::Goose);
    let after = place
        .with(text, &Client::Goose.entry(&server("t1")))
        .unwrap();
    let added = inserted(text, &after);
    assert!(
        added.contains("manyhands:\r\n      name: manyhands\r\n"),
        "{added}"
    );
    assert_eq!(added.matches("\r\n").count(), added.matches('\n').count());
    assert_eq!(place.without(&after, false), Ok(Some(text.to_owned())));
}

#[test]
fn a_file_on_one_line_stays_on_one_line() {
    let shown = format!(
        "\"manyhands\": {{ {COMMAND}, \"args\": [\"mcp\"], \"env\": {{ {}, {} }} }}",
        ENV[0], ENV[1]
    );
    for (before, after) in [
        (
            "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}",
            "{\"mcpServers\":{ENTRY,\"a\":{\"command\":\"x\"}}}",
        ),
        (
            "{ \"mcpServers\": { \"a\": {} } }",
            "{ \"mcpServers\": { ENTRY, \"a\": {} } }",
        ),
        ("{\"a\":1}", "{\"mcpServers\": { ENTRY },\"a\":1}"),
        (
            "{ \"mcpServers\": { } }\n",
            "{ \"mcpServers\": { ENTRY } }\n",
        ),
    ] {
        check(Client::Cursor, before, &after.replace("ENTRY", &shown));
        let place = place(Client::Cursor);
        let edited = place
            .with(before, &Client::Cursor.entry(&server("t1")))
            .unwrap();
        let added = !place.has_servers(before).unwrap();
        assert_eq!(place.without(&edited, added), Ok(Some(before.to_owned())));
    }
}

#[test]
fn tables_and_lists_of_others_stay_as_they_are() {
    let codex = "model = \"o\"\n\n[mcp_servers.a]\ncommand = \"x\"\n\n# profiles\n[profiles.fast]\nmodel = \"p\" # no newline";
    let entry = "[mcp_servers.manyhands]\ncommand = \"/opt/manyhands\"\nargs = [\"mcp\"]\nenv = { MANYHANDS_URL = \"http://127.0.0.1:7717\", MANYHANDS_TOKEN = \"t1\" }\n";
    check(Client::Codex, codex, &format!("{codex}\n\n{entry}"));
    // In the middle of a file, with a table of its own below it.
    let middle = format!("{entry}\n[mcp_servers.manyhands.tools]\nx = 1\n\n# next\n[a]\nb = 1\n");
    let without = place(Client::Codex).without(&middle, false);
    assert_eq!(without, Ok(Some("\n# next\n[a]\nb = 1\n".to_owned())));
    let own = CONTINUE.strip_prefix("mcpServers:\n").unwrap();
    let head = "name: Local Assistant # mine\nversion: 1.0.0\nschema: v1\nmcpServers:\n";
    let others = "  - name: other\n    command: x\n\n  # last\n  - command: y\n    name: \"third\"\nmodels: []\n";
    check(
        Client::Continue,
        &format!("{head}{others}"),
        &format!("{head}{own}{others}"),
    );
    // Items may be indented as little as their key.
    let flat = "mcpServers:\n- name: other\n  command: x\nmodels: []\n";
    let less: String = own
        .lines()
        .map(|line| format!("{}\n", &line[2..]))
        .collect();
    check(
        Client::Continue,
        flat,
        &format!("mcpServers:\n{less}- name: other\n  command: x\nmodels: []\n"),
    );
    check(
        Client::Continue,
        "mcpServers: [] # none\nname: x\n",
        &format!("mcpServers: # none\n{own}name: x\n"),
    );
    let goose = GOOSE.strip_prefix("extensions:\n").unwrap();
    check(
        Client::Goose,
        "extensions:\nx: 1",
        &format!("extensions:\n{goose}x: 1"),
    );
    check(
        Client::Goose,
        "extensions: {}",
        &format!("extensions:\n{goose}"),
    );
    check(
        Client::Goose,
        "x: 1",
        &format!("x: 1\nextensions:\n{goose}"),
    );
}

#[test]
fn a_file_that_cannot_be_edited_is_refused_with_the_reason() {
    for (client, text, why) in [
        (Client::Cursor, "{", "invalid JSON"),
        (Client::Cursor, "{ \"a\": 1,, }", "invalid JSON"),
        (Client::Cursor, "{} {}", "invalid JSON"),
        (Client::Cursor, "[]", "the top level is not an object"),
        (
            Client::Cursor,
            "{ \"mcpServers\": [] }",
            "mcpServers is not an object",
        ),
        (
            Client::Cursor,
            "{ \"mcpServers\": { \"a\": \"\\u12",
            "invalid JSON",
        ),
        (Client::Zed, "/* open", "invalid JSON"),
        (Client::Codex, "= 1", "invalid TOML"),
        (
            Client::Codex,
            "mcp_servers = { a = { command = \"x\" } }\n",
            "its mcp_servers cannot be edited",
        ),
        (Client::Goose, "a: [", "invalid YAML"),
        (
            Client::Goose,
            "extensions: { a: { enabled: true } }\n",
            "extensions is not written in block style",
        ),
        (
            Client::Goose,
            "extensions: 1\n",
            "extensions is not an object",
        ),
        (
            Client::Continue,
            "mcpServers:\n  a:\n    command: x\n",
            "mcpServers is not a list",
        ),
    ] {
        let refused = place(client)
            .with(text, &client.entry(&server("t1")))
            .unwrap_err();
        assert!(refused.contains(why), "{text}: {refused}");
    }
}

#[test]
fn an_entry_with_a_url_has_the_token_in_a_header() {
    let http = ClientServer::Http {
        address: "http://127.0.0.1:7717/mcp",
        token: "t1",
    };
    for client in Client::ALL
        .into_iter()
        .filter(|client| client.supports_http())
    {
        let entry = client.entry(&http);
        let text = place(client).with("", &entry).unwrap();
        assert!(
            text.contains("Bearer t1") && text.contains("7717/mcp"),
            "{text}"
        );
        let keys = ["url", "httpUrl", "serverUrl", "uri"];
        let named = keys.iter().filter(|key| entry[**key].is_string());
        assert_eq!(named.count(), 1, "{entry}");
    }
}

/// Any JSON document, written in any style: with comments, trailing commas, and space of every kind.
fn document() -> impl Strategy<Value = String> {
    let space = prop_oneof![
        Just(""),
        Just(" "),
        Just("\n  "),
        Just("\r\n\t"),
        Just(" // note\n"),
        Just(" /* a\n b */ "),
    ];
    let key = prop_oneof![
        Just("mcpServers"),
        Just("manyhands"),
        Just("a"),
        Just("ü\\\"{")
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("\"// x } ,\"".to_owned()),
        Just("null".to_owned()),
        Just("[1, {\"b\": []},]".to_owned()),
        Just("-1.5e3".to_owned()),
    ];
    let value = leaf.prop_recursive(4, 24, 4, move |inner| {
        let member = (
            space.clone(),
            key.clone(),
            space.clone(),
            inner,
            space.clone(),
        );
        (
            prop::collection::vec(member, 0..4),
            any::<bool>(),
            space.clone(),
        )
            .prop_map(|(members, trailing, end)| {
                let count = members.len();
                let members = members.into_iter().enumerate().map(|(at, member)| {
                    let (before, key, colon, value, after) = member;
                    let comma = if at + 1 < count || trailing { "," } else { "" };
                    format!("{before}\"{key}\":{colon}{value}{after}{comma}")
                });
                format!("{{{}{end}}}", members.collect::<String>())
            })
    });
    (
        prop_oneof![Just(""), Just("\u{feff}"), Just("// head\n")],
        value,
    )
        .prop_map(|(head, value)| format!("{head}{value}\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_the_style_only_the_entry_changes(text in document()) {
        let place = place(Client::Cursor);
        let entry = Client::Cursor.entry(&server("t1"));
        let before = place.document(&text).unwrap();
        // Refused only where there is no place for it.
        let servers = before.get("mcpServers");
        let room = before.is_object() && servers.is_none_or(|servers| servers.is_object());
        match place.with(&text, &entry) {
            Ok(after) => {
                prop_assert_eq!(place.read(&after).unwrap().unwrap(), entry);
                if place.read(&text).unwrap().is_none() {
                    inserted(&text, &after);
                    let without = place.without(&after, servers.is_none()).unwrap().unwrap();
                    prop_assert_eq!(place.document(&without).unwrap(), before);
                }
            }
            Err(why) => prop_assert!(!room, "{}: {}", text, why),
        }
        if place.read(&text).unwrap().is_some() {
            let without = place.without(&text, false).unwrap().unwrap();
            prop_assert!(place.read(&without).unwrap().is_none());
        }
    }

    #[test]
    fn no_text_makes_the_parser_fail_hard(text in "[{}\\[\\],:\"/*\\\\ \n\u{e9}a1]{0,40}") {
        let place = place(Client::Cursor);
        let _ = place.with(&text, &json!({}));
        let _ = place.without(&text, true);
    }
}

#[test]
fn the_place_depends_on_the_file() {
    let place = Place::of(Client::Opencode, Path::new("/x/opencode.jsonc"));
    assert_eq!(place.format, Format::Json);
}
