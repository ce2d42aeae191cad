//! Queries.

use manyhands_core::{CallId, Pattern, Timestamp};

use super::Audit;
use super::chain::{COLUMNS, StoredEntry};
use super::entry::{AuditRecord, AuditStatus, PART};
use crate::error::StoreError;
use crate::sql::Statement;

/// Rows read at a time.
const PAGE: i64 = 500;
const DEFAULT_LIMIT: u32 = 100;

/// Selects entries; all if empty.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Only tools whose name matches.
    pub tool: Option<Pattern>,
    /// Only this caller's.
    pub caller: Option<String>,
    /// Only those on behalf of this agent.
    pub agent: Option<String>,
    /// Only those of this call.
    pub call: Option<CallId>,
    /// Only those with this status.
    pub status: Option<AuditStatus>,
    /// Only those after this one.
    pub after_seq: Option<i64>,
    /// Only those before this one: the next page.
    pub before_seq: Option<i64>,
    /// Maximum number; default 100.
    pub limit: Option<u32>,
}

impl Audit {
    /// Matching entries, newest first.
    pub async fn query(&self, filter: &AuditFilter) -> Result<Vec<AuditRecord>, StoreError> {
        let limit = filter.limit.unwrap_or(DEFAULT_LIMIT) as usize;
        let pattern = filter.tool.as_ref().map(ToString::to_string);
        // A name without `*` is compared by the database, which has an index for it; patterns are matched below,
        // page by page.
        let literal = pattern.as_deref().filter(|text| !text.contains('*'));
        let mut before = filter.before_seq.unwrap_or(i64::MAX);
        let mut found = Vec::new();
        while found.len() < limit {
            // By number rather than by offset: entries are added meanwhile, and an offset would return some twice.
            let mut select = Statement::new(COLUMNS).then_with(" WHERE seq < ", before);
            if let Some(after) = filter.after_seq {
                select = select.then_with(" AND seq > ", after);
            }
            if let Some(caller) = &filter.caller {
                select = select.then_with(" AND caller = ", caller.as_str());
            }
            if let Some(agent) = &filter.agent {
                // Alone, or with an actor and a session after it.
                select = select.then_with(" AND (agent = ", agent.as_str());
                select = select.then_with(" OR (agent >= ", format!("{agent}{PART}"));
                let end = format!("{agent}{}", char::from(PART as u8 + 1));
                select = select.then_with(" AND agent < ", end).then("))");
            }
            if let Some(call) = filter.call {
                select = select.then_with(" AND call_id = ", call.to_string());
            }
            select = match filter.status {
                None => select,
                Some(AuditStatus::None) => select.then(" AND status = ''"),
                Some(AuditStatus::Ok) => select.then(" AND status = 'ok'"),
                Some(AuditStatus::Error) => select.then(" AND status = 'error'"),
            };
            if let Some(tool) = literal {
                select = select.then_with(" AND tool = ", tool);
            }
            let rows = self
                .sql
                .all(select.then_with(" ORDER BY seq DESC LIMIT ", PAGE))
                .await?;
            let last_page = (rows.len() as i64) < PAGE;
            for row in &rows {
                let (stored, hash) = StoredEntry::from_row(row)?;
                before = stored.seq;
                let record = stored.record(hash)?;
                let fits = |tool: &Pattern| tool.matches(&record.entry.tool);
                if filter.tool.as_ref().is_none_or(fits) {
                    found.push(record);
                }
            }
            if last_page {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// Calls that started and never ended: a crash cut them off.
    pub async fn unfinished(&self) -> Result<Vec<AuditRecord>, StoreError> {
        let select =
            // From the table of open calls: looking for starts without an end would read the whole audit at every
            // start.
            Statement::new(COLUMNS).then(" WHERE seq IN (SELECT seq FROM audit_open) ORDER BY seq");
        let rows = self.sql.all(select).await?;
        let record = |row| StoredEntry::from_row(row).and_then(|(entry, hash)| entry.record(hash));
        rows.iter().map(record).collect()
    }

    /// Number of calls of `caller` that ended since `at`.
    pub async fn count_since(&self, caller: &str, at: Timestamp) -> Result<u64, StoreError> {
        let count = Statement::new("SELECT COUNT(*) AS calls FROM audit WHERE kind = 'finished'")
            .then_with(" AND caller = ", caller)
            .then_with(" AND at >= ", at);
        let row = self.sql.one(count).await?;
        let calls = row.map_or(Ok(0), |row| row.int("calls"))?;
        Ok(u64::try_from(calls).unwrap_or(0))
    }
}
