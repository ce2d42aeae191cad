//! Links in the older era to servers that speak both.
//!
//! The gateway speaks the newest era that a server knows. A server that knows both may offer a
//! client of the older era what has no counterpart in the newer one: it asks and logs by itself.
//! So older clients are given a link in their own era, opened when the first of them comes.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use manyhands_core::{ConnectionId, ToolError};
use manyhands_upstream::{Connection, Dialect, Era, Status, Upstream};

use super::call::failure;
use super::server::Server;

/// How long a server that answers in the newer era may take to answer in the older one. Some
/// ignore `initialize` rather than refuse it.
const START: Duration = Duration::from_secs(20);

/// What is known of the older era of a server, by the account.
pub(super) type Older = BTreeMap<Option<ConnectionId>, Known>;

/// What is known of the older era of a server.
pub(super) enum Known {
    /// It speaks it.
    Spoken(Upstream),
    /// It did not, when this connection was the one in the newer era: another connection may be
    /// to another version of the server.
    Refused(Weak<Connection>),
}

impl Server {
    /// The shared connection for callers of an era: in that era, where the server speaks it.
    pub(super) async fn upstream_of(
        &self,
        account: Option<ConnectionId>,
        older: bool,
    ) -> Result<Upstream, ToolError> {
        let newest = self.upstream(account).await?;
        if !older {
            return Ok(newest);
        }
        let live = newest.live().await;
        let live = live.map_err(|error| failure(self.name(), error))?;
        if live.peer().era == Era::Legacy {
            return Ok(newest);
        }
        Box::pin(self.in_older_era(account, newest, &live)).await
    }

    async fn in_older_era(
        &self,
        account: Option<ConnectionId>,
        newest: Upstream,
        live: &Arc<Connection>,
    ) -> Result<Upstream, ToolError> {
        let by = Arc::downgrade(live);
        // Held while it is tried, so that it is tried once.
        let mut older = self.older.lock().await;
        let link = match older.get(&account) {
            Some(Known::Refused(then)) if Weak::ptr_eq(then, &by) => return Ok(newest),
            Some(Known::Spoken(link)) => match link.status() {
                Status::Failing { .. } | Status::Stopped => link.clone(),
                _ => return Ok(link.clone()),
            },
            _ => {
                let mut described = self.described(account).await?;
                described.dialect = Dialect::Legacy;
                described.timeouts.start = described.timeouts.start.min(START);
                Upstream::new(described, self.ground().upstream.clone())
            }
        };
        let known = match link.live().await {
            Ok(opened) if opened.is_conversation() => Known::Spoken(link.clone()),
            // Without a session it can neither ask nor log in the older era; in the newer one it
            // can, and that is translated.
            Ok(_) => Known::Refused(by),
            Err(error) => {
                tracing::debug!(event = "server_older_protocol_refused", server = %self.name(), %error, "server does not support the older protocol");
                Known::Refused(by)
            }
        };
        let spoken = matches!(known, Known::Spoken(_));
        older.insert(account, known);
        Ok(if spoken { link } else { newest })
    }
}
