//! Numbers and durations of calls.

use manyhands_core::Timestamp;

use super::Audit;
use crate::error::StoreError;
use crate::sql::Statement;

/// Numbers and durations of calls in a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCounts {
    /// The tool; empty for all of them together.
    pub tool: String,
    /// Number of ended calls.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// Median duration in microseconds.
    pub p50_us: Option<u64>,
    /// 95th percentile of durations, in microseconds.
    pub p95_us: Option<u64>,
}

/// How calls are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountBy {
    /// By tool.
    Tool,
    /// All tools together.
    All,
}

// Nearest-rank percentiles, computed by the database: the alternative is to load every duration and sort it here.
const PERCENTILES: &str = "SELECT tool, MAX(calls) AS calls, SUM(failed) AS errors,
        MIN(CASE WHEN place * 2 >= calls THEN duration_us END) AS p50,
        MIN(CASE WHEN place * 20 >= calls * 19 THEN duration_us END) AS p95
    FROM (SELECT tool, duration_us, CASE WHEN status = 'error' THEN 1 ELSE 0 END AS failed,
            ROW_NUMBER() OVER (PARTITION BY tool ORDER BY COALESCE(duration_us, 0)) AS place,
            COUNT(*) OVER (PARTITION BY tool) AS calls
        FROM (SELECT ";
const LATEST: &str = ", status, duration_us FROM audit WHERE kind = 'finished'";

impl Audit {
    /// Counts calls that ended from `from` until before `until`: the latest `most` of them, and of those the `tools` called
    /// most.
    pub async fn counts(
        &self,
        by: CountBy,
        from: Timestamp,
        until: Timestamp,
        most: u32,
        tools: u32,
    ) -> Result<Vec<CallCounts>, StoreError> {
        let select = Statement::new(PERCENTILES)
            .then(match by {
                CountBy::Tool => "tool",
                CountBy::All => "'' AS tool",
            })
            .then(LATEST)
            .then_with(" AND at >= ", from)
            .then_with(" AND at < ", until)
            .then_with(" ORDER BY at DESC LIMIT ", i64::from(most))
            .then(") AS latest) AS ranked GROUP BY tool ORDER BY 2 DESC, tool")
            .then_with(" LIMIT ", i64::from(tools));
        let rows = self.sql.all(select).await?;
        let number = |value: i64| u64::try_from(value).unwrap_or(0);
        rows.iter()
            .map(|row| {
                Ok(CallCounts {
                    tool: row.text("tool")?,
                    calls: number(row.int("calls")?),
                    errors: number(row.int("errors")?),
                    p50_us: row.int_or_null("p50")?.map(number),
                    p95_us: row.int_or_null("p95")?.map(number),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{AuditEntry, AuditKind, AuditStatus, Durability};
    use crate::testing::TestHome;

    const DAY: Timestamp = Timestamp(1_000_000);
    const NEXT: Timestamp = Timestamp(2_000_000);

    async fn ended(audit: &Audit, tool: &str, at: i64, status: AuditStatus, took: Option<u64>) {
        let entry = AuditEntry {
            tool: tool.to_owned(),
            status,
            duration_us: took,
            ..AuditEntry::new(AuditKind::Finished, Timestamp(at))
        };
        audit.record(entry, Durability::Soon).await.unwrap();
    }

    #[tokio::test]
    async fn calls_are_counted_within_their_span_and_their_lengths_are_ranked() {
        let home = TestHome::new();
        let store = home.open().await;
        let audit = store.audit();
        for number in 1..=100 {
            ended(
                audit,
                "a",
                1_000_000 + number,
                AuditStatus::Ok,
                Some(number.cast_unsigned()),
            )
            .await;
        }
        for took in [Some(7), None, Some(9)] {
            ended(audit, "b", 1_500_000, AuditStatus::Error, took).await;
        }
        ended(audit, "a", 999_999, AuditStatus::Ok, Some(5_000)).await;
        ended(audit, "a", 2_000_000, AuditStatus::Ok, Some(5_000)).await;
        let refused = AuditEntry {
            tool: "a".to_owned(),
            ..AuditEntry::new(AuditKind::Refused, DAY)
        };
        audit.record(refused, Durability::OnDisk).await.unwrap();
        let all = |by, most, tools| audit.counts(by, DAY, NEXT, most, tools);
        let (a, b) = (
            CallCounts {
                tool: "a".to_owned(),
                calls: 100,
                errors: 0,
                p50_us: Some(50),
                p95_us: Some(95),
            },
            CallCounts {
                tool: "b".to_owned(),
                calls: 3,
                errors: 3,
                p50_us: Some(7),
                p95_us: Some(9),
            },
        );
        let by_tool = all(CountBy::Tool, 1_000, 10).await.unwrap();
        assert_eq!(by_tool, [a.clone(), b.clone()]);
        assert_eq!(all(CountBy::Tool, 1_000, 1).await.unwrap(), [a]);
        let together = all(CountBy::All, 1_000, 1).await.unwrap();
        let counted = |one: &CallCounts| (one.tool.clone(), one.calls, one.errors);
        let counted: Vec<_> = together.iter().map(counted).collect();
        assert_eq!(counted, [(String::new(), 103, 3)]);
        // Only the latest are looked at: the three of b.
        assert_eq!(all(CountBy::Tool, 3, 10).await.unwrap(), [b]);
        let nothing = audit.counts(CountBy::All, Timestamp(0), Timestamp(9), 10, 1);
        assert_eq!(nothing.await.unwrap(), []);
    }

    #[tokio::test]
    async fn counting_reads_the_index_alone() {
        let home = TestHome::new();
        let store = home.open().await;
        let audit = store.audit();
        let explain = Statement::new("EXPLAIN QUERY PLAN ")
            .then("SELECT tool, status, duration_us FROM audit WHERE kind = 'finished'")
            .then_with(" AND at >= ", DAY)
            .then_with(" AND at < ", NEXT)
            .then_with(" ORDER BY at DESC LIMIT ", 10);
        let plan = audit.sql.all(explain).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.text("detail").unwrap()).collect();
        assert!(plan[0].contains("COVERING INDEX audit_ended"), "{plan:?}");
    }
}
