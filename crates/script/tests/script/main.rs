//! Scripts in real workers: what the language is, what cannot be done, and what is left afterwards.

mod bounds;
mod escapes;
mod language;
mod pool;
mod protocol;
mod stage;
mod web;
