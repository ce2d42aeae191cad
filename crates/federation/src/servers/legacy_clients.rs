//! Connections in the older protocol era to servers that support both.
//!
//! The gateway uses the newest era that a server supports. A server that supports both may offer
//! older clients features without a counterpart in the newer era, such as requests and log messages
//! of its own. So older clients get a connection in their era, opened when the first of them
//! arrives.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use manyhands_core::{ConnectionId, ToolError};
use manyhands_upstream::{Dialect, Era, ServerConnection, Status, Upstream};

use super::call::failure;
use super::server::Server;

/// How long a server that supports the newer era may take to answer in the older one. Some ignore
/// `initialize` instead of rejecting it.
const START: Duration = Duration::from_secs(20);

/// Support for the older era, by account.
pub(super) type Older = BTreeMap<Option<ConnectionId>, OlderSupport>;

/// Whether a server supports the older era.
pub(super) enum OlderSupport {
    /// It does.
    Spoken(Upstream),
    /// It did not while this connection in the newer era was open. A later connection may reach
    /// another version of the server, so the result is only valid for this one.
    Refused(Weak<ServerConnection>),
}

impl Server {
    /// The shared connection for callers of an era, in that era if the server supports it.
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
        live: &Arc<ServerConnection>,
    ) -> Result<Upstream, ToolError> {
        let by = Arc::downgrade(live);
        // Held during the attempt, so that concurrent callers try once.
        let mut older = self.older.lock().await;
        let link = match older.get(&account) {
            Some(OlderSupport::Refused(then)) if Weak::ptr_eq(then, &by) => return Ok(newest),
            Some(OlderSupport::Spoken(link)) => match link.status() {
                Status::Failing { .. } | Status::Stopped => link.clone(),
                _ => return Ok(link.clone()),
            },
            _ => {
                let mut described = self.described(account).await?;
                described.dialect = Dialect::Legacy;
                described.timeouts.start = described.timeouts.start.min(START);
                Upstream::new(described, self.deps().upstream.clone())
            }
        };
        let known = match link.live().await {
            Ok(opened) if opened.is_conversation() => OlderSupport::Spoken(link.clone()),
            // Without a session it can neither ask nor log in the older era. It can in the newer
            // one, and we translate.
            Ok(_) => OlderSupport::Refused(by),
            Err(error) => {
                tracing::debug!(event = "server_older_protocol_refused", server = %self.name(), %error, "server does not support the older protocol");
                OlderSupport::Refused(by)
            }
        };
        let spoken = matches!(known, OlderSupport::Spoken(_));
        older.insert(account, known);
        Ok(if spoken { link } else { newest })
    }
}
