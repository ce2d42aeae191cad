//! What a server has to be told: from options, from prompts, or a clear error that names everything that is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Read};

use manyhands_core::Secret;
use manyhands_federation::directory::Input;

use crate::args::{AddServer, SecretSource};
use crate::commands::connection::prompt_for;
use crate::context::CliContext;
use manyhands_terminal::editor::{Question, is_interactive};
use manyhands_terminal::output::{self, Failure};

/// Larger than any key.
const MAX_SECRET: u64 = 64 * 1024;
/// Shorter secrets are refused by the vault: they could not be redacted reliably.
const MIN_SECRET: usize = 8;

/// The values given so far.
pub struct Inputs<'a> {
    secrets: BTreeMap<&'a str, &'a SecretSource>,
    plain: BTreeMap<&'a str, &'a str>,
    used: BTreeSet<String>,
    missing: Vec<String>,
    interactive: bool,
    ctx: &'a CliContext,
}

impl<'a> Inputs<'a> {
    /// Values of the options; `piped` if standard input was used for something else.
    pub fn new(add: &'a AddServer, piped: bool, ctx: &'a CliContext) -> Self {
        let secrets = add.secret.iter().map(|(name, from)| (name.as_str(), from));
        let plain = add.input.iter();
        Self {
            secrets: secrets.collect(),
            plain: plain
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
            used: BTreeSet::new(),
            missing: Vec::new(),
            interactive: is_interactive() && std::io::stdin().is_terminal() && !piped,
            ctx,
        }
    }

    /// A value that is not secret; `None` if it is left out.
    pub async fn plain(&mut self, input: &Input) -> Result<Option<String>, Failure> {
        self.used.insert(input.name.clone());
        if let Some(value) = self.plain.get(input.name.as_str()) {
            return Ok(Some((*value).to_owned()));
        }
        if self.secrets.contains_key(input.name.as_str()) {
            return Err(Failure(format!(
                "{} is not a secret\nhint: use --input {}=VALUE",
                input.name, input.name
            )));
        }
        if self.interactive {
            let shown = match (&input.default, input.optional) {
                (Some(default), _) => format!(" [{default}]"),
                (None, true) => " [none]".to_owned(),
                (None, false) => String::new(),
            };
            output::print_prompt(&format!("{}, {}{shown}: ", input.name, input.description));
            let answer = Question::start().answer().await.unwrap_or_default();
            let answer = answer.trim();
            if !answer.is_empty() {
                return Ok(Some(answer.to_owned()));
            }
        }
        if input.default.is_none() && !input.optional {
            self.missing.push(format!("--input {}=VALUE", input.name));
        }
        Ok(input.default.clone())
    }

    /// A secret; `None` if it is left out, or `kept` because the vault has it.
    pub fn secret(&mut self, input: &Input, kept: bool) -> Result<Option<Secret>, Failure> {
        self.used.insert(input.name.clone());
        let name = input.name.as_str();
        let value = match self.secrets.get(name) {
            Some(SecretSource::Variable(variable)) => {
                let environment = self.ctx.environment();
                let value = environment.get(variable).filter(|value| !value.is_empty());
                value.cloned().ok_or_else(|| {
                    Failure(format!(
                        "--secret {name}: environment variable {variable} is not set"
                    ))
                })?
            }
            Some(SecretSource::File(file)) => {
                let file = self.ctx.file(file)?;
                let wrong = |e: std::io::Error| {
                    Failure(format!("--secret {name}: {}: {e}", file.display()))
                };
                let mut value = String::new();
                let opened = std::fs::File::open(&file).map_err(wrong)?;
                opened
                    .take(MAX_SECRET)
                    .read_to_string(&mut value)
                    .map_err(wrong)?;
                value
            }
            None if self.plain.contains_key(name) => {
                return Err(Failure(format!(
                    "{name} is a secret, and options are visible in the shell history\nhint: use --secret {name}=@FILE, or --secret {name}=VARIABLE with the name of an environment variable"
                )));
            }
            None if self.interactive => prompt_for(&match (kept, input.optional) {
                (true, _) => format!(
                    "{name}, {} (hidden; empty keeps the stored one)",
                    input.description
                ),
                (false, true) => format!("{name}, {} (hidden; optional)", input.description),
                (false, false) => format!("{name}, {} (hidden)", input.description),
            })?,
            None => String::new(),
        };
        let value = value.trim();
        if value.is_empty() {
            if !input.optional && !kept {
                self.missing.push(format!("--secret {name}=@FILE"));
            }
            return Ok(None);
        }
        if value.chars().count() < MIN_SECRET {
            return Err(Failure(format!(
                "{name} has less than {MIN_SECRET} characters; nothing was added"
            )));
        }
        Ok(Some(Secret::new(value)))
    }

    /// Refuses if something is missing, or an option names nothing that is needed.
    pub fn check(&self) -> Result<(), Failure> {
        let given = self.secrets.keys().chain(self.plain.keys());
        let mut unknown = given.filter(|name| !self.used.contains(**name));
        if let Some(name) = unknown.next() {
            let known: Vec<&str> = self.used.iter().map(String::as_str).collect();
            let known = match known.is_empty() {
                true => "it needs no values".to_owned(),
                false => format!("it needs {}", known.join(", ")),
            };
            return Err(Failure(format!("unknown input {name}; {known}")));
        }
        match self.missing.is_empty() {
            true => Ok(()),
            false => Err(Failure(format!(
                "missing values; nothing was added\nhint: add {}",
                self.missing.join(" ")
            ))),
        }
    }
}
