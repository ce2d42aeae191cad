//! What must hold at the end of every day.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use flate2::read::GzDecoder;
use futures_util::TryStreamExt as _;
use manyhands_llm::{Block, Message, ReplyBlock, ToolResult};
use manyhands_store::object_store::{ObjectStore as _, ObjectStoreExt as _, path::Path};
use manyhands_store::{SessionRecord, Store, TurnState};

use super::super::fixture::check_pairs;
use super::world::{FAILURES, SimulatedWorld, TaskPlan, is_of_stranger, number_of};
use super::{Letter, Month};
use crate::TurnEvent;

/// Everything that was ever said in a session, by where it stood: which of its ids, which entry.
type MessagesByTurn = BTreeMap<(usize, i64), Message>;
/// Archives that were read before; they do not change.
pub(super) type Archives = BTreeMap<Path, Vec<(i64, Message)>>;

impl Month {
    /// Looks at everything that was sent, done and kept.
    pub(super) async fn check(&mut self, store: &Store) {
        for (deed, times) in &*self.world.deeds.lock().unwrap() {
            assert_eq!(*times, 1, "{deed} was done {times} times");
        }
        self.check_turns(store).await;
        let keys = self.letters.iter().map(|one| one.key.clone());
        for key in keys.collect::<BTreeSet<String>>() {
            let session = store.sessions().get(&key).await.unwrap();
            let session = session.expect("a session that was spoken in");
            let said = everything(store, &session, &mut self.archives).await;
            let letters: Vec<&Letter> = self.letters.iter().filter(|one| one.key == key).collect();
            check_letters(&letters, &said);
            check_deeds(&self.world, &letters, &said);
            let shown = store.sessions().entries(&session.id, session.floor, 10_000);
            let shown = shown.await.unwrap();
            let shown: Vec<Message> = shown
                .iter()
                .filter(|entry| entry.kind != "note")
                .map(|entry| serde_json::from_str(&entry.body).unwrap())
                .collect();
            check_pairs(&shown);
            let numbers: Vec<u32> = shown.iter().filter_map(number_of).collect();
            let distinct: BTreeSet<u32> = numbers.iter().copied().collect();
            assert_eq!(distinct.len(), numbers.len(), "{key} shows something twice");
        }
    }

    /// One turn for each input, and each has ended as its message wanted.
    async fn check_turns(&mut self, store: &Store) {
        for letter in self.letters.iter_mut().filter(|one| one.state.is_none()) {
            let found = store
                .sessions()
                .turn_of_run(&letter.key, &letter.run)
                .await
                .unwrap();
            if !letter.taken {
                assert_eq!(found, None, "{letter:?} was refused and is there");
                continue;
            }
            let turn = found.unwrap_or_else(|| panic!("{letter:?} has no turn"));
            assert!(turn.state.has_ended(), "{letter:?}: {:?}", turn.state);
            letter.state = Some(turn.state);
            if turn.state == TurnState::Merged {
                continue;
            }
            match (letter.plan, crate::ended(&turn)) {
                (_, Some(TurnEvent::Stopped)) => {}
                (TaskPlan::Fails(how), Some(TurnEvent::Error(failure))) => {
                    assert_eq!(failure.kind.word(), FAILURES[how as usize]);
                }
                // What came meanwhile was taken in, and decides how it ends.
                (_, Some(TurnEvent::Final { .. } | TurnEvent::Error(_))) => {}
                (plan, other) => panic!("{plan:?} ended with {other:?}"),
            }
        }
    }
}

/// What was said, from the archives of all its ids and from what is still shown.
async fn everything(
    store: &Store,
    session: &SessionRecord,
    archives: &mut Archives,
) -> MessagesByTurn {
    let mut said = MessagesByTurn::new();
    let ids = session.previous.iter().chain([&session.id]);
    for (at, id) in ids.enumerate() {
        let folder = Path::from(format!("archives/{}/{id}", session.agent));
        let files: Vec<_> = store
            .blobs()
            .list(Some(&folder))
            .try_collect()
            .await
            .unwrap();
        for file in files {
            if !archives.contains_key(&file.location) {
                let lines = archive(store, &file.location).await;
                archives.insert(file.location.clone(), lines);
            }
            for (seq, message) in &archives[&file.location] {
                keep(&mut said, (at, *seq), message.clone());
            }
        }
    }
    let at = session.previous.len();
    let shown = store.sessions().entries(&session.id, session.floor, 10_000);
    let messages = shown.await.unwrap().into_iter();
    for entry in messages.filter(|entry| entry.kind != "note") {
        let message = serde_json::from_str(&entry.body).unwrap();
        keep(&mut said, (at, entry.seq), message);
    }
    said
}

/// The lines of one archive.
async fn archive(store: &Store, place: &Path) -> Vec<(i64, Message)> {
    let zipped = store.blobs().get(place).await.unwrap();
    let zipped = zipped.bytes().await.unwrap();
    let mut text = String::new();
    GzDecoder::new(&zipped[..])
        .read_to_string(&mut text)
        .unwrap();
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let message = serde_json::from_value(line["message"].clone()).unwrap();
        (line["seq"].as_i64().unwrap(), message)
    };
    text.lines().map(line).collect()
}

fn keep(said: &mut MessagesByTurn, place: (usize, i64), message: Message) {
    if let Some(before) = said.get(&place) {
        assert_eq!(*before, message, "two messages stand at {place:?}");
    }
    said.insert(place, message);
}

/// Nothing that was taken is lost, and all of it stands in the order in which it was sent.
fn check_letters(letters: &[&Letter], said: &MessagesByTurn) {
    let mut first_seen: Vec<u32> = Vec::new();
    for number in said.values().filter_map(number_of) {
        if !first_seen.contains(&number) {
            first_seen.push(number);
        }
    }
    let seen: BTreeSet<u32> = first_seen.iter().copied().collect();
    let group: BTreeMap<u32, u32> = letters.iter().map(|one| (one.number, one.group)).collect();
    for letter in letters {
        let there = seen.contains(&letter.number);
        match letter.state {
            None => assert!(!there, "{letter:?} was refused and was heard"),
            Some(TurnState::Stopped) => {} // it may have been stopped before it began
            Some(_) => assert!(there, "{letter:?} is in no session and no archive"),
        }
    }
    // What another person says is a turn of its own, and may come later than what was taken in.
    for stranger in [false, true] {
        let of_one = first_seen
            .iter()
            .filter(|number| is_of_stranger(**number) == stranger);
        let groups: Vec<u32> = of_one.map(|number| group[number]).collect();
        assert!(groups.is_sorted(), "out of order: {first_seen:?}");
    }
}

/// Every deed was asked for, and the model was told what came of it: that it is done, or that
/// nobody knows. Only a conversation that was begun anew ends without that.
fn check_deeds(world: &SimulatedWorld, letters: &[&Letter], said: &MessagesByTurn) {
    let mut results: BTreeMap<&str, &ToolResult> = BTreeMap::new();
    let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
    for ((at, _), message) in said {
        match message {
            Message::Tool { results: all } => {
                results.extend(all.iter().map(|one| (one.id.as_str(), one)));
            }
            Message::Assistant { content } => {
                for block in content {
                    if let ReplyBlock::Call(call) = block {
                        asked.insert(&call.id, *at);
                    }
                }
            }
            Message::User { .. } => {}
        }
    }
    let last = said.keys().map(|(at, _)| *at).max().unwrap_or(0);
    let numbers: BTreeSet<u32> = letters.iter().map(|one| one.number).collect();
    for deed in world.deeds.lock().unwrap().keys() {
        let number: u32 = deed.split('.').next().unwrap().parse().unwrap();
        if !numbers.contains(&number) || is_garbage(letters, number) {
            continue;
        }
        let at = asked.get(deed.as_str());
        let at = at.unwrap_or_else(|| panic!("{deed} was done and nobody asked for it"));
        match results.get(deed.as_str()) {
            Some(result) => {
                let text = text(result);
                let told = text.contains("did") || text.contains("outcome unknown");
                assert!(told, "{deed} was done, and the model was told: {text}");
            }
            None => assert!(*at < last, "{deed} was done, and nobody was told"),
        }
    }
    for (id, result) in results {
        let done = world.deeds.lock().unwrap().contains_key(id);
        let claimed = text(result).contains("did") && result.name != "look";
        assert!(
            done || !claimed || id == "same",
            "{id} is claimed and was not done"
        );
    }
}

/// Its two deeds have one id.
fn is_garbage(letters: &[&Letter], number: u32) -> bool {
    let of = letters.iter().find(|one| one.number == number);
    of.is_some_and(|one| one.plan == TaskPlan::Garbage)
}

fn text(result: &ToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Image { .. } => None,
    });
    texts.collect()
}
