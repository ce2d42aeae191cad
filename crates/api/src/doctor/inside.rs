//! Checks of a running gateway.

use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use manyhands_gateway::Gateway;
use manyhands_store::{AuditFilter, Inspection, JobFilter, StoreError, VerifyFrom};
use manyhands_upstream::Status;
use serde_json::json;
use tokio::time::timeout;

use super::{ChatAccount, Finding, chats, machine};

/// Time limit of one check.
const LIMIT: Duration = Duration::from_secs(5);
/// Time limit for checking database pages.
// Shorter than `LIMIT`, so that a large database is reported as such and not as a timeout.
const PAGES: Duration = Duration::from_secs(3);
/// Latest audit entries to verify.
const LATEST: i64 = 2_000;
/// How far an entry may be ahead of the clock before the clock is suspected, in milliseconds.
const AHEAD: i64 = 60_000;
/// Consecutive failed runs of a job before it is reported.
const FAILURES: i64 = 3;
/// Items of one kind listed individually.
const MAX_NAMED: usize = 20;
/// Jobs to check.
const MAX_JOBS: u32 = 1_000;

/// Runs all checks concurrently; reports those that time out.
pub(super) async fn diagnose(gateway: &Gateway) -> Vec<Finding> {
    type Check<'a> = (&'a str, BoxFuture<'a, Vec<Finding>>);
    let looks: Vec<Check<'_>> = vec![
        ("files", Box::pin(files(gateway))),
        ("database", Box::pin(database(gateway))),
        ("audit", Box::pin(audit(gateway))),
        ("vault", Box::pin(vault(gateway))),
        ("listening", Box::pin(async { vec![listening(gateway)] })),
        ("models", Box::pin(async { models(gateway) })),
        ("nodes", Box::pin(async { vec![nodes(gateway)] })),
        ("servers", Box::pin(async { servers(gateway) })),
        ("chats", Box::pin(of_chats(gateway))),
        ("jobs", Box::pin(jobs(gateway))),
        ("page", Box::pin(async { vec![page()] })),
        ("service", Box::pin(async { vec![service(gateway)] })),
        ("sandbox", Box::pin(machine::sandbox())),
    ];
    let bounded = looks.into_iter().map(|(what, look)| async move {
        // Each check on its own: one that is stuck must not hide the results of the others.
        timeout(LIMIT, look).await.unwrap_or_else(|_| {
            let why = format!(
                "the check did not finish within {} seconds",
                LIMIT.as_secs()
            );
            let remedy = "the machine may be busy: run the check again";
            vec![Finding::warning(what, why, remedy)]
        })
    });
    let mut found: Vec<Finding> = join_all(bounded).await.into_iter().flatten().collect();
    for one in &mut found {
        // Text from servers or platforms may contain secrets.
        let mut about = json!(one.about);
        gateway.redact(&mut about);
        one.about = about.as_str().unwrap_or_default().to_owned();
    }
    found
}

/// Checks the files of the home, off the async threads.
async fn files(gateway: &Gateway) -> Vec<Finding> {
    let (home, config) = (gateway.home().to_owned(), gateway.config_file().clone());
    let least = gateway.settings.current().limits.min_free_bytes;
    let now = gateway.clock.now();
    // Files may be on a slow disk or a network mount.
    let looked = tokio::task::spawn_blocking(move || {
        let mut found = vec![
            machine::home(&home),
            machine::settings(&config),
            machine::owner_token(&home),
            machine::space(&home, least),
        ];
        found.extend(machine::secret_files(&home));
        found.extend(machine::backups(&home, now));
        found
    });
    looked.await.unwrap_or_else(|error| {
        let remedy = "check the log and restart the gateway";
        vec![Finding::wrong("files", error.to_string(), remedy)]
    })
}

fn broken(what: &str, error: &StoreError) -> Finding {
    let remedy = "follow the message, or restore a backup with `manyhands restore`";
    Finding::wrong(what, error.to_string(), remedy)
}

async fn database(gateway: &Gateway) -> Vec<Finding> {
    let found = match gateway.store.inspect(PAGES).await {
        Ok(found) => found,
        Err(error) => return vec![broken("database", &error)],
    };
    let size = |bytes: u64| format!("{} MiB", bytes.div_ceil(1024 * 1024));
    vec![match found {
        Inspection::Intact { bytes } => Finding::fine(
            "database",
            format!("all pages are intact ({})", size(bytes)),
        ),
        Inspection::Incomplete { bytes } => Finding::fine(
            "database",
            format!(
                "responds; too large to check every page now ({})",
                size(bytes)
            ),
        ),
        Inspection::Damaged { what } => Finding::wrong(
            "database",
            what.join("; "),
            "copy the home folder, then restore a backup with `manyhands restore`",
        ),
    }]
}

/// Checks the end of the audit chain, and that the clock is not behind it.
async fn audit(gateway: &Gateway) -> Vec<Finding> {
    let audit = gateway.store.audit();
    let last = AuditFilter {
        limit: Some(1),
        ..AuditFilter::default()
    };
    let last = match audit.query(&last).await {
        Ok(found) => found.into_iter().next(),
        Err(error) => return vec![broken("audit", &error)],
    };
    let (seq, at) = last.map_or((0, None), |last| (last.seq, Some(last.entry.at)));
    // Only the end: verifying the whole log can take longer than a check may.
    let from = VerifyFrom::Seq((seq - LATEST).max(1));
    let chain = match audit.verify(from).await {
        Ok(verdict) if verdict.ok => Finding::fine(
            "audit",
            format!(
                "the latest {} of {seq} entries are intact; `manyhands audit verify` checks all",
                verdict.checked
            ),
        ),
        Ok(verdict) => {
            let first = verdict.problems.first();
            let what = first.map_or_else(String::new, |one| {
                format!(": entry {}: {}", one.seq, one.what)
            });
            Finding::wrong(
                "audit",
                format!("it was tampered with or damaged{what}"),
                "`manyhands audit verify` lists the differences; compare them with a backup",
            )
        }
        Err(error) => broken("audit", &error),
    };
    // The log is ordered by number, so a clock that was set back shows only here.
    let now = gateway.clock.now();
    let clock = match at {
        Some(at) if at.0 - now.0 > AHEAD => Finding::warning(
            "clock",
            format!(
                "it is {}, but the last audit entry is from {}",
                now.rfc3339(),
                at.rfc3339()
            ),
            "correct this machine's clock: jobs and expiries depend on it",
        ),
        _ => Finding::fine("clock", now.rfc3339()),
    };
    vec![chain, clock]
}

async fn vault(gateway: &Gateway) -> Vec<Finding> {
    vec![match gateway.store.vault().all().await {
        Ok(secrets) => Finding::fine("vault", format!("{} secrets are readable", secrets.len())),
        Err(error) => broken("vault", &error),
    }]
}

/// Checks who can reach the gateway, and whether traffic is encrypted.
fn listening(gateway: &Gateway) -> Finding {
    let what = "listening";
    let Some(listening) = gateway.listening() else {
        return Finding::fine(what, "not listening yet");
    };
    let public = gateway.settings.current().public_url.clone();
    match (
        listening.address.to_canonical().is_loopback(),
        listening.tls,
    ) {
        (true, _) => match public {
            None => Finding::fine(what, "only reachable from this machine"),
            Some(url) if url.starts_with("http://") => Finding::warning(
                what,
                format!("reachable at {url}, where tokens are sent unencrypted"),
                "enable TLS on the reverse proxy and set public_url to its https address",
            ),
            Some(url) => Finding::fine(what, format!("reachable from this machine, and at {url}")),
        },
        (false, true) => Finding::fine(what, format!("on {} with TLS", listening.address)),
        (false, false) => Finding::warning(
            what,
            format!(
                "connections to {} are unencrypted, tokens included",
                listening.address
            ),
            "set tls.cert and tls.key, or listen on 127.0.0.1 behind a TLS reverse proxy",
        ),
    }
}

fn models(gateway: &Gateway) -> Vec<Finding> {
    let mut found = vec![machine::models(&gateway.settings.current().models)];
    let problems = gateway.model_registry.now().problems().to_vec();
    let remedy = "fix [models] in config.toml; `manyhands models` lists the providers";
    found.extend(
        problems
            .into_iter()
            .take(MAX_NAMED)
            .map(|why| Finding::wrong("models", why, remedy)),
    );
    found
}

fn nodes(gateway: &Gateway) -> Finding {
    let nodes = gateway.nodes.list();
    let online = nodes.iter().filter(|node| node.online).count();
    Finding::fine("nodes", format!("{} known, {online} online", nodes.len()))
}

fn servers(gateway: &Gateway) -> Vec<Finding> {
    let all = gateway.servers.all();
    let mut found = Vec::new();
    for server in &all {
        let name = server.name();
        let failing = server.statuses().into_iter().find_map(|(_, status)| {
            let Status::Failing { error, .. } = status else {
                return None;
            };
            Some(error)
        });
        if let Some(why) = failing.or_else(|| server.problem()) {
            let remedy = format!(
                "test it with `manyhands mcp test {name}`; see its log with `manyhands mcp logs {name}`"
            );
            found.push(Finding::warning(
                "servers",
                format!("{name}: {why}"),
                remedy,
            ));
        }
        let pins = server.pins();
        let held = pins.iter().filter(|pin| pin.pending.is_some()).count();
        if held > 0 {
            let what = match held {
                1 => "1 tool differs from its accepted definition and is held back".to_owned(),
                _ => {
                    format!("{held} tools differ from their accepted definitions and are held back")
                }
            };
            let why = format!("{name}: {what}");
            let remedy = format!("review the differences with `manyhands mcp accept {name}`");
            found.push(Finding::warning("servers", why, remedy));
        }
    }
    // A gateway may have hundreds of servers; the report stays readable.
    let more = found.len().saturating_sub(MAX_NAMED);
    found.truncate(MAX_NAMED);
    if more > 0 {
        let remedy = "`manyhands mcp list` shows their status";
        found.push(Finding::warning(
            "servers",
            format!("and {more} more"),
            remedy,
        ));
    }
    if found.is_empty() && !all.is_empty() {
        found.push(Finding::fine(
            "servers",
            format!("{} configured, none failing", all.len()),
        ));
    }
    found
}

async fn of_chats(gateway: &Gateway) -> Vec<Finding> {
    let accounts = gateway.chats().status().await.into_iter().map(|one| {
        let (state, detail) = one.words();
        ChatAccount {
            state,
            detail,
            channel: one.channel,
            account: one.account,
        }
    });
    let accounts: Vec<ChatAccount> = accounts.collect();
    let records = gateway.chats().records();
    match (records.backlog().await, records.undelivered().await) {
        (Ok(inbox), Ok(outbox)) => chats(&accounts, &inbox, &outbox),
        (Err(error), _) | (_, Err(error)) => vec![broken("chats", &error)],
    }
}

async fn jobs(gateway: &Gateway) -> Vec<Finding> {
    let listed = gateway
        .store
        .cron()
        .list(JobFilter::default(), MAX_JOBS, 0)
        .await;
    let (jobs, count) = match listed {
        Ok(listed) => listed,
        Err(error) => return vec![broken("jobs", &error)],
    };
    let failing = jobs.iter().filter(|job| job.failures >= FAILURES);
    let mut found: Vec<Finding> = failing
        .take(MAX_NAMED)
        .map(|job| {
            let why = format!("{:?} failed {} times in a row", job.name, job.failures);
            let remedy = format!("`manyhands cron runs {}` shows why", job.id);
            Finding::warning("jobs", why, remedy)
        })
        .collect();
    if count > 0 && found.is_empty() {
        found.push(Finding::fine("jobs", format!("{count} enabled")));
    }
    found
}

/// The service's definition sets this variable; nothing else does.
fn service(gateway: &Gateway) -> Finding {
    let is_service = gateway
        .tool_deps
        .host
        .variable("MANYHANDS_SERVICE")
        .is_some();
    machine::service(is_service)
}

fn page() -> Finding {
    match manyhands_page::files().is_empty() {
        false => Finding::fine("page", "built in, served at /"),
        true => Finding::warning(
            "page",
            "not built into this program",
            "build it with `make up`, which needs Node.js",
        ),
    }
}
