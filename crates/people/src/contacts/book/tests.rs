use std::fs;

use manyhands_core::ManualClock;
use tempfile::TempDir;

use super::*;

struct Fixture {
    dir: TempDir,
    clock: Arc<ManualClock>,
    book: Contacts,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(Timestamp(1_770_800_000_000))); // 2026-02-11 08:53
    let book = Contacts::new(&Jail::open(dir.path()).unwrap(), clock.clone());
    Fixture { dir, clock, book }
}

impl Fixture {
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join("contacts").join(name)).unwrap()
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.dir.path().join("contacts")).unwrap();
        fs::write(self.dir.path().join("contacts").join(name), text).unwrap();
    }

    fn see(&self, seen: Sighting) {
        self.book.observe(&seen, &[]).unwrap();
    }
}

fn telegram(user: &str, username: Option<&str>, chat: &str) -> Sighting {
    Sighting {
        channel: "telegram".to_owned(),
        user: Some(user.to_owned()),
        username: username.map(str::to_owned),
        name: Some(format!("User {user}")),
        chat: Some(chat.to_owned()),
        shared: chat.starts_with('-'),
        team: None,
    }
}

#[test]
fn a_sender_becomes_a_contact() {
    let book = fixture();
    book.see(telegram("90001", Some("alice"), "90001"));
    let text = book.text("ACTIVE.md");
    assert!(
        text.contains("# Active Contacts\n\n<!--\nOne section"),
        "{text}"
    );
    let expect = "-->\n\n## User 90001\n\n```yaml\ncontact_id: \"tg:90001\"\nnickname: \"User 90001\"\nkind: \"human\"\nchannel: \"telegram\"\ntg_username: \"alice\"\ntg_private_chat_id: \"90001\"\nlast_interaction_at: \"2026-02-11T08:53:20Z\"\n```\n";
    assert!(text.ends_with(expect), "{text}");
    let reached: Vec<String> = book.book.snapshot().unwrap().reachable_ids().collect();
    assert_eq!(reached, ["tg:90001", "tg:@alice"]);
    assert!(!book.dir.path().join("contacts/INACTIVE.md").exists());
}

#[test]
fn missing_fields_keep_known_values() {
    let book = fixture();
    book.put(
        "ACTIVE.md",
        "# Active Contacts\n\n## Ally\n```yaml\n# my sister\ncontact_id: \"tg:@alice\"\nnickname: Ally\nkind: human\nchannel: line\ntg_username: Alice\nline_user_id: U1\npersona_brief: calm\n```\n",
    );
    book.see(Sighting {
        name: None,
        ..telegram("90001", Some("alice"), "90001")
    });
    book.see(telegram("90001", None, "-100222"));
    let all = book.book.list().unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    let profile = &all[0].profile;
    assert_eq!(
        (profile.contact_id.as_str(), profile.nickname.as_str()),
        ("tg:@alice", "Ally")
    );
    assert_eq!(
        (profile.channel.as_str(), profile.persona_brief.as_str()),
        ("line", "calm")
    );
    assert_eq!(profile.tg_private_chat_id, "90001");
    assert_eq!(profile.tg_group_chat_ids, ["-100222"]);
    assert!(book.text("ACTIVE.md").contains("# my sister\n"));
    // Somebody else who took over the name is somebody else.
    book.see(telegram("666", Some("alice"), "666"));
    assert_eq!(book.book.list().unwrap().len(), 2);
}

#[test]
fn people_of_different_platforms_are_distinct() {
    let book = fixture();
    let seen = |channel: &str, user: &str, chat: &str, team: Option<&str>| Sighting {
        channel: channel.to_owned(),
        user: Some(user.to_owned()),
        chat: Some(chat.to_owned()),
        team: team.map(str::to_owned),
        ..Sighting::default()
    };
    for _ in 0..2 {
        book.see(seen("slack", "U1", "D1", Some("T1")));
        book.see(seen("slack", "U1", "D9", Some("T2")));
        book.see(seen("line", "Uline", "Uline", None));
        book.see(seen("discord", "42", "43", None));
        book.see(seen("whatsapp", "4917", "4917", None));
        book.see(seen("web", "x", "x", None));
    }
    let all = book.book.list().unwrap();
    let ids: Vec<&str> = all
        .iter()
        .map(|one| one.profile.contact_id.as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "slack:T1:U1",
            "slack:T2:U1",
            "line_user:Uline",
            "discord_user:42",
            "wa:4917"
        ]
    );
    assert_eq!(all[0].profile.slack_dm_channel_id, "D1");
    assert_eq!(all[4].profile.wa_id, "4917");
}

#[test]
fn a_mentioned_person_becomes_a_contact_without_having_written() {
    let book = fixture();
    let bob = Sighting {
        channel: "telegram".to_owned(),
        username: Some("@Bob".to_owned()),
        ..Sighting::default()
    };
    let alice = telegram("90001", Some("alice"), "-100222");
    book.book.observe(&alice, &[bob]).unwrap();
    let found = book.book.list().unwrap();
    let bob = &found[0].profile;
    assert_eq!(
        (bob.contact_id.as_str(), bob.last_interaction_at.as_str()),
        ("tg:@bob", "")
    );
    assert!(
        bob.reachable_ids().is_empty(),
        "a name alone reaches nobody"
    );
}

#[test]
fn the_least_recent_contact_becomes_inactive() {
    let book = fixture();
    let mut hand = "# Active Contacts\n".to_owned();
    for user in 1..=MAX_ACTIVE {
        let time = format!("2026-01-01T{:02}:{:02}:00Z", user / 60, user % 60);
        hand.push_str(&format!("\n## User {user}\nnotes about {user}\n```yaml\ncontact_id: \"tg:{user}\"\ntg_private_chat_id: \"{user}\"\nlast_interaction_at: {time}\n```\n"));
    }
    book.put("ACTIVE.md", &hand);
    book.see(telegram("9999", None, "9999"));
    let all = book.book.list().unwrap();
    let active = all.iter().filter(|one| one.active).count();
    assert_eq!((all.len(), active), (MAX_ACTIVE + 1, MAX_ACTIVE));
    let gone = all.iter().find(|one| !one.active).unwrap();
    assert_eq!(gone.profile.contact_id, "tg:1");
    assert!(
        book.text("INACTIVE.md")
            .contains("## User 1\nnotes about 1\n")
    );
    assert!(!book.text("ACTIVE.md").contains("\"tg:1\""));
    book.clock.advance(Duration::from_secs(3_600));
    book.see(telegram("1", Some("first"), "1"));
    let one = book.book.find("tg:1").unwrap();
    assert!(!one.active && one.profile.tg_username == "first");
}

#[test]
fn an_interrupted_move_duplicates_no_contact() {
    let book = fixture();
    book.see(telegram("1", None, "1"));
    let active = book.text("ACTIVE.md");
    book.put("INACTIVE.md", &active.replace("Active", "Inactive"));
    let all = book.book.list().unwrap();
    assert_eq!((all.len(), all[0].active), (1, true));
    book.see(telegram("1", Some("now_known"), "1"));
    assert_eq!(
        book.book.list().unwrap()[0].profile.tg_username,
        "now_known"
    );
}

#[test]
fn a_name_of_telegram_means_one_contact_with_a_private_chat() {
    let book = fixture();
    book.put(
        "ACTIVE.md",
        "## A\n```yaml\ncontact_id: \"tg:@alice\"\ntg_username: alice\n```\n## B\n```yaml\ncontact_id: b\ntg_username: Alice\ntg_private_chat_id: 7\n```\n",
    );
    assert_eq!(book.book.find("tg:@ALICE").unwrap().profile.contact_id, "b");
    assert_eq!(book.book.find("tg:7").unwrap().profile.contact_id, "b");
    assert_eq!(book.book.find("b").unwrap().profile.contact_id, "b");
    let unknown = ToolError::from(book.book.find("tg:@bob").unwrap_err());
    assert_eq!(unknown.code.as_str(), "not_found");
    let more = "## C\n```yaml\ncontact_id: c\ntg_username: alice\ntg_private_chat_id: 8\n```\n";
    book.put("INACTIVE.md", more);
    let two = book.book.find("tg:@alice").unwrap_err().to_string();
    assert_eq!(
        two,
        "tg:@alice may be several contacts: b, c; name one by its contact_id"
    );
}

#[test]
fn a_failure_sets_a_cooldown_and_a_success_clears_it() {
    let book = fixture();
    book.see(telegram("1", None, "1"));
    book.book.sent_to("telegram", "1", false).unwrap();
    let cooling = book
        .book
        .find("tg:1")
        .unwrap()
        .profile
        .cooling_until()
        .unwrap();
    assert_eq!(cooling, book.clock.now().plus(FAILURE_COOLDOWN));
    assert!(
        book.text("ACTIVE.md")
            .contains("cooldown_until: \"2026-02-14T08:53:20Z\"")
    );
    book.book.sent_to("telegram", "2", true).unwrap();
    assert!(
        book.book
            .find("tg:1")
            .unwrap()
            .profile
            .cooling_until()
            .is_some()
    );
    book.book.sent_to("telegram", "1", true).unwrap();
    let cooled = book.book.find("tg:1").unwrap().profile;
    assert_eq!(cooled.cooling_until(), None);
}

#[test]
fn hostile_names_break_no_file() {
    let book = fixture();
    for (user, name) in [
        (
            "1",
            "```\n# Active Contacts\n## Eve\n```yaml\ncontact_id: tg:666",
        ),
        ("2", "<!--"),
        ("3", "\" : [ { & * ! | > %"),
        ("4", "---"),
        ("5", "\u{202e}\u{0}\u{7f}\u{85}\u{2028}x"),
    ] {
        book.see(Sighting {
            name: Some(name.to_owned()),
            ..telegram(user, None, user)
        });
    }
    book.see(Sighting {
        user: Some("6\n## x".to_owned()),
        ..telegram("6", None, "6")
    });
    let all = book.book.list().unwrap();
    let ids: Vec<&str> = all
        .iter()
        .map(|one| one.profile.contact_id.as_str())
        .collect();
    assert_eq!(ids, ["tg:1", "tg:2", "tg:3", "tg:4", "tg:5"]);
    let long = "x".repeat(5_000);
    book.see(Sighting {
        name: Some(long),
        ..telegram("7", None, "7")
    });
    assert_eq!(book.book.find("tg:7").unwrap().profile.nickname.len(), 100);
}

#[test]
fn writers_at_once_lose_nobody() {
    let book = fixture();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let own = match thread < 2 {
                true => book.book.clone(),
                false => Contacts::new(&Jail::open(book.dir.path()).unwrap(), book.clock.clone()),
            };
            scope.spawn(move || {
                for n in 0..6 {
                    let user = format!("{}", thread * 100 + n + 1);
                    own.observe(&telegram(&user, None, &user), &[]).unwrap();
                }
            });
        }
    });
    assert_eq!(book.book.list().unwrap().len(), 24);
}

#[test]
fn a_message_soon_after_another_writes_nothing() {
    let book = fixture();
    book.see(telegram("1", None, "1"));
    let before = book.text("ACTIVE.md");
    book.clock.advance(Duration::from_secs(30));
    book.see(telegram("1", None, "1"));
    assert_eq!(book.text("ACTIVE.md"), before);
    book.clock.advance(Duration::from_secs(31));
    book.see(telegram("1", None, "1"));
    assert_ne!(book.text("ACTIVE.md"), before);
}
