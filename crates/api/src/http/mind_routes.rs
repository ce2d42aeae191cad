//! The routes of agents, their sessions and their models, each beside its description.

use axum::routing::{get, post};

use super::admin::{agents, makers, memory, models, people, sessions, skills};
use super::openapi::{Access, Operation};
use super::routes::Route;
use super::{chat, chat_answer, v1};

/// What programs under `/v1` speak.
const ANTHROPIC: &str = "Anthropic's format";
const OPENAI: &str = "OpenAI's format";

/// What agents, their sessions and their models are asked by.
pub(super) fn table() -> Vec<Route> {
    use Access::{Owner, Token};
    let op = Operation::new;
    vec![
        (
            op(
                "post",
                "/api/chat",
                Token,
                "Say something to an agent: one answer, or events where they are accepted",
            )
            .query::<chat::Patience>()
            .request::<chat::Chat>()
            .answers::<chat_answer::Ended>()
            .or_streams(),
            post(chat::chat),
        ),
        op(
            "post",
            "/api/chat/stop",
            Token,
            "Stop what runs in a session",
        )
        .request::<chat::Which>()
        .by(chat::stop),
        (
            op("get", "/v1/models", Token, "The agents, as OpenAI's models").answers_in(OPENAI),
            get(v1::list),
        ),
        (
            op(
                "get",
                "/v1/models/{*id}",
                Token,
                "One agent, as OpenAI's model",
            )
            .answers_in(OPENAI),
            get(v1::get),
        ),
        (
            op(
                "post",
                "/v1/chat/completions",
                Token,
                "Ask an agent in OpenAI's format, also for a stream",
            )
            .request::<v1::ChatRequest>()
            .answers_in(OPENAI)
            .or_streams(),
            post(v1::complete),
        ),
        (
            op(
                "post",
                "/v1/responses",
                Token,
                "Ask an agent in OpenAI's Responses format, also for a stream",
            )
            .request::<v1::ResponsesRequest>()
            .answers_in(OPENAI)
            .or_streams(),
            post(v1::respond),
        ),
        (
            op(
                "post",
                "/v1/messages",
                Token,
                "Ask an agent in Anthropic's format, also for a stream",
            )
            .request::<v1::MessagesRequest>()
            .answers_in(ANTHROPIC)
            .or_streams(),
            post(v1::message),
        ),
        (
            op(
                "post",
                "/v1/messages/count_tokens",
                Token,
                "Estimate the tokens of a conversation in Anthropic's format",
            )
            .request::<v1::MessagesRequest>()
            .answers_in(ANTHROPIC),
            post(v1::count),
        ),
        op(
            "get",
            "/api/models",
            Owner,
            "Every provider with its models",
        )
        .by(models::list),
        op("post", "/api/models/test", Owner, "Ask a model for a word")
            .request::<models::Test>()
            .by(models::test),
        op(
            "get",
            "/api/models/makers",
            Owner,
            "Who can be added as a provider by name",
        )
        .by(makers::list),
        op(
            "post",
            "/api/models/providers",
            Owner,
            "Add a provider by its maker's name, or give it another key",
        )
        .request::<makers::Add>()
        .by(makers::add),
        op(
            "delete",
            "/api/models/providers/{name}",
            Owner,
            "Take a provider out of the settings",
        )
        .by(makers::remove),
        op("get", "/api/usage", Owner, "What models used up")
            .query::<models::Since>()
            .by(models::usage),
        op("get", "/api/agents", Owner, "All agents").by(agents::list),
        op(
            "get",
            "/api/agents/{id}",
            Owner,
            "One agent, with its rules and the tools it has",
        )
        .by(agents::show),
        op(
            "get",
            "/api/skills",
            Token,
            "Every skill of an agent, and whether it can be used now",
        )
        .query::<skills::Whose>()
        .by(skills::list),
        op(
            "get",
            "/api/skills/{name}",
            Token,
            "One skill with its text",
        )
        .query::<skills::Whose>()
        .by(skills::get),
        op(
            "post",
            "/api/skills/{name}",
            Owner,
            "Switch a skill on or off",
        )
        .request::<skills::Switch>()
        .by(skills::switch),
        op(
            "get",
            "/api/todos",
            Owner,
            "What is to be done, what was done, what comes again",
        )
        .query::<people::Which>()
        .by(people::todos),
        op("get", "/api/contacts", Owner, "Every contact").by(people::contacts),
        op("get", "/api/contacts/{id}", Owner, "One contact").by(people::contact),
        op(
            "get",
            "/api/memory",
            Token,
            "Look through conversations and memory files by words",
        )
        .query::<memory::Which>()
        .by(memory::search),
        op(
            "get",
            "/api/sessions",
            Token,
            "Sessions, the latest active first",
        )
        .query::<sessions::Which>()
        .by(sessions::list),
        op("get", "/api/sessions/{key}", Token, "One session").by(sessions::get),
        op(
            "get",
            "/api/sessions/{key}/messages",
            Token,
            "The last messages of a session, oldest first",
        )
        .query::<sessions::Page>()
        .by(sessions::messages),
        op(
            "post",
            "/api/sessions/{key}/reset",
            Token,
            "Begin a session anew; what was said is archived",
        )
        .by(sessions::reset),
        op(
            "post",
            "/api/sessions/{key}/compact",
            Token,
            "Leave out all but the last messages; the others are archived",
        )
        .request::<sessions::Compact>()
        .by(sessions::compact),
        op(
            "post",
            "/api/sessions/{key}/patch",
            Token,
            "Set what is set for a session",
        )
        .request::<sessions::Patch>()
        .by(sessions::patch),
    ]
}
