//! `connect --undo`: restores the settings of clients and revokes their tokens.

use std::process::ExitCode;

use super::change::{self, Change};
use super::file::{self, SettingsFile};
use super::record::{Connected, Record};
use super::{Consent, revoke};
use crate::context::CliContext;
use manyhands_ai_clients::Client;
use manyhands_ai_clients::edit::Place;
use manyhands_terminal::output::{self, Done, Failure};

/// How a file is restored.
enum Restored {
    /// It is deleted: it did not exist before.
    Deleted,
    /// It gets this text.
    Text(String),
    /// The entry is already gone.
    Gone,
}

/// Restores the settings of these clients, or of all.
pub async fn undo(
    named: &[Client],
    record: &mut Record,
    consent: Consent,
    ctx: &CliContext,
) -> Done {
    let connected = |client: &Client| record.clients.contains_key(client.word());
    if let Some(other) = named.iter().find(|client| !connected(client)) {
        return Err(Failure(format!(
            "{} is not connected\nhint: `manyhands connect --list` shows which clients are",
            other.title()
        )));
    }
    let clients: Vec<Client> = match named.is_empty() {
        true => Client::ALL.into_iter().filter(connected).collect(),
        false => named.to_vec(),
    };
    if clients.is_empty() {
        output::print_line("no client is connected");
        return Ok(ExitCode::SUCCESS);
    }
    let mut failed = false;
    for client in clients {
        match one(client, record, consent, ctx).await {
            Ok(done) => failed |= !done,
            Err(failure) => {
                failed = true;
                output::print_note(format!("error: {}: {}", client.title(), failure.0));
            }
        }
    }
    Ok(match failed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// Restores one client; returns whether everything was done.
async fn one(
    client: Client,
    record: &mut Record,
    consent: Consent,
    ctx: &CliContext,
) -> Result<bool, Failure> {
    let Some(known) = record.clients.get(client.word()).cloned() else {
        return Ok(true);
    };
    let path = known.file.display();
    let file = SettingsFile::open(&known.file)?;
    let restored = restored(client, &known, &file)?;
    let after = match &restored {
        Restored::Text(text) => text.as_str(),
        Restored::Deleted => "",
        Restored::Gone => file.text(),
    };
    output::print_line(format!("{} ({path})", client.title()));
    let document = Place::of(client, &known.file).document(file.text());
    let change = Change {
        before: file.text(),
        after,
        secrets: change::secrets(&document.unwrap_or_default()),
    };
    output::print_line(change.diff().trim_end());
    if !consent.given().await {
        let refusal = consent.refusal(&format!("connect --undo {}", client.word()));
        let Some(refusal) = refusal else {
            return Ok(true);
        };
        output::print_note(refusal);
        return Ok(false);
    }
    match &restored {
        Restored::Deleted => file.delete()?,
        Restored::Text(text) => file.replace(text)?,
        Restored::Gone => {}
    }
    record.clients.remove(client.word());
    record.save()?;
    if let Some(backup) = &known.backup {
        // The file is restored; a copy of it would only be one more place with keys in it.
        let _ = std::fs::remove_file(backup);
    }
    output::print_line(match restored {
        Restored::Deleted => format!("deleted {path}, which did not exist before"),
        Restored::Text(_) => format!("restored {path}"),
        Restored::Gone => format!("{path} no longer had an entry"),
    });
    // Last: the file can be restored without a gateway, and a token that is in no file is harmless.
    let revoked = match remote(&known, ctx) {
        Ok(remote) => revoke(&remote, &known.token).await,
        Err(failure) => {
            output::print_note(format!(
                "warning: the token {} is still valid: {}\nhint: `manyhands token revoke {}`",
                known.token, failure.0, known.token
            ));
            false
        }
    };
    if revoked {
        output::print_line(format!("revoked the token {:?}", client.word()));
    }
    Ok(revoked)
}

/// The gateway that has the token.
fn remote(known: &Connected, ctx: &CliContext) -> Result<crate::remote::Remote, Failure> {
    let remote = ctx.remote()?;
    // Ids are unique, but another gateway would only report the id as unknown.
    match ctx.named_url().is_some() && remote.url() != known.url {
        true => Err(Failure(format!(
            "it belongs to the gateway at {}",
            known.url
        ))),
        false => Ok(remote),
    }
}

fn restored(client: Client, known: &Connected, file: &SettingsFile) -> Result<Restored, Failure> {
    let path = known.file.display();
    let Some(text) = &file.text else {
        return Ok(Restored::Gone);
    };
    if file::hash(text) == known.written {
        let Some(backup) = &known.backup else {
            return Ok(Restored::Deleted);
        };
        // Without the backup, our entry can still be taken out.
        if let Ok(before) = SettingsFile::open(backup)
            && let Some(before) = before.text
        {
            return Ok(Restored::Text(before));
        }
    }
    let place = Place::of(client, &known.file);
    let without = place.without(text, known.added_servers);
    let without = without.map_err(|why| Failure(format!("{path}: {why}; nothing was changed")))?;
    Ok(without.map_or(Restored::Gone, Restored::Text))
}
