//! `bash`.

use std::collections::BTreeMap;

use super::*;

const RAN: [&str; 5] = [
    "exit_code",
    "stderr",
    "stderr_truncated",
    "stdout",
    "stdout_truncated",
];
const TIMED_OUT: [&str; 6] = [
    "exit_code",
    "stderr",
    "stderr_truncated",
    "stdout",
    "stdout_truncated",
    "timed_out",
];
const ENVELOPE: [&str; 7] = [
    "error",
    "output",
    "output_kind",
    "output_schema",
    "status",
    "summary",
    "task_id",
];

fn cmd(text: &str) -> Value {
    json!({ "cmd": text })
}

#[test]
fn a_command_line_is_bashs_and_its_failure_a_result() {
    let c = Contract::new();
    c.put("workspace/a.txt", "in the file\n");
    let table = [
        ("echo hi | tr a-z A-Z", "HI\n", "", 0),
        ("echo out; echo err >&2; exit 7", "out\n", "err\n", 7),
        ("cat a.txt", "in the file\n", "", 0),
        (
            "[[ abc == a* ]] && echo {1..3} $((2*3)) \"${BASH_VERSION:+bash}\"",
            "1 2 3 6 bash\n",
            "",
            0,
        ),
        ("cat", "", "", 0),
        ("false", "", "", 1),
        ("x='$& \\1'; printf %s \"$x\"", "$& \\1", "", 0),
        ("cat <<'E'\nline 1\nline 2\nE", "line 1\nline 2\n", "", 0),
        (
            "shopt -q login_shell || echo no profile was read",
            "no profile was read\n",
            "",
            0,
        ),
    ];
    for (text, out, err, code) in table {
        let ran = c.gives(BASH, cmd(text), &RAN);
        let expect = json!({
            "exit_code": code, "stdout": out, "stderr": err, "stdout_truncated": false, "stderr_truncated": false,
        });
        assert_eq!(ran, expect, "{text}");
    }
    let missing = c.gives(BASH, cmd("mh-no-such-command"), &RAN);
    assert_eq!(missing["exit_code"], 127);
    let syntax = c.gives(BASH, cmd("if then ((("), &RAN);
    assert_eq!(syntax["exit_code"], 2, "{syntax}");
    for text in ["", " \n\t", "echo a\0b"] {
        c.refuses(BASH, cmd(text), "invalid_arguments", &["cmd"]);
    }
}

#[test]
fn it_writes_the_three_folders_and_nothing_else() {
    let c = Contract::new();
    let home = c.gateway.home.path().display().to_string();
    let beside = c.gateway.home.outside("canary").display().to_string();
    let real = c.gateway.home.outside("user").display().to_string();
    std::fs::write(c.gateway.home.outside("user/secret"), "hidden words").expect("a file");
    for text in [
        format!("cat {beside}"),
        format!("echo evil > {beside}"),
        format!("cat {real}/secret"),
        format!("echo evil > {real}/new"),
        format!("cat {home}/owner.token"),
        format!("cat {home}/vault.key"),
        format!("echo evil >> {home}/config.toml"),
        format!("mkdir {home}/skills"),
        "echo evil > /tmp/mh-evil-file".to_owned(),
        "cat ~root/.bashrc /etc/shadow".to_owned(),
    ] {
        let before = c.everything();
        let ran = c.gives(BASH, cmd(&text), &RAN);
        assert_ne!(ran["exit_code"], 0, "{text}: {ran}");
        assert_eq!(ran["stdout"], "", "{text}: {ran}");
        assert_eq!(c.everything(), before, "{text}");
    }
    c.gives(
        BASH,
        cmd("echo 1 > w; echo 2 > file_cache_dir/c; echo 3 > file_state_dir/s; echo 4 > ~/h"),
        &RAN,
    );
    let made = ["workspace/w", "cache/c", "state/s"].map(|path| c.raw(path));
    assert_eq!(
        made,
        ["1\n", "2\n", "3\n"].map(|text| Some(text.to_owned())),
        "the control"
    );
}

#[test]
fn aliases_stand_for_their_folders_wherever_a_path_begins() {
    let c = Contract::new();
    c.put("cache/a.txt", "cached\n");
    c.put("cache/a b.txt", "spaced\n");
    c.put("state/s.txt", "kept\n");
    c.put("workspace/my_file_cache_dir/a.txt", "a longer name\n");
    c.put("workspace/x/file_cache_dir/a.txt", "further down\n");
    let (cache, state) = (c.shown("cache"), c.shown("state"));
    let table = [
        (
            "cat file_cache_dir/a.txt file_state_dir/s.txt",
            "cached\nkept\n".to_owned(),
        ),
        ("cat \"file_cache_dir/a b.txt\"", "spaced\n".to_owned()),
        ("cat 'file_cache_dir/a b.txt'", "spaced\n".to_owned()),
        ("cat file_cache_dir/a\\ b.txt", "spaced\n".to_owned()),
        ("cat <file_state_dir/s.txt", "kept\n".to_owned()),
        ("f=file_state_dir/s.txt; cat \"$f\"", "kept\n".to_owned()),
        (
            "(cd file_cache_dir && pwd); echo \"file_state_dir\"",
            format!("{cache}\n{state}\n"),
        ),
        ("ls file_cache_dir/*.txt | wc -l", "2\n".to_owned()),
        ("cat my_file_cache_dir/a.txt", "a longer name\n".to_owned()),
        ("cat x/file_cache_dir/a.txt", "further down\n".to_owned()),
        ("cat ./x/file_cache_dir/a.txt", "further down\n".to_owned()),
        (
            "echo file_cache_directory file_state_dir-x",
            "file_cache_directory file_state_dir-x\n".to_owned(),
        ),
    ];
    for (text, out) in table {
        let ran = c.gives(BASH, cmd(text), &RAN);
        assert_eq!(
            (ran["stdout"].as_str(), &ran["exit_code"]),
            (Some(out.as_str()), &json!(0)),
            "{text}: {ran}"
        );
    }
    c.gives(
        BASH,
        cmd("echo new > file_state_dir/new.txt; cp file_cache_dir/a.txt file_state_dir/"),
        &RAN,
    );
    let made = ["state/new.txt", "state/a.txt"].map(|path| c.raw(path));
    assert_eq!(
        made,
        ["new\n", "cached\n"].map(|text| Some(text.to_owned()))
    );
}

#[test]
fn aliases_work_when_their_folders_have_names_that_bash_would_split() {
    let home = Home::new();
    let cache = home.outside("my cache $x;y's");
    let config = format!("file_cache_dir = {:?}\n", cache.display().to_string());
    let c = Contract::of(Gateway::on(home.with_config(&config)));
    std::fs::write(cache.join("a.txt"), "cached\n").expect("a file");
    for text in [
        "cat file_cache_dir/a.txt",
        "cat \"file_cache_dir/a.txt\"",
        "cat 'file_cache_dir/a.txt'",
        "cd file_cache_dir && cat a.txt",
    ] {
        let ran = c.gives(BASH, cmd(text), &RAN);
        assert_eq!(
            (&ran["stdout"], &ran["exit_code"]),
            (&json!("cached\n"), &json!(0)),
            "{text}: {ran}"
        );
    }
}

#[test]
fn it_starts_in_the_workspace_or_in_cwd() {
    let c = Contract::new();
    for folder in ["workspace/p", "cache/p q", "state/p"] {
        c.put(&format!("{folder}/x"), "x");
    }
    c.put("workspace/file", "x");
    c.link(c.gateway.home.outside(""), "workspace/up");
    let state = c.shown("state/p");
    for (cwd, place) in [
        (json!(null), "workspace"),
        (json!(""), "workspace"),
        (json!("."), "workspace"),
        (json!("p"), "workspace/p"),
        (json!("file_cache_dir"), "cache"),
        (json!("file_cache_dir/"), "cache"),
        (json!("file_cache_dir/p q"), "cache/p q"),
        (json!("file_state_dir/p"), "state/p"),
        (json!(state), "state/p"),
        (json!(c.shown("workspace/p")), "workspace/p"),
    ] {
        let ran = c.gives(BASH, json!({ "cmd": "pwd -P; pwd", "cwd": cwd }), &RAN);
        assert_eq!(
            ran["stdout"],
            format!("{0}\n{0}\n", c.shown(place)),
            "{cwd}"
        );
    }
    for (cwd, words) in [
        ("..", "'..'"),
        ("file_cache_dir/..", "'..'"),
        ("/", "outside"),
        ("/tmp", "outside"),
        ("missing", "missing"),
        ("file_state_dir/missing", "missing"),
        ("file", "directory"),
        ("up", "outside"),
        ("file_cache_directory", "file_cache_directory"),
    ] {
        let arguments = json!({ "cmd": "echo evil > evil", "cwd": cwd });
        c.refuses(BASH, arguments, "invalid_arguments", &["cwd", words]);
    }
}

/// All that the ruling names and the gateway may have.
const PASSED_ON: [(&str, &str); 14] = [
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C"),
    ("LC_CTYPE", "C.UTF-8"),
    ("TERM", "vt100"),
    ("TZ", "Asia/Tokyo"),
    ("USER", "somebody"),
    ("LOGNAME", "somebody"),
    ("SHELL", "/bin/zsh"),
    ("XDG_CONFIG_HOME", "/x/config"),
    ("XDG_CACHE_HOME", "/x/cache"),
    ("XDG_DATA_HOME", "/x/data"),
    ("XDG_RUNTIME_DIR", "/x/run"),
    ("SSL_CERT_FILE", "/x/cert.pem"),
    ("SSL_CERT_DIR", "/x/certs"),
];

const HIDDEN: [(&str, &str); 8] = [
    ("AWS_SECRET_ACCESS_KEY", "aws-hidden"),
    ("GITHUB_TOKEN", "gh-hidden"),
    ("ANTHROPIC_API_KEY", "key-hidden"),
    ("BASH_ENV", "/dev/null/hidden"),
    ("SSH_AUTH_SOCK", "/tmp/hidden"),
    ("NODE_ENV", "hidden"),
    ("PROMPT_COMMAND", "echo hidden"),
    ("MH_NOT_NAMED", "hidden"),
];

fn seen(ran: &Value) -> BTreeMap<&str, &str> {
    let text = ran["stdout"].as_str().expect("text");
    text.lines()
        .filter_map(|line| line.split_once('='))
        .collect()
}

#[test]
fn the_environment_is_the_rulings_list_and_what_the_owner_injects() {
    let injected = [("MH_INJECTED", "passed on"), ("MH_OTHER", "too")];
    let given: Vec<_> = PASSED_ON
        .iter()
        .chain(&HIDDEN)
        .chain(&injected)
        .copied()
        .collect();
    let c = Contract::with_environment(
        "tools.bash.injected_env_vars = [\"MH_INJECTED\", \"MH_OTHER\", \"MH_ABSENT\"]\n",
        &given,
    );
    let ran = c.gives(BASH, cmd("env"), &RAN);
    let seen = seen(&ran);
    let mut expect: Vec<&str> = PASSED_ON
        .iter()
        .chain(&injected)
        .map(|(name, _)| *name)
        .collect();
    // The last two are bash's own.
    expect.extend(["PATH", "HOME", "TMPDIR", "PWD", "SHLVL", "_"]);
    expect.sort_unstable();
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), expect);
    for (name, value) in PASSED_ON.iter().chain(&injected) {
        assert_eq!(seen[name], *value);
    }
    assert_eq!(
        seen["PATH"],
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    );
    assert_ne!(
        seen["HOME"],
        c.gateway.home.outside("user").display().to_string()
    );
    assert_eq!(seen["HOME"], seen["TMPDIR"]);
    assert!(!ran.to_string().contains("hidden"), "{ran}");
    let said = c.gives(
        BASH,
        cmd("echo ${AWS_SECRET_ACCESS_KEY-unset} ${MH_NOT_NAMED-unset}"),
        &RAN,
    );
    assert_eq!(said["stdout"], "unset unset\n");
}

#[test]
fn what_the_owner_injects_cannot_move_path_or_home() {
    let c = Contract::with_environment(
        "tools.bash.injected_env_vars = [\"PATH\", \"HOME\", \"TMPDIR\", \"PWD\", \"MH_INJECTED\"]\n",
        &[("MH_INJECTED", "passed on"), ("TMPDIR", "/var/tmp")],
    );
    let ran = c.gives(BASH, cmd("env"), &RAN);
    let seen = seen(&ran);
    assert_eq!(seen["MH_INJECTED"], "passed on", "the control");
    assert_eq!(
        seen["PATH"],
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    );
    assert_eq!(seen["PWD"], c.shown("workspace"));
    assert_eq!(seen["HOME"], seen["TMPDIR"]);
    assert!(seen["HOME"].starts_with(&c.shown("scratch")), "{seen:?}");
}

#[test]
fn a_command_that_mentions_a_denied_path_is_not_run() {
    let c = Contract::with_config("tools.bash.deny_paths = [\"config.yaml\", \"private/keys\"]\n");
    c.put("workspace/config.yaml", "x");
    for text in [
        "touch evil; cat config.yaml",
        "touch evil; cat ./a/config.yaml",
        "touch evil; cat 'config.yaml'",
        "touch evil; cat<config.yaml",
        "touch evil; cat \"$PWD/config.yaml\"",
        "touch evil; ls private/keys/id",
    ] {
        c.refuses(BASH, cmd(text), "forbidden", &["tools.bash.deny_paths"]);
    }
    for text in [
        "echo config.yaml.example",
        "echo myconfig.yaml",
        "echo private",
        "echo keys",
    ] {
        c.gives(BASH, cmd(text), &RAN);
    }
    c.set("tools.bash.deny_paths", json!([]));
    let ran = c.gives(BASH, cmd("cat config.yaml"), &RAN);
    assert_eq!(ran["stdout"], "x", "the list is the owner's, and live");
}

#[test]
fn a_rewrite_puts_its_program_in_front() {
    let c = Contract::with_config("[tools.bash.rewrite]\nbinary = \"echo\"\n");
    let plain = c.gives(BASH, cmd("printf %s status"), &RAN);
    assert_eq!(plain["stdout"], "status", "named and not enabled");
    c.set("tools.bash.rewrite.enabled", json!(true));
    for (text, out) in [
        ("git status", "git status\n".to_owned()),
        (
            "cat file_cache_dir/a",
            format!("cat {}\n", c.shown("cache/a")),
        ),
        ("rm -rf x | tr a-z A-Z", "RM -RF X\n".to_owned()),
    ] {
        let ran = c.gives(BASH, cmd(text), &RAN);
        assert_eq!(ran["stdout"], out, "{text}");
    }
    c.refuses(BASH, cmd("cat config.yaml"), "forbidden", &["deny_paths"]);
    let c = Contract::with_config("[tools.bash.rewrite]\nenabled = true\n");
    let ran = c.gives(BASH, cmd("printf %s plain"), &RAN);
    assert_eq!(ran["stdout"], "plain", "enabled and not named");
}

#[test]
fn a_subtask_comes_in_its_envelope() {
    let c = Contract::new();
    let long = format!("echo {}", "é".repeat(400));
    // command, exit code, status, error, summary contains
    let table = [
        (
            "echo first; echo second; echo err >&2",
            0,
            "done",
            "",
            "first",
        ),
        ("true", 0, "done", "", "done"),
        ("exit 9", 9, "failed", "exit code 9", "exit code 9"),
        ("kill -9 $$", 137, "failed", "SIGKILL", "SIGKILL"),
        (&long, 0, "done", "", "éé"),
    ];
    let mut ids = BTreeSet::new();
    for (text, code, status, error, summary) in table {
        let arguments = json!({ "cmd": text, "run_in_subtask": true });
        let said = c.gives(BASH, arguments, &ENVELOPE);
        let fixed = ["status", "output_kind", "output_schema"].map(|field| said[field].as_str());
        assert_eq!(
            fixed,
            [Some(status), Some("json"), Some("subtask.bash.result.v1")],
            "{said}"
        );
        assert_eq!(said["output"]["exit_code"], code, "{said}");
        let told = said["error"].as_str().expect("an error");
        assert!(
            told.contains(error) && told.is_empty() == error.is_empty(),
            "{said}"
        );
        let about = said["summary"].as_str().expect("a summary");
        assert!(
            about.contains(summary) && about.chars().count() <= 160,
            "{said}"
        );
        let mut keys: BTreeSet<&str> = RAN.into();
        if code == 137 {
            keys.insert("signal");
        }
        assert_eq!(keys_of(&said["output"]), keys);
        assert!(
            ids.insert(said["task_id"].as_str().expect("an id").to_owned()),
            "each its own"
        );
    }
    let arguments =
        json!({ "cmd": "echo begun; sleep 20", "run_in_subtask": true, "timeout_seconds": 0.3 });
    let said = begun(|| c.gives(BASH, arguments.clone(), &ENVELOPE));
    assert_eq!(
        (&said["status"], &said["output"]["exit_code"]),
        (&json!("failed"), &json!(124)),
        "{said}"
    );
    assert_eq!(
        (&said["output"]["timed_out"], &said["output"]["stdout"]),
        (&json!(true), &json!("begun\n"))
    );
    assert!(
        said["error"]
            .as_str()
            .is_some_and(|error| error.contains("time")),
        "{said}"
    );
    c.gives(
        BASH,
        json!({ "cmd": "true", "run_in_subtask": false }),
        &RAN,
    );
    c.gives(BASH, json!({ "cmd": "true", "run_in_subtask": null }), &RAN);
    let refused = json!({ "cmd": "cat config.yaml", "run_in_subtask": true });
    c.refuses(BASH, refused, "forbidden", &["deny_paths"]);
}

#[test]
fn its_time_is_the_owners_at_most_and_the_callers_when_less() {
    let c = Contract::with_config("tools.bash.timeout = 1\n");
    let lowered = [&TIMED_OUT[..], &["lowered"]].concat();
    for (seconds, keys) in [
        (json!(null), &TIMED_OUT[..]),
        (json!(60), &lowered),
        (json!(0.25), &TIMED_OUT),
        (json!(1e300), &lowered),
    ] {
        let arguments = json!({ "cmd": "echo begun; (trap '' TERM; sleep 20) & sleep 20", "timeout_seconds": seconds });
        let ran = begun(|| {
            let since = std::time::Instant::now();
            let ran = c.gives(BASH, arguments.clone(), keys);
            let took = since.elapsed();
            assert!(took.as_secs() < 15, "{seconds}: {took:?}");
            ran
        });
        let seen = (&ran["exit_code"], &ran["timed_out"], &ran["stdout"]);
        assert_eq!(
            seen,
            (&json!(124), &json!(true), &json!("begun\n")),
            "{seconds}"
        );
    }
    for seconds in [json!(0), json!(-1), json!(-0.0), json!("1")] {
        let arguments = json!({ "cmd": "touch evil", "timeout_seconds": seconds });
        c.refuses(BASH, arguments, "invalid_arguments", &["timeout_seconds"]);
    }
    let quick = json!({ "cmd": "true", "timeout_seconds": 0.9 });
    in_time(&c, BASH, &quick, &RAN);
}

#[test]
fn output_is_limited_to_256_kib_a_stream_and_kept_whole() {
    let c = Contract::new();
    let text = "0123456789abcdef".repeat(16_384);
    c.put("workspace/full", &text);
    let ran = c.gives(BASH, cmd("cat full; cat full >&2"), &RAN);
    assert_eq!(
        (&ran["stdout"], &ran["stderr"]),
        (&json!(text), &json!(text)),
        "exactly the limit"
    );
    let mut keys = RAN.to_vec();
    keys.extend(["stdout_artifact_id", "stdout_size"]);
    let ran = c.gives(BASH, cmd("cat full; printf +; echo err >&2"), &keys);
    let seen = (
        &ran["stdout_truncated"],
        &ran["stderr_truncated"],
        &ran["stdout_size"],
    );
    assert_eq!(seen, (&json!(true), &json!(false), &json!(262_145)));
    let shown = ran["stdout"].as_str().expect("text");
    assert!(shown.len() <= 262_244 && shown.starts_with("0123") && shown.ends_with("def+"));
    assert_eq!(
        c.gateway
            .cli(&["artifact", id(&ran["stdout_artifact_id"])])
            .ok()
            .stdout,
        text.clone() + "+"
    );
    c.set("tools.bash.max_output_bytes", json!(100));
    let mut keys = RAN.to_vec();
    keys.extend(["stderr_artifact_id", "stderr_size"]);
    let ran = c.gives(BASH, cmd("cat full >&2"), &keys);
    assert_eq!(
        (&ran["stderr_truncated"], &ran["stderr_size"]),
        (&json!(true), &json!(262_144))
    );
    assert!(
        ran["stderr"].as_str().is_some_and(|text| text.len() <= 200),
        "{ran}"
    );
    assert_eq!(
        c.gateway
            .cli(&["artifact", id(&ran["stderr_artifact_id"])])
            .ok()
            .stdout,
        text
    );
    let said = c.gives(
        BASH,
        json!({ "cmd": "cat full", "run_in_subtask": true }),
        &ENVELOPE,
    );
    assert_eq!(said["output"]["stdout_truncated"], true);
    assert_eq!(
        c.gateway
            .cli(&["artifact", id(&said["output"]["stdout_artifact_id"])])
            .ok()
            .stdout,
        text
    );
}

fn id(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no id: {value}"))
}
