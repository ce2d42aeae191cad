//! `gsv__Transfer` between real machines and the workspace.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::nodes::fixture::{Machine, Plan, noise, parts, sha256};

const CHUNK: usize = 256 * 1024;

fn transfer(gateway: &Gateway, source: &str, destination: &str) -> Value {
    let ends = json!({ "source": source, "destination": destination });
    gateway.call("gsv__Transfer", ends)
}

/// That the answer is the one of a whole file.
#[track_caller]
fn check(said: &Value, source: &str, destination: &str, bytes: &[u8], mime: Option<&str>) {
    let mut expect = json!({
        "source": source, "destination": destination, "bytesTransferred": bytes.len(),
        "sha256": sha256(bytes),
    });
    if let Some(mime) = mime {
        expect["mime"] = json!(mime);
    }
    assert_eq!(said, &json!({ "ok": true, "result": expect }));
}

#[test]
fn files_of_every_size_arrive_whole_between_every_two_ends() {
    let gateway = Gateway::start();
    let (laptop, server) = (
        Machine::lend(&gateway, "laptop"),
        Machine::lend(&gateway, "server"),
    );
    for (size, seed) in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 10 << 20]
        .into_iter()
        .zip(1..)
    {
        let bytes = noise(size, seed);
        let name = format!("f{size}.bin");
        let (here, there) = (
            laptop.put(&name, &bytes),
            server.end(&format!("deep/er/{name}")),
        );
        let said = transfer(&gateway, &here, &there);
        let mime = said["result"]["mime"].as_str().map(str::to_owned);
        check(&said, &here, &there, &bytes, mime.as_deref());
        assert!(fs::read(server.file(&format!("deep/er/{name}"))).expect("a file") == bytes);

        let kept = format!("gsv:kept/{name}");
        let said = transfer(&gateway, &there, &kept);
        assert_eq!(said["result"]["sha256"], sha256(&bytes), "{said}");
        let blob = gateway.home.blob(&format!("agents/main/kept/{name}"));
        assert!(fs::read(&blob).expect("a file") == bytes, "{size} bytes");

        let copy = format!("gsv:copies/of/{name}");
        let said = transfer(&gateway, &kept, &copy);
        assert_eq!(said["result"]["bytesTransferred"], size, "{said}");
        assert_eq!(said["result"]["sha256"], sha256(&bytes), "{said}");
        let blob = gateway.home.blob(&format!("agents/main/copies/of/{name}"));
        assert!(fs::read(&blob).expect("a file") == bytes, "{size} bytes");

        let back = laptop.end(&format!("back/{name}"));
        let said = transfer(&gateway, &copy, &back);
        assert_eq!(said["result"]["sha256"], sha256(&bytes), "{said}");
        assert!(fs::read(laptop.file(&format!("back/{name}"))).expect("a file") == bytes);
    }
    assert!(parts(&server.file("deep/er")).is_empty());
    assert!(parts(&laptop.file("back")).is_empty());
}

#[test]
fn the_workspace_may_be_named_as_the_spec_text_writes_it() {
    let rule = "[[policy.rules]]\ndecision = \"deny\"\ntools = [\"gsv__ReadFile\"]\nwhen.path.equals = \"secret.md\"\n";
    let gateway = Gateway::with_config(rule);
    gateway.write("notes/a.md", "plain");
    gateway.write("secret.md", "canary-4711");
    let read = |path: &str| fs::read_to_string(gateway.home.blob(&format!("agents/main/{path}")));
    let said = transfer(
        &gateway,
        "gsv:workspace/notes/a.md",
        "gsv:workspace/copy.md",
    );
    assert_eq!(said["ok"], true, "{said}");
    assert_eq!(read("copy.md").expect("it"), "plain");
    // A folder that is really called that is reached by what stands in it.
    gateway.write("workspace/notes/a.md", "literal");
    let said = transfer(&gateway, "gsv:workspace/notes/a.md", "gsv:second.md");
    assert_eq!(said["ok"], true, "{said}");
    assert_eq!(read("second.md").expect("it"), "literal");
    // What a rule refuses is refused in either spelling.
    for source in [
        "gsv:secret.md",
        "gsv:workspace/secret.md",
        "gsv:workspace//secret.md",
    ] {
        let said = transfer(&gateway, source, "gsv:stolen.md");
        assert_eq!(said["code"], "denied_by_policy", "{source}: {said}");
        assert!(read("stolen.md").is_err(), "{source}");
    }
}

#[test]
fn the_type_of_a_file_is_detected_from_its_content() {
    let gateway = Gateway::start();
    let (laptop, server) = (
        Machine::lend(&gateway, "laptop"),
        Machine::lend(&gateway, "server"),
    );
    for (name, bytes, mime) in [
        (
            "picture",
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
            "image/png",
        ),
        ("book", b"%PDF-1.7\n", "application/pdf"),
        (
            "packed",
            b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
            "application/gzip",
        ),
    ] {
        let source = laptop.put(name, bytes);
        for destination in [server.end(name), format!("gsv:{name}")] {
            let said = transfer(&gateway, &source, &destination);
            check(&said, &source, &destination, bytes, Some(mime));
        }
    }
}

#[test]
fn a_relative_path_of_a_node_starts_at_its_workspace() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    laptop.put("a.txt", b"text");
    let said = transfer(&gateway, "laptop:a.txt", "laptop:sub/b.txt");
    assert_eq!(said["ok"], true, "{said}");
    assert_eq!(fs::read(laptop.file("sub/b.txt")).expect("a file"), b"text");
}

#[test]
fn an_existing_file_is_replaced_whole_and_keeps_its_mode() {
    let gateway = Gateway::start();
    let (laptop, server) = (
        Machine::lend(&gateway, "laptop"),
        Machine::lend(&gateway, "server"),
    );
    let source = laptop.put("new", b"new");
    server.put("old", &noise(10_000, 5));
    let mode = fs::Permissions::from_mode(0o640);
    fs::set_permissions(server.file("old"), mode).expect("a mode");
    let said = transfer(&gateway, &source, &server.end("old"));
    assert_eq!(said["ok"], true, "{said}");
    assert_eq!(fs::read(server.file("old")).expect("a file"), b"new");
    let mode = fs::metadata(server.file("old"))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(parts(&server.folder).is_empty());
}

#[test]
fn an_impossible_transfer_is_refused_and_nothing_is_written() {
    let gateway = Gateway::start();
    let (laptop, server) = (
        Machine::lend(&gateway, "laptop"),
        Machine::lend(&gateway, "server"),
    );
    let good = laptop.put("good.txt", b"good");
    gateway.write("note.md", "note");
    fs::create_dir(laptop.file("folder")).expect("a folder");
    fs::create_dir(server.file("folder")).expect("a folder");
    fs::write(server.file("plain"), "plain").expect("a file");
    rustix::fs::mkfifoat(rustix::fs::CWD, laptop.file("pipe"), 0o600.into()).expect("a pipe");
    let free = server.end("free.txt");
    for (source, destination, code, words) in [
        (laptop.end("nothing"), free.clone(), "not_found", "source"),
        (laptop.end("folder"), free.clone(), "", "directory"),
        (laptop.end("pipe"), free.clone(), "", "source"),
        (laptop.end("good.txt/below"), free.clone(), "", "source"),
        (
            "gsv:nothing".to_owned(),
            free.clone(),
            "not_found",
            "nothing",
        ),
        (good.clone(), server.end("folder"), "", "directory"),
        (good.clone(), server.end("plain/below"), "", "destination"),
        (
            good.clone(),
            "server:/proc/nothing/here".to_owned(),
            "",
            "destination",
        ),
        (
            good.clone(),
            "gsv:../../escape".to_owned(),
            "invalid_arguments",
            "destination",
        ),
        (
            "gsv:../../escape".to_owned(),
            free.clone(),
            "invalid_arguments",
            "source",
        ),
        (
            good.clone(),
            "ghost:/a".to_owned(),
            "unavailable",
            "ghost is not connected",
        ),
        (
            "ghost:/a".to_owned(),
            free.clone(),
            "unavailable",
            "ghost is not connected",
        ),
        (
            good.clone(),
            good.clone(),
            "invalid_arguments",
            "must differ from the source",
        ),
        (
            "gsv:note.md".to_owned(),
            "gsv:note.md".to_owned(),
            "invalid_arguments",
            "must differ from the source",
        ),
    ] {
        let said = transfer(&gateway, &source, &destination);
        let about = format!("{source} to {destination}: {said}");
        assert_eq!(said["ok"], false, "{about}");
        assert!(code.is_empty() || said["code"] == code, "{about}");
        assert!(
            said["error"]
                .as_str()
                .is_some_and(|text| text.contains(words)),
            "{words}: {about}"
        );
    }
    let mut left: Vec<_> = crate::harness::tree(&server.folder)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    left.sort();
    assert_eq!(left, ["folder/", "plain"], "nothing was written");
    assert_eq!(fs::read(laptop.file("good.txt")).expect("a file"), b"good");
    assert_eq!(gateway.read("note.md").as_deref(), Some("note"));
    assert_eq!(transfer(&gateway, &good, &free)["ok"], true, "the control");
}

#[test]
fn malformed_ends_are_named_by_their_parameter() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let good = laptop.put("good.txt", b"good");
    for wrong in [
        "",
        "laptop",
        "/a/b",
        ":/a",
        "laptop:",
        "gsv:",
        "Laptop:/a",
        "a b:/a",
        "x:a\0b",
    ] {
        for (parameter, source, destination) in [
            ("source", wrong, "gsv:a"),
            ("destination", good.as_str(), wrong),
        ] {
            let said = transfer(&gateway, source, destination);
            assert_eq!(said["code"], "invalid_arguments", "{wrong:?}: {said}");
            assert_eq!(
                said["problems"][0]["parameter"], parameter,
                "{wrong:?}: {said}"
            );
        }
    }
    for (arguments, parameter) in [
        (json!({ "source": good }), "destination"),
        (json!({ "destination": good }), "source"),
        (
            json!({ "source": good, "destination": "gsv:a", "force": true }),
            "force",
        ),
    ] {
        let said = gateway.call("gsv__Transfer", arguments);
        assert_eq!(said["problems"][0]["parameter"], parameter, "{said}");
    }
    assert_eq!(gateway.read("a"), None);
    assert_eq!(
        transfer(&gateway, &good, "gsv:a")["ok"],
        true,
        "the control"
    );
}

#[test]
fn a_confined_node_transfers_only_what_it_shares() {
    let gateway = Gateway::start();
    let outside = gateway.home.outside("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("secret"), "secret").expect("a file");
    let laptop = Machine::lend(&gateway, "laptop");
    let jailed = Plan::new(&gateway, "jailed")
        .with(&["--sandbox", "workspace"])
        .lend(&gateway);
    let reader = Plan::new(&gateway, "reader")
        .with(&["--sandbox", "read-only"])
        .lend(&gateway);
    let good = laptop.put("good.txt", b"good");
    let [inner, shown] = [&jailed, &reader].map(|machine| machine.put("own.txt", b"own"));
    std::os::unix::fs::symlink(&outside, jailed.file("way-out")).expect("a link");
    let secret = outside.join("secret");
    let secret = secret.display();
    for (source, destination) in [
        (format!("jailed:{secret}"), "gsv:stolen".to_owned()),
        (format!("reader:{secret}"), "gsv:stolen".to_owned()),
        ("jailed:way-out/secret".to_owned(), "gsv:stolen".to_owned()),
        (
            "jailed:../outside/secret".to_owned(),
            "gsv:stolen".to_owned(),
        ),
        (
            good.clone(),
            format!("jailed:{}/planted", outside.display()),
        ),
        (good.clone(), "jailed:way-out/planted".to_owned()),
        (good.clone(), "jailed:../planted".to_owned()),
        (good.clone(), reader.end("planted")),
    ] {
        let said = transfer(&gateway, &source, &destination);
        assert_eq!(said["ok"], false, "{source} to {destination}: {said}");
    }
    assert_eq!(gateway.read("stolen"), None);
    assert_eq!(fs::read_dir(&outside).expect("a folder").count(), 1);
    assert!(!reader.file("planted").exists());
    assert!(!gateway.home.outside("planted").exists());
    assert_eq!(
        transfer(&gateway, &inner, "gsv:a")["ok"],
        true,
        "the control"
    );
    assert_eq!(
        transfer(&gateway, &shown, "gsv:b")["ok"],
        true,
        "the control"
    );
    assert_eq!(
        transfer(&gateway, &good, &jailed.end("taken"))["ok"],
        true,
        "the control"
    );
}

#[test]
fn the_command_line_copies_and_reports_the_result() {
    let gateway = Gateway::start();
    let (laptop, server) = (
        Machine::lend(&gateway, "laptop"),
        Machine::lend(&gateway, "server"),
    );
    let bytes = noise(3 << 20, 8);
    let (source, destination) = (laptop.put("a.bin", &bytes), server.end("b.bin"));
    let ran = gateway.cli(&["cp", &source, &destination]).ok();
    let line = ran.stdout.trim();
    assert!(
        line.starts_with(&format!("{source} -> {destination}")),
        "{ran:?}"
    );
    assert!(
        line.contains("3.0 MiB") && line.contains(&sha256(&bytes)),
        "{ran:?}"
    );
    assert!(fs::read(server.file("b.bin")).expect("a file") == bytes);
    let json = gateway
        .cli(&["cp", "--json", &source, "gsv:b.bin"])
        .ok()
        .json();
    assert_eq!(json["result"]["bytesTransferred"], bytes.len(), "{json}");
    let failed = gateway.cli(&["cp", &laptop.end("nothing"), &destination]);
    assert_ne!(failed.code, Some(0));
    assert!(failed.stderr.contains("no such file"), "{failed:?}");
}

#[test]
fn socket_clients_get_transfer_progress() {
    let gateway = Gateway::start();
    let (laptop, server) = (
        Machine::lend(&gateway, "laptop"),
        Machine::lend(&gateway, "server"),
    );
    let size = 24 << 20;
    let source = laptop.put("large.bin", &noise(size, 9));
    let mut socket = gateway.ws();
    let ends = json!({ "source": source, "destination": server.end("large.bin") });
    let ask = json!({ "tool": "gsv__Transfer", "args": ends, "progress": true });
    let id = socket.ask("tool.invoke", ask);
    let mut steps = Vec::new();
    let answer = loop {
        let frame = socket.frame().expect("an open socket");
        if frame["event"] == "tool.progress" {
            assert_eq!(frame["payload"]["requestId"], id.as_str(), "{frame}");
            assert_eq!(frame["payload"]["total"], size, "{frame}");
            steps.push(frame["payload"]["done"].as_u64().expect("a number"));
        } else if frame["id"] == id.as_str() {
            break frame;
        }
    };
    assert_eq!(answer["ok"], true, "{answer}");
    assert!(steps.is_sorted(), "{steps:?}");
    assert_eq!(
        (steps.first(), steps.last()),
        (Some(&0), Some(&(size as u64))),
        "{steps:?}"
    );
}
