//! Who asked for a call that may leave a program running: needed when the node has news of it.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use manyhands_core::{CallContext, NodeId, TokenId};

/// How many calls are remembered.
const KEPT: usize = 8_192;

/// Who asked, and on whose behalf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub caller: String,
    pub agent: String,
    /// The conversation in which it was asked.
    pub session: Option<String>,
    /// The token by which it was asked.
    pub token: Option<TokenId>,
}

/// The origins of recent calls that run programs.
#[derive(Default)]
pub struct Origins {
    recent: Mutex<Recent>,
}

#[derive(Default)]
struct Recent {
    of_call: HashMap<String, (NodeId, Origin)>,
    order: VecDeque<String>,
}

impl Origins {
    /// Remembers whose call on `node` this is.
    pub fn note(&self, node: &NodeId, context: &CallContext) {
        let origin = Origin {
            caller: context.caller.key(),
            agent: context.agent.to_string(),
            session: context.lineage.last().cloned(),
            token: context.caller.principal.token(),
        };
        let call = context.call.to_string();
        let mut recent = self.recent.lock().expect("no panic while held");
        if recent.order.len() == KEPT
            && let Some(oldest) = recent.order.pop_front()
        {
            recent.of_call.remove(&oldest);
        }
        recent.order.push_back(call.clone());
        recent.of_call.insert(call, (node.clone(), origin));
    }

    /// Whose call on `node` it was.
    pub fn of(&self, node: &NodeId, call: &str) -> Option<Origin> {
        let recent = self.recent.lock().expect("no panic while held");
        let (on, origin) = recent.of_call.get(call)?;
        (on == node).then(|| origin.clone())
    }
}

/// News of a program in the background, and whom it concerns.
#[derive(Debug, Clone)]
pub struct News {
    /// Where it runs.
    pub node: NodeId,
    /// Who started it, as far as is known.
    pub origin: Option<Origin>,
    /// What the node told.
    pub told: manyhands_wire::NodeExecEventParams,
}
