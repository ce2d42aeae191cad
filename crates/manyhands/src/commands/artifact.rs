//! `artifact`: the bytes of one.

use std::process::ExitCode;

use super::call::segment;
use crate::args::Artifact;
use crate::ground::Ground;
use crate::output::{self, Done};

/// Writes the bytes to a file or to standard output.
pub async fn run(artifact: Artifact, ground: &Ground) -> Done {
    let bytes = ground
        .remote()?
        .bytes(&format!("/api/artifacts/{}", segment(&artifact.id)))
        .await?;
    match artifact.output {
        Some(file) => std::fs::write(file, bytes)?,
        None => output::bytes(&bytes)?,
    }
    Ok(ExitCode::SUCCESS)
}
