use super::super::entities::BotRef;
use super::super::read::UpdateReader;
use super::*;
use crate::message::{Location, Media, MediaKind, Quoted};

fn read(update: Value) -> Vec<Inbound> {
    let reader = UpdateReader {
        account: "main",
        us: BotRef {
            id: Fake::BOT,
            handle: Some(Fake::HANDLE),
        },
        now: NOW,
    };
    let update = with(json!({"update_id": 700}), update);
    reader.item(&update).unwrap().events
}

fn message(update: Value) -> InboundMessage {
    let events = read(update);
    said(&events[0]).clone()
}

fn user(id: i64, name: &str, bot: bool) -> Value {
    json!({"id": id, "is_bot": bot, "first_name": name})
}

#[test]
fn places_are_told_apart() {
    let group = &read(grouped(json!({"text": "x"})))[0];
    assert_eq!(group.place.kind, PeerKind::Group);
    assert_eq!(group.place.chat, "-100");
    assert_eq!(group.chat_name.as_deref(), Some("The group"));
    let topic = json!({"text": "x", "is_topic_message": true, "message_thread_id": 3});
    let topic = &read(grouped(topic))[0];
    assert_eq!(topic.place.kind, PeerKind::Thread);
    assert_eq!(topic.place.thread.as_deref(), Some("3"));
    // A chain of answers in a group has a number too, and is no topic.
    let chain = &read(grouped(json!({"text": "x", "message_thread_id": 3})))[0];
    assert_eq!(
        (chain.place.kind, &chain.place.thread),
        (PeerKind::Group, &None)
    );
    // A topic of a private chat is still private.
    let private = json!({"text": "x", "is_topic_message": true, "message_thread_id": 3});
    let private = &read(super::private(private))[0];
    assert_eq!(private.place.kind, PeerKind::Dm);
    assert_eq!(private.place.thread.as_deref(), Some("3"));
    let news = json!({"id": -200, "type": "channel", "title": "News"});
    let post = json!({"channel_post": {
        "message_id": 4, "date": 1, "chat": news, "sender_chat": news, "text": "today",
    }});
    let post = &read(post)[0];
    assert_eq!(post.place.kind, PeerKind::Channel);
    assert_eq!(post.place.sender.as_deref(), Some("-200"));
    assert_eq!(post.place.sender_name.as_deref(), Some("News"));
}

#[test]
fn whoever_speaks_is_who_they_speak_as() {
    let bot = &read(grouped(
        json!({"text": "x", "from": user(8, "Robot", true)}),
    ))[0];
    assert!(bot.from_bot);
    let own = read(grouped(
        json!({"text": "x", "from": user(Fake::BOT, "Hands", true)}),
    ));
    assert_eq!(own, []);
    // An admin without a name: the user beside it is Telegram's own.
    let anonymous = json!({
        "text": "x",
        "from": user(1_087_968_824, "Group", true),
        "sender_chat": {"id": -100, "type": "supergroup", "title": "The group"},
    });
    let anonymous = &read(grouped(anonymous))[0];
    assert!(!anonymous.from_bot);
    assert_eq!(anonymous.place.sender.as_deref(), Some("-100"));
    // A copy of a channel's post is made by nobody.
    let copied = json!({
        "text": "x",
        "from": user(777_000, "Telegram", false),
        "sender_chat": {"id": -200, "type": "channel", "title": "News"},
        "is_automatic_forward": true,
    });
    assert!(read(grouped(copied))[0].from_bot);
}

#[test]
fn an_answer_to_us_calls_us() {
    let ours = json!({
        "message_id": 2, "date": 1, "chat": {"id": -100, "type": "supergroup"},
        "from": user(Fake::BOT, "Hands", true), "text": "shall I?",
    });
    let said = message(grouped(json!({"text": "yes", "reply_to_message": ours})));
    assert!(said.mentioned);
    let quoted = Quoted {
        id: "2".to_owned(),
        text: Some("shall I?".to_owned()),
        sender: Some("Hands".to_owned()),
    };
    assert_eq!(said.quoted, Some(quoted));
    let theirs = with(ours.clone(), json!({"from": user(6, "Bob", false)}));
    let said = message(grouped(json!({
        "text": "no", "reply_to_message": theirs, "quote": {"text": "shall", "position": 0},
    })));
    assert!(!said.mentioned);
    assert_eq!(said.quoted.unwrap().text.as_deref(), Some("shall"));
    // In a topic that we made, everything seems to answer its first message.
    let made = with(
        ours,
        json!({"message_id": 3, "text": null, "forum_topic_created": {"name": "T"}}),
    );
    let said = message(grouped(json!({
        "text": "x", "reply_to_message": made, "message_thread_id": 3, "is_topic_message": true,
    })));
    assert!(!said.mentioned);
    assert_eq!(said.quoted, None);
}

#[test]
fn a_mention_calls_us_and_is_left_out() {
    let said = message(grouped(json!({
        "text": "@hands_bot *run* it",
        "entities": [{"type": "mention", "offset": 0, "length": 10}, {"type": "bold", "offset": 11, "length": 5}],
    })));
    assert!(said.mentioned);
    assert_eq!(said.text, "***run*** it");
    let said = message(grouped(json!({"text": "not you"})));
    assert!(!said.mentioned);
}

#[test]
fn files_are_named_with_what_is_told_of_them() {
    let file = |more: Value| with(json!({"file_id": "f", "file_unique_id": "u"}), more);
    let photo = json!([
        {"file_id": "small", "file_unique_id": "a", "width": 90, "height": 60, "file_size": 9000},
        {"file_id": "large", "file_unique_id": "b", "width": 1280, "height": 853, "file_size": 200},
        {"file_id": "middle", "file_unique_id": "c", "width": 320, "height": 213, "file_size": 900},
    ]);
    let said = message(private(json!({"photo": photo, "caption": "see"})));
    assert_eq!(said.text, "see");
    assert_eq!(
        (said.media[0].kind, said.media[0].id.as_str()),
        (MediaKind::Image, "large")
    );
    let voice = file(json!({"duration": 3, "mime_type": "audio/ogg", "file_size": 77}));
    let said = message(private(json!({ "voice": voice })));
    let expect = Media {
        kind: MediaKind::Voice,
        id: "f".to_owned(),
        name: None,
        mime: Some("audio/ogg".to_owned()),
        size: Some(77),
    };
    assert_eq!((said.text.as_str(), said.media), ("", vec![expect]));
    for (field, more, kind) in [
        ("audio", json!({"file_name": "a.mp3"}), MediaKind::Audio),
        ("video", json!({"mime_type": "video/mp4"}), MediaKind::Video),
        ("video_note", json!({"length": 1}), MediaKind::Video),
        (
            "document",
            json!({"file_name": "a.pdf", "mime_type": "application/pdf"}),
            MediaKind::Document,
        ),
        (
            "document",
            json!({"file_name": "a.png", "mime_type": "image/png"}),
            MediaKind::Image,
        ),
    ] {
        let said = message(private(json!({ field: file(more) })));
        assert_eq!((said.media.len(), said.media[0].kind), (1, kind), "{field}");
    }
    let moving = file(json!({"mime_type": "video/mp4"}));
    let said = message(private(json!({"animation": moving, "document": moving})));
    assert_eq!(
        (said.media.len(), said.media[0].kind),
        (1, MediaKind::Video)
    );
}

#[test]
fn what_is_no_text_is_put_into_words() {
    let point = json!({"latitude": 48.1, "longitude": 11.5});
    for (more, words) in [
        (
            json!({"sticker": {"file_id": "s", "emoji": "\u{1f600}", "set_name": "Cats", "is_animated": false}}),
            "[sticker \u{1f600} from Cats]",
        ),
        (json!({ "location": point }), "[location: 48.1, 11.5]"),
        (
            json!({"venue": {"location": point, "title": "Museum", "address": "Street 1"}, "location": point}),
            "[venue: Museum, Street 1 (48.1, 11.5)]",
        ),
        (
            json!({"contact": {"phone_number": "+49", "first_name": "Bob", "last_name": "B"}}),
            "[contact: Bob B, +49]",
        ),
        (
            json!({"dice": {"emoji": "\u{1f3b2}", "value": 4}}),
            "[\u{1f3b2} rolled 4]",
        ),
        (
            json!({"poll": {"question": "Tea?", "options": [{"text": "yes"}, {"text": "no"}]}}),
            "[poll: Tea? (yes / no)]",
        ),
        (
            json!({"text": "news", "forward_origin": {"type": "user", "sender_user": user(6, "Bob", false), "date": 1}}),
            "[forwarded from Bob]\nnews",
        ),
        (
            json!({"text": "news", "forward_origin": {"type": "channel", "chat": {"id": -2, "type": "channel", "title": "Times"}, "date": 1}}),
            "[forwarded from Times]\nnews",
        ),
        (
            json!({"text": "news", "forward_origin": {"type": "hidden_user", "sender_user_name": "H", "date": 1}}),
            "[forwarded from H]\nnews",
        ),
        (
            json!({"rich_message": {"blocks": [
                {"type": "heading", "size": 1, "text": "Title"},
                {"type": "paragraph", "text": ["one ", {"type": "bold", "text": "two"}]},
            ]}}),
            "Title\none two",
        ),
    ] {
        assert_eq!(message(private(more)).text, words);
    }
    let said = message(private(json!({ "location": point })));
    let expect = Location {
        latitude: 48.1,
        longitude: 11.5,
    };
    assert_eq!(said.location, Some(expect));
}

#[test]
fn what_nobody_said_is_not_heard() {
    for update in [
        private(json!({"new_chat_members": [ada()]})),
        private(json!({"pinned_message": {"message_id": 1}})),
        json!({"edited_message": private(json!({"text": "changed"}))["message"]}),
        json!({"my_chat_member": {}}),
    ] {
        assert_eq!(read(update.clone()), [], "{update}");
    }
}

#[test]
fn a_pressed_button_tells_what_it_carries() {
    let message = with(
        grouped(json!({"text": "Allow?", "from": user(Fake::BOT, "Hands", true)}))["message"]
            .clone(),
        json!({}),
    );
    let press = json!({"callback_query": {
        "id": "q1", "from": ada(), "message": message, "chat_instance": "1", "data": "approve:7",
    }});
    let event = &read(press)[0];
    let expect = InboundEvent::Button {
        data: "approve:7".to_owned(),
        callback: Some("q1".to_owned()),
    };
    assert_eq!(event.what, expect);
    assert_eq!((event.event.as_str(), event.at), ("700", NOW));
    assert_eq!(event.place.sender.as_deref(), Some("5"));
    assert_eq!(event.place.message.as_deref(), Some("9"));
    // Telegram tells little of an old message.
    let old = json!({"message_id": 9, "date": 0, "chat": {"id": 42, "type": "private"}});
    let press = json!({"callback_query": {"id": "q", "from": ada(), "message": old, "data": "x"}});
    assert_eq!(read(press)[0].place.chat, "42");
}

#[test]
fn reactions_are_told_one_by_one() {
    let emoji = |emoji: &str| json!({"type": "emoji", "emoji": emoji});
    let change = |old: Value, new: Value| {
        read(json!({"message_reaction": {
            "chat": {"id": 42, "type": "private"}, "message_id": 9, "user": ada(), "date": 1,
            "old_reaction": old, "new_reaction": new,
        }}))
    };
    let events = change(
        json!([emoji("a"), emoji("b")]),
        json!([emoji("b"), emoji("c"), {"type": "custom_emoji", "custom_emoji_id": "7"}]),
    );
    let told: Vec<(String, InboundEvent)> = events
        .into_iter()
        .map(|event| (event.event, event.what))
        .collect();
    let reaction = |emoji: &str, removed| InboundEvent::Reaction {
        emoji: emoji.to_owned(),
        removed,
    };
    let expect = [
        ("700".to_owned(), reaction("a", true)),
        ("700.1".to_owned(), reaction("c", false)),
        ("700.2".to_owned(), reaction("custom:7", false)),
    ];
    assert_eq!(told, expect);
    assert_eq!(change(json!([emoji("a")]), json!([emoji("a")])), []);
}
