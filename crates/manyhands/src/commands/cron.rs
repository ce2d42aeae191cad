//! `cron`: jobs with a schedule.

use std::process::ExitCode;

use manyhands_core::Envelope;
use manyhands_wire::CronPreviewParams;
use serde_json::{Map, Value, json};

use crate::args::{AddJob, Cron, EditJob, JobArgs, WhenArgs};
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::remote::{Remote, text};
use crate::socket::Socket;

/// Where jobs are seen to.
const TOOL: &str = "/api/tools/gsv__Cron";

/// Sees to the jobs.
pub async fn run(cron: Cron, ground: &Ground) -> Done {
    let remote = ground.remote()?;
    match cron {
        Cron::Status { agent, json } => {
            let mut asked = json!({ "action": "status" });
            if let Some(agent) = agent {
                asked["agentId"] = agent.as_str().into();
            }
            let status = ask(&remote, asked).await?;
            shown(json, &status, say_status);
        }
        Cron::List {
            agent,
            all,
            limit,
            offset,
            json,
        } => {
            let mut asked = json!({
                "action": "list", "includeDisabled": all, "limit": limit, "offset": offset
            });
            if let Some(agent) = agent {
                asked["agentId"] = agent.as_str().into();
            }
            let listed = ask(&remote, asked).await?;
            shown(json, &listed, say_jobs);
        }
        Cron::Add(add) => {
            let as_json = add.json;
            let job = new_job(add)?;
            let added = ask(&remote, json!({ "action": "add", "job": job })).await?;
            shown(as_json, &added, |added| say_job(&added["job"]));
        }
        Cron::Edit(edit) => {
            let (id, as_json) = (edit.id.clone(), edit.json);
            let asked = json!({ "action": "update", "id": id, "patch": patch(edit)? });
            let edited = ask(&remote, asked).await?;
            shown(as_json, &edited, |edited| say_job(&edited["job"]));
        }
        Cron::Remove { id } => {
            let done = ask(&remote, json!({ "action": "remove", "id": id })).await?;
            if done["removed"] != true {
                return Err(Failure(format!(
                    "there is no job {id}\nhint: manyhands cron list --all"
                )));
            }
            output::say(format!("{id} is gone"));
        }
        Cron::Run { id, due, json } => {
            let mode = if due || id.is_none() { "due" } else { "force" };
            let mut asked = json!({ "action": "run", "mode": mode });
            if let Some(id) = id {
                asked["id"] = id.into();
            }
            let ran = ask(&remote, asked).await?;
            shown(json, &ran, say_results);
            let failed = |result: &Value| result["status"] == "error";
            if results(&ran, "results").iter().any(failed) {
                return Ok(ExitCode::FAILURE);
            }
        }
        Cron::Preview { when, count, json } => {
            let asked = CronPreviewParams {
                schedule: schedule(&when)?.ok_or_else(no_schedule)?,
                tz: None,
                count: Some(count),
            };
            let socket = Socket::open(remote.url(), remote.token()).await;
            let mut socket = socket.map_err(refused)?;
            let preview = socket.ask(&asked, |_| {}).await.map_err(refused)?;
            shown(json, &preview, say_preview);
        }
        Cron::Runs {
            id,
            limit,
            offset,
            json,
        } => {
            let mut asked = json!({ "action": "runs", "limit": limit, "offset": offset });
            if let Some(id) = id {
                asked["jobId"] = id.into();
            }
            let runs = ask(&remote, asked).await?;
            shown(json, &runs, say_runs);
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn ask(remote: &Remote, arguments: Value) -> Result<Value, Failure> {
    remote.expect_post(TOOL, &arguments).await
}

fn shown(as_json: bool, value: &Value, say: impl FnOnce(&Value)) {
    match as_json {
        true => output::json(value),
        false => say(value),
    }
}

fn results(value: &Value, key: &str) -> Vec<Value> {
    value[key].as_array().cloned().unwrap_or_default()
}

fn new_job(add: AddJob) -> Result<Value, Failure> {
    let mut job = fields(&add.said)?;
    if !job.contains_key("schedule") {
        return Err(no_schedule());
    }
    if add.said.message.is_none() && add.said.event.is_none() {
        let what = "say what: --message TEXT for a task, or --event TEXT for the main conversation";
        return Err(Failure(what.to_owned()));
    }
    job.insert("name".to_owned(), add.name.into());
    if add.disabled {
        job.insert("enabled".to_owned(), false.into());
    }
    Ok(job.into())
}

fn patch(edit: EditJob) -> Result<Value, Failure> {
    let mut patch = fields(&edit.said)?;
    if let Some(name) = edit.name {
        patch.insert("name".to_owned(), name.into());
    }
    if edit.enable || edit.disable {
        patch.insert("enabled".to_owned(), edit.enable.into());
    }
    match patch.is_empty() {
        true => Err(Failure("say what to change; see --help".to_owned())),
        false => Ok(patch.into()),
    }
}

fn no_schedule() -> Failure {
    let say = "say when: --at \"tomorrow at 9am\", --every 30m or --cron \"0 9 * * 1-5\"";
    Failure(say.to_owned())
}

fn refused(envelope: Envelope) -> Failure {
    Failure(envelope.error.unwrap_or_default())
}

/// When it is to be, as the tool wants it.
fn schedule(said: &WhenArgs) -> Result<Option<Value>, Failure> {
    Ok(match (&said.at, &said.every, &said.cron) {
        (Some(at), ..) => Some(json!({ "kind": "at", "at": at })),
        (_, Some(every), _) => {
            let mut schedule = json!({ "kind": "every", "everyMs": how_long(every)? });
            if let Some(anchor) = &said.anchor {
                schedule["anchor"] = anchor.as_str().into();
            }
            Some(schedule)
        }
        (.., Some(expr)) => {
            let mut schedule = json!({ "kind": "cron", "expr": expr });
            if let Some(tz) = &said.tz {
                schedule["tz"] = tz.as_str().into();
            }
            Some(schedule)
        }
        _ => None,
    })
}

/// What was said of a job, as the tool wants it.
fn fields(said: &JobArgs) -> Result<Map<String, Value>, Failure> {
    let mut job = Map::new();
    job.extend(schedule(&said.when)?.map(|schedule| ("schedule".to_owned(), schedule)));
    let spec = spec(said);
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
        said.agent.as_ref().map(|agent| agent.as_str().into()),
    );
    put("description", said.description.clone().map(Value::from));
    put("deleteAfterRun", said.delete_after_run.then(|| true.into()));
    put("missed", said.missed.clone().map(Value::from));
    put("missedWindowHours", said.missed_window.map(Value::from));
    put("overlap", said.overlap.clone().map(Value::from));
    Ok(job)
}

fn spec(said: &JobArgs) -> Map<String, Value> {
    let mut spec = Map::new();
    let deliver = match (said.deliver, said.no_deliver) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let text = |text: &Option<String>| text.clone().map(Value::from);
    let mode = match (&said.message, &said.event) {
        (Some(_), _) => Some("task".into()),
        (_, Some(_)) => Some("systemEvent".into()),
        _ => None,
    };
    for (name, value) in [
        ("mode", mode),
        ("message", text(&said.message)),
        ("text", text(&said.event)),
        ("deliver", deliver.map(Value::from)),
        ("channel", text(&said.channel)),
        ("to", text(&said.to)),
        ("model", text(&said.model)),
        ("thinking", text(&said.think)),
        ("timeoutSeconds", said.timeout.map(Value::from)),
        ("bestEffortDeliver", said.best_effort.then(|| true.into())),
    ] {
        spec.extend(value.map(|value| (name.to_owned(), value)));
    }
    spec
}

/// The milliseconds of `30s`, `15m`, `1h30m` or `2d`.
fn how_long(said: &str) -> Result<i64, Failure> {
    let wrong = || {
        Failure(format!(
            "--every {said} is no length of time; write 30s, 15m, 2h, 1d or 1h30m"
        ))
    };
    let (mut total, mut digits) = (0_i64, String::new());
    for c in said.trim().chars() {
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
        total = more.ok_or_else(wrong)?;
    }
    match digits.is_empty() && total > 0 {
        true => Ok(total),
        false => Err(wrong()),
    }
}

fn say_status(status: &Value) {
    let on = match status["enabled"] == true {
        true => "jobs run when they are due",
        false => "jobs run only by hand (cron.enabled is false)",
    };
    output::say(on);
    output::say(format!(
        "{} of {} jobs, {} due, {} running (at most {} at once)",
        status["count"],
        status["maxJobs"],
        status["dueCount"],
        status["runningCount"],
        status["maxConcurrentRuns"]
    ));
    output::say(format!("next run: {}", moment(&status["nextRunAtMs"])));
}

fn say_jobs(listed: &Value) {
    let jobs = results(listed, "jobs");
    if jobs.is_empty() {
        output::say(
            "there are no jobs\nhint: manyhands cron add --name NAME --every 30m --message TEXT",
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
            stands(job),
            moment(&state["nextRunAtMs"]),
            text(&state["lastStatus"]),
        ]
    });
    let header = ["id", "name", "agent", "when", "state", "next run", "last"];
    output::table(&header, rows.collect());
    let count = listed["count"].as_u64().unwrap_or_default();
    if count > jobs.len() as u64 {
        output::remark(format!(
            "there are {count} in all; see --limit and --offset"
        ));
    }
}

fn stands(job: &Value) -> String {
    let word = match (job["enabled"] == true, job["state"]["runningAtMs"].is_i64()) {
        (_, true) => "running",
        (true, _) => "on",
        _ => "off",
    };
    word.to_owned()
}

fn say_job(job: &Value) {
    let state = &job["state"];
    output::say(format!("{} {:?}", text(&job["id"]), text(&job["name"])));
    output::say(format!(
        "{}; it is {}",
        text(&job["scheduleText"]),
        stands(job)
    ));
    output::say(format!("next run: {}", moment(&state["nextRunAtMs"])));
}

fn say_preview(preview: &Value) {
    output::say(text(&preview["text"]));
    let times = results(preview, "times");
    for at in &times {
        output::say(format!("  {}", moment(at)));
    }
    if times.is_empty() {
        output::say("  never again");
    }
}

fn say_results(ran: &Value) {
    let results = results(ran, "results");
    if results.is_empty() {
        output::say("nothing is due");
    }
    for result in &results {
        let line = format!("{} {}", text(&result["jobId"]), text(&result["status"]));
        output::say(match told(result).as_str() {
            "" => line,
            told => format!("{line}: {told}"),
        });
    }
}

fn told(run: &Value) -> String {
    let error = text(&run["error"]);
    output::one_line(&match error.is_empty() {
        true => text(&run["summary"]),
        false => error,
    })
}

fn say_runs(listed: &Value) {
    let runs = results(listed, "runs");
    if runs.is_empty() {
        output::say("nothing has run yet");
        return;
    }
    let rows = runs.iter().map(|run| {
        let told: String = told(run).chars().take(80).collect();
        vec![
            moment(&run["scheduledAtMs"]),
            text(&run["jobId"]),
            text(&run["status"]),
            format!("{} ms", run["durationMs"]),
            told,
        ]
    });
    let header = ["for", "job", "status", "took", "what came of it"];
    output::table(&header, rows.collect());
    let count = listed["count"].as_u64().unwrap_or_default();
    if count > runs.len() as u64 {
        output::remark(format!(
            "there are {count} in all; see --limit and --offset"
        ));
    }
}

/// A moment for people.
fn moment(at_ms: &Value) -> String {
    match at_ms.as_i64() {
        Some(at) => manyhands_core::Timestamp(at).rfc3339(),
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_understood_or_refused() {
        for (said, ms) in [
            ("30s", 30_000),
            ("15m", 900_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
        ] {
            assert_eq!(how_long(said).unwrap(), ms);
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
            assert!(how_long(wrong).is_err(), "{wrong}");
        }
    }
}
