//! Which sessions a caller may use, and the origin recorded with a turn.

use manyhands_agent::{InvalidKey, Origin, SessionKey};
use manyhands_core::{AgentId, Caller, ErrorCode, Principal, Role, Taint, ToolError};
use manyhands_path::may_act_for;

/// The caller as the origin of a turn.
pub fn origin_of(caller: &Caller) -> Origin {
    Origin {
        token: caller.principal.token(),
        person: caller.principal.person_reference(),
        place: None,
        name: caller.name.clone(),
        trusted: caller.is_owner(),
        depth: 0,
        tainted: Taint::NONE,
        job: match &caller.actor {
            Some(Principal::Job(job)) => Some(job.clone()),
            _ => None,
        },
        lineage: Vec::new(),
    }
}

/// Resolves a session key given as `text`, for `agent` unless it names another: any session for the
/// owner, a client's own sessions for a client, none for others.
pub fn session_key(caller: &Caller, agent: &AgentId, text: &str) -> Result<SessionKey, ToolError> {
    let wrong = |e: InvalidKey| ToolError::parameter("sessionKey", e.to_string());
    let said = SessionKey::parse_for(agent, text).map_err(wrong)?;
    let refused = |message: String| Err(ToolError::new(ErrorCode::Forbidden, message));
    if !may_act_for(caller, said.agent()) {
        return refused(format!(
            "this token may not talk to the agent {}",
            said.agent()
        ));
    }
    match caller.rights.role {
        Role::Owner => Ok(said),
        Role::Client => {
            let own = part_of(caller);
            let named = text.trim().to_ascii_lowercase().starts_with("agent:");
            // A bare name always lands under the caller's own prefix and can never reach another
            // caller's session.
            if !named {
                return SessionKey::parse_for(agent, &format!("{own}{}", said.rest()))
                    .map_err(wrong);
            }
            match said.rest().strip_prefix(&own) {
                Some(rest) if !rest.is_empty() => Ok(said),
                _ => refused(format!(
                    "the sessions of this token are agent:{}:{own}NAME",
                    said.agent()
                )),
            }
        }
        role @ (Role::Node | Role::ReadOnly | Role::Channel) => {
            refused(format!("a {role} token cannot talk to agents"))
        }
    }
}

/// The prefix of a caller's own sessions after the agent. Derived from identity and never from a
/// display name, or a name in a chat could open another person's conversations.
pub fn part_of(caller: &Caller) -> String {
    match caller.principal.credential() {
        Some(credential) => SessionKey::client_prefix(&credential.name),
        None => SessionKey::principal_prefix(&caller.principal.to_string()),
    }
}

/// The prefix of the sessions that a caller sees; `None` for the owner, who sees all.
pub fn own_part(caller: &Caller) -> Option<String> {
    (!caller.is_owner()).then(|| part_of(caller))
}

#[cfg(test)]
mod tests {
    use manyhands_core::{Credential, Rights};

    use super::*;

    #[test]
    fn a_client_can_use_only_the_sessions_under_its_name() {
        let of = |role: Role, name: &str| {
            let credential = Credential {
                id: "0192f0c1-2345-7890-abcd-ef0123456789".parse().unwrap(),
                name: name.into(),
            };
            let rights = Rights::new(role, Vec::new());
            Caller::new(Principal::Token(credential), name, rights)
        };
        let agent = AgentId::main();
        let key = |caller: &Caller, text: &str| session_key(caller, &agent, text);
        let (owner, phone) = (of(Role::Owner, "me"), of(Role::Client, "phone"));
        for (caller, text, meant) in [
            (&owner, "main", "agent:main:main"),
            (
                &owner,
                "agent:x:client:phone:main",
                "agent:x:client:phone:main",
            ),
            (&phone, "main", "agent:main:client:phone:main"),
            (
                &phone,
                "client:tv:main",
                "agent:main:client:phone:client:tv:main",
            ),
            (&phone, "agent:x:client:phone:b", "agent:x:client:phone:b"),
            (
                &of(Role::Client, "Phone"),
                "main",
                "agent:main:client:+50hone:main",
            ),
            (
                &of(Role::Client, "a:b c"),
                "main",
                "agent:main:client:a+3ab+20c:main",
            ),
        ] {
            assert_eq!(key(caller, text).unwrap().as_str(), meant);
        }
        for (caller, text, code) in [
            (&phone, "agent:main:main", ErrorCode::Forbidden),
            (&phone, "agent:main:client:tv:main", ErrorCode::Forbidden),
            (&phone, " AGENT:main:main", ErrorCode::Forbidden),
            (&phone, "agent:main:client:phone:", ErrorCode::Forbidden),
            (&phone, "agent:main:client:phoney:x", ErrorCode::Forbidden),
            (&phone, "a b", ErrorCode::InvalidArguments),
            (&of(Role::ReadOnly, "r"), "main", ErrorCode::Forbidden),
            (&of(Role::Node, "n"), "main", ErrorCode::Forbidden),
        ] {
            assert_eq!(key(caller, text).unwrap_err().code, code, "{text}");
        }
    }
}
