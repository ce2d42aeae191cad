//! Preparation of webhooks.

use std::time::Duration;

use manyhands_core::Ids;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::channel::{ChannelError, ConnectionStatus, EventSink, SendError};

/// Maximum delay that a platform can request.
const LONGEST: Duration = Duration::from_secs(300);

/// Repeats the preparation until it succeeds, reporting the state to `sink`. Returns false if stopped first.
pub(crate) async fn ready<Fut>(
    sink: &dyn EventSink,
    stop: &CancellationToken,
    ids: &Ids,
    mut prepare: impl FnMut() -> Fut,
) -> Result<bool, ChannelError>
where
    Fut: Future<Output = Result<(), SendError>>,
{
    let mut backoff = Backoff::new(ids.clone());
    sink.set_status(ConnectionStatus::Connecting);
    loop {
        let tried = tokio::select! {
            tried = prepare() => tried,
            () = stop.cancelled() => return Ok(false),
        };
        let (why, after) = match tried {
            Ok(()) => {
                sink.set_status(ConnectionStatus::Connected);
                return Ok(true);
            }
            Err(SendError::Account(why)) => return Err(ChannelError::Refused(why)),
            Err(SendError::Later { after, why }) => (why, after),
            Err(SendError::Never(why) | SendError::Unreachable(why) | SendError::Unknown(why)) => {
                (why, None)
            }
        };
        sink.set_status(ConnectionStatus::Broken { why });
        let wait = backoff.wait();
        let pause = after.map_or(wait, |after| after.min(LONGEST).max(wait));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return Ok(false),
        }
    }
}
