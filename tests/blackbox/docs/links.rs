//! Every link between the documents leads to a file and a heading that exist.

use std::path::{Path, PathBuf};

use super::blocks::prose;
use super::top;

/// The documents that people read first, and all chapters of the guide.
fn pages() -> Vec<PathBuf> {
    let names = [
        "README.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "docs/assurance.md",
        "docs/clients.md",
        "docs/config.md",
        "docs/http.md",
        "docs/protocol.md",
        "docs/tools.md",
    ];
    let mut pages: Vec<PathBuf> = names.iter().map(|name| top().join(name)).collect();
    for folder in ["docs/guide/src", "docs/guide/src/reference"] {
        let files = std::fs::read_dir(top().join(folder)).expect("the chapters");
        let files = files.map(|file| file.expect("a file").path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|kind| kind == "md")));
    }
    pages
}

/// The text of a page, with the files it includes.
fn text(page: &Path) -> String {
    let written =
        std::fs::read_to_string(page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
    let mut parts = written.split("{{#include ");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").expect("the end of an include");
        let file = page.parent().expect("a folder").join(name.trim());
        whole.push_str(&text(&file));
        whole.push_str(rest);
    }
    whole
}

/// The targets of links and pictures.
fn targets(page: &str) -> Vec<String> {
    let prose = prose(page);
    let markdown = prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let html = ["src=\"", "href=\"", "srcset=\""].into_iter();
    let html = html.flat_map(|mark| {
        prose
            .split(mark)
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
    });
    markdown.chain(html).map(str::to_owned).collect()
}

/// The ids of a page's headings, as GitHub and mdBook make them.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let headings = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let slug = |heading: String| -> String {
        let words = heading.chars().filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
            _ => None,
        });
        words.collect()
    };
    headings.map(slug).collect()
}

/// Why a link leads nowhere; nothing if it leads somewhere.
fn problem(page: &Path, target: &str) -> Option<String> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match file {
        "" => page.to_owned(),
        file => page.parent().expect("a folder").join(file),
    };
    if !file.exists() {
        return Some(format!("{target}: there is no such file"));
    }
    let found = || anchors(&text(&file)).iter().any(|one| one == anchor);
    (!anchor.is_empty() && !found()).then(|| format!("{target}: there is no such heading"))
}

#[test]
fn every_link_between_the_documents_leads_somewhere() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        for target in targets(&text(&page)) {
            // `<` is a placeholder of a generated text, such as a template of links.
            if target.contains("://") || target.starts_with("mailto:") || target.starts_with('<') {
                continue;
            }
            checked += 1;
            wrong.extend(problem(&page, &target).map(|why| format!("{}: {why}", page.display())));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(checked > 60, "{checked} links");
}

#[test]
fn a_link_to_nowhere_is_noticed() {
    let page = top().join("README.md");
    assert!(problem(&page, "docs/nothing.md").is_some());
    assert!(problem(&page, "CONTRIBUTING.md#nothing").is_some());
    assert_eq!(problem(&page, "CONTRIBUTING.md#build-and-test"), None);
    assert_eq!(
        targets("[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n<img src=\"g.png\">"),
        ["b.md", "g.png"]
    );
}
