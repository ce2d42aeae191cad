//! Characters that a model sees and a person does not.

/// A hidden character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspicion {
    /// Its kind, in words.
    pub what: &'static str,
    /// The character.
    pub character: char,
    /// Its byte offset.
    pub at: usize,
}

/// The first character in `text` that a reader would not see: direction marks, zero-width
/// characters, tags, controls. Line breaks and tabs are fine, and so is a joiner between two
/// characters of a script or emoji that uses it.
pub fn suspicious(text: &str) -> Option<Suspicion> {
    let mut before = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let after = characters.peek().map(|(_, next)| *next);
        if let Some(what) = invisible(character, before, after) {
            return Some(Suspicion {
                what,
                character,
                at,
            });
        }
        before = Some(character);
    }
    None
}

fn invisible(character: char, before: Option<char>, after: Option<char>) -> Option<&'static str> {
    // Scripts and emoji use joiners and selectors between their own characters.
    let joined =
        |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && invisible(c, None, None).is_none());
    match character {
        '\n' | '\t' | '\r' => None,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            Some("a text direction mark")
        }
        '\u{200c}' | '\u{200d}' if joined(before) && joined(after) => None,
        '\u{fe00}'..='\u{fe0f}'
            if before.is_some_and(|c| {
                !c.is_ascii_alphabetic() && invisible(c, None, None).is_none()
            }) =>
        {
            None
        }
        '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{feff}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{3164}'
        | '\u{ffa0}' => Some("a zero-width character"),
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Some("a variation selector"),
        '\u{e0000}'..='\u{e007f}' => Some("a tag character"),
        '\u{2028}' | '\u{2029}' => Some("a separator that looks like a line break"),
        '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => Some("an invisible format character"),
        c if c.is_control() => Some("a control character"),
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => Some("a private-use character"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_text_is_found() {
        for (text, at) in [
            ("safe\u{202e}evil", 4),
            ("read\u{200b}_file", 4),
            ("x\u{e0041}\u{e0042}", 1),
            ("x\u{1b}[31m", 1),
            ("\u{feff}name", 0),
            ("a\u{fe01}b", 1),
            ("a\u{200d}b", 1),
            ("null\0", 4),
            ("soft\u{ad}hyphen", 4),
            ("\u{e0101}", 0),
        ] {
            let found = suspicious(text).unwrap_or_else(|| panic!("{text:?}"));
            assert_eq!(found.at, at, "{text:?}");
        }
    }

    #[test]
    fn ordinary_text_is_not_suspicious() {
        for text in [
            "",
            "read_file",
            "Liest eine Datei.\n\tUnd schließt sie.\r\n",
            "日本語の説明",
            "עברית עם עוד",
            "नमस्\u{200d}ते",
            "👩\u{200d}💻 and ❤\u{fe0f} and 1\u{fe0f}\u{20e3}",
        ] {
            assert_eq!(suspicious(text), None, "{text:?}");
        }
    }
}
