//! Web pages as a person reads them: title, main text, links.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dom_query::{Document, NodeRef};
use dom_smoothie::{Config, Readability, TextMode};
use url::Url;

use super::charset;
use super::html::{self, Parsed};

/// Maximum links listed.
pub const MAX_LINKS: usize = 50;
const MAX_TITLE: usize = 300;
const MAX_LABEL: usize = 200;
/// Page size beyond which searching for the main part costs more than it gains.
const MAX_WEIGHED: usize = 60_000;
/// A shorter article is accepted only if there is little else on the page.
const SHORT: usize = 250;

/// A readable page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadablePage {
    /// Its title.
    pub title: Option<String>,
    /// Its main part as Markdown; all of it if no part stands out.
    pub text: String,
    /// Its links, those of the main part first.
    pub links: Vec<PageLink>,
    /// Whether something was omitted for its size.
    pub truncated: bool,
}

/// A link on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// Its absolute URL.
    pub url: String,
    /// Its text; may be empty.
    pub text: String,
}

/// Makes `html` from `url` readable in at most `max_text` bytes.
///
/// Slow for large pages, so asynchronous callers use `spawn_blocking`.
pub fn read_page(html: &str, url: &Url, max_text: usize) -> ReadablePage {
    let Parsed {
        document,
        truncated,
    } = html::parse(html);
    // First of all: neither title, text nor links may come from hidden content.
    html::drop_unseen(&document);
    let title = title(&document);
    lead_links_out(&document, &base(&document, url));
    let everything = document.body().map(|body| markdown(&body));
    let everything = everything.unwrap_or_default();
    let mut links = LinkCollector::default();
    let text = match article(&document, everything.len()) {
        Some(article) => {
            links.collect(&html::parse(&article.html).document);
            article.text
        }
        None => everything,
    };
    // The main part's links are first; duplicates are dropped by URL.
    links.collect(&document);
    let kept = text[..text.floor_char_boundary(max_text)].trim_end();
    ReadablePage {
        title,
        truncated: truncated || text.len() > max_text,
        text: kept.to_owned(),
        links: links.found,
    }
}

/// All visible text of a page, line by line, including navigation and boilerplate.
///
/// Slow for large pages, so asynchronous callers use `spawn_blocking`.
pub fn readable(bytes: &[u8]) -> String {
    let nowhere = Url::parse("about:blank").expect("a constant");
    let page = charset::decode(bytes, None, &nowhere, charset::Completeness::Whole);
    let Parsed { document, .. } = html::parse(&page);
    html::drop_unseen(&document);
    let title = title(&document).unwrap_or_default();
    let text = document.body().map(|body| {
        let written = catch_unwind(AssertUnwindSafe(|| body.formatted_text().to_string()));
        tidy(&written.unwrap_or_default())
    });
    let text = text.unwrap_or_default();
    match title.is_empty() || text.starts_with(&title) {
        true => text,
        false => format!("{title}\n\n{text}"),
    }
}

struct MainPart {
    text: String,
    html: String,
}

/// The main part of the page, if one stands out.
fn article(document: &Document, all: usize) -> Option<MainPart> {
    // Scoring compares nodes with each other, which gets slow.
    if document.tree.len() > MAX_WEIGHED {
        return None;
    }
    let config = Config {
        text_mode: TextMode::Markdown,
        disable_json_ld: true,
        ..Config::default()
    };
    // The scoring library is heuristic upon heuristic; if it panics, the page is still read.
    let found = catch_unwind(AssertUnwindSafe(|| {
        let mut reader = Readability::with_document(document.clone(), None, Some(config)).ok()?;
        reader.parse().ok()
    }));
    let found = found.ok().flatten()?;
    let text = tidy(&found.text_content);
    // A short "article" on a long page is probably a banner.
    let too_short = text.is_empty() || (text.len() < SHORT && text.len() * 2 < all);
    (!too_short).then(|| MainPart {
        text,
        html: found.content.to_string(),
    })
}

fn markdown(node: &NodeRef<'_>) -> String {
    // A panic in the converter must not lose the page.
    let written = catch_unwind(AssertUnwindSafe(|| node.md(None)));
    let written = written.unwrap_or_else(|_| node.formatted_text());
    tidy(&written)
}

/// Without blank edges, trailing spaces and runs of empty lines. Indentation is kept.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut blank = 0;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() {
            blank += 1;
            continue;
        }
        if !tidied.is_empty() {
            tidied.push_str(if blank == 0 { "\n" } else { "\n\n" });
        }
        blank = 0;
        tidied.push_str(line);
    }
    tidied
}

fn title(document: &Document) -> Option<String> {
    let of = |selector: &str| {
        let found = document.select_single(selector);
        let node = found.nodes().first()?;
        let text = match node.attr("content") {
            Some(content) => html::one_line(&content),
            None => html::line(node),
        };
        let text = text[..text.floor_char_boundary(MAX_TITLE)].trim_end();
        (!text.is_empty()).then(|| text.to_owned())
    };
    of("head > title, body title")
        .or_else(|| of("meta[property=\"og:title\"]"))
        .or_else(|| of("h1"))
}

/// The base URL of relative links.
fn base(document: &Document, url: &Url) -> Url {
    let declared = document.base_uri().and_then(|base| url.join(&base).ok());
    declared.filter(is_web).unwrap_or_else(|| url.clone())
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// Makes links absolute and removes other kinds of links, and images inside the text.
fn lead_links_out(document: &Document, base: &Url) {
    for (selector, attribute) in [("a[href]", "href"), ("img[src]", "src")] {
        for node in document.select(selector).nodes() {
            let written = node.attr(attribute).unwrap_or_default();
            match base.join(written.trim()).ok().filter(is_web) {
                Some(url) => node.set_attr(attribute, url.as_str()),
                None if attribute == "src" => node.remove_from_parent(),
                None => node.remove_attr(attribute),
            }
        }
    }
}

#[derive(Default)]
struct LinkCollector {
    seen: HashSet<String>,
    found: Vec<PageLink>,
}

impl LinkCollector {
    fn collect(&mut self, document: &Document) {
        for node in document.select("a[href]").nodes() {
            if self.found.len() == MAX_LINKS {
                return;
            }
            let Some(mut url) = node.attr("href").and_then(|href| Url::parse(&href).ok()) else {
                continue;
            };
            url.set_fragment(None);
            if !is_web(&url) || !self.seen.insert(url.to_string()) {
                continue;
            }
            let text = html::line(node);
            self.found.push(PageLink {
                url: url.into(),
                text: text[..text.floor_char_boundary(MAX_LABEL)].to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests;
