//! Documents and large JSON as artifacts of the real gateway. Every document is made here.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::harness::{Gateway, Home};
use crate::http::Request;

const READ: &str = "gateway_read_artifact";

/// A ZIP file of these parts, as office formats are.
fn zip(parts: &[(&str, &str)]) -> Vec<u8> {
    let (mut file, mut list) = (Vec::new(), Vec::new());
    for (name, content) in parts {
        let size = u32::try_from(content.len()).expect("small").to_le_bytes();
        let length = u16::try_from(name.len()).expect("small").to_le_bytes();
        let at = u32::try_from(file.len()).expect("small").to_le_bytes();
        let shared = [&[20, 0, 0, 0, 0, 0][..], &[0; 8], &size, &size, &length].concat();
        file.extend(
            [
                b"PK\x03\x04",
                &shared[..],
                &[0, 0],
                name.as_bytes(),
                content.as_bytes(),
            ]
            .concat(),
        );
        list.extend(
            [
                b"PK\x01\x02\x14\x00",
                &shared[..],
                &[0; 12],
                &at,
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let count = u16::try_from(parts.len()).expect("few").to_le_bytes();
    let [size, at] =
        [list.len(), file.len()].map(|n| u32::try_from(n).expect("small").to_le_bytes());
    file.extend(&list);
    file.extend(
        [
            b"PK\x05\x06\0\0\0\0",
            &count[..],
            &count,
            &size,
            &at,
            &[0, 0],
        ]
        .concat(),
    );
    file
}

/// A PDF whose one page shows these lines.
pub fn pdf(lines: &[&str]) -> Vec<u8> {
    let shown: String = lines
        .iter()
        .map(|line| format!("({line}) Tj T* "))
        .collect();
    let content = format!("BT /F1 12 Tf 14 TL 72 700 Td {shown} ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    let mut file = "%PDF-1.4\n".to_owned();
    for (place, object) in objects.iter().enumerate() {
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", place + 1));
    }
    file.push_str("trailer << /Root 1 0 R >>\n%%EOF\n");
    file.into_bytes()
}

fn office() -> [(&'static str, Vec<u8>); 5] {
    let text = "application/vnd.oasis.opendocument.spreadsheet";
    [
        (
            "report.pdf",
            pdf(&["Quarterly report", "Revenue: 42 million", "Outlook"]),
        ),
        (
            "letter.docx",
            zip(&[(
                "word/document.xml",
                "<w:document xmlns:w='w'><w:p><w:t>Quarterly report</w:t></w:p><w:p><w:t>Revenue: 42 million</w:t></w:p><w:p><w:t>Outlook</w:t></w:p></w:document>",
            )]),
        ),
        (
            "book.xlsx",
            zip(&[
                (
                    "xl/workbook.xml",
                    "<workbook xmlns:r='r'><sheets><sheet name='Q1' r:id='a'/></sheets></workbook>",
                ),
                (
                    "xl/_rels/workbook.xml.rels",
                    "<Relationships><Relationship Id='a' Target='worksheets/sheet1.xml'/></Relationships>",
                ),
                (
                    "xl/worksheets/sheet1.xml",
                    "<worksheet><row><c t='inlineStr'><is><t>Revenue: 42 million</t></is></c><c><v>7</v></c></row></worksheet>",
                ),
            ]),
        ),
        (
            "talk.pptx",
            zip(&[
                ("ppt/presentation.xml", "<p:presentation xmlns:p='p'/>"),
                (
                    "ppt/slides/slide1.xml",
                    "<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:t>Revenue: 42 million</a:t></a:p></p:sld>",
                ),
            ]),
        ),
        (
            "sheet.ods",
            zip(&[
                ("mimetype", text),
                (
                    "content.xml",
                    "<o xmlns:table='t' xmlns:text='x'><table:table table:name='Q1'><table:table-row><table:table-cell><text:p>Revenue: 42 million</text:p></table:table-cell></table:table-row></table:table></o>",
                ),
            ]),
        ),
    ]
}

/// Uploads a file; its id.
#[track_caller]
pub fn upload(gateway: &Gateway, name: &str, bytes: Vec<u8>) -> String {
    let request =
        Request::new("POST", &format!("/api/artifacts?name={name}")).bearer(&gateway.owner);
    let kept = gateway.send(&request.body(bytes)).json();
    kept["result"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{kept}"))
        .to_owned()
}

fn asked(id: &str, more: Value) -> Value {
    let mut asked = json!({ "file_id": id });
    asked
        .as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    asked
}

#[test]
fn the_text_of_documents_is_paged_searched_and_read_by_lines() {
    let gateway = Gateway::start();
    for (name, bytes) in office() {
        let size = bytes.len();
        let id = upload(&gateway, name, bytes);
        let read = |more: Value| gateway.call(READ, asked(&id, more))["result"].clone();
        let found = read(json!({ "search": "revenue", "context_lines": 0 }));
        let content = found["content"].as_str().expect("text");
        assert!(content.contains(":Revenue: 42 million"), "{name}: {found}");
        let kind = name.rsplit('.').next();
        assert_eq!(
            (found["extractedFrom"].as_str(), &found["totalSize"]),
            (kind, &json!(size)),
            "{found}"
        );
        let line = content
            .split(':')
            .next()
            .expect("a number")
            .parse::<u64>()
            .expect("a number");
        let lines = read(json!({ "start_line": line, "end_line": line }));
        assert!(
            lines["content"]
                .as_str()
                .is_some_and(|text| text.starts_with("Revenue")),
            "{lines}"
        );
        let page = read(json!({ "limit": 5 }));
        assert_eq!(
            (&page["mode"], &page["hasMore"]),
            (&json!("raw"), &json!(true)),
            "{page}"
        );
        let next = read(json!({ "offset": page["nextOffset"] }));
        let whole = format!(
            "{}{}",
            page["content"].as_str().expect("text"),
            next["content"].as_str().expect("text")
        );
        assert!(whole.contains("Revenue: 42 million"), "{name}: {whole}");
        let stored = read(json!({ "source": true }));
        assert_eq!(stored["mode"], "base64", "{name}");
        let code =
            format!("return (await codeExec.readArtifact('{id}')).content.includes('42 million')");
        let said = gateway.call("code-execution_execute", json!({ "code": code }));
        assert_eq!(said["result"]["result"], true, "{said}");
    }
}

#[test]
fn a_web_page_is_searched_as_it_is_read_and_paged_as_it_is_written() {
    let gateway = Gateway::start();
    let page = "<html><head><title>T</title><script>let hidden = 1</script></head><body><p>Ann <b>&amp;</b> Bob</p></body></html>";
    let id = upload(&gateway, "page.html", page.as_bytes().to_vec());
    let read = |more: Value| gateway.call(READ, asked(&id, more))["result"]["content"].clone();
    let found = read(json!({ "search": "ann & bob", "context_lines": 0 }));
    assert!(
        found
            .as_str()
            .is_some_and(|text| text.contains("Ann & Bob")),
        "{found}"
    );
    let hidden = read(json!({ "search": "hidden" }));
    assert!(
        hidden
            .as_str()
            .is_some_and(|text| text.starts_with("no line matches \"hidden\"")),
        "{hidden}"
    );
    assert_eq!(read(json!({})), page, "its source");
    let source = read(json!({ "search": "hidden", "source": true }));
    assert!(
        source.as_str().is_some_and(|text| text.starts_with("1:")),
        "{source}"
    );
}

#[test]
fn a_document_without_text_explains_why() {
    let gateway = Gateway::start();
    let mut locked = pdf(&["secret"]);
    locked.extend(b"trailer << /Root 1 0 R /Encrypt 9 0 R >>");
    let mut hostile = pdf(&["x"]);
    hostile.truncate(60);
    for (name, bytes, words) in [
        ("scan.pdf", pdf(&[]), "no text, only pictures"),
        ("locked.pdf", locked, "encrypted"),
        ("cut.pdf", hostile, "damaged"),
    ] {
        let id = upload(&gateway, name, bytes);
        let refused = gateway.call(READ, asked(&id, json!({ "search": "x" })));
        assert_eq!(refused["code"], "failed", "{refused}");
        assert!(
            refused["error"]
                .as_str()
                .is_some_and(|e| e.contains(words) && e.contains("application/pdf")),
            "{refused}"
        );
        assert!(refused["details"]["url"].is_string(), "{refused}");
        let raw = &gateway.call(READ, asked(&id, json!({})))["result"];
        assert_eq!(raw["mode"], "base64", "{raw}");
        assert!(
            raw["note"]
                .as_str()
                .is_some_and(|note| note.contains(words)),
            "{raw}"
        );
    }
    let id = upload(&gateway, "good.pdf", pdf(&["fine"]));
    let good = gateway.call(READ, asked(&id, json!({ "search": "fine" })));
    assert_eq!(good["ok"], true, "the control: {good}");
}

#[test]
fn text_in_other_encodings_is_text() {
    let gateway = Gateway::start();
    let text = "Käse für Zoë\nGröße: 5\n";
    let latin: Vec<u8> = text
        .chars()
        .map(|c| u8::try_from(c).expect("Latin-1"))
        .collect();
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, bytes) in [
        ("latin.txt", latin),
        ("marked.txt", [b"\xff\xfe", &wide[..]].concat()),
        ("wide.csv", wide),
    ] {
        let id = upload(&gateway, name, bytes);
        let read = |more: Value| gateway.call(READ, asked(&id, more))["result"].clone();
        let whole = read(json!({}));
        assert_eq!(
            (&whole["content"], &whole["mode"]),
            (&json!(text), &json!("raw")),
            "{name}"
        );
        assert_eq!(
            read(json!({ "search": "GRÖSSE|größe", "context_lines": 0 }))["content"],
            "2:Größe: 5\n",
            "{name}"
        );
    }
}

/// The most memory that a process ever had, in bytes.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("its memory") * 1024
}

#[test]
fn a_path_into_json_of_a_hundred_megabytes_needs_little_memory() {
    let home = Home::new();
    let file = home.outside("big.json");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&file).expect("a file"));
    let filler = "x".repeat(99_000);
    write!(out, "{{\"results\": [").expect("written");
    for n in 0..1_010 {
        let comma = if n == 0 { "" } else { "," };
        write!(out, "{comma}{{\"n\": {n}, \"text\": \"{filler}\"}}").expect("written");
    }
    write!(out, "], \"last\": {{\"word\": \"needle\"}}}}").expect("written");
    out.into_inner().expect("written");
    let size = std::fs::metadata(&file).expect("a file").len();
    assert!(size >= 100_000_000, "{size}");
    let gateway = Gateway::on(home);
    let path = file.to_str().expect("a path");
    let kept = gateway.cli(&["artifact", "put", path]).ok().json();
    let id = kept["id"].as_str().expect("an id");
    let before = peak(gateway.daemon.pid());
    let read = |more: Value| gateway.call(READ, asked(id, more));
    let last = read(json!({ "json_path": "last.word" }));
    assert_eq!(last["result"]["content"], "\"needle\"", "{last}");
    let some = read(json!({ "json_path": "results", "array_indices": "3,1", "limit": 30 }));
    assert_eq!(
        some["result"]["content"], "[\n  {\n    \"n\": 3,\n    \"text\": ",
        "{some}"
    );
    let first = read(json!({ "json_path": "results.0.n" }));
    assert_eq!(first["result"]["content"], "0", "{first}");
    let whole = read(json!({ "json_path": "results", "limit": 20 }));
    assert_eq!(
        whole["result"]["hasMore"], true,
        "more than fits in memory: {whole}"
    );
    let grown = peak(gateway.daemon.pid()).saturating_sub(before);
    assert!(
        grown < 64 << 20,
        "{grown} bytes more at the most, of {size}"
    );
}
