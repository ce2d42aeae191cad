//! `usage`: shows model usage and cost.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde_json::Value;

use crate::args::Usage;
use crate::context::CliContext;
use crate::remote::text;
use manyhands_terminal::output::{self, Done};

/// Shows usage by day, agent and model.
pub async fn run(usage: Usage, ctx: &CliContext) -> Done {
    let path = format!("/api/usage?days={}", usage.days);
    let used = ctx.remote()?.get(&path).await?;
    if usage.json {
        output::json(&used);
        return Ok(ExitCode::SUCCESS);
    }
    let rows = used["rows"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if rows.is_empty() {
        output::print_line(format!("no model usage since {}", text(&used["since"])));
        return Ok(ExitCode::SUCCESS);
    }
    let mut table: Vec<Vec<String>> = by_day(rows)
        .into_iter()
        .map(|((day, agent, model), sums)| {
            let mut row = vec![day, agent, model];
            row.extend(sums.cells());
            row
        })
        .collect();
    let mut total = vec!["total".to_owned(), String::new(), String::new()];
    total.extend(Sums::of(&used["total"]).cells());
    table.push(total);
    let header = ["day", "agent", "model", "calls", "input", "output", "cost"];
    output::table(&header, table);
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    calls: u64,
    input: u64,
    output: u64,
    cost: u64,
}

impl Sums {
    fn of(row: &Value) -> Self {
        let count = |name: &str| row[name].as_u64().unwrap_or_default();
        Self {
            calls: count("calls"),
            input: count("inputTokens"),
            output: count("outputTokens"),
            cost: count("costMicros"),
        }
    }

    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.input += other.input;
        self.output += other.output;
        self.cost += other.cost;
    }

    fn cells(&self) -> [String; 4] {
        let calls = self.calls.to_string();
        [
            calls,
            tokens(self.input),
            tokens(self.output),
            dollars(self.cost),
        ]
    }
}

/// Adds up the sessions of each day.
fn by_day(rows: &[Value]) -> BTreeMap<(String, String, String), Sums> {
    let mut days: BTreeMap<_, Sums> = BTreeMap::new();
    for row in rows {
        let key = (text(&row["day"]), text(&row["agent"]), text(&row["model"]));
        days.entry(key).or_default().add(&Sums::of(row));
    }
    days
}

/// Formats a number of tokens.
pub fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Formats a cost given in millionths of a dollar.
pub fn dollars(micros: u64) -> String {
    let dollars = micros as f64 / 1e6;
    match micros {
        0 => "$0".to_owned(),
        // Below ten cents two digits would hide what a call costs.
        1..100_000 => format!("${dollars:.4}"),
        _ => format!("${dollars:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [tokens(9_999), tokens(12_345), tokens(2_500_000)],
            ["9999", "12.3k", "2.5M"]
        );
        assert_eq!(
            [dollars(0), dollars(1_500), dollars(12_340_000)],
            ["$0", "$0.0015", "$12.34"]
        );
    }

    #[test]
    fn sessions_of_a_day_are_one_row() {
        let row = |session: &str| {
            json!({ "day": "2026-11-15", "agent": "main", "model": "p/m", "sessionKey": session,
                "calls": 2, "inputTokens": 10, "outputTokens": 5, "costMicros": 7 })
        };
        let days = by_day(&[row("a"), row("b")]);
        assert_eq!(days.len(), 1);
        let sums = days.values().next().expect("a day");
        assert_eq!(sums.cells(), ["4", "20", "10", "$0.0000"]);
    }
}
