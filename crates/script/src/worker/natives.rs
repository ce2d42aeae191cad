//! Native functions used by the prelude. Scripts cannot access them.

use std::rc::Rc;
use std::time::Duration;

use rquickjs::{Ctx, Exception, Function, Object};

use super::state::{ScriptState, raw};
use super::web;
use crate::frames::RawRequest;
use crate::report::Level;

/// The native functions.
pub(super) fn natives<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<ScriptState>,
) -> rquickjs::Result<Object<'js>> {
    let natives = Object::new(ctx.clone())?;
    let with = || Rc::clone(state);

    let state = with();
    let log = move |level: String, text: String| state.log(level_of(&level), text);
    natives.set("log", Function::new(ctx.clone(), log)?)?;

    let state = with();
    let tool = move |ctx: Ctx<'js>, id: u32, server: String, tool: String, arguments: String| {
        let arguments =
            raw(arguments).map_err(|error| Exception::throw_type(&ctx, &error.to_string()))?;
        let ask = RawRequest::Tool {
            server,
            tool,
            arguments,
        };
        make(&ctx, &state, id, ask)
    };
    natives.set("tool", Function::new(ctx.clone(), tool)?)?;

    let state = with();
    let create = move |ctx: Ctx<'js>,
                       id: u32,
                       filename: String,
                       content: String,
                       file_type: Option<String>| {
        let ask = RawRequest::CreateArtifact {
            filename,
            content,
            file_type,
        };
        make(&ctx, &state, id, ask)
    };
    natives.set("create", Function::new(ctx.clone(), create)?)?;

    let state = with();
    let read = move |ctx: Ctx<'js>, id: u32, identifier: String| {
        make(&ctx, &state, id, RawRequest::ReadArtifact { identifier })
    };
    natives.set("read", Function::new(ctx.clone(), read)?)?;

    let state = with();
    let timer = move |id: u32, ms: f64| {
        let due = state.now() + Duration::from_secs_f64((ms / 1000.0).clamp(0.0, 1e9));
        state.timers.borrow_mut().set(id, due);
    };
    natives.set("timer", Function::new(ctx.clone(), timer)?)?;

    let state = with();
    let untimer = move |id: u32| state.timers.borrow_mut().clear(id);
    natives.set("untimer", Function::new(ctx.clone(), untimer)?)?;

    let web = |ctx: Ctx<'js>| web::globals(&ctx);
    natives.set("web", Function::new(ctx.clone(), web)?)?;
    Ok(natives)
}

fn make(ctx: &Ctx<'_>, state: &ScriptState, id: u32, ask: RawRequest) -> rquickjs::Result<()> {
    state
        .ask(id, ask)
        .map_err(|why| Exception::throw_range(ctx, &why))
}

fn level_of(name: &str) -> Level {
    match name {
        "debug" => Level::Debug,
        "info" => Level::Info,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Log,
    }
}
