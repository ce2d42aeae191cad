//! The daemon and its HTTP API.
//!
//! - [`daemon`] listens, serves and shuts down
//! - [`http`] has the routes; none runs a tool by itself
//! - [`doctor`] runs health checks

pub mod daemon;
pub mod doctor;
#[doc(hidden)]
pub mod fuzz;
pub mod http;
mod reception;
