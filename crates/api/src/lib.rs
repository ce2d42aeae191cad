//! The daemon and its HTTP API.
//!
//! - [`daemon`] listens, serves and stops
//! - [`http`] are the routes; none runs a tool by itself
//! - [`doctor`] checks whether everything is in order

pub mod daemon;
pub mod doctor;
#[doc(hidden)]
pub mod fuzz;
pub mod http;
mod reception;
