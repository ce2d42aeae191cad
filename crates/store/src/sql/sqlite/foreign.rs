//! Checks a database of unknown origin.
//!
//! A database is a program as much as data: triggers, views, checks and generated columns run when tables are used. So its
//! schema has to be exactly what our own migrations produce; only then is the rest checked.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{blocking, connection, lines, migrations, refusal};
use crate::error::StoreError;

/// Maximum number of objects; ours are a few dozen.
const MAX_OBJECTS: usize = 10_000;

/// Objects of a database: type, name, table and SQL.
type Schema = BTreeSet<(String, String, String, String)>;

/// Refuses a damaged database, and one whose schema is not ours. Neither the file nor anything beside it is changed.
pub(crate) async fn check_foreign(file: &Path) -> Result<(), StoreError> {
    blocking(file, |file| {
        let path = file
            .to_str()
            .ok_or_else(|| StoreError::invalid("the path of the database is not UTF-8"))?;
        let escaped: String = path
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                    char::from(byte).to_string()
                }
                other => format!("%{other:02x}"),
            })
            .collect();
        // Immutable: SQLite creates no log beside it and does not look for one.
        let address = format!("file:{escaped}?immutable=1");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(address, flags).map_err(unreadable)?;
        connection::set(&connection, "trusted_schema", "OFF")
            .and_then(|()| connection::set(&connection, "cell_size_check", "ON"))
            .map_err(distrusted)?;
        check(&connection)
    })
    .await
}

fn check(connection: &Connection) -> Result<(), StoreError> {
    let found = schema(connection)?;
    let newest = pristine(migrations::COUNT)?;
    let record = |schema: &Schema| {
        let of_record = schema.iter().filter(|object| object.2 == MIGRATIONS);
        of_record.cloned().collect::<Schema>()
    };
    if record(&found) != record(&newest) {
        return Err(untrusted("the record of its version is not ours"));
    }
    let version = version(connection)?;
    let ours = pristine(version)?;
    if let Some(other) = found.symmetric_difference(&ours).next() {
        let word = match found.contains(other) {
            true => "holds",
            false => "lacks",
        };
        return Err(untrusted(format!(
            "it {word} the {} {:?}",
            other.0, other.1
        )));
    }
    let wrong = lines(connection, "PRAGMA integrity_check(3)").map_err(unreadable)?;
    match wrong.iter().all(|line| line == "ok") {
        true => Ok(()),
        false => Err(untrusted(wrong.join("; "))),
    }
}

const MIGRATIONS: &str = "_sqlx_migrations";

/// Number of applied migrations, by their checksums; there are no gaps.
fn version(connection: &Connection) -> Result<usize, StoreError> {
    let applied = migrations::applied(connection).map_err(unreadable)?;
    if applied.len() > migrations::COUNT {
        return Err(StoreError::Schema {
            what: "the backup was made by a newer version: use that version".to_owned(),
        });
    }
    for (applied, step) in applied.iter().zip(migrations::steps()) {
        if applied.version != step.version
            || !applied.success
            || applied.checksum != step.checksum()
        {
            let version = applied.version;
            return Err(untrusted(format!("schema step {version} is not ours")));
        }
    }
    Ok(applied.len())
}

fn schema(connection: &Connection) -> Result<Schema, StoreError> {
    let read = || {
        let mut select = connection.prepare(
            "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name LIMIT 10001",
        )?;
        let row = |row: &rusqlite::Row<'_>| {
            let text: Option<String> = row.get(3)?;
            // White space is not compared: SQLite stores the text of a statement as it was written.
            let words: Vec<&str> = text
                .iter()
                .flat_map(|text| text.split_whitespace())
                .collect();
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, words.join(" ")))
        };
        select.query_map([], row)?.collect::<Result<Vec<_>, _>>()
    };
    let objects = read().map_err(unreadable)?;
    if objects.len() > MAX_OBJECTS {
        return Err(untrusted("it has too many tables"));
    }
    Ok(objects.into_iter().collect())
}

/// The schema that our first `steps` migrations produce.
fn pristine(steps: usize) -> Result<Schema, StoreError> {
    let connection = Connection::open_in_memory().map_err(refusal)?;
    migrations::apply(&connection, &migrations::steps()[..steps])?;
    schema(&connection)
}

fn unreadable(error: rusqlite::Error) -> StoreError {
    distrusted(refusal(error))
}

fn distrusted(error: StoreError) -> StoreError {
    match error {
        StoreError::Full => StoreError::Full,
        other => untrusted(other),
    }
}

fn untrusted(why: impl std::fmt::Display) -> StoreError {
    StoreError::corrupt(format!(
        "the database in the backup cannot be trusted ({why}): use another backup; nothing was changed"
    ))
}
