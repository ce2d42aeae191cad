//! Claims about resources.

use super::*;
use crate::testing::{TestHome, ids};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use manyhands_core::Secret;
use serde_json::{Map, Value, json};

const ROOM: CollectionLimits = room(1_000_000);

const fn room(bytes: u64) -> CollectionLimits {
    CollectionLimits { bytes, items: 0 }
}

fn main_admin() -> Vec<Grant> {
    vec![Grant {
        agent: AgentId::main(),
        level: Level::Admin,
    }]
}

async fn made(home: &TestHome, kind: CollectionKind) -> (Collections, CollectionId) {
    let collections = home.open().await.collections().clone();
    let grants = main_admin();
    let made = collections.create(kind, "one", "for tests", &grants).await;
    let id = made.unwrap().id;
    (collections, id)
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[tokio::test]
async fn an_agent_sees_what_it_was_granted_and_nothing_else() {
    let home = TestHome::new();
    let (collections, id) = made(&home, CollectionKind::Datastore).await;
    let (main, other): (AgentId, AgentId) = (AgentId::main(), "other".parse().unwrap());
    assert_eq!(
        collections.of_agent(&main).await.unwrap()[0].1,
        Level::Admin
    );
    assert!(collections.of_agent(&other).await.unwrap().is_empty());
    assert_eq!(collections.access(&other, id).await.unwrap(), None);
    collections.grant(id, &other, Level::Read).await.unwrap();
    let (_, level) = collections.access(&other, id).await.unwrap().unwrap();
    assert_eq!(level, Level::Read);
    collections.grant(id, &other, Level::Write).await.unwrap();
    assert_eq!(collections.grants(id).await.unwrap().len(), 2);
    assert!(collections.revoke(id, &other).await.unwrap());
    assert!(!collections.revoke(id, &other).await.unwrap());
    assert_eq!(collections.access(&other, id).await.unwrap(), None);
    let unknown = collections.grant(ids().next(), &other, Level::Read).await;
    assert!(matches!(unknown, Err(StoreError::NotFound { .. })));
    let again = collections
        .create(CollectionKind::Datastore, "one", "", &[])
        .await;
    assert!(matches!(again, Err(StoreError::Exists { .. })), "{again:?}");
    let named_alike = collections.create(CollectionKind::Vault, "one", "", &[]);
    assert!(named_alike.await.is_ok());
    for bad in ["", " a", "a/b", "a\n", &"x".repeat(65)] {
        let refused = collections
            .create(CollectionKind::Vault, bad, "", &[])
            .await;
        assert!(
            matches!(refused, Err(StoreError::Invalid { .. })),
            "{bad:?}"
        );
    }
}

async fn fill(collections: &Collections, id: CollectionId) {
    let row = |key: &str, data: Value| NewRow {
        id: Some(key.to_owned()),
        data: object(data),
    };
    let rows = vec![
        row(
            "a",
            json!({ "n": 1, "name": "Ann", "tags": ["x", "y"], "at": { "city": "Bern" } }),
        ),
        row(
            "b",
            json!({ "n": 2.5, "name": "bob", "done": true, "tags": [1, 2] }),
        ),
        row(
            "c",
            json!({ "n": "3", "name": "Cy'd\" OR 1=1 --", "done": false }),
        ),
        row("d", json!({ "name": null, "odd key": 7 })),
    ];
    collections.put_rows(id, rows, ROOM).await.unwrap();
}

#[tokio::test]
async fn filters_match_exactly_their_rows() {
    let home = TestHome::new();
    let (collections, id) = made(&home, CollectionKind::Datastore).await;
    fill(&collections, id).await;
    let test =
        |field: &str, op: &str, value: Value| json!({ "field": field, "op": op, "value": value });
    for (filter, expect) in [
        (test("n", "eq", json!(1)), "a"),
        (test("n", "eq", json!("3")), "c"),
        (test("n", "eq", json!(3)), ""),
        (test("n", "ne", json!(1)), "bcd"),
        (test("n", "gt", json!(0)), "ab"),
        (test("n", "gte", json!(2.5)), "b"),
        (test("n", "lt", json!(2.6)), "ab"),
        (test("n", "lte", json!("3")), "c"),
        (test("n", "in", json!([1, "3", null])), "acd"),
        (test("n", "in", json!([])), ""),
        (test("done", "eq", json!(true)), "b"),
        (test("done", "eq", json!(false)), "c"),
        (test("done", "eq", json!(1)), ""),
        (test("done", "exists", json!(true)), "bc"),
        (test("name", "exists", json!(true)), "abcd"),
        (test("name", "eq", json!(null)), "d"),
        (test("name", "contains", json!("B")), "b"),
        (test("name", "contains", json!("' OR 1=1")), ""),
        (test("name", "contains", json!("\" or 1=1 --")), "c"),
        (test("tags", "contains", json!("x")), "a"),
        (test("tags", "contains", json!(2)), "b"),
        (test("at.city", "eq", json!("Bern")), "a"),
        (test("odd key", "eq", json!(7)), "d"),
        (test("a') OR 1=1 --", "eq", json!(7)), ""),
        (test("$id", "in", json!(["a", "d"])), "ad"),
        (test("$created", "gt", json!(0)), "abcd"),
        (
            json!({ "and": [test("n", "gt", json!(0)), test("done", "eq", json!(true))] }),
            "b",
        ),
        (
            json!({ "or": [test("$id", "eq", json!("a")), test("$id", "eq", json!("d"))] }),
            "ad",
        ),
        (json!({ "not": test("n", "gt", json!(0)) }), "cd"),
        (
            json!({ "not": { "or": [test("n", "eq", json!(1)), test("missing", "eq", json!(1))] } }),
            "bcd",
        ),
    ] {
        let query = RowQuery {
            filter: Some(Filter::parse(&object(filter.clone())).unwrap()),
            limit: 10,
            ..RowQuery::default()
        };
        let found = collections.rows(id, &query).await.unwrap();
        let keys: String = found.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(keys, expect, "{filter}");
        assert_eq!(found.total, expect.len() as u64);
    }
}

#[test]
fn an_invalid_filter_is_refused_with_the_path() {
    let mut deep = json!({ "field": "a", "value": 1 });
    for _ in 0..9 {
        deep = json!({ "not": deep });
    }
    let many = vec![json!({ "field": "a", "value": 1 }); 101];
    for (filter, words) in [
        (json!({}), "filter: must be"),
        (json!({ "xor": [] }), "filter.xor: is not known"),
        (json!({ "and": [] }), "filter.and: must be a list"),
        (json!({ "and": [5] }), "filter.and.0: must be an object"),
        (json!({ "field": 5 }), "filter.field: must be a text"),
        (
            json!({ "field": "a", "op": "like", "value": 1 }),
            "filter.op: must be one of eq",
        ),
        (
            json!({ "field": "a", "op": "eq" }),
            "filter.value: is required",
        ),
        (
            json!({ "field": "a", "value": [1] }),
            "filter.value: must be a text",
        ),
        (
            json!({ "field": "a", "op": "lt", "value": true }),
            "filter.value: must be a text or a number",
        ),
        (
            json!({ "field": "a", "op": "in", "value": 1 }),
            "filter.value: must be a list",
        ),
        (
            json!({ "field": "a..b", "value": 1 }),
            "filter.field: must be a name",
        ),
        (
            json!({ "field": "a\"", "value": 1 }),
            "filter.field: must be a name",
        ),
        (
            json!({ "field": "a", "value": 1, "x": 1 }),
            "\"x\" is not known",
        ),
        (deep, "8 deep"),
        (json!({ "or": many }), "100 tests"),
    ] {
        let error = Filter::parse(&object(filter.clone()))
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{filter}: {error}");
    }
}

#[tokio::test]
async fn rows_are_sorted_paged_replaced_and_removed() {
    let home = TestHome::new();
    let (collections, id) = made(&home, CollectionKind::Datastore).await;
    fill(&collections, id).await;
    let keys = async |sort: &[(&str, bool)], limit, offset| {
        let sort = sort
            .iter()
            .map(|(field, down)| Sort::by(field, *down).unwrap());
        let query = RowQuery {
            sort: sort.collect(),
            limit,
            offset,
            filter: None,
        };
        let found = collections.rows(id, &query).await.unwrap();
        assert_eq!(found.total, 4);
        found
            .rows
            .iter()
            .map(|row| row.id.as_str())
            .collect::<String>()
    };
    assert_eq!(keys(&[], 2, 1).await, "bc");
    assert_eq!(keys(&[("$id", true)], 10, 0).await, "dcba");
    assert_eq!(keys(&[("done", false), ("$id", true)], 10, 0).await, "dacb");
    let before = collections.get(id).await.unwrap().unwrap();
    let row = NewRow {
        id: Some("a".to_owned()),
        data: object(json!({ "n": 9 })),
    };
    let fresh = NewRow {
        id: None,
        data: Map::new(),
    };
    let (ids, new) = collections
        .put_rows(id, vec![row, fresh], ROOM)
        .await
        .unwrap();
    assert_eq!((ids[0].as_str(), new), ("a", 1));
    let after = collections.get(id).await.unwrap().unwrap();
    assert_eq!(after.items, before.items + 1);
    assert!(after.bytes < before.bytes);
    let filter = Filter::parse(&object(
        json!({ "field": "n", "op": "exists", "value": true }),
    ))
    .unwrap();
    assert_eq!(collections.remove_matching(id, &filter).await.unwrap(), 3);
    let gone = collections.remove_rows(
        id,
        vec!["d".to_owned(), "nobody".to_owned(), ids[1].clone()],
    );
    assert_eq!(gone.await.unwrap(), 2);
    let empty = collections.get(id).await.unwrap().unwrap();
    assert_eq!((empty.items, empty.bytes), (0, 0));
}

#[tokio::test]
async fn an_entry_over_the_limit_changes_nothing() {
    let home = TestHome::new();
    let (collections, id) = made(&home, CollectionKind::Datastore).await;
    let row = |key: &str, n: usize| NewRow {
        id: Some(key.to_owned()),
        data: object(json!({ "x": "y".repeat(n) })),
    };
    let small = vec![row("a", 10)];
    collections.put_rows(id, small, room(100)).await.unwrap();
    let large = vec![row("b", 10), row("a", 100)];
    let error = collections
        .put_rows(id, large, room(100))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Limit { .. }), "{error:?}");
    let twice = vec![row("c", 1), row("c", 2)];
    let error = collections
        .put_rows(id, twice, room(100))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Invalid { .. }), "{error:?}");
    let kept = collections.get(id).await.unwrap().unwrap();
    assert_eq!((kept.items, kept.bytes), (1, 18));
}

#[tokio::test]
async fn a_collection_holds_so_many_entries_and_replacing_is_free() {
    let home = TestHome::new();
    let few = CollectionLimits {
        items: 2,
        ..room(1_000_000)
    };
    let check = async |kind, put: &dyn AsyncPut| {
        let store = home.open().await;
        let collections = store.collections().clone();
        let made = collections
            .create(kind, kind.as_str(), "", &[])
            .await
            .unwrap();
        for (key, fits) in [("a", true), ("b", true), ("c", false), ("a", true)] {
            let kept = put.put(&collections, made.id, key, few).await;
            match (kept, fits) {
                (Ok(()), true) => {}
                (Err(StoreError::Quota { what }), false) => {
                    assert!(what.contains("limits.collection_entries"), "{what}");
                }
                (other, _) => panic!("{kind:?} {key}: {other:?}"),
            }
        }
        assert_eq!(collections.get(made.id).await.unwrap().unwrap().items, 2);
        put.put(&collections, made.id, "c", ROOM).await.unwrap();
    };
    check(CollectionKind::Datastore, &PutRow).await;
    check(CollectionKind::Filestore, &PutFile).await;
    check(CollectionKind::Knowledge, &PutDocument).await;
}

/// One way to put an entry into a collection.
#[async_trait::async_trait]
trait AsyncPut: Sync {
    async fn put(
        &self,
        collections: &Collections,
        id: CollectionId,
        key: &str,
        room: CollectionLimits,
    ) -> Result<(), StoreError>;
}

struct PutRow;
struct PutFile;
struct PutDocument;

#[async_trait::async_trait]
impl AsyncPut for PutRow {
    async fn put(
        &self,
        collections: &Collections,
        id: CollectionId,
        key: &str,
        room: CollectionLimits,
    ) -> Result<(), StoreError> {
        let row = NewRow {
            id: Some(key.to_owned()),
            data: object(json!({ "x": 1 })),
        };
        collections.put_rows(id, vec![row], room).await.map(drop)
    }
}

#[async_trait::async_trait]
impl AsyncPut for PutFile {
    async fn put(
        &self,
        collections: &Collections,
        id: CollectionId,
        key: &str,
        room: CollectionLimits,
    ) -> Result<(), StoreError> {
        let bytes = Bytes::from_static(b"x");
        collections.put_file(id, key, bytes, room).await.map(drop)
    }
}

#[async_trait::async_trait]
impl AsyncPut for PutDocument {
    async fn put(
        &self,
        collections: &Collections,
        id: CollectionId,
        key: &str,
        room: CollectionLimits,
    ) -> Result<(), StoreError> {
        let new = document(key, "title", "text");
        collections.put_document(id, new, room).await.map(drop)
    }
}

fn blobs(home: &TestHome) -> usize {
    let folder = std::fs::read_dir(home.path().join("blobs/collections"));
    folder.map_or(0, Iterator::count)
}

#[tokio::test]
async fn files_are_replaced_whole_listed_and_removed_with_their_bytes() {
    let home = TestHome::new();
    let (collections, id) = made(&home, CollectionKind::Filestore).await;
    let put = async |path: &str, text: &'static str, room| {
        collections
            .put_file(id, path, Bytes::from_static(text.as_bytes()), room)
            .await
    };
    let read = async |path: &str| {
        let (file, bytes) = collections.open_file(id, path).await?;
        let bytes: Vec<Bytes> = bytes.try_collect().await?;
        Ok::<_, StoreError>((file.size, bytes.concat()))
    };
    assert!(put("docs/a.txt", "one", ROOM).await.unwrap().1);
    assert!(!put("docs/a.txt", "three", ROOM).await.unwrap().1);
    put("b_%.txt", "b", ROOM).await.unwrap();
    assert_eq!(read("docs/a.txt").await.unwrap(), (5, b"three".to_vec()));
    let full = put("docs/c.txt", "0123456789", room(10)).await.unwrap_err();
    assert!(matches!(full, StoreError::Limit { .. }), "{full:?}");
    assert_eq!(blobs(&home), 2);
    let listed = async |prefix: &str| {
        let found = collections.files(id, prefix, 10, 0).await.unwrap();
        found.into_iter().map(|file| file.path).collect::<Vec<_>>()
    };
    assert_eq!(listed("").await, ["b_%.txt", "docs/a.txt"]);
    assert_eq!(listed("docs/").await, ["docs/a.txt"]);
    assert_eq!(listed("b_%").await, ["b_%.txt"]);
    assert_eq!(listed("_").await, Vec::<String>::new());
    for bad in ["", "/", "../a", "/etc/passwd", "a\0b"] {
        let error = put(bad, "x", ROOM).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Invalid { .. }),
            "{bad:?}: {error:?}"
        );
    }
    assert!(collections.remove_file(id, "b_%.txt").await.unwrap());
    assert!(!collections.remove_file(id, "b_%.txt").await.unwrap());
    assert!(matches!(
        read("b_%.txt").await,
        Err(StoreError::NotFound { .. })
    ));
    assert_eq!(collections.get(id).await.unwrap().unwrap().bytes, 5);
    assert!(collections.remove(id).await.unwrap());
    assert_eq!(blobs(&home), 0);
    let gone = put("docs/a.txt", "x", ROOM).await.unwrap_err();
    assert!(matches!(gone, StoreError::NotFound { .. }), "{gone:?}");
    assert_eq!(blobs(&home), 0);
}

fn document(id: &str, title: &str, text: &str) -> NewDocument {
    NewDocument {
        id: Some(id.to_owned()),
        title: title.to_owned(),
        source: format!("https://example.com/{id}"),
        text: text.to_owned(),
    }
}

#[tokio::test]
async fn a_search_finds_passages_of_its_own_collection_by_meaningful_words() {
    let home = TestHome::new();
    let (collections, id) = made(&home, CollectionKind::Knowledge).await;
    let secret = collections.create(CollectionKind::Knowledge, "other", "", &[]);
    let secret = secret.await.unwrap().id;
    let long = format!(
        "{}\n\nThe invoices are paid on Fridays.\n\n{}",
        "Filler words. ".repeat(300),
        "More. ".repeat(300)
    );
    for doc in [
        document("pay", "Paying invoices", &long),
        document(
            "garden",
            "Gardens",
            "Roses want sun. Über die Rosen: gießen.",
        ),
        document("empty", "Nothing", ""),
    ] {
        collections.put_document(id, doc, ROOM).await.unwrap();
    }
    let other = document("x", "Secret roses", "The secret roses");
    collections.put_document(secret, other, ROOM).await.unwrap();
    let found = async |question: &str| collections.search(id, question, 5).await.unwrap();
    let pay = found("when is an invoice paid on Friday?").await;
    assert!(pay[0].text.contains("paid on Fridays"), "{pay:?}");
    assert_eq!(
        (pay[0].document.as_str(), pay[0].source.as_str()),
        ("pay", "https://example.com/pay")
    );
    let roses = found("ROSE").await;
    assert_eq!(
        roses.len(),
        1,
        "another collection's passages are not found"
    );
    assert_eq!(found("uber").await.len(), 1);
    for odd in ["", "\" OR *", "NEAR(", "title:x AND", "^*", "zzz"] {
        assert!(found(odd).await.is_empty(), "{odd}");
    }
    let (doc, text) = collections.document(id, "pay").await.unwrap().unwrap();
    assert_eq!(
        (doc.title.as_str(), text == long),
        ("Paying invoices", true)
    );
    let replaced = document("pay", "Paying", "Nobody pays.");
    assert!(
        !collections
            .put_document(id, replaced, ROOM)
            .await
            .unwrap()
            .1
    );
    assert!(found("Fridays").await.is_empty());
    let titles: Vec<_> = collections.documents(id, 10, 0).await.unwrap();
    assert_eq!(titles.len(), 3);
    assert!(collections.remove_document(id, "garden").await.unwrap());
    assert!(found("roses").await.is_empty());
    assert!(!collections.remove_document(id, "garden").await.unwrap());
    let full = document("big", "Big", &"x".repeat(100));
    assert!(matches!(
        collections.put_document(id, full, room(50)).await,
        Err(StoreError::Limit { .. })
    ));
    collections.remove(secret).await.unwrap();
    let again = collections
        .create(CollectionKind::Knowledge, "other", "", &[])
        .await
        .unwrap();
    assert!(
        collections
            .search(again.id, "secret", 5)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn secrets_of_a_vault_are_sealed_and_go_with_it() {
    let home = TestHome::new();
    let (collections, id) = made(&home, CollectionKind::Vault).await;
    let hosts = ["api.example.com".to_owned()];
    let secret = Secret::new("hunter2-hunter2");
    collections
        .put_secret(id, "KEY", &secret, &hosts)
        .await
        .unwrap();
    collections
        .put_secret(id, "KEY", &secret, &hosts)
        .await
        .unwrap();
    assert_eq!(collections.get(id).await.unwrap().unwrap().items, 1);
    let entries = collections.vault_entries(id).await.unwrap();
    assert_eq!(
        (entries.len(), entries[0].hosts.as_slice()),
        (1, hosts.as_slice())
    );
    let (value, entry) = collections.secret(id, "KEY").await.unwrap().unwrap();
    assert_eq!((value, entry.name.as_str()), (secret.clone(), "KEY"));
    assert!(collections.secret(id, "OTHER").await.unwrap().is_none());
    assert!(
        collections
            .put_secret(id, "a/b", &secret, &hosts)
            .await
            .is_err()
    );
    assert!(
        collections
            .put_secret(ids().next(), "KEY", &secret, &hosts)
            .await
            .is_err()
    );
    let vault = home.open().await.vault().clone();
    assert_eq!(vault.names().await.unwrap().len(), 1);
    collections.remove(id).await.unwrap();
    assert!(vault.names().await.unwrap().is_empty());
}
