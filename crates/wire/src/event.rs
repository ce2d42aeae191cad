//! The events, each with its payload type.

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
use crate::session::{SessionChangedEvent, SessionDeletedEvent};
use crate::terminal::{
    TerminalCloseEvent, TerminalClosedEvent, TerminalInputEvent, TerminalOutputEvent,
    TerminalReadEvent, TerminalResizeEvent,
};
use crate::transfer::{
    TransferAckEvent, TransferCancelEvent, TransferEndEvent, TransferReceiveEvent,
    TransferSendEvent, TransferStartEvent,
};

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// Asks a node to run a tool.
    ToolInvoke,
    /// Cancels a call.
    ToolCancel,
    /// Asks a node for the output of a process.
    ProcessWatch,
    /// Ends a watch.
    ProcessUnwatch,
    /// Output of a watched process.
    ProcessOutput,
    /// Asks a node for the output of a terminal.
    TerminalRead,
    /// Types into a terminal.
    TerminalInput,
    /// Changes the size of a terminal.
    TerminalResize,
    /// Closes a terminal.
    TerminalClose,
    /// Output of a terminal.
    TerminalOutput,
    /// A terminal has closed.
    TerminalClosed,
    /// Asks a node for its log.
    LogsGet,
    /// Asks a node for a file.
    TransferSend,
    /// Offers a file to a node.
    TransferReceive,
    /// Starts sending.
    TransferStart,
    /// Acknowledges received bytes.
    TransferAck,
    /// Everything was sent.
    TransferEnd,
    /// Cancels a transfer.
    TransferCancel,
    /// Tools were added or removed.
    ToolsChanged,
    /// Progress of a call.
    ToolProgress,
    /// Event of a background process.
    NodeExec,
    /// Progress and reply of an agent.
    Chat,
    /// Tool calls of an agent.
    ChatTool,
    /// Chat events were dropped.
    ChatGap,
    /// A message became part of a session.
    ChatTaken,
    /// A session was deleted.
    SessionDeleted,
    /// A session appeared or is listed differently.
    SessionChanged,
    /// Output of a call, from a node.
    ToolOutput,
    /// Approval requests changed.
    ApprovalsChanged,
    /// Nodes changed.
    NodesChanged,
    /// Jobs or runs changed.
    CronChanged,
    /// Chat accounts, pairing requests or messages changed.
    ChannelsChanged,
    /// A message for a bridge to send.
    ChannelOutbound,
    /// An agent is typing in a bridged chat.
    ChannelTyping,
}

impl EventKind {
    /// All events.
    pub const ALL: [Self; 34] = [
        Self::ToolInvoke,
        Self::ToolCancel,
        Self::ProcessWatch,
        Self::ProcessUnwatch,
        Self::ProcessOutput,
        Self::TerminalRead,
        Self::TerminalInput,
        Self::TerminalResize,
        Self::TerminalClose,
        Self::TerminalOutput,
        Self::TerminalClosed,
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
        Self::SessionChanged,
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
            Self::TerminalRead => "terminal.read",
            Self::TerminalInput => "terminal.input",
            Self::TerminalResize => "terminal.resize",
            Self::TerminalClose => "terminal.close",
            Self::TerminalOutput => "terminal.output",
            Self::TerminalClosed => "terminal.closed",
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
            Self::SessionChanged => "session.changed",
            Self::ToolOutput => "tool.output",
            Self::ApprovalsChanged => "approvals.changed",
            Self::NodesChanged => "nodes.changed",
            Self::CronChanged => "cron.changed",
            Self::ChannelsChanged => "channels.changed",
            Self::ChannelOutbound => "channel.outbound",
            Self::ChannelTyping => "channel.typing",
        }
    }

    /// Its description, for the reference.
    pub fn summary(self) -> &'static str {
        match self {
            Self::ToolInvoke => "Asks a node to run one of its tools; answered by `tool.result`.",
            Self::ToolCancel => "Cancels a call on a node.",
            Self::ProcessWatch => {
                "Asks a node for output of a background process from a position on; answered by one `process.output` as soon as there is output. An addition: `process.watch`."
            }
            Self::ProcessUnwatch => "Ends a watch on a node. An addition: `process.watch`.",
            Self::ProcessOutput => {
                "Output of a watched process: from a node to the gateway, and to the client that called `process.watch`. An addition: `process.watch`."
            }
            Self::TerminalRead => {
                "Asks a node for the next output of a terminal; answered by one `terminal.output` as soon as there is output. A terminal is opened by `tool.invoke` of `Terminal` with `{cols, rows, cwd?}`, answered by `tool.result` with `{exitCode?, signal?}` when its shell has ended; its id is that of the call. An addition: `node.terminal`."
            }
            Self::TerminalInput => "Types into a terminal of a node. An addition: `node.terminal`.",
            Self::TerminalResize => {
                "Changes the size of a terminal of a node. An addition: `node.terminal`."
            }
            Self::TerminalClose => "Closes a terminal of a node. An addition: `node.terminal`.",
            Self::TerminalOutput => {
                "Output of a terminal: from a node to the gateway, and to the client that called `terminal.open`. It is not redacted and not stored. An addition: `node.terminal`."
            }
            Self::TerminalClosed => {
                "A terminal has closed; to the client that called `terminal.open`. An addition."
            }
            Self::LogsGet => "Asks a node for its last log lines; answered by `logs.result`.",
            Self::TransferSend => "Asks a node for a file; answered by `transfer.meta`.",
            Self::TransferReceive => "Offers a file to a node; answered by `transfer.accept`.",
            Self::TransferStart => {
                "Tells the sending node to start; frames follow, then `transfer.complete`."
            }
            Self::TransferAck => {
                "Acknowledges received bytes of a transfer: sent by the receiving node, and forwarded to the sending one."
            }
            Self::TransferEnd => {
                "Tells the receiving node that everything was sent; answered by `transfer.done`."
            }
            Self::TransferCancel => "Cancels a transfer on a node.",
            Self::ToolsChanged => "Tools were added or removed; `tools.list` returns the new list.",
            Self::ToolProgress => "Progress of a call whose `tool.invoke` requested `progress`.",
            Self::NodeExec => "Event of a background process on a node.",
            Self::Chat => {
                "Progress and reply of an agent, to all clients that may see the session. A slow client misses deltas; if it misses more, it gets `chat.gap`."
            }
            Self::ChatTool => "A tool call of an agent started or ended. An addition.",
            Self::ChatGap => {
                "Chat events were dropped because the client read too slowly; `session.history` has the messages. An addition."
            }
            Self::ChatTaken => {
                "A user's message became part of the session; to all clients that may see the session. An addition."
            }
            Self::SessionDeleted => {
                "A session was deleted with its messages; to all clients that may see it. A later message under its key starts a new session. An addition."
            }
            Self::SessionChanged => {
                "A session appeared, or its title, label, folder, pin or archiving changed; to all clients that may see it. An addition."
            }
            Self::ToolOutput => {
                "From a node: output of a call whose `tool.invoke` requested `output`. An addition: `tool.output`."
            }
            Self::ApprovalsChanged => {
                "An approval request was created, answered, used or expired. For the owner; several changes may be reported as one. An addition."
            }
            Self::NodesChanged => {
                "A node connected, disconnected, was renamed or removed; `nodes.list` returns the new list. For the owner; several changes may be reported as one. An addition."
            }
            Self::CronChanged => {
                "A job was created, changed or deleted, or a run started or ended. For the owner; several changes may be reported as one. An addition."
            }
            Self::ChannelsChanged => {
                "The status of an account, a pairing request or an undelivered message changed. For the owner; several changes may be reported as one. An addition."
            }
            Self::ChannelOutbound => {
                "A message for a bridge to send; answered by `channel.sent` if the bridge announced that addition."
            }
            Self::ChannelTyping => "An agent is typing in a bridged chat, for some seconds.",
        }
    }

    /// Returns the event with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Returns whether it is only sent by nodes.
    pub fn is_of_nodes(self) -> bool {
        matches!(self, Self::ToolOutput)
    }

    /// Returns whether it is sent to bridges.
    pub fn is_for_bridges(self) -> bool {
        matches!(self, Self::ChannelOutbound | Self::ChannelTyping)
    }

    /// Returns whether it is sent to nodes; clients receive those that are neither for nodes nor for bridges.
    pub fn is_for_nodes(self) -> bool {
        !matches!(
            self,
            Self::ChannelOutbound
                | Self::ChannelTyping
                | Self::ToolsChanged
                | Self::ToolProgress
                | Self::ProcessOutput
                | Self::TerminalOutput
                | Self::TerminalClosed
                | Self::NodeExec
                | Self::Chat
                | Self::ChatTool
                | Self::ChatGap
                | Self::ChatTaken
                | Self::SessionDeleted
                | Self::SessionChanged
        ) && !self.is_for_owners()
            && !self.is_of_nodes()
    }

    /// Returns whether it is sent only to the owner's clients.
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

/// The payload type of one event.
pub trait Payload: Serialize + DeserializeOwned + JsonSchema {
    /// The event.
    const EVENT: EventKind;

    /// Decodes the payload of an event, if it matches.
    fn read(event: Event) -> Option<Self> {
        serde_json::from_value(event.payload.unwrap_or_default()).ok()
    }

    /// Encodes the text frame.
    fn encode(&self) -> String {
        // Cannot fail: payloads have no maps with other keys.
        let payload = serde_json::to_value(self).expect("a payload is plain data with text keys");
        Frame::Evt(Event {
            event: Self::EVENT.name().to_owned(),
            payload: Some(payload),
            seq: None,
        })
        .encode()
    }
}

/// Tools were added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToolsChangedEvent {}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolProgressEvent {
    /// The id of the `tool.invoke` request.
    pub request_id: String,
    /// Completed amount.
    pub done: u64,
    /// Total amount, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The current step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// New output of the call, at most 4 KiB; the other fields are then those of the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Approval requests changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalsChangedEvent {
    /// Number of pending requests.
    pub pending: u64,
}

/// Nodes changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NodesChangedEvent {}

/// Jobs or runs changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CronChangedEvent {}

/// Chat accounts, pairing requests or messages changed.
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
    TerminalReadEvent: TerminalRead,
    TerminalInputEvent: TerminalInput,
    TerminalResizeEvent: TerminalResize,
    TerminalCloseEvent: TerminalClose,
    TerminalOutputEvent: TerminalOutput,
    TerminalClosedEvent: TerminalClosed,
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
    SessionChangedEvent: SessionChanged,
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
    fn event_names_round_trip() {
        for event in EventKind::ALL {
            assert_eq!(EventKind::from_name(event.name()), Some(event));
        }
        assert_eq!(EventKind::from_name("chats"), None);
    }

    #[test]
    fn events_for_the_owner_are_not_sent_to_nodes() {
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
