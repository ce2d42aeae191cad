//! Adds servers from JSON as it stands in READMEs.
//!
//! Literal secrets go to the vault, and placeholders such as `<YOUR_API_KEY>` are asked for.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::ExitCode;

use manyhands_ai_clients::UserEnv;
use manyhands_ai_clients::import::{ImportedServer, Pasted};
use manyhands_core::{Secret, ServerName};
use manyhands_federation::directory::Input;

use super::super::server_store::ServerStore;
use super::inputs::Inputs;
use super::plan;
use crate::args::AddServer;
use crate::context::CliContext;
use manyhands_terminal::output::{self, Done, Failure};

/// Maximum size of the JSON.
const MAX_INPUT: u64 = 1024 * 1024;

/// Adds the servers in `given`, or in standard input.
pub async fn run(given: &str, add: &AddServer, ctx: &CliContext) -> Done {
    let piped = given == "-";
    let mut text = given.to_owned();
    if piped {
        text.clear();
        std::io::stdin().take(MAX_INPUT).read_to_string(&mut text)?;
    }
    let name = match (&add.alias, &add.name) {
        (Some(name), _) => Some(name.to_string()),
        (None, name) => name.clone(),
    };
    if let Some(name) = &name {
        name.parse::<ServerName>()
            .map_err(|e| Failure(format!("NAME: {e}")))?;
    }
    let mut pasted = Pasted::parse(&text, name.as_deref()).map_err(Failure)?;
    let user_env = UserEnv {
        user: ctx.user_folder()?,
        env: ctx.environment(),
    };
    let contents = pasted.contents(&user_env).map_err(Failure)?;
    for skipped in &contents.skipped {
        output::print_note(format!("skipped {}: {}", skipped.given, skipped.why));
    }
    if contents.found.is_empty() {
        return Err(Failure("no MCP server in the JSON can be added".to_owned()));
    }
    let store = ServerStore::of(ctx)?;
    for found in &contents.found {
        plan::check(&store, &found.name, found.server.url.is_some()).await?;
        output::print_line(shown(found, ctx));
    }
    if !plan::confirmed(add, piped).await {
        return Ok(match add.dry_run {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        });
    }
    let stored = plan::stored(&store).await?;
    let mut inputs = Inputs::new(add, piped, ctx);
    let mut values = BTreeMap::new();
    for blank in pasted.blanks(&user_env) {
        let input = Input::plain(&blank.name, blank.about);
        if let Some(value) = inputs.plain(&input).await? {
            values.insert(blank.name, value);
        }
    }
    pasted.fill(&user_env, &values);
    let contents = pasted.contents(&user_env).map_err(Failure)?;
    let mut servers = Vec::new();
    for found in &contents.found {
        let secrets = secrets(found, &store, &stored, &mut inputs)?;
        servers.push((found, secrets));
    }
    inputs.check()?;
    for (found, secrets) in servers {
        plan::write(&store, &found.name, &found.server, &secrets).await?;
        for note in &found.notes {
            output::print_note(format!("  {}: {note}", found.name));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(found: &ImportedServer, ctx: &CliContext) -> String {
    let mut lines = vec![found.name.to_string()];
    lines.extend(plan::runs(&found.server, ctx));
    for secret in &found.secrets {
        let key = secret.name.rsplit('/').next().unwrap_or_default();
        let about = secret.about.as_ref();
        let about = about.map(|about| format!(": {about}")).unwrap_or_default();
        let from = match secret.value {
            Some(_) => "; will be moved to the vault",
            None => "",
        };
        lines.push(format!("  secret    {key}{about}{from}"));
    }
    lines.join("\n")
}

/// The secrets of a server: literal ones, and those the user is asked for.
fn secrets(
    found: &ImportedServer,
    store: &ServerStore,
    stored: &[String],
    inputs: &mut Inputs<'_>,
) -> Result<Vec<(String, Secret)>, Failure> {
    let mut secrets = Vec::new();
    for secret in &found.secrets {
        let key = secret.name.rsplit('/').next().unwrap_or_default();
        plan::vault(store, &[key.to_owned()])?;
        let value = match &secret.value {
            Some(value) => Some(value.clone()),
            None => {
                let about = secret.about.clone();
                let about = about.unwrap_or_else(|| format!("of {}", found.name));
                let input = Input::secret(key, about);
                inputs.secret(&input, stored.contains(&secret.name))?
            }
        };
        secrets.extend(value.map(|value| (secret.name.clone(), value)));
    }
    Ok(secrets)
}
