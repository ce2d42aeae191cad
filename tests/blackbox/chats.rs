//! Chats on platforms: the real binary against strict fakes of them, with a scripted model.

mod crash;
mod discord;
mod hooks;
mod line;
mod methods;
mod scene;
mod slack;
mod storm;
mod telegram;
mod tools;
mod whatsapp;
