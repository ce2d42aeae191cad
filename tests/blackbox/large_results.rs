//! Results too large to show: shortened so that they stay of use, with the way to the whole before the rest.

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::mcp::{self, Era};
use crate::nodes::fixture::Machine;

#[test]
fn the_link_to_the_full_result_comes_first_on_every_interface() {
    let gateway = Gateway::with_config("[limits]\nresult_bytes = 20000\n");
    let lines: String = (0..5_000).map(|n| format!("entry {n}\n")).collect();
    gateway.write("long.txt", &lines);
    let arguments = json!({ "path": "long.txt" });
    let check = |result: &Value, text: &str| {
        let names: Vec<&String> = result.as_object().expect("an object").keys().collect();
        assert_eq!(
            names[..3],
            ["truncated", "fullSize", "artifactId"],
            "{text:.300}"
        );
        assert_eq!(result["fullSize"], lines.len());
        let id = result["artifactId"].as_str().expect("an id");
        let whole = gateway.cli(&["artifact", id]).ok();
        assert_eq!(whole.stdout, lines, "as text");
        assert!(text.find(id) < text.find("entry"), "{text:.300}");
        let content = result["content"].as_str().expect("text");
        assert!(content.starts_with("entry 0\n") && content.ends_with("entry 4999\n"));
    };
    let over_http = gateway.call("gsv__ReadFile", arguments.clone());
    check(&over_http["result"], &over_http.to_string());
    let over_mcp = mcp::call(
        &gateway,
        Era::Stateless,
        &gateway.owner,
        "gsv__ReadFile",
        &arguments,
    );
    let shown = &over_mcp["result"];
    let text = shown["content"][0]["text"].as_str().expect("text");
    check(&shown["structuredContent"], text);
    let on_the_line = gateway
        .cli(&["call", "gsv__ReadFile", &arguments.to_string()])
        .ok();
    check(&on_the_line.json()["result"], &on_the_line.stdout);
}

#[test]
fn a_long_list_is_stored_as_json_whose_lines_can_be_read() {
    let gateway = Gateway::with_config("[limits]\nresult_bytes = 20000\n");
    let cmd = "mkdir many && cd many && seq -f 'file-%05g' 2000 | xargs touch";
    let made = gateway.call("bash", json!({ "cmd": cmd }));
    assert_eq!(made["result"]["exit_code"], 0, "{made}");
    let said = gateway.call("tool::file_list", json!({ "path": "many" }));
    let result = &said["result"];
    let shown = result["entries"].as_array().expect("entries").len();
    assert!(shown > 50 && shown < 2_000, "{shown}");
    let id = result["artifactId"].as_str().expect("an id");
    let whole = gateway.cli(&["artifact", id]).ok();
    assert_eq!(
        whole.json()["entries"].as_array().map(Vec::len),
        Some(2_000)
    );
    assert!(whole.stdout.lines().count() > 2_000, "it has lines");
}

#[test]
fn a_truncated_listing_has_the_total_count() {
    let gateway = Gateway::with_config("[tools.file_list]\nmax_entries = 10\n");
    let made = gateway.call("bash", json!({ "cmd": "mkdir -p a/b && touch a/b/$(seq 30 | sed 's/^/f/' | paste -sd' ' | sed 's/ / a\\/b\\//g')" }));
    assert_eq!(made["result"]["exit_code"], 0, "{made}");
    let list = |recursive| {
        let said = gateway.call(
            "tool::file_list",
            json!({ "path": "a", "recursive": recursive }),
        );
        said["result"].clone()
    };
    let all = list(true);
    assert_eq!(
        (&all["truncated"], &all["total"]),
        (&json!(true), &json!(31)),
        "{all}"
    );
    assert_eq!(all["entries"].as_array().map(Vec::len), Some(10));
    let one = list(false);
    assert_eq!(
        (one.get("truncated"), one.get("total")),
        (None, None),
        "{one}"
    );
}

#[test]
fn a_node_gives_all_of_a_long_output_and_counts_all_matches() {
    let gateway = Gateway::start();
    let machine = Machine::lend(&gateway, "laptop");
    let result = machine.bash(&gateway, "seq 40000; echo it broke >&2; exit 3");
    assert_eq!(result["truncated"], true);
    assert_eq!(result["exitCode"], 3);
    assert_eq!(result["stderr"], "it broke\n");
    assert_eq!(result["output"].as_str().map(str::len), Some(200_000));
    // The two streams are read by turns: a pipe of numbers may still be unread when the error is.
    let tail = result["tail"].as_str().expect("a tail");
    assert!(tail.contains("\n40000\n"), "the last number is in the tail");
    let id = result["artifactId"].as_str().expect("an id");
    let whole = gateway.cli(&["artifact", id]).ok().stdout;
    let expected: String = (1..=40_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(whole.replace("it broke\n", ""), expected);
    assert_eq!(result["fullSize"], whole.len());
    assert_eq!(result.get("fullOutput"), None);

    machine.put("numbers.txt", expected.as_bytes());
    let grep = |pattern: &str| {
        machine.call(&gateway, "Grep", json!({ "pattern": pattern }))["result"].clone()
    };
    let many = grep("^123");
    assert_eq!(
        (&many["truncated"], &many["total"]),
        (&json!(true), &json!(111)),
        "{many:.300}"
    );
    let most = grep("1");
    assert_eq!(
        (&most["total"], &most["totalIsMinimum"]),
        (&json!(10_000), &json!(true))
    );
    let few = grep("^1234.$");
    assert_eq!((&few["count"], few.get("total")), (&json!(10), None));
}

#[test]
fn text_with_a_nul_is_text() {
    let gateway = Gateway::start();
    let machine = Machine::lend(&gateway, "laptop");
    machine.put("odd.txt", b"one\0two\nthree\n");
    let read = machine.call(&gateway, "Read", json!({ "path": "odd.txt" }));
    assert_eq!(
        read["result"]["content"], "1\tone\u{0}two\n2\tthree",
        "{read}"
    );
    let found = machine.call(&gateway, "Grep", json!({ "pattern": "two" }));
    assert_eq!(found["result"]["count"], 1, "{found}");
}
