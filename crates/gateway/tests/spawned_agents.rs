//! Spawned agents that nobody talks to any more are archived.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use manyhands_agent::SessionKey;
use manyhands_agent_services::{Child, SpawnedAgents};
use manyhands_core::{AgentId, Clock as _, Ids, ManualClock, OsEntropy, Pattern, Timestamp};
use manyhands_gateway::{Gateway, Options};
use object_store::ObjectStoreExt as _;
use object_store::path::Path as Key;

fn child(id: &str, parent: &str, created: Timestamp) -> Child {
    Child {
        id: id.parse().unwrap(),
        parent: parent.parse().unwrap(),
        root: AgentId::main(),
        depth: 1,
        template: "default".to_owned(),
        model: None,
        thinking: None,
        tools: vec![Pattern::new("*")],
        prompt: "help".to_owned(),
        created,
    }
}

#[tokio::test]
async fn an_idle_spawned_agent_is_archived_with_a_record() {
    let home = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(Timestamp(1_794_700_000_000)));
    let gateway = Gateway::open(Options {
        home: home.path().join("home"),
        clock: clock.clone(),
        ids: Ids::new(clock.clone(), Arc::new(OsEntropy)),
        passphrase: None,
        environment: BTreeMap::new(),
        vectors: None,
    });
    let gateway = gateway.await.unwrap();
    let (spawned_agents, minds) = (
        gateway.post().spawned_agents.clone(),
        gateway.minds().clone(),
    );
    let made = clock.now();
    for (id, parent) in [("old", "main"), ("old-child", "old"), ("busy", "main")] {
        spawned_agents.add(child(id, parent, made)).await.unwrap();
        let key = SessionKey::main(&id.parse().unwrap());
        minds.open(&key).await.unwrap();
    }
    clock.advance(Duration::from_secs(86_400));
    let before = clock.now();
    assert_eq!(
        spawned_agents.sweep(&minds, made).await.unwrap(),
        0,
        "none is old"
    );
    minds
        .open(&SessionKey::main(&"busy".parse().unwrap()))
        .await
        .unwrap();
    assert_eq!(
        spawned_agents.sweep(&minds, before).await.unwrap(),
        1,
        "first the child"
    );
    assert_eq!(
        spawned_agents.sweep(&minds, before).await.unwrap(),
        1,
        "then who made it"
    );
    assert_eq!(spawned_agents.sweep(&minds, before).await.unwrap(), 0);
    let left: Vec<String> = spawned_agents
        .names()
        .iter()
        .map(AgentId::to_string)
        .collect();
    assert_eq!(left, ["busy"], "somebody spoke to it");
    let gone = SessionKey::main(&"old".parse().unwrap());
    assert!(minds.get(&gone).await.is_err());
    let record = Key::from("archives/kin/old.json");
    assert!(gateway.store.blobs().head(&record).await.is_ok());
    let again = SpawnedAgents::open(&gateway.store).await.unwrap();
    assert_eq!(again.names(), spawned_agents.names(), "also after a start");
    gateway.close().await.unwrap();
}
