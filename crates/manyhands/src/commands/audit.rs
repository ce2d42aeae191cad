//! `audit`: looked at, and verified.

use std::process::ExitCode;

use manyhands_core::Timestamp;
use manyhands_store::VerifyFrom;
use serde_json::{Value, json};

use super::call::encode;
use crate::args::Audit;
use crate::ground::Ground;
use crate::output::{self, Done};
use crate::remote::text;

/// Shows entries, or checks the chain.
pub async fn run(audit: Audit, ground: &Ground) -> Done {
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
            let listed = ground.remote()?.get(&path).await?;
            if json {
                output::json(&listed);
            } else {
                let entries = listed["entries"].as_array().into_iter().flatten();
                output::table(
                    &["seq", "when", "kind", "caller", "tool", "status", "took"],
                    entries.map(row).collect(),
                );
            }
            Ok(ExitCode::SUCCESS)
        }
        Audit::Verify => verify(ground).await,
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

/// Asks the running gateway, or looks at the home itself when none runs.
async fn verify(ground: &Ground) -> Done {
    let verdict = if ground.running().is_some() {
        ground
            .remote()?
            .expect_post("/api/audit/verify", &json!({}))
            .await?
    } else {
        let (_lock, store) = ground.store().await?;
        let verdict = store.audit().verify(VerifyFrom::Genesis).await?;
        store.close().await?;
        json!(verdict)
    };
    if verdict["ok"] == true {
        output::say(format!(
            "the audit is whole: {} entries checked",
            verdict["checked"]
        ));
        if let Some(removed @ 1..) = verdict["removed"].as_u64() {
            output::say(format!(
                "{removed} older entries were removed by retention; the sealed checkpoint proves that nothing else was"
            ));
        }
        return Ok(ExitCode::SUCCESS);
    }
    output::say(format!(
        "THE AUDIT WAS TAMPERED WITH: {} entries checked",
        verdict["checked"]
    ));
    for problem in verdict["problems"].as_array().into_iter().flatten() {
        output::say(format!(
            "  entry {}: {}",
            problem["seq"],
            text(&problem["what"])
        ));
    }
    Ok(ExitCode::FAILURE)
}
