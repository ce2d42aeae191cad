//! The catalogue of all tools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rpds::RedBlackTreeMapSync;
use serde_json::Value;

use super::{Forwarder, Tool};
use crate::effects::Effects;
use crate::name::ToolName;
use crate::spec::ToolSpec;

/// Two tools have the same name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two tools have the name {0}")]
pub struct DuplicateTool(pub String);

/// Separates a namespace from the name of a tool in it.
const SEPARATOR: &str = "__";

/// What a name in the catalogue stands for.
#[derive(Clone)]
pub enum CatalogueEntry {
    /// A tool.
    Tool(Arc<dyn Tool>),
    /// A name that forwards calls to other tools.
    Forwarder(Arc<dyn Forwarder>),
}

impl CatalogueEntry {
    /// What is known of it without calling it.
    pub fn spec(&self) -> &ToolSpec {
        match self {
            Self::Tool(tool) => tool.spec(),
            Self::Forwarder(forwarder) => forwarder.spec(),
        }
    }

    /// The tool, if it is one.
    pub fn tool(&self) -> Option<&Arc<dyn Tool>> {
        match self {
            Self::Tool(tool) => Some(tool),
            Self::Forwarder(_) => None,
        }
    }

    /// What a call with these arguments does: by [`Tool::effects_of`] of the tool that will run.
    pub fn effects_of(&self, arguments: &Value, catalogue: &Catalogue) -> Effects {
        let forwarder = match self {
            Self::Tool(tool) => return tool.effects_of(arguments),
            Self::Forwarder(forwarder) => forwarder,
        };
        let meant = forwarder.forward(arguments, catalogue).ok();
        let effects = meant.and_then(|meant| {
            let tool = catalogue.resolve(&meant.tool)?.tool()?;
            Some(tool.effects_of(&meant.arguments))
        });
        // Without a target the call is refused, which changes nothing.
        effects.unwrap_or(Effects::READS)
    }
}

/// A snapshot of all tools. A change makes a new catalogue that shares everything unchanged with the
/// old one, so that thousands of nodes can connect and disconnect.
#[derive(Clone, Default)]
pub struct Catalogue {
    built_in: Arc<BuiltIn>,
    namespaces: RedBlackTreeMapSync<Arc<str>, Arc<[CatalogueEntry]>>,
}

/// The tools that exist without any node or server.
#[derive(Clone, Default)]
struct BuiltIn {
    entries: BTreeMap<ToolName, CatalogueEntry>,
    wire_names: BTreeMap<String, ToolName>,
    disabled: BTreeSet<String>,
}

impl Catalogue {
    /// Adds a built-in tool under its canonical name and its alias.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        self.add_entry(CatalogueEntry::Tool(tool))
    }

    /// Adds a built-in name that forwards to other tools.
    pub fn add_forwarder(&mut self, forwarder: Arc<dyn Forwarder>) -> Result<(), DuplicateTool> {
        self.add_entry(CatalogueEntry::Forwarder(forwarder))
    }

    fn add_entry(&mut self, entry: CatalogueEntry) -> Result<(), DuplicateTool> {
        let name = entry.spec().name.clone();
        let wire = name.wire();
        let built_in = Arc::make_mut(&mut self.built_in);
        // Both spellings: the alias of one tool could be the name of another, and clients use either.
        if built_in.entries.contains_key(&name) || built_in.wire_names.contains_key(&wire) {
            return Err(DuplicateTool(name.to_string()));
        }
        built_in.wire_names.insert(wire, name.clone());
        built_in.entries.insert(name, entry);
        Ok(())
    }

    /// Adds the tools of a node or server, replacing those it had; each name begins with `{namespace}__`.
    pub fn set_namespace(
        &mut self,
        namespace: &str,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Result<(), DuplicateTool> {
        let mut names = BTreeSet::new();
        // A node or server chooses the names of its tools: none may take the name of a built-in tool, or appear in the
        // namespace of another.
        for tool in &tools {
            let name = &tool.spec().name;
            let on_it = split(name.as_str()).is_some_and(|(of, _)| of == namespace);
            let taken = self.built_in.wire_names.contains_key(&name.wire());
            if !on_it || taken || !names.insert(name.wire()) {
                return Err(DuplicateTool(name.to_string()));
            }
        }
        let entries = tools.into_iter().map(CatalogueEntry::Tool).collect();
        self.namespaces.insert_mut(namespace.into(), entries);
        Ok(())
    }

    /// Removes the tools of a node or server.
    pub fn remove_namespace(&mut self, namespace: &str) {
        self.namespaces.remove_mut(namespace);
    }

    /// This catalogue with other built-in tools.
    #[must_use]
    pub fn with_built_in(&self, other: &Self) -> Self {
        Self {
            built_in: other.built_in.clone(),
            namespaces: self.namespaces.clone(),
        }
    }

    /// Records that a tool is switched off, so that calls of it fail with that reason.
    pub fn disable(&mut self, name: &str) {
        let disabled = &mut Arc::make_mut(&mut self.built_in).disabled;
        // Under both spellings, so that the message is the same whichever one a client uses.
        disabled.insert(name.to_owned());
        disabled.insert(name.replace("::", "__"));
    }

    /// Whether a tool of that name is switched off.
    pub fn is_disabled(&self, name: &str) -> bool {
        self.built_in.disabled.contains(name)
    }

    /// The entry of that canonical name or alias.
    pub fn resolve(&self, name: &str) -> Option<&CatalogueEntry> {
        let built_in = &self.built_in;
        let by_name = |name: &ToolName| built_in.entries.get(name);
        name.parse()
            .ok()
            .and_then(|name| by_name(&name))
            // Names before aliases, and built-in tools before those of nodes and servers: no connection can hide a
            // tool.
            .or_else(|| built_in.wire_names.get(name).and_then(by_name))
            .or_else(|| self.in_namespace(name))
    }

    fn in_namespace(&self, name: &str) -> Option<&CatalogueEntry> {
        let (namespace, _) = split(name)?;
        let tools = self.namespaces.get(namespace)?;
        let by_name = tools.iter().find(|tool| tool.spec().name.as_str() == name);
        by_name.or_else(|| tools.iter().find(|tool| tool.spec().name.wire() == name))
    }

    /// Whether a node or server of this name has tools here.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces.contains_key(namespace)
    }

    /// The namespace of a tool name, if no node or server of that name is connected.
    pub fn missing_namespace<'a>(&self, name: &'a str) -> Option<&'a str> {
        let (namespace, _) = split(name)?;
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        // The name comes from the caller and is quoted in an error.
        if namespace.is_empty() || namespace.len() > 64 || !namespace.bytes().all(plain) {
            return None;
        }
        let begins = |wire: &String| split(wire).is_some_and(|(of, _)| of == namespace);
        let known = self.has_namespace(namespace) || self.built_in.wire_names.keys().any(begins);
        (!known).then_some(namespace)
    }

    /// All tools: the built-in ones by name, then by namespace.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        let namespaced = self.namespaces.values().flat_map(|tools| tools.iter());
        let all = self.built_in.entries.values().chain(namespaced);
        all.map(CatalogueEntry::spec)
    }

    /// The visible tool with the most similar name, for "did you mean".
    pub fn suggest<'a>(
        &'a self,
        name: &str,
        visible: impl Fn(&ToolSpec) -> bool,
    ) -> Option<&'a ToolName> {
        let wanted = letters(name);
        self.specs()
            .map(|spec| (shared_bigrams(&wanted, &letters(spec.name.as_str())), spec))
            .filter(|(score, _)| *score >= 0.5)
            // After the score: deciding what the caller may see costs more than comparing letters.
            .filter(|(_, spec)| visible(spec))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, spec)| &spec.name)
    }
}

/// Splits a name into its namespace and the rest.
fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once(SEPARATOR)
}

fn letters(name: &str) -> Vec<u8> {
    name.bytes()
        .filter(u8::is_ascii_alphanumeric)
        .map(|b| b.to_ascii_lowercase())
        .collect()
}

/// The Dice coefficient over pairs of letters: 1 for the same name, 0 for nothing shared.
fn shared_bigrams(a: &[u8], b: &[u8]) -> f64 {
    let (a, mut b): (Vec<_>, Vec<_>) = (a.windows(2).collect(), b.windows(2).collect());
    let total = a.len() + b.len();
    let mut shared = 0;
    for pair in a {
        if let Some(at) = b.iter().position(|other| *other == pair) {
            // Each pair counts once, or `aaaa` would be close to every name with `aa`.
            b.swap_remove(at);
            shared += 1;
        }
    }
    if total == 0 {
        0.0
    } else {
        f64::from(2 * shared) / total as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::CallContext;
    use crate::error::ToolError;
    use crate::outcome::Outcome;
    use crate::spec::Exposure;
    use crate::tool::Forward;
    use async_trait::async_trait;
    use serde_json::json;

    struct Named(ToolSpec);

    #[async_trait]
    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        async fn call(&self, _: Value, _: &CallContext) -> Result<Outcome, ToolError> {
            Ok(Outcome::default())
        }
    }

    fn catalogue() -> Catalogue {
        let mut all = Catalogue::default();
        for spec in [
            ToolSpec::new("gsv__ReadFile", "gsv").effects(Effects::READS),
            ToolSpec::new("tool::file_write", "tool").effects(Effects::WRITES),
            ToolSpec::new("rare", "extra")
                .effects(Effects::READS)
                .exposure(Exposure::Discoverable),
        ] {
            all.add(Arc::new(Named(spec))).unwrap();
        }
        all
    }

    #[test]
    fn a_tool_answers_to_its_name_and_its_alias() {
        let all = catalogue();
        for name in ["tool::file_write", "tool__file_write"] {
            assert_eq!(
                all.resolve(name).unwrap().spec().name.as_str(),
                "tool::file_write"
            );
        }
        assert!(all.resolve("tool_file_write").is_none());
        assert!(
            all.resolve("GSV__ReadFile").is_none(),
            "names are case-sensitive"
        );
    }

    struct Forwards(ToolSpec);

    impl Forwarder for Forwards {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn forward(&self, arguments: &Value, _: &Catalogue) -> Result<Forward, ToolError> {
            Ok(Forward {
                tool: arguments["tool"].as_str().unwrap_or_default().to_owned(),
                arguments: json!({}),
                connection: None,
            })
        }
    }

    #[test]
    fn a_forwarded_call_has_the_effects_of_the_tool_that_will_run() {
        let mut all = catalogue();
        let spec = ToolSpec::new("call", "x").effects(Effects::READS);
        all.add_forwarder(Arc::new(Forwards(spec))).unwrap();
        let entry = all.resolve("call").unwrap();
        assert!(entry.tool().is_none());
        for (tool, effects) in [
            ("tool::file_write", Effects::WRITES),
            ("gsv__ReadFile", Effects::READS),
            ("missing", Effects::READS),
            ("call", Effects::READS),
        ] {
            let found = entry.effects_of(&json!({ "tool": tool }), &all);
            assert_eq!(found, effects, "{tool}");
        }
    }

    #[test]
    fn two_tools_cannot_share_an_alias() {
        let mut all = catalogue();
        let clash = ToolSpec::new("tool__file_write", "x");
        assert!(all.add(Arc::new(Named(clash))).is_err());
    }

    #[test]
    fn a_connection_adds_and_removes_its_tools() {
        let named = |name: &str| -> Arc<dyn Tool> { Arc::new(Named(ToolSpec::new(name, "node"))) };
        let before = catalogue();
        let mut all = before.clone();
        let up = vec![named("laptop__Read"), named("laptop__Write")];
        all.set_namespace("laptop", up).unwrap();
        assert!(all.resolve("laptop__Read").is_some() && all.has_namespace("laptop"));
        assert!(all.resolve("laptop__Edit").is_none());
        assert!(before.resolve("laptop__Read").is_none());
        all.set_namespace("laptop", vec![named("laptop__Edit")])
            .unwrap();
        assert!(all.resolve("laptop__Edit").is_some());
        assert!(all.resolve("laptop__Read").is_none(), "it was replaced");
        let swapped = all.with_built_in(&Catalogue::default());
        assert!(swapped.resolve("laptop__Edit").is_some());
        assert!(swapped.resolve("gsv__ReadFile").is_none());
        all.remove_namespace("laptop");
        assert!(all.resolve("laptop__Edit").is_none() && !all.has_namespace("laptop"));
    }

    #[test]
    fn no_tool_is_added_under_the_name_of_another() {
        let named = |name: &str| -> Arc<dyn Tool> { Arc::new(Named(ToolSpec::new(name, "node"))) };
        let mut all = catalogue();
        for (namespace, tools) in [
            ("laptop", vec!["server__Read"]),
            ("laptop", vec!["laptop__Read", "laptop__Read"]),
            ("gsv", vec!["gsv__ReadFile"]),
            ("tool", vec!["tool__file_write"]),
        ] {
            let tools = tools.into_iter().map(named).collect();
            assert!(all.set_namespace(namespace, tools).is_err(), "{namespace}");
            assert!(!all.has_namespace(namespace));
        }
    }

    #[test]
    fn a_typo_finds_its_neighbour() {
        let all = catalogue();
        let near = |name| all.suggest(name, |_| true).map(ToolName::as_str);
        assert_eq!(near("gsv__readfile"), Some("gsv__ReadFile"));
        assert_eq!(near("file_write"), Some("tool::file_write"));
        assert_eq!(near("zzz"), None);
        let hidden = all.suggest("file_write", |spec| {
            spec.name.as_str() != "tool::file_write"
        });
        assert_eq!(hidden, None, "a suggestion never names what is hidden");
    }
}
