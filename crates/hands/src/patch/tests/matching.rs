//! Where hunks go, and what they leave behind.

use super::super::HunkProblem::{
    AlreadyApplied, Ambiguous, NewlineMissingInside, NotFound, OutOfOrder, PastEnd, TooRepetitive,
};
use super::*;

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

#[track_caller]
fn places(original: &str, patch: &str, expect: &[(usize, isize)]) {
    let patch = parse(patch).unwrap();
    let applied = apply(original.as_bytes(), &patch.files[0]).unwrap();
    let seen: Vec<_> = applied
        .hunks
        .iter()
        .map(|h| (h.at_line, h.offset))
        .collect();
    assert_eq!(seen, expect);
}

#[test]
fn lines_are_changed_inserted_and_removed() {
    let rows = [
        (
            "a\nb\nc\n",
            "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
            "a\nB\nc\n",
        ),
        (
            "a\nb\nc\n",
            "@@ -1,3 +1,4 @@\n a\n+x\n b\n c\n",
            "a\nx\nb\nc\n",
        ),
        ("a\nb\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n", "a\nc\n"),
        ("a\nb\n", "@@ -1,2 +1,3 @@\n+x\n a\n b\n", "x\na\nb\n"),
        ("a\nb\n", "@@ -1,2 +1,3 @@\n a\n b\n+x\n", "a\nb\nx\n"),
        ("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"),
        ("a\nb\n", "@@ -1,2 +0,0 @@\n-a\n-b\n", ""),
        ("a\n", "@@ -1 +1 @@\n-a\n+b\n", "b\n"),
        ("a\n", "@@ -1,1 +1,1 @@ fn main() {\n-a\n+b\n", "b\n"),
        ("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", "a\n\nB\n"),
        ("--x\nb\n", "@@ -1,2 +1,2 @@\n---x\n+++y\n b\n", "++y\nb\n"),
        (
            "-- a\nb\n",
            "@@ -1,2 +1,2 @@\n--- a\n+++ b\n b\n",
            "++ b\nb\n",
        ),
        (
            "é\n漢\n",
            "@@ -1,2 +1,2 @@\n é\n-漢\n+字 🙂\n",
            "é\n字 🙂\n",
        ),
        ("a$1\n", "@@ -1 +1 @@\n-a$1\n+$& \\1 \\n\n", "$& \\1 \\n\n"),
        (
            "tab\t\nx \n",
            "@@ -1,2 +1,2 @@\n tab\t\n-x \n+x\t\n",
            "tab\t\nx\t\n",
        ),
        ("a\rb\n", "@@ -1 +1 @@\n-a\rb\n+a\rc\n", "a\rc\n"),
    ];
    for (original, hunk, expect) in rows {
        check(original, &named(hunk), Ok(expect), Git::Agrees);
    }
}

#[test]
fn several_hunks_apply_in_one_go() {
    let hunks = "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -5,3 +6,2 @@\n 5\n-6\n 7\n@@ -9,2 +9,3 @@\n 9\n 10\n+11\n";
    let expect = "0\n1\n2\n3\n4\n5\n7\n8\n9\n10\n11\n";
    check(TEN, &named(hunks), Ok(expect), Git::Agrees);
    places(TEN, hunks, &[(1, 0), (5, 0), (9, 0)]);
}

#[test]
fn context_must_be_there_exactly() {
    let rows = [
        ("a\nX\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
        ("a\nb \nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
        ("a\nb\nC\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
        ("", "@@ -1 +1 @@\n-a\n+b\n"),
        ("a\nb\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
    ];
    for (original, hunk) in rows {
        check(original, &named(hunk), Err(NotFound), Git::Agrees);
    }
}

#[test]
fn a_refusal_says_which_hunk_and_which_line() {
    let hunks = "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n@@ -7,3 +7,3 @@\n 7\n-eight\n+VIII\n 9\n";
    let error = apply_text(TEN, &named(hunks)).unwrap_err();
    let expect = HunkError {
        hunk: 2,
        line: 8,
        why: NotFound,
        expected: Some("eight\n".into()),
        found: Some("8\n".into()),
    };
    assert_eq!(error, expect);
    let message = error.to_string();
    assert!(message.starts_with(
        r#"hunk 2 does not apply at line 8: the patch expects "eight\n", the file has "8\n""#
    ));
    let at_end = apply_text("a\n", &named("@@ -1,2 +1,2 @@\n a\n-b\n+c\n")).unwrap_err();
    assert_eq!((at_end.line, at_end.found.as_deref()), (2, None));
    let newline = apply_text(
        "a",
        &named("@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n"),
    );
    assert!(
        newline
            .unwrap_err()
            .to_string()
            .contains(r#"expects "a\n", the file has "a""#)
    );
}

#[test]
fn a_hunk_is_found_up_to_a_thousand_lines_away() {
    let hunk = "@@ -3,3 +3,3 @@\n x\n-y\n+Y\n z\n";
    for moved in [0, 1, 2, 40, 999, 1000] {
        let original = format!("{}x\ny\nz\ntail\n", "-\n".repeat(2 + moved));
        let expect = original.replace("y\n", "Y\n");
        check(&original, &named(hunk), Ok(&expect), Git::Agrees);
        places(&original, hunk, &[(3 + moved, moved.cast_signed())]);
    }
    let too_far = format!("{}x\ny\nz\n", "-\n".repeat(1003)) + &"=\n".repeat(3000);
    let theirs = git_apply(&too_far, &named(hunk), &[]);
    assert_eq!(theirs.unwrap(), too_far.replace("y\n", "Y\n"));
    assert_eq!(
        apply_text(&too_far, &named(hunk)).unwrap_err().why,
        NotFound
    );

    let up = "@@ -2000,3 +2000,3 @@\n x\n-y\n+Y\n z\n";
    let back = |lines: usize| "-\n".repeat(1999 - lines) + "x\ny\nz\n" + &"=\n".repeat(3000);
    places(&back(1000), up, &[(1000, -1000)]);
    assert_eq!(apply_text(&back(1001), up).unwrap_err().why, NotFound);
    places("x\ny\nz\n", up, &[(1, -1999)]);
}

#[test]
fn later_hunks_move_with_the_ones_before() {
    let block = "{\n-\n}\n";
    let original = block.repeat(12);
    let shifted = format!("top\n{}{original}", "new\n".repeat(3));
    let hunks = "@@ -1,3 +1,3 @@\n-{\n+first {\n -\n }\n@@ -13,3 +13,3 @@\n-{\n+fifth {\n -\n }\n";
    places(&original, hunks, &[(1, 0), (13, 0)]);
    places(&shifted, hunks, &[(5, 4), (17, 4)]);
}

#[test]
fn the_nearest_match_wins_and_of_two_the_later() {
    let hunk = "@@ -4 +4 @@\n-x\n+y\n";
    let rows = [
        ("x\n2\n3\n4\nx\n", "x\n2\n3\n4\ny\n"),
        ("1\n2\nx\n4\n5\nx\n", "1\n2\ny\n4\n5\nx\n"),
        ("1\nx\n3\n4\n5\nx\n", "1\nx\n3\n4\n5\ny\n"),
        ("1\nx\nx\nx\n5\n", "1\nx\nx\ny\n5\n"),
    ];
    for (original, expect) in rows {
        assert_eq!(apply_text(original, &named(hunk)).as_deref(), Ok(expect));
        // Git wants to know that the lack of context is meant.
        let theirs = git_apply(original, &named(hunk), &["--unidiff-zero"]);
        assert_eq!(theirs.as_deref(), Ok(expect));
    }
}

#[test]
fn without_headers_two_equal_places_are_refused() {
    let equal = "1\nx\n3\n4\n5\nx\n";
    let hunk = "@@ -4 +4 @@\n-x\n+y\n";
    check(equal, hunk, Err(Ambiguous { other: 2 }), Git::Agrees);
    let error = apply_text(equal, hunk).unwrap_err();
    assert_eq!(error.line, 6);
    check("x\n2\n3\nx\n5\n", hunk, Ok("x\n2\n3\ny\n5\n"), Git::Refuses);
    check("x\n2\n3\n4\nx\n", hunk, Ok("x\n2\n3\n4\ny\n"), Git::Refuses);
}

#[test]
fn line_number_zero_needs_the_only_place() {
    let hunk = named("@@ -0,0 +1 @@\n-x\n+y\n");
    check("1\n2\nx\n", &hunk, Ok("1\n2\ny\n"), Git::Refuses);
    check("x\n2\nx\n", &hunk, Err(Ambiguous { other: 3 }), Git::Agrees);
}

#[test]
fn an_insertion_without_context_goes_where_its_number_says() {
    let rows = [
        ("1\n2\n3\n", "@@ -2,0 +3 @@\n+x\n", "1\n2\nx\n3\n"),
        ("1\n2\n3\n", "@@ -0,0 +1 @@\n+x\n", "x\n1\n2\n3\n"),
        ("1\n2\n3\n", "@@ -3,0 +4,2 @@\n+x\n+y\n", "1\n2\n3\nx\ny\n"),
    ];
    for (original, hunk, expect) in rows {
        assert_eq!(apply_text(original, &named(hunk)).as_deref(), Ok(expect));
        let theirs = git_apply(original, &named(hunk), &["--unidiff-zero"]);
        assert_eq!(theirs.as_deref(), Ok(expect));
    }
    // Miscounted: it claims to begin at line 2, so it goes before it.
    check(
        "1\n2\n3\n",
        "@@ -2,3 +2,4 @@\n+x\n",
        Ok("1\nx\n2\n3\n"),
        Git::Refuses,
    );
    check(
        "1\n",
        &named("@@ -2,0 +3 @@\n+x\n"),
        Err(PastEnd),
        Git::Gives("1\nx\n"),
    );
}

#[test]
fn hunks_out_of_order_or_overlapping_are_refused() {
    let swapped = "@@ -8 +8 @@\n-8\n+VIII\n@@ -2 +2 @@\n-2\n+II\n";
    let error = apply_text(TEN, &named(swapped)).unwrap_err();
    assert_eq!((error.hunk, error.line, error.why), (2, 2, OutOfOrder));
    let overlapping = "@@ -1,3 +1,3 @@\n 1\n-2\n+II\n 3\n@@ -3,3 +3,3 @@\n 3\n-4\n+IV\n 5\n";
    check(TEN, &named(overlapping), Err(OutOfOrder), Git::Agrees);
    let inserted = "@@ -5 +5 @@\n-5\n+V\n@@ -2,0 +3 @@\n+x\n";
    assert_eq!(
        apply_text(TEN, &named(inserted)).unwrap_err().why,
        OutOfOrder
    );
}

#[test]
fn an_applied_patch_is_reported_as_such() {
    let rows = [
        ("a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
        ("a\nx\nb\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n"),
        ("a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n"),
        ("0\na\nb\nx\nz\n", "@@ -2,2 +2,3 @@\n a\n b\n+x\n"),
        ("x\na\nb\n", "@@ -1,2 +1,3 @@\n+x\n a\n b\n"),
        ("y\n", "@@ -1 +1 @@\n-x\n+y\n"),
    ];
    for (original, hunk) in rows {
        check(original, &named(hunk), Err(AlreadyApplied), Git::Agrees);
    }
    // A line that happens to stand elsewhere proves nothing.
    check(
        "1\n2\n}\n",
        &named("@@ -1 +1 @@\n-x\n+}\n"),
        Err(NotFound),
        Git::Agrees,
    );
}

#[test]
fn a_second_run_of_an_applied_patch_changes_nothing() {
    let hunks = [
        "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n",
        "@@ -8,3 +8,4 @@\n 8\n 9\n 10\n+11\n",
        "@@ -4,3 +4,4 @@\n 4\n+4.5\n 5\n 6\n",
        "@@ -4,3 +4,2 @@\n 4\n-5\n 6\n",
    ];
    for hunk in hunks {
        let once = apply_text(TEN, &named(hunk)).unwrap();
        check(&once, &named(hunk), Err(AlreadyApplied), Git::Agrees);
    }
}

#[test]
fn a_missing_final_newline_is_taken_at_its_word() {
    const END: &str = "\\ No newline at end of file\n";
    let rows = [
        (
            "a\nb",
            format!("@@ -1,2 +1,2 @@\n a\n-b\n{END}+c\n{END}"),
            Ok("a\nc"),
        ),
        (
            "a\nb",
            format!("@@ -1,2 +1,2 @@\n a\n-b\n{END}+b\n"),
            Ok("a\nb\n"),
        ),
        (
            "a\nb\n",
            format!("@@ -1,2 +1,2 @@\n a\n-b\n+b\n{END}"),
            Ok("a\nb"),
        ),
        (
            "a\nb",
            format!("@@ -1,2 +1,3 @@\n+x\n a\n b\n{END}"),
            Ok("x\na\nb"),
        ),
        (
            "a\nb",
            format!("@@ -1,2 +1,3 @@\n a\n-b\n{END}+b\n+c\n"),
            Ok("a\nb\nc\n"),
        ),
        ("a", format!("@@ -1 +0,0 @@\n-a\n{END}"), Ok("")),
        ("", format!("@@ -0,0 +1 @@\n+a\n{END}"), Ok("a")),
        (
            "a\nb\n",
            format!("@@ -1,2 +1,2 @@\n a\n-b\n{END}+c\n{END}"),
            Err(NotFound),
        ),
        (
            "a\nb",
            format!("@@ -1,2 +1,2 @@\n a\n-b\n+c\n{END}"),
            Err(NotFound),
        ),
        (
            "a\nb\nc\n",
            format!("@@ -1,2 +1,2 @@\n a\n-b\n{END}+c\n{END}"),
            Err(NotFound),
        ),
    ];
    for (original, hunk, expect) in rows {
        check(original, &named(&hunk), expect, Git::Agrees);
    }
    let inside = named(&format!("@@ -1,3 +1,3 @@\n a\n-b\n+B\n{END} c\n"));
    let expect = Err(NewlineMissingInside);
    check("a\nb\nc\n", &inside, expect, Git::Gives("a\nBc\n"));
}

#[test]
fn a_missing_final_newline_survives_a_patch_that_ignores_it() {
    let rows = [
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc"),
        ("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc"),
        ("a\r\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\r\nb\r\nc"),
        ("a\nb", "@@ -1,2 +1 @@\n a\n-b\n", "a"),
    ];
    for (original, hunk, expect) in rows {
        check(original, &named(hunk), Ok(expect), Git::Refuses);
    }
    assert_eq!(
        apply_text("a", &named("@@ -1,0 +2 @@\n+b\n")).as_deref(),
        Ok("a\nb")
    );
}

#[test]
fn line_endings_of_the_file_survive() {
    let crlf_lines = "@@ -1,3 +1,4 @@\n a\r\n-b\r\n+B\r\n+x\r\n c\r\n";
    let lf = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+x\n c\n";
    let (unix, dos) = ("a\nb\nc\n", "a\r\nb\r\nc\r\n");
    let (unix_done, dos_done) = ("a\nB\nx\nc\n", "a\r\nB\r\nx\r\nc\r\n");
    check(unix, &named(lf), Ok(unix_done), Git::Agrees);
    check(dos, &named(crlf_lines), Ok(dos_done), Git::Agrees);
    check(dos, &named(lf), Ok(dos_done), Git::Refuses);
    check(unix, &named(crlf_lines), Ok(unix_done), Git::Refuses);
    let all_crlf = named(lf).replace('\n', "\r\n");
    assert_eq!(apply_text(dos, &all_crlf).as_deref(), Ok(dos_done));
    assert_eq!(apply_text(unix, &all_crlf).as_deref(), Ok(unix_done));
    let no_end = all_crlf.trim_end().to_owned();
    assert_eq!(apply_text(dos, &no_end).as_deref(), Ok(dos_done));
    assert_eq!(apply_text(unix, &no_end).as_deref(), Ok(unix_done));
}

#[test]
fn endings_hold_without_context_too() {
    let rows = [
        ("a\r\nb\r\n", "@@ -1,0 +2 @@\n+x\n", "a\r\nx\r\nb\r\n"),
        ("a\nb\n", "@@ -1,0 +2 @@\r\n+x\r\n", "a\nx\nb\n"),
        ("a\nb\n", "@@ -1,0 +2 @@\n+x\r\n", "a\nx\r\nb\n"),
        ("", "@@ -0,0 +1 @@\r\n+x\r\n", "x\r\n"),
    ];
    for (original, hunk, expect) in rows {
        assert_eq!(apply_text(original, &named(hunk)).as_deref(), Ok(expect));
    }
}

#[test]
fn a_patch_that_changes_endings_is_taken_to_the_letter() {
    let to_dos = named("@@ -1,2 +1,2 @@\n-a\n-b\n+a\r\n+b\r\n");
    check("a\nb\n", &to_dos, Ok("a\r\nb\r\n"), Git::Agrees);
    check("a\r\nb\r\n", &to_dos, Err(AlreadyApplied), Git::Agrees);
    let mixed = named("@@ -1,3 +1,3 @@\n a\r\n-b\n+B\n c\r\n");
    check("a\r\nb\nc\r\n", &mixed, Ok("a\r\nB\nc\r\n"), Git::Agrees);
    check("a\nb\nc\n", &mixed, Err(NotFound), Git::Agrees);
}

#[test]
fn new_lines_in_a_mixed_file_end_like_their_neighbours() {
    let original = "a\r\nb\r\nc\nd\n";
    let hunk = named("@@ -1,4 +1,6 @@\n a\n+x\n b\n c\n+y\n d\n");
    check(
        original,
        &hunk,
        Ok("a\r\nx\r\nb\r\nc\ny\nd\n"),
        Git::Refuses,
    );
}

#[test]
fn hunks_without_full_context_apply_in_the_middle() {
    // Git takes missing context for the beginning or the end of the file.
    check(
        TEN,
        &named("@@ -5 +5 @@\n-5\n+V\n"),
        Ok(&TEN.replace('5', "V")),
        Git::Refuses,
    );
    let trailing = named("@@ -4,2 +4,3 @@\n 4\n 5\n+x\n");
    check(
        TEN,
        &trailing,
        Ok(&TEN.replace("5\n", "5\nx\n")),
        Git::Refuses,
    );
}

#[test]
fn bytes_that_are_no_text_pass_through() {
    let patch = parse("@@ -2 +2 @@\n-b\n+c\n").unwrap();
    let applied = apply(b"\xff\xfe\0\nb\n\x80", &patch.files[0]).unwrap();
    assert_eq!(applied.content, b"\xff\xfe\0\nc\n\x80");
}

#[test]
fn hostile_repetition_is_cut_short() {
    let original = "\n".repeat(60_000) + "x\n";
    let hunk =
        |lines: usize, last: &str| format!("@@ -20000,1 +1,1 @@\n{}-{last}\n", " \n".repeat(lines));
    let error = apply_text(&original, &hunk(30_000, "y")).unwrap_err();
    assert_eq!(error.why, TooRepetitive);
    assert_eq!(
        apply_text(&original, &hunk(40_500, "x")).unwrap().len(),
        60_000
    );
}
