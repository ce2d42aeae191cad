//! Finding items by text, without a model.

use std::collections::BTreeSet;

use super::notebook::TodoItem;
use super::reference::without_references;

/// Two items with more than this share of common words may be duplicates.
const ALIKE: f64 = 0.5;

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match<'a> {
    /// Exactly one item.
    One(&'a TodoItem),
    /// Several equally good ones.
    Many(Vec<&'a TodoItem>),
    /// No item.
    None,
}

/// Finds an item by id, by its whole text, or by a part of it that no other item has.
pub fn find<'a>(items: &'a [TodoItem], query: &str) -> Match<'a> {
    let query = query.trim();
    if let Some(item) = items.iter().find(|item| item.id == query) {
        return Match::One(item);
    }
    let folded = fold(query);
    let plain = fold(&without_references(query));
    let ways: [&dyn Fn(&TodoItem) -> bool; 4] = [
        &|item| item.entry.content == query,
        &|item| fold(&item.entry.content) == folded,
        &|item| fold(&without_references(&item.entry.content)) == plain,
        &|item| {
            let content = fold(&item.entry.content);
            let bare = fold(&without_references(&item.entry.content));
            content.contains(&folded) || bare.contains(&plain)
        },
    ];
    // From strict to loose: an exact match wins even if its text is also a part of another item.
    for way in ways {
        let found: Vec<&TodoItem> = items.iter().filter(|item| way(item)).collect();
        match found[..] {
            [] => {}
            [one] => return Match::One(one),
            _ => return Match::Many(found),
        }
    }
    Match::None
}

/// A text with case and whitespace normalised.
fn fold(text: &str) -> String {
    let lower = text.to_lowercase();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Items with the same text as `content`, ignoring case and whitespace.
pub fn same<'a>(items: &'a [TodoItem], content: &str) -> Vec<&'a TodoItem> {
    let wanted = fold(content);
    let same = |item: &&TodoItem| fold(&item.entry.content) == wanted;
    items.iter().filter(same).collect()
}

/// Up to `most` items that share enough words with `content` to be possible duplicates.
pub fn alike<'a>(items: &'a [TodoItem], content: &str, most: usize) -> Vec<&'a TodoItem> {
    let wanted = words(content);
    let alike = |item: &&TodoItem| {
        let theirs = words(&item.entry.content);
        let common = wanted.intersection(&theirs).count();
        // Relative to the shorter one: "pay rent" and "pay the rent in March" are alike.
        let fewer = wanted.len().min(theirs.len());
        #[allow(clippy::cast_precision_loss)] // a handful of words
        let share = common as f64 / fewer.max(1) as f64;
        share > ALIKE
    };
    items.iter().filter(alike).take(most).collect()
}

/// The words of a text; pairs of characters for scripts that do not separate words.
fn words(text: &str) -> BTreeSet<String> {
    let plain = without_references(text).to_lowercase();
    let mut words = BTreeSet::new();
    for word in plain.split(|c: char| !c.is_alphanumeric()) {
        if word.is_ascii() || word.chars().any(|c| c.is_ascii_alphanumeric()) {
            if word.len() > 1 {
                words.insert(word.to_owned());
            }
            continue;
        }
        let signs: Vec<char> = word.chars().collect();
        match signs.len() {
            0 => {}
            1 => drop(words.insert(word.to_owned())),
            _ => words.extend(signs.windows(2).map(|pair| pair.iter().collect())),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::todo::TodoEntry;

    fn items(texts: &[&str]) -> Vec<TodoItem> {
        let all = texts.iter().enumerate();
        all.map(|(at, text)| TodoItem {
            id: format!("id{at}"),
            entry: TodoEntry {
                content: (*text).to_owned(),
                ..TodoEntry::default()
            },
        })
        .collect()
    }

    #[track_caller]
    fn check(query: &str, expect: &[&str]) {
        let all = items(&[
            "Call [Bob](tg:1)",
            "call the bank",
            "Pay rent",
            "pay rent for the garage",
            "提醒 John (tg:@john) 提交报告",
        ]);
        let found: Vec<String> = match find(&all, query) {
            Match::One(item) => vec![item.id.clone()],
            Match::Many(items) => items.iter().map(|item| item.id.clone()).collect(),
            Match::None => Vec::new(),
        };
        assert_eq!(found, expect, "{query}");
    }

    #[test]
    fn an_item_is_found_by_id_then_text_then_unique_part() {
        check("id3", &["id3"]);
        check("Pay rent", &["id2"]);
        check("  pay   RENT ", &["id2"]);
        check("call bob", &["id0"]);
        check("garage", &["id3"]);
        check("提交报告", &["id4"]);
        check("tg:@john", &["id4"]);
        check("call", &["id0", "id1"]);
        check("rent", &["id2", "id3"]);
        check("sell the car", &[]);
    }

    #[test]
    fn items_are_alike_when_they_share_enough_words() {
        let all = items(&["Pay the rent", "Buy milk", "提交月度报告"]);
        let found = |text: &str| -> Vec<String> {
            let found = alike(&all, text, 9).into_iter();
            found.map(|item| item.entry.content.clone()).collect()
        };
        assert_eq!(found("pay rent in March"), ["Pay the rent"]);
        assert_eq!(found("提交报告"), ["提交月度报告"]);
        assert_eq!(found("water the plants soon"), Vec::<String>::new());
        assert_eq!(same(&all, "buy  MILK").len(), 1);
        assert!(same(&all, "buy milk now").is_empty());
    }
}
