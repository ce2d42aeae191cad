//! Durable storage: records, blobs, secrets and the audit, in one home folder.
//!
//! Nothing here knows business rules. [`Store`] opens a home and provides:
//!
//! - [`Tokens`], [`Nodes`], [`Approvals`], [`Artifacts`]: records in one SQL text for SQLite and PostgreSQL
//! - [`Blobs`]: bytes under a path, in a folder today and in S3 tomorrow
//! - [`Vault`]: secrets, encrypted at rest
//! - [`Audit`]: the record of all calls, append-only and hash-chained
//!
//! [`HomeLock`] prevents a second daemon on the same home, and [`backup()`] and [`restore()`] copy a
//! whole home into one file and back.
//!
//! # Design
//!
//! - **SQL** is one text that SQLite and PostgreSQL both accept; only `sql` names the driver. Migrations only go forward and are verified against
//!   their checksums at every start.
//! - **Blobs** are an `object_store`; on disk it is our own implementation over the jail, because the stock one follows links and does not sync.
//! - **Audit** entries are hash-chained by one writer that commits in groups; the head is sealed with a key from the vault. Retention removes a
//!   verified prefix: the announcing entry, the sealed checkpoint and the removal are one transaction. Floods of refusals become one entry with a count.
//! - **After a crash** calls that had started have no end; the next start closes them in the audit as *interrupted*.

mod approval_record;
mod approvals;
mod artifact_record;
mod artifacts;
mod audit;
mod backup;
mod blobs;
mod changes;
mod chats;
mod collections;
mod columns;
mod connections;
mod continuations;
mod cron;
mod error;
mod hex;
mod home;
mod last_backup;
mod lock;
mod memory;
mod nodes;
mod pins;
mod provenance;
mod quota;
mod sessions;
mod sql;
mod store;
#[cfg(test)]
mod testing;
mod token_text;
mod tokens;
mod upgrade;
mod vault;

pub use approval_record::{ApprovalRecord, ApprovalScope, ApprovalState, NewApproval};
pub use approvals::{ApprovalDecision, ApprovalFilter, Approvals};
pub use artifact_record::{
    ArtifactFilter, ArtifactQuota, ArtifactRecord, Bucket, ChatRecord, NewArtifact,
};
pub use artifacts::Artifacts;
pub use audit::{
    Audit, AuditEntry, AuditFilter, AuditKind, AuditProblem, AuditRecord, AuditStatus, CallCounts,
    ChainVerdict, CountBy, Durability, MAX_SUMMARY, Retention, VerifyFrom,
};
pub use backup::{
    Backup, BackupSummary, Overwrite, Restore, RestoreSummary, Staged, backup, restore, stage,
};
pub use blobs::{BlobStore, Blobs, Disk, blob_path};
pub use changes::Changes;
pub use chats::{
    Backlog, ChatRow, Chats, InboxRow, InboxState, NewInbound, NewOutbound, OutboxCounts,
    OutboxKey, OutboxRow, OutboxState, PendingReply, SendResult, SenderRow, SenderState,
};
pub use collections::{
    CollectionKind, CollectionLimits, CollectionRecord, Collections, DataRow, Filter, FilterError,
    Grant, KnowledgeDocument, Level, NewDocument, NewRow, Passage, RowQuery, Rows, Sort,
    StoredFile, UnknownName, VaultEntry,
};
pub use connections::{ConnectionKind, ConnectionRecord, ConnectionStatus, Connections};
pub use continuations::Continuations;
pub use cron::{
    Claim, Cron, JobCounts, JobCreation, JobFilter, JobKind, JobRecord, MissedRuns, Overlap,
    RunEnd, RunRecord, RunState,
};
pub use error::StoreError;
pub use last_backup::{LastBackup, last_backup};
pub use lock::{Holder, HomeLock};
pub use memory::{
    IndexMark, Memory, MemoryHit, MemoryScope, MessageHit, MessageScope, PendingIndex, Piece,
    PieceSource, UnindexedSession,
};
pub use nodes::{NodeProcessEvent, NodeRecord, Nodes};
pub use pins::{Pin, PinnedDefinition, Pins};
pub use provenance::{ObjectKind, Provenance, TaintMark};
pub use quota::{Charge, DiskSpace, DiskWatch, Quotas, charged_to};
pub use sessions::{
    AgentMail, AgentMessage, CallRecord, CallState, Deleted, Enqueued, MailboxFull, Rearrangement,
    SessionArrangement, SessionChange, SessionRecord, Sessions, TranscriptEntry, TurnEnd,
    TurnRecord, TurnState, Usage, UsageRow, archive_folder,
};
pub use sql::Inspection;
pub use store::Store;
pub use token_text::{MintedToken, TokenHash, mint_token, parse_token};
pub use tokens::{TokenRecord, Tokens};
pub use upgrade::{
    SchemaChange, copy_database, put_back, schema_version, try_migrations, unpack_backup,
};
pub use vault::Vault;

/// The blob store's API.
pub use object_store;
