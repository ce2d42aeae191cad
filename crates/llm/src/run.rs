//! One request on its way: tried again while that helps, and only as long as another model may wait.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::budget::{Estimate, Reservation, Spent};
use crate::draft::{Draft, Finished, On};
use crate::error::{ErrorKind, Fault};
use crate::estimate::input_tokens;
use crate::exchange::{self, Around, Patience};
use crate::history::tidy;
use crate::model::ModelId;
use crate::models::Models;
use crate::price;
use crate::provider::{Provider, Way};
use crate::reply::{Attempt, Cost, Delta, Failure, Reply, Usage};
use crate::request::Request;
use crate::settings::ProviderKind;
use crate::wire::Ask;

/// The least time that a new try must have before it is made instead of a failover.
const WORTH_IT: Duration = Duration::from_millis(500);

/// Whoever listens, and whether they have heard something.
struct Listener<'a> {
    /// Never locked: it only lets the one who holds it be shared between threads.
    on: Mutex<On<'a>>,
    heard: bool,
}

impl Listener<'_> {
    fn tell(&mut self, delta: Delta) {
        let on = self.on.get_mut().unwrap_or_else(PoisonError::into_inner);
        on(delta);
    }

    fn hear(&mut self, delta: Delta) {
        self.heard = true;
        self.tell(delta);
    }

    /// Takes back what was heard, if anything was.
    fn restart(&mut self, model: &ModelId, because: String) {
        if std::mem::take(&mut self.heard) {
            let model = model.clone();
            self.tell(Delta::Restart { model, because });
        }
    }
}

/// The smallest reply that every provider lets one ask for.
const LEAST: u32 = 16;

/// One try among those with the same model.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// When the next model is turned to, where one stands by.
    deadline: Option<Instant>,
    /// It is not the first try.
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

/// One request on its way from model to model.
pub(crate) struct Run<'a> {
    models: &'a Models,
    request: &'a Request,
    listener: Listener<'a>,
    cancel: &'a CancellationToken,
    retries: u32,
    pub(crate) attempts: Vec<Attempt>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        models: &'a Models,
        request: &'a Request,
        on: On<'a>,
        cancel: &'a CancellationToken,
        retries: u32,
    ) -> Self {
        Self {
            models,
            request,
            listener: Listener {
                on: Mutex::new(on),
                heard: false,
            },
            cancel,
            retries,
            attempts: Vec::new(),
        }
    }

    /// Asks one model, as often as that makes sense.
    pub(crate) async fn model(&mut self, model: &ModelId, stands_by: bool) -> Result<Reply, Fault> {
        let Some(provider) = self.models.provider(model) else {
            let why = format!(
                "there is no provider {:?} in models.providers",
                model.provider
            );
            return Err(Fault::new(ErrorKind::NotConfigured, why));
        };
        let late = Duration::from_secs(u64::from(self.models.retry.failover_seconds));
        let deadline = stands_by.then(|| Instant::now() + late);
        let mut tried = 0;
        loop {
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
                .attempt(provider, model, Turn { deadline, again })
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
            // Whoever was silent once is not worth waiting for again while another stands by.
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

    /// How long to wait before the next try; `None` when it is not worth it.
    fn wait(&self, tried: u32, kind: &ErrorKind, deadline: Option<Instant>) -> Option<Duration> {
        let retry = &self.models.retry;
        let base =
            Duration::from_millis(u64::from(retry.base_milliseconds)) * 2_u32.pow(tried.min(10));
        // Between half of it and all of it, so that many who failed together do not return together.
        let [chance] = self.models.outside.ids.random::<1>();
        let mut wait = base.mul_f64(0.5 + f64::from(chance) / 510.0);
        if let ErrorKind::RateLimited {
            retry_after: Some(said),
        } = kind
        {
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

    /// Asks once: money first, then the model, then the books.
    async fn attempt(
        &mut self,
        provider: &Provider,
        model: &ModelId,
        turn: Turn,
    ) -> (Result<Reply, Fault>, Option<Spent>) {
        if self.cancel.is_cancelled() {
            return (Err(Fault::cancelled()), None);
        }
        let (estimate, held) = match self.reserve(model).await {
            Ok(reserved) => reserved,
            Err(fault) => return (Err(fault), None),
        };
        let mut draft = Draft::new(model.clone());
        let (sent, notes) = self.exchange(provider, model, turn, &mut draft).await;
        let seen = draft.used_so_far(estimate.input_tokens);
        let mut finished = sent.and_then(|()| draft.finish());
        if let Ok(finished) = &mut finished {
            finished.notes.splice(0..0, notes);
            if let (0, Some(seen)) = (finished.usage.total(), seen) {
                finished.usage = seen;
                finished
                    .notes
                    .push("the server counts no tokens: they are estimated".into());
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
        if let Some(spent) = spent {
            held.settle(spent).await;
        }
        (
            finished.map(|finished| made(finished, provider, model, cost)),
            spent,
        )
    }

    async fn reserve(&self, model: &ModelId) -> Result<(Estimate, Box<dyn Reservation>), Fault> {
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

    /// Sends the request and fills `draft`; also tells what could not be said.
    async fn exchange(
        &mut self,
        provider: &Provider,
        model: &ModelId,
        turn: Turn,
        draft: &mut Draft,
    ) -> (Result<(), Fault>, Vec<String>) {
        let around = Around {
            secrets: &*self.models.outside.secrets,
            clock: &*self.models.outside.clock,
            cancel: self.cancel,
            patience: patience(provider, turn.deadline, turn.again),
        };
        let max_output = self.max_output();
        let listener = &mut self.listener;
        let on: On<'_> = &mut |delta| listener.hear(delta);
        let line = match &provider.way {
            Way::Line(line) => line,
            Way::Script(script) => {
                return (
                    script.play(self.request, draft, on, self.cancel).await,
                    Vec::new(),
                );
            }
            Way::Broken(why) => {
                return (Err(Fault::new(ErrorKind::NotConfigured, why)), Vec::new());
            }
        };
        let ask = Ask {
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
        drop(ask);
        let notes = std::mem::take(&mut prepared.notes);
        let sent = exchange::stream(line, prepared, &mut *decoder, draft, on, &around).await;
        (sent, notes)
    }
}

/// How long to wait for `provider`: briefly while another model stands by, and in a new try only
/// as long as `deadline` leaves.
fn patience(provider: &Provider, deadline: Option<Instant>, again: bool) -> Patience {
    let timeouts = provider.timeouts;
    let Some(deadline) = deadline else {
        return Patience {
            first: timeouts.last_resort,
            between: timeouts.last_resort,
            total: timeouts.total,
        };
    };
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
