//! Streaming XML, without namespace prefixes.

use quick_xml::events::{BytesStart, Event};
use quick_xml::name::QName;
use quick_xml::{Reader, XmlVersion};

use super::archive::Archive;
use super::{Extraction, StopCause, damaged};

/// The next node.
pub(super) enum XmlNode<'a> {
    /// An opening tag; an empty one closes at once.
    Open(&'a Tag<'a>),
    /// A closing tag.
    Close(&'a str),
    /// Text, as it is written.
    Text(&'a str),
}

/// An opening tag.
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    start: &'a BytesStart<'a>,
}

impl Tag<'_> {
    /// An attribute by its local name.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        self.find(|key| key.local_name().as_ref() == name)
    }

    /// A prefixed attribute by its local name.
    pub(super) fn attribute_prefixed(&self, name: &str) -> Option<String> {
        self.find(|key| key.prefix().is_some() && key.local_name().as_ref() == name)
    }

    fn find(&self, fits: impl Fn(QName<'_>) -> bool) -> Option<String> {
        let mut all = self.start.attributes();
        let mut all = all.with_checks(false).flatten();
        let found = all.find(|one| fits(one.key))?;
        let value = found.normalized_value(XmlVersion::Implicit1_0);
        Some(value.map_or_else(|_| found.value.to_string(), |value| value.into_owned()))
    }

    /// A numeric attribute.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.attribute(name)?.trim().parse().ok()
    }
}

/// Visits all nodes of an archive entry.
pub(super) fn each(
    archive: &Archive<'_>,
    part: &str,
    work: &mut Extraction<'_>,
    mut visit: impl FnMut(XmlNode<'_>, &mut Extraction<'_>) -> Result<(), StopCause>,
) -> Result<(), StopCause> {
    let mut reader = Reader::from_reader(archive.part(part, work.room())?);
    let config = reader.config_mut();
    // Lenient: a person can often still read what a strict parser rejects.
    (
        config.check_end_names,
        config.allow_unmatched_ends,
        config.allow_dangling_amp,
    ) = (false, true, true);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        match event {
            Ok(Event::Start(start)) => {
                open(&start, work, &mut visit)?;
            }
            Ok(Event::Empty(start)) => {
                open(&start, work, &mut visit)?;
                visit(XmlNode::Close(start.local_name().as_ref()), work)?;
            }
            Ok(Event::End(end)) => visit(XmlNode::Close(end.local_name().as_ref()), work)?,
            Ok(Event::Text(text)) => visit(XmlNode::Text(&text.xml10_content()), work)?,
            Ok(Event::CData(text)) => visit(XmlNode::Text(&text.xml10_content()), work)?,
            Ok(Event::GeneralRef(named)) => {
                let character = match named.resolve_char_ref() {
                    Ok(Some(character)) => Some(character),
                    _ => entity(&named),
                };
                if let Some(character) = character {
                    visit(XmlNode::Text(character.encode_utf8(&mut [0; 4])), work)?;
                }
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(error) => {
                let full = reader.get_ref().get_ref().is_full();
                return Err(match full {
                    true => work.full(),
                    false => damaged(format!("{part}: {error}")),
                });
            }
        }
        work.step(1)?;
        let read = reader.get_mut().get_mut().newly_read();
        work.unpack(read)?;
    }
    Ok(())
}

fn open(
    start: &BytesStart<'_>,
    work: &mut Extraction<'_>,
    visit: &mut impl FnMut(XmlNode<'_>, &mut Extraction<'_>) -> Result<(), StopCause>,
) -> Result<(), StopCause> {
    let name = start.local_name();
    let tag = Tag {
        name: name.as_ref(),
        start,
    };
    visit(XmlNode::Open(&tag), work)
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => return None,
    })
}

/// The related parts of a part, by relation id.
pub(super) fn relations(
    archive: &Archive<'_>,
    part: &str,
    work: &mut Extraction<'_>,
) -> Result<Vec<Relation>, StopCause> {
    let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
    let list = format!("{folder}/_rels/{file}.rels");
    let mut found = Vec::new();
    if !archive.has(&list) {
        return Ok(found);
    }
    each(archive, &list, work, |node, _| {
        if let XmlNode::Open(tag) = node
            && tag.name == "Relationship"
            && let (Some(id), Some(target)) = (tag.attribute("Id"), tag.attribute("Target"))
        {
            found.push(Relation {
                id,
                kind: tag.attribute("Type").unwrap_or_default(),
                part: joined(folder, &target),
            });
        }
        Ok(())
    })?;
    Ok(found)
}

/// A relation to another part.
pub(super) struct Relation {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) part: String,
}

/// The entry name of `target`, relative to `folder`.
fn joined(folder: &str, target: &str) -> String {
    let mut names: Vec<&str> = match target.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => folder.split('/').collect(),
    };
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.retain(|name| !name.is_empty());
    names.join("/")
}
