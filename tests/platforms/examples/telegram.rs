//! A Telegram on its own, for client libraries of others.
//!
//! It says where it is, and then does what it is told, a line of JSON each:
//! `{"chat": [42, "private"]}`, `{"deliver": {…}}`, `{"file": ["id", "path", "text"]}`,
//! `{"fail": ["method", 429, "why", {…}]}`, `{"move": [1, 2]}`, `{"block": 3}`, `{"bring": true}`.

#![allow(clippy::print_stdout, reason = "whoever starts it reads that")]

use manyhands_platforms::telegram::Telegram;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let fake = Telegram::start().await;
    let (id, handle) = (Telegram::BOT, Telegram::HANDLE);
    let token = Telegram::TOKEN;
    println!(
        "{}",
        json!({"url": fake.url, "token": token, "id": id, "handle": handle})
    );
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let said: Value = serde_json::from_str(&line)?;
        println!("{}", obey(&fake, &said).await?);
    }
    Ok(())
}

async fn obey(fake: &Telegram, said: &Value) -> std::io::Result<Value> {
    let number = |value: &Value| value.as_i64().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let Some((what, value)) = said.as_object().and_then(|said| said.iter().next()) else {
        return Err(std::io::Error::other("say one thing"));
    };
    match what.as_str() {
        "chat" => fake.chat(number(&value[0]), &text(&value[1])),
        "file" => fake.keep_file(&text(&value[0]), &text(&value[1]), text(&value[2])),
        "fail" => {
            let code = u16::try_from(number(&value[1])).unwrap_or(500);
            let refusal = Telegram::refusal(code, &text(&value[2]), value[3].clone());
            fake.fail(&text(&value[0]), refusal);
        }
        "move" => fake.move_chat(number(&value[0]), number(&value[1])),
        "block" => fake.block(number(value)),
        "deliver" => return Ok(json!(fake.deliver(value.clone()))),
        "bring" => return Ok(json!(fake.bring().await?)),
        "pending" => return Ok(json!(fake.pending())),
        other => return Err(std::io::Error::other(format!("nobody knows {other}"))),
    }
    Ok(Value::Null)
}
