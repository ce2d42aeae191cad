//! What the gateway keeps in its home beside the store.

use std::path::Path;

use manyhands_core::{Clock, Pattern, Role, Secret};
use manyhands_guard::{create_private, read_private};
use manyhands_store::{TokenRecord, parse_token};

use crate::auth::{Doorman, NewToken};
use crate::start_error::StartError;

/// The owner's settings.
pub const CONFIG_FILE: &str = "config.toml";
/// The owner's token, for the command line on this machine.
pub const OWNER_TOKEN_FILE: &str = "owner.token";

/// The owner's token: read from its file, or made at the first start.
pub async fn owner_token(
    home: &Path,
    doorman: &Doorman,
    clock: &dyn Clock,
) -> Result<Secret, StartError> {
    let file = home.join(OWNER_TOKEN_FILE);
    if !file.exists() {
        let (_, text) = doorman.create(owner()).await?;
        create_private(&file, format!("{}\n", text.expose()).as_bytes())?;
        return Ok(text);
    }
    let bytes = read_private(&file)?;
    let text = Secret::new(String::from_utf8_lossy(&bytes).trim());
    let Some((id, hash)) = parse_token(text.expose()) else {
        return Err(StartError::OwnerToken { path: file });
    };
    if !doorman.knows(id) {
        // The database is new but the owner's token is not: it goes on being theirs.
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
        doorman.register(record).await?;
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
