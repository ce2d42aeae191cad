//! What a server tells without being asked, as one asker hears it.

use manyhands_core::ToolError;
use manyhands_upstream::ServerNotification;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::errand::Errand;

/// What a server tells. That its tools changed is told once the catalogue shows it.
pub(super) struct Hearing {
    errand: Errand,
    news: broadcast::Receiver<ServerNotification>,
    catalogue: watch::Receiver<u64>,
    /// What was offered when it was last told of.
    offer: usize,
}

impl Hearing {
    /// Hears what is told on the line of a conversation, or on that of all callers of an era.
    pub(super) async fn new(
        errand: &Errand,
        line: Option<&str>,
        older: bool,
    ) -> Result<Self, ToolError> {
        let news = errand.server.hears(line, older).await?;
        Ok(Self {
            news,
            catalogue: errand.gateway.nodes.changes(),
            offer: offered(errand),
            errand: errand.clone(),
        })
    }

    /// The next of it; nothing once the asker's token or the gateway ends.
    pub(super) async fn next(&mut self) -> Option<ServerNotification> {
        loop {
            let gateway = &self.errand.gateway;
            tokio::select! {
                biased;
                _ = gateway.doorman.lapsed(&self.errand.asker) => return None,
                () = gateway.stopping().cancelled() => return None,
                changed = self.catalogue.changed() => {
                    changed.ok()?;
                    let now = offered(&self.errand);
                    if std::mem::replace(&mut self.offer, now) != now {
                        return Some(ServerNotification::Tools);
                    }
                }
                told = self.news.recv() => match told {
                    // The gateway looks first; its own change is told above.
                    Ok(ServerNotification::Tools) => self.look(),
                    Ok(news) => return Some(news),
                    Err(RecvError::Lagged(_)) => return Some(ServerNotification::Resources),
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }
}

impl Hearing {
    fn look(&self) {
        let (servers, server) = (
            self.errand.gateway.servers.clone(),
            self.errand.server.clone(),
        );
        tokio::spawn(async move {
            // What is wrong with a server is on record there.
            let _ = servers.refresh(server.name().as_str()).await;
        });
    }
}

/// Another number for another offer.
fn offered(errand: &Errand) -> usize {
    std::sync::Arc::as_ptr(&errand.server.offer()).addr()
}
