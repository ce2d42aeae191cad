//! Rows about paths: directories, and the workspace as the spec text writes it.

use serde_json::{Value, json};

use super::Case;

/// What stands at `notes` is a directory, whichever tool is told that it is a file.
pub(super) fn cases() -> Vec<Case> {
    let wrong = |tool: &'static str, arguments: Value| -> Case {
        ("owner", tool, arguments, "invalid_arguments", 400)
    };
    let right =
        |tool: &'static str, arguments: Value| -> Case { ("owner", tool, arguments, "", 200) };
    let edit = json!({ "path": "notes", "oldString": "a", "newString": "b" });
    let transfer = |from: &str, to: &str| json!({ "source": from, "destination": to });
    vec![
        wrong("gsv__DeleteFile", json!({ "path": "notes" })),
        wrong("gsv__WriteFile", json!({ "path": "notes", "content": "x" })),
        wrong("gsv__EditFile", edit),
        wrong("gsv__Transfer", transfer("gsv:notes", "gsv:notes/b.md")),
        wrong("gsv__Transfer", transfer("gsv:notes/a.md", "gsv:notes")),
        right(
            "gsv__Transfer",
            transfer("gsv:workspace/notes/a.md", "gsv:workspace/notes/b.md"),
        ),
        right("gsv__SessionsList", json!({ "includeJobs": true })),
    ]
}
