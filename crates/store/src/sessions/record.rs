//! The rows, typed.

use std::str::FromStr;

use manyhands_core::{AgentId, Taint, Timestamp};

use crate::error::StoreError;
use crate::sql::{Row, Statement};

pub(super) const SESSION_COLUMNS: &str = "SELECT key, id, agent, label, settings, previous, peer, floor, next_seq, input_tokens, output_tokens, cost_micros, created, updated, last_active, last_reset, taint, title, pinned, archived, folder, parent, parent_call, context_tokens FROM session";
pub(super) const ENTRY_COLUMNS: &str = "SELECT seq, turn, kind, body, at FROM session_entry";
pub(super) const TURN_COLUMNS: &str = "SELECT id, session_key, run_id, state, input, origin, work, outcome, created, started, ended FROM turn";
pub(super) const CALL_COLUMNS: &str =
    "SELECT turn, step, place, call_id, tool, arguments, state, outcome FROM turn_call";

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its key, `agent:{agent}:{rest}`.
    pub key: String,
    /// Its present id; a reset gives it another.
    pub id: String,
    /// Whose conversation.
    pub agent: AgentId,
    /// What the user calls it.
    pub label: Option<String>,
    /// Its settings, as JSON.
    pub settings: String,
    /// The ids it had before.
    pub previous: Vec<String>,
    /// With whom it was last, as JSON.
    pub peer: Option<String>,
    /// The first entry that a model is still shown.
    pub floor: i64,
    /// The number of the next entry.
    pub next_seq: i64,
    /// Tokens that went in since the last reset.
    pub input_tokens: i64,
    /// Tokens that came out since the last reset.
    pub output_tokens: i64,
    /// What that cost, in millionths of a dollar.
    pub cost_micros: i64,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// When somebody last said something in it.
    pub last_active: Timestamp,
    /// When it was last reset.
    pub last_reset: Option<Timestamp>,
    /// The untrusted text that was read in it first, since it was last reset.
    pub taint: Taint,
    /// Its title: the start of its first message, or what a model made of the first exchange.
    pub title: Option<String>,
    /// How the user arranged it.
    pub arrangement: SessionArrangement,
    /// The session whose call started it, for sub-agents.
    pub parent: Option<String>,
    /// The model's id of that call.
    pub parent_call: Option<String>,
    /// Tokens of the conversation at the last reply; `None` if it was cut since.
    pub context_tokens: Option<i64>,
}

/// A change of how a session is arranged; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rearrangement {
    /// Whether it is listed first.
    pub pinned: Option<bool>,
    /// Whether it is listed only on request.
    pub archived: Option<bool>,
    /// The folder it is listed in, or none.
    pub folder: Option<Option<String>>,
}

/// How a user arranged a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionArrangement {
    /// Whether it is listed first.
    pub pinned: bool,
    /// Whether it is listed only on request.
    pub archived: bool,
    /// The folder it is listed in.
    pub folder: Option<String>,
}

impl SessionRecord {
    /// A session that was never used.
    pub fn new(key: String, id: String, agent: AgentId, now: Timestamp) -> Self {
        Self {
            key,
            id,
            agent,
            label: None,
            settings: "{}".to_owned(),
            previous: Vec::new(),
            peer: None,
            floor: 0,
            next_seq: 0,
            input_tokens: 0,
            output_tokens: 0,
            cost_micros: 0,
            created: now,
            updated: now,
            last_active: now,
            last_reset: None,
            taint: Taint::NONE,
            title: None,
            arrangement: SessionArrangement::default(),
            parent: None,
            parent_call: None,
            context_tokens: None,
        }
    }

    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let key = row.text("key")?;
        let previous = serde_json::from_str(&row.text("previous")?)
            .map_err(|_| StoreError::corrupt(format!("the record of session {key} is damaged")))?;
        Ok(Self {
            key,
            id: row.text("id")?,
            agent: row.parsed("agent")?,
            label: row.text_or_null("label")?,
            settings: row.text("settings")?,
            previous,
            peer: row.text_or_null("peer")?,
            floor: row.int("floor")?,
            next_seq: row.int("next_seq")?,
            input_tokens: row.int("input_tokens")?,
            output_tokens: row.int("output_tokens")?,
            cost_micros: row.int("cost_micros")?,
            created: Timestamp(row.int("created")?),
            updated: Timestamp(row.int("updated")?),
            last_active: Timestamp(row.int("last_active")?),
            last_reset: row.int_or_null("last_reset")?.map(Timestamp),
            taint: row.text_or_null("taint")?.map_or(Taint::NONE, Taint::by),
            title: row.text_or_null("title")?,
            arrangement: SessionArrangement {
                pinned: row.int("pinned")? != 0,
                archived: row.int("archived")? != 0,
                folder: row.text_or_null("folder")?,
            },
            parent: row.text_or_null("parent")?,
            parent_call: row.text_or_null("parent_call")?,
            context_tokens: row.int_or_null("context_tokens")?,
        })
    }

    fn previous_text(&self) -> Result<String, StoreError> {
        serde_json::to_string(&self.previous).map_err(|e| StoreError::invalid(e.to_string()))
    }

    pub(super) fn insert(&self) -> Result<Statement, StoreError> {
        Ok(Statement::new(
            "INSERT INTO session (key, id, agent, label, settings, previous, peer, floor, next_seq,
                 input_tokens, output_tokens, cost_micros, created, updated, last_active, last_reset, taint,
                 title, pinned, archived, folder, parent, parent_call, context_tokens)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
                 $18, $19, $20, $21, $22, $23, $24)
             ON CONFLICT (key) DO NOTHING",
        )
        .bind(self.key.as_str())
        .bind(self.id.as_str())
        .bind(self.agent.as_str())
        .bind(self.label.clone())
        .bind(self.settings.as_str())
        .bind(self.previous_text()?)
        .bind(self.peer.clone())
        .bind(self.floor)
        .bind(self.next_seq)
        .bind(self.input_tokens)
        .bind(self.output_tokens)
        .bind(self.cost_micros)
        .bind(self.created)
        .bind(self.updated)
        .bind(self.last_active)
        .bind(self.last_reset)
        .bind(self.taint.source().map(str::to_owned))
        .bind(self.title.clone())
        .bind(i64::from(self.arrangement.pinned))
        .bind(i64::from(self.arrangement.archived))
        .bind(self.arrangement.folder.clone())
        .bind(self.parent.clone())
        .bind(self.parent_call.clone())
        .bind(self.context_tokens))
    }

    /// Everything but key, agent and time of making.
    pub(super) fn update(&self) -> Result<Statement, StoreError> {
        Ok(Statement::new(
            "UPDATE session SET id = $2, label = $3, settings = $4, previous = $5, peer = $6,
                 floor = $7, next_seq = $8, input_tokens = $9, output_tokens = $10,
                 cost_micros = $11, updated = $12, last_active = $13, last_reset = $14, taint = $15,
                 title = $16, pinned = $17, archived = $18, folder = $19, parent = $20,
                 parent_call = $21, context_tokens = $22
             WHERE key = $1",
        )
        .bind(self.key.as_str())
        .bind(self.id.as_str())
        .bind(self.label.clone())
        .bind(self.settings.as_str())
        .bind(self.previous_text()?)
        .bind(self.peer.clone())
        .bind(self.floor)
        .bind(self.next_seq)
        .bind(self.input_tokens)
        .bind(self.output_tokens)
        .bind(self.cost_micros)
        .bind(self.updated)
        .bind(self.last_active)
        .bind(self.last_reset)
        .bind(self.taint.source().map(str::to_owned))
        .bind(self.title.clone())
        .bind(i64::from(self.arrangement.pinned))
        .bind(i64::from(self.arrangement.archived))
        .bind(self.arrangement.folder.clone())
        .bind(self.parent.clone())
        .bind(self.parent_call.clone())
        .bind(self.context_tokens))
    }
}

/// One thing that was said or done in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptEntry {
    /// Its number.
    pub seq: i64,
    /// The turn it belongs to.
    pub turn: Option<String>,
    /// What it is.
    pub kind: String,
    /// What was said, as JSON.
    pub body: String,
    /// When.
    pub at: Timestamp,
}

impl TranscriptEntry {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.int("seq")?,
            turn: row.text_or_null("turn")?,
            kind: row.text("kind")?,
            body: row.text("body")?,
            at: Timestamp(row.int("at")?),
        })
    }
}

// One list for both directions: a name that is written can always be read again.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The word in the record.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($word => Ok(Self::$variant),)* _ => Err(()) }
            }
        }
    };
}

words! {
    /// Where a turn stands.
    TurnState {
        /// It waits for its place.
        Queued = "queued",
        /// It is being worked on.
        Running = "running",
        /// It waits for the owner.
        Waiting = "waiting",
        /// It ended with an answer.
        Done = "done",
        /// It ended with an error.
        Failed = "failed",
        /// Somebody stopped it.
        Stopped = "stopped",
        /// It became part of the turn that was running.
        Merged = "merged",
    }
}

impl TurnState {
    /// Whether it has ended.
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::Waiting)
    }
}

words! {
    /// Where a tool's call stands.
    CallState {
        /// The model asked for it.
        Requested = "asked",
        /// It was handed to the tool.
        Started = "started",
        /// There is an outcome.
        Done = "done",
    }
}

/// One input and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRecord {
    /// Its id.
    pub id: String,
    /// The session.
    pub session_key: String,
    /// The asker's own id of it.
    pub run_id: String,
    /// Where it stands.
    pub state: TurnState,
    /// What was said, as JSON.
    pub input: String,
    /// Who said it, as JSON.
    pub origin: String,
    /// How far it is, as JSON.
    pub work: String,
    /// What came of it, as JSON.
    pub outcome: Option<String>,
    /// When it came.
    pub created: Timestamp,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

impl TurnRecord {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.text("id")?,
            session_key: row.text("session_key")?,
            run_id: row.text("run_id")?,
            state: parse_column(row, "state")?,
            input: row.text("input")?,
            origin: row.text("origin")?,
            work: row.text("work")?,
            outcome: row.text_or_null("outcome")?,
            created: Timestamp(row.int("created")?),
            started: row.int_or_null("started")?.map(Timestamp),
            ended: row.int_or_null("ended")?.map(Timestamp),
        })
    }

    pub(super) fn insert(&self) -> Statement {
        Statement::new(
            "INSERT INTO turn (id, session_key, run_id, place, state, input, origin, work, created)
             SELECT $1, $2, $3, COALESCE(MAX(place), 0) + 1, $4, $5, $6, $7, $8
             FROM turn WHERE session_key = $2",
        )
        .bind(self.id.as_str())
        .bind(self.session_key.as_str())
        .bind(self.run_id.as_str())
        .bind(self.state.as_str())
        .bind(self.input.as_str())
        .bind(self.origin.as_str())
        .bind(self.work.as_str())
        .bind(self.created)
    }
}

/// A tool that a model's reply asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// The turn.
    pub turn: String,
    /// Which reply of the turn.
    pub step: i64,
    /// Which of the reply's calls.
    pub place: i64,
    /// The model's own id of it.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments, as JSON.
    pub arguments: String,
    /// Where it stands.
    pub state: CallState,
    /// What came of it, as JSON.
    pub outcome: Option<String>,
}

impl CallRecord {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            turn: row.text("turn")?,
            step: row.int("step")?,
            place: row.int("place")?,
            call_id: row.text("call_id")?,
            tool: row.text("tool")?,
            arguments: row.text("arguments")?,
            state: parse_column(row, "state")?,
            outcome: row.text_or_null("outcome")?,
        })
    }

    pub(super) fn insert(&self) -> Statement {
        Statement::new(
            "INSERT INTO turn_call (turn, step, place, call_id, tool, arguments, state, outcome)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(self.turn.as_str())
        .bind(self.step)
        .bind(self.place)
        .bind(self.call_id.as_str())
        .bind(self.tool.as_str())
        .bind(self.arguments.as_str())
        .bind(self.state.as_str())
        .bind(self.outcome.clone())
    }
}

fn parse_column<T: FromStr>(row: &Row, column: &str) -> Result<T, StoreError> {
    let text = row.text(column)?;
    let damaged = format!("the database holds {text:?} as {column}: restore a backup");
    text.parse().map_err(|_| StoreError::corrupt(damaged))
}
