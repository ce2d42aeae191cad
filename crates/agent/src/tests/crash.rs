//! The process dies at every moment a turn looks at the clock, which is before each step it
//! keeps, and before and after each call: nothing is lost, nothing is done twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{
    CallRequest, Catalogue, Clock, Effects, Ids, Invoke, ManualClock, OsEntropy, Outcome,
    Timestamp, ToolError, ToolSpec,
};
use manyhands_llm::{
    Arguments, Delta, Message, ModelError, ModelRequest, Reply, ReplyBlock, ToolCall,
};
use manyhands_store::{Store, TurnState};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::fixture::{NamedTool, check_pairs, key, owner};
use crate::env::ModelClient;
use crate::testing::{FakeEnv, reply};
use crate::{Input, MindParts, Minds};

/// A clock that stops the process, so to speak, when it has been looked at often enough.
struct Fuse {
    time: ManualClock,
    looks: AtomicUsize,
    burns_at: usize,
    burnt: AtomicBool,
    ashes: (Mutex<bool>, Condvar),
}

impl Fuse {
    fn new(burns_at: usize) -> Self {
        Self {
            time: ManualClock::at(Timestamp(1_794_700_000_000)),
            looks: AtomicUsize::new(0),
            burns_at,
            burnt: AtomicBool::new(false),
            ashes: Default::default(),
        }
    }

    /// Lets the threads of a dead process go, once nobody polls their tasks any more.
    fn sweep(&self) {
        *self.ashes.0.lock().unwrap() = true;
        self.ashes.1.notify_all();
    }
}

impl Clock for Fuse {
    fn now(&self) -> Timestamp {
        let look = self.looks.fetch_add(1, Ordering::SeqCst) + 1;
        if look >= self.burns_at {
            self.burnt.store(true, Ordering::SeqCst);
            let mut swept = self.ashes.0.lock().unwrap();
            while !*swept {
                swept = self.ashes.1.wait(swept).unwrap();
            }
        }
        self.time.now()
    }

    fn monotonic(&self) -> Duration {
        self.time.monotonic()
    }
}

/// What was really done, by whichever process.
type CallCounts = Arc<Mutex<BTreeMap<String, u32>>>;

struct ScriptedTool {
    world: CallCounts,
    catalogue: Arc<Catalogue>,
    fuse: Arc<Fuse>,
}

#[async_trait]
impl Invoke for ScriptedTool {
    async fn invoke(&self, request: CallRequest) -> Result<Outcome, ToolError> {
        if let Some(witness) = &request.witness {
            witness.starting().await?;
        }
        self.fuse.now(); // dead before it is done
        let deed = request.arguments["deed"].to_string();
        *self.world.lock().unwrap().entry(deed).or_default() += 1;
        self.fuse.now(); // dead after it is done, before anybody knows
        Ok(Outcome::value(json!({ "done": true })))
    }

    fn authorize(&self, question: manyhands_core::Question<'_>) -> manyhands_core::Verdict {
        let denied =
            question.caller.rights.tools.is_empty() || !question.reach.contains(question.spec);
        let decision = [
            manyhands_core::Decision::Allow,
            manyhands_core::Decision::Deny,
        ][usize::from(denied)];
        manyhands_core::Verdict::default_rule(decision, "test")
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.clone()
    }
}

/// How often the model asks for two deeds.
const STEPS: usize = 20;

/// A model whose answer follows from the conversation alone: deeds, then words.
struct Steady;

fn call(deed: u32) -> ReplyBlock {
    ReplyBlock::Call(ToolCall {
        id: format!("c{deed}"),
        name: "act".to_owned(),
        arguments: Arguments::parse(&format!("{{\"deed\":{deed}}}")),
        opaque: None,
    })
}

#[async_trait]
impl ModelClient for Steady {
    async fn reply(
        &self,
        request: &ModelRequest,
        _: &mut (dyn FnMut(Delta) + Send),
        _: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let asked = |text: &str| {
            let find = |message: &&Message| **message == Message::user(text);
            request.messages.iter().rev().find(find).is_some()
        };
        let tools = request
            .messages
            .iter()
            .filter(|m| matches!(m, Message::Tool { .. }));
        let content = match (asked("go"), tools.count()) {
            (true, before) if before < STEPS => {
                let first = u32::try_from(before * 2).unwrap();
                vec![call(first + 1), call(first + 2)]
            }
            _ => vec![ReplyBlock::text("done")],
        };
        Ok(reply(content))
    }
}

/// One life of the process: opens the home, goes on with what is there, asks what was not yet
/// acknowledged, and works until everything is answered or the fuse has burnt. Answers with
/// whether all was done.
fn live(home: &std::path::Path, world: &CallCounts, fuse: &Arc<Fuse>) -> bool {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let (path, world, fuse_in) = (home.to_owned(), world.clone(), fuse.clone());
    let (told, done) = std::sync::mpsc::sync_channel(1);
    runtime.spawn(async move {
        let ids = Ids::new(Arc::new(ManualClock::at(Timestamp(5))), Arc::new(OsEntropy));
        let calm: Arc<dyn Clock> = Arc::new(ManualClock::at(Timestamp(5)));
        let store = Store::open(&path, calm, ids.clone(), None).await.unwrap();
        let mut catalogue = Catalogue::default();
        let spec = ToolSpec::new("act", "test").effects(Effects::WRITES);
        catalogue.add(Arc::new(NamedTool(spec))).unwrap();
        let minds = Minds::new(MindParts {
            sessions: store.sessions().clone(),
            blobs: store.blobs().clone(),
            path: Arc::new(ScriptedTool {
                world,
                catalogue: Arc::new(catalogue),
                fuse: fuse_in.clone(),
            }),
            env: Arc::new(FakeEnv::new(Arc::new(Steady))),
            clock: fuse_in,
            ids,
        });
        minds.resume().await.unwrap();
        for (run, text) in [("r1", "go"), ("r2", "and more")] {
            // Whoever asks asks again until it is acknowledged; the same run is one turn.
            let run = Some(run.to_owned());
            minds
                .send(&key(), run, Input::text(text), &owner())
                .await
                .unwrap();
        }
        while !store.sessions().with_open_turns().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let _ = told.send(());
    });
    let all_done = loop {
        match done.recv_timeout(Duration::from_millis(1)) {
            Ok(()) => break true,
            Err(_) if fuse.burnt.load(Ordering::SeqCst) => break false,
            Err(_) => {}
        }
    };
    runtime.shutdown_background();
    all_done
}

fn look_at(home: &std::path::Path, world: &CallCounts, died_at: usize) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let ids = Ids::new(Arc::new(ManualClock::at(Timestamp(5))), Arc::new(OsEntropy));
        let calm: Arc<dyn Clock> = Arc::new(ManualClock::at(Timestamp(5)));
        let store = Store::open(home, calm, ids, None).await.unwrap();
        let session = store.sessions().get(key().as_str()).await.unwrap().unwrap();
        let entries = store
            .sessions()
            .entries(&session.id, 0, 1_000)
            .await
            .unwrap();
        let read = |body: &String| serde_json::from_str(body).unwrap();
        let messages: Vec<Message> = entries.iter().map(|entry| read(&entry.body)).collect();
        check_pairs(&messages);
        for text in ["go", "and more"] {
            let there = messages
                .iter()
                .filter(|message| **message == Message::user(text));
            assert_eq!(there.count(), 1, "{text:?}, dead at {died_at}");
        }
        for (deed, times) in &*world.lock().unwrap() {
            assert_eq!(*times, 1, "deed {deed}, dead at {died_at}");
        }
        let text = serde_json::to_string(&messages).unwrap();
        let unknown = text.matches("outcome unknown").count();
        assert!(unknown <= 1, "only what was running, dead at {died_at}");
        let deeds = world.lock().unwrap().len();
        assert!(
            deeds + unknown >= STEPS * 2,
            "{deeds} deeds, {unknown} unknown, dead at {died_at}"
        );
        let open = store.sessions().open_turns(key().as_str()).await.unwrap();
        assert!(open.is_empty());
        for entry in &entries {
            let turn = entry.turn.as_ref().unwrap();
            let turn = store.sessions().turn(turn).await.unwrap().unwrap();
            assert_eq!(turn.state, TurnState::Done, "dead at {died_at}");
        }
        store.close().await.unwrap();
    });
}

/// Dies at every `step`th moment from `first` on, each time in a home of its own.
fn sweep(first: usize, step: usize) -> usize {
    let mut died = 0;
    for burns_at in (first..).step_by(step) {
        // In memory where there is such a folder: a process dies here, not a disk.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.unwrap();
        let (home, world) = (folder.path().join("home"), CallCounts::default());
        let fuse = Arc::new(Fuse::new(burns_at));
        let survived = live(&home, &world, &fuse);
        if !survived {
            died += 1;
            let second = Arc::new(Fuse::new(usize::MAX));
            assert!(live(&home, &world, &second), "dead at {burns_at}");
        }
        look_at(&home, &world, burns_at);
        fuse.sweep();
        if survived {
            break;
        }
    }
    died
}

#[test]
fn a_crash_at_any_moment_loses_and_repeats_nothing() {
    let died: usize = std::thread::scope(|scope| {
        let halves: Vec<_> = (1..=2)
            .map(|first| scope.spawn(move || sweep(first, 2)))
            .collect();
        halves.into_iter().map(|half| half.join().unwrap()).sum()
    });
    assert!(died >= 200, "only {died} moments");
}
