use serde_json::json;

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06";

fn ask(path: &str, offset: Option<u64>, limit: Option<u64>) -> ReadRequest {
    ReadRequest {
        path: path.to_owned(),
        offset,
        limit,
    }
}

impl Fixture {
    fn read(&self, path: &str) -> Result<ReadResult, LocalError> {
        self.files.read(&ask(path, None, None), &never())
    }

    #[track_caller]
    fn part(&self, path: &str, offset: Option<u64>, limit: Option<u64>) -> TextPart {
        match self.files.read(&ask(path, offset, limit), &never()) {
            Ok(ReadResult::Text(part)) => part,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn lines_are_numbered_from_the_offset() {
    let fixture = Fixture::new();
    for (text, offset, limit, content, lines, total, truncated) in [
        ("a\nb\nc\n", None, None, "1\ta\n2\tb\n3\tc", 3, None, false),
        ("a\nb\nc", None, None, "1\ta\n2\tb\n3\tc", 3, None, false),
        ("a\n\n\n", None, None, "1\ta\n2\t\n3\t", 3, None, false),
        ("", None, None, "", 0, None, false),
        ("\n", None, None, "1\t", 1, None, false),
        ("a\r\nb\r\n", None, None, "1\ta\r\n2\tb\r", 2, None, false),
        ("a\nb\nc\n", Some(1), None, "2\tb\n3\tc", 2, Some(3), false),
        ("a\nb\nc\n", None, Some(2), "1\ta\n2\tb", 2, Some(3), true),
        ("a\nb\nc\n", Some(1), Some(1), "2\tb", 1, Some(3), true),
        ("a\nb\nc\n", Some(2), Some(9), "3\tc", 1, Some(3), false),
        ("a\nb", Some(1), Some(1), "2\tb", 1, Some(2), false),
        ("a\nb\n", Some(2), None, "", 0, Some(2), false),
        ("a\nb\n", Some(99), None, "", 0, Some(2), false),
        (
            "a\nb\n",
            Some(u64::MAX),
            Some(u64::MAX),
            "",
            0,
            Some(2),
            false,
        ),
        ("a\nb\n", None, Some(0), "", 0, Some(2), true),
        ("ä\t€\n", None, None, "1\tä\t€", 1, None, false),
    ] {
        fixture.put("f", text);
        let part = fixture.part("f", offset, limit);
        let case = format!("{text:?} {offset:?} {limit:?}");
        assert_eq!(part.content, content, "{case}");
        let facts = (part.lines, part.total_lines, part.truncated);
        assert_eq!(facts, (lines, total, truncated), "{case}");
    }
}

#[test]
fn results_have_the_shape_of_the_text() {
    let fixture = Fixture::new();
    fixture.put("f.txt", "a\nb\n");
    fixture.put("photo.png", PNG);
    let path = fixture.at("f.txt").display().to_string();
    let shape = |request| serde_json::to_value(fixture.files.read(&request, &never()).unwrap());
    assert_eq!(
        shape(ask("f.txt", None, None)).unwrap(),
        json!({"path": path, "content": "1\ta\n2\tb", "lines": 2})
    );
    assert_eq!(
        shape(ask("./f.txt", None, Some(1))).unwrap(),
        json!({"path": path, "content": "1\ta", "lines": 1, "totalLines": 2, "truncated": true})
    );
    let image = shape(ask("photo.png", Some(7), Some(1))).unwrap();
    let text = format!("Image file: photo.png (image/png, {} bytes)", PNG.len());
    assert_eq!(image["content"][0], json!({"type": "text", "text": text}));
    assert_eq!(image["content"][1]["type"], "image");
    assert_eq!(image["content"][1]["mimeType"], "image/png");
    let data = image["content"][1]["data"].as_str().unwrap();
    use base64::Engine;
    assert_eq!(base64::prelude::BASE64_STANDARD.decode(data).unwrap(), PNG);
    assert_eq!(image.as_object().unwrap().len(), 1);
}

#[test]
fn paths_are_relative_to_the_workspace_or_used_as_they_are() {
    let fixture = Fixture::new();
    fixture.put("d/f", "in");
    put(&fixture.out("f"), "out");
    for (path, content) in [
        ("d/f".to_owned(), "1\tin"),
        ("./d//f".to_owned(), "1\tin"),
        ("../out/f".to_owned(), "1\tout"),
        (fixture.out("f").display().to_string(), "1\tout"),
    ] {
        assert_eq!(fixture.part(&path, None, None).content, content, "{path}");
    }
}

#[test]
fn binaries_are_named_and_refused() {
    let fixture = Fixture::new();
    for (name, bytes, mime) in [
        (
            "a.gz",
            &b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..],
            "application/gzip",
        ),
        ("a.bin", b"\xff\x01\x02\x03", "application/octet-stream"),
        ("latin1.txt", b"caf\xe9 au lait", "application/octet-stream"),
        (
            "tail.txt",
            b"text, then half a euro \xe2\x82",
            "application/octet-stream",
        ),
    ] {
        fixture.put(name, bytes);
        let size = bytes.len();
        let expect =
            format!("Binary file: {name} ({mime}, {size} bytes) — not a text or image file");
        assert_eq!(fixture.read(name).unwrap_err().to_string(), expect);
    }
    fixture.put("text.gz", "text whatever it is called");
    assert!(fixture.read("text.gz").is_ok());
}

#[test]
fn special_files_are_refused_at_once() {
    let fixture = Fixture::new();
    fixture.put("d/f", "x");
    fifo(&fixture.at("fifo"));
    let refused = |path: &str| fixture.read(path).unwrap_err();
    assert!(matches!(refused("gone"), LocalError::NotFound(_)));
    assert!(matches!(refused("d/f/g"), LocalError::NotDirectory(_)));
    assert!(matches!(refused("d"), LocalError::IsDirectory(_)));
    assert!(matches!(refused(""), LocalError::IsDirectory(_)));
    assert!(matches!(refused("fifo"), LocalError::NotRegular(_)));
    assert!(matches!(refused("/dev/null"), LocalError::NotRegular(_)));
    assert!(matches!(
        refused("a\0b"),
        LocalError::Parameter { name: "path", .. }
    ));
    assert!(refused("gone").to_string().contains("/work/gone"));
    assert!(fixture.read("d/f").is_ok());
}

#[test]
fn a_file_of_somebody_else_is_not_read() {
    as_ordinary_user(|| {
        use std::os::unix::fs::PermissionsExt;
        let fixture = Fixture::new();
        fixture.put("f", "x");
        assert!(fixture.read("f").is_ok());
        fs::set_permissions(fixture.at("f"), PermissionsExt::from_mode(0o000)).unwrap();
        assert!(matches!(fixture.read("f"), Err(LocalError::Denied(_))));
    });
}

#[test]
fn a_long_text_is_read_in_parts_only() {
    let fixture = Fixture::new();
    let line = "0123456789abcdef\n".repeat(64);
    let count = READ_LIMIT / 17 + 2;
    let mut text = line.repeat(usize::try_from(count).unwrap() / 64 + 1);
    text.truncate(usize::try_from(count * 17).unwrap());
    fixture.put("long", &text);
    let refused = fixture.read("long").unwrap_err();
    assert!(matches!(refused, LocalError::LongText { size, .. } if size == count * 17));
    assert!(refused.to_string().contains("offset and limit"));
    let part = fixture.part("long", Some(count - 2), Some(1));
    assert_eq!(part.content, format!("{}\t0123456789abcdef", count - 1));
    assert_eq!((part.total_lines, part.truncated), (None, true));
    let end = fixture.part("long", Some(count - 1), Some(5));
    assert_eq!(
        (end.lines, end.total_lines, end.truncated),
        (1, Some(count), false)
    );
    let past = fixture.part("long", Some(count + 5), Some(5));
    assert_eq!((past.lines, past.total_lines), (0, Some(count)));
    let most = fixture.part("long", Some(0), None);
    assert!(most.truncated && most.content.len() as u64 <= READ_LIMIT + 64);
    text.truncate(usize::try_from(READ_LIMIT).unwrap());
    fixture.put("long", &text);
    assert!(fixture.read("long").is_ok(), "10 MB itself is not over it");
}

#[test]
fn a_line_without_end_is_cut_between_characters() {
    let fixture = Fixture::new();
    let text = "€".repeat(usize::try_from(READ_LIMIT).unwrap() / 3 + 10);
    fixture.put("long", text);
    let part = fixture.part("long", Some(0), Some(1));
    assert!(part.truncated && part.content.len() as u64 <= READ_LIMIT + 64);
    assert!(part.content.ends_with('€'));
}

#[test]
fn a_large_binary_is_told_by_its_beginning() {
    let fixture = Fixture::new();
    for (name, head) in [
        ("big.png", PNG),
        ("big.bin", b"\xff\x01\x02"),
        ("big.txt", b"text\n"),
    ] {
        let mut bytes = head.to_vec();
        bytes.resize(usize::try_from(READ_LIMIT).unwrap() + 1, b' ');
        if name == "big.txt" {
            bytes.extend_from_slice(b"\nsuddenly \xff\n");
        }
        fixture.put(name, bytes);
    }
    let size = READ_LIMIT + 1;
    assert_eq!(
        fixture.read("big.png").unwrap_err().to_string(),
        format!("Image file: big.png (image/png, {size} bytes) is over the limit of 10 MB")
    );
    assert!(
        matches!(fixture.read("big.bin"), Err(LocalError::Binary { size: s, .. }) if s == size)
    );
    assert_eq!(fixture.part("big.txt", Some(0), Some(1)).content, "1\ttext");
    let late = fixture.files.read(&ask("big.txt", Some(2), None), &never());
    assert!(matches!(late, Err(LocalError::Binary { .. })));
}

#[test]
fn a_file_of_unknown_size_is_read() {
    let fixture = Fixture::new();
    let part = fixture.part("/proc/self/status", None, None);
    assert!(part.content.starts_with("1\tName:"), "{}", part.content);
}

#[test]
fn reading_can_be_cancelled() {
    let fixture = Fixture::new();
    fixture.put("f", "a\nb\n");
    let cancelled = never();
    cancelled.cancel();
    for request in [ask("f", Some(1), None), ask("f", None, None)] {
        let refused = fixture.files.read(&request, &cancelled);
        assert!(matches!(refused, Err(LocalError::Cancelled)));
        assert!(fixture.files.read(&request, &never()).is_ok());
    }
}
