//! Converts TOML values to JSON and back.

use serde_json::{Map, Number, Value};
use toml::de::{DeInteger, DeValue};
use toml_edit::{Array, ArrayOfTables, InlineTable, Item, Table};

/// Describes the type of a value for error messages.
pub(crate) fn type_word(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Converts a value to JSON; a date becomes a string. The error continues "`key` ...".
pub(crate) fn plain(value: &DeValue<'_>) -> Result<Value, &'static str> {
    Ok(match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => Value::from(integer(number).ok_or("is too large a number")?),
        DeValue::Float(number) => {
            let number: f64 = number.as_str().parse().unwrap_or(f64::NAN);
            // TOML has `inf` and `nan`, JSON has not.
            Value::from(Number::from_f64(number).ok_or("must be a finite number")?)
        }
        DeValue::Boolean(yes) => Value::from(*yes),
        DeValue::Datetime(date) => Value::from(date.to_string()),
        DeValue::Array(list) => {
            let items = list.iter().map(|item| plain(item.get_ref()));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            let entries = table
                .iter()
                .map(|(k, v)| plain(v.get_ref()).map(|v| (k.get_ref().to_string(), v)));
            Value::Object(entries.collect::<Result<Map<_, _>, _>>()?)
        }
    })
}

fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Why a JSON value cannot be written; continues "`key` ...".
const NO_NULL: &str = "cannot be null; unset it to use the default";
const NO_NUMBER: &str = "is a number that TOML cannot represent";

/// Converts a value to TOML for the right side of `=`.
pub(crate) fn inline(value: &Value) -> Result<toml_edit::Value, &'static str> {
    Ok(match value {
        Value::Null => return Err(NO_NULL),
        Value::Bool(yes) => (*yes).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            // A u64 beyond i64 would silently become a rounded float.
            (None, Some(real)) if !number.is_u64() => real.into(),
            _ => return Err(NO_NUMBER),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => {
            let items = list.iter().map(inline).collect::<Result<Array, _>>()?;
            items.into()
        }
        Value::Object(object) => {
            let entries = object
                .iter()
                .map(|(k, v)| inline(v).map(|v| (k.as_str(), v)));
            entries.collect::<Result<InlineTable, _>>()?.into()
        }
    })
}

/// Converts a value to top-level TOML: tables and lists of tables get their own headers, which are easier to read
/// and edit.
pub(crate) fn item(value: &Value) -> Result<Item, &'static str> {
    match value {
        Value::Object(object) => Ok(Item::Table(table(object)?)),
        Value::Array(list) if !list.is_empty() && list.iter().all(Value::is_object) => {
            let tables = list.iter().filter_map(Value::as_object).map(table);
            Ok(Item::ArrayOfTables(
                tables.collect::<Result<ArrayOfTables, _>>()?,
            ))
        }
        other => inline(other).map(Item::Value),
    }
}

fn table(object: &Map<String, Value>) -> Result<Table, &'static str> {
    let mut table = Table::new();
    for (key, value) in object {
        table.insert(key, item(value)?);
    }
    Ok(table)
}
