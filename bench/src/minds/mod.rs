//! Minds: what a turn costs besides its model, how many there may be, and how the programs do
//! that people use instead, against the same model server.

mod crowd;
mod model;
mod peers;
mod rpc;
mod turns;

use std::error::Error;
use std::path::Path;

use tempfile::TempDir;

use crate::daemon::Daemon;
use model::Model;

/// All figures of minds.
pub fn all(binary: &Path) -> Result<(), Box<dyn Error>> {
    let model = Model::start()?;
    let ours = turns::overhead(binary, &model)?;
    peers::beside(&model, ours)?;
    turns::sessions_per_second(binary, &model)?;
    turns::history(binary, &model)?;
    crowd::streams(binary, &model)?;
    turns::idle_sessions(binary, &model)
}

/// A home whose model is the scripted one.
fn home(model: &Model, name: &str) -> Result<TempDir, Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let config = format!(
        "[models]\ndefault = \"there/{name}\"\n[models.providers.there]\nkind = \"openai\"\nbase_url = \"{}/v1\"\n[limits]\ncalls_per_minute = 1000000\n",
        model.url
    );
    std::fs::write(home.path().join("config.toml"), config)?;
    Ok(home)
}

/// A gateway on such a home.
fn gateway(binary: &Path, model: &Model, name: &str) -> Result<Daemon, Box<dyn Error>> {
    Daemon::start(binary, home(model, name)?)
}
