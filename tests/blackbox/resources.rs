//! Resources through the real binary: what agents may do with them, and what they do not learn.

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::http::Request;

/// Makes a resource that main administers: its id.
#[track_caller]
fn made(gateway: &Gateway, kind: &str, name: &str) -> String {
    let made = gateway
        .cli(&[
            "resource",
            "create",
            kind,
            name,
            "--description",
            "for tests",
        ])
        .ok()
        .json();
    made["collectionId"].as_str().expect("an id").to_owned()
}

#[track_caller]
fn gives(gateway: &Gateway, tool: &str, arguments: Value) -> Value {
    let said = gateway.call(tool, arguments.clone());
    assert_eq!(said["ok"], true, "{tool} {arguments}: {said}");
    said["result"].clone()
}

#[track_caller]
fn refuses(gateway: &Gateway, tool: &str, arguments: Value, code: &str, words: &str) {
    let said = gateway.call(tool, arguments.clone());
    assert_eq!(said["code"], code, "{tool} {arguments}: {said}");
    let error = said["error"].as_str().expect("an error");
    assert!(error.contains(words), "{words:?} in {error:?}");
}

fn as_agent(gateway: &Gateway, agent: &str, tool: &str, arguments: &Value) -> Value {
    let path = format!("/api/tools/{tool}?agent={agent}");
    gateway
        .send(&Request::post(&path, arguments).bearer(&gateway.owner))
        .json()
}

#[test]
fn the_workspace_lists_what_the_agent_may_use() {
    let gateway = Gateway::start();
    let empty = json!({ "connections": [], "datastores": [], "filestores": [], "knowledgeBases": [], "vaults": [] });
    assert_eq!(gives(&gateway, "gateway_list_workspace", json!({})), empty);
    let id = made(&gateway, "datastore", "sales");
    made(&gateway, "filestore", "files");
    made(&gateway, "knowledge", "handbook");
    made(&gateway, "vault", "keys");
    let listed = gives(&gateway, "gateway_list_workspace", json!({}));
    assert_eq!(
        listed["datastores"],
        json!([{ "collectionId": id, "name": "sales", "description": "for tests", "access": "admin", "items": 0 }])
    );
    for (kind, name) in [
        ("filestores", "files"),
        ("knowledgeBases", "handbook"),
        ("vaults", "keys"),
    ] {
        assert_eq!(listed[kind][0]["name"], name, "{listed}");
    }
    let other = as_agent(&gateway, "other", "gateway_list_workspace", &json!({}));
    assert_eq!(other["result"], empty);
    refuses(
        &gateway,
        "gateway_list_workspace",
        json!({ "x": 1 }),
        "invalid_arguments",
        "x: ",
    );
}

#[test]
fn rows_are_written_found_and_removed() {
    let gateway = Gateway::start();
    let id = made(&gateway, "datastore", "sales");
    let rows = json!([
        { "id": "a", "data": { "name": "Ann", "sum": 5, "tags": ["new"] } },
        { "id": "b", "data": { "name": "Bob'; DROP TABLE collection; --", "sum": 7.5 } },
        { "data": { "name": "Cy" } },
    ]);
    let written = gives(
        &gateway,
        "datastore_write",
        json!({ "collectionId": id, "rows": rows }),
    );
    assert_eq!(
        (&written["created"], &written["replaced"]),
        (&json!(3), &json!(0))
    );
    let query = |filter: Value| {
        let found = gives(
            &gateway,
            "datastore_query",
            json!({ "collectionId": id, "filter": filter }),
        );
        found["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| row["id"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        query(json!({ "field": "sum", "op": "gt", "value": 5 })),
        [json!("b")]
    );
    assert_eq!(
        query(
            json!({ "or": [{ "field": "tags", "op": "contains", "value": "new" }, { "field": "$id", "value": "b" }] })
        ),
        [json!("a"), json!("b")]
    );
    assert_eq!(
        query(json!({ "field": "name", "op": "contains", "value": "drop table" })),
        [json!("b")]
    );
    assert_eq!(
        query(json!({ "field": "x') OR 1=1 --", "op": "eq", "value": "1" })),
        Vec::<Value>::new()
    );
    let sorted = gives(
        &gateway,
        "datastore_query",
        json!({ "collectionId": id, "sort": [{ "field": "sum", "descending": true }], "limit": 1 }),
    );
    assert_eq!(
        (
            &sorted["rows"][0]["id"],
            &sorted["total"],
            &sorted["hasMore"],
            &sorted["nextOffset"]
        ),
        (&json!("b"), &json!(3), &json!(true), &json!(1))
    );
    let many: Vec<Value> = (0..500)
        .map(|n| json!({ "id": format!("m{n}"), "data": { "n": n } }))
        .collect();
    let batch = gives(
        &gateway,
        "datastore_write",
        json!({ "collectionId": id, "rows": many }),
    );
    assert_eq!(batch["created"], 500);
    let over: Vec<Value> = (0..501).map(|n| json!({ "data": { "n": n } })).collect();
    refuses(
        &gateway,
        "datastore_write",
        json!({ "collectionId": id, "rows": over }),
        "invalid_arguments",
        "rows: ",
    );
    refuses(
        &gateway,
        "datastore_write",
        json!({ "collectionId": id, "rows": [{ "data": [1] }] }),
        "invalid_arguments",
        "rows.0.data: ",
    );
    refuses(
        &gateway,
        "datastore_query",
        json!({ "collectionId": id, "filter": { "field": "a", "op": "like", "value": 1 } }),
        "invalid_arguments",
        "filter.op: must be one of eq",
    );
    let gone = gives(
        &gateway,
        "datastore_delete",
        json!({ "collectionId": id, "filter": { "field": "n", "op": "gte", "value": 0 } }),
    );
    assert_eq!(gone["deleted"], 500);
    let gone = gives(
        &gateway,
        "datastore_delete",
        json!({ "collectionId": id, "ids": ["a", "nobody"] }),
    );
    assert_eq!(gone["deleted"], 1);
    refuses(
        &gateway,
        "datastore_delete",
        json!({ "collectionId": id }),
        "invalid_arguments",
        "either ids or filter",
    );
    let gateway = gateway.restart();
    let left = gives(&gateway, "datastore_query", json!({ "collectionId": id }));
    assert_eq!(left["total"], 2);
}

#[test]
fn files_are_written_read_listed_and_removed() {
    let gateway = Gateway::with_config("limits.collection_bytes = 1000\n");
    let id = made(&gateway, "filestore", "files");
    let write = |path: &str, content: &str, encoding: &str| json!({ "collectionId": id, "path": path, "content": content, "encoding": encoding });
    let kept = gives(
        &gateway,
        "filestore_write",
        write("docs/a.txt", "grüße", "utf8"),
    );
    assert_eq!((&kept["size"], &kept["created"]), (&json!(7), &json!(true)));
    gives(
        &gateway,
        "filestore_write",
        write("b.bin", "AAEC", "base64"),
    );
    let read = gives(
        &gateway,
        "filestore_read",
        json!({ "collectionId": id, "path": "docs/a.txt", "limit": 3 }),
    );
    assert_eq!(
        (&read["content"], &read["nextOffset"], &read["encoding"]),
        (&json!("grü"), &json!(3), &json!("utf8"))
    );
    let read = gives(
        &gateway,
        "filestore_read",
        json!({ "collectionId": id, "path": "b.bin" }),
    );
    assert_eq!(
        (&read["content"], &read["encoding"]),
        (&json!("AAEC"), &json!("base64"))
    );
    let listed = gives(
        &gateway,
        "filestore_list",
        json!({ "collectionId": id, "prefix": "docs/" }),
    );
    assert_eq!(listed["files"].as_array().expect("files").len(), 1);
    refuses(
        &gateway,
        "filestore_write",
        write("c.txt", &"x".repeat(1_000), "utf8"),
        "too_large",
        "limits.collection_bytes",
    );
    refuses(
        &gateway,
        "filestore_write",
        write("c.bin", "!!", "base64"),
        "invalid_arguments",
        "content: is not base64",
    );
    for bad in ["../a", "/etc/passwd", "a/../../b", "a\0b"] {
        refuses(
            &gateway,
            "filestore_write",
            write(bad, "x", "utf8"),
            "invalid_arguments",
            "path",
        );
    }
    let count = || std::fs::read_dir(gateway.home.blob("collections")).map_or(0, Iterator::count);
    assert_eq!(count(), 2);
    gives(
        &gateway,
        "filestore_delete",
        json!({ "collectionId": id, "path": "b.bin" }),
    );
    refuses(
        &gateway,
        "filestore_delete",
        json!({ "collectionId": id, "path": "b.bin" }),
        "not_found",
        "b.bin",
    );
    assert_eq!(count(), 1);
    gateway.cli(&["resource", "rm", "files"]).ok();
    assert_eq!(count(), 0);
    refuses(
        &gateway,
        "filestore_list",
        json!({ "collectionId": id }),
        "not_found",
        "there is no filestore",
    );
}

#[test]
fn documents_are_added_searched_read_and_removed() {
    let gateway = Gateway::start();
    let id = made(&gateway, "knowledge", "handbook");
    let text = format!(
        "Invoices are paid on Fridays.\n\n{}",
        "Other words follow here. ".repeat(200)
    );
    let added = gives(
        &gateway,
        "knowledge_add",
        json!({ "collectionId": id, "title": "Paying", "text": text, "source": "https://example.com", "documentId": "pay" }),
    );
    assert_eq!(
        added,
        json!({ "documentId": "pay", "size": text.len(), "created": true })
    );
    gives(
        &gateway,
        "knowledge_add",
        json!({ "collectionId": id, "title": "Garden", "text": "Roses want sun." }),
    );
    let found = gives(
        &gateway,
        "knowledge_search",
        json!({ "collectionId": id, "query": "when are invoices paid?" }),
    );
    let best = &found["passages"][0];
    assert_eq!(
        (&best["documentId"], &best["source"], &best["passage"]),
        (&json!("pay"), &json!("https://example.com"), &json!(0))
    );
    let odd = gives(
        &gateway,
        "knowledge_search",
        json!({ "collectionId": id, "query": "\" OR NEAR(*" }),
    );
    assert_eq!(odd["passages"], json!([]));
    let read = gives(
        &gateway,
        "knowledge_read",
        json!({ "collectionId": id, "documentId": "pay", "limit": 8 }),
    );
    assert_eq!(
        (&read["content"], &read["nextOffset"], &read["title"]),
        (&json!("Invoices"), &json!(8), &json!("Paying"))
    );
    let listed = gives(&gateway, "knowledge_list", json!({ "collectionId": id }));
    assert_eq!(listed["documents"].as_array().expect("documents").len(), 2);
    gives(
        &gateway,
        "knowledge_remove",
        json!({ "collectionId": id, "documentId": "pay" }),
    );
    refuses(
        &gateway,
        "knowledge_read",
        json!({ "collectionId": id, "documentId": "pay" }),
        "not_found",
        "no document",
    );
    let gone = gives(
        &gateway,
        "knowledge_search",
        json!({ "collectionId": id, "query": "invoices" }),
    );
    assert_eq!(gone["passages"], json!([]));
}

#[test]
fn grants_decide_what_an_agent_may_do_and_what_it_learns() {
    let gateway = Gateway::start();
    let id = made(&gateway, "datastore", "sales");
    let (query, write) = (
        json!({ "collectionId": id }),
        json!({ "collectionId": id, "rows": [{ "data": {} }] }),
    );
    let code = |agent: &str, tool: &str, arguments: &Value| {
        as_agent(&gateway, agent, tool, arguments)["code"].clone()
    };
    let hidden = as_agent(&gateway, "helper", "datastore_query", &query);
    let unknown = as_agent(
        &gateway,
        "helper",
        "datastore_query",
        &json!({ "collectionId": "0192f0c1-2b3c-7abc-8def-0123456789ab" }),
    );
    let words = |said: &Value, id: &str| said["error"].as_str().expect("an error").replace(id, "X");
    assert_eq!(
        words(&hidden, &id),
        words(&unknown, "0192f0c1-2b3c-7abc-8def-0123456789ab")
    );
    assert_eq!(hidden["code"], "not_found");
    assert_eq!(code("helper", "filestore_list", &query), "not_found");
    gateway
        .cli(&["resource", "grant", "sales", "helper", "read"])
        .ok();
    assert_eq!(code("helper", "datastore_query", &query), Value::Null);
    assert_eq!(code("helper", "datastore_write", &write), "forbidden");
    let grant =
        |agent: &str, level: &str| json!({ "collectionId": id, "agent": agent, "level": level });
    assert_eq!(
        code("helper", "resource_grant", &grant("third", "read")),
        "forbidden"
    );
    assert_eq!(
        code("main", "resource_grant", &grant("helper", "write")),
        Value::Null
    );
    assert_eq!(code("helper", "datastore_write", &write), Value::Null);
    assert_eq!(
        code("main", "resource_grant", &grant("main", "none")),
        "invalid_arguments"
    );
    assert_eq!(
        code(
            "helper",
            "resource_delete",
            &json!({ "collectionId": id, "name": "sales" })
        ),
        "forbidden"
    );
    assert_eq!(
        code("main", "resource_grant", &grant("helper", "none")),
        Value::Null
    );
    assert_eq!(code("helper", "datastore_query", &query), "not_found");
    let own = as_agent(
        &gateway,
        "helper",
        "resource_create",
        &json!({ "kind": "knowledge", "name": "notes" }),
    );
    let own = own["result"]["collectionId"].clone();
    assert_eq!(
        code("main", "knowledge_list", &json!({ "collectionId": own })),
        "not_found"
    );
    assert_eq!(
        code("helper", "knowledge_list", &json!({ "collectionId": own })),
        Value::Null
    );
    assert_eq!(
        code(
            "helper",
            "resource_delete",
            &json!({ "collectionId": own, "name": "wrong" })
        ),
        "invalid_arguments"
    );
    assert_eq!(
        code(
            "helper",
            "resource_delete",
            &json!({ "collectionId": own, "name": "notes" })
        ),
        Value::Null
    );
    let shown = gateway.cli(&["resource", "show", "sales"]).ok().json();
    assert_eq!(
        shown["grants"],
        json!([{ "agent": "main", "level": "admin" }])
    );
    let client = gateway.client("c");
    assert_eq!(
        gateway
            .send(&Request::get("/api/resources").bearer(&client))
            .status,
        403
    );
    let twice = gateway.cli(&["resource", "create", "datastore", "sales"]);
    assert!(twice.stderr.contains("already exists"), "{twice:?}");
    let acts: Vec<_> = gateway
        .audit()
        .iter()
        .map(|entry| entry["tool"].clone())
        .collect();
    for act in [
        "resource.create",
        "resource.grant",
        "datastore_write",
        "resource_grant",
    ] {
        assert!(acts.contains(&json!(act)), "{act} in {acts:?}");
    }
}
