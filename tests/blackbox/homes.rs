//! A home of every earlier schema is upgraded by the real binary, and nothing in it is lost.

mod generate;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::harness::{Gateway, Home};
use crate::sql::Sql;

/// A step of the schema.
struct Migration {
    version: i64,
    name: String,
    text: String,
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn homes() -> PathBuf {
    top().join("tests/homes")
}

/// The steps of the schema, in order.
fn migrations() -> Vec<Migration> {
    let folder = top().join("crates/store/migrations");
    let mut all: Vec<Migration> = std::fs::read_dir(folder)
        .expect("the migrations")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let stem = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let (version, name) = stem.split_once('_').expect("a number and a name");
            Migration {
                version: version.parse().expect("a number"),
                name: name.to_owned(),
                text: std::fs::read_to_string(&path).expect("a migration"),
            }
        })
        .collect();
    all.sort_by_key(|step| step.version);
    all
}

/// The tables with rows of ours: not those of full-text indices, nor the record of the schema.
fn tables(sql: &mut Sql, schema: &str) -> Vec<String> {
    let select = format!(
        "SELECT name FROM {schema}.sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '%\\_words\\_%' ESCAPE '\\'
         AND name <> '_sqlx_migrations' ORDER BY name"
    );
    texts(sql, &select)
}

fn columns(sql: &mut Sql, schema: &str, table: &str) -> Vec<String> {
    texts(
        sql,
        &format!("SELECT name FROM pragma_table_info('{table}', '{schema}') ORDER BY cid"),
    )
}

/// The first column, as text.
fn texts(sql: &mut Sql, select: &str) -> Vec<String> {
    let rows = sql.texts(select).into_iter();
    rows.map(|row| row.into_iter().next().flatten().expect("text"))
        .collect()
}

/// A home as it was, unpacked.
#[track_caller]
fn unpacked(version: i64) -> Home {
    let home = Home::new();
    let file = homes().join(format!("{version:04}.tar.gz"));
    let file = std::fs::File::open(&file)
        .unwrap_or_else(|e| panic!("{}: {e}; see tests/homes/README.md", file.display()));
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    archive.unpack(home.path()).expect("a home");
    let private = |name: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(home.path().join(name), mode).expect("a mode");
    };
    private("", 0o700);
    for name in ["owner.token", "vault.key", "manyhands.db"] {
        private(name, 0o600);
    }
    // The first schema has no audit log.
    if version > 1 {
        private("audit.head", 0o600);
    }
    home
}

/// A table: its name, its columns, its rows as text.
type Table = (String, Vec<String>, Vec<Vec<Option<String>>>);

/// Every row of every table.
fn rows(home: &Path) -> Vec<Table> {
    let mut sql = Sql::open(home);
    let mut found = Vec::new();
    for table in tables(&mut sql, "main") {
        let columns = columns(&mut sql, "main", &table);
        let list = select(&columns);
        let rows = sql.texts(&format!("SELECT {list} FROM {table} ORDER BY {list}"));
        found.push((table, columns, rows));
    }
    sql.close();
    found
}

fn select(columns: &[String]) -> String {
    let cast = columns
        .iter()
        .map(|column| format!("CAST({column} AS TEXT)"));
    cast.collect::<Vec<_>>().join(", ")
}

/// That the database has each of these rows, in the columns that they had.
#[track_caller]
fn assert_kept(before: Vec<Table>, home: &Path, version: i64) {
    let mut sql = Sql::open(home);
    for (table, columns, rows) in before {
        let is_filled = !rows.is_empty() || (table == "audit_checkpoint" && version != 16);
        assert!(is_filled, "{version}: {table} has rows");
        let list = select(&columns);
        let mut after = sql.texts(&format!("SELECT {list} FROM {table} ORDER BY {list}"));
        if table == "token" && version < 18 {
            // Sessions that were held as cookies are revoked.
            let (name, revoked) = (at(&columns, "name"), at(&columns, "revoked"));
            let mut page = after
                .iter_mut()
                .filter(|row| row[name].as_deref().is_some_and(|n| n.starts_with("page ")));
            let page = page.next().expect("a session");
            assert!(page[revoked].take().is_some(), "{version}: it is revoked");
            after.sort();
        }
        let mut expect = rows;
        expect.sort();
        let missing: Vec<_> = expect.iter().filter(|row| !after.contains(row)).collect();
        assert!(missing.is_empty(), "{version}: {table} lost {missing:?}");
        assert_eq!(after.len(), expect.len(), "{version}: {table}");
    }
    sql.close();
}

fn at(columns: &[String], name: &str) -> usize {
    columns
        .iter()
        .position(|column| column == name)
        .expect("a column")
}

#[test]
fn every_schema_has_a_home_and_no_row_of_it_is_lost() {
    if std::env::var_os("UPDATE_HOMES").is_some() {
        generate::missing();
    }
    let all = migrations();
    let newest = all.last().expect("a step").version;
    for step in &all {
        let home = unpacked(step.version);
        let before = rows(&home.path());
        let folder = home.path().display().to_string();
        let ran = home.cli(&["migrate", "check", &folder]).ok();
        assert_eq!(ran.stdout, format!("schema {} -> {newest}\n", step.version));
        assert_kept(before, &home.path(), step.version);
    }
}

/// What the gateway answers on an upgraded home.
fn answers(version: i64) {
    let gateway = Gateway::on(unpacked(version));
    let tokens = gateway.cli(&["token", "list"]).ok().stdout;
    assert!(
        tokens.contains("phone") && tokens.contains("laptop-tools"),
        "{version}: {tokens}"
    );
    assert_eq!(
        gateway.cli(&["secret", "list"]).ok().stdout.lines().next(),
        Some("bank"),
        "{version}"
    );
    gateway.write("leak.md", "it is hunter2-hunter2");
    let leak = gateway.read("leak.md");
    assert_eq!(
        leak.as_deref(),
        Some("it is [redacted]"),
        "{version}: the vault opens"
    );
    assert_eq!(
        gateway.read("memory/a.md").as_deref(),
        Some("seven"),
        "{version}"
    );
    let artifacts = gateway
        .cli(&["artifact", "list", "--json"])
        .ok()
        .json()
        .to_string();
    assert!(artifacts.contains("note.txt"), "{version}: {artifacts}");
    let said = gateway.cli(&["nodes", "--json"]).ok().stdout;
    assert_eq!(said.contains("laptop"), version >= 3, "{version}: {said}");
    let said = gateway.cli(&["sessions", "show", "agent:main:main"]);
    assert_eq!(
        said.stdout.contains("It says seven."),
        version >= 4,
        "{version}: {said:?}"
    );
    let said = gateway.cli(&["resource", "list"]).ok().stdout;
    assert_eq!(said.contains("handbook"), version >= 8, "{version}: {said}");
    let said = gateway.cli(&["cron", "list"]).ok().stdout;
    assert_eq!(said.contains("daily"), version >= 10, "{version}: {said}");
    gateway.verify_audit();
    assert_eq!(gateway.cli(&["doctor"]).code, Some(0), "{version}");
    let restarted = gateway.restart();
    assert_eq!(
        restarted.read("memory/a.md").as_deref(),
        Some("seven"),
        "{version}"
    );
}

#[test]
fn a_gateway_answers_on_homes_of_the_first_ten_schemas() {
    (1..=10).for_each(answers);
}

#[test]
fn a_gateway_answers_on_homes_of_the_later_schemas() {
    (11..=migrations().len() as i64).for_each(answers);
}

#[test]
fn a_home_of_a_newer_version_is_refused_with_both_versions_and_left_as_it_is() {
    let newest = migrations().len() as i64;
    let home = unpacked(newest);
    let mut sql = Sql::open(&home.path());
    sql.run("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (99, 'later', TRUE, x'00', 0)");
    sql.close();
    let before = rows(&home.path());
    for args in [
        &["up", "--no-node", "--listen", "127.0.0.1:0"][..],
        &["audit", "verify"],
    ] {
        let ran = home.cli(args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let text = format!(
            "this home was used by a newer version of manyhands: its schema is 99, and this version, {}, knows schemas up to {newest}",
            env!("CARGO_PKG_VERSION")
        );
        assert!(ran.stderr.contains(&text), "{ran:?}");
        assert!(
            ran.stderr
                .contains("hint: run the newer version, or restore a backup"),
            "{ran:?}"
        );
    }
    let found = home.cli(&["doctor"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.contains("its schema is 99"), "{found:?}");
    assert_eq!(rows(&home.path()), before, "nothing is changed");
    let changed = unpacked(newest);
    let mut sql = Sql::open(&changed.path());
    sql.run("UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 3");
    sql.close();
    let ran = changed.cli(&["up", "--no-node", "--listen", "127.0.0.1:0"]);
    assert!(
        ran.stderr
            .contains("schema step 3 of this home is not the one that this version"),
        "{ran:?}"
    );
    Gateway::on(unpacked(newest));
}
