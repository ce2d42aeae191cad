use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;

fn ask(pattern: &str) -> GrepRequest {
    GrepRequest {
        pattern: pattern.to_owned(),
        ..GrepRequest::default()
    }
}

impl Fixture {
    /// Matches as `path:line`, from the workspace down.
    #[track_caller]
    fn grep(&self, request: &GrepRequest) -> Vec<String> {
        let found = self.files.grep(request, &never()).unwrap();
        assert_eq!(
            found.count,
            (!found.truncated).then_some(found.matches.len())
        );
        let shown = found.matches.iter();
        shown
            .map(|hit| format!("{}:{}", self.below(&hit.path), hit.line))
            .collect()
    }
}

#[test]
fn matches_come_by_path_and_line() {
    let fixture = Fixture::new();
    fixture.put("b.txt", "needle\nhay\nneedle");
    fixture.put("a/c.txt", "hay\nneedle\r\n");
    fixture.put("a.txt", "needle\n");
    fixture.put("a-b.txt", "needle\n");
    let expect = ["a/c.txt:2", "a-b.txt:1", "a.txt:1", "b.txt:1", "b.txt:3"];
    assert_eq!(fixture.grep(&ask("needle")), expect);
    let found = fixture.files.grep(&ask("^n.*e$"), &never()).unwrap();
    assert_eq!(found.matches.len(), 5, "the end of a line may be CRLF");
    let base = fixture.files.workspace().display();
    let one = GrepRequest {
        path: Some("a".to_owned()),
        ..ask("needle")
    };
    assert_eq!(
        serde_json::to_value(fixture.files.grep(&one, &never()).unwrap()).unwrap(),
        json!({
            "pattern": "needle",
            "basePath": format!("{base}/a"),
            "matches": [{"path": format!("{base}/a/c.txt"), "line": 2, "content": "needle"}],
            "count": 1
        })
    );
}

#[test]
fn past_the_limit_the_first_are_given_and_no_count() {
    let fixture = Fixture::new();
    for file in 0..60 {
        fixture.put(
            &format!("d{}/f{file:02}", file % 5),
            "x\nneedle\nneedle\nneedle\n",
        );
    }
    let mut all: Vec<String> = (0..60)
        .flat_map(|file| (2..5).map(move |line| format!("d{}/f{file:02}:{line}", file % 5)))
        .collect();
    all.sort();
    for limit in [None, Some(1), Some(2), Some(179), Some(180), Some(1000)] {
        let request = GrepRequest {
            limit,
            ..ask("needle")
        };
        let expect = &all[..limit.unwrap_or(100).min(180)];
        for _ in 0..5 {
            assert_eq!(fixture.grep(&request), expect, "{limit:?}");
        }
        let shape = fixture.files.grep(&request, &never()).unwrap();
        let shape = serde_json::to_value(shape).unwrap();
        let cut = limit.unwrap_or(100) < 180;
        assert_eq!(shape.get("truncated"), cut.then_some(&json!(true)));
        assert_eq!(shape.get("count"), (!cut).then_some(&json!(180)));
    }
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let fixture = Fixture::new();
    fixture.put("f.rs", "needle");
    let include = |glob: &str| GrepRequest {
        include: Some(glob.to_owned()),
        ..ask("needle")
    };
    let limit = |limit| GrepRequest {
        limit: Some(limit),
        ..ask("needle")
    };
    let context = |context| GrepRequest {
        context,
        ..ask("needle")
    };
    for (request, parameter) in [
        (ask("("), "pattern"),
        (ask("(?=x)"), "pattern"),
        (ask("a\nb"), "pattern"),
        (ask(r"\pL{1000}{1000}"), "pattern"),
        (include(""), "include"),
        (include("{rs"), "include"),
        (include("[z-a]"), "include"),
        (include("src/*.rs"), "include"),
        (limit(0), "limit"),
        (limit(MAX_GREP_LIMIT + 1), "limit"),
        (context(MAX_GREP_CONTEXT + 1), "context"),
    ] {
        let refused = fixture.files.grep(&request, &never());
        let named =
            matches!(&refused, Err(LocalError::Parameter { name, .. }) if *name == parameter);
        assert!(named, "{request:?}: {refused:?}");
    }
    let missing = GrepRequest {
        path: Some("gone".to_owned()),
        ..ask("needle")
    };
    assert!(matches!(
        fixture.files.grep(&missing, &never()),
        Err(LocalError::NotFound(_))
    ));
    for request in [
        include("*.rs"),
        limit(MAX_GREP_LIMIT),
        context(MAX_GREP_CONTEXT),
    ] {
        assert_eq!(fixture.grep(&request), ["f.rs:1"]);
    }
}

#[test]
fn include_is_about_names() {
    let fixture = Fixture::new();
    for path in ["a.rs", "src/b.ts", "src/rs/c.md", "src/.d.rs"] {
        fixture.put(path, "needle");
    }
    for (include, expect) in [
        ("*.rs", &["a.rs:1", "src/.d.rs:1"][..]),
        ("*.{rs,ts}", &["a.rs:1", "src/.d.rs:1", "src/b.ts:1"]),
        ("c.*", &["src/rs/c.md:1"]),
        ("src", &[]),
    ] {
        let request = GrepRequest {
            include: Some(include.to_owned()),
            ..ask("needle")
        };
        assert_eq!(fixture.grep(&request), expect, "{include}");
    }
}

#[test]
fn binary_files_are_passed_over_wherever_they_show_it() {
    let fixture = Fixture::new();
    let far = "needle\n".repeat(200_000);
    fixture.put("text", "needle ä€😀");
    fixture.put("nul", b"needle\n\0");
    fixture.put("latin1", b"needle caf\xe9\n");
    fixture.put("utf16", b"\xff\xfen\0e\0e\0d\0l\0e\0");
    fixture.put("far", [far.as_bytes(), b"\xff"].concat());
    fixture.put("half", b"needle \xe2\x82");
    fixture.put("bom", b"\xef\xbb\xbfneedle");
    assert_eq!(fixture.grep(&ask("^needle")), ["bom:1", "nul:1", "text:1"]);
    let found = fixture.files.grep(&ask("needle"), &never()).unwrap();
    assert!(found.skipped.is_empty());
}

#[test]
fn long_lines_are_cut_between_characters() {
    let fixture = Fixture::new();
    fixture.put(
        "f",
        format!("{}\nneedle{}\n", "€".repeat(300), "ä".repeat(300)),
    );
    let content = |pattern| {
        let found = fixture.files.grep(&ask(pattern), &never()).unwrap();
        found.matches[0].content.clone()
    };
    assert_eq!(content("€"), "€".repeat(200));
    assert_eq!(content("needle"), format!("needle{}", "ä".repeat(194)));
}

#[test]
fn an_oversized_line_is_reported() {
    let fixture = Fixture::new();
    fixture.put("huge", "x".repeat(17 << 20));
    fixture.put("long", format!("{}needle\n", "x".repeat(1 << 20)));
    let found = fixture.files.grep(&ask("needle"), &never()).unwrap();
    assert_eq!(
        (found.count, found.matches[0].content.len()),
        (Some(1), 200)
    );
    assert_eq!(fixture.below(&found.skipped[0].path), "huge");
    assert!(found.skipped[0].reason.contains("16 MiB"));
}

#[test]
fn context_is_each_matchs_own() {
    let fixture = Fixture::new();
    fixture.put("f", "1\n2 x\n3\n4 x\n5\n6\n7\n8 x");
    let around = |limit, context| {
        let request = GrepRequest {
            limit: Some(limit),
            context,
            ..ask("x")
        };
        let found = fixture.files.grep(&request, &never()).unwrap();
        let shown = found.matches.into_iter();
        let shown = shown.map(|hit| (hit.line, hit.before.join("|"), hit.after.join("|")));
        shown.collect::<Vec<_>>()
    };
    let expect = |lines: &[(u64, &str, &str)]| -> Vec<(u64, String, String)> {
        let lines = lines.iter();
        lines
            .map(|(n, b, a)| (*n, (*b).to_owned(), (*a).to_owned()))
            .collect()
    };
    assert_eq!(
        around(9, 0),
        expect(&[(2, "", ""), (4, "", ""), (8, "", "")])
    );
    assert_eq!(
        around(9, 2),
        expect(&[(2, "1", "3|4 x"), (4, "2 x|3", "5|6"), (8, "6|7", "")])
    );
    assert_eq!(around(1, 3), expect(&[(2, "1", "3|4 x|5")]));
    assert_eq!(around(2, 1), expect(&[(2, "1", "3"), (4, "3", "5")]));
}

#[test]
fn a_single_file_can_be_searched() {
    let fixture = Fixture::new();
    fixture.put("d/f.log", "hay\nneedle\n");
    fixture.put("d/g.log", "needle\n");
    fixture.put("d/.ignore", "*.log\n");
    fifo(&fixture.at("fifo"));
    let at = |path: &str| GrepRequest {
        path: Some(path.to_owned()),
        ..ask("needle")
    };
    assert_eq!(fixture.grep(&at("d/f.log")), ["d/f.log:2"]);
    assert!(fixture.grep(&at("d")).is_empty());
    let refused = fixture.files.grep(&at("fifo"), &never());
    assert!(matches!(refused, Err(LocalError::NotRegular(_))));
}

#[test]
fn ignored_files_are_searched_only_when_told() {
    let fixture = Fixture::new();
    fixture.put(".ignore", "*.log\n");
    fixture.put("a.log", "needle");
    fixture.put("b.txt", "needle");
    assert_eq!(fixture.grep(&ask("needle")), ["b.txt:1"]);
    let all = GrepRequest {
        no_ignore: true,
        ..ask("needle")
    };
    assert_eq!(fixture.grep(&all), ["a.log:1", "b.txt:1"]);
}

#[test]
fn links_are_followed_inside_and_out_only_when_told() {
    let fixture = Fixture::new();
    fixture.put("d/f", "needle");
    put(&fixture.out("deep/secret"), "needle");
    symlink("d", fixture.at("to-d")).unwrap();
    symlink("..", fixture.at("d/loop")).unwrap();
    symlink(fixture.out(""), fixture.at("to-out")).unwrap();
    symlink(fixture.out("deep/secret"), fixture.at("to-secret")).unwrap();
    symlink("deep", fixture.out("again")).unwrap();
    assert_eq!(fixture.grep(&ask("needle")), ["d/f:1", "to-d/f:1"]);
    let request = GrepRequest {
        follow_links: true,
        ..ask("needle")
    };
    assert_eq!(
        fixture.grep(&request),
        [
            "d/f:1",
            "to-d/f:1",
            "to-out/again/secret:1",
            "to-out/deep/secret:1",
            "to-secret:1"
        ]
    );
}

#[test]
fn an_unreadable_file_is_reported() {
    as_ordinary_user(|| {
        use std::os::unix::fs::PermissionsExt;
        let fixture = Fixture::new();
        fixture.put("closed", "needle");
        fixture.put("open", "needle");
        let set = |mode| fs::set_permissions(fixture.at("closed"), PermissionsExt::from_mode(mode));
        set(0o000).unwrap();
        let found = fixture.files.grep(&ask("needle"), &never()).unwrap();
        assert_eq!(found.count, Some(1));
        assert_eq!(fixture.below(&found.skipped[0].path), "closed");
        assert_eq!(found.skipped[0].reason, "permission denied");
        set(0o644).unwrap();
        assert_eq!(fixture.grep(&ask("needle")), ["closed:1", "open:1"]);
    });
}

#[test]
fn searching_can_be_cancelled() {
    let fixture = Fixture::new();
    fixture.put("f", "needle");
    let cancelled = never();
    cancelled.cancel();
    let refused = fixture.files.grep(&ask("needle"), &cancelled);
    assert!(matches!(refused, Err(LocalError::Cancelled)));
    assert_eq!(fixture.grep(&ask("needle")), ["f:1"]);
}
