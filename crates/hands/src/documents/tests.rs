//! Claims about documents. Each is made here, byte by byte.

use std::io::Write as _;

use super::*;

/// A ZIP file of these parts; `packed` says whether they are deflated.
fn zip(parts: &[(&str, &[u8])], packed: bool) -> Vec<u8> {
    let (mut file, mut list) = (Vec::new(), Vec::new());
    for (name, content) in parts {
        let at = u32::try_from(file.len()).unwrap();
        let (method, body) = if packed {
            let mut out =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
            out.write_all(content).unwrap();
            (8_u16, out.finish().unwrap())
        } else {
            (0, content.to_vec())
        };
        let sizes =
            [body.len(), content.len()].map(|size| u32::try_from(size).unwrap().to_le_bytes());
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        let shared = [
            &[20, 0, 0, 0][..],
            &method.to_le_bytes(),
            &[0; 8],
            &sizes.concat(),
            &length,
        ]
        .concat();
        file.extend([b"PK\x03\x04", &shared[..], &[0, 0], name.as_bytes(), &body].concat());
        list.extend(
            [
                b"PK\x01\x02\x14\x00",
                &shared[..],
                &[0; 12],
                &at.to_le_bytes(),
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let count = u16::try_from(parts.len()).unwrap().to_le_bytes();
    let [size, at] = [list.len(), file.len()].map(|n| u32::try_from(n).unwrap().to_le_bytes());
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

/// A PDF of these objects, numbered from 1; the first is its catalog.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec();
    for (index, object) in objects.iter().enumerate() {
        file.extend(
            [
                format!("{} 0 obj\n", index + 1).as_bytes(),
                object,
                b"\nendobj\n",
            ]
            .concat(),
        );
    }
    file.extend(b"trailer << /Root 1 0 R >>\n%%EOF");
    file
}

fn stream(dict: &str, bytes: &[u8]) -> Vec<u8> {
    let head = format!("<< {dict} /Length {} >>\nstream\n", bytes.len());
    [head.as_bytes(), bytes, b"\nendstream"].concat()
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// A PDF with one page that shows `content` with a font `F1` of these facts.
fn page(font: &str, content: &[u8], more: &[Vec<u8>]) -> Vec<u8> {
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_vec(),
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>".to_vec(),
        stream("/Filter /FlateDecode", &deflated(content)),
        format!("<< /Type /Font {font} >>").into_bytes(),
    ];
    objects.extend_from_slice(more);
    pdf(&objects)
}

fn text(bytes: &[u8]) -> Result<String, DocumentError> {
    read(bytes, DocumentLimits::default(), &|| false).map(|document| document.text)
}

#[track_caller]
fn check(bytes: &[u8], kind: DocumentKind, expect: &str) {
    let document = read(bytes, DocumentLimits::default(), &|| false).unwrap();
    assert_eq!((document.kind, document.text.as_str()), (kind, expect));
}

const HELVETICA: &str = "/Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding";

#[test]
fn a_word_document_is_its_paragraphs_tables_and_notes() {
    let body = r#"<?xml version="1.0"?><w:document xmlns:w="w" xmlns:mc="mc"><w:body>
        <w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>Caf&#233; &amp; </w:t></w:r><w:r><w:t>more</w:t><w:tab/><w:t>x</w:t></w:r></w:p>
        <w:p/><w:p><w:r><w:instrText>PAGE</w:instrText><w:delText>gone</w:delText><w:t>a</w:t><w:br/><w:t>b</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>A1</w:t></w:r></w:p><w:p><w:r><w:t>two</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>B1</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        <mc:AlternateContent><mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>
        </w:body></w:document>"#;
    let notes = r#"<w:footnotes xmlns:w="w"><w:footnote><w:p><w:r><w:t>said so</w:t></w:r></w:p></w:footnote></w:footnotes>"#;
    let empty = r#"<w:endnotes xmlns:w="w"><w:endnote><w:p/></w:endnote></w:endnotes>"#;
    let parts = [
        ("[Content_Types].xml", &b"<Types/>"[..]),
        ("word/document.xml", body.as_bytes()),
        ("word/footnotes.xml", notes.as_bytes()),
        ("word/endnotes.xml", empty.as_bytes()),
    ];
    for packed in [false, true] {
        check(
            &zip(&parts, packed),
            DocumentKind::Docx,
            "Café & more\tx\n\na\nb\nA1 two\tB1\nbox\n\n--- footnotes ---\nsaid so\n",
        );
    }
}

#[test]
fn a_workbook_is_its_sheets_with_a_line_for_each_row() {
    let workbook = r#"<workbook xmlns:r="r"><workbookPr/><sheets><sheet name="Sales &amp; Co" sheetId="1" r:id="rId7"/><sheet name="Empty" sheetId="2" r:id="rId8"/></sheets></workbook>"#;
    let relations = r#"<Relationships><Relationship Id="rId8" Type="x/worksheet" Target="/xl/worksheets/sheet2.xml"/><Relationship Id="rId7" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#;
    let strings = r#"<sst><si><t>Name</t></si><si><r><t>Ann</t></r><r><t xml:space="preserve"> B.</t></r><rPh><t>no</t></rPh></si></sst>"#;
    let styles = r#"<styleSheet><numFmts><numFmt numFmtId="164" formatCode="&quot;day&quot;0"/><numFmt numFmtId="165" formatCode="[$-407]yyyy/mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>"#;
    let sheet = r#"<worksheet><sheetData>
        <row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>in	line</t></is></c></row>
        <row r="3"><c t="s"><v>1</v></c><c><f>1+1</f><v>0.30000000000000004</v></c><c t="b"><v>1</v></c><c t="e"><v>#DIV/0!</v></c></row>
        <row r="4"><c r="A4" s="1"><v>45292.5</v></c><c r="B4" s="2"><v>7</v></c><c r="C4" s="3"><v>60</v></c><c r="D4"><v>1234567890123</v></c></row>
        <row r="5"><c r="A5"/></row></sheetData></worksheet>"#;
    let parts = [
        ("xl/workbook.xml", workbook.as_bytes()),
        ("xl/_rels/workbook.xml.rels", relations.as_bytes()),
        ("xl/sharedStrings.xml", strings.as_bytes()),
        ("xl/styles.xml", styles.as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
        ("xl/worksheets/sheet2.xml", b"<worksheet/>"),
    ];
    check(
        &zip(&parts, true),
        DocumentKind::Xlsx,
        "--- sheet: Sales & Co ---\nName\t\tin line\nAnn B.\t0.3\tTRUE\t#DIV/0!\n2024-01-01 12:00:00\t7\t1900-02-28\t1234567890123\n\n--- sheet: Empty ---\n",
    );
}

#[test]
fn slides_are_read_in_their_order_with_their_notes() {
    let whole = r#"<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/></p:sldIdLst></p:presentation>"#;
    let relations = r#"<Relationships><Relationship Id="a" Target="slides/slide1.xml"/><Relationship Id="b" Target="slides/slide2.xml"/></Relationships>"#;
    let slide = |text: &str| {
        format!(r#"<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>"#)
    };
    let (first, second) = (slide("shown second"), slide("shown first"));
    let notes = slide("remember");
    let of_second = r#"<Relationships><Relationship Id="n" Type="http://x/notesSlide" Target="../notesSlides/notesSlide1.xml"/></Relationships>"#;
    let parts = [
        ("ppt/presentation.xml", whole.as_bytes()),
        ("ppt/_rels/presentation.xml.rels", relations.as_bytes()),
        ("ppt/slides/slide1.xml", first.as_bytes()),
        ("ppt/slides/slide2.xml", second.as_bytes()),
        ("ppt/slides/_rels/slide2.xml.rels", of_second.as_bytes()),
        ("ppt/notesSlides/notesSlide1.xml", notes.as_bytes()),
    ];
    check(
        &zip(&parts, true),
        DocumentKind::Pptx,
        "--- slide 1 ---\nshown first\nNotes:\nremember\n\n--- slide 2 ---\nshown second\n",
    );
}

#[test]
fn opendocument_text_sheets_and_slides_are_read() {
    let of = |kind: &str, content: &str| {
        let mime = format!("application/vnd.oasis.opendocument.{kind}");
        zip(
            &[
                ("mimetype", mime.as_bytes()),
                ("content.xml", content.as_bytes()),
            ],
            false,
        )
    };
    let sheet = r#"<o xmlns:table="t" xmlns:text="x"><table:table table:name="One"><table:table-row><table:table-cell><text:p>A</text:p></table:table-cell>
        <table:table-cell table:number-columns-repeated="2"/><table:table-cell table:number-columns-repeated="2"><text:p>x<text:s text:c="2"/>y</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row>
        <table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="1024"/></table:table-row>
        <table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>twice</text:p></table:table-cell></table:table-row></table:table></o>"#;
    check(
        &of("spreadsheet", sheet),
        DocumentKind::Ods,
        "--- sheet: One ---\nA\t\t\tx  y\tx  y\ntwice\ntwice\n",
    );
    let words = r#"<o xmlns:text="x" xmlns:office="o"><text:h>Head</text:h><text:p>a<text:tab/>b<text:line-break/>c<office:annotation><text:p>unseen</text:p></office:annotation></text:p></o>"#;
    check(&of("text", words), DocumentKind::Odt, "Head\na\tb\nc\n");
    let slides =
        r#"<o xmlns:draw="d" xmlns:text="x"><draw:page><text:p>hello</text:p></draw:page></o>"#;
    check(
        &of("presentation", slides),
        DocumentKind::Odp,
        "--- slide 1 ---\nhello\n",
    );
}

#[test]
fn a_page_of_a_pdf_is_lines_made_of_where_its_text_is() {
    let content = b"BT /F1 12 Tf 72 700 Td (Hello \\(w\\366rld\\)) Tj 0 -14 Td [(Ne) 20 (xt) -300 (line)] TJ T* ET
        q 1 0 0 1 0 -40 cm BT /F1 12 Tf 1 0 0 1 72 700 Tm <41206C617374> Tj ET Q
        BI /W 1 /H 1 ID \x00\xffEIx EI BT /F1 10 Tf 72 600 Td (after) ' ET";
    check(
        &page(HELVETICA, content, &[]),
        DocumentKind::Pdf,
        "Hello (wörld)\nNext line\nA last\nafter\n",
    );
}

#[test]
fn codes_of_fonts_are_read_by_their_tables_and_names() {
    let table = b"begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 2 beginbfchar <0001> <0048> <0002> <00660069> endbfchar
        2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<D83DDE00> <007A>] endbfrange endcmap";
    let font = "/Subtype /Type0 /Encoding /Identity-H /ToUnicode 6 0 R /DescendantFonts [7 0 R]";
    let more = [
        stream(
            "/Filter [/ASCIIHexDecode]",
            table
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect::<String>()
                .as_bytes(),
        ),
        b"<< /DW 600 /W [1 [500 500] 16 18 400] >>".to_vec(),
    ];
    let content = b"BT /F1 10 Tf <000100020010001100120020002100FF> Tj ET";
    check(
        &page(font, content, &more),
        DocumentKind::Pdf,
        "Hfiabc😀z\n",
    );
    let named =
        "/Subtype /Type1 /Encoding << /Differences [65 /eacute /uni20AC /ffi 97 /germandbls] >>";
    check(
        &page(named, b"BT /F1 9 Tf (ABoCcea'b) Tj ET", &[]),
        DocumentKind::Pdf,
        "é€officeß’b\n",
    );
}

#[test]
fn objects_that_are_packed_together_and_forms_are_found() {
    let inner = b"2 0 3 90 << /Type /Pages /Kids [3 0 R 9 0 R] /Count 2 /Resources << /Font << /F1 5 0 R >> >> >>";
    let mut packed = inner.to_vec();
    packed.resize(8 + 90, b' ');
    packed.extend(b"<< /Type /Page /Contents 4 0 R >>");
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"null".to_vec(),
        b"null".to_vec(),
        stream("", b"BT /F1 9 Tf (one) Tj ET /X1 Do"),
        format!("<< /Type /Font {HELVETICA} >>").into_bytes(),
        stream("/Type /ObjStm /N 2 /First 8 /Filter /FlateDecode", &deflated(&packed)),
        stream("/Subtype /Form /Resources << /Font << /F2 5 0 R >> /XObject << /X1 7 0 R >> >>", b"BT 0 -20 Td /F2 9 Tf (in a form) Tj ET /X1 Do"),
        stream("", b"BT /F1 9 Tf (two) Tj ET /X1 Do"),
        b"<< /Type /Page /Contents [8 0 R] /Resources << /Font << /F1 5 0 R >> /XObject << /X1 7 0 R >> >> >>".to_vec(),
    ];
    let shown = text(&pdf(&objects)).unwrap();
    assert_eq!(
        shown,
        "--- page 1 ---\none\n\n--- page 2 ---\ntwo\nin a form\n"
    );
}

#[test]
fn what_cannot_be_read_says_why() {
    assert_eq!(text(b"plain text"), Err(DocumentError::Unknown));
    assert_eq!(
        text(&zip(&[("a.txt", b"x")], false)),
        Err(DocumentError::Unknown)
    );
    let mut locked = page(HELVETICA, b"BT (x) Tj ET", &[]);
    locked.extend(b"\ntrailer << /Root 1 0 R /Encrypt 9 0 R >>");
    assert_eq!(text(&locked), Err(DocumentError::Encrypted));
    assert_eq!(
        text(&page(HELVETICA, b"q Q", &[])),
        Err(DocumentError::NoText)
    );
    assert!(matches!(
        text(b"%PDF-1.4\nnothing"),
        Err(DocumentError::Damaged(_))
    ));
    let cut = zip(&[("word/document.xml", b"<a/>")], false);
    assert!(matches!(text(&cut[..40]), Err(DocumentError::Damaged(_))));
    assert!(may_be_document(b"PK\x03\x04rest", "report") && may_be_document(b"%PDF-1.4", "x"));
    assert!(!may_be_document(b"PK\x03\x04rest", "all.ZIP") && !may_be_document(b"text", "a.pdf"));
    assert!(may_be_document(b"junk %PDF-1.4", "a.PDF"));
    assert!(!may_be_document(b"a file begins with %PDF-1.4", "notes.md"));
}

#[test]
fn a_bomb_ends_with_what_there_was_before_it() {
    let small = DocumentLimits {
        text: 10_000,
        unpacked: 1 << 20,
        steps: 200_000,
    };
    let run = |bytes: &[u8]| read(bytes, small, &|| false).map(|document| document.text);
    let long = format!(
        "<d><p><t>begin</t></p>{}</d>",
        "<p><t>0123456789</t></p>".repeat(100_000)
    );
    let shown = run(&zip(&[("word/document.xml", long.as_bytes())], true)).unwrap();
    assert!(
        shown.starts_with("begin\n") && shown.len() < 11_000,
        "{}",
        shown.len()
    );
    assert!(shown.ends_with("[cut: the docx has more than can be read]\n"));
    let blank = format!("<d>{}</d>", " ".repeat(4 << 20));
    let error = run(&zip(&[("word/document.xml", blank.as_bytes())], true)).unwrap_err();
    assert!(matches!(error, DocumentError::Damaged(_)), "{error}");
    let wide = r#"<o><table name="x"><table-row number-rows-repeated="999999999"><table-cell number-columns-repeated="999999999"><p>x</p></table-cell></table-row></table></o>"#;
    let mime = b"application/vnd.oasis.opendocument.spreadsheet";
    let shown = run(&zip(
        &[("mimetype", mime), ("content.xml", wide.as_bytes())],
        true,
    ))
    .unwrap();
    assert!(shown.len() < 11_000);
    let repeated = page(
        HELVETICA,
        "BT /F1 9 Tf (again) Tj ET ".repeat(50_000).as_bytes(),
        &[],
    );
    assert!(run(&repeated).unwrap().len() < 11_000);
    let open = [b"%PDF-1.4\n".to_vec(), b"1 0 obj [ ".repeat(20_000)].concat();
    assert!(run(&open).is_err());
    let stopped = read(
        &page(HELVETICA, "(x) Tj ".repeat(100_000).as_bytes(), &[]),
        DocumentLimits::default(),
        &|| true,
    );
    assert_eq!(stopped, Err(DocumentError::Cancelled));
}

#[test]
fn a_web_page_is_what_stands_on_it() {
    let html = b"<html><head><title>T\xe9st</title><meta charset=latin1><style>p{}</style></head><body><h1>Head</h1><p>one <b>two</b> a_b</p><script>no()</script><ul><li>x</ul></body></html>";
    let page = read_html(html, DocumentLimits::default()).text;
    for shown in ["Tést", "Head", "one two a_b", "x"] {
        assert!(page.contains(shown), "{shown} in {page:?}");
    }
    assert!(!page.contains("no()") && !page.contains('<'), "{page:?}");
}

proptest::proptest! {
    #[test]
    fn bytes_that_were_damaged_never_do_harm(places in proptest::collection::vec((0..4000_usize, proptest::num::u8::ANY), 1..40), which in 0..3_usize) {
        let mut bytes = match which {
            0 => page(HELVETICA, b"BT /F1 12 Tf 72 700 Td (Hello) Tj [(a) 3 (b)] TJ ET", &[stream("/Type /ObjStm /N 1 /First 4", b"9 0 << /A [1 2 3] >>")]),
            1 => zip(&[("word/document.xml", b"<w:p><w:t>text</w:t></w:p>")], true),
            _ => zip(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", b"<a><p>x<s c='3'/></p></a>")], false),
        };
        for (index, byte) in places {
            let length = bytes.len();
            bytes[index % length] = byte;
        }
        let limits = DocumentLimits { steps: 1_000_000, ..DocumentLimits::default() };
        let _ = read(&bytes, limits, &|| false); // only that it ends matters
    }
}
