//! How far the gateway was heard, so that a broken connection goes on there.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::channel::{ChannelError, Ear};

/// What it is noted as.
const NAME: &str = "session";
/// How many events may pass before it is noted again.
const EVENTS: u32 = 64;
/// How long it may be before it is noted again.
const TIME: Duration = Duration::from_secs(30);

/// A session at the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Point {
    /// Discord's name of it.
    pub(super) id: String,
    /// Where it is resumed.
    pub(super) url: String,
    /// The last event that was kept or meant nothing to us.
    pub(super) sequence: u64,
}

/// The session, and when it was noted. It is noted rarely: events after the noted one are told
/// again after a crash, and are known then.
pub(super) struct Session {
    point: Option<Point>,
    since: u32,
    noted: Instant,
}

impl Session {
    /// What was noted.
    pub(super) async fn noted(ear: &dyn Ear) -> Result<Self, ChannelError> {
        let text = ear.noted(NAME).await?;
        Ok(Self {
            point: text.and_then(|text| serde_json::from_str(&text).ok()),
            since: 0,
            noted: Instant::now(),
        })
    }

    /// The session, if there is one to resume.
    pub(super) fn point(&self) -> Option<&Point> {
        self.point.as_ref()
    }

    /// A session begins.
    pub(super) async fn begin(&mut self, point: Point, ear: &dyn Ear) -> Result<(), ChannelError> {
        self.point = Some(point);
        self.note(ear).await
    }

    /// Everything up to an event is kept.
    pub(super) async fn advance(
        &mut self,
        sequence: u64,
        ear: &dyn Ear,
    ) -> Result<(), ChannelError> {
        let Some(point) = &mut self.point else {
            return Ok(());
        };
        point.sequence = point.sequence.max(sequence);
        self.since += 1;
        if self.since >= EVENTS || self.noted.elapsed() >= TIME {
            self.note(ear).await?;
        }
        Ok(())
    }

    /// Discord does not know it any more.
    pub(super) async fn forget(&mut self, ear: &dyn Ear) -> Result<(), ChannelError> {
        self.point = None;
        self.note(ear).await
    }

    /// Notes what was not noted yet.
    pub(super) async fn settle(&mut self, ear: &dyn Ear) -> Result<(), ChannelError> {
        if self.since > 0 {
            self.note(ear).await?;
        }
        Ok(())
    }

    async fn note(&mut self, ear: &dyn Ear) -> Result<(), ChannelError> {
        let text = match &self.point {
            Some(point) => serde_json::to_string(point).unwrap_or_default(),
            None => String::new(),
        };
        ear.note(NAME, &text).await?;
        (self.since, self.noted) = (0, Instant::now());
        Ok(())
    }
}
