//! The JavaScript engine and its event loop.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Function, Object, Persistent, Promise, Runtime,
    Value,
};

use super::memory::{Meter, MeteredAllocator};
use super::pipes::{FrameReader, FrameWriter};
use super::state::{ScriptState, raw};
use super::{confine, natives, refuse};
use crate::frames::{FromWorker, ToWorker};
use crate::report::{Fault, FaultKind};

const PRELUDE: &str = include_str!("prelude.js");

/// File name of the script; also used by the prelude.
const SCRIPT: &str = "script.js";

/// Precedes the code on its first line, so that line numbers stay the same and only columns of the first line have to be
/// corrected.
const BEFORE: &str = "(async()=>{";
const AFTER: &str = "\n})";

/// Maximum stack size of the engine; the process has several times as much.
const STACK: usize = 1 << 20;

/// Memory the engine may use before the script.
const TO_START: usize = 64 << 20;

/// Number of jobs between checks of the CPU time. The engine checks by itself, except between jobs that are not functions of
/// the script.
const JOBS: u32 = 1024;

/// The prelude's rejection handler, once set.
type RejectionHandler = Rc<RefCell<Option<Persistent<Function<'static>>>>>;

/// Prepares an engine, waits for code, runs it, and ends the process.
pub(super) fn run(mut reader: FrameReader, out: FrameWriter) -> ! {
    let meter = Meter::new(TO_START);
    let state = Rc::new(ScriptState::new(out, Rc::clone(&meter)));
    let engine = Runtime::new_with_alloc(MeteredAllocator(Rc::clone(&meter)))
        .and_then(|runtime| Context::full(&runtime).map(|context| (runtime, context)));
    let (runtime, context) = match engine {
        Ok(engine) => engine,
        Err(error) => refuse(state.out(), &format!("cannot start the engine: {error}")),
    };
    // Far below the real stack: the engine has to notice a deep recursion before the kernel does.
    runtime.set_max_stack_size(STACK);
    let watch = Rc::clone(&state);
    runtime.set_interrupt_handler(Some(Box::new(move || {
        watch.check_cpu();
        false
    })));
    let track = RejectionHandler::default();
    let tracked = Rc::clone(&track);
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        move |ctx, promise, reason, handled| {
            let track = tracked.borrow().clone();
            let outcome = track
                .map(|track| track.restore(&ctx))
                .and_then(Result::ok)
                .map(|track| track.call::<_, ()>((promise, reason, handled)));
            if let Some(Err(_)) = outcome {
                ctx.catch();
            }
        },
    )));
    context.with(|ctx| {
        let prelude = match prepare(&ctx, &state, &track) {
            Ok(prelude) => prelude,
            Err(error) => refuse(state.out(), &format!("the prelude failed: {error}")),
        };
        let Some(ToWorker::Start(start)) = reader.next(None) else {
            std::process::exit(1)
        };
        let start = state.begin(*start);
        // Limited only now: preparing the engine must not count towards the script's limits.
        if let Err(what) = confine::bound(start.memory, Duration::from_millis(start.cpu_ms)) {
            refuse(state.out(), &format!("cannot limit the worker: {what}"));
        }
        reader.bound(start.frame);
        meter.allow(start.memory);
        let script = Script {
            ctx: &ctx,
            state: &state,
            meter: &meter,
            prelude,
        };
        script.run(&mut reader)
    })
}

fn prepare<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<ScriptState>,
    track: &RejectionHandler,
) -> Result<Prelude<'js>, String> {
    let created = || -> rquickjs::Result<Prelude<'js>> {
        let prelude: Function = ctx.eval_with_options(PRELUDE, options("prelude"))?;
        let created: Object = prelude.call((natives::natives(ctx, state)?,))?;
        let tell: Function = created.get("track")?;
        *track.borrow_mut() = Some(Persistent::save(ctx, tell));
        Ok(Prelude {
            settle: created.get("settle")?,
            fire: created.get("fire")?,
            encode: created.get("encode")?,
            overlooked: created.get("overlooked")?,
            explain: created.get("explain")?,
        })
    };
    created().catch(ctx).map_err(|error| error.to_string())
}

pub(super) fn options(filename: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(filename.to_owned());
    options
}

/// Functions of the prelude called from here.
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
    state: &'a ScriptState,
    meter: &'a Meter,
    prelude: Prelude<'js>,
}

impl<'js> Script<'_, 'js> {
    fn run(&self, reader: &mut FrameReader) -> ! {
        let code = &self.state.start().code;
        // A shebang line is turned into a comment, which keeps line numbers.
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
                            .state
                            .fail(FaultKind::Crashed, "a rejection without a reason"),
                        Err(error) => self.fail(FaultKind::Thrown, error),
                    }
                }
            }
            self.wait(reader);
        }
    }

    /// Runs all pending jobs.
    fn jobs(&self) {
        let mut done = 0;
        while self.ctx.execute_pending_job() {
            done += 1;
            if done % JOBS == 0 {
                self.state.check_cpu();
            }
        }
    }

    /// Waits for the next timer or response, and handles it.
    fn wait(&self, reader: &mut FrameReader) {
        let now = self.state.now();
        let due = self.state.timers.borrow_mut().due(now);
        if let Some(id) = due
            && let Err(error) = self.prelude.fire.call::<_, ()>((id,)).catch(self.ctx)
        {
            self.fail(FaultKind::Thrown, error);
        }
        let next = self.state.timers.borrow().next();
        let wait = match (due, next) {
            // A timer has just fired: look for responses without waiting, its callback may have
            // made work.
            (Some(_), _) => Some(Duration::ZERO),
            (None, Some(next)) => Some(next.saturating_sub(now)),
            (None, None) if self.state.waits_for_answers() => None,
            (None, None) => self.state.fail(
                FaultKind::Thrown,
                "the script waits for a promise that can never settle: no call or timer is pending",
            ),
        };
        let answered = match reader.next(wait) {
            None => return,
            Some(ToWorker::Start(_)) => std::process::exit(1),
            Some(ToWorker::Answer { id, value }) => {
                self.state.answered(id);
                let text: &str = value.get();
                self.prelude.settle.call::<_, ()>((id, true, text, ""))
            }
            Some(ToWorker::Refusal { id, code, message }) => {
                self.state.answered(id);
                self.prelude.settle.call((id, false, code, message))
            }
        };
        if let Err(error) = answered.catch(self.ctx) {
            self.fail(FaultKind::Thrown, error);
        }
    }

    /// Sends the returned value.
    fn finish(&self, main: &Promise<'js>) -> ! {
        // Checked before the result: an unhandled rejection usually means that the result is incomplete.
        let overlooked = self
            .prelude
            .overlooked
            .call::<_, Option<Object>>((main.clone(),));
        if let Ok(Some(overlooked)) = &overlooked {
            let reason = overlooked
                .get("reason")
                .unwrap_or(Value::new_undefined(self.ctx.clone()));
            self.explain(FaultKind::Thrown, reason, "unhandled promise rejection: ");
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
        let limit = self.state.start().output;
        if text.len() > limit {
            self.state.fail(
                FaultKind::Output,
                format!(
                    "the returned value has {} bytes of JSON and the limit is {limit}; return less, or store it with \
                     codeExec.createArtifact",
                    text.len()
                ),
            );
        }
        match raw(text) {
            Ok(value) => self.state.end(&FromWorker::Done { value }),
            Err(error) => self.state.fail(
                FaultKind::Output,
                format!("the returned value is not JSON: {error}"),
            ),
        }
    }

    fn fail(&self, kind: FaultKind, error: CaughtError<'js>) -> ! {
        match error {
            CaughtError::Exception(thrown) => self.explain(kind, thrown.into_value(), ""),
            CaughtError::Value(thrown) => self.explain(kind, thrown, ""),
            // Not an exception of the script: the engine's message is all there is.
            CaughtError::Error(error) => self.state.fail(kind, error.to_string()),
        }
    }

    /// Reports what was thrown, and ends.
    fn explain(&self, kind: FaultKind, thrown: Value<'js>, before: &str) -> ! {
        // After running out of memory there may be too little left to create an error object.
        let nothing = thrown.is_null() || thrown.is_undefined();
        if nothing && self.meter.refused() {
            self.out_of_memory();
        }
        self.meter.allow_report();
        let outcome: Object = match self.prelude.explain.call((thrown,)).catch(self.ctx) {
            Ok(outcome) => outcome,
            Err(_) if self.meter.refused() => self.out_of_memory(),
            Err(_) => self.state.fail(kind, "the thrown value cannot be shown"),
        };
        let part = |key: &str| outcome.get::<_, String>(key).unwrap_or_default();
        let (name, message, stack) = (part("name"), part("message"), part("stack"));
        if self.meter.refused() && message == "out of memory" {
            self.out_of_memory();
        }
        let kind = match (kind, name.as_str()) {
            // Code nested too deeply to parse is not a syntax error.
            (FaultKind::Syntax, "SyntaxError") | (FaultKind::Thrown | FaultKind::Output, _) => kind,
            _ => FaultKind::Thrown,
        };
        let position =
            super::stack::script_position(&stack, BEFORE.len(), &self.state.start().code);
        let fault = Fault {
            kind,
            name,
            message: format!("{before}{message}"),
            line: position.map(|(line, _)| line),
            column: position.map(|(_, column)| column),
            excerpt: None,
            stack: super::stack::visible(&stack, BEFORE.len()),
        };
        self.state.end(&FromWorker::Failed(Box::new(fault)))
    }

    fn out_of_memory(&self) -> ! {
        let mib = self.state.start().memory >> 20;
        self.state.fail(
            FaultKind::Memory,
            format!(
                "the script exceeded its memory limit of {mib} MiB; process less data at a time"
            ),
        )
    }
}
