//! What is allowed, needs approval and is refused.

use super::*;
use crate::testing;
use crate::testing::Fixture;
use manyhands_core::{CallRequest, ErrorCode, Invoke as _, Reach, Rights, RunsOn, Taint};
use serde_json::json;

fn rules(toml_like: Value) -> Authorizer {
    let rules: Vec<Rule> = serde_json::from_value(toml_like).unwrap();
    Authorizer::new(&Policy {
        rules,
        ..Policy::default()
    })
    .unwrap()
}

/// What is decided about a call for the main agent.
fn decide(
    authorizer: &Authorizer,
    spec: &ToolSpec,
    caller: &Caller,
    arguments: &Value,
    taint: &Taint,
) -> Verdict {
    authorizer.authorize(Question {
        caller,
        agent: &AgentId::main(),
        spec,
        effects: spec.effects,
        arguments: Some(arguments),
        taint,
        reach: &Reach::ANY,
        session: None,
        replies: false,
    })
}

#[test]
fn a_reply_in_its_chat_needs_no_approval_unless_a_rule_says_so() {
    let main = AgentId::main();
    let guest = testing::client("guest", &["*"]).through(Principal::Agent(main.clone()));
    let spec = ToolSpec::new("x", "test").effects(Effects::SENDS.and(Effects::LEAVES));
    let tainted = Taint::by("person:telegram:22");
    let arguments = json!({});
    let decision = |engine: &Authorizer, replies: bool| {
        let question = Question {
            arguments: Some(&arguments),
            taint: &tainted,
            replies,
            ..Question::available(&guest, &main, &spec)
        };
        engine.authorize(question).decision
    };
    let (none, deny) = (rules(json!([])), rules(json!([{ "decision": "deny" }])));
    assert_eq!(decision(&none, true), Decision::Allow);
    assert_eq!(decision(&none, false), Decision::Ask, "elsewhere");
    assert_eq!(decision(&deny, true), Decision::Deny, "the owner's rule");
}

#[track_caller]
fn check(
    engine: &Authorizer,
    tool: &str,
    effects: Effects,
    caller: &Caller,
    arguments: Value,
    expect: (Decision, &str),
) {
    let spec = ToolSpec::new(tool, "test").effects(effects);
    let verdict = decide(engine, &spec, caller, &arguments, &Taint::NONE);
    assert_eq!(
        (verdict.decision, verdict.rule.to_string().as_str()),
        expect
    );
}

#[test]
fn after_untrusted_text_even_the_owner_needs_approval_unless_a_rule_allows() {
    let (owner, arguments) = (testing::owner(), json!({}));
    let tainted = Taint::by("tool:web_fetch");
    let open = rules(json!([{ "decision": "allow", "tools": ["x"] }]));
    let none = rules(json!([]));
    for effects in [Effects::RUNS, Effects::SENDS, Effects::default()] {
        let spec = ToolSpec::new("x", "test").effects(effects);
        let decision =
            |authorizer, taint| decide(authorizer, &spec, &owner, &arguments, taint).decision;
        assert_eq!(decision(&none, &tainted), Decision::Ask);
        assert_eq!(decision(&none, &Taint::NONE), Decision::Allow);
        assert_eq!(decision(&open, &tainted), Decision::Allow);
    }
    let writes = ToolSpec::new("x", "test").effects(Effects::WRITES);
    let verdict = decide(&none, &writes, &owner, &arguments, &tainted);
    assert_eq!(verdict.decision, Decision::Allow);
}

/// What an agent acting for the owner may do by itself, in each approval mode, before and
/// after it read untrusted text.
#[test]
fn the_approval_mode_decides_what_an_agent_may_do_by_itself() {
    use Decision::{Allow, Ask, Deny};
    let on_node = |sandboxed| ToolSpec {
        runs_on: RunsOn::Node {
            id: "laptop".to_owned(),
        },
        sandboxed,
        ..ToolSpec::new("x", "test")
    };
    let server = ToolSpec {
        runs_on: RunsOn::Server {
            name: "github".to_owned(),
        },
        ..ToolSpec::new("x", "test")
    };
    let here = ToolSpec::new("x", "test");
    let (sends, fetches) = (
        Effects::SENDS.and(Effects::LEAVES),
        Effects::READS.and(Effects::LEAVES),
    );
    // The tool, its effects, then (clean, tainted) for ask, auto and read-only.
    let table = [
        (
            here.clone(),
            Effects::READS,
            [(Allow, Allow), (Allow, Allow), (Allow, Allow)],
        ),
        (
            here.clone(),
            fetches,
            [(Allow, Allow), (Allow, Allow), (Allow, Allow)],
        ),
        (
            here.clone(),
            Effects::WRITES,
            [(Allow, Allow), (Allow, Allow), (Deny, Deny)],
        ),
        (
            here.clone(),
            Effects::RUNS,
            [(Allow, Ask), (Allow, Ask), (Deny, Deny)],
        ),
        (
            here.clone(),
            sends,
            [(Ask, Ask), (Allow, Ask), (Deny, Deny)],
        ),
        (
            here.clone(),
            Effects::SENDS,
            [(Allow, Ask), (Allow, Ask), (Deny, Deny)],
        ),
        (
            here,
            Effects::default(),
            [(Ask, Ask), (Ask, Ask), (Deny, Deny)],
        ),
        (
            on_node(true),
            Effects::READS,
            [(Allow, Allow), (Allow, Allow), (Allow, Allow)],
        ),
        (
            on_node(true),
            Effects::RUNS,
            [(Allow, Ask), (Allow, Ask), (Deny, Deny)],
        ),
        (
            on_node(true),
            Effects::WRITES,
            [(Allow, Allow), (Allow, Allow), (Deny, Deny)],
        ),
        (
            on_node(false),
            Effects::READS,
            [(Allow, Allow), (Allow, Allow), (Allow, Allow)],
        ),
        (
            on_node(false),
            Effects::RUNS,
            [(Ask, Ask), (Allow, Ask), (Deny, Deny)],
        ),
        (
            on_node(false),
            Effects::WRITES,
            [(Ask, Ask), (Allow, Ask), (Deny, Deny)],
        ),
        (
            server.clone(),
            fetches,
            [(Allow, Allow), (Allow, Allow), (Allow, Allow)],
        ),
        (
            server,
            sends.and(Effects::WRITES),
            [(Ask, Ask), (Allow, Ask), (Deny, Deny)],
        ),
    ];
    let modes = [
        ApprovalMode::Ask,
        ApprovalMode::Auto,
        ApprovalMode::ReadOnly,
    ];
    let agent = testing::owner().through(Principal::Agent(AgentId::main()));
    for (spec, effects, expect) in table {
        let spec = spec.effects(effects);
        for (mode, (clean, tainted)) in modes.into_iter().zip(expect) {
            let policy = Policy {
                mode,
                ..Policy::default()
            };
            let authorizer = Authorizer::new(&policy).unwrap();
            let decision = |caller: &Caller, taint: &Taint| {
                decide(&authorizer, &spec, caller, &json!({}), taint).decision
            };
            let about = format!("{:?} {effects:?} {mode:?}", spec.runs_on);
            assert_eq!(decision(&agent, &Taint::NONE), clean, "{about}");
            assert_eq!(
                decision(&agent, &Taint::by("x")),
                tainted,
                "{about} tainted"
            );
            // What the owner calls directly is never asked about.
            let direct = decision(&testing::owner(), &Taint::NONE);
            assert_eq!(direct, Allow, "{about}");
        }
    }
}

#[test]
fn display_names_give_no_rights() {
    let mut spec = ToolSpec::new("x", "test").effects(Effects::READS);
    spec.audience.tokens = Some([Pattern::new("laptop")].into());
    let open = rules(json!([{ "decision": "deny", "callers": ["client:banned"] }]));
    let decision =
        |caller: &Caller| decide(&open, &spec, caller, &json!({}), &Taint::NONE).decision;
    let person = |name: &str| {
        let rights = Rights::new(Role::Client, vec![Pattern::new("*")]);
        Caller::new(Principal::person("telegram:42"), name, rights)
    };
    assert_eq!(
        decision(&testing::client("laptop", &["*"])),
        Decision::Allow
    );
    assert_eq!(decision(&testing::client("other", &["*"])), Decision::Deny);
    for name in ["laptop", "owner", "client:laptop", "*"] {
        assert_eq!(decision(&person(name)), Decision::Deny, "{name}");
    }
    spec.audience.tokens = None;
    let decision =
        |caller: &Caller| decide(&open, &spec, caller, &json!({}), &Taint::NONE).decision;
    assert_eq!(decision(&testing::client("banned", &["*"])), Decision::Deny);
    assert_eq!(decision(&person("banned")), Decision::Allow);
}

#[test]
fn a_list_shows_a_tool_unless_every_call_of_it_would_be_refused() {
    let policy = rules(json!([
        { "decision": "deny", "tools": ["hidden"] },
        { "decision": "deny", "tools": ["partly"], "when": { "path": { "starts_with": "/etc" } } },
        { "decision": "allow", "tools": ["narrow"], "when": { "path": { "starts_with": "/srv" } } },
        { "decision": "deny", "tools": ["narrow"] },
    ]));
    let owner = testing::owner();
    for (tool, shown) in [
        ("hidden", false),
        ("partly", true),
        ("narrow", true),
        ("x", true),
    ] {
        let spec = ToolSpec::new(tool, "test").effects(Effects::READS);
        let main = AgentId::main();
        let verdict = policy.authorize(Question::available(&owner, &main, &spec));
        assert_eq!(!verdict.is_denied(), shown, "{tool}");
    }
}

#[test]
fn rules_match_hosts_and_programs_however_they_are_spelled() {
    let policy = rules(json!([
        { "decision": "deny", "tools": ["run"], "when": { "command": { "program": ["rm"] } } },
        { "decision": "allow", "tools": ["run"], "when": { "command": { "program": ["git", "ls"] } } },
        { "decision": "ask", "tools": ["run"] },
        { "decision": "deny", "tools": ["get"], "when": { "url": { "host": ["*.evil.test", "127.0.0.1"] } } },
        { "decision": "allow", "tools": ["get"], "when": { "url": { "host": ["good.test"] } } },
        { "decision": "ask", "tools": ["get"] },
    ]));
    let client = testing::client("laptop", &["*"]);
    for (tool, key, value, expect) in [
        ("run", "command", "env git push", Decision::Allow),
        ("run", "command", "/usr/bin/git log | ls", Decision::Allow),
        ("run", "command", "git log; make", Decision::Ask),
        ("run", "command", "git log; /bin/rm x", Decision::Deny),
        // What cannot be understood is as good as forbidden where something is forbidden.
        ("run", "command", "git $(echo x)", Decision::Deny),
        ("get", "url", "https://good.test/a", Decision::Allow),
        (
            "get",
            "url",
            "https://GOOD.test:443/%2e%2e",
            Decision::Allow,
        ),
        ("get", "url", "https://good.test.evil.test/", Decision::Deny),
        ("get", "url", "http://0x7f000001/", Decision::Deny),
        ("get", "url", "https://other.test/", Decision::Ask),
        (
            "get",
            "url",
            "https://good.test@other.test/",
            Decision::Deny,
        ),
    ] {
        let spec = ToolSpec::new(tool, "test").effects(Effects::READS);
        let arguments = json!({ key: value });
        let verdict = decide(&policy, &spec, &client, &arguments, &Taint::NONE);
        assert_eq!(verdict.decision, expect, "{value}");
    }
}

#[test]
fn a_token_acts_only_for_the_agents_it_was_given() {
    let none = rules(json!([]));
    let spec = ToolSpec::new("x", "test").effects(Effects::WRITES);
    let mut client = testing::client("laptop", &["*"]);
    client.rights.agents = vec![Pattern::new("main")];
    let decision = |caller: &Caller, agent: &str| {
        let agent: AgentId = agent.parse().unwrap();
        none.authorize(Question::available(caller, &agent, &spec))
            .decision
    };
    assert_eq!(decision(&client, "main"), Decision::Allow);
    assert_eq!(decision(&client, "researcher"), Decision::Deny);
    assert_eq!(decision(&testing::owner(), "researcher"), Decision::Allow);
}

#[test]
fn an_agents_own_rules_only_restrict() {
    let policy =
        |rules: Value| -> Policy { serde_json::from_value(json!({ "rules": rules })).unwrap() };
    let own_rules = |rules: Value| AgentRules {
        rules: policy(rules).rules,
        mode: None,
    };
    let house = policy(json!([
        { "decision": "deny", "tools": ["never"] },
        { "decision": "ask", "tools": ["asked"] },
        { "decision": "allow", "tools": ["open"], "network": true },
    ]));
    let own = own_rules(json!([
        { "decision": "allow", "tools": ["never", "asked", "first"], "network": true },
        { "decision": "deny", "tools": ["open", "first"], "when": { "x": { "equals": 1 } } },
        { "decision": "ask", "tools": ["open"], "reason": "mind it" },
        { "decision": "deny", "tools": ["plain"] },
    ]));
    let helper: AgentId = "helper".parse().unwrap();
    let child: AgentId = "helper-1".parse().unwrap();
    let root = {
        let (helper, child) = (helper.clone(), child.clone());
        move |id: &AgentId| {
            if *id == child {
                helper.clone()
            } else {
                id.clone()
            }
        }
    };
    let agents = BTreeMap::from([(helper.clone(), own)]);
    let engine = Authorizer::with_agents(&house, &agents, Arc::new(root)).unwrap();
    let owner = testing::owner();
    let mine = "agents.helper.policy.rules";
    for (agent, tool, x, expect, rule, network) in [
        (
            &helper,
            "never",
            0,
            Decision::Deny,
            "policy.rules.0".to_owned(),
            false,
        ),
        (
            &helper,
            "asked",
            0,
            Decision::Ask,
            "policy.rules.1".to_owned(),
            false,
        ),
        (&helper, "open", 0, Decision::Ask, format!("{mine}.2"), true),
        (
            &helper,
            "open",
            1,
            Decision::Deny,
            format!("{mine}.1"),
            true,
        ),
        (
            &helper,
            "plain",
            0,
            Decision::Deny,
            format!("{mine}.3"),
            false,
        ),
        (
            &child,
            "plain",
            0,
            Decision::Deny,
            format!("{mine}.3"),
            false,
        ),
        (
            &AgentId::main(),
            "open",
            0,
            Decision::Allow,
            "policy.rules.2".to_owned(),
            true,
        ),
        (
            &AgentId::main(),
            "plain",
            0,
            Decision::Allow,
            "default: the owner may call every tool".to_owned(),
            false,
        ),
        (
            &helper,
            "first",
            1,
            Decision::Allow,
            "default: the owner may call every tool".to_owned(),
            false,
        ),
    ] {
        let spec = ToolSpec::new(tool, "test").effects(Effects::RUNS);
        let arguments = json!({ "x": x });
        let verdict = engine.authorize(Question {
            caller: &owner,
            agent,
            spec: &spec,
            effects: Effects::RUNS,
            arguments: Some(&arguments),
            taint: &Taint::NONE,
            reach: &Reach::ANY,
            session: None,
            replies: false,
        });
        let said = (verdict.decision, verdict.rule.to_string(), verdict.network);
        assert_eq!(said, (expect, rule, network), "{agent} {tool} {x}");
    }
}

#[test]
fn a_tool_of_one_session_is_available_in_its_turns_only_whatever_the_rules_allow() {
    let (engine, main) = (rules(json!([{ "decision": "allow" }])), AgentId::main());
    let mut spec = ToolSpec::new("acp-notes__echo", "test").effects(Effects::READS);
    spec.audience.session = Some("agent:main:a".into());
    for caller in [testing::owner(), testing::client("laptop", &["*"])] {
        let denied = |session| {
            let question = Question::available(&caller, &main, &spec);
            engine.authorize(question.in_session(session)).is_denied()
        };
        assert!(!denied(Some("agent:main:a")), "the control");
        assert!(denied(Some("agent:main:b")) && denied(None));
    }
}

#[test]
fn without_rules_the_effects_decide() {
    let engine = rules(json!([]));
    let owner = testing::owner();
    let client = testing::client("laptop", &["*"]);
    let all = "default: the owner may call every tool";
    let fine = "default: the tool neither runs programs nor sends messages";
    check(
        &engine,
        "x",
        Effects::RUNS,
        &owner,
        json!({}),
        (Decision::Allow, all),
    );
    check(
        &engine,
        "x",
        Effects::READS,
        &client,
        json!({}),
        (Decision::Allow, fine),
    );
    check(
        &engine,
        "x",
        Effects::WRITES,
        &client,
        json!({}),
        (Decision::Allow, fine),
    );
    check(
        &engine,
        "x",
        Effects::RUNS.and(Effects::READS),
        &client,
        json!({}),
        (Decision::Ask, "default: the tool runs programs"),
    );
    check(
        &engine,
        "x",
        Effects::SENDS,
        &client,
        json!({}),
        (Decision::Ask, "default: the tool sends messages"),
    );
    check(
        &engine,
        "x",
        Effects::default(),
        &client,
        json!({}),
        (
            Decision::Ask,
            "default: the tool does not declare what it does",
        ),
    );
}

#[test]
fn the_first_matching_rule_decides() {
    let engine = rules(json!([
        { "decision": "allow", "tools": ["gsv__*"], "when": { "path": { "starts_with": "memory/" } } },
        { "decision": "ask", "tools": ["gsv__WriteFile"], "callers": ["client:*"] },
        { "decision": "deny", "effects": ["writes", "runs"] },
    ]));
    let client = testing::client("laptop", &["*"]);
    let owner = testing::owner();
    let at = |path: &str| json!({ "path": path });
    check(
        &engine,
        "gsv__WriteFile",
        Effects::WRITES,
        &client,
        at("memory/a.md"),
        (Decision::Allow, "policy.rules.0"),
    );
    check(
        &engine,
        "gsv__WriteFile",
        Effects::WRITES,
        &client,
        at("SOUL.md"),
        (Decision::Ask, "policy.rules.1"),
    );
    check(
        &engine,
        "gsv__WriteFile",
        Effects::WRITES,
        &owner,
        at("SOUL.md"),
        (Decision::Deny, "policy.rules.2"),
    );
    check(
        &engine,
        "gsv__ReadFile",
        Effects::READS,
        &owner,
        at("SOUL.md"),
        (Decision::Allow, "default: the owner may call every tool"),
    );
}

#[test]
fn predicates_match_arguments_by_path() {
    let engine = rules(json!([
        { "decision": "deny", "when": { "cmd.0": { "equals": "rm" }, "cwd": { "matches": "^/(etc|usr)(/|$)" } } },
    ]));
    let owner = testing::owner();
    let allowed = (Decision::Allow, "default: the owner may call every tool");
    let denied = (Decision::Deny, "policy.rules.0");
    check(
        &engine,
        "x",
        Effects::RUNS,
        &owner,
        json!({ "cmd": ["rm", "-r"], "cwd": "/etc" }),
        denied,
    );
    check(
        &engine,
        "x",
        Effects::RUNS,
        &owner,
        json!({ "cmd": ["ls"], "cwd": "/etc" }),
        allowed,
    );
    check(
        &engine,
        "x",
        Effects::RUNS,
        &owner,
        json!({ "cmd": ["rm"], "cwd": "/home" }),
        allowed,
    );
    check(
        &engine,
        "x",
        Effects::RUNS,
        &owner,
        json!({ "cmd": ["rm"] }),
        allowed,
    );
}

#[test]
fn rules_match_aliases_too() {
    let rule = Rule {
        tools: vec![Pattern::new("tool__*")],
        ..serde_json::from_value(json!({ "decision": "deny" })).unwrap()
    };
    let engine = Authorizer::new(&Policy {
        rules: vec![rule],
        ..Policy::default()
    })
    .unwrap();
    check(
        &engine,
        "tool::shell_exec",
        Effects::RUNS,
        &testing::owner(),
        json!({}),
        (Decision::Deny, "policy.rules.0"),
    );
}

#[tokio::test]
async fn a_caller_without_the_right_is_refused_and_the_tool_does_not_run() {
    let fixture = Fixture::new().await;
    for (caller, allowed) in [
        (testing::client("a", &["test::*"]), true),
        (testing::client("b", &["test__count"]), true),
        (testing::client("c", &["gsv__*"]), false),
        (testing::caller(Role::ReadOnly, "d", &["*"]), false),
        (testing::caller(Role::Node, "e", &["*"]), false),
    ] {
        let before = fixture.count();
        let outcome = fixture.call_as(caller, "test::count", json!({})).await;
        assert_eq!(outcome.is_ok(), allowed);
        assert_eq!(fixture.count(), before + usize::from(allowed));
        if let Err(error) = outcome {
            assert_eq!(error.code, ErrorCode::Forbidden);
        }
    }
}

#[test]
fn administration_is_for_the_owner_and_for_tokens_that_name_it_in_full() {
    let none = rules(json!([]));
    let plain = ToolSpec::new("gsv__ConfigGet", "test").effects(Effects::READS);
    let settings = plain.clone().administers();
    let client = |tools: &str| testing::client("laptop", &[tools]);
    let read_only = |tools: &str| testing::caller(Role::ReadOnly, "screen", &[tools]);
    for (caller, allowed) in [
        (testing::owner(), true),
        (client("gsv__ConfigGet"), true),
        (read_only("gsv__ConfigGet"), true),
        (client("*"), false),
        (read_only("*"), false),
        (client("gsv__*"), false),
        (client("gsv__Config*"), false),
    ] {
        let decision = |spec| decide(&none, spec, &caller, &json!({}), &Taint::NONE).decision;
        let expect = [Decision::Deny, Decision::Allow][usize::from(allowed)];
        assert_eq!(decision(&settings), expect, "{:?}", caller.rights);
        assert_eq!(
            decision(&plain),
            Decision::Allow,
            "control: {:?}",
            caller.rights
        );
    }
}

/// A small generator of choices, the same in every run.
struct Dice(u64);

impl Dice {
    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        &from[(self.0 >> 33) as usize % from.len()]
    }
}

/// Random principals, agents, tools, arguments and provenance: what a call meets is what the function says,
/// a list shows a tool if any call of it could be allowed, and a suggestion names nothing else.
#[tokio::test]
async fn calls_lists_and_suggestions_agree_with_the_one_function() {
    let fixture = Fixture::new().await;
    let policy: Policy = serde_json::from_value(json!({ "rules": [
        { "decision": "deny", "tools": ["test::echo"], "when": { "text": { "equals": "never" } } },
        { "decision": "ask", "tools": ["test::count"], "callers": ["person:*"] },
        { "decision": "deny", "tools": ["test::post"], "agents": ["helper"] },
        { "decision": "allow", "tools": ["test::launch"], "when": { "command": { "program": ["git"] } } },
    ] }))
    .unwrap();
    let authorizer = Authorizer::new(&policy).unwrap();
    let limits = manyhands_config::Limits {
        calls_per_minute: 1_000_000, // refusals count, and the clock stands still
        ..Default::default()
    };
    fixture.path.reconfigure(limits, authorizer);
    let tools = [
        "test::echo",
        "test::fetch",
        "test::post",
        "test::count",
        "test::launch",
    ];
    let patterns = ["*", "test::*", "test__echo", "test::launch", "other"];
    let roles = [
        Role::Owner,
        Role::Client,
        Role::ReadOnly,
        Role::Node,
        Role::Channel,
    ];
    let agents: [AgentId; 2] = [AgentId::main(), "helper".parse().unwrap()];
    let texts = ["never", "git log", "rm x"];
    let mut dice = Dice(7);
    let mut seen = BTreeMap::<Decision, usize>::new();
    for round in 0..600 {
        let mut caller = testing::caller(*dice.pick(&roles), "somebody", &[*dice.pick(&patterns)]);
        caller.rights.agents = vec![Pattern::new(*dice.pick(&["*", "main"]))];
        if *dice.pick(&[true, false]) {
            caller.principal = Principal::person("telegram:42");
        }
        if *dice.pick(&[true, false]) {
            caller.actor = Some(Principal::Agent(AgentId::main()));
        }
        let (agent, tool) = (dice.pick(&agents).clone(), *dice.pick(&tools));
        let text = format!("{} {round}", dice.pick(&texts));
        let text = if text.starts_with("never") {
            "never".to_owned()
        } else {
            text
        };
        let arguments = match tool {
            "test::count" => json!({}), // it takes none
            _ => json!({ "text": text, "command": text }),
        };
        let taint = Taint::when(*dice.pick(&[true, false]), "tool:web_fetch");
        let catalogue = fixture.path.catalogue();
        let spec = catalogue.resolve(tool).unwrap().spec();
        let said = fixture.path.authorize(Question {
            arguments: Some(&arguments),
            taint: &taint,
            ..Question::available(&caller, &agent, spec)
        });
        let listed = !fixture
            .path
            .authorize(Question::available(&caller, &agent, spec))
            .is_denied();
        assert!(
            listed || said.is_denied(),
            "{tool}: callable and not listed"
        );
        let before = fixture.count();
        let mut request = CallRequest::new(tool, arguments, Arc::new(caller.clone()));
        (request.agent, request.taint) = (agent.clone(), taint);
        let met = fixture.path.invoke(request).await;
        let met = match met.map_err(|error| error.code) {
            Ok(_) => Decision::Allow,
            Err(ErrorCode::ApprovalRequired | ErrorCode::RateLimited) => Decision::Ask,
            Err(ErrorCode::Forbidden | ErrorCode::DeniedByPolicy) => Decision::Deny,
            Err(other) => panic!("{tool}: {other:?}"),
        };
        assert_eq!(
            met, said.decision,
            "{tool} by {} {:?}",
            caller.principal, caller.rights
        );
        if met != Decision::Allow {
            assert_eq!(fixture.count(), before, "{tool} ran");
        }
        *seen.entry(met).or_default() += 1;
        let mut misspelled = CallRequest::new(&tool[..tool.len() - 1], json!({}), Arc::new(caller));
        misspelled.agent = agent;
        let hint = fixture.path.invoke(misspelled).await.unwrap_err().text();
        assert!(
            listed || !hint.contains(&format!("did you mean {tool}?")),
            "{hint}"
        );
    }
    assert_eq!(seen.len(), 3, "all three answers came: {seen:?}");
}
