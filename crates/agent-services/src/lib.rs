//! Services around agents that tools, jobs and messaging share. They need `agent` and `host`, but
//! must not know the assembled gateway; keeping them here is what lets those crates be compiled and
//! tested apart.
//!
//! - [`ModelRegistry`] holds the configured models and their spending, [`SpawnedAgents`] the agents
//!   that agents spawned
//! - [`AgentMailer`] delivers messages between agents; [`memory`] and [`skills`] read their files
//! - [`session_key`] decides which sessions a caller may use
//! - [`People`] holds contacts and to-dos; [`contact_delivery`] and [`job_delivery`] are the traits
//!   through which messages reach chats, implemented by `messaging`

mod agent_mail;
pub mod contact_delivery;
pub mod job_delivery;
mod local_time;
pub mod memory;
mod model_registry;
mod model_usage;
mod people;
mod recent;
mod session_access;
pub mod skills;
mod spawned_agents;

pub use agent_mail::AgentMailer;
pub use local_time::local_time;
pub use model_registry::ModelRegistry;
pub use model_usage::ModelUsage;
pub use people::People;
pub use session_access::{origin_of, own_part, part_of, session_key};
pub use spawned_agents::{Child, SpawnedAgents};
