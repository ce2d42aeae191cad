//! State of the node that outlives its connections.

use crate::log::NodeLog;
use crate::outbox::Outbox;
use crate::partial_files::PartialFiles;
use crate::terminals::Terminals;
use crate::tools::Toolbox;

/// State that calls, watches and transfers of every connection share.
pub(crate) struct Node {
    pub(crate) toolbox: Toolbox,
    pub(crate) log: NodeLog,
    pub(crate) outbox: Outbox,
    pub(crate) partial_files: PartialFiles,
    pub(crate) terminals: Terminals,
}
