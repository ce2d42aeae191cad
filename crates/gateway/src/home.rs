//! Files in the gateway's home besides the store.

use std::path::Path;

use manyhands_core::{Clock, Pattern, Role, Secret};
use manyhands_guard::{create_private, read_private};
use manyhands_store::{TokenRecord, parse_token};

use crate::auth::{Authenticator, NewToken};
use crate::start_error::StartError;

/// File name of the settings.
pub const CONFIG_FILE: &str = "config.toml";
/// File name of the owner's token, used by the command line on this machine.
pub const OWNER_TOKEN_FILE: &str = "owner.token";

/// Reads the owner's token from its file, or creates it at the first start.
pub async fn owner_token(
    home: &Path,
    auth: &Authenticator,
    clock: &dyn Clock,
) -> Result<Secret, StartError> {
    let file = home.join(OWNER_TOKEN_FILE);
    if !file.exists() {
        let (_, text) = auth.create(owner()).await?;
        // Created with mode 0600 from the start, so there is no moment in which others can read it.
        create_private(&file, format!("{}\n", text.expose()).as_bytes())?;
        return Ok(text);
    }
    let bytes = read_private(&file)?;
    let text = Secret::new(String::from_utf8_lossy(&bytes).trim());
    let Some((id, hash)) = parse_token(text.expose()) else {
        return Err(StartError::OwnerToken { path: file });
    };
    if !auth.knows(id) {
        // The database was replaced but the token file was not: keep the owner's token valid.
        let NewToken {
            name,
            role,
            tools,
            agents,
            ..
        } = owner();
        let record = TokenRecord {
            id,
            name,
            role,
            tools,
            agents,
            hash,
            created: clock.now(),
            expires: None,
            revoked: None,
            last_used: None,
            browser: false,
        };
        auth.register(record).await?;
    }
    Ok(text)
}

fn owner() -> NewToken {
    NewToken {
        name: "owner".to_owned(),
        role: Role::Owner,
        tools: vec![Pattern::new("*")],
        agents: vec![Pattern::new("*")],
        lifetime: None,
        browser: false,
    }
}
