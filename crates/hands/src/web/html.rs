//! Parses HTML to a tree of bounded size and depth, without invisible content.
//!
//! A small page can make an HTML parser work for minutes and build trees of millions of nodes. This one
//! is fed in small chunks and stopped when its budget is spent; the tree so far is used and marked as
//! truncated.

use std::borrow::Cow;
use std::cell::{Cell, Ref};
use std::time::Duration;

use dom_query::{Document, NodeId, NodeRef};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, ParseOpts, QualName, parse_document};
use tokio::time::Instant;

/// Maximum text parsed, in bytes.
pub(super) const MAX_INPUT: usize = 4 * 1024 * 1024;
const MAX_NODES: usize = 200_000;
/// Browsers also stop at 512 levels.
const MAX_DEPTH: usize = 512;
/// Template contents are outside the tree, so their depth is invisible.
const MAX_TEMPLATES: usize = 2_000;
const MAX_TIME: Duration = Duration::from_secs(3);
/// Bytes parsed between two budget checks.
const CHUNK: usize = 64;

/// Elements without visible text.
const UNSEEN: &str = "script, style, template, svg, canvas, iframe, object, embed, \
    head > link, [hidden], [aria-hidden=\"true\"], input[type=\"hidden\"], dialog:not([open])";

/// A parsed page.
pub(super) struct Parsed {
    /// The tree.
    pub(super) document: Document,
    /// Whether the budget was exhausted.
    pub(super) truncated: bool,
}

/// Parses `html` within the budget.
pub(super) fn parse(html: &str) -> Parsed {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let mut parser = parse_document(Measured::default(), options);
    let until = Instant::now() + MAX_TIME;
    let mut rest = &html[..html.floor_char_boundary(MAX_INPUT)];
    let mut truncated = rest.len() < html.len();
    while !rest.is_empty() {
        let sink = &parser.tokenizer.sink.sink;
        if sink.spent() || Instant::now() > until {
            truncated = true;
            break;
        }
        // At least one character, so that the loop ends.
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(CHUNK));
        parser.process(StrTendril::from(piece));
        rest = after;
    }
    Parsed {
        document: parser.finish(),
        truncated,
    }
}

/// Removes invisible content from `document`: code, and hidden elements. Hidden text is how pages talk to
/// a model behind its owner's back.
pub(super) fn drop_unseen(document: &Document) {
    document.select(UNSEEN).remove();
    for node in document.select("[style]").nodes() {
        if node.attr("style").is_some_and(|style| is_unseen(&style)) {
            node.remove_from_parent();
        }
    }
}

fn is_unseen(style: &str) -> bool {
    style.split(';').any(|declaration| {
        let Some((property, value)) = declaration.split_once(':') else {
            return false;
        };
        // `display: NONE !important` hides too.
        let value = value.to_ascii_lowercase();
        let value = value.trim().trim_end_matches("!important").trim_end();
        let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
        let zero = number.parse() == Ok(0.0_f32);
        match property.trim().to_ascii_lowercase().as_str() {
            "display" => value == "none",
            "visibility" => matches!(value, "hidden" | "collapse"),
            "opacity" | "font-size" => zero,
            _ => false,
        }
    })
}

/// The text of `node` on one line.
pub(super) fn line(node: &NodeRef<'_>) -> String {
    one_line(&node.text())
}

/// `text` with whitespace runs collapsed.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// An HTML fragment, such as a search snippet, as plain text on one line.
pub(super) fn plain(html: &str) -> String {
    if html.contains(['<', '&']) {
        one_line(&parse(html).document.text())
    } else {
        one_line(html)
    }
}

/// Builds the tree and measures its growth.
#[derive(Default)]
struct Measured {
    document: Document,
    depth: Cell<usize>,
    templates: Cell<usize>,
}

impl Measured {
    fn spent(&self) -> bool {
        self.document.tree.len() > MAX_NODES
            || self.depth.get() > MAX_DEPTH
            || self.templates.get() > MAX_TEMPLATES
    }

    fn measure(&self, beside_or_above: &NodeId) {
        let depth = self
            .document
            .tree
            .ancestor_ids_of_it(beside_or_above, None)
            .count();
        self.depth.set(self.depth.get().max(depth));
    }
}

impl TreeSink for Measured {
    type Handle = NodeId;
    type Output = Document;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Document {
        self.document
    }

    // Every page has some; they are irrelevant.
    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        self.document.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Ref<'a, QualName> {
        self.document.elem_name(target)
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> NodeId {
        if flags.template {
            self.templates.set(self.templates.get() + 1);
        }
        self.document.create_element(name, attributes, flags)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.document.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.document.create_pi(target, data)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.measure(parent);
        self.document.append(parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        previous: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        self.measure(element);
        self.measure(previous);
        self.document
            .append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.document
            .append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        self.document.get_template_contents(target)
    }

    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.document.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        self.measure(sibling);
        self.document.append_before_sibling(sibling, child);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attributes: Vec<Attribute>) {
        self.document.add_attrs_if_missing(target, attributes);
    }

    fn remove_from_parent(&self, target: &NodeId) {
        TreeSink::remove_from_parent(&self.document, target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        self.document.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &NodeId) -> bool {
        self.document
            .is_mathml_annotation_xml_integration_point(handle)
    }
}
