//! The functions that the prelude builds on. A script never gets hold of them.

use std::rc::Rc;
use std::time::Duration;

use rquickjs::{Ctx, Exception, Function, Object};

use super::desk::{Desk, raw};
use super::web;
use crate::frames::RawAsk;
use crate::report::Level;

/// What the prelude is given.
pub(super) fn natives<'js>(ctx: &Ctx<'js>, desk: &Rc<Desk>) -> rquickjs::Result<Object<'js>> {
    let natives = Object::new(ctx.clone())?;
    let with = || Rc::clone(desk);

    let desk = with();
    let log = move |level: String, text: String| desk.log(level_of(&level), text);
    natives.set("log", Function::new(ctx.clone(), log)?)?;

    let desk = with();
    let tool = move |ctx: Ctx<'js>, id: u32, server: String, tool: String, arguments: String| {
        let arguments =
            raw(arguments).map_err(|error| Exception::throw_type(&ctx, &error.to_string()))?;
        let ask = RawAsk::Tool {
            server,
            tool,
            arguments,
        };
        make(&ctx, &desk, id, ask)
    };
    natives.set("tool", Function::new(ctx.clone(), tool)?)?;

    let desk = with();
    let create = move |ctx: Ctx<'js>,
                       id: u32,
                       filename: String,
                       content: String,
                       file_type: Option<String>| {
        let ask = RawAsk::CreateArtifact {
            filename,
            content,
            file_type,
        };
        make(&ctx, &desk, id, ask)
    };
    natives.set("create", Function::new(ctx.clone(), create)?)?;

    let desk = with();
    let read = move |ctx: Ctx<'js>, id: u32, identifier: String| {
        make(&ctx, &desk, id, RawAsk::ReadArtifact { identifier })
    };
    natives.set("read", Function::new(ctx.clone(), read)?)?;

    let desk = with();
    let timer = move |id: u32, ms: f64| {
        let due = desk.now() + Duration::from_secs_f64((ms / 1000.0).clamp(0.0, 1e9));
        desk.timers.borrow_mut().set(id, due);
    };
    natives.set("timer", Function::new(ctx.clone(), timer)?)?;

    let desk = with();
    let untimer = move |id: u32| desk.timers.borrow_mut().clear(id);
    natives.set("untimer", Function::new(ctx.clone(), untimer)?)?;

    let web = |ctx: Ctx<'js>| web::globals(&ctx);
    natives.set("web", Function::new(ctx.clone(), web)?)?;
    Ok(natives)
}

fn make(ctx: &Ctx<'_>, desk: &Desk, id: u32, ask: RawAsk) -> rquickjs::Result<()> {
    desk.ask(id, ask)
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
