//! A node against a scripted gateway: what each side says, and what comes of it.

mod calls;
mod fake;
mod handshake;
mod incoming;
mod outgoing;
mod process_events;
mod tls;
mod watches;
