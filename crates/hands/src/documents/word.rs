//! Word documents and PowerPoint slides: both are runs of text in paragraphs in tables.

use super::archive::Archive;
use super::xml::{self, XmlNode};
use super::{Extraction, StopCause};

/// Extracts a Word document: its text, then its notes.
pub(super) fn document(archive: &Archive<'_>, work: &mut Extraction<'_>) -> Result<(), StopCause> {
    work.kind = super::DocumentKind::Docx;
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

/// Extracts PowerPoint slides in order, each with its notes.
pub(super) fn presentation(
    archive: &Archive<'_>,
    work: &mut Extraction<'_>,
) -> Result<(), StopCause> {
    const WHOLE: &str = "ppt/presentation.xml";
    work.kind = super::DocumentKind::Pptx;
    let relations = xml::relations(archive, WHOLE, work)?;
    let mut slides: Vec<String> = Vec::new();
    xml::each(archive, WHOLE, work, |node, _| {
        if let XmlNode::Open(tag) = node
            && tag.name == "sldId"
        {
            // A slide has two attributes called `id`; the prefixed one is the relation.
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
    for (index, slide) in slides.iter().enumerate() {
        work.heading(&format!("slide {}", index + 1))?;
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
            // The notes contain the slide number too.
            let heading_text = work.text[after..].trim();
            if heading_text.is_empty() || heading_text == (index + 1).to_string() {
                work.text.truncate(before);
            }
        }
    }
    Ok(())
}

/// Extracts the paragraphs of a part, one per line; a table row is one line with tabs between cells.
fn paragraphs(
    archive: &Archive<'_>,
    part: &str,
    work: &mut Extraction<'_>,
) -> Result<(), StopCause> {
    // A drawing's fallback repeats its content.
    let (mut in_text, mut cells, mut again) = (false, 0_u32, 0_u32);
    xml::each(archive, part, work, |node, work| {
        match node {
            XmlNode::Open(tag) if tag.name == "Fallback" => again += 1,
            XmlNode::Close("Fallback") => again = again.saturating_sub(1),
            _ if again > 0 => {}
            XmlNode::Open(tag) => match tag.name {
                "t" => in_text = true,
                "tab" if tag.attribute("val").is_none() => work.push("\t")?,
                "br" | "cr" => work.push(if cells > 0 { " " } else { "\n" })?,
                "noBreakHyphen" => work.push("-")?,
                "tc" => cells += 1,
                _ => {}
            },
            XmlNode::Close(name) => match name {
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
            XmlNode::Text(text) if in_text => work.push(text)?,
            XmlNode::Text(_) => {}
        }
        Ok(())
    })?;
    work.end_line()
}
