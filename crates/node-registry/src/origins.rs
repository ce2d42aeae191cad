//! Origins of calls that may leave a process running, needed when the node reports on that process
//! later.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use manyhands_core::{CallContext, NodeId, TokenId};

/// The most calls remembered.
const MAX_ORIGINS: usize = 8_192;

/// Who started a process, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOrigin {
    pub caller: String,
    pub agent: String,
    /// The conversation of the call.
    pub session: Option<String>,
    /// The token of the call.
    pub token: Option<TokenId>,
}

/// The origins of recent calls that run programs.
#[derive(Default)]
pub struct Origins {
    recent: Mutex<RecentOrigins>,
}

#[derive(Default)]
struct RecentOrigins {
    of_call: HashMap<String, (NodeId, ProcessOrigin)>,
    order: VecDeque<String>,
}

impl Origins {
    /// Records the origin of a call on `node`.
    pub fn note(&self, node: &NodeId, context: &CallContext) {
        let origin = ProcessOrigin {
            caller: context.caller.key(),
            agent: context.agent.to_string(),
            session: context.lineage.last().cloned(),
            token: context.caller.principal.token(),
        };
        // The path's own call id, which the node returns with its notices.
        let call = context.call.to_string();
        let mut recent = self.recent.lock().expect("no panic while held");
        if recent.order.len() == MAX_ORIGINS
            && let Some(oldest) = recent.order.pop_front()
        {
            recent.of_call.remove(&oldest);
        }
        recent.order.push_back(call.clone());
        recent.of_call.insert(call, (node.clone(), origin));
    }

    /// Returns the origin of a call on `node`.
    pub fn of(&self, node: &NodeId, call: &str) -> Option<ProcessOrigin> {
        let recent = self.recent.lock().expect("no panic while held");
        // The node must match as well: one node must not attach its notices to another node's call.
        let (on, origin) = recent.of_call.get(call)?;
        (on == node).then(|| origin.clone())
    }
}

/// A state change of a background process, and who started the process.
#[derive(Debug, Clone)]
pub struct ProcessNotice {
    /// The node it runs on.
    pub node: NodeId,
    /// Who started it, if known.
    pub origin: Option<ProcessOrigin>,
    /// The message of the node.
    pub params: manyhands_wire::NodeExecEventParams,
}
