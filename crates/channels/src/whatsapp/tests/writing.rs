//! Markdown and WhatsApp's own markup.

use proptest::prelude::*;

use crate::whatsapp::format::{read, written};

#[test]
fn markdown_is_written_as_whatsapp_writes_it() {
    for (markdown, expect) in [
        (
            "**bold** *italic* ~~struck~~ `code`",
            "*bold* _italic_ ~struck~ `code`",
        ),
        ("***both***", "*_both_*"),
        ("# A **bold** title", "*A bold title*"),
        ("```rust\nlet a = 1;\n```", "```\nlet a = 1;\n```"),
        ("- one\n- two", "- one\n- two"),
        ("1. one\n2. two", "1. one\n2. two"),
        ("> said\n> so", "> said\n> so"),
        ("[words](https://a.example/)", "words (https://a.example/)"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("plain", "plain"),
    ] {
        assert_eq!(written(markdown), expect, "{markdown}");
    }
}

#[test]
fn what_people_mark_is_read_as_markdown() {
    for (said, expect) in [
        ("*bold* and ~struck~", "**bold** and ~~struck~~"),
        ("_italic_", "_italic_"),
        ("*a b* (*c*)", "**a b** (**c**)"),
        ("2*3*4 and 2 * 3 * 4", "2*3*4 and 2 * 3 * 4"),
        ("```*x*``` `*y*` *z*", "```*x*``` `*y*` **z**"),
        ("*not\nover lines*", "*not\nover lines*"),
        ("**", "**"),
        ("~", "~"),
    ] {
        assert_eq!(read(said), expect, "{said}");
    }
}

proptest! {
    #[test]
    fn nothing_that_is_written_is_lost(text in "[a-z*_~`#> \\n\\[\\]()-]{0,80}") {
        let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
        // Only the language of a fence is left out.
        prop_assume!(!text.contains("```") && !text.contains("~~~"));
        prop_assert_eq!(letters(&written(&text)), letters(&text));
        prop_assert_eq!(letters(&read(&text)), letters(&text));
    }
}
