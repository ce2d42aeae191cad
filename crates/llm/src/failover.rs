//! One request with retries and failover.
//!
//! Not `backon`: the delay depends on `Retry-After`, on the failover deadline and on injected
//! randomness.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::budget::{Estimate, Reservation};
use crate::draft::{Finished, On, ReplyDraft};
use crate::error::{Attempt, ErrorKind, Failure, Fault, ModelError};
use crate::estimate::input_tokens;
use crate::exchange::{self, ExchangeContext, ExchangeTimeouts};
use crate::history::tidy;
use crate::model::ModelId;
use crate::models::Models;
use crate::price;
use crate::provider::{Backend, Provider};
use crate::reply::{Delta, Reply};
use crate::request::ModelRequest;
use crate::settings::ProviderKind;
use crate::trace;
use crate::usage::Spent;
use crate::usage::{Cost, Usage};
use crate::wire::WireRequest;

/// Minimum time that must be left for a retry instead of a failover.
const MIN_RETRY_TIME: Duration = Duration::from_millis(500);

/// The delta callback, and whether it was called.
struct DeltaListener<'a> {
    /// Never locked: the mutex only makes the callback shareable between threads.
    on: Mutex<On<'a>>,
    called: bool,
}

impl DeltaListener<'_> {
    fn forward(&mut self, delta: Delta) {
        let on = self.on.get_mut().unwrap_or_else(PoisonError::into_inner);
        on(delta);
    }

    fn receive(&mut self, delta: Delta) {
        self.called = true;
        self.forward(delta);
    }

    /// Tells the callback to discard what it received, if anything.
    fn restart(&mut self, model: &ModelId, because: String) {
        if std::mem::take(&mut self.called) {
            let model = model.clone();
            self.forward(Delta::Restart { model, because });
        }
    }
}

/// The smallest output limit that every provider accepts.
const MIN_OUTPUT: u32 = 16;

/// Limits of one attempt with a model.
#[derive(Debug, Clone, Copy)]
struct RetryWindow {
    /// When to fail over, if there is a fallback.
    deadline: Option<Instant>,
    /// Whether it is a retry.
    again: bool,
}

fn reply_of(
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

impl Models {
    /// Requests a reply, passes its parts to `on` as they arrive, and returns it when complete.
    pub async fn reply(
        &self,
        request: &ModelRequest,
        on: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        self.reply_with(request, on, cancel, self.retry.retries)
            .await
    }

    /// One attempt with one model.
    pub(crate) async fn once(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        self.reply_with(request, &mut |_| {}, cancel, 0).await
    }

    async fn reply_with(
        &self,
        request: &ModelRequest,
        on: On<'_>,
        cancel: &CancellationToken,
        retries: u32,
    ) -> Result<Reply, ModelError> {
        // The first model's error is reported even if later ones fail differently: it is the one
        // the user chose.
        let candidates = self.candidates(request)?;
        let mut run = FailoverRun::new(self, request, on, cancel, retries);
        let mut first: Option<ModelError> = None;
        for (at, model) in candidates.iter().enumerate() {
            let has_fallback = at + 1 < candidates.len();
            let fault = match run.model(model, has_fallback).await {
                Ok(reply) => return Ok(reply),
                Err(fault) => fault,
            };
            // The first model's overflow is final (its window is what the owner chose), but a smaller fallback
            // that overflows must not hide the models after it.
            let later = at > 0 && fault.kind == ErrorKind::ContextOverflow;
            let tries_next = fault.kind.fails_over() || later;
            let is_final = !tries_next && first.is_some();
            let error = ModelError::new(model, fault);
            tracing::warn!(event = "model_failed", model = %model, kind = ?error.kind, error = error.message, failover = has_fallback && tries_next, "model request failed");
            if is_final {
                first = Some(error);
                break;
            }
            first.get_or_insert(error);
            if !tries_next {
                break;
            }
        }
        let mut error = first.expect("at least one candidate failed");
        error.attempts = run.attempts;
        Err(error)
    }

    /// The models to try, in order.
    fn candidates(&self, request: &ModelRequest) -> Result<Vec<ModelId>, ModelError> {
        let Some(model) = request.model.as_ref().or(self.default_model()) else {
            let unknown = ModelId {
                provider: "models".to_owned(),
                model: "default".to_owned(),
            };
            let fault = Fault::new(ErrorKind::NotConfigured, "no model is configured");
            return Err(ModelError::new(&unknown, fault));
        };
        let mut candidates = vec![model.clone()];
        let fallbacks = request.fallbacks.as_ref().unwrap_or(&self.fallbacks);
        for fallback in fallbacks {
            // The chosen model may also be a fallback; trying it twice in a row would only double
            // the wait.
            if !candidates.contains(fallback) {
                candidates.push(fallback.clone());
            }
        }
        Ok(candidates)
    }
}

/// A request in progress, from model to model.
struct FailoverRun<'a> {
    models: &'a Models,
    request: &'a ModelRequest,
    listener: DeltaListener<'a>,
    cancel: &'a CancellationToken,
    retries: u32,
    attempts: Vec<Attempt>,
}

impl<'a> FailoverRun<'a> {
    fn new(
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
                called: false,
            },
            cancel,
            retries,
            attempts: Vec::new(),
        }
    }

    /// Tries one model, with retries.
    async fn model(&mut self, model: &ModelId, has_fallback: bool) -> Result<Reply, Fault> {
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
        let deadline = has_fallback.then(|| Instant::now() + late);
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
                    // All attempts, the failed ones too: they may have cost something.
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
            let timed_out = has_fallback && fault.kind == ErrorKind::Silent;
            if tried == self.retries || timed_out || !fault.kind.may_pass() {
                return Err(fault);
            }
            let Some(wait) = self.wait(tried, &fault.kind, deadline) else {
                return Err(fault);
            };
            tried += 1;
            self.pause(wait).await?;
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
        // A retry that could not finish before the failover would only delay the fallback.
        let fits = deadline.is_none_or(|by| Instant::now() + wait + MIN_RETRY_TIME <= by);
        fits.then_some(wait)
    }

    async fn pause(&self, wait: Duration) -> Result<(), Fault> {
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
        window: RetryWindow,
    ) -> (Result<Reply, Fault>, Option<Spent>) {
        // Checked before reserving, so that a cancelled request never touches the budget.
        if self.cancel.is_cancelled() {
            return (Err(Fault::cancelled()), None);
        }
        let (estimate, reservation) = match self.reserve(model).await {
            Ok(reserved) => reserved,
            Err(fault) => return (Err(fault), None),
        };
        let mut draft = ReplyDraft::new(model.clone());
        let endpoint = match &provider.backend {
            Backend::Http(endpoint) => Some(endpoint.base.address()),
            Backend::Script(_) | Backend::Broken(_) => None,
        };
        let whom = (model, provider.kind);
        let mut span = trace::begin(whom, self.request, self.max_output(), endpoint);
        let exchanged = span.run(self.exchange(provider, model, window, &mut draft));
        let (sent, notes) = exchanged.await;
        // Computed before `finish` consumes the draft: a cut reply is charged too.
        let seen = draft.used_so_far(estimate.input_tokens);
        let mut finished = sent.and_then(|()| draft.finish());
        if let Ok(finished) = &mut finished {
            // Notes on the request come before those on the reply.
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
            reservation.settle(spent).await;
        }
        (
            finished.map(|finished| reply_of(finished, provider, model, cost)),
            spent,
        )
    }

    async fn reserve(&self, model: &ModelId) -> Result<(Estimate, Box<dyn Reservation>), Fault> {
        // Reserved at the maximum cost: concurrent calls must not together exceed a limit that each
        // alone respects.
        let input = input_tokens(self.request);
        // Output is the larger part of the cost and unknown, so its limit counts.
        let output = u64::from(self.max_output());
        let estimate = Estimate {
            model: model.clone(),
            account: self.request.account.clone(),
            input_tokens: input,
            output_tokens: output,
            cost: price::upper_bound(self.models.price(model), input, output),
        };
        let reservation = self.models.outside.budget.reserve(&estimate).await;
        let reservation = reservation
            .map_err(|refused| Fault::new(ErrorKind::OverBudget, refused.to_string()))?;
        Ok((estimate, reservation))
    }

    fn max_output(&self) -> u32 {
        let requested = self.request.max_output_tokens;
        requested.unwrap_or(self.models.max_output).max(MIN_OUTPUT)
    }

    /// Sends the request and fills `draft`; also returns notes on unsupported options.
    async fn exchange(
        &mut self,
        provider: &Provider,
        model: &ModelId,
        window: RetryWindow,
        draft: &mut ReplyDraft,
    ) -> (Result<(), Fault>, Vec<String>) {
        let context = ExchangeContext {
            secrets: &*self.models.outside.secrets,
            clock: &*self.models.outside.clock,
            cancel: self.cancel,
            timeouts: timeouts_for(provider, window.deadline, window.again),
        };
        let max_output = self.max_output();
        let listener = &mut self.listener;
        let on: On<'_> = &mut |delta| listener.receive(delta);
        let endpoint = match &provider.backend {
            Backend::Http(endpoint) => endpoint,
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
        let mut prepared = match endpoint.wire.prepare(&ask, &endpoint.base) {
            Ok(prepared) => prepared,
            Err(fault) => return (Err(fault), Vec::new()),
        };
        let mut decoder = endpoint.wire.decoder(&self.models.outside.ids);
        // Release the copied conversation before the reply, which may take minutes.
        drop(ask);
        let notes = std::mem::take(&mut prepared.notes);
        let sent = exchange::stream(endpoint, prepared, &mut *decoder, draft, on, &context).await;
        (sent, notes)
    }
}

/// Timeouts for `provider`: short while a fallback is available, and in a retry no longer than
/// `deadline` allows.
fn timeouts_for(provider: &Provider, deadline: Option<Instant>, again: bool) -> ExchangeTimeouts {
    let timeouts = provider.timeouts;
    let Some(deadline) = deadline else {
        return ExchangeTimeouts {
            first: timeouts.last_resort,
            between: timeouts.last_resort,
            total: timeouts.total,
        };
    };
    // A retry must not outlive the failover deadline, or waiting for it would delay the fallback.
    let left = deadline.saturating_duration_since(Instant::now());
    ExchangeTimeouts {
        first: if again {
            timeouts.first.min(left)
        } else {
            timeouts.first
        },
        between: timeouts.between,
        total: timeouts.total,
    }
}
