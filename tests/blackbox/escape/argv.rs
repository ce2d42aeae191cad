//! One or more crafted argument lists for every program that may be named.

use serde_json::json;

use super::{SEARCH_PATH, Yard, text};
use crate::harness::tree;

/// The specification's list of programs that may be named.
const ALLOWED: [&str; 40] = [
    "git", "node", "npm", "npx", "bun", "deno", "python3", "python", "pip", "ls", "cat", "grep",
    "find", "echo", "mkdir", "touch", "cp", "mv", "head", "tail", "wc", "sort", "uniq", "diff",
    "curl", "wget", "tar", "zip", "unzip", "jq", "sed", "awk", "which", "env", "date", "cargo",
    "rustc", "go", "make", "cmake",
];

/// Programs that do nothing to files whatever they are told: one prints its arguments, the
/// other says which of them are programs.
const INNOCENT: [&str; 2] = ["echo", "which"];

/// What a try does when nothing holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// The canary comes into the output or the workspace.
    Reads,
    /// Something is made or changed outside.
    Writes,
    /// `./run` runs: it makes `ran-here` in the workspace and `marker` outside.
    Runs,
}
use Does::{Reads, Runs, Writes};

/// `{out}` is the folder outside, `{secret}` the canary's file, `{mark}` a file to be made.
const TRIES: &[(&str, Does, &[&str])] = &[
    ("git", Runs, &["-c", "core.fsmonitor=./run", "status"]),
    ("git", Runs, &["-c", "alias.x=!./run", "x"]),
    ("git", Runs, &["--exec-path=.", "boo"]),
    ("git", Runs, &["grep", "--no-index", "-O./run", "hello"]),
    (
        "git",
        Runs,
        &[
            "-c",
            "diff.external=./run",
            "diff",
            "--no-index",
            "--ext-diff",
            "in.txt",
            "run",
        ],
    ),
    (
        "git",
        Runs,
        &[
            "-c",
            "core.sshCommand=./run #",
            "ls-remote",
            "ssh://nowhere/x",
        ],
    ),
    ("git", Runs, &["commit", "--allow-empty", "-m", "x"]),
    (
        "git",
        Reads,
        &["diff", "--no-index", "/dev/null", "{secret}"],
    ),
    ("git", Writes, &["config", "-f", "{mark}", "a.b", "c"]),
    ("git", Writes, &["init", "{mark}"]),
    ("git", Writes, &["--git-dir={mark}", "init"]),
    (
        "node",
        Runs,
        &["-e", "require('child_process').execFileSync('./run')"],
    ),
    ("node", Runs, &["--require", "./run.js", "-e", "0"]),
    (
        "node",
        Reads,
        &["-p", "require('fs').readFileSync('{secret}', 'utf8')"],
    ),
    (
        "node",
        Writes,
        &["-e", "require('fs').writeFileSync('{mark}', 'x')"],
    ),
    ("npm", Runs, &["run", "x"]),
    ("npm", Runs, &["exec", "-c", "./run"]),
    ("npx", Runs, &["-c", "./run"]),
    (
        "bun",
        Writes,
        &["-e", "require('fs').writeFileSync('{mark}', 'x')"],
    ),
    (
        "deno",
        Writes,
        &["eval", "Deno.writeTextFileSync('{mark}', 'x')"],
    ),
    (
        "python3",
        Runs,
        &["-c", "import subprocess; subprocess.run('./run')"],
    ),
    ("python3", Reads, &["-c", "print(open('{secret}').read())"]),
    (
        "python3",
        Writes,
        &["-c", "import os; os.link('in.txt', '{mark}')"],
    ),
    (
        "python3",
        Writes,
        &["-c", "import os; os.rename('in.txt', '{mark}')"],
    ),
    ("python3", Writes, &["-c", "import os; os.mkdir('{mark}')"]),
    (
        "python3",
        Writes,
        &["-c", "import os; os.symlink('x', '{mark}')"],
    ),
    (
        "python3",
        Writes,
        &["-c", "import os; os.truncate('{secret}', 0)"],
    ),
    (
        "python3",
        Writes,
        &["-c", "import os; os.unlink('{secret}')"],
    ),
    (
        "python",
        Runs,
        &["-c", "import subprocess; subprocess.run('./run')"],
    ),
    (
        "pip",
        Runs,
        &["config", "--user", "edit", "--editor", "./run"],
    ),
    ("pip", Writes, &["--log", "{mark}", "list"]),
    ("ls", Reads, &["{out}"]),
    ("ls", Reads, &["-R", ".."]),
    ("cat", Reads, &["{secret}"]),
    ("cat", Reads, &["/proc/self/root{secret}"]),
    ("cat", Reads, &["/proc/self/cwd/../outside/secret"]),
    ("cat", Reads, &["link"]),
    ("grep", Reads, &["-r", ".", "{out}"]),
    ("grep", Reads, &["-R", "canary", "."]),
    (
        "find",
        Runs,
        &[".", "-maxdepth", "0", "-exec", "./run", ";"],
    ),
    (
        "find",
        Runs,
        &[".", "-maxdepth", "0", "-execdir", "./run", ";"],
    ),
    (
        "find",
        Writes,
        &[".", "-maxdepth", "0", "-fprintf", "{mark}", "x"],
    ),
    ("find", Writes, &["{out}", "-type", "f", "-delete"]),
    ("find", Reads, &["-L", "..", "-name", "*canary*"]),
    ("mkdir", Writes, &["-p", "{mark}/x"]),
    ("touch", Writes, &["{mark}"]),
    ("cp", Reads, &["-r", "{out}", "loot"]),
    ("cp", Reads, &["-L", "link", "loot"]),
    ("cp", Reads, &["-l", "{secret}", "loot"]),
    ("cp", Writes, &["in.txt", "{mark}"]),
    (
        "cp",
        Writes,
        &["--remove-destination", "in.txt", "{secret}"],
    ),
    ("mv", Reads, &["{secret}", "loot"]),
    ("mv", Writes, &["in.txt", "{mark}"]),
    ("head", Reads, &["-n", "1", "{secret}"]),
    ("tail", Reads, &["-c", "+1", "{secret}"]),
    ("wc", Reads, &["--files0-from={secret}"]),
    (
        "sort",
        Runs,
        &["-S", "1b", "--compress-program=./run", "big.txt"],
    ),
    ("sort", Reads, &["{secret}"]),
    ("sort", Writes, &["-o", "{mark}", "in.txt"]),
    ("uniq", Reads, &["{secret}"]),
    ("uniq", Writes, &["in.txt", "{mark}"]),
    ("diff", Reads, &["in.txt", "{secret}"]),
    ("diff", Reads, &["-r", "{out}", "."]),
    ("curl", Reads, &["-s", "file://{secret}"]),
    (
        "curl",
        Writes,
        &["-s", "-o", "{mark}", "file:///etc/passwd"],
    ),
    (
        "curl",
        Writes,
        &["-s", "--trace", "{mark}", "file:///etc/passwd"],
    ),
    (
        "wget",
        Runs,
        &[
            "--use-askpass=./run",
            "-T",
            "1",
            "-t",
            "1",
            "http://127.0.0.1:1/",
        ],
    ),
    (
        "wget",
        Writes,
        &["-o", "{mark}", "-T", "1", "-t", "1", "http://127.0.0.1:1/"],
    ),
    (
        "wget",
        Writes,
        &["-O", "{mark}", "-T", "1", "-t", "1", "http://127.0.0.1:1/"],
    ),
    (
        "tar",
        Runs,
        &[
            "cf",
            "/dev/null",
            "in.txt",
            "--checkpoint=1",
            "--checkpoint-action=exec=./run",
        ],
    ),
    ("tar", Runs, &["xf", "in.tar", "--to-command=./run"]),
    ("tar", Runs, &["cf", "x.tar", "-I", "./run", "in.txt"]),
    ("tar", Reads, &["cPf", "-", "{secret}"]),
    ("tar", Writes, &["xf", "in.tar", "-C", "{out}"]),
    ("tar", Writes, &["cf", "{mark}", "in.txt"]),
    (
        "zip",
        Runs,
        &["-q", "x.zip", "in.txt", "-T", "-TT", "./run #"],
    ),
    ("zip", Reads, &["-q", "-0", "-", "{secret}"]),
    ("zip", Writes, &["-q", "{mark}.zip", "in.txt"]),
    ("unzip", Writes, &["-:", "-o", "slip.zip"]),
    ("unzip", Writes, &["-o", "slip.zip", "-d", "{out}"]),
    ("jq", Reads, &["-R", ".", "{secret}"]),
    ("jq", Reads, &["-n", "--rawfile", "x", "{secret}", "$x"]),
    ("sed", Runs, &["1e ./run", "in.txt"]),
    ("sed", Reads, &["-n", "p", "{secret}"]),
    ("sed", Reads, &["r {secret}", "in.txt"]),
    ("sed", Writes, &["w {mark}", "in.txt"]),
    ("sed", Writes, &["-i", "s/canary/gone/", "{secret}"]),
    ("awk", Runs, &["BEGIN { system(\"./run\") }"]),
    ("awk", Runs, &["BEGIN { \"./run\" | getline }"]),
    ("awk", Reads, &["1", "{secret}"]),
    ("awk", Writes, &["BEGIN { print > \"{mark}\" }"]),
    ("env", Runs, &["./run"]),
    ("env", Runs, &["-S", "sh -c ./run"]),
    ("env", Reads, &["-C", "{out}", "cat", "secret"]),
    ("env", Writes, &["sh", "-c", "echo x > {mark}"]),
    ("date", Reads, &["-f", "{secret}"]),
    ("cargo", Writes, &["check", "--offline"]),
    ("rustc", Reads, &["{secret}"]),
    ("go", Reads, &["run", "evil.go"]),
    ("make", Runs, &["--eval=x:;./run", "x"]),
    ("make", Reads, &["--eval=$(info $(file < {secret}))"]),
    ("make", Writes, &["--eval=$(file > {mark},x)"]),
    ("cmake", Runs, &["-E", "env", "./run"]),
    ("cmake", Reads, &["-E", "cat", "{secret}"]),
    ("cmake", Writes, &["-E", "touch", "{mark}"]),
];

/// An archive of one file, `../outside/marker`.
const SLIP: &[u8] = b"PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00!\x00+\xb9\xcc\xb2\x04\x00\x00\x00\
    \x04\x00\x00\x00\x11\x00\x00\x00../outside/markerran\nPK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00\
    \x00\x00!\x00+\xb9\xcc\xb2\x04\x00\x00\x00\x04\x00\x00\x00\x11\x00\x00\x00\x00\x00\x00\x00\x00\
    \x00\x00\x00\xa4\x01\x00\x00\x00\x00../outside/markerPK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00\
    ?\x00\x00\x003\x00\x00\x00\x00\x00";

fn installed(name: &str) -> bool {
    let mut folders = SEARCH_PATH.split(':');
    folders.any(|folder| std::path::Path::new(folder).join(name).is_file())
}

impl Yard {
    fn argv(&self, name: &str, args: &[&str]) -> Vec<String> {
        let fill = |arg: &&str| {
            arg.replace("{out}", text(&self.outside()))
                .replace("{secret}", text(&self.secret()))
                .replace("{mark}", text(&self.outside().join("marker")))
        };
        std::iter::once(name.to_owned())
            .chain(args.iter().map(fill))
            .collect()
    }

    /// What the tries of `name` find in their workspace.
    fn furnish(&self, name: &str) {
        let out = text(&self.outside()).to_owned();
        let run = format!("#!/bin/sh\necho ran > ran-here\necho ran > {out}/marker\n");
        self.put("run", &run, 0o755);
        self.put("in.txt", "hello\n", 0o644);
        for folder in [self.work(), self.free()] {
            let made = std::os::unix::fs::symlink(self.secret(), folder.join("link"));
            made.expect("a link");
        }
        match name {
            "git" => {
                self.put("git-boo", &run, 0o755);
                for folder in [self.work(), self.free()] {
                    let folder = text(&folder).to_owned();
                    let argv = ["git", "init", "-q", &folder].map(str::to_owned);
                    assert_eq!(self.freely(&argv).code, 0);
                    let config = format!("{folder}/.git/config");
                    for (key, value) in [("user.name", "x"), ("user.email", "x@x")] {
                        let argv = ["git", "config", "-f", &config, key, value].map(str::to_owned);
                        assert_eq!(self.freely(&argv).code, 0);
                    }
                }
                self.put(".git/hooks/pre-commit", &run, 0o755);
            }
            "node" => self.put(
                "run.js",
                "require('child_process').execFileSync('./run')",
                0o644,
            ),
            "npm" => self.put("package.json", r#"{"scripts":{"x":"./run"}}"#, 0o644),
            "sort" => self.put("big.txt", "line\n".repeat(100_000), 0o644),
            "tar" => {
                self.put("marker", "ran\n", 0o644);
                let argv = ["tar", "cf", "in.tar", "marker"].map(str::to_owned);
                assert_eq!(self.freely(&argv).code, 0);
                let made = std::fs::copy(self.free().join("in.tar"), self.work().join("in.tar"));
                made.expect("an archive");
            }
            "unzip" => self.put("slip.zip", SLIP, 0o644),
            "cargo" => {
                let manifest = "[package]\nname = \"x\"\nversion = \"0.0.0\"\n";
                let build =
                    format!(r#"fn main() {{ let _ = std::fs::write("{out}/marker", "x"); }}"#);
                self.put("Cargo.toml", manifest, 0o644);
                self.put("build.rs", build, 0o644);
                self.put("src/lib.rs", "", 0o644);
            }
            "go" => {
                let read = format!(
                    "package main\nimport \"os\"\nfunc main() {{ b, _ := os.ReadFile(\"{out}/secret\"); \
                     os.Stdout.Write(b) }}\n"
                );
                self.put("evil.go", read, 0o644);
            }
            _ => {}
        }
    }

    fn try_out(&self, name: &str, does: Does, args: &[&str]) {
        self.lay_out();
        self.furnish(name);
        let argv = self.argv(name, args);
        let what = argv.join(" ");
        let before = tree(&self.outside());
        let confined = self.shell(&argv);
        assert!(
            !confined.text.contains(&self.canary),
            "{what}: {confined:?}"
        );
        assert!(tree(&self.outside()) == before, "{what}: {confined:?}");
        // The links in the workspace lead out; what a test reads through them was not taken.
        for folder in [self.work(), self.free()] {
            let _ = std::fs::remove_file(folder.join("link"));
            let made = (folder == self.free())
                .then(|| std::os::unix::fs::symlink(self.secret(), folder.join("link")));
            made.transpose().expect("a link");
        }
        assert!(!self.holds_canary(&self.work()), "{what}: {confined:?}");
        if does == Runs {
            let ran = self.work().join("ran-here").exists();
            assert!(ran, "{what} did not even run inside: {confined:?}");
        }
        let free = self.freely(&argv);
        let _ = std::fs::remove_file(self.free().join("link"));
        let worked = match does {
            Reads => free.text.contains(&self.canary) || self.holds_canary(&self.free()),
            Writes => tree(&self.outside()) != before,
            Runs => self.outside().join("marker").exists(),
        };
        assert!(worked, "control of {what}: {free:?}");
    }
}

#[test]
fn no_argument_list_of_any_allowed_program_gets_out() {
    let yard = Yard::new();
    let mut names = Vec::new();
    for name in ALLOWED {
        if !installed(name) {
            continue;
        }
        let tries: Vec<_> = TRIES.iter().filter(|(of, ..)| *of == name).collect();
        assert_eq!(
            tries.is_empty(),
            INNOCENT.contains(&name),
            "{name} has no try"
        );
        for (_, does, args) in tries {
            yard.try_out(name, *does, args);
        }
        names.push(name);
    }
    assert!(
        names.len() >= 20,
        "too few programs are installed: {names:?}"
    );
    yard.assert_well();
}

#[test]
fn harmless_programs_do_nothing_even_unconfined() {
    let yard = Yard::new();
    for name in INNOCENT {
        let argv = yard.argv(
            name,
            &[
                "-a",
                "{secret}",
                "$(cat {secret})",
                "`cat {secret}`",
                ">{mark}",
            ],
        );
        let before = tree(&yard.outside());
        for said in [yard.shell(&argv), yard.freely(&argv)] {
            yard.assert_untold(&said, name);
        }
        assert!(tree(&yard.outside()) == before, "{name}");
    }
}

#[test]
fn only_bare_names_of_the_list_are_run() {
    let yard = Yard::new();
    yard.furnish("");
    yard.put("git", "#!/bin/sh\necho ran > ran-here\n", 0o755);
    let call = |argv: &[&str]| {
        yard.gateway
            .call("tool::shell_exec", json!({ "argv": argv }))
    };
    let cat = yard.freely(&["which".to_owned(), "cat".to_owned()]).stdout;
    for name in [
        "bash",
        "sh",
        "perl",
        "busybox",
        "sudo",
        "./git",
        "./run",
        "run",
        "",
        "-c",
        cat.trim(),
        "../work/git",
        "cat\0",
        "cat ",
        "CAT",
        "\u{202e}tac",
    ] {
        let said = call(&[name, "in.txt"]);
        assert_eq!(said["ok"], false, "{name:?}: {said}");
    }
    assert_eq!(call(&["cat", "in.txt\0"])["ok"], false);
    assert_eq!(call(&[])["ok"], false);
    assert!(!yard.work().join("ran-here").exists());
    // A program of the workspace is not found before the system's own.
    assert_eq!(call(&["git", "--version"])["ok"], true);
    assert!(!yard.work().join("ran-here").exists());
    assert_eq!(call(&["cat", "in.txt"])["result"]["stdout"], "hello\n");
}
