//! `tool::shell_exec`.

use super::*;

const RAN: [&str; 3] = ["exitCode", "stderr", "stdout"];

/// A call that runs a script without naming a shell of its own.
fn script(text: &str) -> Value {
    json!({ "argv": ["env", "sh", "-c", text] })
}

#[test]
fn streams_are_apart_and_a_failing_program_is_a_result() {
    let c = Contract::new();
    c.put("workspace/a.txt", "in the file");
    let table = [
        (json!({ "argv": ["cat", "a.txt"] }), "in the file", "", 0),
        (
            script("echo out; echo err >&2; exit 3"),
            "out\n",
            "err\n",
            3,
        ),
        (script("exit 255"), "", "", 255),
        (script("printf 'no newline'"), "no newline", "", 0),
        (json!({ "argv": ["cat"] }), "", "", 0),
        (json!({ "argv": ["grep", "nothing", "a.txt"] }), "", "", 1),
        (script("printf '\\377\\376x'"), "\u{fffd}\u{fffd}x", "", 0),
    ];
    for (arguments, out, err, code) in table {
        let ran = c.gives(SHELL_EXEC, arguments, &RAN);
        assert_eq!(
            ran,
            json!({ "stdout": out, "stderr": err, "exitCode": code })
        );
    }
    let missing = c.gives(SHELL_EXEC, json!({ "argv": ["ls", "nothing-here"] }), &RAN);
    assert_ne!(missing["exitCode"], 0);
    assert!(
        missing["stderr"]
            .as_str()
            .is_some_and(|text| text.contains("nothing-here"))
    );
}

#[test]
fn arguments_are_exact_and_no_shell_reads_them() {
    let c = Contract::new();
    c.put("workspace/a.txt", "x");
    for argument in [
        "$HOME",
        "${PATH}",
        "*",
        "a*",
        "~",
        ";",
        "; touch evil",
        "&& touch evil",
        "| touch evil",
        "> evil",
        "`touch evil`",
        "$(touch evil)",
        "a b",
        "",
        "'",
        "\"",
        "\\n",
        "{a,b}",
        "!",
        "-n ",
        "\n",
        "é日🙂",
    ] {
        let ran = c.gives(SHELL_EXEC, json!({ "argv": ["echo", argument] }), &RAN);
        assert_eq!(
            ran["stdout"],
            format!("{argument}\n"),
            "{argument:?} is itself"
        );
    }
    let many: Vec<String> = (0..4_095).map(|n| n.to_string()).collect();
    let mut argv = vec!["echo".to_owned()];
    argv.extend(many.iter().cloned());
    let ran = c.gives(SHELL_EXEC, json!({ "argv": argv }), &RAN);
    assert_eq!(ran["stdout"], many.join(" ") + "\n", "4,096 in all");
    argv.push("one more".to_owned());
    c.refuses(
        SHELL_EXEC,
        json!({ "argv": argv }),
        "invalid_arguments",
        &["argv"],
    );
    c.refuses(
        SHELL_EXEC,
        json!({ "argv": ["echo", "a\0b"] }),
        "invalid_arguments",
        &["argv", "NUL"],
    );
    assert_eq!(tree(&c.at("workspace")).len(), 1, "nothing was made");
}

#[test]
fn only_the_bare_names_of_the_list_are_run() {
    let c = Contract::new();
    c.put("workspace/echo", "#!/bin/sh\necho planted > evil\n");
    c.put("workspace/bin/git", "#!/bin/sh\necho planted > evil\n");
    for path in ["echo", "bin/git"] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(c.at(&format!("workspace/{path}")), mode).expect("a mode");
    }
    for name in [
        "/bin/echo",
        "/usr/bin/env",
        "./echo",
        "../echo",
        "bin/git",
        "../../bin/echo",
        "echo/",
        "rm",
        "bash",
        "sh",
        "sudo",
        "ECHO",
        "Echo",
        " echo",
        "echo ",
        "echo\n",
        "",
        ".",
        "..",
        "-c",
        "echo\0",
        "echo;id",
        "git status",
        "~/echo",
        "$SHELL",
    ] {
        let arguments = json!({ "argv": [name, "hi"] });
        let said = c.refuses(
            SHELL_EXEC,
            arguments,
            "forbidden",
            &["argv.0", "not an allowed program", "allowed: git"],
        );
        assert!(said.get("result").is_none(), "{said}");
    }
    c.refuses(
        SHELL_EXEC,
        json!({ "argv": [] }),
        "invalid_arguments",
        &["argv"],
    );
    let ran = c.gives(SHELL_EXEC, json!({ "argv": ["echo", "hi"] }), &RAN);
    assert_eq!(
        ran["stdout"], "hi\n",
        "the system's own, not the planted one"
    );
    let entries = c.gateway.audit();
    let refused = entries
        .iter()
        .filter(|entry| entry["tool"] == SHELL_EXEC && entry["code"] == "forbidden");
    assert_eq!(refused.count(), 25, "refusals are audited too");
}

#[test]
fn a_name_that_is_allowed_and_not_installed_says_so() {
    let c = Contract::with_config(
        "[tools.shell_exec]\nallow = [\"mh-no-such-program\", \"echo\", \"/bin/echo\", \"../echo\"]\n",
    );
    let absent = json!({ "argv": ["mh-no-such-program"] });
    c.refuses(
        SHELL_EXEC,
        absent,
        "unavailable",
        &["mh-no-such-program", "not installed", "/usr/bin"],
    );
    for path in ["/bin/echo", "../echo"] {
        let said = c.refuses(
            SHELL_EXEC,
            json!({ "argv": [path, "x"] }),
            "unavailable",
            &["argv.0"],
        );
        let error = said["error"].as_str().expect("an error");
        assert!(
            error.contains("bare name"),
            "a path is refused even where the owner lists it: {error}"
        );
    }
    c.refuses(
        SHELL_EXEC,
        json!({ "argv": ["cat", "x"] }),
        "forbidden",
        &["allowed: mh-no-such-program, echo"],
    );
    c.gives(SHELL_EXEC, json!({ "argv": ["echo"] }), &RAN);
}

#[test]
fn it_starts_in_the_workspace_or_below_and_nowhere_else() {
    let c = Contract::new();
    c.put("workspace/my-project/sub/x", "x");
    c.put("workspace/file", "x");
    c.link(c.gateway.home.outside(""), "workspace/up");
    c.link("my-project", "workspace/inside");
    let absolute = c.shown("workspace/my-project");
    for (cwd, place) in [
        (json!(null), "workspace"),
        (json!(""), "workspace"),
        (json!("."), "workspace"),
        (json!("my-project"), "workspace/my-project"),
        (json!("my-project/sub/"), "workspace/my-project/sub"),
        (json!(absolute), "workspace/my-project"),
    ] {
        let mut arguments = script("pwd; printf %s \"$PWD\"");
        arguments["cwd"] = cwd.clone();
        let ran = c.gives(SHELL_EXEC, arguments, &RAN);
        assert_eq!(ran["stdout"], format!("{0}\n{0}", c.shown(place)), "{cwd}");
    }
    let outside = c.shown("cache");
    for (cwd, words) in [
        ("..", "'..'"),
        ("my-project/../..", "'..'"),
        ("/", "outside"),
        ("/tmp", "outside"),
        (&outside, "outside"),
        ("missing", "missing"),
        ("file", "directory"),
        ("up", "outside"),
        ("up/user", "outside"),
        ("a\0b", "control character"),
    ] {
        let arguments = json!({ "argv": ["touch", "evil"], "cwd": cwd });
        c.refuses(SHELL_EXEC, arguments, "invalid_arguments", &["cwd", words]);
    }
    c.gives(
        SHELL_EXEC,
        json!({ "argv": ["touch", "made"], "cwd": "my-project" }),
        &RAN,
    );
    assert_eq!(
        c.raw("workspace/my-project/made").as_deref(),
        Some(""),
        "the control"
    );
}

#[test]
fn the_environment_is_the_rulings_list_and_nothing_else() {
    let given = [
        ("USER", "somebody"),
        ("LANG", "C.UTF-8"),
        ("TERM", "vt100"),
        ("NODE_ENV", "production"),
        ("AWS_SECRET_ACCESS_KEY", "aws-hidden"),
        ("GITHUB_TOKEN", "gh-hidden"),
        ("LC_ALL", "C"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("ENV", "/tmp/env.sh"),
        ("TMPDIR", "/var/tmp"),
        ("NODE_OPTIONS", "--inspect"),
        ("PYTHONPATH", "/tmp"),
        ("MH_INJECTED", "only for bash"),
    ];
    let c =
        Contract::with_environment("tools.bash.injected_env_vars = [\"MH_INJECTED\"]\n", &given);
    let ran = c.gives(SHELL_EXEC, json!({ "argv": ["env"] }), &RAN);
    let text = ran["stdout"].as_str().expect("text");
    let seen: std::collections::BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let names: Vec<&str> = seen.keys().copied().collect();
    assert_eq!(
        names,
        [
            "HOME", "LANG", "NODE_ENV", "PATH", "PWD", "TERM", "TMPDIR", "USER"
        ]
    );
    for (name, value) in &given[..4] {
        assert_eq!(seen[name], *value);
    }
    assert_eq!(
        seen["PATH"],
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    );
    assert_eq!(seen["PWD"], c.shown("workspace"));
    assert_eq!(seen["HOME"], seen["TMPDIR"], "a folder of its own");
    let real = c.gateway.home.outside("user").display().to_string();
    assert_ne!(
        seen["HOME"], real,
        "not the home of whoever started the gateway"
    );
    let own = std::path::Path::new(seen["HOME"]);
    crate::harness::eventually("it goes with the program", || !own.exists());
    assert!(!text.contains("hidden"), "{text}");
    let bare = Contract::new();
    let ran = bare.gives(SHELL_EXEC, json!({ "argv": ["env"] }), &RAN);
    let text = ran["stdout"].as_str().expect("text");
    let names: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    assert_eq!(
        names,
        BTreeSet::from(["HOME", "PATH", "PWD", "TMPDIR"]),
        "nothing is made up"
    );
    let kept = bare.gives(
        SHELL_EXEC,
        script("echo x > \"$HOME/f\"; cat \"$TMPDIR/f\""),
        &RAN,
    );
    assert_eq!(kept["stdout"], "x\n", "its home can be used: {kept}");
}

#[test]
fn a_signal_is_named_and_numbered() {
    let c = Contract::new();
    let table = [
        ("HUP", 1),
        ("INT", 2),
        ("ILL", 4),
        ("TRAP", 5),
        ("ABRT", 6),
        ("BUS", 7),
        ("FPE", 8),
        ("KILL", 9),
        ("USR1", 10),
        ("SEGV", 11),
        ("USR2", 12),
        ("PIPE", 13),
        ("ALRM", 14),
        ("TERM", 15),
        ("XCPU", 24),
        ("XFSZ", 25),
        ("SYS", 31),
    ];
    let keys = ["exitCode", "signal", "stderr", "stdout"];
    let mut wrong = Vec::new();
    for (name, number) in table {
        let ran = c.gives(
            SHELL_EXEC,
            script(&format!("echo before; kill -{number} $$")),
            &keys,
        );
        assert_eq!(ran["stdout"], "before\n", "{name}");
        let expect = (json!(format!("SIG{name}")), json!(128 + number));
        let seen = (ran["signal"].clone(), ran["exitCode"].clone());
        if seen != expect {
            wrong.push((expect, seen));
        }
    }
    assert!(
        wrong.is_empty(),
        "128 and the number, as the field's own words say: {wrong:?}"
    );
}

#[test]
fn its_time_is_the_owners_at_most_and_the_callers_when_less() {
    let c = Contract::with_config("tools.shell_exec.timeout = 1\n");
    let keys = ["exitCode", "stderr", "stdout", "timedOut"];
    let lowered = [&keys[..], &["lowered"]].concat();
    for (timeout, keys) in [
        (json!(null), &keys[..]),
        (json!(60_000), &lowered),
        (json!(200), &keys),
        (json!(u64::MAX), &lowered),
    ] {
        let mut arguments = script("echo begun; (trap '' TERM; sleep 20) & sleep 20");
        arguments["timeout"] = timeout.clone();
        let ran = begun(|| {
            let since = std::time::Instant::now();
            let ran = c.gives(SHELL_EXEC, arguments.clone(), keys);
            let took = since.elapsed();
            assert!(took.as_secs() < 15, "{timeout}: {took:?}");
            ran
        });
        let mut expect =
            json!({ "stdout": "begun\n", "stderr": "", "exitCode": 124, "timedOut": true });
        if keys.contains(&"lowered") {
            expect["lowered"] = json!([{
                "parameter": "timeout", "requested": timeout, "used": 1_000, "limit": "tools.shell_exec.timeout",
            }]);
        }
        assert_eq!(ran, expect, "{timeout}");
    }
    for timeout in [json!(0), json!(-1), json!(0.5), json!("1")] {
        let arguments = json!({ "argv": ["touch", "evil"], "timeout": timeout });
        c.refuses(SHELL_EXEC, arguments, "invalid_arguments", &["timeout"]);
    }
    let quick = json!({ "argv": ["echo"], "timeout": 1_000 });
    in_time(&c, SHELL_EXEC, &quick, &RAN);
}

#[test]
fn output_is_limited_to_100_kb_and_50_kb_and_kept_whole() {
    let c = Contract::new();
    let (out, err) = (
        "0123456789abcdef".repeat(6_250),
        "fedcba9876543210".repeat(3_125),
    );
    c.put("workspace/out", &out);
    c.put("workspace/err", &err);
    let ran = c.gives(SHELL_EXEC, script("cat out; cat err >&2"), &RAN);
    assert_eq!(
        (&ran["stdout"], &ran["stderr"]),
        (&json!(out), &json!(err)),
        "exactly the limits"
    );
    let ran = c.gives(
        SHELL_EXEC,
        script("cat out; printf +; cat err >&2"),
        &[
            "exitCode",
            "stderr",
            "stdout",
            "stdoutArtifactId",
            "stdoutSize",
            "truncated",
        ],
    );
    assert_eq!(
        (&ran["stdoutSize"], &ran["truncated"]),
        (&json!(100_001), &json!(true))
    );
    assert_eq!(
        ran["stderr"],
        json!(err),
        "one stream is cut, the other whole"
    );
    let shown = ran["stdout"].as_str().expect("text");
    assert!(
        shown.len() <= 100_100 && shown.starts_with("0123") && shown.ends_with("def+"),
        "both ends"
    );
    assert!(shown.contains("1 bytes left out"), "the cut is told");
    assert_eq!(whole(&c, &ran["stdoutArtifactId"]), out.clone() + "+");
    let ran = c.gives(
        SHELL_EXEC,
        script("cat err err err >&2; exit 5"),
        &[
            "exitCode",
            "stderr",
            "stderrArtifactId",
            "stderrSize",
            "stdout",
            "truncated",
        ],
    );
    assert_eq!(
        (&ran["stderrSize"], &ran["exitCode"]),
        (&json!(150_000), &json!(5))
    );
    assert!(
        ran["stderr"]
            .as_str()
            .is_some_and(|text| text.len() <= 50_100)
    );
    assert_eq!(whole(&c, &ran["stderrArtifactId"]), err.repeat(3));
    c.put("workspace/wide", "日".repeat(50_000));
    let said = c
        .gateway
        .call(SHELL_EXEC, json!({ "argv": ["cat", "wide"] }));
    let shown = said["result"]["stdout"].as_str().expect("text");
    assert!(!shown.contains('\u{fffd}'), "cut between characters");
}

#[track_caller]
fn whole(c: &Contract, id: &Value) -> String {
    c.gateway
        .cli(&["artifact", id.as_str().expect("an id")])
        .ok()
        .stdout
}
