//! Paragraphs of Word documents and PowerPoint slides: both are runs of text within paragraphs within tables.

use super::archive::Archive;
use super::xml::{self, Node};
use super::{Stop, Work};

/// A Word document: its text, then its notes.
pub(super) fn document(archive: &Archive<'_>, work: &mut Work<'_>) -> Result<(), Stop> {
    work.kind = super::Kind::Docx;
    paragraphs(archive, "word/document.xml", work)?;
    for (part, what) in [
        ("word/footnotes.xml", "footnotes"),
        ("word/endnotes.xml", "endnotes"),
        ("word/comments.xml", "comments"),
    ] {
        let before = work.text.len();
        if !archive.has(part) {
            continue;
        }
        work.heading(what)?;
        let after = work.text.len();
        paragraphs(archive, part, work)?;
        // Word writes empty notes into every document.
        if work.text[after..].trim().is_empty() {
            work.text.truncate(before);
        }
    }
    Ok(())
}

/// PowerPoint slides in their order, each with its notes.
pub(super) fn presentation(archive: &Archive<'_>, work: &mut Work<'_>) -> Result<(), Stop> {
    const WHOLE: &str = "ppt/presentation.xml";
    work.kind = super::Kind::Pptx;
    let relations = xml::relations(archive, WHOLE, work)?;
    let mut slides: Vec<String> = Vec::new();
    xml::each(archive, WHOLE, work, |node, _| {
        if let Node::Open(tag) = node
            && tag.name == "sldId"
        {
            // Of its two ids the one with a prefix is the relation; both are called `id` without it.
            let found = tag
                .attribute_prefixed("id")
                .and_then(|id| relations.iter().find(|one| one.id == id));
            slides.extend(found.map(|one| one.part.clone()));
        }
        Ok(())
    })?;
    if slides.is_empty() {
        let all = archive.like("ppt/slides/slide", ".xml");
        slides = all.into_iter().map(str::to_owned).collect();
    }
    for (place, slide) in slides.iter().enumerate() {
        work.heading(&format!("slide {}", place + 1))?;
        paragraphs(archive, slide, work)?;
        let relations = xml::relations(archive, slide, work)?;
        let notes = relations
            .iter()
            .find(|one| one.kind.ends_with("/notesSlide"));
        if let Some(notes) = notes.filter(|notes| archive.has(&notes.part)) {
            let before = work.text.len();
            work.end_line()?;
            work.push("Notes:\n")?;
            let after = work.text.len();
            paragraphs(archive, &notes.part, work)?;
            // The number of the slide stands on its notes too.
            let said = work.text[after..].trim();
            if said.is_empty() || said == (place + 1).to_string() {
                work.text.truncate(before);
            }
        }
    }
    Ok(())
}

/// The paragraphs of a part, a line each; a row of a table is a line, with tabs between its cells.
fn paragraphs(archive: &Archive<'_>, part: &str, work: &mut Work<'_>) -> Result<(), Stop> {
    // What a drawing falls back to says the same again.
    let (mut in_text, mut cells, mut again) = (false, 0_u32, 0_u32);
    xml::each(archive, part, work, |node, work| {
        match node {
            Node::Open(tag) if tag.name == "Fallback" => again += 1,
            Node::Close("Fallback") => again = again.saturating_sub(1),
            _ if again > 0 => {}
            Node::Open(tag) => match tag.name {
                "t" => in_text = true,
                "tab" if tag.attribute("val").is_none() => work.push("\t")?,
                "br" | "cr" => work.push(if cells > 0 { " " } else { "\n" })?,
                "noBreakHyphen" => work.push("-")?,
                "tc" => cells += 1,
                _ => {}
            },
            Node::Close(name) => match name {
                "t" => in_text = false,
                "p" if cells > 0 => work.push(" ")?,
                "p" => work.push("\n")?,
                "tc" => {
                    cells = cells.saturating_sub(1);
                    while work.text.ends_with(' ') {
                        work.text.pop();
                    }
                    work.push("\t")?;
                }
                "tr" if cells == 0 => work.end_line()?,
                _ => {}
            },
            Node::Text(text) if in_text => work.push(text)?,
            Node::Text(_) => {}
        }
        Ok(())
    })?;
    work.end_line()
}
