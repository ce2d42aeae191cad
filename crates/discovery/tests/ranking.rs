//! What the index finds, without vectors: everything here holds offline, on any machine.

use std::collections::BTreeSet;
use std::sync::Arc;

use manyhands_core::SystemClock;
use manyhands_discovery::{Index, IndexEntry, ItemKind, Query, SearchOutcome};

mod catalogue;
use catalogue::{QUERIES, TOOLS};

fn empty() -> Index {
    Index::new(Arc::new(SystemClock::default()), None)
}

fn tool(server: &str, name: &str, description: &str) -> IndexEntry {
    IndexEntry {
        key: format!("{server}/{name}"),
        kind: ItemKind::Tool,
        name: name.into(),
        server: server.into(),
        title: String::new(),
        description: description.into(),
        parameters: Vec::new(),
        tags: Vec::new(),
    }
}

fn stocked() -> Index {
    let index = empty();
    for (server, name, description) in TOOLS {
        let owner = format!("{server}/{name}");
        index.upsert(&owner, vec![tool(server, name, description)]);
    }
    index
}

fn ask(index: &Index, text: &str) -> SearchOutcome {
    index.search(&Query {
        text,
        kinds: None,
        limit: 5,
        allowed: &|_| true,
    })
}

fn names(answer: &SearchOutcome) -> Vec<&str> {
    answer
        .hits
        .iter()
        .map(|hit| hit.entry.name.as_str())
        .collect()
}

#[test]
fn plain_words_find_the_right_tool_nearly_always() {
    let index = stocked();
    let mut found = 0;
    let mut missed = Vec::new();
    for (text, expected) in QUERIES {
        let answer = ask(&index, text);
        match names(&answer).contains(expected) {
            true => found += 1,
            false => missed.push((*text, *expected)),
        }
    }
    assert!(
        found * 100 >= QUERIES.len() * 90,
        "{found} of {}; missed {missed:?}",
        QUERIES.len()
    );
}

#[test]
fn a_tool_called_by_its_name_is_certain_and_first() {
    let index = stocked();
    for text in [
        "calendar_create_event",
        "create event",
        "calendar create event",
        "CreateEvent",
    ] {
        let answer = ask(&index, text);
        assert_eq!(names(&answer)[0], "create_event", "{text}");
        assert!(
            answer.hits[0].confidence >= 0.99,
            "{text}: {}",
            answer.hits[0].confidence
        );
    }
}

#[test]
fn one_word_is_enough_even_unfinished_or_misspelt() {
    let index = stocked();
    for (text, expected) in [
        ("weather", "forecast"),
        ("invoices", "list_invoices"),
        ("invoi", "list_invoices"),
        ("calender", "create_event"),
        ("wether", "forecast"),
        ("email", "send_message"),
        ("docker", "container_logs"),
    ] {
        let answer = ask(&index, text);
        assert!(
            names(&answer).contains(&expected),
            "{text}: {:?}",
            names(&answer)
        );
    }
}

#[test]
fn nothing_related_finds_nothing() {
    let index = stocked();
    for text in [
        "zxqv blorp wibbletron",
        "",
        "   ",
        "\u{0}\u{1}\u{7f}",
        "!!! ??? ...",
        "\u{1f600}\u{1f680}",
    ] {
        let answer = ask(&index, text);
        assert!(answer.hits.is_empty(), "{text:?}: {:?}", names(&answer));
    }
    assert!(!ask(&index, "weather").hits.is_empty());
}

#[test]
fn confidence_lies_between_nothing_and_one_and_never_rises() {
    let index = stocked();
    for (text, _) in QUERIES {
        let answer = index.search(&Query {
            text,
            kinds: None,
            limit: 50,
            allowed: &|_| true,
        });
        let sure: Vec<f32> = answer.hits.iter().map(|hit| hit.confidence).collect();
        assert!(sure.iter().all(|one| (0.0..=1.0).contains(one)), "{sure:?}");
        assert!(sure.is_sorted_by(|a, b| a >= b), "{sure:?}");
    }
}

#[test]
fn a_long_request_finds_a_tool_for_every_step() {
    let index = stocked();
    let answer = ask(
        &index,
        "Look up the weather forecast for Lisbon tomorrow. Then create a calendar event for the picnic, and finally send Ann an email with the details.",
    );
    assert_eq!(answer.steps.len(), 3, "{:?}", answer.steps);
    for expected in ["forecast", "create_event", "send_message"] {
        assert!(
            names(&answer).contains(&expected),
            "{expected}: {:?}",
            names(&answer)
        );
    }
    let of = |name: &str| {
        answer
            .hits
            .iter()
            .find(|hit| hit.entry.name == name)
            .and_then(|hit| hit.why.step)
    };
    assert_eq!(
        (of("forecast"), of("create_event"), of("send_message")),
        (Some(0), Some(1), Some(2))
    );
}

#[test]
fn a_hit_lists_its_reasons() {
    let answer = ask(&stocked(), "forecast of the weather");
    let why = &answer.hits[0].why;
    assert_eq!(why.lexical_rank, Some(1));
    assert!(why.lexical_score > 0.0);
    assert_eq!(why.vector_rank, None);
    assert!(why.matched.contains(&"weather".to_owned()), "{why:?}");
    assert!(!answer.vectors);
}

#[test]
fn a_segment_is_replaced_and_removed_atomically() {
    let index = empty();
    index.upsert(
        "zoo",
        vec![
            tool("zoo", "feed_giraffe", "Feed the giraffe"),
            tool("zoo", "wash_elephant", "Wash the elephant"),
        ],
    );
    index.upsert("bank", vec![tool("bank", "pay_bill", "Pay a bill")]);
    assert_eq!(names(&ask(&index, "giraffe")), ["feed_giraffe"]);
    assert_eq!(index.len(), 3);

    index.upsert(
        "zoo",
        vec![tool("zoo", "wash_elephant", "Wash the elephant")],
    );
    assert!(ask(&index, "giraffe").hits.is_empty());
    assert_eq!(names(&ask(&index, "elephant")), ["wash_elephant"]);

    assert!(index.remove("zoo"));
    assert!(!index.remove("zoo"));
    assert!(ask(&index, "elephant").hits.is_empty());
    assert_eq!(names(&ask(&index, "bill")), ["pay_bill"]);
    assert_eq!(index.owners(), ["bank"]);
}

#[test]
fn only_the_kinds_asked_for_and_only_what_the_asker_may_see() {
    let index = empty();
    let mut entries = vec![tool("gmail", "search_emails", "Search emails")];
    for (kind, name) in [
        (ItemKind::Connection, "Work Gmail"),
        (ItemKind::Resource, "gmail archive"),
        (ItemKind::AgentSkill, "gmail triage"),
    ] {
        entries.push(IndexEntry {
            kind,
            ..tool("gmail", name, "")
        });
    }
    index.upsert("gmail", entries);
    let search = |kinds: Option<BTreeSet<ItemKind>>, allowed: &dyn Fn(&IndexEntry) -> bool| {
        let answer = index.search(&Query {
            text: "gmail",
            kinds,
            limit: 10,
            allowed,
        });
        answer
            .hits
            .iter()
            .map(|hit| hit.entry.kind)
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(search(None, &|_| true).len(), 4);
    let connection = BTreeSet::from([ItemKind::Connection]);
    assert_eq!(search(Some(connection.clone()), &|_| true), connection);
    assert_eq!(
        search(None, &|entry| entry.kind == ItemKind::Connection),
        connection
    );
    assert!(search(Some(connection), &|entry| entry.kind == ItemKind::Tool).is_empty());
}

#[test]
fn what_many_may_not_see_does_not_crowd_out_the_one_that_may_be_seen() {
    let index = empty();
    let secret = (0..2_000)
        .map(|n| tool("vault", &format!("open_safe_{n}"), "Open the safe"))
        .collect();
    index.upsert("vault", secret);
    index.upsert(
        "shop",
        vec![tool(
            "shop",
            "open_door",
            "Open the door of the shop, which is not a safe",
        )],
    );
    let answer = index.search(&Query {
        text: "open the safe",
        kinds: None,
        limit: 5,
        allowed: &|entry| entry.server == "shop",
    });
    assert_eq!(names(&answer), ["open_door"]);
}

#[test]
fn parameters_titles_and_tags_are_found_too() {
    let index = empty();
    let mut lookup = tool("misc", "lookup", "Looks something up");
    lookup.parameters = vec![(
        "postcode".into(),
        "The postcode in the United Kingdom".into(),
    )];
    let mut titled = tool("misc", "op17", "");
    titled.title = "Refund an order".into();
    let mut tagged = tool("misc", "op18", "");
    tagged.tags = vec!["accounting".into()];
    index.upsert("misc", vec![lookup, titled, tagged]);
    for (text, expected) in [
        ("postcode", "lookup"),
        ("refund", "op17"),
        ("accounting", "op18"),
    ] {
        assert_eq!(names(&ask(&index, text)).first(), Some(&expected), "{text}");
    }
}

#[test]
fn huge_hostile_and_foreign_text_is_bounded() {
    let index = empty();
    let huge = "invoice ".repeat(131_072);
    let distinct: String = (0..120_000).map(|n| format!("word{n:x} ")).collect();
    let controls = "\u{0}\u{1b}[31m\r\n\t\u{202e}".repeat(50_000);
    index.upsert(
        "hostile",
        vec![
            tool("hostile", "same", &huge),
            tool("hostile", "distinct", &distinct),
            tool("hostile", "controls", &controls),
            tool(&"s".repeat(1 << 20), &"n".repeat(1 << 20), ""),
            IndexEntry {
                parameters: vec![("p".repeat(10_000), "q ".repeat(10_000)); 10_000],
                tags: vec!["tag".repeat(10_000); 10_000],
                ..tool("hostile", "parameters", "")
            },
        ],
    );
    index.upsert(
        "shop",
        vec![
            tool("shop", "list_invoices", "List invoices"),
            tool(
                "wetter",
                "vorhersage",
                "\u{dc}bersicht \u{fc}ber das Wetter \u{5929}\u{6c14}",
            ),
        ],
    );
    assert_eq!(names(&ask(&index, "list invoices"))[0], "list_invoices");
    assert_eq!(names(&ask(&index, "\u{fc}bersicht"))[0], "vorhersage");
    for text in [
        &huge,
        &distinct,
        &controls,
        &"\u{5929}".repeat(400_000),
        &"a; ".repeat(300_000),
    ] {
        let answer = ask(&index, text);
        assert!(answer.hits.len() <= 5 && answer.steps.len() <= 8);
    }
    let answer = index.search(&Query {
        text: "invoices",
        kinds: None,
        limit: usize::MAX,
        allowed: &|_| true,
    });
    assert!(!answer.hits.is_empty() && answer.hits.len() <= 100);
}

#[test]
fn searches_and_changes_go_on_at_once() {
    let index = Arc::new(stocked());
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let index = &index;
            scope.spawn(move || {
                for round in 0..50 {
                    let owner = format!("worker{worker}");
                    index.upsert(
                        &owner,
                        vec![tool(
                            &owner,
                            &format!("gadget{worker}x{round}"),
                            "Turns the gadget",
                        )],
                    );
                    assert!(!ask(index, "gadget").hits.is_empty());
                    index.remove(&owner);
                    assert!(names(&ask(index, "weather")).contains(&"forecast"));
                }
            });
        }
    });
    assert_eq!(index.len(), TOOLS.len());
}

#[test]
fn terms_of_removed_segments_are_freed() {
    let index = stocked();
    for round in 0..40u32 {
        let entries = (0..20u32)
            .map(|n| {
                let text: String = (0..100u32)
                    .map(|w| format!("q{:x} ", round * 2_000_000 + n * 1_000 + w))
                    .collect();
                tool("churn", "churn", &text)
            })
            .collect();
        index.upsert("churn", entries);
        assert!(names(&ask(&index, "weather")).contains(&"forecast"));
    }
}

#[test]
fn a_folder_without_vectors_leaves_words_to_decide() {
    let folder = tempfile::tempdir().expect("a folder");
    let index = Index::new(
        Arc::new(SystemClock::default()),
        Some(folder.path().join("nowhere")),
    );
    index.upsert(
        "weather",
        vec![tool("weather", "forecast", "The weather of the next days")],
    );
    let answer = ask(&index, "weather");
    assert!(!answer.vectors);
    assert_eq!(names(&answer), ["forecast"]);
}
