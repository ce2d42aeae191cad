//! A Discord on loopback, for clients that are not ours: it says where it is, and does what lines of
//! its input ask for, until that ends.

use manyhands_platforms::discord::{CHANNEL, Discord, SERVER, THREAD, TOKEN};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

#[tokio::main]
#[allow(clippy::print_stdout, reason = "whoever started it reads this")]
async fn main() {
    let discord = Discord::start().await;
    let gateway = discord.gateway();
    let about = json!({
        "api": discord.api().as_str(), "gateway": gateway, "token": TOKEN,
        "server": SERVER, "channel": CHANNEL, "thread": THREAD,
    });
    println!("{about}");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let asked: Value = serde_json::from_str(&line).unwrap_or_default();
        let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
        match asked["do"].as_str() {
            Some("message") => {
                let message =
                    discord.message(&text("channel"), &text("text"), asked["more"].clone());
                discord.deliver("MESSAGE_CREATE", message);
            }
            Some("press") => {
                let press = discord.press(&text("channel"), &text("message"), &text("data"));
                discord.deliver("INTERACTION_CREATE", press);
            }
            Some("event") => {
                discord.deliver(&text("name"), asked["event"].clone());
            }
            Some("close") => discord.close(4000),
            _ => println!(
                "{}",
                json!({ "posted": discord.posted(), "reactions": discord.reactions(), "whispers": discord.whispers() })
            ),
        }
    }
}
