//! Nodes: other machines' shell and files, through the real gateway and real nodes.
//!
//! A *machine* is a process of `manyhands node`. A *foreign* node is played by the test itself
//! and speaks the protocol as it was published, without our additions.

mod background;
mod bash;
mod confined;
mod contract;
mod cuts;
mod enrolment;
pub mod fixture;
mod foreign;
mod foreign_files;
mod home;
mod interfaces;
mod kills;
mod logs;
mod lost;
mod names;
pub mod player;
mod pressure;
mod proxy;
mod refusals;
mod resumed;
mod schemas;
mod storm;
mod tampering;
mod transfers;
mod trees;
mod watching;
