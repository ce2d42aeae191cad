//! The engine and the loop around it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Function, Object, Persistent, Promise, Runtime,
    Value,
};

use super::desk::{Desk, raw};
use super::memory::{Meter, Metered};
use super::pipes::{Inbox, Outbox};
use super::{confine, natives, refuse};
use crate::frames::{FromWorker, ToWorker};
use crate::report::{Fault, FaultKind};

const PRELUDE: &str = include_str!("prelude.js");

/// The file that the script's own lines belong to; the prelude looks for it too.
const SCRIPT: &str = "script.js";

/// What stands before the code on its first line, so that lines are the script's own and only the
/// columns of the first have to be put right.
const BEFORE: &str = "(async()=>{";
const AFTER: &str = "\n})";

/// How deep the engine may call itself, in bytes of stack; a process has several times as much.
const STACK: usize = 1 << 20;

/// What the engine may have before there is a script.
const TO_START: usize = 64 << 20;

/// How many jobs without a look at the time. The engine looks by itself, except between jobs that are
/// not the script's functions.
const JOBS: u32 = 1024;

/// The prelude's way to hear of rejections, once there is one.
type Track = Rc<RefCell<Option<Persistent<Function<'static>>>>>;

/// Readies an engine, waits for code, runs it, and ends the process.
pub(super) fn run(mut inbox: Inbox, out: Outbox) -> ! {
    let meter = Meter::new(TO_START);
    let desk = Rc::new(Desk::new(out, Rc::clone(&meter)));
    let engine = Runtime::new_with_alloc(Metered(Rc::clone(&meter)))
        .and_then(|runtime| Context::full(&runtime).map(|context| (runtime, context)));
    let (runtime, context) = match engine {
        Ok(engine) => engine,
        Err(error) => refuse(desk.out(), &format!("the engine cannot start: {error}")),
    };
    runtime.set_max_stack_size(STACK);
    let watch = Rc::clone(&desk);
    runtime.set_interrupt_handler(Some(Box::new(move || {
        watch.check_cpu();
        false
    })));
    let track = Track::default();
    let tracked = Rc::clone(&track);
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        move |ctx, promise, reason, handled| {
            let track = tracked.borrow().clone();
            let told = track
                .map(|track| track.restore(&ctx))
                .and_then(Result::ok)
                .map(|track| track.call::<_, ()>((promise, reason, handled)));
            if let Some(Err(_)) = told {
                ctx.catch();
            }
        },
    )));
    context.with(|ctx| {
        let prelude = match prepare(&ctx, &desk, &track) {
            Ok(prelude) => prelude,
            Err(error) => refuse(desk.out(), &format!("the prelude failed: {error}")),
        };
        let Some(ToWorker::Start(start)) = inbox.next(None) else {
            std::process::exit(1)
        };
        let start = desk.begin(*start);
        if let Err(what) = confine::bound(start.memory, Duration::from_millis(start.cpu_ms)) {
            refuse(desk.out(), &format!("the worker cannot be bounded: {what}"));
        }
        inbox.bound(start.frame);
        meter.allow(start.memory);
        let script = Script {
            ctx: &ctx,
            desk: &desk,
            meter: &meter,
            prelude,
        };
        script.run(&mut inbox)
    })
}

fn prepare<'js>(ctx: &Ctx<'js>, desk: &Rc<Desk>, track: &Track) -> Result<Prelude<'js>, String> {
    let made = || -> rquickjs::Result<Prelude<'js>> {
        let prelude: Function = ctx.eval_with_options(PRELUDE, options("prelude"))?;
        let made: Object = prelude.call((natives::natives(ctx, desk)?,))?;
        let tell: Function = made.get("track")?;
        *track.borrow_mut() = Some(Persistent::save(ctx, tell));
        Ok(Prelude {
            settle: made.get("settle")?,
            fire: made.get("fire")?,
            encode: made.get("encode")?,
            overlooked: made.get("overlooked")?,
            explain: made.get("explain")?,
        })
    };
    made().catch(ctx).map_err(|error| error.to_string())
}

pub(super) fn options(filename: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(filename.to_owned());
    options
}

/// Functions of the prelude that are called from here.
struct Prelude<'js> {
    settle: Function<'js>,
    fire: Function<'js>,
    encode: Function<'js>,
    overlooked: Function<'js>,
    explain: Function<'js>,
}

/// One run.
struct Script<'a, 'js> {
    ctx: &'a Ctx<'js>,
    desk: &'a Desk,
    meter: &'a Meter,
    prelude: Prelude<'js>,
}

impl<'js> Script<'_, 'js> {
    fn run(&self, inbox: &mut Inbox) -> ! {
        let code = &self.desk.start().code;
        // A first line for a shell is none for us, and keeps its number.
        let code = match code.strip_prefix("#!") {
            Some(rest) => format!("//{rest}"),
            None => code.clone(),
        };
        let whole = format!("{BEFORE}{code}{AFTER}");
        let body: Function = match self
            .ctx
            .eval_with_options(whole, options(SCRIPT))
            .catch(self.ctx)
        {
            Ok(body) => body,
            Err(error) => self.fail(FaultKind::Syntax, error),
        };
        let main: Promise = match body.call(()).catch(self.ctx) {
            Ok(main) => main,
            Err(error) => self.fail(FaultKind::Thrown, error),
        };
        loop {
            self.jobs();
            match main.state() {
                PromiseState::Pending => {}
                PromiseState::Resolved => self.finish(&main),
                PromiseState::Rejected => {
                    match main.result::<Value>().transpose().catch(self.ctx) {
                        Ok(_) => self
                            .desk
                            .fail(FaultKind::Crashed, "a rejection without a reason"),
                        Err(error) => self.fail(FaultKind::Thrown, error),
                    }
                }
            }
            self.wait(inbox);
        }
    }

    /// Does what is ready to be done.
    fn jobs(&self) {
        let mut done = 0;
        while self.ctx.execute_pending_job() {
            done += 1;
            if done % JOBS == 0 {
                self.desk.check_cpu();
            }
        }
    }

    /// Waits for the next timer or answer, and acts on it.
    fn wait(&self, inbox: &mut Inbox) {
        let now = self.desk.now();
        let due = self.desk.timers.borrow_mut().due(now);
        if let Some(id) = due
            && let Err(error) = self.prelude.fire.call::<_, ()>((id,)).catch(self.ctx)
        {
            self.fail(FaultKind::Thrown, error);
        }
        let next = self.desk.timers.borrow().next();
        let wait = match (due, next) {
            (Some(_), _) => Some(Duration::ZERO),
            (None, Some(next)) => Some(next.saturating_sub(now)),
            (None, None) if self.desk.waits_for_answers() => None,
            (None, None) => self.desk.fail(
                FaultKind::Thrown,
                "the script waits for a promise that nothing will ever settle: no call and no timer is left",
            ),
        };
        let answered = match inbox.next(wait) {
            None => return,
            Some(ToWorker::Start(_)) => std::process::exit(1),
            Some(ToWorker::Answer { id, value }) => {
                self.desk.answered(id);
                let text: &str = value.get();
                self.prelude.settle.call::<_, ()>((id, true, text, ""))
            }
            Some(ToWorker::Refusal { id, code, message }) => {
                self.desk.answered(id);
                self.prelude.settle.call((id, false, code, message))
            }
        };
        if let Err(error) = answered.catch(self.ctx) {
            self.fail(FaultKind::Thrown, error);
        }
    }

    /// The script returned: hands over what it returned.
    fn finish(&self, main: &Promise<'js>) -> ! {
        let overlooked = self
            .prelude
            .overlooked
            .call::<_, Option<Object>>((main.clone(),));
        if let Ok(Some(overlooked)) = &overlooked {
            let reason = overlooked
                .get("reason")
                .unwrap_or(Value::new_undefined(self.ctx.clone()));
            self.explain(
                FaultKind::Thrown,
                reason,
                "a promise was rejected and nobody waited for it: ",
            );
        }
        let value = match main.result::<Value>().transpose().catch(self.ctx) {
            Ok(value) => value.unwrap_or_else(|| Value::new_undefined(self.ctx.clone())),
            Err(error) => self.fail(FaultKind::Thrown, error),
        };
        let text = if value.is_undefined() {
            "null".to_owned()
        } else {
            match self
                .prelude
                .encode
                .call::<_, String>((value, "the returned value"))
                .catch(self.ctx)
            {
                Ok(text) => text,
                Err(error) => self.fail(FaultKind::Output, error),
            }
        };
        let most = self.desk.start().output;
        if text.len() > most {
            self.desk.fail(
                FaultKind::Output,
                format!(
                    "the returned value is {} bytes of JSON and may be {most}; return less, or keep it with \
                     codeExec.createArtifact",
                    text.len()
                ),
            );
        }
        match raw(text) {
            Ok(value) => self.desk.end(&FromWorker::Done { value }),
            Err(error) => self.desk.fail(
                FaultKind::Output,
                format!("the returned value is no JSON: {error}"),
            ),
        }
    }

    fn fail(&self, kind: FaultKind, error: CaughtError<'js>) -> ! {
        match error {
            CaughtError::Exception(thrown) => self.explain(kind, thrown.into_value(), ""),
            CaughtError::Value(thrown) => self.explain(kind, thrown, ""),
            // What was thrown is no text, or the like: the engine's words are all there is.
            CaughtError::Error(error) => self.desk.fail(kind, error.to_string()),
        }
    }

    /// Says what was thrown, and ends.
    fn explain(&self, kind: FaultKind, thrown: Value<'js>, before: &str) -> ! {
        // When memory ran out there may have been too little left to make an error of it.
        let nothing = thrown.is_null() || thrown.is_undefined();
        if nothing && self.meter.refused() {
            self.out_of_memory();
        }
        self.meter.last_words();
        let told: Object = match self.prelude.explain.call((thrown,)).catch(self.ctx) {
            Ok(told) => told,
            Err(_) if self.meter.refused() => self.out_of_memory(),
            Err(_) => self
                .desk
                .fail(kind, "something was thrown that cannot be shown"),
        };
        let part = |key: &str| told.get::<_, String>(key).unwrap_or_default();
        let (name, message, stack) = (part("name"), part("message"), part("stack"));
        if self.meter.refused() && message == "out of memory" {
            self.out_of_memory();
        }
        let kind = match (kind, name.as_str()) {
            // Code that is too deep to read is no fault of its grammar.
            (FaultKind::Syntax, "SyntaxError") | (FaultKind::Thrown | FaultKind::Output, _) => kind,
            _ => FaultKind::Thrown,
        };
        let place = super::stack::place(&stack, BEFORE.len(), &self.desk.start().code);
        let fault = Fault {
            kind,
            name,
            message: format!("{before}{message}"),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            excerpt: None,
            stack: super::stack::shown(&stack, BEFORE.len()),
        };
        self.desk.end(&FromWorker::Failed(Box::new(fault)))
    }

    fn out_of_memory(&self) -> ! {
        let mib = self.desk.start().memory >> 20;
        self.desk.fail(
            FaultKind::Memory,
            format!("the script wanted more than {mib} MiB of memory; work on less at a time"),
        )
    }
}
