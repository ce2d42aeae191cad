//! `cron`: scheduled jobs.

use std::process::ExitCode;

use manyhands_core::Envelope;
use manyhands_wire::CronPreviewParams;
use serde_json::{Map, Value, json};

use crate::args::{AddJob, Cron, EditJob, JobArgs, WhenArgs};
use crate::context::CliContext;
use crate::remote::{Remote, text};
use crate::socket::Socket;
use manyhands_terminal::output::{self, Done, Failure};

/// The tool that manages jobs.
const TOOL: &str = "/api/tools/gsv__Cron";

/// Runs a `cron` command.
pub async fn run(cron: Cron, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match cron {
        Cron::Status { agent, json } => {
            let mut arguments = json!({ "action": "status" });
            if let Some(agent) = agent {
                arguments["agentId"] = agent.as_str().into();
            }
            let status = ask(&remote, arguments).await?;
            print(json, &status, print_status);
        }
        Cron::List {
            agent,
            all,
            limit,
            offset,
            json,
        } => {
            let mut arguments = json!({
                "action": "list", "includeDisabled": all, "limit": limit, "offset": offset
            });
            if let Some(agent) = agent {
                arguments["agentId"] = agent.as_str().into();
            }
            let listed = ask(&remote, arguments).await?;
            print(json, &listed, print_jobs);
        }
        Cron::Add(add) => {
            let as_json = add.json;
            let job = new_job(add)?;
            let added = ask(&remote, json!({ "action": "add", "job": job })).await?;
            print(as_json, &added, |added| print_job(&added["job"]));
        }
        Cron::Edit(edit) => {
            let (id, as_json) = (edit.id.clone(), edit.json);
            let arguments = json!({ "action": "update", "id": id, "patch": patch(edit)? });
            let edited = ask(&remote, arguments).await?;
            print(as_json, &edited, |edited| print_job(&edited["job"]));
        }
        Cron::Remove { id } => {
            let done = ask(&remote, json!({ "action": "remove", "id": id })).await?;
            if done["removed"] != true {
                return Err(Failure(format!(
                    "unknown job {id}\nhint: manyhands cron list --all"
                )));
            }
            output::print_line(format!("removed {id}"));
        }
        Cron::Run { id, due, json } => {
            // Running everything regardless of its schedule is never what is wanted.
            let mode = if due || id.is_none() { "due" } else { "force" };
            let mut arguments = json!({ "action": "run", "mode": mode });
            if let Some(id) = id {
                arguments["id"] = id.into();
            }
            let ran = ask(&remote, arguments).await?;
            print(json, &ran, print_results);
            // Judged by the status: a job may fail without an error text.
            let failed = |result: &Value| result["status"] == "error";
            // Scripts should notice a failed job; a skipped one is not a failure.
            if results(&ran, "results").iter().any(failed) {
                return Ok(ExitCode::FAILURE);
            }
        }
        Cron::Preview { when, count, json } => {
            let arguments = CronPreviewParams {
                schedule: schedule(&when)?.ok_or_else(no_schedule)?,
                tz: None,
                count: Some(count),
            };
            // Previews exist only on the socket.
            let socket = Socket::open(remote.url(), remote.token()).await;
            let mut socket = socket.map_err(refused)?;
            let preview = socket.request(&arguments, |_| {}).await.map_err(refused)?;
            print(json, &preview, print_preview);
        }
        Cron::Runs {
            id,
            limit,
            offset,
            json,
        } => {
            let mut arguments = json!({ "action": "runs", "limit": limit, "offset": offset });
            if let Some(id) = id {
                arguments["jobId"] = id.into();
            }
            let runs = ask(&remote, arguments).await?;
            print(json, &runs, print_runs);
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn ask(remote: &Remote, arguments: Value) -> Result<Value, Failure> {
    remote.expect_post(TOOL, &arguments).await
}

fn print(as_json: bool, value: &Value, show: impl FnOnce(&Value)) {
    match as_json {
        true => output::json(value),
        false => show(value),
    }
}

fn results(value: &Value, key: &str) -> Vec<Value> {
    value[key].as_array().cloned().unwrap_or_default()
}

fn new_job(add: AddJob) -> Result<Value, Failure> {
    let mut job = fields(&add.job)?;
    if !job.contains_key("schedule") {
        return Err(no_schedule());
    }
    if add.job.message.is_none() && add.job.event.is_none() {
        let what = "no task given: use --message TEXT for a task, or --event TEXT for a message in the main chat";
        return Err(Failure(what.to_owned()));
    }
    job.insert("name".to_owned(), add.name.into());
    if add.disabled {
        job.insert("enabled".to_owned(), false.into());
    }
    Ok(job.into())
}

fn patch(edit: EditJob) -> Result<Value, Failure> {
    let mut patch = fields(&edit.job)?;
    if let Some(name) = edit.name {
        patch.insert("name".to_owned(), name.into());
    }
    if edit.enable || edit.disable {
        patch.insert("enabled".to_owned(), edit.enable.into());
    }
    match patch.is_empty() {
        true => Err(Failure("nothing to change; see --help".to_owned())),
        false => Ok(patch.into()),
    }
}

fn no_schedule() -> Failure {
    let message =
        "no schedule given: use --at \"tomorrow at 9am\", --every 30m or --cron \"0 9 * * 1-5\"";
    Failure(message.to_owned())
}

fn refused(envelope: Envelope) -> Failure {
    Failure(envelope.error.unwrap_or_default())
}

/// Converts the options to the tool's schedule.
fn schedule(args: &WhenArgs) -> Result<Option<Value>, Failure> {
    Ok(match (&args.at, &args.every, &args.cron) {
        (Some(at), ..) => Some(json!({ "kind": "at", "at": at })),
        (_, Some(every), _) => {
            let mut schedule = json!({ "kind": "every", "everyMs": parse_duration(every)? });
            if let Some(anchor) = &args.anchor {
                schedule["anchor"] = anchor.as_str().into();
            }
            Some(schedule)
        }
        (.., Some(expr)) => {
            let mut schedule = json!({ "kind": "cron", "expr": expr });
            if let Some(tz) = &args.tz {
                schedule["tz"] = tz.as_str().into();
            }
            Some(schedule)
        }
        _ => None,
    })
}

/// Converts the options to the tool's job fields.
fn fields(args: &JobArgs) -> Result<Map<String, Value>, Failure> {
    let mut job = Map::new();
    job.extend(schedule(&args.when)?.map(|schedule| ("schedule".to_owned(), schedule)));
    let spec = spec(args);
    if !spec.is_empty() {
        job.insert("spec".to_owned(), spec.into());
    }
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            job.insert(name.to_owned(), value);
        }
    };
    put(
        "agentId",
        args.agent.as_ref().map(|agent| agent.as_str().into()),
    );
    put("description", args.description.clone().map(Value::from));
    put("deleteAfterRun", args.delete_after_run.then(|| true.into()));
    put("missed", args.missed.clone().map(Value::from));
    put("missedWindowHours", args.missed_window.map(Value::from));
    put("overlap", args.overlap.clone().map(Value::from));
    Ok(job)
}

fn spec(args: &JobArgs) -> Map<String, Value> {
    let mut spec = Map::new();
    let deliver = match (args.deliver, args.no_deliver) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let text = |text: &Option<String>| text.clone().map(Value::from);
    let mode = match (&args.message, &args.event) {
        (Some(_), _) => Some("task".into()),
        (_, Some(_)) => Some("systemEvent".into()),
        _ => None,
    };
    for (name, value) in [
        ("mode", mode),
        ("message", text(&args.message)),
        ("text", text(&args.event)),
        ("deliver", deliver.map(Value::from)),
        ("channel", text(&args.channel)),
        ("to", text(&args.to)),
        ("model", text(&args.model)),
        ("thinking", text(&args.think)),
        ("timeoutSeconds", args.timeout.map(Value::from)),
        ("bestEffortDeliver", args.best_effort.then(|| true.into())),
    ] {
        spec.extend(value.map(|value| (name.to_owned(), value)));
    }
    spec
}

/// Parses a duration such as `30s`, `15m`, `1h30m` or `2d` into milliseconds.
fn parse_duration(text: &str) -> Result<i64, Failure> {
    let wrong = || {
        Failure(format!(
            "--every {text} is not a duration; use for example 30s, 15m, 2h, 1d or 1h30m"
        ))
    };
    let (mut total, mut digits) = (0_i64, String::new());
    for c in text.trim().chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let unit: i64 = match c {
            's' => 1_000,
            'm' => 60_000,
            'h' => 3_600_000,
            'd' => 86_400_000,
            _ => return Err(wrong()),
        };
        let count: i64 = digits.parse().map_err(|_| wrong())?;
        digits.clear();
        let more = count
            .checked_mul(unit)
            .and_then(|more| total.checked_add(more));
        // Digits without end must not overflow into a short interval.
        total = more.ok_or_else(wrong)?;
    }
    match digits.is_empty() && total > 0 {
        true => Ok(total),
        false => Err(wrong()),
    }
}

fn print_status(status: &Value) {
    let on = match status["enabled"] == true {
        true => "scheduler enabled",
        false => "scheduler disabled: jobs run only on demand (cron.enabled = false)",
    };
    output::print_line(on);
    output::print_line(format!(
        "{} of {} jobs, {} due, {} running (limit {})",
        status["count"],
        status["maxJobs"],
        status["dueCount"],
        status["runningCount"],
        status["maxConcurrentRuns"]
    ));
    output::print_line(format!("next run: {}", format_time(&status["nextRunAtMs"])));
}

fn print_jobs(listed: &Value) {
    let jobs = results(listed, "jobs");
    if jobs.is_empty() {
        output::print_line(
            "no jobs\nhint: manyhands cron add --name NAME --every 30m --message TEXT",
        );
        return;
    }
    let rows = jobs.iter().map(|job| {
        let state = &job["state"];
        vec![
            text(&job["id"]),
            output::one_line(&text(&job["name"])),
            text(&job["agentId"]),
            text(&job["scheduleText"]),
            state_of(job),
            format_time(&state["nextRunAtMs"]),
            text(&state["lastStatus"]),
        ]
    });
    let header = [
        "id",
        "name",
        "agent",
        "schedule",
        "state",
        "next run",
        "last status",
    ];
    output::table(&header, rows.collect());
    let count = listed["count"].as_u64().unwrap_or_default();
    if count > jobs.len() as u64 {
        output::print_note(format!("{count} in total; see --limit and --offset"));
    }
}

fn state_of(job: &Value) -> String {
    let word = match (job["enabled"] == true, job["state"]["runningAtMs"].is_i64()) {
        (_, true) => "running",
        (true, _) => "enabled",
        _ => "disabled",
    };
    word.to_owned()
}

fn print_job(job: &Value) {
    let state = &job["state"];
    output::print_line(format!("{} {:?}", text(&job["id"]), text(&job["name"])));
    output::print_line(format!("{}; {}", text(&job["scheduleText"]), state_of(job)));
    output::print_line(format!("next run: {}", format_time(&state["nextRunAtMs"])));
}

fn print_preview(preview: &Value) {
    output::print_line(text(&preview["text"]));
    let times = results(preview, "times");
    for at in &times {
        output::print_line(format!("  {}", format_time(at)));
    }
    if times.is_empty() {
        output::print_line("  no more runs");
    }
}

fn print_results(ran: &Value) {
    let results = results(ran, "results");
    if results.is_empty() {
        output::print_line("no jobs are due");
    }
    for result in &results {
        let line = format!("{} {}", text(&result["jobId"]), text(&result["status"]));
        output::print_line(match summary(result).as_str() {
            "" => line,
            summary => format!("{line}: {summary}"),
        });
    }
}

fn summary(run: &Value) -> String {
    let error = text(&run["error"]);
    output::one_line(&match error.is_empty() {
        true => text(&run["summary"]),
        false => error,
    })
}

fn print_runs(listed: &Value) {
    let runs = results(listed, "runs");
    if runs.is_empty() {
        output::print_line("no runs yet");
        return;
    }
    let rows = runs.iter().map(|run| {
        let summary: String = summary(run).chars().take(80).collect();
        vec![
            format_time(&run["scheduledAtMs"]),
            text(&run["jobId"]),
            text(&run["status"]),
            format!("{} ms", run["durationMs"]),
            summary,
        ]
    });
    let header = ["scheduled", "job", "status", "duration", "result"];
    output::table(&header, rows.collect());
    let count = listed["count"].as_u64().unwrap_or_default();
    if count > runs.len() as u64 {
        output::print_note(format!("{count} in total; see --limit and --offset"));
    }
}

/// Formats a time in milliseconds.
fn format_time(at_ms: &Value) -> String {
    match at_ms.as_i64() {
        Some(at) => manyhands_core::Timestamp(at).rfc3339(),
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_or_refused() {
        for (said, ms) in [
            ("30s", 30_000),
            ("15m", 900_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
        ] {
            assert_eq!(parse_duration(said).unwrap(), ms);
        }
        for wrong in [
            "",
            "30",
            "m",
            "1x",
            "0s",
            "-5m",
            "99999999999999999999d",
            "1.5h",
        ] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
