//! Which tools a turn has and which of them its model sees: one function for every interface.

use manyhands_core::{
    AgentId, Caller, Catalogue, ChatRef, Exposure, Invoke, Pattern, Question, ToolSpec,
};
use manyhands_llm::ToolDef;

/// Everything that decides which tools a turn has.
#[derive(Clone, Copy)]
pub struct ToolScope<'a> {
    /// Authorizes calls.
    pub path: &'a dyn Invoke,
    /// The caller whose rights apply.
    pub caller: &'a Caller,
    /// The agent.
    pub agent: &'a AgentId,
    /// Patterns of the agent's tools.
    pub tools: &'a [Pattern],
    /// Patterns of tools that the agent can only discover.
    pub discover: &'a [Pattern],
    /// Restricts the tools to these, if the requester chose.
    pub only: Option<&'a [String]>,
    /// The chat of the input.
    pub place: Option<&'a ChatRef>,
    /// The session; some tools exist for one session only.
    pub session: Option<&'a str>,
}

/// How a turn can use a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolAccess {
    /// The model sees it.
    Direct,
    /// The model has to discover it first.
    Discovered,
    /// Not available.
    Not,
}

/// How a turn can use a tool. Tools chosen by name are always shown; `discover` patterns take precedence over `tools`.
pub fn tool_access(spec: &ToolSpec, scope: &ToolScope<'_>) -> ToolAccess {
    if !is_available(spec, scope) {
        return ToolAccess::Not;
    }
    let hidden = spec.exposure != Exposure::Direct || fits(spec, scope.discover);
    // Who chose tools by name wants the model to see them, whatever the agent's settings hide.
    match hidden && scope.only.is_none() {
        true => ToolAccess::Discovered,
        false => ToolAccess::Direct,
    }
}

/// The tools that the model sees, sorted by name: a stable order keeps the provider's prompt cache valid.
pub fn toolset(catalogue: &Catalogue, scope: &ToolScope<'_>) -> Vec<ToolDef> {
    let mut tools: Vec<ToolDef> = catalogue
        .specs()
        .filter(|spec| tool_access(spec, scope) == ToolAccess::Direct)
        .map(|spec| {
            let (description, input_schema) = spec.presentation_in(scope.place);
            ToolDef {
                name: spec.name.wire(),
                description: description.to_owned(),
                input_schema: input_schema.clone(),
            }
        })
        .collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

/// Resolves tools named for a sub-agent to their wire names; the error lists those that the scope does not have.
pub fn chosen(
    catalogue: &Catalogue,
    scope: &ToolScope<'_>,
    named: &[String],
) -> Result<Vec<String>, Vec<String>> {
    let known = |name: &String| {
        let tool = catalogue.resolve(name)?;
        let spec = tool.spec();
        is_available(spec, scope).then(|| spec.name.wire())
    };
    let mut names = Vec::new();
    let mut unknown = Vec::new();
    for name in named {
        match known(name) {
            Some(name) if names.contains(&name) => {}
            Some(name) => names.push(name),
            None => unknown.push(name.clone()),
        }
    }
    match unknown.is_empty() {
        true => Ok(names),
        false => Err(unknown),
    }
}

/// Whether a turn has a tool: its agent is given it, and some call of it would be allowed.
fn is_available(spec: &ToolSpec, scope: &ToolScope<'_>) -> bool {
    let question = Question::available(scope.caller, scope.agent, spec).in_session(scope.session);
    is_given(spec, scope) && !scope.path.authorize(question).is_denied()
}

/// Whether the agent's configuration gives a tool to a turn; rights are not checked.
pub(crate) fn is_given(spec: &ToolSpec, scope: &ToolScope<'_>) -> bool {
    let (name, wire) = (spec.name.as_str(), spec.name.wire());
    let chosen = |only: &[String]| only.iter().any(|one| *one == name || *one == wire);
    // Tools that an editor provides for a session are for whichever agent works there, whatever its patterns.
    let brought = spec.audience.session.as_deref();
    let own = brought.is_some() && brought == scope.session;
    let given = own || fits(spec, scope.tools) || fits(spec, scope.discover);
    let given = given && spec.chats.includes(scope.place);
    given && scope.only.is_none_or(chosen)
}

fn fits(spec: &ToolSpec, patterns: &[Pattern]) -> bool {
    let (name, wire) = (spec.name.as_str(), spec.name.wire());
    let mut patterns = patterns.iter();
    patterns.any(|pattern| pattern.matches(name) || pattern.matches(&wire))
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use manyhands_core::{
        CallRequest, Decision, Effects, Outcome, Principal, Rights, Role, ToolError, Verdict,
    };
    use std::sync::Arc;

    use super::*;

    fn caller(tools: &str) -> Caller {
        let rights = Rights::new(Role::Client, vec![Pattern::new(tools)]);
        Caller::new(Principal::System, "x", rights)
    }

    /// Allows what the caller's patterns name.
    struct Patterns;

    #[async_trait]
    impl Invoke for Patterns {
        async fn invoke(&self, _: CallRequest) -> Result<Outcome, ToolError> {
            Err(ToolError::internal("nothing is called here"))
        }

        fn authorize(&self, question: Question<'_>) -> Verdict {
            let allowed = fits(question.spec, &question.caller.rights.tools);
            let decision = [Decision::Deny, Decision::Allow][usize::from(allowed)];
            Verdict::default_rule(decision, "the caller's patterns")
        }

        fn catalogue(&self) -> Arc<Catalogue> {
            Arc::default()
        }
    }

    #[test]
    fn a_tool_is_listed_discoverable_or_absent() {
        let all = |patterns: &[&str]| -> Vec<Pattern> {
            patterns.iter().map(|one| Pattern::new(*one)).collect()
        };
        let plain = ToolSpec::new("tool::run", "x").effects(Effects::READS);
        let hidden = ToolSpec::new("deep", "x")
            .effects(Effects::READS)
            .exposure(Exposure::Discoverable);
        let only = |names: &[&str]| Some(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        type Row<'a> = (
            &'a ToolSpec,
            &'a str,
            &'a [&'a str],
            &'a [&'a str],
            Option<Vec<String>>,
            ToolAccess,
        );
        let table: [Row<'_>; 12] = [
            (&plain, "*", &["*"], &[], None, ToolAccess::Direct),
            (&plain, "*", &["tool__*"], &[], None, ToolAccess::Direct),
            (
                &plain,
                "*",
                &["*"],
                &["tool::*"],
                None,
                ToolAccess::Discovered,
            ),
            (
                &plain,
                "*",
                &["other"],
                &["tool__run"],
                None,
                ToolAccess::Discovered,
            ),
            (&plain, "*", &["other"], &["another"], None, ToolAccess::Not),
            (&plain, "other", &["*"], &["*"], None, ToolAccess::Not),
            (&hidden, "*", &["*"], &[], None, ToolAccess::Discovered),
            (
                &hidden,
                "*",
                &["*"],
                &[],
                only(&["deep"]),
                ToolAccess::Direct,
            ),
            (
                &plain,
                "*",
                &["*"],
                &["*"],
                only(&["tool__run"]),
                ToolAccess::Direct,
            ),
            (&plain, "*", &["*"], &[], only(&["deep"]), ToolAccess::Not),
            (&plain, "*", &[], &[], only(&["tool__run"]), ToolAccess::Not),
            (&plain, "*", &[], &[], None, ToolAccess::Not),
        ];
        for (spec, rights, tools, discover, only, expect) in table {
            let (caller, tools, discover) = (caller(rights), all(tools), all(discover));
            let agent = AgentId::main();
            let scope = ToolScope {
                path: &Patterns,
                caller: &caller,
                agent: &agent,
                tools: &tools,
                discover: &discover,
                only: only.as_deref(),
                place: None,
                session: None,
            };
            assert_eq!(
                tool_access(spec, &scope),
                expect,
                "{} {tools:?} {discover:?}",
                spec.name
            );
        }
    }
}
