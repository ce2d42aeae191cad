//! A workspace of Slack on loopback, for clients that are not ours: it says where it is, tells one
//! message over a socket, and stays until its input ends.

use manyhands_platforms::slack::{APP_TOKEN, BOT_TOKEN, SIGNING_SECRET, Slack};
use serde_json::json;
use tokio::io::AsyncReadExt;

#[tokio::main]
#[allow(clippy::print_stdout, reason = "whoever started it reads this")]
async fn main() {
    let slack = Slack::start().await;
    let payload = slack.message("D0ADA", "U0ADA", "hello & <b>", json!({}));
    let body = payload.to_string();
    let signed = slack.signed(body.as_bytes(), 1_700_000_000);
    let envelope = slack.deliver("events_api", payload);
    let file = slack.put_file("F0CAT", "cat.png", "image/png", b"a picture");
    let said = json!({
        "api": slack.api().as_str(), "bot": BOT_TOKEN, "app": APP_TOKEN, "secret": SIGNING_SECRET,
        "body": body, "timestamp": signed[0].1, "signature": signed[1].1,
        "envelope": envelope, "file": file,
    });
    println!("{said}");
    let waits = slack.clone();
    tokio::spawn(async move {
        waits.acked(&envelope).await;
        println!("acknowledged {envelope}");
    });
    let mut input = Vec::new();
    let _ = tokio::io::stdin().read_to_end(&mut input).await;
    for posted in slack.posted() {
        println!(
            "{}",
            json!({ "channel": posted.channel, "text": posted.text })
        );
    }
}
