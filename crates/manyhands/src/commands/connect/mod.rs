//! `connect`: adds this gateway to the settings of AI clients on this machine, each with a token of its own.
//!
//! The order of a change decides what an interruption leaves behind: the token is created first, because the entry
//! contains it; then the backup, the file and the record are written; the old token is revoked last, when nothing uses it
//! any more. A failure before the file is written revokes the new token again.

mod change;
mod file;
mod list;
mod record;
mod undo;

use std::process::ExitCode;

use serde_json::json;

use crate::args::Connect;
use crate::context::CliContext;
use crate::remote::{Remote, text};
use change::Change;
use file::SettingsFile;
use manyhands_ai_clients::edit::Place;
use manyhands_ai_clients::{Client, ClientServer, UserEnv};
use manyhands_terminal::output::{self, Done, Failure};
use record::{Connected, Record};

/// Shown instead of a token that does not exist yet.
const NEW_TOKEN: &str = "<new token>";

/// Runs `connect`.
pub async fn run(connect: Connect, ctx: &CliContext) -> Done {
    let user_env = UserEnv {
        user: ctx.user_folder()?,
        env: ctx.environment(),
    };
    let known = |word: &String| word.parse::<Client>();
    let mut named: Vec<Client> = connect.clients.iter().flat_map(known).collect();
    named.sort();
    named.dedup();
    let mut record = Record::open(&ctx.home)?;
    if connect.list {
        return list::list(&named, &user_env, &record, connect.json);
    }
    let consent = Consent {
        dry_run: connect.dry_run,
        yes: connect.yes,
    };
    if connect.undo {
        return undo::undo(&named, &mut record, consent, ctx).await;
    }
    let clients = match named.is_empty() {
        false => named,
        true => installed(&user_env, connect.http)?,
    };
    if connect.http && clients.contains(&Client::ClaudeDesktop) {
        return Err(Failure(
            "Claude Desktop cannot use a URL with a token\nhint: connect it without --http"
                .to_owned(),
        ));
    }
    let remote = ctx.remote()?;
    let program = ctx.program()?.into_os_string().into_string();
    let program = program.map_err(|path| Failure(format!("{path:?} is not UTF-8")))?;
    let mut connecting = Connecting {
        remote,
        record,
        user_env,
        program,
        http: connect.http,
        consent,
        failed: false,
    };
    for client in clients {
        // One unreadable file must not keep the other clients from being connected.
        if let Err(failure) = connecting.client(client).await {
            connecting.failed = true;
            output::print_note(format!("error: {}: {}", client.title(), failure.0));
        }
    }
    Ok(match connecting.failed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn installed(user_env: &UserEnv, http: bool) -> Result<Vec<Client>, Failure> {
    let all = Client::ALL.into_iter();
    let found: Vec<Client> = all
        .filter(|client| client.is_installed(user_env) && (!http || client.supports_http()))
        .collect();
    if found.is_empty() {
        return Err(Failure(
            "no AI client found on this machine\nhint: name one, as in `manyhands connect claude-code`; `manyhands connect --list` shows all"
                .to_owned(),
        ));
    }
    Ok(found)
}

/// Whether changes are made, and whether the user is asked first.
#[derive(Clone, Copy)]
struct Consent {
    dry_run: bool,
    yes: bool,
}

impl Consent {
    /// Asks for consent to a change that was shown.
    async fn given(self) -> bool {
        if self.dry_run || self.yes {
            return self.yes;
        }
        change::confirmed().await
    }

    /// Why nothing was changed, if consent was not given.
    fn refusal(self, command: &str) -> Option<String> {
        (!self.dry_run).then(|| {
            format!(
                "nothing was changed\nhint: `manyhands {command} --yes` makes the changes without asking"
            )
        })
    }
}

/// Clients being connected to a gateway.
struct Connecting {
    remote: Remote,
    record: Record,
    user_env: UserEnv,
    program: String,
    http: bool,
    consent: Consent,
    failed: bool,
}

impl Connecting {
    async fn client(&mut self, client: Client) -> Result<(), Failure> {
        let path = client.settings(&self.user_env);
        client.check_new(&path).map_err(Failure)?;
        let file = SettingsFile::open(&path)?;
        let place = Place::of(client, &path);
        let edited = |token: &str| {
            let edited = place.with(file.text(), &self.entry(client, token));
            edited.map_err(|why| Failure(format!("{}: {why}; nothing was changed", path.display())))
        };
        let shown = edited(NEW_TOKEN)?;
        output::print_line(format!("{} ({})", client.title(), path.display()));
        let change = Change {
            before: file.text(),
            after: &shown,
            secrets: change::secrets(&place.document(file.text()).map_err(Failure)?),
        };
        output::print_line(change.diff().trim_end());
        if !self.consent.given().await {
            if let Some(refusal) = self.consent.refusal(&format!("connect {}", client.word())) {
                self.failed = true;
                output::print_note(refusal);
            }
            return Ok(());
        }
        let new = json!({ "name": client.word(), "role": "client" });
        let made = self.remote.expect_post("/api/tokens", &new).await?;
        let (token, id) = (text(&made["token"]), text(&made["record"]["id"]));
        let replaced = self.record.clients.get(client.word()).cloned();
        let written = edited(&token)
            .and_then(|text| self.write(client, &file, place, &text, &id).map(|()| text));
        if let Err(failure) = written {
            // The token is in no file, so nobody could ever use it.
            self.revoke(&id).await;
            return Err(failure);
        }
        if let Some(old) = &replaced {
            self.revoke(&old.token).await;
        }
        let again = if replaced.is_some() {
            "updated"
        } else {
            "connected"
        };
        output::print_line(format!(
            "{again} {} with the token {:?}; restart it to load the tools",
            client.title(),
            client.word()
        ));
        if file.is_shared() {
            output::print_note(format!(
                "warning: other users of this machine may read {}, which now contains a token\nhint: chmod 600 '{}'",
                path.display(),
                path.display()
            ));
        }
        Ok(())
    }

    /// Writes the backup, the file and the record.
    fn write(
        &mut self,
        client: Client,
        file: &SettingsFile,
        place: Place,
        text: &str,
        token: &str,
    ) -> Result<(), Failure> {
        let known = self.record.clients.get(client.word());
        let known = known.filter(|known| known.file == file.path);
        let current = file.text.as_deref();
        let untouched =
            |known: &&Connected| current.is_some_and(|text| known.written == file::hash(text));
        let (backup, added_servers) = match (known, known.filter(untouched)) {
            // Still as we wrote it: the backup of the first time is what is to be restored.
            (_, Some(known)) => (known.backup.clone(), known.added_servers),
            // Changed since: what the user wrote is kept, and our entry is not.
            (Some(known), None) => {
                let without = place.without(file.text(), known.added_servers);
                let without = without.map_err(Failure)?;
                let rest = without.as_deref().or(current);
                let backup = rest.map(|rest| file::back_up(&file.path, rest));
                (backup.transpose()?, known.added_servers)
            }
            (None, None) => {
                let backup = current.map(|text| file::back_up(&file.path, text));
                let servers = place.has_servers(file.text()).map_err(Failure)?;
                (backup.transpose()?, !servers)
            }
        };
        let connected = Connected {
            file: file.path.clone(),
            backup,
            written: file::hash(text),
            added_servers,
            url: self.remote.url().to_owned(),
            token: token.to_owned(),
        };
        let before = self
            .record
            .clients
            .insert(client.word().to_owned(), connected);
        // The record first: without it the change could not be undone. If the file is then not written, its fingerprint
        // does not match, and `--undo` finds no entry to remove.
        let written = self.record.save().and_then(|()| file.replace(text));
        if written.is_err() {
            match before {
                Some(before) => self.record.clients.insert(client.word().to_owned(), before),
                None => self.record.clients.remove(client.word()),
            };
            self.record.save()?;
        }
        written
    }

    fn entry(&self, client: Client, token: &str) -> serde_json::Value {
        let url = self.remote.url().trim_end_matches('/');
        let address = format!("{url}/mcp");
        client.entry(&match self.http {
            true => ClientServer::Http {
                address: &address,
                token,
            },
            false => ClientServer::Command {
                program: &self.program,
                url,
                token,
            },
        })
    }

    async fn revoke(&self, id: &str) {
        revoke(&self.remote, id).await;
    }
}

/// Revokes a token, or says how to; returns whether it is revoked.
async fn revoke(remote: &Remote, id: &str) -> bool {
    match remote.delete(&format!("/api/tokens/{id}")).await {
        Ok(_) => true,
        Err(failure) => {
            output::print_note(format!(
                "warning: the token {id} could not be revoked: {}\nhint: `manyhands token revoke {id}`",
                failure.0
            ));
            false
        }
    }
}
