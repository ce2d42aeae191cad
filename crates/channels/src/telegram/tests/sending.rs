use bytes::Bytes;
use manyhands_platforms::{Fault, Recorded};

use super::*;
use crate::channel::{SendError, SendReceipt};
use crate::message::{Button, FileKind, Media, MediaKind, OutgoingContent, OutgoingMessage};
use crate::telegram::REACTIONS;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand so on";

async fn start() -> (Fake, Telegram) {
    let fake = Fake::start().await;
    fake.chat(42, "private");
    let channel = polling(&fake);
    (fake, channel)
}

fn text(words: &str) -> OutgoingMessage {
    OutgoingMessage::text(chat(42, PeerKind::Dm), words)
}

fn edit(words: &str, of: &str) -> OutgoingMessage {
    let mut message = text(words);
    if let OutgoingContent::Text { edits, .. } = &mut message.content {
        *edits = Some(of.to_owned());
    }
    message
}

fn file(form: FileKind, name: &str, caption: Option<&str>) -> OutgoingMessage {
    let mut message = text("");
    message.content = OutgoingContent::File {
        form,
        name: name.to_owned(),
        mime: "application/octet-stream".to_owned(),
        caption: caption.map(str::to_owned),
        artifact: "a".to_owned(),
        link: None,
    };
    message
}

fn react(message: &str, emoji: &str) -> OutgoingMessage {
    let mut outgoing = text("");
    outgoing.content = OutgoingContent::React {
        message: message.to_owned(),
        emoji: emoji.to_owned(),
        big: true,
    };
    outgoing
}

async fn send(channel: &Telegram, message: &OutgoingMessage) -> Result<SendReceipt, SendError> {
    channel.send("key", message, None).await
}

async fn message_of(channel: &Telegram, message: &OutgoingMessage) -> String {
    send(channel, message).await.unwrap().message.unwrap()
}

fn last(fake: &Fake, path: &str) -> Recorded {
    fake.journal().at(path).pop().unwrap()
}

#[tokio::test]
async fn a_text_arrives_with_its_marks() {
    let (fake, channel) = start().await;
    let id = message_of(&channel, &text("**Done:** `a<b>`")).await;
    let written = &fake.written()[0];
    assert_eq!(written["message_id"].to_string(), id);
    assert_eq!(written["text"], "Done: a<b>");
    let bold = json!({"type": "bold", "offset": 0, "length": 5});
    let code = json!({"type": "code", "offset": 6, "length": 4});
    assert_eq!(written["entities"], json!([bold, code]));
}

#[tokio::test]
async fn a_text_that_telegram_cannot_read_arrives_without_marks() {
    let (fake, channel) = start().await;
    let why = "Bad Request: can't parse entities: Unsupported start tag";
    fake.fail("sendMessage", Fake::refusal(400, why, Value::Null));
    send(&channel, &text("**strange** [x](https://a.b)"))
        .await
        .unwrap();
    assert_eq!(fake.written()[0]["text"], "strange x");
    assert!(last(&fake, "/sendMessage").body["parse_mode"].is_null());
    // Marks around nothing are shown as they are.
    for hostile in [
        "****",
        "<b>",
        "</pre><script>",
        "[](x)",
        "```\n```",
        "> ",
        "\u{0}\u{1}x",
    ] {
        send(&channel, &text(hostile)).await.unwrap();
    }
    let empty = send(&channel, &text(" \n ")).await;
    assert!(matches!(empty, Err(SendError::Never(_))), "{empty:?}");
}

#[tokio::test]
async fn an_answer_goes_to_its_topic_and_names_what_it_answers() {
    let (fake, channel) = start().await;
    let topic = json!({"text": "x", "message_thread_id": 3, "is_topic_message": true});
    fake.deliver(grouped(topic));
    let mut place = chat(-100, PeerKind::Thread);
    place.thread = Some("3".to_owned());
    let mut message = OutgoingMessage::text(place.clone(), "here");
    message.reply_to = Some("9".to_owned());
    send(&channel, &message).await.unwrap();
    let written = &fake.written()[0];
    assert_eq!(written["message_thread_id"], 3);
    assert_eq!(written["reply_to_message"]["message_id"], 9);
    // What it answers may be gone.
    message.reply_to = Some("4711".to_owned());
    send(&channel, &message).await.unwrap();
    assert!(fake.written()[1]["reply_to_message"].is_null());
    channel.typing(&place).await.unwrap();
    let typing = last(&fake, "/sendChatAction").body;
    assert_eq!(
        typing,
        json!({"action": "typing", "message_thread_id": 3, "chat_id": -100})
    );
}

#[tokio::test]
async fn buttons_come_back_when_they_are_pressed() {
    let (fake, channel) = start().await;
    let button = |label: &str, data: &str, refuses| Button {
        label: label.to_owned(),
        data: data.to_owned(),
        refuses,
    };
    let with_buttons = |rows: Vec<Vec<Button>>| {
        let mut message = text("Allow?");
        if let OutgoingContent::Text { buttons, .. } = &mut message.content {
            *buttons = rows;
        }
        message
    };
    let rows = vec![vec![button("Yes", "y:1", false), button("No", "n:1", true)]];
    let id = message_of(&channel, &with_buttons(rows)).await;
    let yes = json!({"text": "Yes", "callback_data": "y:1"});
    let no = json!({"text": "No", "callback_data": "n:1", "style": "danger"});
    let written = &fake.written()[0];
    assert_eq!(
        written["reply_markup"]["inline_keyboard"],
        json!([[yes, no]])
    );
    for data in [String::new(), "x".repeat(65), "\u{e9}".repeat(33)] {
        let refused = send(
            &channel,
            &with_buttons(vec![vec![button("Yes", &data, false)]]),
        )
        .await;
        assert!(matches!(refused, Err(SendError::Never(_))), "{data}");
    }
    assert!(
        send(
            &channel,
            &with_buttons(vec![vec![button("Yes", &"x".repeat(64), false)]])
        )
        .await
        .is_ok()
    );
    // An answer in its place takes the buttons away.
    send(&channel, &edit("Allowed.", &id)).await.unwrap();
    assert!(fake.written()[0]["reply_markup"].is_null());
    let press = json!({"callback_query": {
        "id": "q9", "from": ada(), "chat_instance": "1", "data": "y:1",
        "message": fake.written()[0],
    }});
    fake.deliver(press);
    let listening = Listening::start(polling(&fake), Arc::default());
    let heard = listening.keeper.until(1).await;
    let word = "thank you ".repeat(40);
    channel.acknowledge_button(&heard[0], &word).await.unwrap();
    let answer = last(&fake, "/answerCallbackQuery").body;
    assert_eq!(answer["callback_query_id"], "q9");
    assert!(answer["text"].as_str().unwrap().chars().count() <= 200);
    let again = channel.acknowledge_button(&heard[0], "").await;
    assert!(matches!(again, Err(SendError::Never(why)) if why.contains("too old")));
    listening.end().await.unwrap();
}

#[tokio::test]
async fn a_message_of_ours_can_be_changed() {
    let (fake, channel) = start().await;
    let id = message_of(&channel, &text("wor")).await;
    let changed = send(&channel, &edit("working", &id)).await.unwrap();
    assert_eq!(changed.message.as_deref(), Some(id.as_str()));
    assert_eq!(fake.written()[0]["text"], "working");
    // The same again is as good.
    let same = send(&channel, &edit("working", &id)).await.unwrap();
    assert_eq!(same.message.as_deref(), Some(id.as_str()));
    for gone in ["4711", "x", "-3"] {
        let refused = send(&channel, &edit("working", gone)).await;
        assert!(matches!(refused, Err(SendError::Never(_))), "{refused:?}");
    }
    // A change whose answer was lost can be made again; a message cannot.
    fake.fail("editMessageText", Fault::Drop);
    let lost = send(&channel, &edit("worked", &id)).await;
    assert!(matches!(lost, Err(SendError::Later { .. })), "{lost:?}");
    assert!(channel.repeatable(&edit("worked", &id)));
    assert!(channel.repeatable(&react(&id, "\u{1f44d}")));
    assert!(!channel.repeatable(&text("worked")));
}

#[tokio::test]
async fn files_arrive_as_what_they_are() {
    let (fake, channel) = start().await;
    let bytes = |bytes: &'static [u8]| Some(Bytes::from_static(bytes));
    let photo = file(FileKind::Photo, "a.png", Some("**see** <this>"));
    channel.send("k", &photo, bytes(PNG)).await.unwrap();
    let written = &fake.written()[0];
    assert_eq!(written["photo"][0]["file_size"], PNG.len());
    assert_eq!(written["caption"], "see <this>");
    let voice = file(FileKind::Voice, "a.ogg", None);
    channel.send("k", &voice, bytes(b"OggS")).await.unwrap();
    assert_eq!(fake.written()[1]["voice"]["file_size"], 4);
    let mut document = file(FileKind::Document, "r\u{e9}sum\u{e9} \"1\".pdf", None);
    document.reply_to = Some("1".to_owned());
    channel.send("k", &document, bytes(b"%PDF")).await.unwrap();
    let written = &fake.written()[2];
    assert_eq!(
        written["document"]["file_name"],
        "r\u{e9}sum\u{e9} %221%22.pdf"
    );
    assert_eq!(written["reply_to_message"]["message_id"], 1);
    let why = "Bad Request: can't parse entities: nothing helps";
    fake.fail("sendPhoto", Fake::refusal(400, why, Value::Null));
    channel.send("k", &photo, bytes(PNG)).await.unwrap();
    assert_eq!(fake.written()[3]["caption"], "see <this>");
    let refused =
        |refused: Result<SendReceipt, SendError>| matches!(refused, Err(SendError::Never(_)));
    assert!(refused(channel.send("k", &photo, None).await));
    assert!(refused(channel.send("k", &photo, bytes(b"")).await));
    assert!(refused(
        channel.send("k", &photo, bytes(b"no picture")).await
    ));
    let long = file(FileKind::Photo, "a.png", Some(&"x".repeat(1_025)));
    assert!(refused(channel.send("k", &long, bytes(PNG)).await));
    let fits = file(FileKind::Photo, "a.png", Some(&"x".repeat(1_024)));
    assert!(channel.send("k", &fits, bytes(PNG)).await.is_ok());
    let large = Bytes::from(vec![0_u8; 10 * 1024 * 1024 + 1]);
    assert!(refused(channel.send("k", &photo, Some(large)).await));
    assert_eq!(fake.written().len(), 5);
}

#[tokio::test]
async fn one_can_react_with_telegrams_emoji_only() {
    let (fake, channel) = start().await;
    let id = message_of(&channel, &text("hi")).await;
    for emoji in REACTIONS {
        send(&channel, &react(&id, emoji)).await.unwrap();
    }
    let number = id.parse().unwrap();
    send(&channel, &react(&id, "\u{2764}\u{fe0f}"))
        .await
        .unwrap();
    assert_eq!(fake.reactions(42, number), ["\u{2764}"]);
    assert_eq!(last(&fake, "/setMessageReaction").body["is_big"], true);
    let refused = send(&channel, &react(&id, "\u{1f354}")).await;
    assert!(matches!(refused, Err(SendError::Never(_))));
    assert_eq!(fake.reactions(42, number), ["\u{2764}"]);
    send(&channel, &react(&id, "")).await.unwrap();
    assert_eq!(fake.reactions(42, number), [""; 0]);
    let all = channel.emoji().await.unwrap().unwrap();
    assert_eq!(all.len(), REACTIONS.len());
}

#[tokio::test]
async fn a_long_text_arrives_in_pieces_that_fit() {
    let (fake, channel) = start().await;
    let fence = "```rust\nlet a = \"\u{1f600}\" < 1;\n```\n";
    let link = "[\u{6f22}](https://example.com/a/rather/long/address?with=a&query=and)";
    let long = format!(
        "# Head\n\n{}\n{}\n{}",
        "**word** ".repeat(900),
        fence.repeat(200),
        link.repeat(500)
    );
    let pieces = channel.pieces(&long);
    assert!(pieces.len() > 3);
    for piece in &pieces {
        send(&channel, &text(piece)).await.unwrap();
    }
    assert!(fake.journal().all().iter().all(|one| one.status == 200));
    let seen: String = fake
        .written()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(seen.matches("word").count(), 900);
    assert_eq!(seen.matches("let a").count(), 200);
    assert_eq!(seen.matches('\u{6f22}').count(), 500);
    // What does not fit is not even tried.
    let whole = send(&channel, &text(&long)).await;
    assert!(matches!(whole, Err(SendError::Never(_))));
}

#[tokio::test]
async fn a_refusal_means_what_it_says() {
    let (fake, channel) = start().await;
    let answers = [
        (429, json!({"retry_after": 7}), "later"),
        (400, Value::Null, "never"),
        (403, Value::Null, "unreachable"),
        (413, Value::Null, "never"),
        (401, Value::Null, "account"),
        (404, Value::Null, "account"),
        (500, Value::Null, "unknown"),
        (502, Value::Null, "unknown"),
    ];
    let word = |error: &SendError| match error {
        SendError::Later { .. } => "later",
        SendError::Never(_) => "never",
        SendError::Unreachable(_) => "unreachable",
        SendError::Account(_) => "account",
        SendError::Unknown(_) => "unknown",
    };
    for (code, parameters, meaning) in answers {
        let said = format!("it is {code}, and the token is {}", Fake::TOKEN);
        fake.fail("sendMessage", Fake::refusal(code, &said, parameters));
        let error = send(&channel, &text("x")).await.unwrap_err();
        assert_eq!(word(&error), meaning, "{code}");
        assert!(!format!("{error:?}").contains("AAH-fake"), "{error:?}");
        if let SendError::Later { after, .. } = error {
            assert_eq!(after, Some(Duration::from_secs(7)));
        }
    }
    for (fault, meaning) in [
        (Fault::Drop, "unknown"),
        (Fault::DoneAndDropped, "unknown"),
        (Fault::answer(200, "garbage"), "unknown"),
        (Fault::answer(200, "{}"), "unknown"),
        (Fault::answer(502, "<html>"), "unknown"),
        (Fault::answer(413, "<html>too large</html>"), "never"),
    ] {
        fake.fail("sendMessage", fault.clone());
        let error = send(&channel, &text("x")).await.unwrap_err();
        assert_eq!(word(&error), meaning, "{fault:?}");
    }
    // Nothing was written but what was done before the line was cut.
    assert_eq!(fake.written().len(), 1);
    assert!(send(&channel, &text("x")).await.is_ok());
}

#[tokio::test]
async fn nothing_was_sent_where_nobody_listens() {
    let channel = channel_with("http://127.0.0.1:9", Fake::TOKEN, UpdateDelivery::Poll);
    let error = send(&channel, &text("x")).await.unwrap_err();
    assert!(matches!(&error, SendError::Later { .. }), "{error:?}");
    assert!(!format!("{error:?}").contains("AAH-fake"), "{error:?}");
}

#[tokio::test]
async fn a_chat_that_refuses_harms_only_itself() {
    let (fake, channel) = start().await;
    fake.chat(43, "private");
    fake.block(43);
    let blocked = send(
        &channel,
        &OutgoingMessage::text(chat(43, PeerKind::Dm), "x"),
    )
    .await;
    assert!(matches!(blocked, Err(SendError::Unreachable(why)) if why.contains("blocked")));
    let unknown = send(
        &channel,
        &OutgoingMessage::text(chat(44, PeerKind::Dm), "x"),
    )
    .await;
    assert!(matches!(unknown, Err(SendError::Unreachable(why)) if why.contains("chat not found")));
    assert!(send(&channel, &text("x")).await.is_ok());
}

#[tokio::test]
async fn too_much_at_once_is_told_with_the_time_to_wait() {
    let (fake, channel) = start().await;
    fake.limit_rates();
    send(&channel, &text("one")).await.unwrap();
    let soon = send(&channel, &text("two")).await;
    let expect = Some(Duration::from_secs(1));
    assert!(
        matches!(soon, Err(SendError::Later { after, .. }) if after == expect),
        "{soon:?}"
    );
}

#[tokio::test]
async fn a_group_that_became_another_is_followed() {
    let (fake, channel) = start().await;
    fake.chat(-7, "group");
    fake.move_chat(-7, -1_007);
    let place = chat(-7, PeerKind::Group);
    send(&channel, &OutgoingMessage::text(place.clone(), "one"))
        .await
        .unwrap();
    send(&channel, &OutgoingMessage::text(place, "two"))
        .await
        .unwrap();
    let chats: Vec<Value> = fake
        .written()
        .iter()
        .map(|one| one["chat"]["id"].clone())
        .collect();
    assert_eq!(chats, [-1_007, -1_007]);
    // Once known, the old one is not tried again.
    assert_eq!(fake.journal().at("/sendMessage").len(), 3);
}

fn media(id: &str, size: Option<u64>) -> Media {
    Media {
        kind: MediaKind::Document,
        id: id.to_owned(),
        name: None,
        mime: None,
        size,
    }
}

#[tokio::test]
async fn a_file_is_loaded_within_its_bound() {
    let (fake, channel) = start().await;
    fake.keep_file("f1", "documents/file_1.pdf", "%PDF-1.7 and more");
    let bytes = channel.fetch(&media("f1", None), 1_000).await.unwrap();
    assert_eq!(bytes, "%PDF-1.7 and more");
    assert_eq!(last(&fake, "/file/documents/file_1.pdf").method, "GET");
    let never = |loaded: Result<Bytes, SendError>| matches!(loaded, Err(SendError::Never(_)));
    assert!(never(channel.fetch(&media("f1", None), 16).await));
    assert!(never(channel.fetch(&media("f1", Some(5_000)), 1_000).await));
    assert!(never(channel.fetch(&media("unknown", None), 1_000).await));
    // More comes than was said.
    let small = json!({"ok": true, "result": {"file_id": "f1", "file_size": 3, "file_path": "documents/file_1.pdf"}});
    fake.fail("getFile", Fault::answer(200, small.to_string()));
    assert!(never(channel.fetch(&media("f1", None), 16).await));
    for path in [
        "../../sendMessage",
        "https://evil.example/x",
        "/etc/passwd",
        "",
    ] {
        let told = json!({"ok": true, "result": {"file_id": "f1", "file_path": path}});
        fake.fail("getFile", Fault::answer(200, told.to_string()));
        assert!(
            never(channel.fetch(&media("f1", None), 1_000).await),
            "{path}"
        );
    }
    for fault in [Fault::Drop, Fault::answer(503, "later")] {
        fake.fail("file_1.pdf", fault);
        let later = channel.fetch(&media("f1", None), 1_000).await;
        assert!(matches!(later, Err(SendError::Later { .. })), "{later:?}");
    }
    let away = Fault::Answer {
        status: 302,
        headers: vec![("location", "http://127.0.0.1:9/x".to_owned())],
        body: String::new(),
    };
    fake.fail("file_1.pdf", away);
    assert!(channel.fetch(&media("f1", None), 1_000).await.is_err());
}

#[tokio::test]
async fn we_know_who_we_are() {
    let (_fake, channel) = start().await;
    let me = channel.me().await.unwrap();
    assert_eq!((me.id.as_str(), me.name.as_str()), ("77", "Hands"));
    assert_eq!(me.handle.as_deref(), Some("hands_bot"));
}
