//! What `Read`, `Write` and `Edit` must do.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::Case;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06";
/// One more than is read at once.
const LARGE: u64 = (10 << 20) + 1;

pub(super) fn prepare(workspace: &Path) -> io::Result<()> {
    fs::create_dir_all(workspace.join("sub"))?;
    fs::write(workspace.join("three.txt"), "one\ntwo\nthree\n")?;
    fs::write(workspace.join("sub/bare.txt"), "no newline")?;
    fs::write(workspace.join("empty.txt"), "")?;
    fs::write(workspace.join("dot.png"), PNG)?;
    fs::write(workspace.join("a.gz"), b"\x1f\x8b\x08\0\0\0\0\0\0\xff")?;
    fs::write(workspace.join("large.txt"), "0123456789\n".repeat(1 << 20))?;
    fs::write(workspace.join("large.png"), PNG)?;
    let image = File::options()
        .write(true)
        .open(workspace.join("large.png"))?;
    image.set_len(LARGE)?;
    fs::write(workspace.join("edit.txt"), "a b a\r\nc $1 \\d\r\nlast")
}

pub(super) fn cases(workspace: &Path) -> Vec<Case> {
    let mut cases = reads(workspace);
    cases.extend(images());
    cases.extend(read_refusals());
    cases.extend(writes(workspace));
    cases.extend(edits(workspace));
    cases.extend(edit_refusals());
    cases
}

fn read(name: &'static str, args: Value, result: Value) -> Case {
    Case::returns("Read", name, args, result)
}

fn reads(workspace: &Path) -> Vec<Case> {
    let three = workspace.join("three.txt");
    vec![
        read(
            "lines are numbered from 1",
            json!({ "path": "three.txt" }),
            json!({ "path": three, "content": "1\tone\n2\ttwo\n3\tthree", "lines": 3, "$only": true }),
        ),
        read(
            "an absolute path is used as it is",
            json!({ "path": three }),
            json!({ "path": three, "lines": 3 }),
        ),
        read(
            "numbering starts at the offset",
            json!({ "path": "three.txt", "offset": 1 }),
            json!({ "content": "2\ttwo\n3\tthree", "lines": 2 }),
        ),
        read(
            "no more lines than the limit",
            json!({ "path": "three.txt", "limit": 2 }),
            json!({ "content": "1\tone\n2\ttwo", "lines": 2, "truncated": true, "totalLines": 3 }),
        ),
        read(
            "from the offset as far as the limit",
            json!({ "path": "three.txt", "offset": 1, "limit": 1 }),
            json!({ "content": "2\ttwo", "lines": 1 }),
        ),
        read(
            "past the end there is nothing",
            json!({ "path": "three.txt", "offset": 99 }),
            json!({ "content": "", "lines": 0 }),
        ),
        read(
            "a last line without newline counts",
            json!({ "path": "sub/bare.txt" }),
            json!({ "content": "1\tno newline", "lines": 1 }),
        ),
        read(
            "an empty file has no lines",
            json!({ "path": "empty.txt" }),
            json!({ "content": "", "lines": 0 }),
        ),
        read(
            "a long text is read in parts",
            json!({ "path": "large.txt", "offset": 1_000_000, "limit": 1 }),
            json!({ "content": "1000001\t0123456789", "lines": 1, "truncated": true }),
        ),
    ]
}

fn images() -> Vec<Case> {
    let image = json!({
        "content": [
            { "type": "text", "text": "Image file: dot.png (image/png, 26 bytes)" },
            {
                "type": "image", "mimeType": "image/png",
                "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAY=",
            },
        ],
        "$only": true,
    });
    vec![
        read(
            "an image is content to look at",
            json!({ "path": "dot.png" }),
            image.clone(),
        ),
        read(
            "whatever lines are asked for",
            json!({ "path": "dot.png", "offset": 5, "limit": 1 }),
            image,
        ),
    ]
}

fn read_refusals() -> Vec<Case> {
    let fails = |name, args, parts: &[&'static str]| Case::fails("Read", name, args, parts);
    vec![
        fails(
            "a binary is named and refused",
            json!({ "path": "a.gz" }),
            &["Binary file: a.gz (application/gzip, 10 bytes) — not a text or image file"],
        ),
        fails(
            "what is not there is not read",
            json!({ "path": "nothing" }),
            &["no such file"],
        ),
        fails(
            "a directory is no file",
            json!({ "path": "sub" }),
            &["directory"],
        ),
        fails(
            "a long text is not read at once",
            json!({ "path": "large.txt" }),
            &["10 MB", "offset"],
        ),
        fails(
            "an image over 10 MB is refused",
            json!({ "path": "large.png" }),
            &["large.png", "image/png", "10 MB"],
        ),
        fails("a path is needed", json!({}), &["path"]),
        fails("an empty path is none", json!({ "path": "" }), &["path"]),
        fails("a path is a text", json!({ "path": ["a"] }), &["path"]),
        fails(
            "an offset is not negative",
            json!({ "path": "three.txt", "offset": -1 }),
            &["offset"],
        ),
        fails(
            "a limit is a number",
            json!({ "path": "three.txt", "limit": "2" }),
            &["limit"],
        ),
        fails(
            "an unknown parameter is named",
            json!({ "path": "three.txt", "lines": 2 }),
            &["lines"],
        ),
    ]
}

fn writes(workspace: &Path) -> Vec<Case> {
    let returns = |name, args, result| Case::returns("Write", name, args, result);
    let fails = |name, args, parts: &[&'static str]| Case::fails("Write", name, args, parts);
    let new = workspace.join("new/deep/file.txt");
    vec![
        returns(
            "a file is made with the directories above it",
            json!({ "path": "new/deep/file.txt", "content": "ä\n" }),
            json!({ "path": new, "bytes": 3, "$only": true }),
        ),
        read(
            "and is there",
            json!({ "path": "new/deep/file.txt" }),
            json!({ "content": "1\tä" }),
        ),
        returns(
            "an old file is overwritten",
            json!({ "path": new, "content": "new" }),
            json!({ "path": new, "bytes": 3 }),
        ),
        read(
            "whole",
            json!({ "path": new }),
            json!({ "content": "1\tnew", "lines": 1 }),
        ),
        returns(
            "a file may be empty",
            json!({ "path": new, "content": "" }),
            json!({ "bytes": 0 }),
        ),
        fails(
            "a directory is not overwritten",
            json!({ "path": "sub", "content": "x" }),
            &["directory"],
        ),
        fails(
            "nothing is made below a file",
            json!({ "path": "three.txt/below/f", "content": "x" }),
            &["three.txt"],
        ),
        read(
            "which stays as it was",
            json!({ "path": "three.txt" }),
            json!({ "lines": 3 }),
        ),
        fails("content is needed", json!({ "path": "f" }), &["content"]),
        fails(
            "content is a text",
            json!({ "path": "f", "content": 1 }),
            &["content"],
        ),
        fails("a path is needed", json!({ "content": "x" }), &["path"]),
        fails(
            "an unknown parameter is named",
            json!({ "path": "f", "content": "x", "mode": "644" }),
            &["mode"],
        ),
    ]
}

fn edit(name: &'static str, old: &str, new: &str, replacements: u64) -> Case {
    let args = json!({ "path": "edit.txt", "oldString": old, "newString": new });
    Case::returns("Edit", name, args, json!({ "replacements": replacements }))
}

fn edits(workspace: &Path) -> Vec<Case> {
    let path = workspace.join("edit.txt");
    let whole = |name, content: &str| {
        read(
            name,
            json!({ "path": "edit.txt" }),
            json!({ "content": content }),
        )
    };
    vec![
        edit(
            "one match is replaced, literally",
            "c $1 \\d",
            "c $& $1 \\n",
            1,
        ),
        whole(
            "and the rest stays",
            "1\ta b a\r\n2\tc $& $1 \\n\r\n3\tlast",
        ),
        Case::returns(
            "Edit",
            "all matches are replaced when told",
            json!({ "path": path, "oldString": "a", "newString": "A", "replaceAll": true }),
            json!({ "path": path, "replacements": 3, "$only": true }),
        ),
        whole(
            "line endings and a missing last one too",
            "1\tA b A\r\n2\tc $& $1 \\n\r\n3\tlAst",
        ),
        Case::returns(
            "Edit",
            "replaceAll: false wants exactly one",
            json!({ "path": "edit.txt", "oldString": "b", "newString": "", "replaceAll": false }),
            json!({ "replacements": 1 }),
        ),
        edit("text over several lines is found", "A\r\nc", "A\r\nC", 1),
        whole("as it is written", "1\tA  A\r\n2\tC $& $1 \\n\r\n3\tlAst"),
    ]
}

fn edit_refusals() -> Vec<Case> {
    let fails = |name, args, parts: &[&'static str]| Case::fails("Edit", name, args, parts);
    let on =
        |old: &str, new: &str| json!({ "path": "edit.txt", "oldString": old, "newString": new });
    vec![
        fails(
            "what is not there is not replaced",
            on("zebra", "x"),
            &["oldString", "not found"],
        ),
        fails(
            "more than one match needs a word",
            on("A", "x"),
            &["3 times", "replaceAll: true"],
        ),
        fails("nothing is no match", on("", "x"), &["oldString"]),
        read(
            "and nothing changed",
            json!({ "path": "edit.txt" }),
            json!({ "content": "1\tA  A\r\n2\tC $& $1 \\n\r\n3\tlAst" }),
        ),
        fails(
            "a file must be there",
            json!({ "path": "nothing", "oldString": "a", "newString": "b" }),
            &["no such file"],
        ),
        fails(
            "a directory is not edited",
            json!({ "path": "sub", "oldString": "a", "newString": "b" }),
            &["directory"],
        ),
        fails(
            "a binary is not edited",
            json!({ "path": "a.gz", "oldString": "a", "newString": "b" }),
            &["a.gz", "UTF-8"],
        ),
        fails(
            "a new text is needed",
            json!({ "path": "f", "oldString": "a" }),
            &["newString"],
        ),
        fails(
            "an old text is needed",
            json!({ "path": "f", "newString": "a" }),
            &["oldString"],
        ),
        fails(
            "replaceAll is true or false",
            json!({ "path": "f", "oldString": "a", "newString": "b", "replaceAll": 1 }),
            &["replaceAll"],
        ),
        fails(
            "an unknown parameter is named",
            json!({ "path": "f", "oldString": "a", "newString": "b", "old_string": "a" }),
            &["old_string"],
        ),
    ]
}
