//! An audit that was tampered with says so, and where.

use std::path::Path;

use serde_json::json;

use crate::harness::{Gateway, Home, Ran};
use crate::sql::Sql;

/// A home with some history, at rest.
fn history() -> Home {
    let gateway = Gateway::start();
    for number in 0..6 {
        gateway.write(&format!("{number}.md"), "x");
        gateway.call("gsv__ReadFile", json!({ "path": "nowhere" }));
    }
    gateway.stop()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("a copy");
        }
    }
    let mode = std::fs::metadata(from).expect("the folder").permissions();
    std::fs::set_permissions(to, mode).expect("its mode");
}

/// What a tamperer does to the home, and the entry that has to be named.
type Tamper = (&'static str, fn(&mut Sql, &Path), Option<i64>);

const COLUMNS: &str = "at, kind, call_id, caller, agent, tool, effects, arguments_digest, summary, status, code, duration_us, hash";

fn swap(sql: &mut Sql, columns: &str) {
    sql.run("CREATE TEMP TABLE pair AS SELECT * FROM audit WHERE seq IN (5, 6)");
    for (here, there) in [(5, 6), (6, 5)] {
        sql.run(&format!("UPDATE audit SET ({columns}) = (SELECT {columns} FROM pair WHERE seq = {there}) WHERE seq = {here}"));
    }
    sql.run("DROP TABLE pair");
}

fn tampers() -> Vec<Tamper> {
    vec![
        (
            "a changed summary",
            |sql, _| {
                assert_eq!(
                    sql.run("UPDATE audit SET summary = 'nothing to see' WHERE seq = 4"),
                    1
                )
            },
            Some(4),
        ),
        (
            "a changed caller",
            |sql, _| {
                assert_eq!(
                    sql.run("UPDATE audit SET caller = 'somebody else' WHERE seq = 1"),
                    1
                )
            },
            Some(1),
        ),
        (
            "a changed time",
            |sql, _| assert_eq!(sql.run("UPDATE audit SET at = at + 1 WHERE seq = 7"), 1),
            Some(7),
        ),
        (
            "a changed code",
            |sql, _| {
                assert_eq!(sql.run("UPDATE audit SET status = 'ok', code = '' WHERE code = 'not_found' AND seq = (SELECT MIN(seq) FROM audit WHERE code = 'not_found')"), 1)
            },
            None,
        ),
        (
            "a changed hash",
            |sql, _| {
                assert_eq!(
                    sql.run("UPDATE audit SET hash = lower(hex(randomblob(32))) WHERE seq = 3"),
                    1
                )
            },
            Some(3),
        ),
        (
            "a missing entry",
            |sql, _| assert_eq!(sql.run("DELETE FROM audit WHERE seq = 4"), 1),
            Some(4),
        ),
        (
            "missing first entries",
            |sql, _| assert_eq!(sql.run("DELETE FROM audit WHERE seq <= 2"), 2),
            Some(1),
        ),
        ("swapped entries", |sql, _| swap(sql, COLUMNS), Some(5)),
        (
            "swapped entries that keep their hashes",
            |sql, _| swap(sql, &COLUMNS.replace(", hash", "")),
            Some(5),
        ),
        (
            "a cut-off end",
            |sql, _| {
                assert_eq!(
                    sql.run("DELETE FROM audit WHERE seq > (SELECT MAX(seq) FROM audit) - 2"),
                    2
                )
            },
            None,
        ),
        (
            "everything gone",
            |sql, _| assert!(sql.run("DELETE FROM audit") > 2),
            None,
        ),
        (
            "a head that was moved back",
            |sql, _| {
                sql.run("DELETE FROM audit WHERE seq > 6");
                sql.run(
                    "UPDATE audit_head SET seq = 6, hash = (SELECT hash FROM audit WHERE seq = 6)",
                );
            },
            None,
        ),
        (
            "a head that is gone",
            |sql, _| assert_eq!(sql.run("DELETE FROM audit_head"), 1),
            None,
        ),
        (
            "the head beside the database gone",
            |_, home| std::fs::remove_file(home.join("audit.head")).expect("it was there"),
            None,
        ),
        (
            "the head beside the database changed",
            |_, home| {
                let file = home.join("audit.head");
                let text = std::fs::read_to_string(&file).expect("the head").replacen(
                    "\"seq\":",
                    "\"seq\":1",
                    1,
                );
                std::fs::write(&file, text).expect("the head");
            },
            None,
        ),
        (
            "a cut-off end and both heads gone",
            |sql, home| {
                sql.run("DELETE FROM audit WHERE seq > 6");
                sql.run("DELETE FROM audit_head");
                std::fs::remove_file(home.join("audit.head")).expect("it was there");
            },
            None,
        ),
        (
            "an entry added at the end",
            |sql, _| {
                let add = format!(
                    "INSERT INTO audit (seq, {COLUMNS}) SELECT (SELECT MAX(seq) + 1 FROM audit), {COLUMNS} FROM audit WHERE seq = 2"
                );
                assert_eq!(sql.run(&add), 1);
            },
            None,
        ),
        (
            "an entry before the first",
            |sql, _| {
                let add = format!(
                    "INSERT INTO audit (seq, {COLUMNS}) SELECT 0, {COLUMNS} FROM audit WHERE seq = 2"
                );
                assert_eq!(sql.run(&add), 1);
            },
            Some(0),
        ),
    ]
}

fn caught(ran: &Ran, what: &str, entry: Option<i64>) {
    assert_eq!(ran.code, Some(1), "{what}: {ran:?}");
    assert!(
        ran.stdout.contains("tampered") && ran.stdout.contains("  entry "),
        "{what}: {ran:?}"
    );
    if let Some(entry) = entry {
        assert!(
            ran.stdout.contains(&format!("  entry {entry}: ")),
            "{what} names entry {entry}: {ran:?}"
        );
    }
}

#[test]
fn every_kind_of_tampering_is_found_and_named() {
    let original = history();
    let control = original.cli(&["audit", "verify"]);
    assert_eq!(control.code, Some(0), "{control:?}");
    assert!(
        control.stdout.contains("audit log verified: 18 entries"),
        "{control:?}"
    );
    for (what, tamper, entry) in tampers() {
        let home = Home::new();
        copy(&original.path(), &home.path());
        let untouched = home.cli(&["audit", "verify"]);
        assert_eq!(
            untouched.code,
            Some(0),
            "the control of {what}: {untouched:?}"
        );
        let mut sql = Sql::open(&home.path());
        tamper(&mut sql, &home.path());
        sql.close();
        caught(&home.cli(&["audit", "verify"]), what, entry);
    }
}

#[test]
fn tampering_under_a_running_gateway_is_found_and_not_forgotten() {
    let gateway = Gateway::start();
    for number in 0..5 {
        gateway.write(&format!("{number}.md"), "x");
    }
    gateway.verify_audit();
    let mut sql = Sql::open(&gateway.home.path());
    assert_eq!(
        sql.run("UPDATE audit SET tool = 'gsv__ReadFile' WHERE seq = 4"),
        1
    );
    caught(&gateway.cli(&["audit", "verify"]), "while it runs", Some(4));
    let verdict = gateway.post("/api/audit/verify", &json!({})).json();
    assert_eq!(
        (
            &verdict["result"]["ok"],
            &verdict["result"]["problems"][0]["seq"]
        ),
        (&json!(false), &json!(4)),
        "{verdict}"
    );
    // The end is cut off, and the gateway goes on writing over it.
    let last = sql.numbers("SELECT MAX(seq) FROM audit")[0];
    sql.run(&format!("DELETE FROM audit WHERE seq > {}", last - 3));
    sql.close();
    let gateway = gateway.restart();
    gateway.write("later.md", "x");
    let ran = gateway.cli(&["audit", "verify"]);
    caught(&ran, "after a restart and more entries", Some(4));
    assert_eq!(
        gateway.read("later.md").as_deref(),
        Some("x"),
        "the gateway still works"
    );
}
