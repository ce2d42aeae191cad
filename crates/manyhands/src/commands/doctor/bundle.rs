//! `doctor --bundle`: a report for a bug report. It contains no secret and no message.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use manyhands_api::doctor::Finding;
use manyhands_config::{is_secret_key, masked, masked_text};
use manyhands_core::Secret;
use manyhands_gateway::OWNER_TOKEN_FILE;
use manyhands_guard::Redactor;
use manyhands_store::Store;
use serde_json::{Value, json};
use tar::{Builder, Header};

use crate::args::ServiceSelector;
use crate::commands::service::Installed;
use crate::commands::upgrade;
use crate::context::CliContext;
use manyhands_service_manager::Session;
use manyhands_terminal::output::Failure;

/// Log lines in the report.
const LOG_LINES: u32 = 500;
/// Folder in the archive.
const FOLDER: &str = "manyhands-report";

/// Writes the report.
pub async fn write(file: &Path, findings: &[Finding], ctx: &CliContext) -> Result<(), Failure> {
    let known = known_secrets(ctx).await;
    let redactor = Redactor::new(&known.secrets);
    // Known secrets first, then whatever looks like one: a text that was masked no longer matches.
    let clean = |text: &str| without_login_codes(&masked_text(&redactor.text(text)));
    let log = match known.vault_was_read {
        true => log(ctx).await,
        // Without its secrets nobody can tell whether they are in the log.
        false => {
            "left out: the vault could not be opened, so its secrets cannot be redacted".to_owned()
        }
    };
    let log: Vec<String> = log.lines().map(clean).collect();
    let parts = [
        ("doctor.txt", clean_lines(&super::lines(findings), clean)),
        ("platform.json", format!("{:#}\n", platform(ctx).await)),
        ("settings.json", indented(clean(&settings(ctx)))),
        ("service.txt", clean(&service(ctx))),
        ("log.txt", log.join("\n") + "\n"),
    ];
    let failed = |e: std::io::Error| Failure(format!("cannot write {}: {e}", file.display()));
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    let mut made = made.map_err(failed)?;
    pack(&mut made, &parts, ctx).map_err(failed)
}

/// Masks the codes of login links, which a gateway that is not a service prints when it starts.
fn without_login_codes(text: &str) -> String {
    let mut parts = text.split("#code=");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_hexdigit());
        clean.push_str("#code=***");
        clean.push_str(&part[end.unwrap_or(part.len())..]);
    }
    clean
}

/// JSON for people: masking leaves it on one line.
fn indented(json: String) -> String {
    match serde_json::from_str::<Value>(&json) {
        Ok(value) => format!("{value:#}\n"),
        Err(_) => json,
    }
}

fn clean_lines(lines: &[String], clean: impl Fn(&str) -> String) -> String {
    let lines: Vec<String> = lines.iter().map(|line| clean(line)).collect();
    lines.join("\n") + "\n"
}

fn pack(file: impl Write, parts: &[(&str, String)], ctx: &CliContext) -> std::io::Result<()> {
    let mut tar = Builder::new(GzEncoder::new(file, Compression::default()));
    let seconds = u64::try_from(ctx.clock.now().0 / 1_000).unwrap_or(0);
    for (name, text) in parts {
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        header.set_mtime(seconds);
        tar.append_data(&mut header, format!("{FOLDER}/{name}"), text.as_bytes())?;
    }
    tar.into_inner()?.finish()?.flush()
}

/// The secrets that may be in the texts of a report.
struct Known {
    secrets: Vec<Secret>,
    /// Whether those of the vault are among them, if it has any.
    vault_was_read: bool,
}

async fn known_secrets(ctx: &CliContext) -> Known {
    let mut secrets: Vec<Secret> = ctx.given_token().cloned().into_iter().collect();
    secrets.extend(ctx.passphrase());
    for (name, value) in ctx.environment() {
        if is_secret_key(&name) || name.to_ascii_lowercase().ends_with("key") {
            secrets.push(Secret::new(value));
        }
    }
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    secrets.push(Secret::new(read(&ctx.home.join(OWNER_TOKEN_FILE)).trim()));
    for line in read(&ctx.home.join("service.env")).lines() {
        if let Some((_, value)) = line.split_once('=') {
            secrets.push(Secret::new(value.trim().trim_matches(['"', '\''])));
        }
    }
    let nodes = std::fs::read_dir(ctx.home.join("nodes"));
    for entry in nodes.into_iter().flatten().flatten() {
        let stored: Value = serde_json::from_str(&read(&entry.path())).unwrap_or_default();
        secrets.extend(stored["token"].as_str().map(Secret::new));
    }
    if let Ok((settings, _)) = ctx.config().load() {
        let raw = serde_json::to_value(&settings).unwrap_or_default();
        hidden(
            &raw,
            &masked(&settings, None).unwrap_or_default(),
            &mut secrets,
        );
    }
    let vault = vault(ctx).await;
    let vault_was_read = vault.is_some();
    secrets.extend(vault.into_iter().flatten());
    Known {
        secrets,
        vault_was_read,
    }
}

/// Collects the texts that are masked in the settings.
fn hidden(raw: &Value, shown: &Value, secrets: &mut Vec<Secret>) {
    match (raw, shown) {
        (Value::Object(raw), Value::Object(shown)) => {
            for (key, value) in raw {
                hidden(value, shown.get(key).unwrap_or(&Value::Null), secrets);
            }
        }
        (Value::Array(raw), Value::Array(shown)) => {
            for (one, other) in raw.iter().zip(shown) {
                hidden(one, other, secrets);
            }
        }
        (Value::String(text), shown) if shown.as_str() != Some(text) => {
            secrets.push(Secret::new(text.as_str()));
        }
        (Value::Object(fields), _) => {
            let below = fields.values();
            below.for_each(|value| hidden(value, &Value::Null, secrets));
        }
        (Value::Array(items), _) => {
            items
                .iter()
                .for_each(|value| hidden(value, &Value::Null, secrets));
        }
        _ => {}
    }
}

/// The secrets of the vault, read from a copy: the gateway may be running. `None` if it does not open.
async fn vault(ctx: &CliContext) -> Option<Vec<Secret>> {
    let copy = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .ok()?;
    if !manyhands_store::copy_database(&ctx.home, copy.path())
        .await
        .ok()?
    {
        return Some(Vec::new()); // nothing is stored yet
    }
    for name in ["vault.key", "audit.head"] {
        let _ = std::fs::copy(ctx.home.join(name), copy.path().join(name)); // opening tells what is missing
    }
    let (clock, ids) = (ctx.clock.clone(), ctx.ids.clone());
    let store = Store::open(copy.path(), clock, ids, ctx.passphrase()).await;
    let store = store.ok()?;
    let all = store.vault().all().await;
    let _ = store.close().await; // it is a copy
    Some(all.ok()?.into_iter().map(|(_, secret)| secret).collect())
}

async fn platform(ctx: &CliContext) -> Value {
    let system = rustix::system::uname();
    let schema = manyhands_store::schema_version(&ctx.home).await.ok();
    let upgrade = upgrade::unfinished(&ctx.home).await;
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "kernel": system.release().to_string_lossy(),
        "schema": schema,
        "upgrade": upgrade.ok().flatten(),
        "at": ctx.clock.now().rfc3339(),
    })
}

fn settings(ctx: &CliContext) -> String {
    let shown = match ctx.config().load() {
        Ok((settings, _)) => masked(&settings, None).map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match shown {
        Ok(shown) => format!("{shown:#}\n"),
        Err(why) => format!("{:#}\n", json!({ "error": why })),
    }
}

fn service(ctx: &CliContext) -> String {
    let session = Session::new(ctx.environment());
    match Installed::find(&selector(), &session, ctx) {
        Ok(service) => std::fs::read_to_string(&service.unit.file).unwrap_or_default(),
        Err(failure) => failure.0 + "\n",
    }
}

async fn log(ctx: &CliContext) -> String {
    let session = Session::new(ctx.environment());
    let service = match Installed::find(&selector(), &session, ctx) {
        Ok(service) => service,
        Err(failure) => return failure.0,
    };
    let log = service.unit.logs(&service.log_file(), LOG_LINES).await;
    log.unwrap_or_else(|failure| failure.0)
}

fn selector() -> ServiceSelector {
    ServiceSelector {
        system: false,
        manager: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_code_is_not_in_a_report() {
        for (text, clean) in [
            (
                "page http://a/login#code=0a1b2c (one-time)",
                "page http://a/login#code=*** (one-time)",
            ),
            ("#code=0a", "#code=***"),
            ("no code", "no code"),
        ] {
            assert_eq!(without_login_codes(text), clean);
        }
    }
}
