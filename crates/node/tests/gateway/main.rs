//! A node against a scripted gateway: what each side says, and what comes of it.

mod calls;
mod fake;
mod greeting;
mod incoming;
mod news;
mod outgoing;
mod tls;
mod watches;
