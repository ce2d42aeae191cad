//! Claims about reading in files.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use manyhands_core::Secret;
use manyhands_guard::Redactor;
use serde_json::json;
use tokio::sync::Semaphore;

use super::*;

/// The bytes in pieces of `size`.
fn source(bytes: &[u8], size: usize) -> TextSource {
    let redactor = Redactor::new(&[Secret::new("hunter2-hunter2")]);
    let pieces: Vec<_> = bytes
        .chunks(size)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    TextSource::new(stream::iter(pieces).boxed(), &redactor)
}

fn at(offset: u64, limit: usize) -> TextRange {
    TextRange { offset, limit }
}

fn part(content: &str, next: Option<u64>) -> TextPart {
    TextPart {
        content: content.to_owned(),
        next,
    }
}

#[tokio::test]
async fn pages_continue_exactly_whatever_the_chunks() {
    let text = "añb🎉c\nd€";
    for size in 1..12 {
        for limit in 1..12 {
            let (mut whole, mut offset) = (String::new(), 0);
            loop {
                let read = page(source(text.as_bytes(), size), at(offset, limit))
                    .await
                    .unwrap();
                assert!(read.content.chars().count() <= limit);
                whole.push_str(&read.content);
                match read.next {
                    Some(next) => offset = next,
                    None => break,
                }
            }
            assert_eq!(whole, text, "{size} {limit}");
        }
    }
    assert_eq!(
        page(source(b"abc", 2), at(3, 5)).await.unwrap(),
        part("", None)
    );
    let past = page(source(b"abc", 2), at(4, 5)).await.unwrap_err();
    assert!(past.message.contains("there are 3 characters"), "{past}");
    assert_eq!(
        page(source(b"", 2), at(0, 5)).await.unwrap(),
        part("", None)
    );
    assert_eq!(
        page(source(b"a\xffb", 1), at(0, 5)).await.unwrap(),
        part("aÿb", None),
        "Latin-1"
    );
}

#[tokio::test]
async fn half_a_secret_is_never_shown() {
    let text = b"key hunter2-hunter2 end";
    for size in [1, 3, 100] {
        let mut whole = String::new();
        for offset in 0..18 {
            whole.push_str(
                &page(source(text, size), at(offset, 1))
                    .await
                    .unwrap()
                    .content,
            );
        }
        assert_eq!(whole, "key [redacted] end");
    }
}

#[tokio::test]
async fn binary_content_is_detected_and_read_in_base64() {
    for (bytes, text) in [
        (&b"plain"[..], true),
        (b"", true),
        ("ü".repeat(8_000).as_bytes(), true),
        (b"\x89PNG\0\x01", false),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0", false),
        (b"\x1f\x8b\x08\xff\x01\xe9\xf2", false),
        (b"a\0\0\0b\0\0\0", false),
        (b"\x01\x02\x03\x04", false),
        (b"\xff\xfea\0", true),
        (b"h\0i\0\n\0", true),
        (b"caf\xe9 au lait", true),
        (b"\x1b[31mred\x1b[0m", true),
    ] {
        assert_eq!(source(bytes, 7).is_text().await.unwrap(), text, "{bytes:?}");
    }
    let read = async |offset| bytes(source(b"\0\x01\x02\x03\x04", 2), at(offset, 4)).await;
    assert_eq!(read(0).await.unwrap(), part("AAEC", Some(3)));
    assert_eq!(read(3).await.unwrap(), part("AwQ=", None));
    assert_eq!(read(5).await.unwrap(), part("", None));
    assert!(read(6).await.is_err());
}

#[tokio::test]
async fn lines_are_counted_from_one_and_keep_their_ends() {
    let read = async |text: &'static str, first, last| {
        let lines = LineRange::new(first, last)?;
        lines
            .read(source(text.as_bytes(), 2), at(0, 100))
            .await
            .map(|part| part.content)
    };
    let text = "one\r\ntwo\n\nfour";
    for (first, last, expect) in [
        (Some(1), Some(1), "one\r\n"),
        (Some(2), Some(3), "two\n\n"),
        (Some(4), None, "four"),
        (None, Some(2), "one\r\ntwo\n"),
        (Some(4), Some(99), "four"),
    ] {
        assert_eq!(read(text, first, last).await.unwrap(), expect);
    }
    for (text, first, words) in [
        (text, 5, "there are 4 lines"),
        ("a\n", 2, "there are 1 lines"),
        ("", 2, "there are 0 lines"),
    ] {
        let error = read(text, Some(first), None).await.unwrap_err();
        assert!(error.message.contains(words), "{error}");
    }
    assert_eq!(read("", Some(1), None).await.unwrap(), "");
    assert!(LineRange::new(Some(3), Some(2)).is_err());
    let lines = LineRange::new(Some(2), Some(3)).unwrap();
    let paged = lines
        .read(source(b"a\nbcd\ne\nf", 3), at(1, 3))
        .await
        .unwrap();
    assert_eq!(paged, part("cd\n", Some(4)));
}

#[tokio::test]
async fn a_search_shows_lines_with_context() {
    let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let find = async |text: &str, what: &str, context, page| {
        let pattern = SearchPattern::new(what, context).unwrap();
        pattern
            .read(source(text.as_bytes(), 5), page)
            .await
            .unwrap()
    };
    let all = at(0, 10_000);
    assert_eq!(
        find(&text, "LINE 7", 1, all).await.content,
        "6-line 6\n7:line 7\n8-line 8\n"
    );
    assert_eq!(
        find(&text, "line (3|4|9)$", 0, all).await.content,
        "3:line 3\n4:line 4\n--\n9:line 9\n"
    );
    assert_eq!(
        find(&text, "line 20", 2, all).await.content,
        "18-line 18\n19-line 19\n20:line 20\n"
    );
    assert_eq!(
        find(&text, "nothing", 2, all).await,
        part("no line matches \"nothing\" (20 lines searched)\n", None)
    );
    assert_eq!(
        find("one\ntwo", "three", 2, all).await.content,
        "no line matches \"three\" (2 lines searched)\n"
    );
    let odd = "a (b\na.b\nÜber\n";
    assert_eq!(find(odd, "(b", 0, all).await.content, "1:a (b\n");
    assert_eq!(find(odd, "a.b", 0, all).await.content, "2:a.b\n");
    assert_eq!(find(odd, "über", 0, all).await.content, "3:Über\n");
    let first = find(&text, "line", 0, at(0, 12)).await;
    assert_eq!(first, part("1:line 1\n2:l", Some(12)));
    assert_eq!(find(&text, "line", 0, at(12, 6)).await.content, "ine 2\n");
    let long = format!("{}needle{}", "x".repeat(50_000), "y".repeat(50_000));
    let found = find(&long, "NEEDLE", 2, all).await.content;
    assert!(found.contains("xneedley") && found.len() < 1_100, "{found}");
    let across = format!("{}needle", "x".repeat(16 * 1024 - 3));
    assert!(
        find(&across, "needle", 0, all)
            .await
            .content
            .contains("needle")
    );
}

fn by_path(path: &str) -> JsonAsk {
    JsonAsk {
        path: Some(path.to_owned()),
        indices: None,
    }
}

fn both(path: Option<&str>, indices: &str) -> Result<JsonAsk, ToolError> {
    Ok(JsonAsk {
        path: path.map(str::to_owned),
        indices: Some(Indices::parse(indices)?),
    })
}

async fn json(text: &str, ask: JsonAsk, page: TextRange) -> Result<TextPart, ToolError> {
    let places = Arc::new(Semaphore::new(1));
    ask.read(source(text.as_bytes(), 7), page, &places).await
}

#[tokio::test]
async fn values_are_found_by_dots_by_queries_and_by_indices() {
    let text = json!({ "data": { "items": [{ "name": "a" }, { "name": "b" }, 3] }, "k-1": null })
        .to_string();
    let path = async |path: &str| {
        let part = json(&text, by_path(path), at(0, 10_000)).await?;
        Ok::<_, ToolError>(serde_json::from_str::<serde_json::Value>(&part.content).unwrap())
    };
    for (asked, expect) in [
        ("data.items[0].name", json!("a")),
        ("data.items[-1]", json!(3)),
        ("data.items.0.name", json!("a")),
        ("data.items.-1", json!(3)),
        ("k-1", json!(null)),
        ("$.data.items[*].name", json!(["a", "b"])),
        ("$..name", json!(["a", "b"])),
        ("$.nothing", json!([])),
        ("$.data.items[?@.name == 'b'].name", json!(["b"])),
    ] {
        assert_eq!(path(asked).await.unwrap(), expect, "{asked}");
    }
    for (asked, words) in [
        (
            "data.nothing",
            "there is no nothing in data, which has items",
        ),
        (
            "data.items[3]",
            "there is no [3] in data.items, which is a list of 3",
        ),
        ("data.items[x]", "is not an index"),
        ("data..items", "empty part"),
        ("", "empty part"),
        ("$.[", "is not a JSONPath query"),
    ] {
        let error = path(asked).await.unwrap_err();
        assert!(error.message.contains(words), "{asked}: {error}");
    }
    let list = "[0,1,2,3,4,5,6]";
    let indices = async |asked: &str| {
        let ask = both(None, asked)?;
        let part = json(list, ask, at(0, 1_000)).await?;
        Ok::<_, ToolError>(part.content.replace(['\n', ' '], ""))
    };
    assert_eq!(indices("0,2,2").await.unwrap(), "[0,2,2]");
    assert_eq!(indices("1-3, 6").await.unwrap(), "[1,2,3,6]");
    assert_eq!(indices("5-99").await.unwrap(), "[5,6]");
    for wrong in [
        "",
        "a",
        "-1",
        "3-1",
        "1,,2",
        "7",
        "0-18446744073709551615,0",
        "1.5",
    ] {
        assert!(indices(wrong).await.is_err(), "{wrong}");
    }
    let ask = both(None, "0").unwrap();
    assert!(json(&text, ask, at(0, 10)).await.is_err());
    assert!(json("not json", by_path("a"), at(0, 10)).await.is_err());
    let paged = json("[1,2,3]", by_path("$[*]"), at(2, 3)).await.unwrap();
    assert_eq!(paged, part("  1", Some(5)));
}

#[tokio::test]
async fn an_unbounded_query_is_refused() {
    let list: Vec<_> = (0..2_000)
        .map(|n| json!({ "a": [n, { "b": "x" }] }))
        .collect();
    let text = json!(list).to_string();
    for dear in [
        "$..[?$..b]",
        &format!("${}", "[0,0,0,0,0,0,0,0]".repeat(10)),
        "$[?search(@.a, 'x')]..*",
        "$..*..*..*..*..*..*..*",
    ] {
        let error = json(&text, by_path(dear), at(0, 10)).await.unwrap_err();
        assert!(error.message.contains("too many"), "{dear}: {error}");
    }
    for cheap in [
        "$..b",
        "$[0:5].a",
        "$[?@.a[0] > 1990]",
        "$[0]['$..', '..$']",
    ] {
        json(&text, by_path(cheap), at(0, 10)).await.unwrap();
    }
}

#[tokio::test]
async fn filter_expressions_are_supported_and_bounded() {
    let list: Vec<_> = (0..50)
        .map(|n| json!({ "a": format!("n{n}"), "b": "((x{99}){99}){99}" }))
        .collect();
    let text = json!(list).to_string();
    let asked = async |path: &str| json(&text, by_path(path), at(0, 100)).await;
    for (wrong, words) in [
        ("$[?match(@.a, @.b)]", "as a quoted text"),
        ("$[?search(@.a, $[0].b)]", "as a quoted text"),
        ("$[?match(@.a, '((x{99}){99}){99}')]", "too large"),
        ("$[?match(@.a, \"(\\\\p{L}{99}){99}\")]", "too large"),
        ("$[?search(@.a, '((')]", "not valid"),
        (
            "$[?match(@.a, 'n1') || search(@.a, '\\\\p{L}{9}') || search(@.a, '\\\\p{L}{8}')]",
            "too large",
        ),
    ] {
        let error = asked(wrong).await.unwrap_err();
        assert!(error.message.contains(words), "{wrong}: {error}");
    }
    for (good, shows) in [
        ("$[?match(@.a, 'n4[0-3]')].a", "\"n40\""),
        ("$[?search(@['a'], \"^n\\\\d$\")].a", "\"n0\""),
        ("$[?match(@.a, 'it\\'s|n7')].a", "\"n7\""),
        ("$[0].match", "[]"),
    ] {
        let part = asked(good).await.unwrap();
        assert!(part.content.contains(shows), "{good}: {}", part.content);
    }
}

#[tokio::test]
async fn common_encodings_are_decoded_whatever_the_chunks() {
    let text = "Käse für 5 €, naïve façade – Größe\n".repeat(40);
    let wide = |text: &str, unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(unit).collect()
    };
    let latin = encoding_rs::WINDOWS_1252.encode(&text).0.into_owned();
    // The first character that is not ASCII comes long after what is looked at first.
    let late = format!("{}{text}", "plain words\n".repeat(2_000));
    let late_latin = encoding_rs::WINDOWS_1252.encode(&late).0.into_owned();
    let cyrillic = "Съешь же ещё этих мягких французских булок, да выпей чаю. ".repeat(5);
    let sjis = "これは日本語の文章です。漢字とかな。".repeat(5);
    for (bytes, expect) in [
        (text.clone().into_bytes(), &text),
        ([b"\xef\xbb\xbf", text.as_bytes()].concat(), &text),
        (
            [b"\xff\xfe".to_vec(), wide(&text, u16::to_le_bytes)].concat(),
            &text,
        ),
        (
            [b"\xfe\xff".to_vec(), wide(&text, u16::to_be_bytes)].concat(),
            &text,
        ),
        (wide(&text, u16::to_le_bytes), &text),
        (wide(&text, u16::to_be_bytes), &text),
        (latin, &text),
        (late.clone().into_bytes(), &late),
        (late_latin, &late),
        (
            encoding_rs::WINDOWS_1251.encode(&cyrillic).0.into_owned(),
            &cyrillic,
        ),
        (encoding_rs::SHIFT_JIS.encode(&sjis).0.into_owned(), &sjis),
    ] {
        for size in [1, 3, 1000, 100_000] {
            let mut source = source(&bytes, size);
            assert!(source.is_text().await.unwrap());
            let (read, whole) = source.all(usize::MAX).await.unwrap();
            assert!(
                whole && read == **expect,
                "{size}: {read:?} is not {expect:?}"
            );
        }
    }
    let damaged = [text.as_bytes(), b"\xff", text.as_bytes()].concat();
    let (read, _) = source(&damaged, 10).all(usize::MAX).await.unwrap();
    assert_eq!(read, format!("{text}\u{fffd}{text}"), "still UTF-8");
}

#[tokio::test]
async fn a_secret_is_cut_out_of_every_encoding() {
    let text = "key hunter2-hunter2 end ";
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin = [text.as_bytes(), b"caf\xe9"].concat();
    for bytes in [wide, latin, text.as_bytes().to_vec()] {
        for size in [1, 5, 100] {
            let (read, _) = source(&bytes, size).all(usize::MAX).await.unwrap();
            assert!(read.starts_with("key [redacted] end"), "{read}");
        }
    }
    let document = Bytes::from(text.repeat(10_000));
    let redactor = Redactor::new(&[Secret::new("hunter2-hunter2")]);
    let (read, _) = TextSource::of_text(document, &redactor)
        .all(usize::MAX)
        .await
        .unwrap();
    assert_eq!(read, "key [redacted] end ".repeat(10_000));
}

/// What is asked of a document, and what it gives: the same whether it is held or too large for that.
const ASKED: [(&str, &str, &str); 22] = [
    ("data.items[1].n", "", "1"),
    ("data.items.2.n", "", "2"),
    ("data.name", "", "\"x\""),
    ("data.items", "0,2", "[{\"n\":0},{\"n\":2}]"),
    ("data.items", "2,0-1", "[{\"n\":2},{\"n\":0},{\"n\":1}]"),
    ("$.data.items", "1", "[{\"n\":1}]"),
    ("$.data.items[*].n", "", "[0,1,2]"),
    ("$.data.items[*].n", "1-9", "[1,2]"),
    ("$.data.items[?@.n > 0].n", "", "[1,2]"),
    ("$['data']['items'][0]", "", "[{\"n\":0}]"),
    ("$.data.items[0:2].n", "", "[0,1]"),
    ("$.data.items[-1].n", "", "[2]"),
    ("$.data..n", "", "[0,1,2]"),
    ("$.data.*", "0", "[\"x\"]"),
    ("$.nothing", "", "[]"),
    (
        "data.nothing",
        "",
        "there is no nothing in data, which has name, items",
    ),
    (
        "data.name.x",
        "",
        "there is no x in data.name, which is a text",
    ),
    (
        "data.items[9]",
        "",
        "there is no [9] in data.items, which is a list of 3",
    ),
    (
        "data.items",
        "3",
        "array_indices: there is no element 3: the list has 3",
    ),
    (
        "data",
        "0",
        "array_indices: needs a list, and json_path \"data\" selects an object",
    ),
    (
        "",
        "0",
        "array_indices: needs a list, and the file is an object",
    ),
    ("data..n", "", "json_path: has an empty part"),
];

#[tokio::test]
async fn a_path_gives_the_same_result_in_a_streamed_file() {
    let small = r#"{"before": [1, {"a": "\"]}"}], "data": {"name": "x", "items": [{"n": 0}, {"n": 1}, {"n": 2}]}, "after": null}"#;
    let large = small.replace(
        "[1,",
        &format!("[\"{}\",", "x".repeat(json::MOST + (1 << 17))),
    );
    let large = source(large.as_bytes(), 1 << 20)
        .all(usize::MAX)
        .await
        .unwrap()
        .0;
    for (path, indices, expect) in ASKED {
        for text in [small, &large] {
            let ask = JsonAsk {
                path: (!path.is_empty()).then(|| path.to_owned()),
                indices: (!indices.is_empty()).then(|| Indices::parse(indices).unwrap()),
            };
            let places = Arc::new(Semaphore::new(1));
            let read = ask.read(source(text.as_bytes(), 1 << 20), at(0, 1_000), &places);
            let said = match read.await {
                Ok(part) => part.content.replace(['\n', ' '], ""),
                Err(error) => error.message,
            };
            let fits = said == expect || (expect.contains(' ') && said.contains(expect));
            assert!(fits, "{path} {indices} of {} bytes: {said}", text.len());
        }
    }
    let read = async |ask: JsonAsk, page| {
        let places = Arc::new(Semaphore::new(1));
        ask.read(source(large.as_bytes(), 1 << 20), page, &places)
            .await
    };
    let long = read(by_path("before"), at(4, 10)).await.unwrap();
    assert_eq!(
        long,
        part("\"xxxxxxxxx", Some(14)),
        "more than fits in memory is paged"
    );
    let held = read(both(Some("before"), "0").unwrap(), at(0, 10))
        .await
        .unwrap_err();
    assert!(held.message.contains("more than"), "{held}");
    let from_end = read(by_path("data.items[-1]"), at(0, 10))
        .await
        .unwrap_err();
    assert!(
        from_end.message.contains("counts from the end"),
        "{from_end}"
    );
    let cut = &large[..large.len() - 60];
    let places = Arc::new(Semaphore::new(1));
    let wrong = by_path("after")
        .read(source(cut.as_bytes(), 1 << 20), at(0, 10), &places)
        .await;
    assert!(wrong.unwrap_err().message.contains("not JSON"));
}
