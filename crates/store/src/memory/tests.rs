use super::*;
use crate::Store;
use crate::sessions::{SessionChange, SessionRecord};
use crate::testing::TestHome;

fn agent(name: &str) -> AgentId {
    name.parse().unwrap()
}

fn said(who: &str, place: &str, seq: i64, text: &str) -> Piece {
    Piece {
        agent: agent(who),
        source: PieceSource::Session,
        location: place.to_owned(),
        session_id: Some(format!("id of {place}")),
        turn: Some(format!("turn {seq}")),
        seq,
        role: "user".to_owned(),
        text: text.to_owned(),
        at: Timestamp(seq),
    }
}

fn of(who: &str) -> MemoryScope {
    MemoryScope::Agent {
        agent: agent(who),
        tree: agent(who),
    }
}

async fn found(memory: &Memory, question: &str, scope: &MemoryScope) -> Vec<String> {
    let found = memory.search(question, scope, 10).await.unwrap();
    found.into_iter().map(|one| one.piece.text).collect()
}

async fn filled(store: &Store) -> Memory {
    let memory = store.sessions().memory();
    let pieces = [
        said("main", "agent:main:main", 0, "The blue teapot broke today"),
        said(
            "main",
            "agent:main:client:phone:a",
            1,
            "a teapot, on the phone",
        ),
        said(
            "main",
            "agent:main:client:phones:a",
            2,
            "a teapot of somebody else",
        ),
        said("helper", "agent:helper:main", 3, "my teapot is a secret"),
        said("main", "agent:main:main", 4, "会議は東京で行います"),
    ];
    memory
        .add(&IndexMark::session("some", 5), &pieces)
        .await
        .unwrap();
    memory
}

#[tokio::test]
async fn words_are_found_in_any_form_and_only_within_the_scope() {
    let home = TestHome::new();
    let store = home.open().await;
    let memory = filled(&store).await;
    let blue = ["The blue teapot broke today"];
    assert_eq!(found(&memory, "TEAPOTS blue", &of("main")).await, blue);
    assert_eq!(
        found(&memory, "teap blu", &of("main")).await,
        blue,
        "beginnings"
    );
    assert_eq!(
        found(&memory, "blue zebra", &of("main")).await,
        blue,
        "any of them"
    );
    assert_eq!(found(&memory, "zebra", &of("main")).await, [""; 0]);
    assert_eq!(found(&memory, "東京", &of("main")).await.len(), 1);
    assert_eq!(found(&memory, "teapot", &of("main")).await.len(), 3);
    assert_eq!(
        found(&memory, "teapot", &of("helper")).await,
        ["my teapot is a secret"]
    );
    assert_eq!(found(&memory, "teapot", &MemoryScope::All).await.len(), 4);
    let phone = MemoryScope::Sessions {
        agent: agent("main"),
        prefix: "agent:main:client:phone:".to_owned(),
    };
    assert_eq!(
        found(&memory, "teapot", &phone).await,
        ["a teapot, on the phone"]
    );
    let limited = memory.search("teapot", &MemoryScope::All, 2).await.unwrap();
    assert_eq!(limited.len(), 2);
}

#[tokio::test]
async fn no_question_is_an_error_of_the_database() {
    let home = TestHome::new();
    let store = home.open().await;
    let memory = filled(&store).await;
    let long = "teapot ".repeat(150_000);
    for question in [
        "\"",
        "'",
        "*",
        "(",
        ")",
        "AND",
        "NOT",
        "OR",
        "NEAR(",
        "NEAR/2",
        "who:",
        "who : x",
        "^",
        "{who words} : x",
        "teapot\0",
        "\0",
        "",
        "  ",
        "a\"b\"c",
        "-teapot",
        "teapot*",
        "+",
        "\\",
        "%",
        "_",
        "']); DROP TABLE memory_piece; --",
        "rank",
        "rowid",
        "\u{10ffff}",
        "\u{301}",
        &long,
    ] {
        let answer = memory.search(question, &MemoryScope::All, 5).await;
        let shown: String = question.chars().take(20).collect();
        assert!(answer.is_ok(), "{shown:?}: {answer:?}");
    }
    assert_eq!(
        found(&memory, "teapot\0\"*", &MemoryScope::All).await.len(),
        4
    );
}

#[tokio::test]
async fn the_same_words_of_a_turn_are_one_piece_and_a_file_is_replaced() {
    let home = TestHome::new();
    let store = home.open().await;
    let memory = filled(&store).await;
    let again = Piece {
        seq: 9,
        turn: Some("turn 0".to_owned()),
        ..said("main", "agent:main:main", 0, "The blue teapot broke today")
    };
    memory
        .add(&IndexMark::session("some", 10), &[again])
        .await
        .unwrap();
    let blue = memory.search("blue", &MemoryScope::All, 10).await.unwrap();
    assert_eq!(blue.len(), 1);
    assert_eq!(blue[0].piece.seq, 9, "where it is now");
    let file = |text: &str| Piece {
        source: PieceSource::File,
        session_id: None,
        turn: None,
        role: String::new(),
        ..said("main", "MEMORY.md", 1, text)
    };
    let main = agent("main");
    for (version, text) in [("1", "likes green tea"), ("2", "likes black tea")] {
        let mark = IndexMark::blob("agents/main/MEMORY.md", version);
        let pieces = [file(text)];
        let taken = memory.replace(&main, "MEMORY.md", Some(&mark), &mark.what, &pieces);
        taken.await.unwrap();
        assert_eq!(found(&memory, "likes", &of("main")).await, [text]);
        let kept = memory.indexed_version(&mark.what).await.unwrap();
        assert_eq!(kept.as_deref(), Some(version));
    }
    let borrowed = MemoryScope::Agent {
        agent: agent("helper"),
        tree: main.clone(),
    };
    assert_eq!(
        found(&memory, "likes", &borrowed).await,
        ["likes black tea"]
    );
    assert_eq!(
        found(&memory, "teapot", &borrowed).await,
        ["my teapot is a secret"]
    );
    let key = "agents/main/MEMORY.md";
    memory
        .replace(&main, "MEMORY.md", None, key, &[])
        .await
        .unwrap();
    assert_eq!(found(&memory, "likes", &of("main")).await, [""; 0]);
    assert_eq!(memory.indexed_below("agents/main/").await.unwrap(), []);
}

#[tokio::test]
async fn new_messages_are_reported_as_unindexed() {
    let home = TestHome::new();
    let store = home.open().await;
    let (sessions, memory) = (store.sessions(), store.sessions().memory());
    let (key, now) = ("agent:main:main", Timestamp(1));
    let session = SessionRecord::new(key.to_owned(), "s1".to_owned(), AgentId::main(), now);
    sessions.create(&session).await.unwrap();
    assert_eq!(
        memory.unindexed_sessions(None, 10).await.unwrap(),
        [],
        "nothing was said"
    );
    assert!(memory.take_pending().is_empty());
    let append = SessionChange::Append {
        turn: None,
        kind: "user",
        body: "{}".to_owned(),
    };
    sessions.commit(key, "s1", vec![append], now).await.unwrap();
    memory.changed().await;
    let unread = memory.take_pending();
    assert!(unread.sessions.contains(key) && !unread.all);
    let behind = memory.unindexed_sessions(Some(key), 10).await.unwrap();
    assert_eq!((behind[0].from, behind[0].next_seq), (0, 1));
    memory.add(&IndexMark::session("s1", 1), &[]).await.unwrap();
    assert_eq!(memory.unindexed_sessions(None, 10).await.unwrap(), []);
    for number in 0..=MAX_UNREAD {
        memory.add_archive(&format!("a{number}"));
    }
    assert!(memory.take_pending().all, "too many to be listed");
}

#[tokio::test]
async fn the_oldest_pieces_are_removed() {
    let home = TestHome::new();
    let store = home.open().await;
    let memory = filled(&store).await;
    assert_eq!(memory.sweep().await.unwrap(), 0);
    assert_eq!(
        memory.sweep_above(2).await.unwrap(),
        2,
        "two of main's four"
    );
    let left = memory
        .search("teapot", &MemoryScope::All, 10)
        .await
        .unwrap();
    let mut left: Vec<i64> = left.iter().map(|one| one.piece.seq).collect();
    left.sort_unstable();
    assert_eq!(left, [2, 3], "what is gone is found no more");
}
