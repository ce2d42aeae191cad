//! `audit`: lists and verifies the audit log.

use std::process::ExitCode;

use manyhands_core::Timestamp;
use manyhands_store::VerifyFrom;
use serde_json::{Value, json};

use super::call::encode;
use crate::args::Audit;
use crate::context::CliContext;
use crate::remote::text;
use manyhands_terminal::output::{self, Done};

/// Lists entries, or verifies the chain.
pub async fn run(audit: Audit, ctx: &CliContext) -> Done {
    match audit {
        Audit::List {
            tool,
            caller,
            agent,
            call,
            status,
            after,
            before,
            limit,
            json,
        } => {
            let mut path = format!("/api/audit?limit={limit}");
            for (key, value) in [
                ("tool", tool),
                ("caller", caller),
                ("agent", agent.map(|agent| agent.to_string())),
                ("call", call),
                ("status", status),
                ("after", after.map(|seq| seq.to_string())),
                ("before", before.map(|seq| seq.to_string())),
            ] {
                if let Some(value) = value {
                    path.push_str(&format!("&{key}={}", encode(&value)));
                }
            }
            let listed = ctx.remote()?.get(&path).await?;
            if json {
                output::json(&listed);
            } else {
                let entries = listed["entries"].as_array().into_iter().flatten();
                output::table(
                    &[
                        "seq", "time", "kind", "caller", "tool", "status", "duration",
                    ],
                    entries.map(row).collect(),
                );
            }
            Ok(ExitCode::SUCCESS)
        }
        Audit::Verify => verify(ctx).await,
    }
}

fn row(entry: &Value) -> Vec<String> {
    let at = entry["at"]
        .as_i64()
        .map_or_else(String::new, |ms| Timestamp(ms).rfc3339());
    let status = [text(&entry["status"]), text(&entry["code"])].join(" ");
    let took = entry["durationUs"]
        .as_f64()
        .map_or_else(String::new, |us| format!("{:.1} ms", us / 1_000.0));
    vec![
        text(&entry["seq"]),
        at,
        text(&entry["kind"]),
        text(&entry["caller"]),
        text(&entry["tool"]),
        status.trim().to_owned(),
        took,
    ]
}

/// Asks the running gateway, or verifies the home itself if none is running.
async fn verify(ctx: &CliContext) -> Done {
    // A running gateway holds the lock of the home.
    let verdict = if ctx.running().is_some() {
        ctx.remote()?
            .expect_post("/api/audit/verify", &json!({}))
            .await?
    } else {
        let (_lock, store) = ctx.store().await?;
        let verdict = store.audit().verify(VerifyFrom::Genesis).await?;
        // Closed before the verdict is printed: the WAL is checkpointed and the lock released.
        store.close().await?;
        json!(verdict)
    };
    if verdict["ok"] == true {
        output::print_line(format!(
            "audit log verified: {} entries",
            verdict["checked"]
        ));
        if let Some(removed @ 1..) = verdict["removed"].as_u64() {
            output::print_line(format!(
                "{removed} older entries were removed by retention; the sealed checkpoint proves that nothing else was removed"
            ));
        }
        return Ok(ExitCode::SUCCESS);
    }
    output::print_line(format!(
        "ERROR the audit log was tampered with: {} entries checked",
        verdict["checked"]
    ));
    for problem in verdict["problems"].as_array().into_iter().flatten() {
        output::print_line(format!(
            "  entry {}: {}",
            problem["seq"],
            text(&problem["what"])
        ));
    }
    Ok(ExitCode::FAILURE)
}
