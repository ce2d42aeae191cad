//! Chats on platforms: the real binary against strict fakes of them, with a scripted model.

mod bridge;
mod crash;
mod discord;
pub mod fixture;
mod hooks;
mod line;
mod methods;
mod slack;
mod storm;
pub mod telegram;
mod tools;
mod whatsapp;
