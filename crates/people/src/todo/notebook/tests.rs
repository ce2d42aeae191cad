use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use manyhands_core::{ManualClock, SeededEntropy, Timestamp};
use tempfile::TempDir;

use super::*;

struct Fixture {
    dir: TempDir,
    clock: Arc<ManualClock>,
    book: Notebook,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(Timestamp(1_770_800_000_000))); // 2026-02-11 08:53
    let book = open(&dir, &clock, 1);
    Fixture { dir, clock, book }
}

fn open(dir: &TempDir, clock: &Arc<ManualClock>, seed: u64) -> Notebook {
    let ids = Ids::new(clock.clone(), Arc::new(SeededEntropy::new(seed)));
    Notebook::new(&Jail::open(dir.path()).unwrap(), clock.clone(), ids)
}

impl Fixture {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn add(&self, content: &str) -> TodoChange {
        self.book.add(item(content), &[]).unwrap()
    }

    /// The open and the done ones.
    fn both(&self) -> (Vec<String>, Vec<String>) {
        let all = self.book.list().unwrap();
        let texts =
            |items: Vec<TodoItem>| items.into_iter().map(|item| item.entry.content).collect();
        (texts(all.open), texts(all.done))
    }
}

fn item(content: &str) -> TodoEntry {
    TodoEntry {
        content: content.to_owned(),
        ..TodoEntry::default()
    }
}

#[test]
fn items_are_written_down_newest_first_and_counted() {
    let book = fixture();
    let first = book.add("one");
    assert_eq!((first.open, first.done), (1, 0));
    let second = book.book.add(
        TodoEntry {
            chat_id: Some("tg:-5".to_owned()),
            ..item("two")
        },
        &[],
    );
    let second = second.unwrap();
    assert_eq!((second.open, second.done), (2, 0));
    let text = book.text("TODO.md");
    assert!(text.contains("open_count: 2\n"), "{text}");
    let expect = format!(
        "# TODO Work In Progress (WIP)\n\n- [ ] [Created](2026-02-11 08:53), [ChatID](tg:-5), [ID]({}) | two\n- [ ] [Created](2026-02-11 08:53), [ID]({}) | one\n",
        second.item.id, first.item.id
    );
    assert!(text.ends_with(&expect), "{text}");
    book.clock.advance(Duration::from_secs(3_600));
    let done = book.book.complete(&first.item.id).unwrap();
    assert_eq!((done.open, done.done), (1, 1));
    assert_eq!(done.item.entry.done_at.as_deref(), Some("2026-02-11 09:53"));
    let expect = format!(
        "- [x] [Created](2026-02-11 08:53), [Done](2026-02-11 09:53), [ID]({}) | one\n",
        first.item.id
    );
    assert!(book.text("TODO.DONE.md").ends_with(&expect));
    assert!(book.text("TODO.DONE.md").contains("done_count: 1\n"));
    assert!(!book.text("TODO.md").contains("| one"));
    assert_eq!(
        book.both(),
        (vec!["two".to_owned()], vec!["one".to_owned()])
    );
}

#[test]
fn text_around_items_is_preserved() {
    let book = fixture();
    let text = "My list\r\n\r\n- [ ] buy milk\r\n  - [ ] oat\r\n<!-- - [ ] no -->\r\n- [x] ticked by hand\r\nlast words";
    fs::write(book.path("TODO.md"), text).unwrap();
    book.add("new");
    let (open, _) = book.both();
    assert_eq!(open, ["new", "buy milk"]);
    let milk = book.book.list().unwrap().open.remove(1);
    book.book.complete(&milk.id).unwrap();
    let rest = book.text("TODO.md");
    let rest: Vec<&str> = rest
        .split("\r\n")
        .filter(|line| !line.contains("| new"))
        .collect();
    let expect: Vec<&str> = text
        .split("\r\n")
        .filter(|line| *line != "- [ ] buy milk")
        .collect();
    assert_eq!(rest, expect);
    assert_eq!(book.both().1, ["buy milk"]);
    // The same words again are another item, not the one that is done.
    let again = format!("- [ ] buy milk\r\n{}", book.text("TODO.md"));
    fs::write(book.path("TODO.md"), again).unwrap();
    assert_eq!(book.both().0, ["buy milk", "new"]);
}

#[test]
fn a_crash_between_the_two_files_loses_nothing_and_doubles_nothing() {
    let book = fixture();
    for text in ["one", "two"] {
        book.add(text);
    }
    let one = book.book.list().unwrap().open.remove(1);
    // What is on disk when the process ends after each step.
    let steps: [&dyn Fn(&TodoFiles); 3] = [
        &|inner| drop(inner.name(&one.id).unwrap()),
        &|inner| drop(inner.record(&one.id).unwrap()),
        &|inner| inner.strike().unwrap(),
    ];
    let count = |name: &str| {
        let text = fs::read_to_string(book.path(name)).unwrap_or_default();
        text.matches("| one").count()
    };
    let seen = |text: &str| (text == "one").then_some(());
    for (at, step) in steps.iter().enumerate() {
        step(&book.book.0);
        let after = open(&book.dir, &book.clock, 99).list().unwrap();
        let open = after
            .open
            .iter()
            .filter_map(|item| seen(&item.entry.content));
        let done = after
            .done
            .iter()
            .filter_map(|item| seen(&item.entry.content));
        assert_eq!(open.count() + done.count(), 1, "after step {at}");
    }
    assert_eq!((count("TODO.md"), count("TODO.DONE.md")), (0, 1));
    // Cut off before the end, the next change of any kind strikes it out.
    let two = book.book.list().unwrap().open.remove(0);
    book.book.0.record(&two.id).unwrap();
    assert_eq!(book.both().0, Vec::<String>::new());
    assert!(matches!(book.book.complete(&two.id), Err(TodoError::Gone)));
    let three = book.add("three");
    assert_eq!((three.open, three.done), (1, 2));
    assert!(!book.text("TODO.md").contains("| two"));
}

#[test]
fn a_copied_line_is_an_item_of_its_own() {
    let book = fixture();
    let one = book.add("one");
    let line = book.text("TODO.md");
    let line = line.lines().last().unwrap().replace("| one", "| one more");
    let text = format!("{}{line}\n", book.text("TODO.md"));
    fs::write(book.path("TODO.md"), text).unwrap();
    assert_eq!(book.both().0, ["one", "one more"]);
    book.book.complete(&one.item.id).unwrap();
    assert_eq!(
        book.both(),
        (vec!["one more".to_owned()], vec!["one".to_owned()])
    );
    let more = book.book.list().unwrap().open.remove(0);
    assert_ne!(more.id, one.item.id);
    book.book.complete(&more.id).unwrap();
    assert_eq!(book.both().1, ["one more", "one"]);
}

#[test]
fn replaced_items_are_reported() {
    let book = fixture();
    let old = book.add("pay rent");
    let new = book.book.add(
        item("pay the rent"),
        &[old.item.id.clone(), "odd".to_owned()],
    );
    let new = new.unwrap();
    assert_eq!((new.open, new.removed.len()), (1, 1));
    assert_eq!(new.removed[0], old.item);
    assert_eq!(book.both().0, ["pay the rent"]);
}

#[test]
fn writers_at_once_lose_nothing() {
    let book = fixture();
    let hand = book.path("TODO.md");
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            // Two of them share one notebook; the others are processes of their own, as it were.
            let own = match thread < 2 {
                true => book.book.clone(),
                false => open(&book.dir, &book.clock, 7 + thread * 31),
            };
            scope.spawn(move || {
                for n in 0..8 {
                    let added = own.add(item(&format!("t{thread} n{n}")), &[]).unwrap();
                    if n % 2 == 0 {
                        own.complete(&added.item.id).unwrap();
                    }
                }
            });
        }
    });
    let (open, done) = book.both();
    assert_eq!((open.len(), done.len()), (16, 16));
    let text = fs::read_to_string(hand).unwrap();
    assert!(text.contains("open_count: 16"), "{text}");
}

#[test]
fn a_recurring_item_is_added_once_when_due() {
    let book = fixture();
    let when = Recurrence::parse("2026-02-12 09:00", "daily", Some("Europe/Berlin")).unwrap();
    let again = TodoEntry {
        tz: Some("Europe/Berlin".to_owned()),
        chat_id: Some("tg:-5".to_owned()),
        ..item("water the plants")
    };
    let added = book.book.add_recurring(again, &when).unwrap();
    assert_eq!((added.open, added.done), (0, 0));
    assert_eq!(book.book.list().unwrap().recurring.len(), 1);
    book.clock.advance(Duration::from_secs(23 * 3_600 + 6 * 60)); // 2026-02-12 07:59 UTC, one minute early
    assert_eq!(book.book.write_due().unwrap(), 0);
    book.clock.advance(Duration::from_secs(5 * 24 * 3_600));
    // A crash after the item was written down, and before it is known that it was.
    let due = book.book.0.due().unwrap().remove(0);
    let before = fs::read(book.path("TODO.RECUR.md")).unwrap();
    book.book.0.write_one(&due).unwrap();
    fs::write(book.path("TODO.RECUR.md"), before).unwrap();
    assert_eq!(book.book.write_due().unwrap(), 1);
    assert_eq!(book.book.write_due().unwrap(), 0);
    let all = book.book.list().unwrap();
    assert_eq!(all.open.len(), 1, "of five that were missed, one");
    assert_eq!(all.open[0].entry.chat_id.as_deref(), Some("tg:-5"));
    let next = all.recurring[0].entry.next.as_deref();
    assert_eq!(next, Some("2026-02-17 09:00"));
    let line = book.text("TODO.RECUR.md");
    assert!(
        line.contains(
            "[Next](2026-02-17 09:00), [Repeat](daily), [TZ](Europe/Berlin), [ChatID](tg:-5)"
        ),
        "{line}"
    );
}

#[test]
fn a_file_that_is_no_text_or_too_large_is_left_alone() {
    let book = fixture();
    fs::write(book.path("TODO.md"), [0xff, 0xfe]).unwrap();
    let refused = book.book.add(item("one"), &[]).unwrap_err();
    assert!(
        refused.to_string().contains("TODO.md: is not UTF-8"),
        "{refused}"
    );
    assert_eq!(fs::read(book.path("TODO.md")).unwrap(), [0xff, 0xfe]);
    fs::write(book.path("TODO.md"), "x".repeat(1024 * 1024 + 1)).unwrap();
    let refused = ToolError::from(book.book.add(item("one"), &[]).unwrap_err());
    assert_eq!(refused.code.as_str(), "too_large");
    fs::remove_file(book.path("TODO.md")).unwrap();
    book.add("one");
}
