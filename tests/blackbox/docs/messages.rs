//! The error messages that the guide explains are those that the program prints.

use std::path::Path;

use super::top;

/// The messages in the headings of a page: what stands between backticks.
fn messages(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with("### "));
    let quoted = |line: &str| -> Vec<String> {
        let pieces = line.split('`').skip(1).step_by(2);
        pieces.map(str::to_owned).collect()
    };
    headings.flat_map(quoted).collect()
}

/// All Rust code of the product, with texts that continue on the next line joined.
fn source() -> String {
    fn read(folder: &Path, all: &mut String) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                read(&path, all);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = std::fs::read_to_string(&path).expect("code");
                let mut joined = text.split("\\\n");
                all.push_str(joined.next().unwrap_or_default());
                joined.for_each(|rest| all.push_str(rest.trim_start()));
            }
        }
    }
    let mut all = String::new();
    for entry in std::fs::read_dir(top().join("crates")).expect("the crates") {
        read(&entry.expect("a crate").path().join("src"), &mut all);
    }
    all
}

/// The fixed parts of a message, without what `...` stands for.
fn missing(message: &str, source: &str) -> Option<String> {
    let parts = message.split("...").map(str::trim);
    let fixed = |part: &&str| part.len() > 3;
    let known = |part: &str| source.contains(part) || source.contains(&part.replace('\'', "\\'"));
    let lost: Vec<&str> = parts.filter(fixed).filter(|part| !known(part)).collect();
    (!lost.is_empty()).then(|| lost.join(" ... "))
}

#[test]
fn every_message_that_is_explained_is_one_that_the_program_prints() {
    let page = std::fs::read_to_string(top().join("docs/guide/src/troubleshooting.md"));
    let messages = messages(&page.expect("the chapter"));
    assert!(messages.len() > 20, "{messages:?}");
    let source = source();
    assert!(missing("cannot frobnicate the ... gateway", &source).is_some());
    let lost: Vec<String> = messages
        .iter()
        .filter_map(|one| missing(one, &source))
        .collect();
    assert_eq!(lost, Vec::<String>::new());
}
