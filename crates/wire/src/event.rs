//! The events that exist, each with the type of its payload.

use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bridge::{ChannelOutboundEvent, ChannelTypingEvent};
use crate::chat::{ChatEventPayload, ChatGapEvent, ChatTakenEvent, ChatToolEvent};
use crate::frame::{Event, Frame};
use crate::node::{
    LogsGetEvent, NodeExecNotice, ToolCancelEvent, ToolInvokeEvent, ToolOutputEvent,
};
use crate::process::{ProcessOutputEvent, ProcessUnwatchEvent, ProcessWatchEvent};
use crate::session::SessionDeletedEvent;
use crate::transfer::{
    TransferAckEvent, TransferCancelEvent, TransferEndEvent, TransferReceiveEvent,
    TransferSendEvent, TransferStartEvent,
};

/// What can be told. Only events that are sent are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// Asks a node to run a tool.
    ToolInvoke,
    /// Takes a call back.
    ToolCancel,
    /// Asks a node what a program prints.
    ProcessWatch,
    /// Nobody watches a program any more.
    ProcessUnwatch,
    /// What a program prints that is watched.
    ProcessOutput,
    /// Asks a node for its log.
    LogsGet,
    /// Asks a node for a file.
    TransferSend,
    /// Offers a node a file.
    TransferReceive,
    /// Tells the sending node to begin.
    TransferStart,
    /// How much has been taken.
    TransferAck,
    /// Everything has come.
    TransferEnd,
    /// A transfer is off.
    TransferCancel,
    /// Tools came or went.
    ToolsChanged,
    /// How far a call is.
    ToolProgress,
    /// News of a program in the background.
    NodeExec,
    /// What an agent says.
    Chat,
    /// What an agent does.
    ChatTool,
    /// Some of it was left out.
    ChatGap,
    /// What somebody said has its turn.
    ChatTaken,
    /// A session was deleted.
    SessionDeleted,
    /// A node tells what a call prints.
    ToolOutput,
    /// Questions to the owner changed.
    ApprovalsChanged,
    /// Nodes came, went or changed.
    NodesChanged,
    /// Jobs changed, or ran.
    CronChanged,
    /// Accounts, people or messages of chats changed.
    ChannelsChanged,
    /// Something that a bridge is to send.
    ChannelOutbound,
    /// An agent writes in a chat of a bridge.
    ChannelTyping,
}

impl EventKind {
    /// Every event there is.
    pub const ALL: [Self; 27] = [
        Self::ToolInvoke,
        Self::ToolCancel,
        Self::ProcessWatch,
        Self::ProcessUnwatch,
        Self::ProcessOutput,
        Self::LogsGet,
        Self::TransferSend,
        Self::TransferReceive,
        Self::TransferStart,
        Self::TransferAck,
        Self::TransferEnd,
        Self::TransferCancel,
        Self::ToolsChanged,
        Self::ToolProgress,
        Self::NodeExec,
        Self::Chat,
        Self::ChatTool,
        Self::ChatGap,
        Self::ChatTaken,
        Self::SessionDeleted,
        Self::ToolOutput,
        Self::ApprovalsChanged,
        Self::NodesChanged,
        Self::CronChanged,
        Self::ChannelsChanged,
        Self::ChannelOutbound,
        Self::ChannelTyping,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToolInvoke => "tool.invoke",
            Self::ToolCancel => "tool.cancel",
            Self::ProcessWatch => "process.watch",
            Self::ProcessUnwatch => "process.unwatch",
            Self::ProcessOutput => "process.output",
            Self::LogsGet => "logs.get",
            Self::TransferSend => "transfer.send",
            Self::TransferReceive => "transfer.receive",
            Self::TransferStart => "transfer.start",
            Self::TransferAck => "transfer.ack",
            Self::TransferEnd => "transfer.end",
            Self::TransferCancel => "transfer.cancel",
            Self::ToolsChanged => "tools.changed",
            Self::ToolProgress => "tool.progress",
            Self::NodeExec => "node.exec.event",
            Self::Chat => "chat",
            Self::ChatTool => "chat.tool",
            Self::ChatGap => "chat.gap",
            Self::ChatTaken => "chat.taken",
            Self::SessionDeleted => "session.deleted",
            Self::ToolOutput => "tool.output",
            Self::ApprovalsChanged => "approvals.changed",
            Self::NodesChanged => "nodes.changed",
            Self::CronChanged => "cron.changed",
            Self::ChannelsChanged => "channels.changed",
            Self::ChannelOutbound => "channel.outbound",
            Self::ChannelTyping => "channel.typing",
        }
    }

    /// What it tells, for the reference.
    pub fn summary(self) -> &'static str {
        match self {
            Self::ToolInvoke => "Asks a node to run one of its tools; answered by `tool.result`.",
            Self::ToolCancel => "Tells a node that nobody waits for a call any more.",
            Self::ProcessWatch => {
                "Asks a node what a program in its background prints from some point on; answered by one `process.output` as soon as there is something. An addition: `process.watch`."
            }
            Self::ProcessUnwatch => {
                "Tells a node that nobody watches a program any more. An addition: `process.watch`."
            }
            Self::ProcessOutput => {
                "What a program prints that is watched: from a node to the gateway, and to the client whose `process.watch` asked for it. An addition: `process.watch`."
            }
            Self::LogsGet => "Asks a node for the end of its log; answered by `logs.result`.",
            Self::TransferSend => "Asks a node for a file; answered by `transfer.meta`.",
            Self::TransferReceive => "Offers a node a file; answered by `transfer.accept`.",
            Self::TransferStart => {
                "Tells the sending node to begin; frames follow, then `transfer.complete`."
            }
            Self::TransferAck => {
                "How much of a transfer has been taken: sent by the receiving node, and to the sending one."
            }
            Self::TransferEnd => {
                "Tells the receiving node that everything has come; answered by `transfer.done`."
            }
            Self::TransferCancel => "Tells a node that a transfer is off.",
            Self::ToolsChanged => "Tools came or went; `tools.list` gives the new list.",
            Self::ToolProgress => "How far a call is whose `tool.invoke` asked for `progress`.",
            Self::NodeExec => "News of a program that runs in the background of a node.",
            Self::Chat => {
                "What an agent says, to everybody who may see the session. A slow reader misses deltas; when it misses more, `chat.gap` says so."
            }
            Self::ChatTool => "A tool that an agent called began or ended. An addition.",
            Self::ChatGap => {
                "Events of chats were left out, because they came faster than they were read; `session.history` has what was said. An addition."
            }
            Self::ChatTaken => {
                "What somebody said became part of the conversation, to everybody who may see the session. An addition."
            }
            Self::SessionDeleted => {
                "A session was deleted with all that was said in it, to everybody who may see it. What is said under its key from then on begins a new one. An addition."
            }
            Self::ToolOutput => {
                "From a node: what a call prints whose `tool.invoke` asked for `output`. An addition: `tool.output`."
            }
            Self::ApprovalsChanged => {
                "A question to the owner was put, answered, used or ran out. For the owner; several changes may be told as one. An addition."
            }
            Self::NodesChanged => {
                "A node connected, went, was renamed or forgotten; `nodes.list` gives the new list. For the owner; several changes may be told as one. An addition."
            }
            Self::CronChanged => {
                "A job was made, changed or removed, or a run began or ended. For the owner; several changes may be told as one. An addition."
            }
            Self::ChannelsChanged => {
                "How an account stands changed, somebody asks to be known or was decided about, or a message did not arrive. For the owner; several changes may be told as one. An addition."
            }
            Self::ChannelOutbound => {
                "Something that a bridge is to send; answered by `channel.sent` where it announced that."
            }
            Self::ChannelTyping => "An agent writes in a chat of a bridge, for some seconds.",
        }
    }

    /// The event called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Whether only nodes say it, and nobody is sent it.
    pub fn is_of_nodes(self) -> bool {
        matches!(self, Self::ToolOutput)
    }

    /// Whether bridges are sent it.
    pub fn is_for_bridges(self) -> bool {
        matches!(self, Self::ChannelOutbound | Self::ChannelTyping)
    }

    /// Whether nodes are sent it; clients are sent those that are neither for nodes nor for bridges.
    pub fn is_for_nodes(self) -> bool {
        !matches!(
            self,
            Self::ChannelOutbound
                | Self::ChannelTyping
                | Self::ToolsChanged
                | Self::ToolProgress
                | Self::ProcessOutput
                | Self::NodeExec
                | Self::Chat
                | Self::ChatTool
                | Self::ChatGap
                | Self::ChatTaken
                | Self::SessionDeleted
        ) && !self.is_for_owners()
            && !self.is_of_nodes()
    }

    /// Whether only clients that are the owner are sent it.
    pub fn is_for_owners(self) -> bool {
        matches!(
            self,
            Self::ApprovalsChanged | Self::NodesChanged | Self::CronChanged | Self::ChannelsChanged
        )
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The payload of one event, which names it.
pub trait Payload: Serialize + DeserializeOwned + JsonSchema {
    /// The event.
    const EVENT: EventKind;

    /// The payload of an event that came in, if it fits.
    fn read(event: Event) -> Option<Self> {
        serde_json::from_value(event.payload.unwrap_or_default()).ok()
    }

    /// The text frame that tells it.
    fn encode(&self) -> String {
        let payload = serde_json::to_value(self).expect("a payload is plain data with text keys");
        Frame::Evt(Event {
            event: Self::EVENT.name().to_owned(),
            payload: Some(payload),
            seq: None,
        })
        .encode()
    }
}

/// Tools came or went.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToolsChangedEvent {}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolProgressEvent {
    /// The id of the `tool.invoke` request.
    pub request_id: String,
    /// How much is done.
    pub done: u64,
    /// Of how much, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// What is being done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the call printed since, at most 4 KiB; the other fields are those of the last step then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Questions to the owner changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalsChangedEvent {
    /// How many wait for an answer.
    pub pending: u64,
}

/// Nodes came, went or changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NodesChangedEvent {}

/// Jobs changed, or ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CronChangedEvent {}

/// Accounts, people or messages of chats changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ChannelsChangedEvent {}

macro_rules! events {
    ($($payload:ident: $event:ident,)*) => {
        $(impl Payload for $payload {
            const EVENT: EventKind = EventKind::$event;
        })*
    };
}

events! {
    ToolInvokeEvent: ToolInvoke,
    ToolCancelEvent: ToolCancel,
    ProcessWatchEvent: ProcessWatch,
    ProcessUnwatchEvent: ProcessUnwatch,
    ProcessOutputEvent: ProcessOutput,
    LogsGetEvent: LogsGet,
    TransferSendEvent: TransferSend,
    TransferReceiveEvent: TransferReceive,
    TransferStartEvent: TransferStart,
    TransferAckEvent: TransferAck,
    TransferEndEvent: TransferEnd,
    TransferCancelEvent: TransferCancel,
    ToolsChangedEvent: ToolsChanged,
    ToolProgressEvent: ToolProgress,
    NodeExecNotice: NodeExec,
    ChatEventPayload: Chat,
    ChatToolEvent: ChatTool,
    ChatGapEvent: ChatGap,
    ChatTakenEvent: ChatTaken,
    SessionDeletedEvent: SessionDeleted,
    ToolOutputEvent: ToolOutput,
    ApprovalsChangedEvent: ApprovalsChanged,
    NodesChangedEvent: NodesChanged,
    CronChangedEvent: CronChanged,
    ChannelsChangedEvent: ChannelsChanged,
    ChannelOutboundEvent: ChannelOutbound,
    ChannelTypingEvent: ChannelTyping,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_events() {
        for event in EventKind::ALL {
            assert_eq!(EventKind::from_name(event.name()), Some(event));
        }
        assert_eq!(EventKind::from_name("chats"), None);
    }

    #[test]
    fn what_only_the_owner_hears_is_not_for_nodes() {
        let owners = EventKind::ALL
            .into_iter()
            .filter(|event| event.is_for_owners());
        let owners: Vec<EventKind> = owners.collect();
        assert_eq!(owners.len(), 4);
        assert!(owners.iter().all(|event| !event.is_for_nodes()));
    }

    #[test]
    fn an_event_has_its_golden_text_and_is_read_back() {
        let payload = ToolCancelEvent {
            call_id: "c".into(),
        };
        let text = payload.encode();
        assert_eq!(
            text,
            r#"{"type":"evt","event":"tool.cancel","payload":{"callId":"c"}}"#
        );
        let Ok(Frame::Evt(event)) = Frame::decode(&text) else {
            panic!("{text}");
        };
        assert_eq!(ToolCancelEvent::read(event), Some(payload));
    }
}
