//! Escapes untrusted text and names.

/// Maximum length of a comment, in characters.
const MAX_COMMENT: usize = 600;

/// Line width of comments.
const WIDTH: usize = 100;

/// Formats a string literal.
pub(super) fn literal(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned());
    let mut safe = String::with_capacity(quoted.len());
    for c in quoted.chars() {
        // Escaped rather than removed: the name still has to match the tool's.
        if is_hidden(c) || c == '\u{7f}' {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Formats a property name, quoted if needed.
pub(super) fn name(text: &str) -> String {
    let mut chars = text.chars();
    let starts = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$');
    if starts && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$') {
        return text.to_owned();
    }
    literal(text)
}

/// Writes a comment with `text` and `tags`, such as `@default 5`; nothing if both are empty.
pub(super) fn comment(into: &mut String, text: &str, tags: &[String], indent: usize) {
    let mut lines: Vec<String> = plain(text)
        .lines()
        .flat_map(|line| wrapped(line.trim_end(), WIDTH.saturating_sub(indent * 2)))
        .collect();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let leading = lines
        .iter()
        .take_while(|line| line.trim().is_empty())
        .count();
    lines.drain(..leading);
    lines.extend(tags.iter().map(|tag| plain(tag).replace('\n', " ")));
    let pad = "  ".repeat(indent);
    match lines.as_slice() {
        [] => {}
        [one] => into.push_str(&format!("{pad}/** {one} */\n")),
        many => {
            into.push_str(&format!("{pad}/**\n"));
            for line in many {
                let line = format!("{pad} * {line}");
                into.push_str(line.trim_end());
                into.push('\n');
            }
            into.push_str(&format!("{pad} */\n"));
        }
    }
}

/// Removes everything that could end the comment or hide text in it.
fn plain(text: &str) -> String {
    let cut = text
        .char_indices()
        .nth(MAX_COMMENT)
        .map_or(text.len(), |(at, _)| at);
    let mut plain: String = text[..cut]
        .chars()
        .filter(|c| !is_hidden(*c))
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c })
        .collect();
    if cut < text.len() {
        plain.push_str(" [...]");
    }
    // A description must not be able to end the comment and continue as code.
    plain.replace("*/", "* /")
}

/// Invisible characters and bidirectional controls.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Wraps a line at `width`, at word boundaries.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let current = lines.len() - 1;
        let long = lines[current].chars().count() + word.chars().count() >= width.max(40);
        if long && !lines[current].is_empty() {
            lines.push(word.to_owned());
        } else {
            if !lines[current].is_empty() {
                lines[current].push(' ');
            }
            lines[current].push_str(word);
        }
    }
    lines
}
