//! The gateway session, so that a broken connection can be resumed.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::channel::{ChannelError, EventSink};

/// Key under which the session is stored.
const NAME: &str = "session";
/// Events after which it is stored again.
const EVENTS: u32 = 64;
/// Time after which it is stored again.
const TIME: Duration = Duration::from_secs(30);

/// A gateway session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Point {
    /// Discord's session id.
    pub(super) id: String,
    /// URL to resume it at.
    pub(super) url: String,
    /// The last event that was stored or is irrelevant.
    pub(super) sequence: u64,
}

/// The session, and when it was stored. It is stored rarely: after a crash Discord replays later
/// events, which are recognised by their ids.
pub(super) struct GatewaySession {
    point: Option<Point>,
    since: u32,
    noted: Instant,
}

impl GatewaySession {
    /// Loads the stored session.
    pub(super) async fn load_value(sink: &dyn EventSink) -> Result<Self, ChannelError> {
        let text = sink.load_value(NAME).await?;
        Ok(Self {
            point: text.and_then(|text| serde_json::from_str(&text).ok()),
            since: 0,
            noted: Instant::now(),
        })
    }

    /// The session to resume, if there is one.
    pub(super) fn point(&self) -> Option<&Point> {
        self.point.as_ref()
    }

    /// Starts a session.
    pub(super) async fn begin(
        &mut self,
        point: Point,
        sink: &dyn EventSink,
    ) -> Result<(), ChannelError> {
        self.point = Some(point);
        // Stored at once: resuming with an old session after a crash would lose events.
        self.store_value(sink).await
    }

    /// Records that everything up to an event is stored.
    pub(super) async fn advance(
        &mut self,
        sequence: u64,
        sink: &dyn EventSink,
    ) -> Result<(), ChannelError> {
        let Some(point) = &mut self.point else {
            return Ok(());
        };
        // Replayed events must not move it back.
        point.sequence = point.sequence.max(sequence);
        self.since += 1;
        if self.since >= EVENTS || self.noted.elapsed() >= TIME {
            self.store_value(sink).await?;
        }
        Ok(())
    }

    /// Drops a session that Discord has ended.
    pub(super) async fn forget(&mut self, sink: &dyn EventSink) -> Result<(), ChannelError> {
        self.point = None;
        self.store_value(sink).await
    }

    /// Stores the session if it changed.
    pub(super) async fn settle(&mut self, sink: &dyn EventSink) -> Result<(), ChannelError> {
        if self.since > 0 {
            self.store_value(sink).await?;
        }
        Ok(())
    }

    async fn store_value(&mut self, sink: &dyn EventSink) -> Result<(), ChannelError> {
        let text = match &self.point {
            Some(point) => serde_json::to_string(point).unwrap_or_default(),
            None => String::new(),
        };
        sink.store_value(NAME, &text).await?;
        (self.since, self.noted) = (0, Instant::now());
        Ok(())
    }
}
