//! For any two files, the patch between them turns one into the other, as git does it.

use proptest::prelude::*;
use similar::TextDiff;

use super::*;

/// Each case starts git several times.
const CASES: u32 = 48;

/// Lines that repeat, look like patch syntax, or carry odd characters and endings.
fn lines(most: usize) -> impl Strategy<Value = Vec<String>> {
    let body = prop_oneof![
        4 => prop::sample::select(vec!["", "}", "x", "y"]).prop_map(str::to_owned),
        2 => prop::sample::select(vec![
            "-- x", "++ y", "-", "+", " ", "@@ -1 +1 @@", "\\ No newline at end of file",
            "diff --git a/f b/f", "tab\t", "é漢🙂", "a\rb", "--- a/f", "+++ b/f", "```",
        ]).prop_map(str::to_owned),
        3 => (0..50u8).prop_map(|n| format!("line {n}")),
    ];
    let ending = prop_oneof![Just("\n"), Just("\r\n")];
    prop::collection::vec((body, ending).prop_map(|(body, end)| body + end), 0..most)
}

/// Lines among which two neighbours are never the same twice, so that a hunk has one place.
fn distinct(lines: &[String]) -> Vec<String> {
    let numbered = lines.iter().enumerate();
    numbered.map(|(n, line)| format!("{n} {line}")).collect()
}

/// Which of the lines go, stay, or get company.
fn edit(lines: &[String], edits: &[u8]) -> Vec<String> {
    let mut edited = Vec::new();
    for (line, edit) in lines.iter().zip(edits.iter().chain(std::iter::repeat(&0))) {
        match edit {
            1 => {}
            2 => edited.push(format!("changed {line}")),
            3 => edited.extend([line.clone(), "added\n".to_owned()]),
            4 => edited.extend([line.clone(), line.clone()]),
            _ => edited.push(line.clone()),
        }
    }
    edited
}

#[derive(Debug, Clone, Copy)]
enum End {
    AsItIs,
    NoNewline,
}

fn text(lines: &[String], end: End) -> String {
    let mut text = lines.concat();
    if let End::NoNewline = end {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
    }
    text
}

fn edits() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![12 => Just(0u8), 1 => 1..5u8], 0..40)
}

fn ends() -> impl Strategy<Value = (End, End)> {
    let end = || prop_oneof![Just(End::AsItIs), Just(End::NoNewline)];
    (end(), end())
}

/// The diff git makes between two files, `None` if there is none.
fn git_diff(a: &str, b: &str, flag: &str) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    for (side, content) in [("a", a), ("b", b)] {
        fs::create_dir(dir.path().join(side)).unwrap();
        fs::write(dir.path().join(side).join("f"), content).unwrap();
    }
    let arguments = [
        "diff",
        "--no-index",
        "--no-prefix",
        "--text",
        flag,
        "a/f",
        "b/f",
    ];
    let output = git(dir.path(), &arguments, "");
    let diff = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!diff.is_empty())));
    (!diff.is_empty()).then_some(diff)
}

fn similar_diff(a: &str, b: &str, context: usize) -> Option<String> {
    let diff = TextDiff::from_lines(a, b);
    let unified = diff
        .unified_diff()
        .context_radius(context)
        .header("a/f", "b/f")
        .to_string();
    (!unified.is_empty()).then_some(unified)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_diff_of_two_files_turns_one_into_the_other(
        lines in lines(40),
        edits in edits(),
        (end_a, end_b) in ends(),
    ) {
        let (a, b) = (text(&lines, end_a), text(&edit(&lines, &edits), end_b));
        for flag in ["-U3", "-U1", "-U9"] {
            if let Some(diff) = git_diff(&a, &b, flag) {
                prop_assert_eq!(apply_text(&a, &diff), Ok(b.clone()), "{}", diff);
                prop_assert_eq!(git_apply(&a, &diff, &[]), Ok(b.clone()), "{}", diff);
            }
        }
    }

    #[test]
    fn unrelated_files_turn_into_each_other(
        a in lines(12),
        b in lines(12),
        (end_a, end_b) in ends(),
    ) {
        let (a, b) = (text(&a, end_a), text(&b, end_b));
        if let Some(diff) = git_diff(&a, &b, "-U2") {
            prop_assert_eq!(apply_text(&a, &diff), Ok(b.clone()), "{}", diff);
        }
    }

    #[test]
    fn without_context_the_numbers_suffice(
        lines in lines(30),
        edits in edits(),
    ) {
        let a = lines.concat().replace('\r', "");
        let b = edit(&lines, &edits).concat().replace('\r', "");
        if let Some(diff) = git_diff(&a, &b, "-U0") {
            prop_assert_eq!(apply_text(&a, &diff), Ok(b.clone()), "{}", diff);
            let theirs = git_apply(&a, &diff, &["--unidiff-zero"]);
            prop_assert_eq!(theirs.as_deref(), Ok(b.as_str()), "{}", diff);
        }
    }

    #[test]
    fn diffs_of_other_tools_apply(
        lines in lines(60),
        edits in edits(),
        (end_a, end_b) in ends(),
        context in 1..5usize,
    ) {
        // This one parts lines at lone carriage returns, which no patch program does.
        let (a, b) = (text(&lines, end_a), text(&edit(&lines, &edits), end_b));
        let (a, b) = (a.replace("a\rb", "a b"), b.replace("a\rb", "a b"));
        if let Some(diff) = similar_diff(&a, &b, context) {
            prop_assert_eq!(apply_text(&a, &diff), Ok(b.clone()), "{}", diff);
        }
    }

    #[test]
    fn on_a_shifted_file_we_do_what_git_does(
        lines in lines(40),
        edits in edits(),
        inserted in prop::collection::vec((0..40usize, 1..4usize), 0..4),
    ) {
        let a = distinct(&lines);
        let b = edit(&a, &edits);
        let mut shifted = a.clone();
        for (at, count) in inserted {
            let at = at.min(shifted.len());
            let new = (0..count).map(|n| format!("new {at} {n}\n"));
            shifted.splice(at..at, new);
        }
        let shifted = shifted.concat();
        if let Some(diff) = git_diff(&a.concat(), &b.concat(), "-U3") {
            let actual = apply_text(&shifted, &diff);
            match git_apply(&shifted, &diff, &[]) {
                Ok(theirs) => prop_assert_eq!(actual.as_deref(), Ok(theirs.as_str()), "{}", diff),
                // It also refuses where a hunk from the end is no longer at the end; we need not.
                Err(_) => if let Ok(actual) = actual {
                    let back = git_apply(&actual, &diff, &["-R", "--unidiff-zero"]);
                    prop_assert_eq!(back.as_deref(), Ok(shifted.as_str()), "{}", diff);
                },
            }
        }
    }

    #[test]
    fn counts_do_not_matter(
        lines in lines(30),
        edits in edits(),
        wrong in (0..40usize, 0..40usize),
    ) {
        let plain: Vec<String> = distinct(&lines);
        let (a, b) = (plain.concat(), edit(&plain, &edits).concat());
        if let Some(diff) = similar_diff(&a.replace("a\rb", ""), &b.replace("a\rb", ""), 3) {
            let miscounted: String = diff.split_inclusive('\n').map(|line| {
                match line.strip_prefix("@@ -").and_then(|l| l.split_once([',', ' '])) {
                    Some((start, _)) => format!("@@ -{start},{} +{start},{} @@\n", wrong.0, wrong.1.max(1)),
                    None => line.to_owned(),
                }
            }).collect();
            let expect = Ok(b.replace("a\rb", ""));
            prop_assert_eq!(apply_text(&a.replace("a\rb", ""), &miscounted), expect, "{}", miscounted);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(@@ -[0-9],[0-9] \\+[0-9],[0-9] @@|[-+ \\\\]|---|\\+\\+\\+| a/f|\"|\\\\3|\n|\r\n|diff --git |é){0,60}") {
        if let Ok(patch) = parse(&text) {
            for part in &patch.files {
                let _ = apply(b"a\n\nb\r\nc", part);
            }
        }
    }
}
