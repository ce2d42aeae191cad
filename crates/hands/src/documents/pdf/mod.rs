//! The text of a PDF, page by page.

mod content;
mod file;
mod filter;
mod font;
mod glyphs;
mod object;

use std::collections::HashSet;

use content::Pages;
use file::PdfFile;
use object::{Dict, Object};

use super::{DocumentKind, Extraction, StopCause, damaged};

/// Maximum pages.
const MAX_PAGES: usize = 20_000;
/// Maximum depth of the page tree.
const MAX_DEPTH: usize = 32;

/// Whether a file looks like a PDF; some have data before the header.
pub(super) fn is_pdf(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(1024)];
    memchr::memmem::find(head, b"%PDF-").is_some()
}

pub(super) fn read(bytes: &[u8], work: &mut Extraction<'_>) -> Result<(), StopCause> {
    work.kind = DocumentKind::Pdf;
    let file = PdfFile::open(bytes, work)?;
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
        // The page tree is damaged: pages in numerical order are better than none.
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
    for (index, (page, inherited)) in found.iter().enumerate() {
        if several {
            work.heading(&format!("page {}", index + 1))?;
        }
        let own = file.dict(page, "Resources", work)?;
        let resources = if own.is_empty() { inherited } else { &own };
        pages.page(page, resources, work)?;
    }
    Ok(())
}

/// The pages below a node, each with its inherited resources.
struct Tree<'a> {
    file: &'a PdfFile<'a>,
    seen: HashSet<u32>,
    found: &'a mut Vec<(Dict, Dict)>,
}

impl Tree<'_> {
    fn walk(
        &mut self,
        node: &Object,
        inherited: &Dict,
        depth: usize,
        work: &mut Extraction<'_>,
    ) -> Result<(), StopCause> {
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
