//! Contains panics.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// A contained panic. Its message is the same for all of them; the log has the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("internal error (a bug in manyhands); the gateway's log has the details")]
pub struct Panicked {
    /// The panic message. For the log only: it may quote anything.
    pub reason: String,
}

impl Panicked {
    fn of(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Self {
            reason: text.unwrap_or("no reason was given").to_owned(),
        }
    }
}

/// The output of `work`, or that it panicked, so that a supervising task can continue and report it.
/// What the work holds is dropped before this returns.
pub async fn contained<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        // Unwind safety: the work is never polled again after it panicked, so nobody can observe the
        // state it left behind.
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        match polled {
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(Panicked::of(&*panic))),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_ends_the_work_and_nothing_else() {
        let done = contained(async {
            tokio::task::yield_now().await;
            7
        });
        assert_eq!(done.await, Ok(7));
        let number = 3;
        let panicked = contained(async {
            tokio::task::yield_now().await;
            assert_eq!(number, 4, "as planned");
        });
        let panicked = panicked.await.unwrap_err();
        assert!(panicked.reason.contains("as planned"));
        assert!(!panicked.to_string().contains("as planned"));
    }
}
