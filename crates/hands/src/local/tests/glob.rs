use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::*;

fn ask(pattern: &str) -> GlobRequest {
    GlobRequest {
        pattern: pattern.to_owned(),
        ..GlobRequest::default()
    }
}

impl Fixture {
    fn put_at(&self, path: &str, second: u64) {
        self.put(path, "x");
        let file = fs::File::options().write(true).open(self.at(path)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(second))
            .unwrap();
    }

    /// Matches from the workspace down.
    #[track_caller]
    fn glob(&self, request: &GlobRequest) -> Vec<String> {
        let found = self.files.glob(request, &never()).unwrap();
        assert_eq!(found.count, found.matches.len());
        found.matches.iter().map(|path| self.below(path)).collect()
    }

    /// The same, by name.
    #[track_caller]
    fn glob_sorted(&self, request: &GlobRequest) -> Vec<String> {
        let mut found = self.glob(request);
        found.sort();
        found
    }
}

#[test]
fn the_newest_come_first_and_those_of_one_moment_by_path() {
    let fixture = Fixture::new();
    for (path, second) in [("old.md", 10), ("d/new.md", 30), ("b.md", 20), ("a.md", 20)] {
        fixture.put_at(path, second);
    }
    assert_eq!(
        fixture.glob(&ask("**/*.md")),
        ["d/new.md", "a.md", "b.md", "old.md"]
    );
    let found = fixture.files.glob(&ask("old.*"), &never()).unwrap();
    let base = fixture.at("").display().to_string();
    let base = base.trim_end_matches('/');
    assert_eq!(
        serde_json::to_value(found).unwrap(),
        json!({
            "pattern": "old.*", "basePath": base, "matches": [format!("{base}/old.md")], "count": 1
        })
    );
}

#[test]
fn patterns_mean_what_they_say() {
    let fixture = Fixture::new();
    let all = [
        "a.rs",
        "b.ts",
        "c.md",
        "src/d.rs",
        "src/x/e.rs",
        ".hidden/f.rs",
        "src/[g].rs",
    ];
    for path in all {
        fixture.put(path, "x");
    }
    let absolute = format!("{}/src/**/*.rs", fixture.at("").display());
    for (pattern, expect) in [
        ("*.rs", &["a.rs"][..]),
        (
            "**/*.rs",
            &[
                ".hidden/f.rs",
                "a.rs",
                "src/[g].rs",
                "src/d.rs",
                "src/x/e.rs",
            ],
        ),
        ("*.{rs,ts}", &["a.rs", "b.ts"]),
        ("{a,src/d}.rs", &["a.rs", "src/d.rs"]),
        ("src/**/*.rs", &["src/[g].rs", "src/d.rs", "src/x/e.rs"]),
        ("./src//*.rs", &["src/[g].rs", "src/d.rs"]),
        ("src/\\[g\\].rs", &["src/[g].rs"]),
        ("src/d.rs", &["src/d.rs"]),
        ("?.[mt][ds]", &["b.ts", "c.md"]),
        ("src", &[]),
        ("nothing/**", &[]),
        (&absolute, &["src/[g].rs", "src/d.rs", "src/x/e.rs"]),
    ] {
        assert_eq!(fixture.glob_sorted(&ask(pattern)), expect, "{pattern}");
    }
    let in_src = GlobRequest {
        path: Some("src".to_owned()),
        ..ask("*.rs")
    };
    assert_eq!(fixture.glob_sorted(&in_src), ["src/[g].rs", "src/d.rs"]);
}

#[test]
fn what_cannot_be_searched_is_refused_by_name() {
    let fixture = Fixture::new();
    fixture.put("f", "x");
    for pattern in ["", ".", "/", "[", "{a", "a}", "../*", "x/../../*"] {
        let refused = fixture.files.glob(&ask(pattern), &never()).unwrap_err();
        let named = matches!(
            refused,
            LocalError::Parameter {
                name: "pattern",
                ..
            }
        );
        assert!(named, "{pattern}: {refused:?}");
    }
    for (path, expect) in [("gone", "no such file"), ("f", "a file stands where")] {
        let request = GlobRequest {
            path: Some(path.to_owned()),
            ..ask("*")
        };
        let refused = fixture
            .files
            .glob(&request, &never())
            .unwrap_err()
            .to_string();
        assert!(refused.contains(expect), "{refused}");
    }
    assert_eq!(fixture.glob(&ask("*")), ["f"]);
}

#[test]
fn only_the_newest_matches_are_returned_and_marked_truncated() {
    let fixture = Fixture::new();
    for second in 0..40 {
        fixture.put_at(&format!("d{}/f{second:02}", second % 7), second);
    }
    for limit in [1, 39, 40, 41] {
        let found = fixture
            .files
            .glob_at_most(&ask("**/*"), limit, &never())
            .unwrap();
        let expect: Vec<String> = (0..40)
            .rev()
            .take(limit)
            .map(|second| format!("d{}/f{second:02}", second % 7))
            .collect();
        let matches: Vec<String> = found.matches.iter().map(|m| fixture.below(m)).collect();
        assert_eq!(matches, expect);
        assert_eq!(found.truncated, limit < 40);
        assert_eq!(found.total, (limit < 40).then_some(40));
    }
}

#[test]
fn ignore_files_count_unless_told_otherwise() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.at(".git")).unwrap();
    fixture.put(".gitignore", "target/\n*.log\n!kept.log\n");
    fixture.put("sub/.ignore", "secret\n");
    for path in [
        "target/x",
        "a.log",
        "kept.log",
        "sub/secret",
        "sub/b",
        ".git/config",
    ] {
        fixture.put(path, "x");
    }
    fixture.put(".mh-tmp-1-1", "half");
    let expect = [".gitignore", "kept.log", "sub/.ignore", "sub/b"];
    assert_eq!(fixture.glob_sorted(&ask("**/*")), expect);
    let below = GlobRequest {
        path: Some("sub".to_owned()),
        ..ask("*")
    };
    assert_eq!(fixture.glob_sorted(&below), ["sub/.ignore", "sub/b"]);
    let all = GlobRequest {
        no_ignore: true,
        ..ask("**/*")
    };
    let expect = [
        ".git/config",
        ".gitignore",
        "a.log",
        "kept.log",
        "sub/.ignore",
        "sub/b",
        "sub/secret",
        "target/x",
    ];
    assert_eq!(fixture.glob_sorted(&all), expect);
}

#[test]
fn links_are_followed_inside_and_not_out() {
    let fixture = Fixture::new();
    fixture.put("d/f", "x");
    put(&fixture.out("secret"), "x");
    symlink("d", fixture.at("to-d")).unwrap();
    symlink("d/f", fixture.at("to-f")).unwrap();
    symlink("..", fixture.at("d/loop")).unwrap();
    symlink(fixture.out(""), fixture.at("to-out")).unwrap();
    symlink(fixture.out("secret"), fixture.at("d/to-secret")).unwrap();
    symlink("nowhere", fixture.at("broken")).unwrap();
    fifo(&fixture.at("fifo"));
    assert_eq!(fixture.glob_sorted(&ask("**/*")), ["d/f", "to-d/f", "to-f"]);
    let through = GlobRequest {
        path: Some("to-out".to_owned()),
        ..ask("*")
    };
    assert_eq!(
        fixture.glob_sorted(&through),
        ["to-out/secret"],
        "a base is meant"
    );
}

#[test]
fn links_to_each_other_do_not_multiply() {
    let fixture = Fixture::new();
    let count = 12;
    for from in 0..count {
        fixture.put(&format!("d{from:02}/f"), "x");
        for to in 0..count {
            let link = fixture.at(&format!("d{from:02}/to{to:02}"));
            symlink(format!("../d{to:02}"), link).unwrap();
        }
    }
    // Each file under its own name, and once through each link that is no loop.
    assert_eq!(
        fixture.glob(&ask("**/f")).len(),
        count + count * (count - 1)
    );
}

#[test]
fn a_blocking_ignore_file_is_skipped_and_reported() {
    let fixture = Fixture::new();
    fixture.put("a/f", "x");
    fixture.put("b/f", "x");
    fifo(&fixture.at("b/.gitignore"));
    let found = fixture.files.glob(&ask("**/f"), &never()).unwrap();
    assert_eq!(found.count, 1);
    assert_eq!(fixture.below(&found.skipped[0].path), "b/.gitignore");
    let all = GlobRequest {
        no_ignore: true,
        ..ask("**/f")
    };
    assert_eq!(fixture.glob_sorted(&all), ["a/f", "b/f"]);
    let at_base = GlobRequest {
        path: Some("b".to_owned()),
        ..ask("**/f")
    };
    let refused = fixture.files.glob(&at_base, &never());
    assert!(matches!(refused, Err(LocalError::NotRegular(_))));
}

#[test]
fn an_unreadable_directory_is_reported() {
    as_ordinary_user(|| {
        use std::os::unix::fs::PermissionsExt;
        let fixture = Fixture::new();
        fixture.put("open/f", "x");
        fixture.put("closed/f", "x");
        let set = |mode| fs::set_permissions(fixture.at("closed"), PermissionsExt::from_mode(mode));
        set(0o000).unwrap();
        let found = fixture.files.glob(&ask("**/f"), &never()).unwrap();
        let base = GlobRequest {
            path: Some("closed".to_owned()),
            ..ask("*")
        };
        let refused = fixture.files.glob(&base, &never());
        set(0o755).unwrap();
        assert_eq!(found.count, 1);
        assert_eq!(fixture.below(&found.skipped[0].path), "closed");
        assert_eq!(found.skipped[0].reason, "permission denied");
        assert!(matches!(refused, Err(LocalError::Denied(_))));
        assert_eq!(fixture.glob_sorted(&ask("**/f")), ["closed/f", "open/f"]);
    });
}

#[test]
fn finding_can_be_cancelled() {
    let fixture = Fixture::new();
    fixture.put("f", "x");
    let cancelled = never();
    cancelled.cancel();
    let refused = fixture.files.glob(&ask("*"), &cancelled);
    assert!(matches!(refused, Err(LocalError::Cancelled)));
    assert_eq!(fixture.glob(&ask("*")), ["f"]);
}
