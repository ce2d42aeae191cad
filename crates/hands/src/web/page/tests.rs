use proptest::prelude::*;

use super::*;

fn read(html: &str) -> ReadablePage {
    let url = Url::parse("https://example.com/dir/page.html").unwrap();
    read_page(html, &url, 100_000)
}

const PARAGRAPH: &str = "<p>A paragraph that says something at length, so that whoever weighs the parts \
    of this page can tell the story from the decoration around it, commas included, and it goes on.</p>";

fn story() -> String {
    format!(
        "<html><head><title>  The\n Story </title></head><body>
        <nav><a href=/home>Home</a><a href='/about'>About</a></nav>
        <article><h1>The Story</h1>{}<ul><li>one</li><li>two</li></ul>
        <pre><code>fn main() {{\n    run();\n}}</code></pre>
        <p>See <a href='next.html#top'>the next</a>, <a href='//other.org/x'>elsewhere</a>.</p></article>
        <footer>Copyright</footer></body></html>",
        PARAGRAPH.repeat(6)
    )
}

#[test]
fn a_story_is_found_with_its_title_and_links() {
    let page = read(&story());
    assert_eq!(page.title.as_deref(), Some("The Story"));
    assert!(page.text.contains("A paragraph that says"), "{}", page.text);
    assert!(
        page.text.contains("- one") || page.text.contains("* one"),
        "{}",
        page.text
    );
    assert!(page.text.contains("    run();"), "{}", page.text);
    assert!(
        page.text
            .contains("[the next](https://example.com/dir/next.html#top)"),
        "{}",
        page.text
    );
    assert!(!page.text.contains("Copyright"), "{}", page.text);
    let urls: Vec<_> = page.links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(
        urls,
        [
            "https://example.com/dir/next.html",
            "https://other.org/x",
            "https://example.com/home",
            "https://example.com/about",
        ]
    );
    assert_eq!(page.links[0].text, "the next");
    assert!(!page.truncated);
}

#[test]
fn a_page_without_a_story_is_read_whole() {
    for (html, expect) in [
        ("<p>short", "short"),
        ("<table><tr><td>1<td>2</table>", "1"),
        ("just text, no tags", "just text, no tags"),
        ("<ul><li><a href=/a>A</a><li><a href=/b>B</a></ul>", "B"),
        (
            "<noscript>Please enable JavaScript</noscript>",
            "Please enable JavaScript",
        ),
    ] {
        let page = read(html);
        assert!(page.text.contains(expect), "{html}: {:?}", page.text);
    }
    assert_eq!(read("").text, "");
    assert_eq!(read("").title, None);
}

#[test]
fn what_a_reader_would_not_see_is_dropped() {
    let hide = |inside: &str| format!("<body><p>seen</p>{inside}</body>");
    for unseen in [
        "<script>canary</script>",
        "<style>canary</style>",
        "<template>canary</template>",
        "<!-- canary -->",
        "<p hidden>canary</p>",
        "<p aria-hidden=true>canary</p>",
        "<p style='display:none'>canary</p>",
        "<p style='color: red; DISPLAY : None !important'>canary</p>",
        "<div style='visibility:hidden'><p>canary</p></div>",
        "<p style='opacity:0.0'>canary</p>",
        "<p style='font-size: 0px'>canary</p>",
        "<input type=hidden value=canary>",
        "<svg><text>canary</text></svg>",
        "<iframe>canary</iframe>",
        "<a href='javascript:canary()'>x</a>",
        "<img src='data:image/png;base64,canary'>",
    ] {
        let page = read(&hide(unseen));
        assert!(!page.text.contains("canary"), "{unseen}: {}", page.text);
        assert!(page.text.contains("seen"), "{unseen}: {}", page.text);
        assert!(page.links.is_empty(), "{unseen}");
    }
    for seen in [
        "<p>canary</p>",
        "<p style='display:block'>canary</p>",
        "<p style='opacity:0.5'>canary</p>",
        "<p style='opacity'>canary</p>",
        "<p aria-hidden=false>canary</p>",
        "<a href='javascript:x()'>canary</a>",
    ] {
        assert!(read(&hide(seen)).text.contains("canary"), "{seen}");
    }
}

#[test]
fn links_follow_the_base_of_the_page_and_are_counted() {
    let page = read(
        "<head><base href='https://base.org/x/'></head><a href=y>y</a><a href='mailto:a@b.c'>m</a>",
    );
    assert_eq!(page.links.len(), 1);
    assert_eq!(page.links[0].url, "https://base.org/x/y");
    let page = read("<base href='javascript:x'><a href=y>y</a>");
    assert_eq!(page.links[0].url, "https://example.com/dir/y");
    let many: String = (0..200)
        .map(|n| format!("<a href='/{n}'>{n}</a>"))
        .collect();
    assert_eq!(read(&many).links.len(), MAX_LINKS);
    assert_eq!(read("<a href=x>1</a><a href='x#y'>2</a>").links.len(), 1);
}

#[test]
fn a_title_is_found_where_there_is_one() {
    for (html, expect) in [
        ("<title>T &amp; U</title><h1>H</h1>", Some("T & U")),
        (
            "<meta property='og:title' content='O'><h1>H</h1>",
            Some("O"),
        ),
        ("<title> </title><h1>H</h1>", Some("H")),
        ("<svg><title>icon</title></svg><p>x", None),
    ] {
        assert_eq!(read(html).title.as_deref(), expect, "{html}");
    }
    assert!(
        read(&format!("<title>{}</title>", "é".repeat(9999)))
            .title
            .unwrap()
            .len()
            <= MAX_TITLE
    );
}

#[test]
fn text_is_cut_on_a_character_and_the_cut_is_told() {
    let url = Url::parse("https://example.com/").unwrap();
    let page = read_page("<p>aéééé</p>", &url, 4);
    assert_eq!((page.text.as_str(), page.truncated), ("aé", true));
    let page = read_page("<p>aéééé</p>", &url, 9);
    assert_eq!((page.text.as_str(), page.truncated), ("aéééé", false));
}

/// Each would take a parser without a budget minutes, gigabytes or its stack.
#[test]
fn hostile_pages_end_soon_and_say_that_they_were_cut() {
    let attributes: String = (0..400_000).map(|n| format!(" a{n}")).collect();
    let fonts: String = (0..400).map(|n| format!("<b id={n}>")).collect();
    let nested_lists = "<ul><li>".repeat(100_000);
    for (name, html) in [
        ("divs", "<div>".repeat(800_000)),
        (
            "aligned divs",
            format!("{:<64}", "<div></html><!--x-->").repeat(60_000),
        ),
        ("bolds", "<b>".repeat(1_000_000)),
        ("fostered", format!("<table>{}", "<div>".repeat(500_000))),
        ("tables", "<table><tr><td>".repeat(200_000)),
        ("lists", nested_lists),
        ("quotes", "<blockquote>".repeat(300_000)),
        ("links", "<a href=x><div>".repeat(200_000)),
        ("templates", "<template>".repeat(400_000)),
        (
            "formatting",
            format!("<p>{fonts}{}", "<p>x".repeat(900_000)),
        ),
        ("attributes", format!("<p{attributes}>text")),
        ("siblings", "<p>x".repeat(1_000_000)),
    ] {
        let page = read(&format!("<p>start</p>{html}"));
        assert!(page.truncated, "{name}");
        assert!(page.text.len() <= 100_000, "{name}");
    }
}

#[test]
fn a_deep_page_within_the_budget_is_read_whole() {
    let html = format!(
        "{}deep{}",
        "<div><blockquote>".repeat(200),
        "</blockquote></div>".repeat(200)
    );
    let page = read(&html);
    assert!(page.text.contains("deep") && !page.truncated);
}

fn tag_soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zà-ü ]{0,12}",
        proptest::sample::select(vec![
            "<p>",
            "</p>",
            "<div>",
            "</div>",
            "<b>",
            "</b>",
            "<a href=",
            "<a href='/x'>",
            "</a>",
            "<table>",
            "<tr>",
            "<td>",
            "</table>",
            "<li>",
            "<ul>",
            "</ul>",
            "<ol start=99999999999>",
            "<pre>",
            "</pre>",
            "<code>",
            "</code>",
            "<!--",
            "-->",
            "<script>",
            "</script>",
            "<svg>",
            "<math>",
            "<template>",
            "</template>",
            "<select>",
            "<option>",
            "<h1>",
            "</h1>",
            "<br>",
            "<img src=x alt='",
            "'",
            "\"",
            ">",
            "<",
            "&amp;",
            "&#x110000;",
            "&#0;",
            "\0",
            "\u{feff}",
            "<base href='//[::'>",
            "<article>",
            "<font>",
            "<noscript><img src=y></noscript>",
            "<frameset>",
            "</body>",
            "</html>",
            "<title>",
            "|",
            "`",
            "```",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_tag_soup_is_too_hot(html in tag_soup(), max in 0_usize..200) {
        let url = Url::parse("https://example.com/").unwrap();
        let page = read_page(&html, &url, max);
        prop_assert!(page.text.len() <= max);
        prop_assert!(page.links.len() <= MAX_LINKS);
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..2000), label in "[a-z0-9-]{0,12}") {
        let url = Url::parse("https://example.com/").unwrap();
        for content_type in [None, Some(format!("text/html; charset={label}"))] {
            let end = super::super::charset::Completeness::Cut;
            let text = super::super::charset::decode(&bytes, content_type.as_deref(), &url, end);
            read_page(&text, &url, 1000);
        }
    }
}
