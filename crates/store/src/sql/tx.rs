//! Transactions, whatever the engine.

use super::sqlite::{ReadTx, WriteTx};
use super::{Row, Statement};
use crate::error::StoreError;

/// A transaction; dropping it rolls it back.
pub(crate) struct Tx(Engine);

enum Engine {
    Write(WriteTx),
    Read(ReadTx),
}

impl Tx {
    pub(super) fn write(tx: WriteTx) -> Self {
        Self(Engine::Write(tx))
    }

    pub(super) fn read(tx: ReadTx) -> Self {
        Self(Engine::Read(tx))
    }

    pub(crate) async fn all(&mut self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        match &mut self.0 {
            Engine::Write(tx) => tx.all(&statement),
            Engine::Read(tx) => tx.all(statement).await,
        }
    }

    pub(crate) async fn one(&mut self, statement: Statement) -> Result<Option<Row>, StoreError> {
        match &mut self.0 {
            Engine::Write(tx) => tx.one(&statement),
            Engine::Read(tx) => tx.one(statement).await,
        }
    }

    /// Runs a writing statement; returns the number of affected rows.
    pub(crate) async fn run(&mut self, statement: Statement) -> Result<u64, StoreError> {
        match &mut self.0 {
            Engine::Write(tx) => tx.run(&statement),
            Engine::Read(_) => Err(StoreError::Database(
                "a read transaction cannot write".to_owned(),
            )),
        }
    }

    /// Returns once everything is on disk.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match self.0 {
            Engine::Write(tx) => tx.commit().await,
            Engine::Read(_) => Ok(()),
        }
    }

    /// Rolls the transaction back.
    pub(crate) async fn abandon(self) {
        drop(self);
    }
}
