use proptest::prelude::*;

use super::{Mark, MarkdownEvent, plain, render};

/// A text with tags for what was found.
fn tagged(text: &str) -> String {
    let mut all = String::new();
    render(text, &mut |event: MarkdownEvent<'_>| match event {
        MarkdownEvent::Text(text) => all.push_str(text),
        MarkdownEvent::Code(code) => all.push_str(&format!("<c>{code}</c>")),
        MarkdownEvent::Line => all.push('\n'),
        MarkdownEvent::Open(mark) => all.push_str(&format!("<{}>", tag(mark))),
        MarkdownEvent::Close(mark) => {
            let tag = tag(mark);
            all.push_str(&format!("</{}>", tag.split('=').next().unwrap_or("")));
        }
        MarkdownEvent::Item { depth, number } => {
            all.push_str(&format!("<item {depth} {}>", number.unwrap_or("-")));
        }
        MarkdownEvent::Fence { language, code } => {
            all.push_str(&format!("<pre {language}>{code}</pre>"))
        }
        MarkdownEvent::Table(table) => all.push_str(&format!("<table>{table}</table>")),
        MarkdownEvent::Rule => all.push_str("<hr>"),
    });
    all
}

fn tag(mark: Mark<'_>) -> String {
    match mark {
        Mark::Bold => "b".to_owned(),
        Mark::Italic => "i".to_owned(),
        Mark::Strike => "s".to_owned(),
        Mark::Heading(level) => format!("h{level}"),
        Mark::Quote => "q".to_owned(),
        Mark::Link(address) => format!("a={address}"),
    }
}

#[test]
fn marks_are_read_as_models_write_them() {
    for (text, expect) in [
        ("plain", "plain"),
        (
            "**bold** and *it* and _it_",
            "<b>bold</b> and <i>it</i> and <i>it</i>",
        ),
        ("__bold__ ~~gone~~", "<b>bold</b> <s>gone</s>"),
        ("***both***", "<b><i>both</i></b>"),
        ("**bold *inner* bold**", "<b>bold <i>inner</i> bold</b>"),
        ("**over\nlines**", "<b>over\nlines</b>"),
        (
            "snake_case_name and 2 * 3 * 4",
            "snake_case_name and 2 * 3 * 4",
        ),
        ("`a **b** c`", "<c>a **b** c</c>"),
        ("``a ` b`` `C:\\`", "<c>a ` b</c> <c>C:\\</c>"),
        (
            "[a **b**](https://e.org/x_(y) \"t\")",
            "<a=https://e.org/x_(y)>a <b>b</b></a>",
        ),
        (
            "<https://e.org/a_b_c>",
            "<a=https://e.org/a_b_c>https://e.org/a_b_c</a>",
        ),
        (
            "https://e.org/a_b_c and __x__",
            "https://e.org/a_b_c and <b>x</b>",
        ),
        ("**https://e.org/**", "<b>https://e.org/</b>"),
        ("\\*not\\* \\`code\\`", "*not* `code`"),
        ("# Title **x**\ntext", "<h1>Title <b>x</b></h1>\ntext"),
        ("#hashtag", "#hashtag"),
        ("- a\n  - b\n3) c", "<item 0 ->a\n<item 1 ->b\n<item 0 3>c"),
        ("> a\n> > b\nc", "<q>a\n<q>b</q></q>\nc"),
        ("a\n\nb", "a\n\nb"),
        ("---", "<hr>"),
        (
            "```rust\nlet a = \"**\";\n\n  b\n```\nc",
            "<pre rust>let a = \"**\";\n\n  b</pre>\nc",
        ),
        ("```\nopen", "<pre >open</pre>"),
        ("> ~~~\n> code\nafter", "<q><pre >code</pre></q>\nafter"),
        ("  ```\n  a\n    b\n  ```", "<pre >a\n  b</pre>"),
        (
            "| a | 漢字 |\n|---|:-:|\n| `xyz` | 1 \\| 2 |\nend",
            "<table>a   | 漢字\n----+------\nxyz | 1 | 2</table>\nend",
        ),
    ] {
        assert_eq!(tagged(text), expect, "{text:?}");
    }
}

#[test]
fn what_is_malformed_is_text() {
    for text in [
        "**open",
        "*",
        "`",
        "``` `",
        "[a](",
        "[a]",
        "[](x",
        "~~",
        "]]((",
        "\\",
        "a ** b **",
        "<http://no end",
        "|",
        "1.",
        "#",
        "[a](<b>",
    ] {
        let said: String = plain(text).chars().filter(|c| !c.is_whitespace()).collect();
        let meant: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        assert_eq!(said, meant, "{text:?}");
    }
}

#[test]
fn plain_words_keep_what_a_reader_needs() {
    let text = "# Hi\n- [docs](https://e.org)\n- <https://e.org>\n> said\n> more\n\n```\ncode\n```";
    let expect = "Hi\n• docs (https://e.org)\n• https://e.org\n> said\n> more\n\ncode";
    assert_eq!(plain(text), expect);
}

#[test]
fn little_does_not_become_much() {
    for text in [
        format!("|{}|\n|-|\n{}", "w".repeat(60), "|\n".repeat(20_000)),
        format!("{}\n|-|-|\n{}", "|".repeat(2_000), "|\n".repeat(2_000)),
        "> ".repeat(50_000),
        "*a ".repeat(30_000),
        "[".repeat(30_000) + &"](".repeat(30_000),
        "<http://".repeat(10_000),
    ] {
        assert!(plain(&text).len() <= 9 * text.len() + 8_192);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn marks_end_in_the_reverse_order_in_which_they_began(
        text in "([*_~`\\[\\]()<>|#\\-\\\\ \n]|http://|```|a|é|\\|-\\|\n){0,40}"
    ) {
        let mut open: Vec<String> = Vec::new();
        let mut wrong = false;
        render(&text, &mut |event: MarkdownEvent<'_>| match event {
            MarkdownEvent::Open(mark) => open.push(tag(mark)),
            MarkdownEvent::Close(mark) => wrong |= open.pop() != Some(tag(mark)),
            MarkdownEvent::Text(text) => wrong |= text.contains('\n') || text.is_empty(),
            _ => {}
        });
        prop_assert!(!wrong && open.is_empty(), "{text:?}: {open:?}");
    }
}
