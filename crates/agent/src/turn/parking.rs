//! Letting other people go first: in a chat that many read, nobody waits for an answer because somebody
//! else's call waits for the owner.
//!
//! A turn that waits gives up waiting once somebody else's message is queued. The question stays open on disk and
//! the turn stays as it is there, just as when the gateway stops; the others' turns are worked on, and after each of
//! them it is taken up again and finds its answer, or waits on. Only one turn at a time is ever worked on.

use std::time::Duration;

use manyhands_core::ChatRef;
use manyhands_store::{TurnRecord, TurnState};

use super::witness::CallWitness;
use crate::outside::Origin;

/// How long a turn waits before another that waits too is looked at: its answer may have come.
const ROTATE: Duration = Duration::from_secs(15);

/// An open turn of a session, and whose it is.
pub(crate) struct Open {
    pub(crate) record: TurnRecord,
    origin: Option<Origin>,
}

impl Open {
    pub(crate) fn of(record: TurnRecord) -> Self {
        let origin = serde_json::from_str(&record.origin).ok();
        Self { record, origin }
    }

    fn is_queued(&self) -> bool {
        self.record.state == TurnState::Queued
    }

    /// Whether it was said where many read, by somebody else than `other` was.
    fn is_beside(&self, other: &Self) -> bool {
        let (Some(own), Some(theirs)) = (&self.origin, &other.origin) else {
            return false;
        };
        let shared = |origin: &Origin| origin.place.as_ref().is_some_and(ChatRef::is_shared);
        shared(own) && shared(theirs) && !own.is_same(theirs)
    }

    /// The next to be worked on, where those in `passed` let others go first: never a later message of
    /// somebody whose own turn waits.
    pub(crate) fn next(open: &[Self], passed: &[String]) -> Option<TurnRecord> {
        let is_passed = |one: &&Self| passed.contains(&one.record.id);
        let mut others = open.iter().filter(|one| !is_passed(one));
        let next = others.find(|one| {
            open.iter()
                .filter(is_passed)
                .all(|wait| one.is_beside(wait))
        });
        next.map(|one| one.record.clone())
    }

    /// Whether somebody else's message waits behind the turn `own`, and whether another turn waits like it.
    fn behind(open: &[Self], own: &str) -> (bool, bool) {
        let Some(own) = open.iter().find(|one| one.record.id == own) else {
            return (false, false);
        };
        let waiting = |one: &&Self| !one.is_queued();
        let said = open.iter().any(|one| {
            one.is_queued() && open.iter().filter(waiting).all(|wait| one.is_beside(wait))
        });
        let waits = open.iter().any(|one| waiting(&one) && one.is_beside(own));
        (said && !own.is_queued(), waits)
    }
}

impl CallWitness {
    /// Comes back when somebody else should go first.
    pub(super) async fn others_come(&self) {
        let place = self.origin.place.as_ref();
        if !place.is_some_and(ChatRef::is_shared) {
            return std::future::pending().await;
        }
        loop {
            // Before looking, so that what comes between is not missed.
            let news = self.minds.news(&self.session.0);
            let open = self.minds.sessions.open_turns(&self.session.0).await;
            let open: Vec<Open> = open.unwrap_or_default().into_iter().map(Open::of).collect();
            let (said, waits) = Open::behind(&open, &self.turn);
            if said {
                return;
            }
            tokio::select! {
                () = news => {}
                () = tokio::time::sleep(ROTATE) => {
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

    fn turn(id: &str, who: &str, kind: PeerKind, state: TurnState) -> Open {
        let place = ChatRef {
            kind,
            sender: Some(who.to_owned()),
            ..ChatRef::dm("telegram", "default", "-5")
        };
        let origin = serde_json::json!({
            "token": null, "person": format!("telegram:{who}"), "place": place, "name": who,
            "trusted": false, "depth": 0,
        });
        Open::of(TurnRecord {
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
    fn others_go_first_and_ones_own_later_messages_wait() {
        use TurnState::{Queued, Waiting};
        let group = |id, who, state| turn(id, who, PeerKind::Group, state);
        let next = |open: &[Open], passed: &[&str]| {
            let passed: Vec<String> = passed.iter().map(|id| (*id).to_owned()).collect();
            Open::next(open, &passed).map(|turn| turn.id)
        };
        let own = [group("1", "a", Waiting), group("2", "a", Queued)];
        assert_eq!(Open::behind(&own, "1"), (false, false), "their own");
        assert_eq!(next(&own, &["1"]), None);
        let both = [
            group("1", "a", Waiting),
            group("2", "a", Queued),
            group("3", "b", Queued),
        ];
        assert_eq!(Open::behind(&both, "1"), (true, false));
        assert_eq!(next(&both, &["1"]).as_deref(), Some("3"));
        let two = [
            group("1", "a", Waiting),
            group("3", "b", Waiting),
            group("4", "b", Queued),
        ];
        assert_eq!(Open::behind(&two, "1"), (false, true), "b waits as well");
        assert_eq!(next(&two, &["1"]).as_deref(), Some("3"));
        assert_eq!(next(&two, &["1", "3"]), None);
        let dm = |id, who, state| turn(id, who, PeerKind::Dm, state);
        let alone = [dm("1", "a", Waiting), dm("2", "b", Queued)];
        assert_eq!(
            Open::behind(&alone, "1"),
            (false, false),
            "nobody reads along"
        );
    }
}
