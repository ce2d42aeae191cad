//! The text of a PDF, page by page.

mod content;
mod file;
mod filter;
mod font;
mod glyphs;
mod object;

use std::collections::HashSet;

use content::Pages;
use file::File;
use object::{Dict, Object};

use super::{Kind, Stop, Work, damaged};

/// How many pages are read.
const MAX_PAGES: usize = 20_000;
/// How deep the tree of pages may be.
const MAX_DEPTH: usize = 32;

/// Whether a file begins like a PDF; some have a little before it.
pub(super) fn is_pdf(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(1024)];
    memchr::memmem::find(head, b"%PDF-").is_some()
}

pub(super) fn read(bytes: &[u8], work: &mut Work<'_>) -> Result<(), Stop> {
    work.kind = Kind::Pdf;
    let file = File::open(bytes, work)?;
    let mut found = Vec::new();
    if let Some(catalog) = file.catalog(work)?
        && let Some(root) = catalog.get("Pages")
    {
        let mut tree = Tree {
            file: &file,
            seen: HashSet::new(),
            found: &mut found,
        };
        tree.walk(root, &Dict::new(), 0, work)?;
    }
    if found.is_empty() {
        // The tree is damaged: pages in the order of their numbers are better than none.
        let all = file.of_type("Page", work)?;
        found.extend(
            all.into_iter()
                .take(MAX_PAGES)
                .map(|page| (page, Dict::new())),
        );
    }
    if found.is_empty() {
        return Err(damaged("it has no pages"));
    }
    let mut pages = Pages::new(&file);
    let several = found.len() > 1;
    for (place, (page, inherited)) in found.iter().enumerate() {
        if several {
            work.heading(&format!("page {}", place + 1))?;
        }
        let own = file.dict(page, "Resources", work)?;
        let resources = if own.is_empty() { inherited } else { &own };
        pages.page(page, resources, work)?;
    }
    Ok(())
}

/// The pages below a node of the tree, each with the resources it inherits.
struct Tree<'a> {
    file: &'a File<'a>,
    seen: HashSet<u32>,
    found: &'a mut Vec<(Dict, Dict)>,
}

impl Tree<'_> {
    fn walk(
        &mut self,
        node: &Object,
        inherited: &Dict,
        depth: usize,
        work: &mut Work<'_>,
    ) -> Result<(), Stop> {
        if let Object::Ref(number) = node
            && !self.seen.insert(*number)
        {
            return Ok(());
        }
        if depth > MAX_DEPTH || self.found.len() >= MAX_PAGES {
            return Ok(());
        }
        let Object::Dict(node) = self.file.resolve(node, work)? else {
            return Ok(());
        };
        let own = self.file.dict(&node, "Resources", work)?;
        let inherited = if own.is_empty() { inherited } else { &own };
        match self.file.get(&node, "Kids", work)? {
            Object::List(kids) => {
                for kid in &kids {
                    work.step(1)?;
                    self.walk(kid, inherited, depth + 1, work)?;
                }
            }
            _ => self.found.push((node, inherited.clone())),
        }
        Ok(())
    }
}
