//! Parking: in a group chat nobody waits for an answer just because somebody else's call needs the owner's approval.
//!
//! A turn that waits for approval is parked once somebody else's message is queued. The request and the turn stay open on
//! disk, exactly as when the gateway stops. The other turns run, and after each of them the parked turn is loaded again
//! and finds its approval, or waits on. Only one turn of a session runs at a time.

use std::time::Duration;

use manyhands_core::ChatRef;
use manyhands_store::{TurnRecord, TurnState};

use super::witness::CallWitness;
use crate::origin::Origin;

/// How long a turn waits before it lets another waiting turn check for its approval.
const ROTATE_INTERVAL: Duration = Duration::from_secs(15);

/// An open turn of a session and its origin.
pub(crate) struct OpenTurn {
    pub(crate) record: TurnRecord,
    origin: Option<Origin>,
}

impl OpenTurn {
    pub(crate) fn of(record: TurnRecord) -> Self {
        let origin = serde_json::from_str(&record.origin).ok();
        Self { record, origin }
    }

    fn is_queued(&self) -> bool {
        self.record.state == TurnState::Queued
    }

    /// Whether it came from a group chat and from another person than `other`.
    fn is_independent_of(&self, other: &Self) -> bool {
        let (Some(own), Some(theirs)) = (&self.origin, &other.origin) else {
            return false;
        };
        let shared = |origin: &Origin| origin.place.as_ref().is_some_and(ChatRef::is_shared);
        shared(own) && shared(theirs) && !own.is_same(theirs)
    }

    /// The next turn to run while those in `passed` are parked. Never a later message of a person whose own turn is parked:
    /// it would be answered before the earlier one.
    pub(crate) fn next(open: &[Self], passed: &[String]) -> Option<TurnRecord> {
        let is_passed = |one: &&Self| passed.contains(&one.record.id);
        let mut others = open.iter().filter(|one| !is_passed(one));
        let next = others.find(|one| {
            open.iter()
                .filter(is_passed)
                .all(|wait| one.is_independent_of(wait))
        });
        next.map(|one| one.record.clone())
    }

    /// Whether another person's message is queued behind the turn `own`, and whether another turn waits for approval too.
    fn behind(open: &[Self], own: &str) -> (bool, bool) {
        let Some(own) = open.iter().find(|one| one.record.id == own) else {
            return (false, false);
        };
        let waiting = |one: &&Self| !one.is_queued();
        let queued = open.iter().any(|one| {
            one.is_queued()
                && open
                    .iter()
                    .filter(waiting)
                    .all(|wait| one.is_independent_of(wait))
        });
        let waits = open
            .iter()
            .any(|one| waiting(&one) && one.is_independent_of(own));
        (queued && !own.is_queued(), waits)
    }
}

impl CallWitness {
    /// Resolves when another turn should go first.
    pub(super) async fn other_turn_ready(&self) {
        let place = self.origin.place.as_ref();
        if !place.is_some_and(ChatRef::is_shared) {
            return std::future::pending().await;
        }
        loop {
            // Subscribed before the queue is read: an input that arrives in between would otherwise go unnoticed.
            let arrived = self.minds.arrived(&self.session.0);
            let open = self.minds.sessions.open_turns(&self.session.0).await;
            let open: Vec<OpenTurn> = open
                .unwrap_or_default()
                .into_iter()
                .map(OpenTurn::of)
                .collect();
            let (queued, waits) = OpenTurn::behind(&open, &self.turn);
            if queued {
                return;
            }
            tokio::select! {
                () = arrived => {}
                () = tokio::time::sleep(ROTATE_INTERVAL) => {
                    if waits {
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use manyhands_core::{PeerKind, Timestamp};

    use super::*;

    fn turn(id: &str, who: &str, kind: PeerKind, state: TurnState) -> OpenTurn {
        let place = ChatRef {
            kind,
            sender: Some(who.to_owned()),
            ..ChatRef::dm("telegram", "default", "-5")
        };
        let origin = serde_json::json!({
            "token": null, "person": format!("telegram:{who}"), "place": place, "name": who,
            "trusted": false, "depth": 0,
        });
        OpenTurn::of(TurnRecord {
            id: id.to_owned(),
            session_key: "agent:main:telegram:group:-5".to_owned(),
            run_id: id.to_owned(),
            state,
            input: String::new(),
            origin: origin.to_string(),
            work: "{}".to_owned(),
            outcome: None,
            created: Timestamp(1),
            started: None,
            ended: None,
        })
    }

    #[test]
    fn a_parked_turn_lets_other_senders_pass_but_not_its_own() {
        use TurnState::{Queued, Waiting};
        let group = |id, who, state| turn(id, who, PeerKind::Group, state);
        let next = |open: &[OpenTurn], passed: &[&str]| {
            let passed: Vec<String> = passed.iter().map(|id| (*id).to_owned()).collect();
            OpenTurn::next(open, &passed).map(|turn| turn.id)
        };
        let own = [group("1", "a", Waiting), group("2", "a", Queued)];
        assert_eq!(OpenTurn::behind(&own, "1"), (false, false), "their own");
        assert_eq!(next(&own, &["1"]), None);
        let both = [
            group("1", "a", Waiting),
            group("2", "a", Queued),
            group("3", "b", Queued),
        ];
        assert_eq!(OpenTurn::behind(&both, "1"), (true, false));
        assert_eq!(next(&both, &["1"]).as_deref(), Some("3"));
        let two = [
            group("1", "a", Waiting),
            group("3", "b", Waiting),
            group("4", "b", Queued),
        ];
        assert_eq!(
            OpenTurn::behind(&two, "1"),
            (false, true),
            "b waits as well"
        );
        assert_eq!(next(&two, &["1"]).as_deref(), Some("3"));
        assert_eq!(next(&two, &["1", "3"]), None);
        let dm = |id, who, state| turn(id, who, PeerKind::Dm, state);
        let alone = [dm("1", "a", Waiting), dm("2", "b", Queued)];
        assert_eq!(
            OpenTurn::behind(&alone, "1"),
            (false, false),
            "nobody reads along"
        );
    }
}
