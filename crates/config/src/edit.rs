//! Edits the text of a configuration without changing the rest of it: order, comments and spacing belong to the
//! owner.

use serde_json::Value;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value as Toml};

use crate::line;
use crate::path::KeyPath;
use crate::section;
use crate::shape::{Kind, Shape, root};
use crate::toml_value::{inline, item};

/// Why an edit is not possible; continues the message "`path` ...".
pub(crate) type Refusal = &'static str;

const NOT_THERE: Refusal =
    "does not exist; a new entry must directly follow the last one of the list";
const NOT_A_TABLE: Refusal = "is inside a value that is not a table or a list";

/// Returns `text` with the value at `path` set.
pub(crate) fn set(text: &str, path: &KeyPath, value: &Value) -> Result<String, Refusal> {
    let text = &*crate::appended::merged(text);
    let mut document = parse(text)?;
    let segments = path.segments();
    in_table(document.as_table_mut(), root(), segments, value)?;
    let edited = document.to_string();
    // Preferred, because the value then stands below its explanation.
    let on = line::turned_on(text, path, value, &edited);
    let placed = on.or_else(|| section::below_comments(text, &edited));
    Ok(placed.unwrap_or(edited))
}

/// Returns `text` without the value at `path`; `None` if it was not there.
pub(crate) fn unset(text: &str, path: &KeyPath) -> Result<Option<String>, Refusal> {
    let text = &*crate::appended::merged(text);
    let mut document = parse(text)?;
    let Some((last, above)) = path.segments().split_last() else {
        return Ok(None);
    };
    let mut place = document.as_item_mut();
    for segment in above {
        let next = match segment.parse::<usize>() {
            // A table may have a key such as `0`; only lists have indices.
            Ok(index) if !place.is_table_like() => place.get_mut(index),
            _ => place.get_mut(segment.as_str()),
        };
        match next {
            Some(next) => place = next,
            None => return Ok(None),
        }
    }
    if !remove(place, last) {
        return Ok(None);
    }
    let edited = document.to_string();
    let off = line::turned_off(text, path, &edited);
    let without = off.or_else(|| section::without(text, path, &edited));
    Ok(Some(without.unwrap_or(edited)))
}

fn parse(text: &str) -> Result<DocumentMut, Refusal> {
    text.parse()
        .map_err(|_| "cannot be changed while the file has syntax errors")
}

fn remove(place: &mut Item, key: &str) -> bool {
    if let Some(table) = place.as_table_like_mut() {
        return table.remove(key).is_some();
    }
    let Ok(index) = key.parse::<usize>() else {
        return false;
    };
    match place {
        Item::ArrayOfTables(tables) if index < tables.len() => {
            tables.remove(index);
            true
        }
        Item::Value(Toml::Array(list)) if index < list.len() => {
            list.remove(index);
            true
        }
        _ => false,
    }
}

fn in_table(
    table: &mut Table,
    shape: &Shape,
    segments: &[String],
    value: &Value,
) -> Result<(), Refusal> {
    let (key, rest) = segments.split_first().ok_or(NOT_A_TABLE)?;
    let child = shape.child(key).unwrap_or(shape);
    if rest.is_empty() {
        let entry = renewed(table.get(key), value)?;
        // Assigning keeps the key's position and the comments above it. A header's key has no surrounding space, so a
        // header that becomes a plain key is inserted again.
        match table.get_mut(key) {
            // A value may be replaced by anything, a table only by a table.
            Some(old) if old.is_value() || !entry.is_value() => *old = entry,
            _ => {
                table.remove(key);
                table.insert(key, entry);
            }
        }
        return Ok(());
    }
    let place = table.entry(key).or_insert_with(|| match &child.kind {
        Kind::List { item, .. } if item.is_table() => Item::ArrayOfTables(ArrayOfTables::new()),
        Kind::List { .. } => Item::Value(Array::new().into()),
        _ => {
            // Implicit: `[a.b]` alone is enough, an empty `[a]` above it would only add noise.
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        }
    });
    match place {
        Item::Table(table) => in_table(table, child, rest, value),
        Item::ArrayOfTables(tables) => in_tables(tables, child, rest, value),
        Item::Value(held) => in_value(held, rest, value),
        Item::None => Err(NOT_A_TABLE),
    }
}

fn in_tables(
    tables: &mut ArrayOfTables,
    shape: &Shape,
    segments: &[String],
    value: &Value,
) -> Result<(), Refusal> {
    let (segment, rest) = segments.split_first().ok_or(NOT_A_TABLE)?;
    let index: usize = segment.parse().map_err(|_| NOT_THERE)?;
    if index > tables.len() {
        return Err(NOT_THERE);
    }
    if rest.is_empty() {
        let Item::Table(fresh) = item(value)? else {
            return Err("must be a table");
        };
        if index == tables.len() {
            tables.push(fresh);
        } else if let Some(old) = tables.get_mut(index) {
            *old = like(old, fresh);
        }
        return Ok(());
    }
    if index == tables.len() {
        tables.push(Table::new());
    }
    let table = tables.get_mut(index).ok_or(NOT_THERE)?;
    in_table(table, shape.child(segment).unwrap_or(shape), rest, value)
}

fn in_value(held: &mut Toml, segments: &[String], value: &Value) -> Result<(), Refusal> {
    let (segment, rest) = segments.split_first().ok_or(NOT_A_TABLE)?;
    match held {
        Toml::InlineTable(table) => {
            if !rest.is_empty() {
                let place = table.get_or_insert(segment, InlineTable::new());
                return in_value(place, rest, value);
            }
            let fresh = inline(value)?;
            match table.get_mut(segment) {
                Some(old) => *old = decorated(old, fresh),
                None => {
                    table.insert(segment, fresh);
                }
            }
        }
        Toml::Array(list) => {
            let index: usize = segment.parse().map_err(|_| NOT_THERE)?;
            if index > list.len() {
                return Err(NOT_THERE);
            }
            if index == list.len() {
                if rest.is_empty() {
                    list.push(inline(value)?);
                    return Ok(());
                }
                list.push(InlineTable::new());
            }
            let place = list.get_mut(index).ok_or(NOT_THERE)?;
            if !rest.is_empty() {
                return in_value(place, rest, value);
            }
            *place = decorated(place, inline(value)?);
        }
        _ => return Err(NOT_A_TABLE),
    }
    Ok(())
}

/// Replaces `old`, keeping its form and comments.
fn renewed(old: Option<&Item>, value: &Value) -> Result<Item, Refusal> {
    match old {
        Some(Item::Value(old)) => Ok(Item::Value(decorated(old, inline(value)?))),
        Some(Item::Table(old)) => match item(value)? {
            Item::Table(fresh) => Ok(Item::Table(like(old, fresh))),
            other => Ok(other),
        },
        _ => item(value),
    }
}

fn decorated(old: &Toml, mut fresh: Toml) -> Toml {
    *fresh.decor_mut() = old.decor().clone();
    fresh
}

fn like(old: &Table, mut fresh: Table) -> Table {
    *fresh.decor_mut() = old.decor().clone();
    fresh.set_position(old.position());
    fresh
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check_set(before: &str, path: &str, value: Value, after: &str) {
        let edited = set(before, &path.parse().unwrap(), &value).unwrap();
        assert_eq!(edited, after);
        assert!(crate::check::check(&edited).is_ok());
    }

    const OWNERS: &str = "# mine\nlisten = \"127.0.0.1:1\" # why\n\n[log] # here\n# how much\nlevel = \"warn\" # quiet\nformat = \"json\"\n";

    #[test]
    fn setting_a_value_keeps_comments_and_order() {
        check_set(
            OWNERS,
            "log.level",
            json!("debug"),
            &OWNERS.replace("\"warn\"", "\"debug\""),
        );
        check_set(
            OWNERS,
            "listen",
            json!("[::1]:2"),
            &OWNERS.replace("127.0.0.1:1", "[::1]:2"),
        );
        check_set(
            OWNERS,
            "limits.failed_logins",
            json!(3),
            &format!("{OWNERS}\n[limits]\nfailed_logins = 3\n"),
        );
        check_set(
            OWNERS,
            "tls",
            json!({ "cert": "c", "key": "k" }),
            &format!("{OWNERS}\n[tls]\ncert = \"c\"\nkey = \"k\"\n"),
        );
    }

    #[test]
    fn rules_are_changed_and_appended_in_either_form() {
        let tables = "[[policy.rules]]\ndecision = \"ask\" # first\n";
        check_set(
            tables,
            "policy.rules.0.decision",
            json!("deny"),
            "[[policy.rules]]\ndecision = \"deny\" # first\n",
        );
        check_set(
            tables,
            "policy.rules.1",
            json!({ "decision": "allow" }),
            "[[policy.rules]]\ndecision = \"ask\" # first\n\n[[policy.rules]]\ndecision = \"allow\"\n",
        );
        check_set(
            tables,
            "policy.rules.0.when.\"a.b\".contains",
            json!("x"),
            "[[policy.rules]]\ndecision = \"ask\" # first\n\n[policy.rules.when.\"a.b\"]\ncontains = \"x\"\n",
        );
        check_set(
            "policy.rules = [{ decision = \"ask\" }] # all\n",
            "policy.rules.0.tools",
            json!(["a", "b"]),
            "policy.rules = [{ decision = \"ask\" , tools = [\"a\", \"b\"] }] # all\n",
        );
        check_set(
            "",
            "policy.rules",
            json!([{ "decision": "ask" }]),
            "[[policy.rules]]\ndecision = \"ask\"\n",
        );
        check_set(tables, "policy.rules", json!([]), "[policy]\nrules = []\n");
        check_set(
            "",
            "allowed_hosts.0",
            json!("a"),
            "allowed_hosts = [\"a\"]\n",
        );
    }
}
