//! The terminals of one agent: limited in number, and stopped with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, CreateTerminalResponse, TerminalExitStatus, TerminalOutputResponse,
    WaitForTerminalExitResponse,
};

use crate::host::{AgentHost, CommandLine, ExitStatus, Terminal, refused};

/// Maximum number of open terminals.
const MAX_TERMINALS: usize = 16;
/// Maximum number of variables per command.
const MAX_VARIABLES: usize = 100;

/// The terminals of one agent.
#[derive(Default)]
pub(crate) struct Terminals(Mutex<TerminalTable>);

#[derive(Default)]
struct TerminalTable {
    created: u64,
    /// Slots reserved for commands that are being started.
    starting: usize,
    open: HashMap<String, Arc<dyn Terminal>>,
}

impl Terminals {
    pub(crate) async fn create(
        &self,
        request: CreateTerminalRequest,
        host: &dyn AgentHost,
    ) -> Result<CreateTerminalResponse, Error> {
        if request.env.len() > MAX_VARIABLES {
            return Err(refused("too many environment variables"));
        }
        {
            let mut table = self.table();
            if table.open.len() + table.starting >= MAX_TERMINALS {
                let why = format!("too many open terminals (limit {MAX_TERMINALS}); release one");
                return Err(refused(&why));
            }
            // Reserved before the await below: parallel requests must not exceed the limit together.
            table.starting += 1;
        }
        let _starting = StartingSlot(self);
        let variables = request.env.into_iter().map(|one| (one.name, one.value));
        let terminal = host
            .run(CommandLine {
                command: request.command,
                args: request.args,
                env: variables.collect(),
                cwd: request.cwd,
                output_bytes: request.output_byte_limit,
            })
            .await
            .map_err(|why| refused(&why))?;
        let mut table = self.table();
        // Numbers are never reused: a late request must not reach another command.
        table.created += 1;
        let id = format!("terminal-{}", table.created);
        table.open.insert(id.clone(), terminal);
        Ok(CreateTerminalResponse::new(id))
    }

    pub(crate) fn output(&self, id: &str) -> Result<TerminalOutputResponse, Error> {
        let screen = self.find(id)?.output();
        let response = TerminalOutputResponse::new(screen.text, screen.cut);
        Ok(match screen.exited {
            Some(exited) => response.exit_status(status(&exited)),
            None => response,
        })
    }

    pub(crate) async fn wait(&self, id: &str) -> Result<WaitForTerminalExitResponse, Error> {
        let exited = self.find(id)?.exited().await;
        Ok(WaitForTerminalExitResponse::new(status(&exited)))
    }

    pub(crate) fn kill(&self, id: &str) -> Result<(), Error> {
        self.find(id)?.kill();
        Ok(())
    }

    pub(crate) fn release(&self, id: &str) -> Result<(), Error> {
        self.find(id)?.kill();
        self.table().open.remove(id);
        Ok(())
    }

    fn find(&self, id: &str) -> Result<Arc<dyn Terminal>, Error> {
        let found = self.table().open.get(id).cloned();
        found.ok_or_else(|| refused("unknown terminal"))
    }

    fn table(&self) -> MutexGuard<'_, TerminalTable> {
        self.0.lock().expect("no panic while held")
    }
}

impl Drop for Terminals {
    fn drop(&mut self) {
        // An agent that crashes must not leave its commands running.
        for terminal in self.table().open.values() {
            terminal.kill();
        }
    }
}

/// A slot reserved until the command has started or failed.
struct StartingSlot<'a>(&'a Terminals);

impl Drop for StartingSlot<'_> {
    fn drop(&mut self) {
        self.0.table().starting -= 1;
    }
}

fn status(exited: &ExitStatus) -> TerminalExitStatus {
    match exited {
        ExitStatus::Code(code) => TerminalExitStatus::new().exit_code(code.unsigned_abs()),
        ExitStatus::Signal(name) => TerminalExitStatus::new().signal(name.clone()),
    }
}
