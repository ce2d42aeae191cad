//! How much work it is to check one value against one schema.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::shape::{Id, SchemaNode, Shape};

/// The most work that is begun, in units of about 50 ns.
pub(crate) const BUDGET: u64 = 20_000_000;
/// The most work of this estimate itself: each pair of a subschema and a value is looked at once.
const MAX_STEPS: u64 = 4_000_000;
/// How deep checks may nest, in subschemas. The validator's stack grows with it.
const MAX_NESTING: usize = 384;
/// How often the validator starts over when a pattern gave up backtracking, at most.
const RERUNS: u64 = 64;
/// What the schema of schemas comes to for each value of a schema.
const META: u64 = 64;

/// An upper bound of the work; the error says why the value must not be checked.
pub(super) fn of(shape: &Shape, value: &Value) -> Result<u64, String> {
    within(shape, value, MAX_STEPS)
}

/// The same with so many steps for the estimate itself.
pub(super) fn within(shape: &Shape, value: &Value, most: u64) -> Result<u64, String> {
    let mut counter = Counter {
        shape,
        known: HashMap::new(),
        steps: most,
    };
    let work = counter.of(shape.root, value, 1)?;
    let cost = match shape.backtracks {
        true => work.cost.saturating_mul(RERUNS),
        false => work.cost,
    };
    if cost > BUDGET {
        return Err(
            "takes too long to check against its schema: send less at once, or nest it less"
                .to_owned(),
        );
    }
    Ok(cost)
}

#[derive(Clone, Copy)]
struct Work {
    cost: u64,
    /// How deep the checks nest.
    height: usize,
}

struct Counter<'a> {
    shape: &'a Shape,
    /// What is known of subschemas that may be come to again, by the address of the value.
    known: HashMap<(Id, usize), Work>,
    /// How many more steps may be taken.
    steps: u64,
}

impl<'a> Counter<'a> {
    fn of(&mut self, id: Id, value: &'a Value, depth: usize) -> Result<Work, String> {
        self.step(1)?;
        let shape = self.shape;
        let node = &shape.nodes[id];
        let key = (id, std::ptr::from_ref(value).addr());
        if node.shared
            && let Some(work) = self.known.get(&key)
        {
            return nested(depth, *work);
        }
        nested(depth, Work { cost: 0, height: 1 })?;
        let mut beside = Work { cost: 0, height: 0 };
        for inner in &node.in_place {
            beside.add(self.of(*inner, value, depth + 1)?);
        }
        let mut work = match value {
            Value::String(text) => self.text(node, text)?,
            Value::Array(list) => self.list(node, list, depth)?,
            Value::Object(fields) => self.object(node, fields, depth)?,
            _ => Work { cost: 0, height: 0 },
        };
        if node.meta || (node.unique && value.is_array()) {
            let size = self.size(value)?;
            let each = if node.meta { META } else { 8 };
            work.cost = work.cost.saturating_add(size.saturating_mul(each));
        }
        if !node.unevaluated.is_empty() {
            // What they are about is found out by checking all the rest again, level by level.
            beside.cost = beside.cost.saturating_mul(node.chain as u64 + 2);
        }
        work.add(beside);
        work.cost = work.cost.saturating_add(node.fixed);
        work.height += 1;
        // Only targets of references are reached more than once; remembering the others would cost more than it
        // saves.
        if node.shared {
            self.known.insert(key, work);
        }
        Ok(work)
    }

    fn text(&mut self, node: &SchemaNode, text: &str) -> Result<Work, String> {
        let bytes = text.len() as u64;
        let patterns = node.patterns.iter().map(|pattern| pattern.cost(bytes));
        let scans = if node.scans { bytes / 8 } else { 0 };
        let cost = patterns.fold(scans, u64::saturating_add);
        Ok(Work { cost, height: 0 })
    }

    fn list(&mut self, node: &SchemaNode, list: &'a [Value], depth: usize) -> Result<Work, String> {
        let mut work = Work { cost: 0, height: 0 };
        for (place, inner) in list.iter().enumerate() {
            let own = node.prefix.get(place).into_iter();
            for id in own.chain(&node.items).chain(&node.contains) {
                work.add(self.of(*id, inner, depth + 1)?);
            }
            self.unevaluated_part(node, inner, depth, &mut work)?;
        }
        Ok(work)
    }

    fn object(
        &mut self,
        node: &SchemaNode,
        fields: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<Work, String> {
        let mut work = Work { cost: 0, height: 0 };
        for (name, inner) in fields {
            let named = node.properties.get(name);
            if let Some(id) = named.or(node.additional.as_ref()) {
                work.add(self.of(*id, inner, depth + 1)?);
            }
            for (pattern, id) in &node.pattern_properties {
                work.cost = work.cost.saturating_add(pattern.cost(name.len() as u64));
                work.add(self.of(*id, inner, depth + 1)?);
            }
            if let Some(id) = node.names {
                work.add(self.name(id, name, depth + 1)?);
            }
            self.unevaluated_part(node, inner, depth, &mut work)?;
            work.cost = work.cost.saturating_add(1);
        }
        Ok(work)
    }

    /// What `unevaluated...` says of a part: checked to find out, and once more to tell.
    fn unevaluated_part(
        &mut self,
        node: &SchemaNode,
        inner: &'a Value,
        depth: usize,
        work: &mut Work,
    ) -> Result<(), String> {
        for id in &node.unevaluated {
            let once = self.of(*id, inner, depth + 1)?;
            work.add(once);
            work.add(once);
        }
        Ok(())
    }

    /// The check of a property's name, which is a text of its own.
    fn name(&mut self, id: Id, name: &str, depth: usize) -> Result<Work, String> {
        self.step(1)?;
        nested(depth, Work { cost: 0, height: 1 })?;
        let shape = self.shape;
        let node = &shape.nodes[id];
        let mut work = self.text(node, name)?;
        for inner in &node.in_place {
            work.add(self.name(*inner, name, depth + 1)?);
        }
        work.cost = work.cost.saturating_add(node.fixed);
        work.height += 1;
        Ok(work)
    }

    /// How many values there are in a value, long texts counted as several.
    fn size(&mut self, value: &Value) -> Result<u64, String> {
        self.step(1)?;
        let mut size = 1_u64;
        match value {
            Value::String(text) => size += text.len() as u64 / 64,
            Value::Array(list) => {
                for inner in list {
                    size += self.size(inner)?;
                }
            }
            Value::Object(fields) => {
                for (name, inner) in fields {
                    size += 1 + name.len() as u64 / 64 + self.size(inner)?;
                }
            }
            _ => {}
        }
        Ok(size)
    }

    fn step(&mut self, count: u64) -> Result<(), String> {
        match self.steps.checked_sub(count) {
            Some(left) => self.steps = left,
            None => {
                let why = "is too large to check against its schema: send less at once";
                return Err(why.to_owned());
            }
        }
        Ok(())
    }
}

impl Work {
    fn add(&mut self, other: Self) {
        self.cost = self.cost.saturating_add(other.cost);
        self.height = self.height.max(other.height);
    }
}

fn nested(depth: usize, work: Work) -> Result<Work, String> {
    match depth + work.height > MAX_NESTING {
        true => Err(format!(
            "nests too deeply for its schema: more than {MAX_NESTING} checks within each other"
        )),
        false => Ok(work),
    }
}
