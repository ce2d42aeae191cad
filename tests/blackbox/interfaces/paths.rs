//! Rows about paths: directories, and the workspace as the spec text writes it.

use serde_json::{Value, json};

use super::{Caller, Case, FACES, Said, reset};
use crate::harness::Gateway;
use crate::http::Request;

/// What stands at `notes` is a directory, whichever tool is told that it is a file.
fn cases() -> Vec<Case> {
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

#[test]
fn paths_mean_the_same_on_every_interface() {
    let gateway = Gateway::start();
    let mut caller = Caller::new(&gateway, &gateway.owner);
    for (_, tool, arguments, code, status) in cases() {
        reset(&gateway);
        let request = Request::post(&format!("/api/tools/{tool}"), &arguments);
        let response = gateway.send(&request.bearer(&gateway.owner));
        assert_eq!(
            response.status,
            status,
            "{tool} {arguments}: {}",
            response.text()
        );
        let expect = Said::of_envelope(&response.json());
        assert_eq!(expect.code.as_deref(), Some(code), "{tool} {arguments}");
        for face in FACES {
            reset(&gateway);
            let said = caller.call(face, tool, &arguments);
            assert!(
                said.same_as(&expect),
                "{face} {tool} {arguments}: {said:?}, not {expect:?}"
            );
        }
    }
}
