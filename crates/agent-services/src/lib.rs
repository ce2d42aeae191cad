//! What tools, jobs and chats need of agents, above `agent` and below the assembled gateway.
//!
//! - [`ModelRegistry`] holds the configured models, [`SpawnedAgents`] the agents that agents spawned
//! - [`Post`] carries messages between agents; [`memory`] and [`skills`] read their files
//! - [`session_key`] decides which sessions a caller may use
//! - [`People`] are contacts and to-dos; [`contact_delivery`] and [`job_delivery`] are the traits by
//!   which messages reach chats

mod agent_mail;
pub mod contact_delivery;
pub mod job_delivery;
mod local_time;
pub mod memory;
mod model_registry;
mod people;
mod recent;
mod session_access;
pub mod skills;
mod spawned_agents;

pub use agent_mail::Post;
pub use local_time::local_time;
pub use model_registry::ModelRegistry;
pub use people::People;
pub use session_access::{origin_of, own_part, part_of, session_key};
pub use spawned_agents::{Child, SpawnedAgents};
