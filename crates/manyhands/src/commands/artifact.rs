//! `artifact`: lists, shows, downloads, uploads and deletes artifacts, streaming their contents.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use bytes::Bytes;
use futures_util::Stream;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::call::segment;
use crate::args::{Artifact, ArtifactCommand, GetArtifact};
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// Read size of an upload.
const PIECE: usize = 256 * 1024;

/// Runs an `artifact` command.
pub async fn run(artifact: Artifact, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match (artifact.command, artifact.get) {
        (Some(command), _) => act(command, &remote).await?,
        (None, Some(wanted)) => get(wanted, &remote).await?,
        (None, None) => {
            return Err(Failure(
                "no artifact given\nhint: manyhands artifact list".to_owned(),
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn act(command: ArtifactCommand, remote: &Remote) -> Result<(), Failure> {
    match command {
        ArtifactCommand::Get(which) => get(which, remote).await,
        ArtifactCommand::List {
            agent,
            chat,
            limit,
            json,
        } => {
            let mut path = format!("/api/artifacts?limit={limit}");
            for (key, value) in [("agent", agent), ("chat", chat)] {
                if let Some(value) = value {
                    path.push_str(&format!("&{key}={}", segment(&value)));
                }
            }
            let listed = remote.get(&path).await?;
            list(&listed["artifacts"], json);
            Ok(())
        }
        ArtifactCommand::Show { id } => {
            let path = format!("/api/artifacts/{}/record", segment(&id));
            output::json(&remote.get(&path).await?);
            Ok(())
        }
        ArtifactCommand::Put {
            file,
            name,
            agent,
            chat,
        } => put(&file, name, &agent, chat.as_deref(), remote).await,
        ArtifactCommand::Rm { id } => {
            let path = format!("/api/artifacts/{}", segment(&id));
            remote.delete(&path).await?;
            output::print_line(format!("deleted {id}"));
            Ok(())
        }
        ArtifactCommand::Url { id } => {
            let path = format!("/api/artifacts/{}/url", segment(&id));
            let made = remote.expect_post(&path, &Value::Null).await?;
            output::print_line(text(&made["url"]));
            Ok(())
        }
    }
}

fn list(artifacts: &Value, json: bool) {
    if json {
        return output::json(artifacts);
    }
    let rows = artifacts.as_array().into_iter().flatten().map(|one| {
        let columns = ["id", "name", "mime", "size", "agent", "chat"];
        columns.iter().map(|column| text(&one[column])).collect()
    });
    output::table(
        &["id", "name", "type", "size", "agent", "chat"],
        rows.collect(),
    );
}

/// Writes an artifact to a file or stdout as it arrives.
async fn get(which: GetArtifact, remote: &Remote) -> Result<(), Failure> {
    let path = format!("/api/artifacts/{}", segment(&which.id));
    let mut body = remote.download(&path).await?;
    match which.output {
        Some(file) => {
            // Created only after the download has started, so that a wrong id leaves no empty file.
            let mut opened = std::fs::File::create(&file)
                .map_err(|e| Failure(format!("{}: {e}", file.display())))?;
            while let Some(piece) = body.chunk().await? {
                opened.write_all(&piece)?;
            }
        }
        None => {
            while let Some(piece) = body.chunk().await? {
                output::bytes(&piece)?;
            }
        }
    }
    Ok(())
}

async fn put(
    file: &Path,
    name: Option<String>,
    agent: &str,
    chat: Option<&str>,
    remote: &Remote,
) -> Result<(), Failure> {
    let standard = file.as_os_str() == "-";
    let own = file.file_name().and_then(|name| name.to_str());
    // `-` is not a name that anybody would find again.
    let name = name.or_else(|| own.filter(|_| !standard).map(str::to_owned));
    let name = name.ok_or_else(|| Failure("no name given; use --name".to_owned()))?;
    let mut path = format!(
        "/api/artifacts?name={}&agent={}",
        segment(&name),
        segment(agent)
    );
    if let Some(chat) = chat {
        path.push_str(&format!("&chat={}", segment(chat)));
    }
    let kept = if standard {
        remote.upload(&path, pieces(tokio::io::stdin())).await?
    } else {
        let opened = tokio::fs::File::open(file).await;
        let opened = opened.map_err(|e| Failure(format!("{}: {e}", file.display())))?;
        remote.upload(&path, pieces(opened)).await?
    };
    output::json(&kept);
    Ok(())
}

fn pieces(
    from: impl AsyncRead + Unpin + Send + 'static,
) -> impl Stream<Item = std::io::Result<Bytes>> + Send + 'static {
    futures_util::stream::try_unfold(from, async |mut from| {
        let mut piece = vec![0; PIECE];
        let read = from.read(&mut piece).await?;
        piece.truncate(read);
        Ok((read > 0).then(|| (Bytes::from(piece), from)))
    })
}
