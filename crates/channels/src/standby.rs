//! Waiting for webhooks: first it is seen to that they can come.

use std::time::Duration;

use manyhands_core::Ids;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::channel::{ChannelError, Ear, SendError, Standing};

/// The longest wait that a platform can ask for.
const LONGEST: Duration = Duration::from_secs(300);

/// Prepares until that works, telling `ear` how it stands. Says whether it did before it was stopped.
pub(crate) async fn ready<Fut>(
    ear: &dyn Ear,
    stop: &CancellationToken,
    ids: &Ids,
    mut prepare: impl FnMut() -> Fut,
) -> Result<bool, ChannelError>
where
    Fut: Future<Output = Result<(), SendError>>,
{
    let mut backoff = Backoff::new(ids.clone());
    ear.stands(Standing::Connecting);
    loop {
        let tried = tokio::select! {
            tried = prepare() => tried,
            () = stop.cancelled() => return Ok(false),
        };
        let (why, after) = match tried {
            Ok(()) => {
                ear.stands(Standing::Connected);
                return Ok(true);
            }
            Err(SendError::Account(why)) => return Err(ChannelError::Refused(why)),
            Err(SendError::Later { after, why }) => (why, after),
            Err(SendError::Never(why) | SendError::Unreachable(why) | SendError::Unknown(why)) => {
                (why, None)
            }
        };
        ear.stands(Standing::Broken { why });
        let wait = backoff.wait();
        let pause = after.map_or(wait, |after| after.min(LONGEST).max(wait));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return Ok(false),
        }
    }
}
