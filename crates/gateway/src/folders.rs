//! Checks the folders given to tools: none may expose the gateway's own files.

use std::path::{Path as FilePath, PathBuf};

use manyhands_config::Settings;

use crate::start_error::StartError;

/// Rejects tool folders that would expose the gateway's own files.
pub fn keep_apart(home: &FilePath, settings: &Settings) -> Result<(), StartError> {
    let home = full(home);
    let default = |chosen: &Option<PathBuf>, name: &str| {
        full(
            &chosen
                .clone()
                .unwrap_or_else(|| home.join("host").join(name)),
        )
    };
    let three = [
        (
            "workspace_root",
            default(&settings.workspace_root, "workspace"),
        ),
        ("file_cache_dir", default(&settings.file_cache_dir, "cache")),
        ("file_state_dir", default(&settings.file_state_dir, "state")),
    ];
    for (key, folder) in &three {
        // A program in the outer folder could replace the inner one by a link.
        let nested =
            |(other, around): &&(&str, PathBuf)| other != key && folder.starts_with(around);
        if let Some((other, _)) = three.iter().find(nested) {
            return Err(StartError::Nested {
                key,
                other,
                folder: folder.clone(),
            });
        }
        apart(key, folder, &home)?;
    }
    keep_roots_apart(&home, settings)
}

/// Checks additional readable folders the same way.
pub fn keep_roots_apart(home: &FilePath, settings: &Settings) -> Result<(), StartError> {
    let home = full(home);
    let mut roots = settings.tools.read_file.roots.iter();
    roots.try_for_each(|root| apart("tools.read_file.roots", &full(FilePath::new(root)), &home))?;
    for agent in settings.acp.agents.values() {
        for folder in agent.cwd.iter().chain(&agent.home) {
            apart("acp.agents", &full(folder), &home)?;
        }
        // A readable folder may contain programs, possibly the gateway's own; only its home is off
        // limits.
        if let Some(read) = agent.read.iter().find(|one| home.starts_with(full(one))) {
            return Err(StartError::Folder {
                key: "acp.agents",
                folder: read.clone(),
                home,
            });
        }
    }
    Ok(())
}

fn full(path: &FilePath) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Fails if a folder contains the gateway's files or program, or lies inside its home.
fn apart(key: &'static str, folder: &FilePath, home: &FilePath) -> Result<(), StartError> {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(FilePath::parent);
    let holds = home.starts_with(folder) || program.is_some_and(|own| own.starts_with(folder));
    let inside = folder.starts_with(home) && !folder.starts_with(home.join("host"));
    if holds || inside {
        return Err(StartError::Folder {
            key,
            folder: folder.to_owned(),
            home: home.to_owned(),
        });
    }
    Ok(())
}
