//! Which folders tools may be given: none that would let them at the gateway's own files.

use std::path::{Path as FilePath, PathBuf};

use manyhands_config::Settings;

use crate::start_error::StartError;

/// Refuses folders for tools that would let them at the gateway's own files.
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

/// The same for the folders that may be read beside those.
pub fn keep_roots_apart(home: &FilePath, settings: &Settings) -> Result<(), StartError> {
    let home = full(home);
    let mut roots = settings.tools.read_file.roots.iter();
    roots.try_for_each(|root| apart("tools.read_file.roots", &full(FilePath::new(root)), &home))?;
    for agent in settings.acp.agents.values() {
        for folder in agent.cwd.iter().chain(&agent.home) {
            apart("acp.agents", &full(folder), &home)?;
        }
        // A folder with programs may well be that of the gateway's own.
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

/// Whether a folder holds neither the gateway's files nor its program, nor lies among them.
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
