//! Routes of agents, their sessions and their models, with their descriptions.

use axum::routing::{get, post};

use super::admin::{agents, memory, models, people, provider_presets, sessions, skills};
use super::openapi::{Access, Operation};
use super::routes::Route;
use super::{chat, chat_answer, v1};

/// Formats spoken under `/v1`.
const ANTHROPIC: &str = "Anthropic's format";
const OPENAI: &str = "OpenAI's format";

/// Agents, sessions and models.
pub(super) fn table() -> Vec<Route> {
    use Access::{Owner, Token};
    let op = Operation::new;
    vec![
        (
            op(
                "post",
                "/api/chat",
                Token,
                "Send a message to an agent; one response, or events if accepted",
            )
            .query::<chat::WaitQuery>()
            .request::<chat::ChatInput>()
            .answers::<chat_answer::ChatResult>()
            .or_streams(),
            post(chat::chat),
        ),
        op(
            "post",
            "/api/chat/stop",
            Token,
            "Stop the running turn of a session",
        )
        .request::<chat::StopQuery>()
        .by(chat::stop),
        (
            op(
                "get",
                "/v1/models",
                Token,
                "List the agents as OpenAI models",
            )
            .answers_in(OPENAI),
            get(v1::list),
        ),
        (
            op(
                "get",
                "/v1/models/{*id}",
                Token,
                "Get an agent as an OpenAI model",
            )
            .answers_in(OPENAI),
            get(v1::get),
        ),
        (
            op(
                "post",
                "/v1/chat/completions",
                Token,
                "Send a chat completion request to an agent, optionally streamed",
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
                "Send an OpenAI Responses request to an agent, optionally streamed",
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
                "Send an Anthropic Messages request to an agent, optionally streamed",
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
            "List providers and their models",
        )
        .by(models::list),
        op("post", "/api/models/test", Owner, "Test a model")
            .request::<models::Test>()
            .by(models::test),
        op(
            "get",
            "/api/models/detect",
            Owner,
            "Find model servers on the gateway's machine",
        )
        .by(provider_presets::detect),
        op("get", "/api/models/makers", Owner, "List provider presets").by(provider_presets::list),
        op(
            "post",
            "/api/models/providers",
            Owner,
            "Add a provider from a preset, or change its key",
        )
        .request::<provider_presets::AddProvider>()
        .by(provider_presets::add),
        op(
            "delete",
            "/api/models/providers/{name}",
            Owner,
            "Remove a provider",
        )
        .by(provider_presets::remove),
        op("get", "/api/usage", Owner, "Get the usage of models")
            .query::<models::UsageQuery>()
            .by(models::usage),
        op("get", "/api/agents", Owner, "List agents").by(agents::list),
        op(
            "get",
            "/api/agents/{id}",
            Owner,
            "Get an agent with its rules and tools",
        )
        .by(agents::show),
        op(
            "get",
            "/api/skills",
            Token,
            "List the skills of an agent and their status",
        )
        .query::<skills::AgentQuery>()
        .by(skills::list),
        op(
            "get",
            "/api/skills/{name}",
            Token,
            "Get a skill with its text",
        )
        .query::<skills::AgentQuery>()
        .by(skills::get),
        op(
            "post",
            "/api/skills/{name}",
            Owner,
            "Enable or disable a skill",
        )
        .request::<skills::Switch>()
        .by(skills::switch),
        op(
            "get",
            "/api/todos",
            Owner,
            "List open, completed and recurring to-dos",
        )
        .query::<people::TodoQuery>()
        .by(people::todos),
        op("get", "/api/contacts", Owner, "List contacts").by(people::contacts),
        op("get", "/api/contacts/{id}", Owner, "Get a contact").by(people::contact),
        op(
            "get",
            "/api/memory",
            Token,
            "Search conversations and memory files",
        )
        .query::<memory::MemoryQuery>()
        .by(memory::search),
        op(
            "get",
            "/api/sessions",
            Token,
            "List sessions, last used first",
        )
        .query::<sessions::SessionQuery>()
        .by(sessions::list),
        op("get", "/api/sessions/{key}", Token, "Get a session").by(sessions::get),
        op(
            "get",
            "/api/sessions/{key}/messages",
            Token,
            "Get the last messages of a session, oldest first",
        )
        .query::<sessions::MessageQuery>()
        .by(sessions::messages),
        op(
            "post",
            "/api/sessions/{key}/reset",
            Token,
            "Reset a session; its messages are archived",
        )
        .by(sessions::reset),
        op(
            "post",
            "/api/sessions/{key}/compact",
            Token,
            "Compact a session: archive all but the last messages",
        )
        .request::<sessions::Compact>()
        .by(sessions::compact),
        op(
            "post",
            "/api/sessions/{key}/patch",
            Token,
            "Change the settings of a session",
        )
        .request::<sessions::Patch>()
        .by(sessions::patch),
    ]
}
