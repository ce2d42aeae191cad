//! JSON Schemas from outside: measured when they arrive, and again with each value they are held against.
//!
//! A small schema can describe an enormous amount of work: 40 levels of `allOf` with four references
//! each are 4^40 checks of one value. Nothing can interrupt a validator on a thread, so work that
//! could get out of hand is never begun. Three bounds follow from that:
//!
//! 1. [`Schema::compile`] bounds the schema itself: bytes, nesting, patterns, and how often one
//!    value would be checked through references and combinators ([`shape`]).
//! 2. [`Schema::cost`] bounds the schema together with one value. A recursive schema is fine with the
//!    values people send and exponential with some that nobody does; only the pair can be judged.
//! 3. What is allowed but not trivial runs on a blocking thread, few at a time ([`crate::validate`]).

mod cost;
mod pattern;
mod shape;

use std::fmt::{self, Write as _};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use shape::Shape;

/// The longest schema, as JSON.
const MAX_BYTES: usize = 256 * 1024;
/// How deep a schema may nest. Compiling recurses with it.
const MAX_DEPTH: usize = 96;
/// How many values (objects, lists, texts, numbers) a schema may consist of.
const MAX_VALUES: usize = 50_000;

/// A schema that may be used, ready for use.
pub(crate) struct Schema {
    pub(crate) validator: Validator,
    shape: Shape,
}

impl Schema {
    /// Measures and compiles a schema; the error says what is wrong with it.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        // Before compiling, which recurses with the nesting and would exhaust the stack of a hostile schema.
        let shape = measure(schema)?;
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(pattern::BACKTRACKS)
            .size_limit(pattern::MAX_COMPILED)
            .dfa_size_limit(pattern::MAX_CACHE);
        let options = jsonschema::options()
            .with_pattern_options(patterns)
            // A schema from outside must not make the gateway fetch its references.
            .offline();
        let validator = options.build(schema).map_err(|error| bounded(&error))?;
        Ok(Self { validator, shape })
    }

    /// An upper bound of the work to check `value`, in units of about 50 ns; the error says why it
    /// must not be checked at all.
    pub(crate) fn cost(&self, value: &Value) -> Result<u64, String> {
        cost::of(&self.shape, value)
    }

    /// Whether finding out the cost, and then the check, are at most so much work.
    pub(crate) fn is_cheap(&self, value: &Value, most: u64) -> bool {
        cost::within(&self.shape, value, most).is_ok_and(|cost| cost <= most)
    }
}

/// The shape of a schema within all bounds.
fn measure(schema: &Value) -> Result<Shape, String> {
    let mut size = Size::default();
    size.add(schema, 1)?;
    Shape::read(schema)
}

/// What a schema is made of.
#[derive(Default)]
struct Size {
    bytes: usize,
    values: usize,
}

impl Size {
    fn add(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("nests deeper than {MAX_DEPTH} levels"));
        }
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(format!("has more than {MAX_VALUES} values"));
        }
        self.bytes += match value {
            Value::String(text) => text.len() + 3,
            _ => 3,
        };
        let within = match value {
            Value::Array(list) => list.iter().try_for_each(|inner| self.add(inner, depth + 1)),
            Value::Object(fields) => fields.iter().try_for_each(|(name, inner)| {
                self.bytes += name.len() + 4;
                self.add(inner, depth + 1)
            }),
            _ => Ok(()),
        };
        within?;
        match self.bytes > MAX_BYTES {
            true => Err(format!("is longer than {MAX_BYTES} bytes")),
            false => Ok(()),
        }
    }
}

/// An error of the validator as text of a bounded length: it quotes the value it is about, whole.
pub(crate) fn bounded(error: &jsonschema::ValidationError<'_>) -> String {
    let mut text = Bounded(String::new());
    match write!(text, "{error}") {
        Ok(()) => text.0,
        Err(fmt::Error) => text.0 + "...",
    }
}

/// Takes the beginning of what is written, and refuses the rest.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        const LONGEST: usize = 300;
        let room = LONGEST - self.0.len();
        self.0.push_str(&more[..more.floor_char_boundary(room)]);
        match more.len() > room {
            true => Err(fmt::Error),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
