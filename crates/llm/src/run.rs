//! One request with retries and failover.
//!
//! Not `backon`: the delay depends on `Retry-After`, on the failover deadline and on injected
//! randomness.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::budget::{Estimate, Reservation, Spent};
use crate::draft::{Finished, On, ReplyDraft};
use crate::error::{ErrorKind, Fault};
use crate::estimate::input_tokens;
use crate::exchange::{self, ExchangeContext, Patience};
use crate::history::tidy;
use crate::model::ModelId;
use crate::models::Models;
use crate::price;
use crate::provider::{Backend, Provider};
use crate::reply::{Attempt, Cost, Delta, Failure, Reply, Usage};
use crate::request::ModelRequest;
use crate::settings::ProviderKind;
use crate::trace;
use crate::wire::WireRequest;

/// Minimum time that must be left for a retry instead of a failover.
const WORTH_IT: Duration = Duration::from_millis(500);

/// The delta callback, and whether it was called.
struct DeltaListener<'a> {
    /// Never locked: the mutex only makes the callback shareable between threads.
    on: Mutex<On<'a>>,
    heard: bool,
}

impl DeltaListener<'_> {
    fn tell(&mut self, delta: Delta) {
        let on = self.on.get_mut().unwrap_or_else(PoisonError::into_inner);
        on(delta);
    }

    fn hear(&mut self, delta: Delta) {
        self.heard = true;
        self.tell(delta);
    }

    /// Tells the callback to discard what it received, if anything.
    fn restart(&mut self, model: &ModelId, because: String) {
        if std::mem::take(&mut self.heard) {
            let model = model.clone();
            self.tell(Delta::Restart { model, because });
        }
    }
}

/// The smallest output limit that every provider accepts.
const LEAST: u32 = 16;

/// Limits of one attempt with a model.
#[derive(Debug, Clone, Copy)]
struct RetryWindow {
    /// When to fail over, if there is a fallback.
    deadline: Option<Instant>,
    /// Whether it is a retry.
    again: bool,
}

fn made(
    finished: Finished,
    provider: &Provider,
    model: &ModelId,
    cost: impl Fn(&Usage) -> Cost,
) -> Reply {
    Reply {
        cost: cost(&finished.usage),
        content: finished.content,
        stop: finished.stop,
        usage: finished.usage,
        model: model.clone(),
        attempts: Vec::new(),
        notes: finished.notes,
        scripted: provider.kind == ProviderKind::Scripted,
    }
}

/// A request in progress, from model to model.
pub(crate) struct FailoverRun<'a> {
    models: &'a Models,
    request: &'a ModelRequest,
    listener: DeltaListener<'a>,
    cancel: &'a CancellationToken,
    retries: u32,
    pub(crate) attempts: Vec<Attempt>,
}

impl<'a> FailoverRun<'a> {
    pub(crate) fn new(
        models: &'a Models,
        request: &'a ModelRequest,
        on: On<'a>,
        cancel: &'a CancellationToken,
        retries: u32,
    ) -> Self {
        Self {
            models,
            request,
            listener: DeltaListener {
                on: Mutex::new(on),
                heard: false,
            },
            cancel,
            retries,
            attempts: Vec::new(),
        }
    }

    /// Tries one model, with retries.
    pub(crate) async fn model(&mut self, model: &ModelId, stands_by: bool) -> Result<Reply, Fault> {
        let Some(provider) = self.models.provider(model) else {
            let why = format!(
                "unknown provider {:?}: it is not in models.providers",
                model.provider
            );
            return Err(Fault::new(ErrorKind::NotConfigured, why));
        };
        // The clock for failing over starts with the first attempt: retries must not add up to a
        // long wait while another model could have answered.
        let late = Duration::from_secs(u64::from(self.models.retry.failover_seconds));
        let deadline = stands_by.then(|| Instant::now() + late);
        let mut tried = 0;
        loop {
            // Deltas of the failed attempt were already shown; the listener must discard them
            // before the first delta of this one.
            if let Some(last) = self.attempts.last().and_then(|last| last.failure.as_ref()) {
                let because = format!(
                    "{}: {}",
                    self.attempts[self.attempts.len() - 1].model,
                    last.message
                );
                self.listener.restart(model, because);
            }
            let started = Instant::now();
            let again = tried > 0;
            let (done, spent) = self
                .attempt(provider, model, RetryWindow { deadline, again })
                .await;
            let mut attempt = Attempt {
                model: model.clone(),
                took: started.elapsed(),
                failure: None,
                spent,
            };
            let fault = match done {
                Ok(mut reply) => {
                    self.attempts.push(attempt);
                    reply.attempts = std::mem::take(&mut self.attempts);
                    return Ok(reply);
                }
                Err(fault) => fault,
            };
            attempt.failure = Some(Failure {
                kind: fault.kind.clone(),
                message: fault.message.clone(),
            });
            self.attempts.push(attempt);
            // A model that timed out once is not worth another wait while a fallback is available.
            let silent = stands_by && fault.kind == ErrorKind::Silent;
            if tried == self.retries || silent || !fault.kind.may_pass() {
                return Err(fault);
            }
            let Some(wait) = self.wait(tried, &fault.kind, deadline) else {
                return Err(fault);
            };
            tried += 1;
            self.rest(wait).await?;
        }
    }

    /// Delay before the next retry; `None` to give up.
    fn wait(&self, tried: u32, kind: &ErrorKind, deadline: Option<Instant>) -> Option<Duration> {
        let retry = &self.models.retry;
        let base =
            Duration::from_millis(u64::from(retry.base_milliseconds)) * 2_u32.pow(tried.min(10));
        // Jitter between 50 % and 100 %, so that clients that failed together do not return together.
        let [chance] = self.models.outside.ids.random::<1>();
        let mut wait = base.mul_f64(0.5 + f64::from(chance) / 510.0);
        if let ErrorKind::RateLimited {
            retry_after: Some(said),
        } = kind
        {
            // Waiting longer than the owner allows is worse than failing over.
            if *said > Duration::from_secs(u64::from(retry.max_wait_seconds)) {
                return None;
            }
            wait = wait.max(*said);
        }
        let fits = deadline.is_none_or(|by| Instant::now() + wait + WORTH_IT <= by);
        fits.then_some(wait)
    }

    async fn rest(&self, wait: Duration) -> Result<(), Fault> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Fault::cancelled()),
            () = tokio::time::sleep(wait) => Ok(()),
        }
    }

    /// One attempt: reserve the budget, call the model, settle.
    async fn attempt(
        &mut self,
        provider: &Provider,
        model: &ModelId,
        turn: RetryWindow,
    ) -> (Result<Reply, Fault>, Option<Spent>) {
        // Checked before reserving, so that a cancelled request never touches the budget.
        if self.cancel.is_cancelled() {
            return (Err(Fault::cancelled()), None);
        }
        let (estimate, held) = match self.reserve(model).await {
            Ok(reserved) => reserved,
            Err(fault) => return (Err(fault), None),
        };
        let mut draft = ReplyDraft::new(model.clone());
        let endpoint = match &provider.way {
            Backend::Http(endpoint) => Some(&endpoint.base),
            Backend::Script(_) | Backend::Broken(_) => None,
        };
        let whom = (model, provider.kind);
        let mut span = trace::begin(whom, self.request, self.max_output(), endpoint);
        let exchanged = span.run(self.exchange(provider, model, turn, &mut draft));
        let (sent, notes) = exchanged.await;
        // Computed before `finish` consumes the draft: a cut reply is charged too.
        let seen = draft.used_so_far(estimate.input_tokens);
        let mut finished = sent.and_then(|()| draft.finish());
        if let Ok(finished) = &mut finished {
            finished.notes.splice(0..0, notes);
            if let (0, Some(seen)) = (finished.usage.total(), seen) {
                finished.usage = seen;
                finished
                    .notes
                    .push("the server reports no token counts: they are estimated".into());
            }
        }
        let usage = finished
            .as_ref()
            .map_or(seen, |finished| Some(finished.usage));
        let cost = |usage: &Usage| price::cost(self.models.price(model), usage);
        let spent = usage.map(|usage| Spent {
            usage,
            cost: cost(&usage),
        });
        trace::describe(&mut span, &finished, spent);
        // Ended before the books are written: the model was no longer at work.
        drop(span);
        // Without usage nothing was charged; dropping the reservation releases it.
        if let Some(spent) = spent {
            held.settle(spent).await;
        }
        (
            finished.map(|finished| made(finished, provider, model, cost)),
            spent,
        )
    }

    async fn reserve(&self, model: &ModelId) -> Result<(Estimate, Box<dyn Reservation>), Fault> {
        // Reserved at the maximum cost: concurrent calls must not together exceed a limit that each
        // alone respects.
        let input = input_tokens(self.request);
        let output = u64::from(self.max_output());
        let estimate = Estimate {
            model: model.clone(),
            account: self.request.account.clone(),
            input_tokens: input,
            output_tokens: output,
            cost: price::most(self.models.price(model), input, output),
        };
        let held = self.models.outside.budget.reserve(&estimate).await;
        let held = held.map_err(|over| Fault::new(ErrorKind::OverBudget, over.to_string()))?;
        Ok((estimate, held))
    }

    fn max_output(&self) -> u32 {
        let asked = self.request.max_output_tokens;
        asked.unwrap_or(self.models.max_output).max(LEAST)
    }

    /// Sends the request and fills `draft`; also returns notes on unsupported options.
    async fn exchange(
        &mut self,
        provider: &Provider,
        model: &ModelId,
        turn: RetryWindow,
        draft: &mut ReplyDraft,
    ) -> (Result<(), Fault>, Vec<String>) {
        let around = ExchangeContext {
            secrets: &*self.models.outside.secrets,
            clock: &*self.models.outside.clock,
            cancel: self.cancel,
            patience: patience(provider, turn.deadline, turn.again),
        };
        let max_output = self.max_output();
        let listener = &mut self.listener;
        let on: On<'_> = &mut |delta| listener.hear(delta);
        let line = match &provider.way {
            Backend::Http(line) => line,
            Backend::Script(script) => {
                return (
                    script.play(self.request, draft, on, self.cancel).await,
                    Vec::new(),
                );
            }
            Backend::Broken(why) => {
                return (Err(Fault::new(ErrorKind::NotConfigured, why)), Vec::new());
            }
        };
        let ask = WireRequest {
            request: self.request,
            messages: tidy(&self.request.messages),
            model,
            max_output,
        };
        let mut prepared = match line.wire.prepare(&ask, line) {
            Ok(prepared) => prepared,
            Err(fault) => return (Err(fault), Vec::new()),
        };
        let mut decoder = line.wire.decoder(&self.models.outside.ids);
        // Release the copied conversation before the reply, which may take minutes.
        drop(ask);
        let notes = std::mem::take(&mut prepared.notes);
        let sent = exchange::stream(line, prepared, &mut *decoder, draft, on, &around).await;
        (sent, notes)
    }
}

/// Timeouts for `provider`: short while a fallback is available, and in a retry no longer than
/// `deadline` allows.
fn patience(provider: &Provider, deadline: Option<Instant>, again: bool) -> Patience {
    let timeouts = provider.timeouts;
    let Some(deadline) = deadline else {
        return Patience {
            first: timeouts.last_resort,
            between: timeouts.last_resort,
            total: timeouts.total,
        };
    };
    // A retry must not outlive the failover deadline, or waiting for it would delay the fallback.
    let left = deadline.saturating_duration_since(Instant::now());
    Patience {
        first: if again {
            timeouts.first.min(left)
        } else {
            timeouts.first
        },
        between: timeouts.between,
        total: timeouts.total,
    }
}
