//! Which sessions a socket may use and see.

use manyhands_agent::SessionKey;
use manyhands_agent_services::session_key;
use manyhands_core::{AgentId, Caller};
use manyhands_gateway::Admitted;
use manyhands_wire::ErrorShape;

use super::shape::shape;

/// Parses a session key and checks that the client may use that session.
pub(super) fn key(admitted: &Admitted, text: &str) -> Result<SessionKey, ErrorShape> {
    session_key(&admitted.caller, &AgentId::main(), text).map_err(shape)
}

/// Sessions whose events a client receives.
pub(super) enum SessionScope {
    /// All sessions.
    All,
    /// Sessions whose key continues with this prefix after the agent id.
    Own(String),
    Nothing,
}

impl SessionScope {
    pub(super) fn of(caller: &Caller) -> Self {
        if caller.is_owner() {
            return Self::All;
        }
        let any = session_key(caller, &AgentId::main(), "x");
        match any.as_ref().map(|key| key.rest().strip_suffix('x')) {
            Ok(Some(own)) => Self::Own(own.to_owned()),
            _ => Self::Nothing,
        }
    }

    pub(super) fn sees(&self, key: &SessionKey) -> bool {
        match self {
            Self::All => true,
            Self::Own(own) => key.rest().starts_with(own.as_str()),
            Self::Nothing => false,
        }
    }
}
