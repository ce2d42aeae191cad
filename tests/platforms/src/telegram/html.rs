//! Telegram's HTML, read as strictly as Telegram does.

use serde_json::{Value, json};

/// What is seen of a text with tags, or why it cannot be read.
pub fn visible(html: &str) -> Result<String, String> {
    parse(html).map(|(seen, _)| seen)
}

struct Open {
    tag: String,
    at: usize,
    kind: &'static str,
    extra: Option<(&'static str, String)>,
}

/// What is seen, and the entities.
pub(super) fn parse(html: &str) -> Result<(String, Vec<Value>), String> {
    let mut seen = String::new();
    let mut units = 0;
    let mut entities: Vec<Value> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut rest = html;
    while let Some(c) = rest.chars().next() {
        let at = html.len() - rest.len();
        if c == '<' {
            let end = rest.find('>');
            let end = end.ok_or_else(|| format!("Unclosed start tag at byte offset {at}"))?;
            let inside = &rest[1..end];
            rest = &rest[end + 1..];
            if let Some(tag) = inside.strip_prefix('/') {
                let last = open.pop();
                let last = last.ok_or_else(|| format!("Unexpected end tag at byte offset {at}"))?;
                if last.tag != tag.trim() {
                    return Err(format!(
                        "Unmatched end tag at byte offset {at}, expected \"</{}>\", found \"</{tag}>\"",
                        last.tag
                    ));
                }
                close(last, units, &mut entities);
                continue;
            }
            open.push(start(inside, at, units)?);
            continue;
        }
        let (decoded, taken) = match c {
            '&' => entity(rest),
            c => (c, c.len_utf8()),
        };
        seen.push(decoded);
        units += decoded.len_utf16();
        rest = &rest[taken..];
    }
    if let Some(last) = open.pop() {
        return Err(format!(
            "Can't find end tag corresponding to start tag \"{}\"",
            last.tag
        ));
    }
    Ok((seen, entities))
}

fn start(inside: &str, at: usize, units: usize) -> Result<Open, String> {
    let (tag, attributes) = inside
        .split_once(char::is_whitespace)
        .unwrap_or((inside, ""));
    let attributes = attributes.trim();
    let value = |name: &str| {
        let rest = attributes.strip_prefix(name)?.strip_prefix("=\"")?;
        let value = rest.strip_suffix('"')?;
        (!value.contains(['"', '<', '>'])).then(|| decode(value))
    };
    let bad = || format!("Unsupported start tag \"{tag}\" at byte offset {at}");
    let (kind, extra) = match tag {
        "b" | "strong" => ("bold", None),
        "i" | "em" => ("italic", None),
        "s" | "strike" | "del" => ("strikethrough", None),
        "u" | "ins" => ("underline", None),
        "tg-spoiler" => ("spoiler", None),
        "pre" => ("pre", None),
        "code" => {
            let class = value("class");
            let language = class
                .as_deref()
                .and_then(|class| class.strip_prefix("language-"));
            (
                "code",
                language.map(|language| ("language", language.to_owned())),
            )
        }
        "blockquote" => ("blockquote", None),
        "a" => {
            let url = value("href")
                .ok_or_else(|| format!("Bad attribute of \"a\" at byte offset {at}"))?;
            ("text_link", Some(("url", url)))
        }
        _ => return Err(bad()),
    };
    if !matches!(tag, "a" | "code") && !attributes.is_empty() {
        return Err(bad());
    }
    Ok(Open {
        tag: tag.to_owned(),
        at: units,
        kind,
        extra,
    })
}

fn close(open: Open, units: usize, entities: &mut Vec<Value>) {
    let length = units - open.at;
    if length == 0 {
        return;
    }
    let same = |value: &Value| value["offset"] == open.at && value["length"] == length;
    // Code in a block names the block's language.
    if open.kind == "pre"
        && let Some(code) = entities
            .last_mut()
            .filter(|last| last["type"] == "code" && same(last))
    {
        code["type"] = json!("pre");
        return;
    }
    let mut entity = json!({"type": open.kind, "offset": open.at, "length": length});
    if let Some((name, value)) = open.extra {
        entity[name] = json!(value);
    }
    entities.push(entity);
}

fn decode(text: &str) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (decoded, taken) = if c == '&' {
            entity(rest)
        } else {
            (c, c.len_utf8())
        };
        all.push(decoded);
        rest = &rest[taken..];
    }
    all
}

/// The character that an escape means; an ampersand that begins none is itself.
fn entity(text: &str) -> (char, usize) {
    for (name, c) in [
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&amp;", '&'),
        ("&quot;", '"'),
    ] {
        if text.starts_with(name) {
            return (c, name.len());
        }
    }
    ('&', 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_must_be_known_and_closed_in_order() {
        assert_eq!(
            visible("<b>a <i>&lt;b&gt;</i></b> &amp; &x").unwrap(),
            "a <b> & &x"
        );
        for bad in [
            "<b>",
            "</b>",
            "<b><i></b></i>",
            "<h1>x</h1>",
            "a < b",
            "<a>x</a>",
            "<b x=\"1\">y</b>",
        ] {
            assert!(visible(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn entities_are_counted_in_units_of_utf_16() {
        let (_, all) =
            parse("\u{1f600}<b>x</b><pre><code class=\"language-c\">y</code></pre>").unwrap();
        let bold = json!({"type": "bold", "offset": 2, "length": 1});
        let block = json!({"type": "pre", "offset": 3, "length": 1, "language": "c"});
        assert_eq!(all, [bold, block]);
    }
}
