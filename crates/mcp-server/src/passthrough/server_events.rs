//! Unsolicited events of a server, as one client receives them.

use manyhands_core::ToolError;
use manyhands_upstream::ServerNotification;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::client::ServerClient;

/// Events of a server. A change of its tools is reported only once the catalogue shows it.
pub(super) struct ServerEvents {
    client: ServerClient,
    news: broadcast::Receiver<ServerNotification>,
    catalogue: watch::Receiver<u64>,
    /// Identity of the offer that was last reported.
    offer: usize,
}

impl ServerEvents {
    /// Subscribes to the private server session named `line`, or to the one shared by all callers
    /// of an era.
    pub(super) async fn new(
        client: &ServerClient,
        line: Option<&str>,
        older: bool,
    ) -> Result<Self, ToolError> {
        let news = client.server.hears(line, older).await?;
        Ok(Self {
            news,
            catalogue: client.gateway.nodes.changes(),
            offer: offered(client),
            client: client.clone(),
        })
    }

    /// The next event; `None` once the token lapses or the gateway stops.
    pub(super) async fn next(&mut self) -> Option<ServerNotification> {
        loop {
            let gateway = &self.client.gateway;
            tokio::select! {
                biased;
                _ = gateway.auth.lapsed(&self.client.admitted) => return None,
                () = gateway.stopping().cancelled() => return None,
                changed = self.catalogue.changed() => {
                    changed.ok()?;
                    let now = offered(&self.client);
                    if std::mem::replace(&mut self.offer, now) != now {
                        return Some(ServerNotification::Tools);
                    }
                }
                event = self.news.recv() => match event {
                    // Refresh the catalogue first; its change is then reported by the branch above.
                    Ok(ServerNotification::Tools) => self.refresh_tools(),
                    Ok(news) => return Some(news),
                    // After a lag it is unknown what was missed; this makes the client reload its
                    // lists.
                    Err(RecvError::Lagged(_)) => return Some(ServerNotification::Resources),
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }
}

impl ServerEvents {
    fn refresh_tools(&self) {
        let (servers, server) = (
            self.client.gateway.servers.clone(),
            self.client.server.clone(),
        );
        tokio::spawn(async move {
            // A failure is recorded in the server's status.
            let _ = servers.refresh(server.name().as_str()).await;
        });
    }
}

/// A number that differs between offers.
fn offered(client: &ServerClient) -> usize {
    std::sync::Arc::as_ptr(&client.server.offer()).addr()
}
