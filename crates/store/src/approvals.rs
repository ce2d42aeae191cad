//! Approval requests: may this call run?
//!
//! A request is about one exact call, identified by its fingerprint. An approval is valid for one use until it expires.
//! Expiry is always computed from the clock, so a stale row can be neither approved nor used, swept or not.

use manyhands_core::{ApprovalId, CallId, Timestamp};

use crate::approval_record::{
    ApprovalRecord, ApprovalScope, ApprovalState, COLUMNS, NewApproval, record,
};
use crate::changes::Changes;
use crate::columns::effects_text;
use crate::error::StoreError;
use crate::sql::{Sql, Statement, Tx};

/// The owner's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// Approve, with this scope.
    Approve(ApprovalScope),
    /// Deny.
    Deny,
}

/// Selects requests; all if empty.
#[derive(Debug, Clone, Default)]
pub struct ApprovalFilter {
    /// Only those in this state.
    pub state: Option<ApprovalState>,
    /// Only those of this caller.
    pub caller: Option<String>,
    /// Maximum number; default 100.
    pub limit: Option<u32>,
}

/// Approval requests. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Approvals {
    sql: Sql,
    changes: Changes,
}

impl Approvals {
    pub(crate) fn new(sql: Sql) -> Self {
        let changes = Changes::default();
        Self { sql, changes }
    }

    /// Notifies of new, answered, used and expired requests.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Opens a request, or returns the existing one for the same call: pending, or answered and neither used nor expired.
    pub async fn open_or_find(
        &self,
        new: &NewApproval,
        now: Timestamp,
    ) -> Result<ApprovalRecord, StoreError> {
        let arguments = serde_json::to_string(&new.arguments)
            .map_err(|error| StoreError::invalid(format!("the arguments: {error}")))?;
        let mut tx = self.sql.begin().await?;
        // An expired request still occupies the unique fingerprint; it is retired in the same transaction
        // that may open its successor.
        let retire = Statement::new(
            "UPDATE approval SET state = 'expired'
             WHERE fingerprint = $1 AND expires <= $2 AND state IN ('pending', 'approved', 'denied')",
        );
        let retired = tx
            .run(retire.bind(new.fingerprint.as_str()).bind(now))
            .await?;
        let insert = Statement::new(
            "INSERT INTO approval (id, caller, caller_name, agent, session, tool, arguments,
                                   fingerprint, effects, rule, created, expires, state, proposal, taint)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'pending', $13, $14)
             ON CONFLICT (fingerprint) WHERE state IN ('pending', 'approved', 'denied') DO NOTHING",
        )
        .bind(new.id.to_string())
        .bind(new.caller.as_str())
        .bind(new.caller_name.as_str())
        .bind(new.agent.as_str())
        .bind(new.session.clone())
        .bind(new.tool.as_str())
        .bind(arguments)
        .bind(new.fingerprint.as_str())
        .bind(effects_text(new.effects))
        .bind(new.rule_and_reason())
        .bind(now)
        .bind(new.expires)
        .bind(new.proposal.as_ref().map(ToString::to_string))
        .bind(new.taint.source().map(str::to_owned));
        // Two equal calls at once share one request: the partial unique index lets only one insert win,
        // and both read that row.
        let put = tx.run(insert).await?;
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE fingerprint = ", new.fingerprint.as_str())
            .then(" AND state IN ('pending', 'approved', 'denied')");
        let row = tx.one(select).await?;
        tx.commit().await?;
        if retired + put > 0 {
            self.changes.notify();
        }
        let found = row.ok_or_else(|| StoreError::not_found(format!("approval {}", new.id)))?;
        record(&found, now)
    }

    /// Answers a pending request that has not expired; otherwise nothing changes and the error names its state.
    pub async fn decide(
        &self,
        id: ApprovalId,
        decision: ApprovalDecision,
        message: Option<&str>,
        by: &str,
        now: Timestamp,
    ) -> Result<ApprovalRecord, StoreError> {
        let (state, scope) = match decision {
            ApprovalDecision::Approve(scope) => (ApprovalState::Approved, scope),
            ApprovalDecision::Deny => (ApprovalState::Denied, ApprovalScope::Once),
        };
        let mut tx = self.sql.begin().await?;
        let update = Statement::new(
            "UPDATE approval SET state = $1, decided_by = $2, decided_at = $3, scope = $5, message = $6
             WHERE id = $4 AND state = 'pending' AND expires > $3",
        )
        .bind(state.as_str())
        .bind(by)
        .bind(now)
        .bind(id.to_string())
        .bind(scope.as_str())
        .bind(message.map(str::to_owned));
        // Conditional on `pending`: of two answers at the same time only the first counts, and an answer
        // that comes after the expiry changes nothing.
        let changed = tx.run(update).await?;
        let found = find(&mut tx, id, now).await?;
        if changed == 0 {
            tx.abandon().await;
            return Err(StoreError::Settled {
                what: format!("approval {id}"),
                state: found.state.as_str().to_owned(),
            });
        }
        tx.commit().await?;
        self.changes.notify();
        Ok(found)
    }

    /// Approvals for a whole conversation of this caller.
    pub async fn granted(
        &self,
        session: &str,
        caller: &str,
        now: Timestamp,
    ) -> Result<Vec<ApprovalRecord>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE session = ", session)
            .then_with(" AND caller = ", caller)
            // An approval for a conversation is `used` after its first call and still covers the next ones.
            .then(" AND scope = 'conversation' AND state IN ('approved', 'used')");
        let rows = self.sql.all(select).await?;
        rows.iter().map(|row| record(row, now)).collect()
    }

    /// Withdraws a pending request; whether there was one.
    pub async fn withdraw(&self, id: ApprovalId, now: Timestamp) -> Result<bool, StoreError> {
        let update = Statement::new(
            "UPDATE approval SET state = 'withdrawn', decided_at = $2
             WHERE id = $1 AND state = 'pending'",
        )
        .bind(id.to_string())
        .bind(now);
        // Only while pending: a decision that was made meanwhile stands.
        let withdrawn = self.sql.run(update).await? == 1;
        if withdrawn {
            self.changes.notify();
        }
        Ok(withdrawn)
    }

    /// Uses an approval for `call`. True for exactly one caller, however many try.
    pub async fn consume(
        &self,
        id: ApprovalId,
        call: CallId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let update = Statement::new(
            "UPDATE approval SET state = 'used', used_by_call = $1
             WHERE id = $2 AND state = 'approved' AND expires > $3",
        )
        .bind(call.to_string())
        .bind(id.to_string())
        .bind(now);
        // One conditional update rather than read and write: two calls cannot both use one approval.
        let used = self.sql.run(update).await? == 1;
        if used {
            self.changes.notify();
        }
        Ok(used)
    }

    /// One request, in its state at `now`.
    pub async fn get(
        &self,
        id: ApprovalId,
        now: Timestamp,
    ) -> Result<Option<ApprovalRecord>, StoreError> {
        let select = Statement::new(COLUMNS).then_with(" WHERE id = ", id.to_string());
        let row = self.sql.one(select).await?;
        row.map(|row| record(&row, now)).transpose()
    }

    /// Requests in their state at `now`, newest first.
    pub async fn list(
        &self,
        filter: &ApprovalFilter,
        now: Timestamp,
    ) -> Result<Vec<ApprovalRecord>, StoreError> {
        let mut select = Statement::new(COLUMNS).then(" WHERE 1 = 1");
        select = match filter.state {
            None => select,
            Some(state @ (ApprovalState::Used | ApprovalState::Withdrawn)) => {
                select.then_with(" AND state = ", state.as_str())
            }
            // Rows are marked as expired only now and then; the clock decides, so that a list never shows an
            // overdue request as open.
            Some(ApprovalState::Expired) => select
                .then_with(
                    " AND (state = 'expired' OR (state NOT IN ('used', 'withdrawn') AND expires <= ",
                    now,
                )
                .then("))"),
            Some(state) => select
                .then_with(" AND state = ", state.as_str())
                .then_with(" AND expires > ", now),
        };
        if let Some(caller) = &filter.caller {
            select = select.then_with(" AND caller = ", caller.as_str());
        }
        // Bounded by default: settled requests stay on record, and there can be many.
        let limit = i64::from(filter.limit.unwrap_or(100));
        let select = select.then_with(" ORDER BY created DESC, id DESC LIMIT ", limit);
        let rows = self.sql.all(select).await?;
        rows.iter().map(|row| record(row, now)).collect()
    }

    /// Number of pending requests at `now`, and when the first of them expires.
    pub async fn pending(&self, now: Timestamp) -> Result<(u64, Option<Timestamp>), StoreError> {
        let select = Statement::new(
            "SELECT COUNT(*) AS count, MIN(expires) AS expires FROM approval WHERE state = 'pending'",
        )
        .then_with(" AND expires > ", now);
        let Some(row) = self.sql.one(select).await? else {
            return Ok((0, None));
        };
        let count = u64::try_from(row.int("count")?).unwrap_or(0);
        Ok((count, row.int_or_null("expires")?.map(Timestamp)))
    }

    /// Deletes requests that expired before `before`; returns how many.
    pub async fn sweep(&self, before: Timestamp) -> Result<u64, StoreError> {
        // By expiry whatever the state: an answered request is retained as long as an open one, so that a late
        // second answer is told what was decided.
        let delete = Statement::new("DELETE FROM approval WHERE expires <= $1").bind(before);
        self.sql.run(delete).await
    }

    /// Marks expired requests; returns how many. Upkeep only: nothing depends on it.
    pub async fn expire(&self, now: Timestamp) -> Result<u64, StoreError> {
        let update = Statement::new(
            "UPDATE approval SET state = 'expired'
             WHERE state IN ('pending', 'approved', 'denied') AND expires <= $1",
        );
        let expired = self.sql.run(update.bind(now)).await?;
        if expired > 0 {
            self.changes.notify();
        }
        Ok(expired)
    }
}

async fn find(tx: &mut Tx, id: ApprovalId, now: Timestamp) -> Result<ApprovalRecord, StoreError> {
    let select = Statement::new(COLUMNS).then_with(" WHERE id = ", id.to_string());
    match tx.one(select).await? {
        Some(row) => record(&row, now),
        None => Err(StoreError::not_found(format!("approval {id}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestHome, ids};
    use manyhands_core::{AgentId, Effects};
    use serde_json::json;

    const NOW: Timestamp = Timestamp(1_000);
    const LATER: Timestamp = Timestamp(2_000);

    fn question(fingerprint: &str) -> NewApproval {
        NewApproval {
            id: ids().next(),
            caller: "client:laptop:1".to_owned(),
            caller_name: "laptop".to_owned(),
            agent: AgentId::main(),
            session: None,
            tool: "tool::shell".to_owned(),
            arguments: json!({ "command": "ls 'a b'", "n": 1.5, "ü": null }),
            fingerprint: fingerprint.to_owned(),
            effects: Effects::RUNS.and(Effects::WRITES),
            proposal: None,
            taint: manyhands_core::Taint::NONE,
            rule: "shell asks".to_owned(),
            reason: Some("because".to_owned()),
            expires: LATER,
        }
    }

    async fn opened(home: &TestHome) -> Approvals {
        home.open().await.approvals().clone()
    }

    #[tokio::test]
    async fn the_same_call_has_one_request_which_survives_reopening() {
        let home = TestHome::new();
        let first = opened(&home)
            .await
            .open_or_find(&question("f"), NOW)
            .await
            .unwrap();
        assert_eq!(first.state, ApprovalState::Pending);
        assert_eq!(first.arguments, question("f").arguments);
        let approvals = opened(&home).await;
        let second = approvals.open_or_find(&question("f"), NOW).await.unwrap();
        assert_eq!(second, first);
        let other = approvals.open_or_find(&question("g"), NOW).await.unwrap();
        assert_ne!(other.id, first.id);
        assert_eq!(approvals.get(first.id, NOW).await.unwrap(), Some(first));
        let all = approvals
            .list(&ApprovalFilter::default(), NOW)
            .await
            .unwrap();
        assert_eq!(all.len(), 2);
    }

    #[tokio::test]
    async fn concurrent_equal_calls_share_one_request() {
        let home = TestHome::new();
        let approvals = opened(&home).await;
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let approvals = approvals.clone();
            tasks.spawn(async move {
                approvals
                    .open_or_find(&question("f"), NOW)
                    .await
                    .unwrap()
                    .id
            });
        }
        let asked: std::collections::HashSet<_> = tasks.join_all().await.into_iter().collect();
        assert_eq!(asked.len(), 1);
    }

    #[tokio::test]
    async fn an_approval_is_used_exactly_once_by_a_hundred_tasks() {
        let home = TestHome::new();
        let approvals = opened(&home).await;
        let asked = approvals.open_or_find(&question("f"), NOW).await.unwrap();
        assert!(
            !approvals
                .consume(asked.id, ids().next(), NOW)
                .await
                .unwrap(),
            "pending"
        );
        approvals
            .decide(
                asked.id,
                ApprovalDecision::Approve(ApprovalScope::Once),
                None,
                "owner",
                NOW,
            )
            .await
            .unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let approvals = approvals.clone();
            let call: CallId = ids().next();
            tasks.spawn(
                async move { (approvals.consume(asked.id, call, NOW).await.unwrap(), call) },
            );
        }
        let results = tasks.join_all().await;
        let winners: Vec<_> = results.iter().filter(|(won, _)| *won).collect();
        assert_eq!(winners.len(), 1);
        let used = approvals.get(asked.id, NOW).await.unwrap().unwrap();
        assert_eq!(used.state, ApprovalState::Used);
        assert_eq!(used.used_by_call, Some(winners[0].1));
        let again = approvals.open_or_find(&question("f"), NOW).await.unwrap();
        assert_ne!(again.id, asked.id, "the next such call asks anew");
    }

    #[tokio::test]
    async fn a_request_is_answered_once() {
        let home = TestHome::new();
        let approvals = opened(&home).await;
        let asked = approvals.open_or_find(&question("f"), NOW).await.unwrap();
        let denied = approvals
            .decide(asked.id, ApprovalDecision::Deny, None, "anna", NOW)
            .await
            .unwrap();
        assert_eq!(
            (denied.state, denied.decided_by.as_deref()),
            (ApprovalState::Denied, Some("anna"))
        );
        let error = approvals
            .decide(
                asked.id,
                ApprovalDecision::Approve(ApprovalScope::Once),
                None,
                "bert",
                NOW,
            )
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("approval {} is already denied", asked.id)
        );
        assert_eq!(
            approvals.get(asked.id, NOW).await.unwrap(),
            Some(denied.clone())
        );
        let again = approvals.open_or_find(&question("f"), NOW).await.unwrap();
        assert_eq!(again, denied, "a no holds until it expires");
        let missing = approvals
            .decide(ids().next(), ApprovalDecision::Deny, None, "anna", NOW)
            .await;
        assert!(matches!(missing, Err(StoreError::NotFound { .. })));
    }

    #[tokio::test]
    async fn an_expired_request_can_be_neither_approved_nor_used() {
        let home = TestHome::new();
        let approvals = opened(&home).await;
        let stale = approvals.open_or_find(&question("f"), NOW).await.unwrap();
        let agreed = approvals.open_or_find(&question("g"), NOW).await.unwrap();
        approvals
            .decide(
                agreed.id,
                ApprovalDecision::Approve(ApprovalScope::Once),
                None,
                "owner",
                NOW,
            )
            .await
            .unwrap();
        let late = approvals
            .decide(
                stale.id,
                ApprovalDecision::Approve(ApprovalScope::Once),
                None,
                "owner",
                LATER,
            )
            .await;
        assert!(matches!(late, Err(StoreError::Settled { state, .. }) if state == "expired"));
        assert!(
            !approvals
                .consume(agreed.id, ids().next(), LATER)
                .await
                .unwrap()
        );
        let seen = approvals.get(agreed.id, LATER).await.unwrap().unwrap();
        assert_eq!(
            (seen.state, seen.used_by_call),
            (ApprovalState::Expired, None)
        );
        let fresh = NewApproval {
            expires: Timestamp(9_000),
            ..question("f")
        };
        let anew = approvals.open_or_find(&fresh, LATER).await.unwrap();
        assert_ne!(anew.id, stale.id);
        assert_eq!(
            approvals.expire(LATER).await.unwrap(),
            1,
            "the approved one; the other was retired"
        );
        let before = Timestamp(1_999);
        assert!(
            !approvals
                .consume(agreed.id, ids().next(), before)
                .await
                .unwrap()
        );
    }

    #[tokio::test]
    async fn a_withdrawn_request_cannot_be_answered_and_is_opened_again() {
        let home = TestHome::new();
        let store = home.open().await;
        let approvals = store.approvals();
        let first = approvals.open_or_find(&question("f"), Timestamp(1)).await;
        let id = first.unwrap().id;
        assert!(approvals.withdraw(id, Timestamp(2)).await.unwrap());
        assert!(!approvals.withdraw(id, Timestamp(2)).await.unwrap());
        let late = approvals.decide(
            id,
            ApprovalDecision::Approve(ApprovalScope::Once),
            None,
            "o",
            Timestamp(3),
        );
        let late = late.await;
        assert!(matches!(late, Err(StoreError::Settled { state, .. }) if state == "withdrawn"));
        assert_eq!(approvals.pending(Timestamp(3)).await.unwrap().0, 0);
        let mut anew = question("f");
        anew.id = ApprovalId(uuid::Uuid::from_u128(77));
        anew.session = Some("agent:main:main".to_owned());
        let second = approvals.open_or_find(&anew, Timestamp(4)).await.unwrap();
        assert_eq!(second.id, anew.id);
        assert_eq!(second.session.as_deref(), Some("agent:main:main"));
        approvals
            .decide(
                second.id,
                ApprovalDecision::Approve(ApprovalScope::Once),
                None,
                "o",
                Timestamp(5),
            )
            .await
            .unwrap();
        assert!(
            !approvals.withdraw(second.id, Timestamp(6)).await.unwrap(),
            "what was answered is"
        );
    }

    #[tokio::test]
    async fn listings_follow_the_clock_not_the_stored_state() {
        let home = TestHome::new();
        let approvals = opened(&home).await;
        approvals.open_or_find(&question("f"), NOW).await.unwrap();
        let count = async |state, now| {
            let filter = ApprovalFilter {
                state: Some(state),
                caller: Some("client:laptop:1".to_owned()),
                limit: None,
            };
            approvals.list(&filter, now).await.unwrap().len()
        };
        assert_eq!(count(ApprovalState::Pending, NOW).await, 1);
        assert_eq!(count(ApprovalState::Expired, NOW).await, 0);
        assert_eq!(count(ApprovalState::Pending, LATER).await, 0);
        assert_eq!(count(ApprovalState::Expired, LATER).await, 1);
    }
}
