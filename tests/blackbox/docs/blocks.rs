//! The fenced blocks of a Markdown page.

/// One fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The words after the fence, split at commas: the language, then what is special about it.
    pub tags: Vec<String>,
    pub text: String,
    /// The line of the fence, counted from 1.
    pub line: usize,
}

impl Block {
    pub fn language(&self) -> &str {
        self.tags.first().map_or("", String::as_str)
    }

    /// Why it is not executed, if it is not.
    pub fn reason(&self) -> Option<&str> {
        (self.tags.get(1)? == "no-run").then(|| self.tags.get(2).map_or("", String::as_str))
    }
}

pub fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<(Vec<String>, Vec<&str>, usize)> = None;
    for (at, line) in page.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(tags)) => {
                let tags = tags.split(',').map(|tag| tag.trim().to_owned()).collect();
                open = Some((tags, Vec::new(), at + 1));
            }
            (Some(_), Some(_)) => {
                let (tags, lines, line) = open.take().expect("it is open");
                let text = lines.join("\n");
                found.push(Block { tags, text, line });
            }
            (Some((_, lines, _)), None) => lines.push(line),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed: {open:?}");
    found
}

/// The page without its fenced blocks and inline code, which hold no links.
pub fn prose(page: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            let outside_code = line.split('`').step_by(2);
            kept.extend(outside_code.flat_map(|piece| [piece, "`"]));
            kept.push('\n');
        }
    }
    kept
}

#[test]
fn a_block_has_a_language_and_may_have_a_reason_not_to_run() {
    let page = "a\n```sh\nx\ny\n```\nb\n```sh,no-run,needs-a-key\nz\n```\n";
    let found = blocks(page);
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].text.as_str(), found[0].line), ("x\ny", 2));
    assert_eq!((found[0].language(), found[0].reason()), ("sh", None));
    assert_eq!(found[1].reason(), Some("needs-a-key"));
    assert_eq!(prose(page), "a`\nb`\n");
}
