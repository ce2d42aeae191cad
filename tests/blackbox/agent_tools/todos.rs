//! `todo_update`: every parameter, every error of its text, and the files beside it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{gives, refuses, scripted};
use crate::harness::{Gateway, Home};
use crate::http::Request;

const TOOL: &str = "todo_update";
const KEYS: [&str; 5] = ["ok", "action", "updated_counts", "changed", "entry"];

/// The people of these tests, as somebody wrote them down.
const CONTACTS: &str = "# Active Contacts

## John
```yaml
contact_id: tg:1001
nickname: John
tg_username: johnwick
tg_private_chat_id: 1001
tg_group_chat_ids: [-1001981343441]
```

## Sam
```yaml
contact_id: slack:T1:U1
nickname: Sam
slack_team_id: T1
slack_dm_channel_id: D1
```

## Sam of Telegram
```yaml
contact_id: tg:1002
nickname: Sam
tg_private_chat_id: \"1002\"
```

## Dana
```yaml
contact_id: discord_user:7
nickname: Dana
discord_dm_channel_id: \"77\"
```
";

/// What a model answers to the three questions.
const MODEL: &str = r#"
  - when: { user: '"query":"the cat"' }
    text: '{"status": "matched", "index": 1}'
  - when: { user: '"query":"unheard of"' }
    text: '{"status": "no_match", "index": null, "candidate_indices": null}'
  - when: { user: '"query":"either"' }
    text: '{"status": "ambiguous", "candidate_indices": [0, 1]}'
  - when: { user: '"query":"beyond"' }
    text: '{"status": "matched", "index": 99}'
  - when: { user: '"query"' }
    text: I would rather not.
  - when: { user: '"content":"Remind Johnny' }
    text: '{"status": "ok", "rewritten_content": "Remind [Johnny](tg:1001) to pay"}'
  - when: { user: '"content":"Remind nobody' }
    text: '{"status": "missing_reference_id", "missing": [{"mention": "Nobody"}]}'
  - when: { user: '"content":"Remind a stranger' }
    text: '{"status": "ok", "rewritten_content": "Remind [Eve](tg:666)"}'
  - when: { user: '"content":"Remind oddly' }
    text: '{"status": "ok", "rewritten_content": "Remind [Eve](eve:666)"}'
  - when: { user: '"reachable_ids"' }
    text: no JSON at all
  - when: { user: pay the rent for the garage }
    text: '{"keep_indices": [0, 1, 2]}'
  - when: { user: pay the rent at once }
    text: '{"keep": "all"}'
  - when: { user: pay the rent in march }
    text: '{"keep_indices": [0]}'
"#;

/// The folder for what is to stay.
fn state(home: &Home) -> PathBuf {
    home.path().join("host/state")
}

/// A home with contacts.
fn peopled(home: Home) -> Home {
    let folder = state(&home).join("contacts");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("ACTIVE.md"), CONTACTS).expect("contacts");
    home
}

/// A gateway with contacts and no model.
fn plain(config: &str) -> Gateway {
    Gateway::on(peopled(Home::new().with_config(config)))
}

/// A gateway with contacts and the model above.
fn thinking() -> Gateway {
    let home = scripted(MODEL, "").stop();
    Gateway::on(peopled(home))
}

fn add(content: &str, people: &[&str]) -> Value {
    json!({ "action": "add", "content": content, "people": people })
}

fn complete(content: &str) -> Value {
    json!({ "action": "complete", "content": content })
}

fn text(gateway: &Gateway, name: &str) -> String {
    std::fs::read_to_string(state(&gateway.home).join(name)).unwrap_or_default()
}

/// An item that must be written down without a warning.
#[track_caller]
fn written(gateway: &Gateway, content: &str, people: &[&str]) -> Value {
    gives(gateway, TOOL, add(content, people), &KEYS)
}

/// A refusal, after which the files are as they were.
#[track_caller]
fn untouched(gateway: &Gateway, arguments: Value, code: &str, words: &str) {
    let files = |gateway: &Gateway| ["TODO.md", "TODO.DONE.md"].map(|name| text(gateway, name));
    let before = files(gateway);
    refuses(gateway, TOOL, arguments, code, &[words]);
    assert_eq!(files(gateway), before);
}

#[test]
fn items_are_added_and_completed_without_a_model() {
    let gateway = plain("");
    let mut rent = add("Remind John to pay", &["John", "$SPEAKER", "$AGENT"]);
    rent["chat_id"] = json!("tg:-1001981343441");
    let added = gives(&gateway, TOOL, rent, &KEYS);
    assert_eq!(
        (&added["ok"], &added["action"]),
        (&json!(true), &json!("add"))
    );
    let entry = &added["entry"];
    assert_eq!(entry["content"], "Remind [John](tg:1001) to pay");
    assert_eq!(entry["chat_id"], "tg:-1001981343441");
    assert_eq!(
        added["updated_counts"],
        json!({ "open_count": 1, "done_count": 0 })
    );
    let changed = json!({ "wip_added": 1, "wip_removed": 0, "done_added": 0 });
    assert_eq!(added["changed"], changed);
    written(&gateway, "Ask Dana (discord:77)", &["Dana"]);
    let file = text(&gateway, "TODO.md");
    let line = format!(
        "- [ ] [Created]({}), [ChatID](tg:-1001981343441), [ID]({}) | Remind [John](tg:1001) to pay\n",
        entry["created_at"].as_str().expect("a time"),
        entry["id"].as_str().expect("an id"),
    );
    assert!(file.ends_with(&line), "newest first: {file}");
    assert!(file.contains("open_count: 2\n") && file.contains("# TODO Work In Progress (WIP)\n"));
    let done = gives(&gateway, TOOL, complete("john to pay"), &KEYS);
    assert_eq!(
        done["updated_counts"],
        json!({ "open_count": 1, "done_count": 1 })
    );
    let changed = json!({ "wip_added": 0, "wip_removed": 1, "done_added": 1 });
    assert_eq!(done["changed"], changed);
    assert_eq!(done["entry"]["id"], entry["id"]);
    assert!(done["entry"]["done_at"].is_string());
    assert!(text(&gateway, "TODO.DONE.md").contains("- [x] [Created]"));
    let gateway = gateway.restart();
    gives(&gateway, TOOL, complete("Ask Dana"), &KEYS);
    assert!(text(&gateway, "TODO.md").contains("open_count: 0\n"));
}

#[test]
fn every_specified_error_has_its_wording() {
    let gateway = plain("");
    let wrong = "invalid_arguments";
    for (arguments, words) in [
        (json!({}), "action is required"),
        (
            json!({ "action": "", "content": "x" }),
            "action is required",
        ),
        (json!({ "action": "add" }), "content is required"),
        (
            json!({ "action": "complete", "content": " \n" }),
            "content is required",
        ),
        (
            json!({ "action": "remove", "content": "x" }),
            "invalid action: remove",
        ),
        (
            json!({ "action": "add", "content": "x" }),
            "people is required for add action",
        ),
        (add("x", &[]), "people is required for add action"),
        (add("x", &[" "]), "people is required for add action"),
        (
            json!({ "action": "add", "content": "x", "people": "John" }),
            "people must be an array of strings",
        ),
        (
            json!({ "action": "add", "content": "x", "people": ["John", 7] }),
            "people must be an array of strings",
        ),
        (
            add("Ask John (tg:john)", &["John"]),
            "invalid reference id: (tg:john)",
        ),
        (
            add("Ask [John](lark_user:ou_1)", &["John"]),
            "invalid reference id: (lark_user:ou_1)",
        ),
        (
            add("Ask [Eve](tg:666)", &["Eve"]),
            "reference id is not reachable: tg:666",
        ),
        (
            add("Ask Eve", &["tg:@eve"]),
            "reference id is not reachable: tg:@eve",
        ),
        (
            add(&"x".repeat(4_001), &["$AGENT"]),
            "at most 4000 characters",
        ),
        (
            json!({ "action": "add", "content": "x", "people": ["John"], "who": "me" }),
            "who: is not a parameter",
        ),
    ] {
        untouched(&gateway, arguments, wrong, words);
    }
    for chat in ["tg:0", "tg:x", "slack:T1:C1", "5"] {
        let mut item = add("x", &["$AGENT"]);
        item["chat_id"] = json!(chat);
        untouched(&gateway, item, wrong, &format!("invalid chat_id: {chat}"));
    }
    untouched(
        &gateway,
        complete("x"),
        "not_found",
        "no matching todo item in TODO.md",
    );
    written(&gateway, "feed the cat", &["$AGENT"]);
    written(&gateway, "wash the car", &["$AGENT"]);
    untouched(
        &gateway,
        complete("the"),
        wrong,
        "ambiguous todo item match",
    );
    let words = "todo_update unavailable (missing llm client)";
    untouched(&gateway, complete("pets"), "unavailable", words);
    let home = gateway.stop();
    let script = home.outside("script.yaml");
    std::fs::write(&script, "turns:\n  - text: hello\n").expect("a script");
    let config = format!(
        "[models.providers.scripted]\nkind = \"scripted\"\nscript = {:?}\n",
        script.display()
    );
    let gateway = Gateway::on(home.with_config(&config));
    let words = "todo_update unavailable (missing llm model)";
    untouched(&gateway, complete("pets"), "unavailable", words);
    gives(&gateway, TOOL, complete("cat"), &KEYS);
    let home = gateway
        .stop()
        .with_config("tools.todo_update.enabled = false");
    let gateway = Gateway::on(home);
    let said = gateway.call(TOOL, complete("car"));
    let error = said["error"].as_str().expect("an error");
    assert!(error.contains("todo_update tool is disabled"), "{error}");
}

#[test]
fn an_unmapped_person_is_stored_as_text_with_a_warning() {
    let gateway = plain("");
    let keys = [
        "ok",
        "action",
        "updated_counts",
        "changed",
        "entry",
        "warnings",
    ];
    for (content, people, who) in [
        ("Remind Sam to pay", ["Sam"], "Sam"),
        ("Remind Eve to pay", ["Eve"], "Eve"),
        ("Pay him back", ["John"], "John"),
    ] {
        let raw = gives(&gateway, TOOL, add(content, &people), &keys);
        assert_eq!(raw["entry"]["content"], content);
        let warnings = json!([
            "reference_unresolved_write_raw",
            format!("missing_reference_id: {who}")
        ]);
        assert_eq!(raw["warnings"], warnings);
    }
}

#[test]
fn a_model_resolves_ambiguous_matches() {
    let gateway = thinking();
    for content in ["wash the car", "feed the animal", "water the plants"] {
        written(&gateway, content, &["$AGENT"]);
    }
    untouched(
        &gateway,
        complete("unheard of"),
        "not_found",
        "no matching todo item in TODO.md",
    );
    let many = "ambiguous todo item match: water the plants";
    untouched(&gateway, complete("either"), "invalid_arguments", many);
    for query in ["beyond", "gibberish"] {
        untouched(
            &gateway,
            complete(query),
            "failed",
            "invalid semantic_match response",
        );
    }
    let done = gives(&gateway, TOOL, complete("the cat"), &KEYS);
    assert_eq!(done["entry"]["content"], "feed the animal");

    let rewritten = written(&gateway, "Remind Johnny to pay", &["that guy"]);
    assert_eq!(
        rewritten["entry"]["content"],
        "Remind [Johnny](tg:1001) to pay"
    );
    let keys = [
        "ok",
        "action",
        "updated_counts",
        "changed",
        "entry",
        "warnings",
    ];
    let raw = gives(&gateway, TOOL, add("Remind nobody", &["Nobody"]), &keys);
    assert_eq!(raw["warnings"][0], "reference_unresolved_write_raw");
    let stranger = add("Remind a stranger", &["Eve"]);
    untouched(
        &gateway,
        stranger,
        "invalid_arguments",
        "reference id is not reachable: tg:666",
    );
    let odd = add("Remind oddly", &["Eve"]);
    untouched(
        &gateway,
        odd,
        "invalid_arguments",
        "invalid reference id: (eve:666)",
    );
    let garbage = add("Tell Eve", &["Eve"]);
    untouched(
        &gateway,
        garbage,
        "failed",
        "invalid reference_resolve response",
    );
}

#[test]
fn a_duplicate_item_replaces_the_older_one_and_is_counted() {
    let gateway = thinking();
    let keys = [
        "ok",
        "action",
        "updated_counts",
        "changed",
        "entry",
        "removed",
    ];
    written(&gateway, "Pay the rent", &["$AGENT"]);
    let exact = gives(&gateway, TOOL, add("pay  the RENT", &["$AGENT"]), &keys);
    assert_eq!(exact["changed"]["wip_removed"], 1);
    assert_eq!(exact["removed"][0]["content"], "Pay the rent");
    let meant = gives(
        &gateway,
        TOOL,
        add("Pay the rent in March", &["$AGENT"]),
        &keys,
    );
    assert_eq!(
        (
            &meant["changed"]["wip_removed"],
            &meant["updated_counts"]["open_count"]
        ),
        (&json!(1), &json!(1))
    );
    // A model that keeps more than there is, or answers in a shape of its own, changes nothing.
    let kept = add("Pay the rent for the garage", &["$AGENT"]);
    untouched(&gateway, kept, "failed", "invalid semantic_dedup response");
    let garbage = add("Pay the rent at once", &["$AGENT"]);
    untouched(
        &gateway,
        garbage,
        "failed",
        "invalid semantic_dedup response",
    );
    // Nothing alike, no question.
    written(&gateway, "Buy milk", &["$AGENT"]);
}

#[test]
fn recurring_items_are_stored_separately_and_added_when_due() {
    let gateway = plain("");
    let again = |next: &str, repeat: &str| {
        let mut item = add("Water the plants", &["$AGENT"]);
        item["action"] = json!("add_recurring");
        item["next"] = json!(next);
        item["repeat"] = json!(repeat);
        item
    };
    let wrong = "invalid_arguments";
    for (item, words) in [
        (
            again("", "daily"),
            "next is required for add_recurring action",
        ),
        (
            again("2026-01-01 09:00", ""),
            "repeat is required for add_recurring action",
        ),
        (again("tomorrow", "daily"), "write YYYY-MM-DD HH:MM"),
        (again("2026-01-01 09:00", "often"), "write daily, weekly"),
    ] {
        untouched(&gateway, item, wrong, words);
    }
    let kept = gives(&gateway, TOOL, again("2999-01-01 09:00", "weekly"), &KEYS);
    assert_eq!(kept["changed"]["recurring_added"], 1);
    assert_eq!(kept["updated_counts"]["open_count"], 0);
    let due = gives(
        &gateway,
        TOOL,
        again("2026-01-01 09:00", "every 2 days"),
        &KEYS,
    );
    assert_eq!(due["entry"]["repeat"], "every 2 days");
    let listed = gateway.get("/api/todos").json();
    let listed = &listed["result"];
    assert_eq!(
        (
            &listed["openCount"],
            listed["recurring"].as_array().map(Vec::len)
        ),
        (&json!(1), Some(2))
    );
    assert_eq!(listed["open"][0]["content"], "Water the plants");
    gives(&gateway, TOOL, complete("water"), &KEYS);
    assert_eq!(
        gateway.get("/api/todos").json()["result"]["openCount"],
        0,
        "not due again yet"
    );
}

#[test]
fn concurrent_edits_by_people_and_tools_lose_no_line() {
    let gateway = plain("");
    let mine = "My own list\r\n\r\n- [ ] buy milk\r\n  - oat, if there is\r\n<!--\r\n- [ ] an example\r\n-->\r\nlast words";
    let path = "file_state_dir/TODO.md";
    let put = json!({ "path": path, "content": mine });
    assert_eq!(gateway.call("write_file", put)["ok"], true);
    written(&gateway, "feed the cat", &["$AGENT"]);
    gives(&gateway, TOOL, complete("buy milk"), &KEYS);
    let read = gateway.call("read_file", json!({ "path": path }));
    let now = read["result"]["content"].as_str().expect("text").to_owned();
    let rest: Vec<&str> = now
        .split("\r\n")
        .filter(|line| !line.contains("| feed the cat"))
        .collect();
    let expect: Vec<&str> = mine
        .split("\r\n")
        .filter(|line| *line != "- [ ] buy milk")
        .collect();
    assert_eq!(rest, expect);
    assert!(text(&gateway, "TODO.DONE.md").contains("| buy milk"));
}

#[test]
fn a_crash_between_the_two_files_loses_nothing_and_doubles_nothing() {
    let gateway = plain("");
    written(&gateway, "one", &["$AGENT"]);
    written(&gateway, "two", &["$AGENT"]);
    let before = text(&gateway, "TODO.md");
    gives(&gateway, TOOL, complete("one"), &KEYS);
    let home = gateway.kill9();
    // As if it had ended after the first of the two writes.
    std::fs::write(state(&home).join("TODO.md"), before).expect("the file");
    let gateway = Gateway::on(home);
    let listed = gateway.get("/api/todos").json()["result"].clone();
    assert_eq!(
        (&listed["openCount"], &listed["doneCount"]),
        (&json!(1), &json!(1))
    );
    untouched(
        &gateway,
        complete("one"),
        "unavailable",
        "missing llm client",
    );
    written(&gateway, "three", &["$AGENT"]);
    let file = text(&gateway, "TODO.md");
    assert!(
        !file.contains("| one") && file.contains("open_count: 2"),
        "{file}"
    );
}

#[test]
fn concurrent_writers_lose_nothing() {
    let gateway = plain("");
    let (addr, owner) = (gateway.addr, gateway.owner.clone());
    let call = |arguments: Value| {
        let request = Request::post("/api/tools/todo_update", &arguments).bearer(&owner);
        let said = request.send(addr).json();
        assert_eq!(said["ok"], true, "{said}");
    };
    std::thread::scope(|scope| {
        for n in 0..12 {
            let call = &call;
            scope.spawn(move || {
                call(add(&format!("item number{n}end"), &["$AGENT"]));
                if n % 3 == 0 {
                    call(complete(&format!("number{n}end")));
                }
            });
        }
    });
    let listed = gateway.get("/api/todos").json()["result"].clone();
    assert_eq!(
        (&listed["openCount"], &listed["doneCount"]),
        (&json!(8), &json!(4))
    );
}

#[test]
fn the_command_line_does_the_same() {
    let gateway = plain("");
    let empty = gateway.cli(&["todo"]).ok();
    assert!(empty.stdout.contains("no to-dos"), "{empty:?}");
    let added = gateway
        .cli(&["todo", "add", "Remind John to pay", "--person", "John"])
        .ok();
    assert!(
        added
            .stdout
            .contains("Remind [John](tg:1001) to pay; 1 open, 0 done"),
        "{added:?}"
    );
    gateway
        .cli(&[
            "todo",
            "add",
            "Buy milk",
            "--repeat",
            "daily",
            "--next",
            "2999-01-01 09:00",
        ])
        .ok();
    let listed = gateway.cli(&["todo", "list"]).ok();
    assert!(
        listed.stdout.contains("Remind [John]") && listed.stdout.contains("daily"),
        "{listed:?}"
    );
    gateway.cli(&["todo", "done", "john"]).ok();
    let failed = gateway.cli(&["todo", "done", "john"]);
    assert!(
        failed.code != Some(0) && failed.stderr.contains("no matching todo item"),
        "{failed:?}"
    );
    let all = gateway
        .cli(&["todo", "list", "--done", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&all["openCount"], &all["doneCount"]),
        (&json!(0), &json!(1))
    );
}
