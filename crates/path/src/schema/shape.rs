//! A schema as a graph: which subschemas check a value itself, and which check what is inside it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::pattern::Pattern;

/// How many subschemas a schema may have.
const MAX_SUBSCHEMAS: usize = 5_000;
/// How many subschemas one value may be checked against, everything followed and counted each time.
const MAX_EXPANSION: u64 = 5_000;
/// How long a chain of references and combinators about one value may be.
const MAX_CHAIN: usize = 128;
/// What `unevaluatedProperties` and `unevaluatedItems` may come to in all. The validator writes
/// everything below them out once more, references included, when it compiles them.
const MAX_UNEVALUATED: u64 = 20_000;
/// How many subschemas may have an `$id`: each combination of them is compiled on its own.
const MAX_RESOURCES: usize = 4;
/// How large all patterns may become together when they are compiled, in bytes.
const MAX_PATTERNS: usize = 8 * 1024 * 1024;

/// A subschema, by its place in [`Shape::nodes`].
pub(super) type Id = usize;

/// The graph of a schema.
#[derive(Default)]
pub(super) struct Shape {
    pub(super) nodes: Vec<SchemaNode>,
    pub(super) root: Id,
    /// Whether a pattern needs the engine that backtracks.
    pub(super) backtracks: bool,
}

/// One subschema, as far as it says how much work it is.
#[derive(Default)]
pub(super) struct SchemaNode {
    /// Work with any value.
    pub(super) fixed: u64,
    /// Whether it is the target of a reference, so that it may be come to many times.
    pub(super) shared: bool,
    /// Checks the whole of a list against itself.
    pub(super) unique: bool,
    /// Looks through a text.
    pub(super) scans: bool,
    /// The specification's own schema of schemas.
    pub(super) meta: bool,
    pub(super) patterns: Vec<Pattern>,
    /// Subschemas of the same value: references, `allOf`, `anyOf`, `not`, `if` and so on.
    pub(super) in_place: Vec<Id>,
    pub(super) properties: HashMap<String, Id>,
    /// Every one may match a name.
    pub(super) pattern_properties: Vec<(Pattern, Id)>,
    /// For what `properties` does not name.
    pub(super) additional: Option<Id>,
    pub(super) names: Option<Id>,
    pub(super) prefix: Vec<Id>,
    /// For every item, whichever draft says so: those before 2020 know no `prefixItems`.
    pub(super) items: Vec<Id>,
    pub(super) contains: Option<Id>,
    pub(super) unevaluated: Vec<Id>,
    /// The longest chain of subschemas about the same value.
    pub(super) chain: usize,
}

impl Shape {
    /// Reads a schema, and refuses one that is too much work or leaves the document.
    pub(super) fn read(schema: &Value) -> Result<Self, String> {
        let mut reader = Reader::new(schema)?;
        let root = reader.node(schema)?;
        while let Some((id, value)) = reader.unread.pop() {
            reader.read(id, value)?;
        }
        let mut shape = reader.shape;
        shape.root = root;
        shape.bound()?;
        Ok(shape)
    }

    /// Refuses a shape in which one value would be checked too often.
    fn bound(&mut self) -> Result<(), String> {
        let mut expansion = Expansion {
            nodes: &self.nodes,
            known: vec![Counted::No; self.nodes.len()],
        };
        for id in 0..self.nodes.len() {
            expansion.of(id, 1)?;
        }
        let known = expansion.known;
        let mut unevaluated = 0_u64;
        for (node, counted) in self.nodes.iter_mut().zip(known) {
            let Counted::Yes { count, chain } = counted else {
                continue;
            };
            node.chain = chain;
            if !node.unevaluated.is_empty() {
                unevaluated = unevaluated.saturating_add(count);
            }
        }
        if unevaluated > MAX_UNEVALUATED {
            return Err(format!(
                "has unevaluatedProperties or unevaluatedItems over more than {MAX_UNEVALUATED} subschemas"
            ));
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Counted {
    No,
    Now,
    Yes { count: u64, chain: usize },
}

/// Counts how many subschemas a single value is checked against.
struct Expansion<'a> {
    nodes: &'a [SchemaNode],
    known: Vec<Counted>,
}

impl Expansion<'_> {
    fn of(&mut self, id: Id, depth: usize) -> Result<(u64, usize), String> {
        match self.known[id] {
            Counted::Yes { count, chain } => return Ok((count, chain)),
            Counted::Now => {
                return Err("refers to itself without a property or an item in between".to_owned());
            }
            Counted::No => {}
        }
        let too_long =
            || format!("has a chain of more than {MAX_CHAIN} references and combinators");
        if depth > MAX_CHAIN {
            return Err(too_long());
        }
        self.known[id] = Counted::Now;
        let nodes = self.nodes;
        let node = &nodes[id];
        let (mut count, mut chain) = (0_u64, 0);
        for inner in &node.in_place {
            let (more, below) = self.of(*inner, depth + 1)?;
            count = count.saturating_add(more);
            chain = chain.max(below);
        }
        // They look once more at everything beside them, at each level of it.
        if !node.unevaluated.is_empty() {
            count = count.saturating_mul(chain as u64 + 2);
        }
        (count, chain) = (count.saturating_add(1), chain + 1);
        if count > MAX_EXPANSION {
            return Err(format!(
                "expands to more than {MAX_EXPANSION} checks of a single value through $ref, allOf, anyOf, oneOf, not and if"
            ));
        }
        if chain > MAX_CHAIN {
            return Err(too_long());
        }
        self.known[id] = Counted::Yes { count, chain };
        Ok((count, chain))
    }
}

/// Reads a document into a shape.
struct Reader<'a> {
    shape: Shape,
    /// Nodes by the address of the value they were made from.
    known: HashMap<usize, Id>,
    unread: Vec<(Id, &'a Value)>,
    /// Where pointers may begin: the document, and what has an `$id` of its own.
    resources: Vec<(Option<&'a str>, &'a Value)>,
    /// What has a name to refer to.
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    /// Patterns that were compiled already.
    patterns: HashMap<&'a str, Pattern>,
    compiled: usize,
}

impl<'a> Reader<'a> {
    fn new(document: &'a Value) -> Result<Self, String> {
        let mut reader = Self {
            shape: Shape::default(),
            known: HashMap::new(),
            unread: Vec::new(),
            resources: vec![(document["$id"].as_str(), document)],
            anchors: HashMap::new(),
            patterns: HashMap::new(),
            compiled: 0,
        };
        let old = declares_draft_4(document);
        reader.index(document, true, old);
        if reader.resources.len() > MAX_RESOURCES + 1 {
            return Err(format!("has more than {MAX_RESOURCES} inner $id"));
        }
        Ok(reader)
    }

    /// Notes every `$id` and anchor, wherever it stands: one too many does no harm.
    fn index(&mut self, value: &'a Value, outermost: bool, old: bool) {
        match value {
            Value::Object(fields) => {
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = fields.get(key).and_then(Value::as_str) {
                        self.anchors.entry(name).or_default().push(value);
                    }
                }
                for key in ["$id", "id"] {
                    match fields.get(key).and_then(Value::as_str) {
                        Some(id) if id.starts_with('#') => {
                            self.anchors.entry(&id[1..]).or_default().push(value);
                        }
                        // `id` names a resource only in draft 4; elsewhere it is a plain word.
                        Some(id) if !outermost && (key == "$id" || old) => {
                            self.resources.push((Some(id), value));
                        }
                        _ => {}
                    }
                }
                fields
                    .values()
                    .for_each(|inner| self.index(inner, false, old));
            }
            Value::Array(list) => list.iter().for_each(|inner| self.index(inner, false, old)),
            _ => {}
        }
    }

    /// The node of a subschema, which is read later.
    fn node(&mut self, value: &'a Value) -> Result<Id, String> {
        // By address: the document is borrowed while it is read, so its values do not move.
        let address = std::ptr::from_ref(value).addr();
        if let Some(id) = self.known.get(&address) {
            return Ok(*id);
        }
        let id = self.shape.nodes.len();
        if id == MAX_SUBSCHEMAS {
            return Err(format!("has more than {MAX_SUBSCHEMAS} subschemas"));
        }
        self.shape.nodes.push(SchemaNode::default());
        self.known.insert(address, id);
        self.unread.push((id, value));
        Ok(id)
    }

    fn read(&mut self, id: Id, value: &'a Value) -> Result<(), String> {
        let mut node = SchemaNode {
            fixed: 1,
            shared: self.shape.nodes[id].shared,
            ..SchemaNode::default()
        };
        if let Value::Object(fields) = value {
            node.fixed += fields.len() as u64;
            for (keyword, value) in fields {
                self.keyword(&mut node, keyword, value)?;
            }
        }
        node.shared |= self.shape.nodes[id].shared;
        self.shape.nodes[id] = node;
        Ok(())
    }

    fn keyword(
        &mut self,
        node: &mut SchemaNode,
        keyword: &str,
        value: &'a Value,
    ) -> Result<(), String> {
        match keyword {
            "$ref" | "$dynamicRef" => {
                let reference = value
                    .as_str()
                    .ok_or_else(|| format!("has a {keyword} that is no text"))?;
                self.refer(node, reference)?;
            }
            "$recursiveRef" => {
                let roots: Vec<&'a Value> = self.resources.iter().map(|(_, root)| *root).collect();
                self.targets(node, &roots)?;
            }
            "allOf" | "anyOf" | "oneOf" => {
                for inner in value.as_array().into_iter().flatten() {
                    node.in_place.push(self.node(inner)?);
                }
            }
            "not" | "if" | "then" | "else" => node.in_place.push(self.node(value)?),
            "dependentSchemas" | "dependencies" => {
                for inner in each(value).filter(|inner| is_schema(inner)) {
                    node.in_place.push(self.node(inner)?);
                }
                node.fixed += count(value);
            }
            "properties" => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    let inner = self.node(inner)?;
                    node.properties.insert(name.clone(), inner);
                }
            }
            "patternProperties" => {
                for (pattern, inner) in value.as_object().into_iter().flatten() {
                    let pattern = self.pattern(pattern)?;
                    let inner = self.node(inner)?;
                    node.pattern_properties.push((pattern, inner));
                }
            }
            "additionalProperties" => node.additional = Some(self.node(value)?),
            "propertyNames" => node.names = Some(self.node(value)?),
            "unevaluatedProperties" | "unevaluatedItems" => {
                node.unevaluated.push(self.node(value)?);
            }
            "prefixItems" => self.prefix(node, value)?,
            "items" if value.is_array() => self.prefix(node, value)?,
            "items" | "additionalItems" => node.items.push(self.node(value)?),
            "contains" => node.contains = Some(self.node(value)?),
            "pattern" => {
                if let Some(pattern) = value.as_str() {
                    let pattern = self.pattern(pattern)?;
                    node.patterns.push(pattern);
                }
            }
            "enum" | "const" | "required" | "dependentRequired" | "type" => {
                node.fixed += count(value);
            }
            "uniqueItems" => node.unique = value == &Value::Bool(true),
            "format" | "minLength" | "maxLength" | "contentEncoding" | "contentMediaType" => {
                node.scans = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn prefix(&mut self, node: &mut SchemaNode, value: &'a Value) -> Result<(), String> {
        for inner in value.as_array().into_iter().flatten() {
            node.prefix.push(self.node(inner)?);
        }
        Ok(())
    }

    fn pattern(&mut self, text: &'a str) -> Result<Pattern, String> {
        if let Some(known) = self.patterns.get(text) {
            return Ok(*known);
        }
        let pattern = Pattern::read(text)?;
        self.compiled += pattern.compiled;
        if self.compiled > MAX_PATTERNS {
            return Err(format!(
                "has patterns that become larger than {MAX_PATTERNS} bytes together"
            ));
        }
        self.shape.backtracks |= pattern.backtracks;
        self.patterns.insert(text, pattern);
        Ok(pattern)
    }

    /// Adds what a reference may lead to. Which of several it is depends on drafts and dynamic
    /// scopes; all of them together are never less work.
    fn refer(&mut self, node: &mut SchemaNode, reference: &'a str) -> Result<(), String> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if base.is_empty() && fragment.is_empty() && !reference.starts_with('#') {
            return Ok(()); // an empty reference says nothing
        }
        if is_meta(base) {
            node.meta = true;
            return Ok(());
        }
        let fits = |id: &Option<&str>| base.is_empty() || id.is_some_and(|id| same(id, base));
        let resources = self.resources.iter().filter(|(id, _)| fits(id));
        let roots: Vec<&'a Value> = resources.map(|(_, root)| *root).collect();
        let shown: String = reference.chars().take(80).collect();
        if roots.is_empty() {
            return Err(format!(
                "refers to {shown:?}, which is outside of it; other documents are never fetched"
            ));
        }
        let targets: Vec<&'a Value> = if fragment.is_empty() {
            roots
        } else if fragment.starts_with('/') {
            let pointer = decoded(fragment);
            let found = roots.iter().filter_map(|root| root.pointer(&pointer));
            found.collect()
        } else {
            self.anchors.get(fragment).cloned().unwrap_or_default()
        };
        if targets.is_empty() {
            return Err(format!("refers to {shown:?}, which it does not have"));
        }
        self.targets(node, &targets)
    }

    fn targets(&mut self, node: &mut SchemaNode, targets: &[&'a Value]) -> Result<(), String> {
        for target in targets {
            let id = self.node(target)?;
            self.shape.nodes[id].shared = true;
            node.in_place.push(id);
        }
        Ok(())
    }
}

/// Whether any part says that it is written in draft 4 or before.
fn declares_draft_4(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let uri = fields.get("$schema").and_then(Value::as_str);
            let old = |uri: &str| uri.contains("draft-03") || uri.contains("draft-04");
            uri.is_some_and(old) || fields.values().any(declares_draft_4)
        }
        Value::Array(list) => list.iter().any(declares_draft_4),
        _ => false,
    }
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_object().into_iter().flat_map(Map::values)
}

/// How many values there are in a value.
fn count(value: &Value) -> u64 {
    match value {
        Value::Array(list) => 1 + list.iter().map(count).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<u64>(),
        _ => 1,
    }
}

/// Whether a reference names the schema of schemas, which the validator knows.
fn is_meta(base: &str) -> bool {
    let rest = base.split_once("://json-schema.org/");
    rest.is_some_and(|(_, path)| path.starts_with("draft"))
}

/// Whether a relative or absolute reference may mean this `$id`: by the last part of both, which
/// finds at least what resolving them would.
fn same(id: &str, base: &str) -> bool {
    let last = |uri: &'_ str| -> String {
        let uri = uri.split('#').next().unwrap_or_default();
        uri.rsplit(['/', ':']).next().unwrap_or_default().to_owned()
    };
    last(id) == last(base)
}

/// A fragment as a JSON pointer: without its percent signs.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &after[2..];
            }
            (first, _) => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
