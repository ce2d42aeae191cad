//! Makes the homes in `tests/homes`; see the README there.

use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha384};

use super::{Migration, columns, homes, migrations, tables};
use crate::harness::{Gateway, Home, eventually};
use crate::nodes::fixture::Machine;
use crate::sql::Sql;

/// The schema that brought checkpoints of a pruned audit. Only its home has one: the latest 1,000 entries are never
/// pruned, and the homes should be small.
const PRUNED: i64 = 16;
/// Files of a home besides the database.
const FILES: [&str; 5] = [
    "config.toml",
    "owner.token",
    "vault.key",
    "audit.head",
    "blobs",
];

const SCRIPT: &str = "turns:\n  - when: { user: look }\n    calls: [{ name: gsv__ReadFile, arguments: { path: memory/a.md } }]\n  - when: { result_of: gsv__ReadFile }\n    text: It says seven.\n  - when: { user: good morning }\n    text: Good morning.\n";

/// Rows that need other parties: chat platforms, logins, nodes that report.
const ROWS: &str = r#"
INSERT INTO token (id, name, role, tools, agents, hash, created, expires) VALUES
    ('99999999-0000-4000-8000-000000000001', 'page 2026-01-02T03:04:05.678Z', 'owner', '["*"]', '["*"]', '00000000000000000000000000000000000000000000000000000000000000ff', 100, 2592000100);
INSERT INTO node_news (node, event_id, session_id, event, payload, at) VALUES ('laptop', 'e1', 's1', 'finished', '{}', 4000000000000);
INSERT INTO agent_message (id, sender, recipient, body, at) VALUES ('99999999-0000-4000-8000-000000000002', 'main', 'helper', 'hello helper', 100);
INSERT INTO server_tool (server, name, place, seen) VALUES ('retired', 'search', 0, 100);
INSERT INTO connection (id, service, name, kind, fields, agents, status, detail, created) VALUES
    ('99999999-0000-4000-8000-000000000003', 'retired', 'work', '"keys"', '[]', '["*"]', '"connected"', '', 100);
INSERT INTO cron_note (name, value) VALUES ('zone', 'Europe/Berlin') ON CONFLICT (name) DO NOTHING;
INSERT INTO inbox (id, seq, channel, account, event, lane, body, state, attempts, received, ended) VALUES
    ('99999999-0000-4000-8000-000000000004', 1, 'telegram', 'default', 'u1', 'telegram/default/42', '{}', 'done', 1, 4000000000000, 4000000000000);
INSERT INTO outbox (id, key, seq, channel, account, lane, body, state, attempts, due, message, created, ended) VALUES
    ('99999999-0000-4000-8000-000000000005', 'k1', 1, 'telegram', 'default', 'telegram/default/42', '{}', 'sent', 1, 100, '7', 4000000000000, 4000000000000);
INSERT INTO promise (session_key, run_id, place, created) VALUES
    ('agent:main:gone', 'r1', '{"channel":"telegram","account":"default","kind":"dm","chat":"42"}', 100);
INSERT INTO sender (channel, id, name, state, owner, place, asked, decided) VALUES
    ('telegram', '42', 'Ada', 'approved', 1, '{"channel":"telegram","account":"default","kind":"dm","chat":"42"}', 100, 200);
INSERT INTO channel_chat (channel, account, chat, kind, name, last) VALUES ('telegram', 'default', '42', 'dm', 'Ada', 100);
INSERT INTO channel_note (channel, account, name, value) VALUES ('telegram', 'default', 'offset', '8');
INSERT INTO session_gone (folder) VALUES ('archives/gone');
INSERT INTO provenance (kind, id, author, source, at) VALUES ('file', 'agents/main/memory/read.md', 'main', 'https://example.org', 100);
INSERT INTO continuation (id, caller, created, body) VALUES ('99999999-0000-4000-8000-000000000006', 'token:x', 4000000000000, '[]');
INSERT INTO audit_open (call_id, seq) SELECT 'none', 1 WHERE NOT EXISTS (SELECT 1 FROM audit_open);
"#;

/// Makes the homes that are missing.
pub fn missing() {
    let all = migrations();
    let missing: Vec<usize> = (1..=all.len())
        .filter(|count| !file(all[count - 1].version).exists())
        .collect();
    if missing.is_empty() {
        return;
    }
    let (whole, pruned) = sources();
    for count in missing {
        let version = all[count - 1].version;
        let source = if version == PRUNED { &pruned } else { &whole };
        make(&all[..count], source, &file(version));
    }
}

fn file(version: i64) -> PathBuf {
    homes().join(format!("{version:04}.tar.gz"))
}

/// A home of the present schema with its whole audit, and the same with a pruned one.
fn sources() -> (Home, Home) {
    let home = Home::new();
    std::fs::write(home.outside("turns.yaml"), SCRIPT).expect("the script");
    let script = home.outside("turns.yaml");
    let models = format!(
        "[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {script:?}\n[[policy.rules]]\ndecision = \"ask\"\ntools = [\"gsv__DeleteFile\"]\n"
    );
    let gateway = Gateway::on(home.with_config(&models));
    furnish(&gateway);
    let home = gateway.stop();
    // A script of this machine is nobody else's.
    std::fs::write(
        home.path().join("config.toml"),
        "# a test home\n[limits]\nresult_bytes = 2000\n",
    )
    .expect("the settings");
    let mut sql = Sql::open(&home.path());
    sql.run(ROWS);
    sql.close();
    let whole = copy(&home);
    let pruned = prune(home);
    (whole, pruned)
}

/// Uses what a user uses.
fn furnish(gateway: &Gateway) {
    let done = |tool: &str, arguments: Value| {
        let said = gateway.call(tool, arguments);
        assert_eq!(said["ok"], true, "{tool}: {said}");
        said["result"].clone()
    };
    gateway.client("phone");
    gateway
        .cli(&["token", "create", "laptop-tools", "--tools", "gsv__*"])
        .ok();
    gateway
        .home
        .cli_with(&["secret", "set", "bank"], "hunter2-hunter2")
        .ok();
    gateway.write("memory/a.md", "seven");
    gateway
        .cli(&["config", "set", "limits.result_bytes", "2000"])
        .ok();
    gateway.write("big.md", &"x".repeat(9_000));
    done("gsv__ReadFile", json!({ "path": "big.md" }));
    let note = gateway.home.outside("note.txt");
    std::fs::write(&note, "an artifact").expect("a file");
    gateway
        .cli(&["artifact", "put", &note.display().to_string()])
        .ok();
    gateway.cli(&["chat", "look"]).ok();
    gateway
        .cli(&[
            "cron",
            "add",
            "--name",
            "daily",
            "--cron",
            "0 9 * * *",
            "--message",
            "good morning",
        ])
        .ok();
    let job = gateway.cli(&["cron", "list", "--json"]).ok().json();
    let job = job["jobs"][0]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{job}"))
        .to_owned();
    gateway.cli(&["cron", "run", &job]);
    let _laptop = Machine::lend(gateway, "laptop");
    gateway
        .cli(&["nodes", "code", "tablet", "--expires", "1d"])
        .ok();
    let client = gateway.client("asker");
    let asked = gateway.call_as(&client, "gsv__DeleteFile", json!({ "path": "memory/a.md" }));
    assert_eq!(asked.status, 428, "it needs an approval: {}", asked.text());
    let id = |kind: &str, name: &str| {
        let made = gateway.cli(&["resource", "create", kind, name]).ok().json();
        made["collectionId"].as_str().expect("an id").to_owned()
    };
    done(
        "datastore_write",
        json!({ "collectionId": id("datastore", "sales"), "rows": [{ "id": "a", "data": { "sum": 7 } }] }),
    );
    done(
        "filestore_write",
        json!({ "collectionId": id("filestore", "files"), "path": "a.txt", "content": "in a store" }),
    );
    done(
        "knowledge_add",
        json!({ "collectionId": id("knowledge", "handbook"), "title": "Holidays", "text": "There are thirty days of holidays." }),
    );
    id("vault", "keys");
    gateway
        .home
        .cli_with(
            &[
                "resource",
                "secret",
                "set",
                "keys",
                "API",
                "--host",
                "api.example.org",
            ],
            "s3cret-in-a-vault",
        )
        .ok();
    let mut sql = Sql::open(&gateway.home.path());
    eventually("conversations are indexed", || {
        sql.numbers("SELECT COUNT(*) FROM memory_piece")[0] > 0
    });
    sql.close();
}

/// A copy of a home that does not run.
fn copy(home: &Home) -> Home {
    let other = Home::new();
    let done = std::process::Command::new("cp")
        .arg("-a")
        .arg(home.path())
        .arg(other.path())
        .status();
    assert!(done.expect("cp").success());
    other
}

/// Lets the gateway prune its audit.
fn prune(home: Home) -> Home {
    let config = home.path().join("config.toml");
    let text = std::fs::read_to_string(&config).expect("the settings");
    std::fs::write(&config, format!("{text}[audit]\nmax_bytes = 6000\n")).expect("the settings");
    let mut sql = Sql::open(&home.path());
    sql.run("DELETE FROM audit_open"); // what is open is not pruned
    sql.close();
    let gateway = Gateway::on(home);
    for _ in 0..520 {
        gateway.write("memory/a.md", "seven");
    }
    let gateway = gateway.restart(); // it prunes when it starts
    let mut sql = Sql::open(&gateway.home.path());
    eventually("the audit is pruned", || {
        sql.numbers("SELECT COUNT(*) FROM audit_checkpoint")[0] > 0
    });
    sql.close();
    let home = gateway.stop();
    std::fs::write(config, text).expect("the settings");
    // What the start has worked off.
    let mut sql = Sql::open(&home.path());
    for row in ROWS.split_inclusive(";\n") {
        let again = row.replacen("INSERT INTO", "INSERT OR IGNORE INTO", 1);
        sql.run(&again);
    }
    sql.close();
    home
}

/// Makes the home with the schema of `steps`.
fn make(steps: &[Migration], source: &Home, file: &Path) {
    let home = Home::new();
    std::fs::create_dir(home.path()).expect("the home");
    let has_audit = steps.iter().any(|step| step.name == "audit");
    // Without an audit log there is no record of its end: a gateway would report the log as truncated.
    for name in FILES
        .iter()
        .filter(|name| has_audit || **name != "audit.head")
    {
        let done = std::process::Command::new("cp")
            .arg("-a")
            .arg(source.path().join(name))
            .arg(home.path())
            .status();
        assert!(done.expect("cp").success());
    }
    std::fs::write(home.path().join("manyhands.db"), "").expect("a database");
    let mut sql = Sql::open(&home.path());
    sql.run("CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum BLOB NOT NULL, execution_time BIGINT NOT NULL)");
    for step in steps {
        sql.run(&step.text);
        let sum: String = Sha384::digest(&step.text)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        sql.run(&format!(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES ({}, '{}', TRUE, x'{sum}', 0)",
            step.version, step.name
        ));
    }
    let database = source.path().join("manyhands.db");
    sql.run(&format!("ATTACH '{}' AS source", database.display()));
    for table in tables(&mut sql, "main") {
        let there = columns(&mut sql, "source", &table);
        let both: Vec<String> = columns(&mut sql, "main", &table)
            .into_iter()
            .filter(|c| there.contains(c))
            .collect();
        let list = both.join(", ");
        // Steps fill some tables from others, which are empty here.
        sql.run(&format!("DELETE FROM main.{table}"));
        sql.run(&format!(
            "INSERT INTO main.{table} ({list}) SELECT {list} FROM source.{table}"
        ));
        let count = sql.numbers(&format!("SELECT COUNT(*) FROM main.{table}"))[0];
        assert!(count > 0 || table == "audit_checkpoint", "{table} is empty");
    }
    if !sql
        .numbers("SELECT 1 FROM sqlite_schema WHERE name = 'memory_words'")
        .is_empty()
    {
        sql.run(
            "INSERT INTO memory_words (rowid, who, words) SELECT id, role, body FROM memory_piece",
        );
    }
    sql.run("DETACH source");
    sql.run("VACUUM");
    sql.close();
    pack(&home.path(), file);
}

fn pack(home: &Path, file: &Path) {
    let packed = GzEncoder::new(
        std::fs::File::create(file).expect("the file"),
        Compression::best(),
    );
    let mut tar = tar::Builder::new(packed);
    tar.mode(tar::HeaderMode::Deterministic);
    tar.append_dir_all(".", home).expect("an archive");
    tar.into_inner()
        .expect("an archive")
        .finish()
        .expect("an archive");
}
