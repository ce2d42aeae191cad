//! Tricks of quoting and expansion: whatever the text looks like, what runs is confined.

use serde_json::json;

use super::{Yard, bash_argv, text};
use crate::harness::tree;

/// Each reads the canary or makes `marker`; `$OUT` is the folder outside.
const TRICKS: &[&str] = &[
    "cat $OUT/secret",
    "c=cat; f=$OUT/sec; $c ${f}ret",
    "IFS=,; x=cat,$OUT/secret; $x",
    "cat${IFS}$OUT/secret",
    "{cat,$OUT/secret}",
    "cat $OUT/s?cre*",
    "cat $OUT/[r-t]ecret",
    "cat ${OUT}/se''cr\"e\"t",
    "cat $OUT/$'\\x73\\145cret'",
    "$(printf '\\x63\\141t') \"$OUT/$(printf '\\163ecret')\"",
    "eval \"$(echo Y2F0ICRPVVQvc2VjcmV0 | base64 -d)\"",
    "cat <(cat $OUT/secret)",
    "cat < $OUT/secret",
    "read -r line < $OUT/secret; echo \"$line\"",
    "mapfile -t lines < $OUT/secret; printf '%s\\n' \"${lines[@]}\"",
    "echo \"$(< $OUT/secret)\"",
    "cat <<< \"$(cat $OUT/secret)\"",
    "printf '%s\\n' $OUT/*",
    "shopt -s expand_aliases; alias look='cat'\nlook $OUT/secret",
    ". $OUT/secret",
    "source /proc/self/root$OUT/secret",
    "bash -c 'cat $OUT/secret'",
    "f() { cat $OUT/secret; }; export -f f; bash -c f",
    "echo 'cat $OUT/secret' > env.sh; BASH_ENV=./env.sh bash -c :",
    "ENV=./env.sh; echo 'cat $OUT/secret' > env.sh; export ENV; sh -i < /dev/null",
    "trap 'cat $OUT/secret' EXIT",
    "PROMPT_COMMAND='cat $OUT/secret' bash --norc -i <<< :",
    "PS4='$(cat $OUT/secret)'; set -x; :",
    "coproc cat $OUT/secret; cat <&${COPROC[0]}",
    "ln -s $OUT/secret near; cat near",
    "ln -s $OUT out; cd out && cat secret",
    "cd $OUT && cat secret",
    "cd -P ../outside; cat secret",
    "pushd $OUT > /dev/null; cat secret",
    "CDPATH=$OUT/..; cd outside > /dev/null; cat secret",
    "tar cPf - $OUT/secret | tar xPOf -",
    "dd if=$OUT/secret status=none",
    "exec 9< $OUT/secret; cat <&9",
    "xargs -a $OUT/secret echo",
    "perl -pe 1 $OUT/secret",
    "compgen -f $OUT/",
    "hash -p /bin/cat look; look $OUT/secret",
    "echo x > $OUT/marker",
    "echo x >> $OUT/secret",
    ": > $OUT/secret",
    "set -o noclobber; echo x >| $OUT/secret",
    "exec 3<> $OUT/marker",
    "echo x | tee $OUT/marker",
    "mkdir $OUT/marker",
    "ln -s x $OUT/marker",
    "rm $OUT/secret",
    "mv $OUT/secret $OUT/marker",
    "install -D /dev/null $OUT/marker",
    "(umask 0; cp /etc/passwd $OUT/marker)",
    "echo x > ../outside/marker",
];

#[test]
fn no_trick_of_the_shell_reads_or_changes_what_is_outside() {
    let yard = Yard::new();
    for trick in TRICKS {
        yard.lay_out();
        let script = format!("export OUT={}\n{trick}", text(&yard.outside()));
        let before = tree(&yard.outside());
        let confined = yard.bash(&script);
        assert!(
            !confined.text.contains(&yard.canary),
            "{trick}: {confined:?}"
        );
        assert!(tree(&yard.outside()) == before, "{trick}: {confined:?}");
        let free = yard.freely(&bash_argv(&script));
        let worked = free.text.contains(&yard.canary) || tree(&yard.outside()) != before;
        assert!(worked, "control of {trick}: {free:?}");
    }
    yard.assert_well();
}

/// What the gateway's own environment holds does not steer the shell it starts.
#[test]
fn the_gateways_environment_does_not_reach_the_shell() {
    let home = crate::harness::Home::new();
    let evil = home.outside("evil.sh");
    std::fs::write(&evil, "echo steered\n").expect("a script");
    let mut command = crate::harness::up(&home);
    for name in [
        "BASH_ENV",
        "ENV",
        "LD_PRELOAD",
        "PYTHONSTARTUP",
        "SHELLOPTS",
        "API_KEY",
    ] {
        // An LD_PRELOAD that is no library is only a complaint, which would be seen.
        command.env(name, &evil);
    }
    command.env("BASH_FUNC_ls%%", "() { echo steered; }");
    let gateway = crate::harness::Gateway::from(home, command);
    let said = gateway.call("bash", json!({ "cmd": "ls; env; echo done" }));
    let shown = said["result"].to_string();
    assert!(shown.contains("done") && said["ok"] == true, "{said}");
    for word in ["steered", "evil.sh", "API_KEY"] {
        assert!(!shown.contains(word), "{word}: {said}");
    }
}

/// `deny_paths` reads text, which quoting hides; behind it the sandbox stands.
#[test]
fn hiding_a_denied_name_still_reveals_nothing() {
    let yard = Yard::with(
        "[tools.bash]\ndeny_paths = [\"owner.token\", \"vault.key\", \"config.toml\"]\n",
    );
    let home = yard.gateway.home.path();
    for (name, hidden) in [
        ("owner.token", "own''er.tok\"e\"n"),
        ("vault.key", "v?ult.k*"),
        ("config.toml", "c\\onfig.$(echo toml)"),
    ] {
        let plain = yard.gateway.call(
            "bash",
            json!({ "cmd": format!("cat {}/{name}", text(&home)) }),
        );
        assert_eq!(
            (&plain["ok"], &plain["code"]),
            (&json!(false), &json!("forbidden")),
            "{plain}"
        );
        let said = yard.bash(&format!("cat {}/{hidden}", text(&home)));
        assert_ne!(said.code, 0, "{name}");
        assert_eq!(said.stdout, "", "{name}");
        // Quoting does get past the words, where the sandbox has nothing against it.
        yard.put(name, "mine\n", 0o644);
        assert_eq!(
            yard.bash(&format!("cat ./{hidden}")).stdout,
            "mine\n",
            "{name}"
        );
    }
}
