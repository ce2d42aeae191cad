//! The commands. Each starts in an empty folder, needs no network, and leaves the same files
//! wherever it runs.

/// A command: what it shows, the programs it needs beside a POSIX shell's usual ones, its line.
pub struct Row {
    pub name: &'static str,
    pub needs: &'static str,
    pub line: &'static str,
}

const fn row(name: &'static str, needs: &'static str, line: &'static str) -> Row {
    Row { name, needs, line }
}

/// Dates and names that make commits the same everywhere.
pub const GIT: &[(&str, &str)] = &[
    ("GIT_AUTHOR_DATE", "2024-01-02T03:04:05Z"),
    ("GIT_COMMITTER_DATE", "2024-01-02T03:04:05Z"),
    ("GIT_AUTHOR_NAME", "A"),
    ("GIT_AUTHOR_EMAIL", "a@example.org"),
    ("GIT_COMMITTER_NAME", "A"),
    ("GIT_COMMITTER_EMAIL", "a@example.org"),
];

pub const ROWS: &[Row] = &[
    // Modes, owners, times.
    row("chmod", "", "touch f && chmod 640 f"),
    row(
        "chmod of a tree",
        "",
        "mkdir -p a/b && touch a/b/c && chmod -R u=rwX,go= a",
    ),
    row(
        "chmod through a link",
        "",
        "touch f && ln -s f l && chmod 600 l",
    ),
    row("chmod of what is missing", "", "chmod 600 missing"),
    row(
        "chmod of a folder with setgid and sticky bits",
        "",
        "mkdir d && chmod g+s,+t d",
    ),
    row(
        "chown to oneself",
        "",
        "touch f && ln -s f l && chown $(id -u):$(id -g) f && chown -h $(id -u) l && chgrp -R $(id -g) .",
    ),
    row("touch", "", "touch -d @1000000000 f && touch -r f g"),
    row(
        "touch of a link",
        "",
        "ln -s nowhere l && touch -h -d @1000000000 l",
    ),
    row(
        "touch -a and -m",
        "",
        "touch -d @1000000000 f && touch -a f && touch -m -d @1100000000 f",
    ),
    row(
        "cp -p",
        "",
        "touch -d @1000000000 f && chmod 751 f && cp -p f g",
    ),
    row(
        "cp -a",
        "",
        "mkdir -p a/b && echo x > a/b/c && ln -s c a/b/l && ln a/b/c a/b/h && chmod 500 a/b/c && touch -d @1000000000 a/b/c a/b a && cp -a a z",
    ),
    row(
        "mv of a tree",
        "",
        "mkdir -p a/b && echo x > a/b/c && mv a z && mv z/b/c z/d",
    ),
    row(
        "install",
        "",
        "echo x > f && install -D -m 750 f d/e/g && install -d -m 711 h",
    ),
    row("mkdir -m", "", "mkdir -m 700 a && mkdir -p -m 711 b/c"),
    row("umask", "", "umask 077 && touch f && mkdir d"),
    row(
        "mktemp",
        "",
        "t=$(mktemp) && echo x > $t && cp $t f && rm $t && d=$(mktemp -d) && rmdir $d",
    ),
    row(
        "ln",
        "",
        "echo x > f && ln f g && ln -s f h && ln -sfn . here",
    ),
    row("mkfifo", "", "mkfifo p && (echo x > p &) && cat p > f"),
    row(
        "truncate and dd",
        "",
        "truncate -s 10 f && dd if=/dev/zero of=g bs=5 count=2 status=none && dd if=g of=g conv=notrunc bs=1 count=1 status=none",
    ),
    row(
        "rm of a closed tree",
        "",
        "mkdir -p a/b && touch a/b/c && chmod 500 a/b && chmod 700 a/b && rm -rf a && touch done",
    ),
    // Text.
    row(
        "sed -i",
        "",
        "echo one > f && chmod 640 f && sed -i s/one/two/ f && sed -i.bak s/two/three/ f",
    ),
    row("sed without a shell", "", "sed --version"),
    row(
        "awk",
        "awk",
        "seq 5 > f && awk '{ s += $1; print > \"g\" } END { print s > \"h\" }' f",
    ),
    row(
        "perl -pi",
        "perl",
        "echo one > f && perl -pi -e s/one/two/ f && perl -i.bak -pe s/two/three/ f",
    ),
    row(
        "patch",
        "patch",
        "printf 'a\\nb\\n' > f && printf 'a\\nc\\n' > g && touch -d @1000000000 f g; diff -u f g > d; patch -b f d && rm d",
    ),
    row(
        "diff says that files differ",
        "",
        "echo a > f && echo b > g && diff f g",
    ),
    row(
        "sort, uniq, tee",
        "",
        "printf 'b\\na\\na\\n' > f && sort -o f f && uniq -c f | tee g > /dev/null && sort f | split -l 1 - part-",
    ),
    row("grep finds nothing", "", "grep -r nothing ."),
    row(
        "find -exec and xargs",
        "",
        "mkdir -p a/b && touch a/1 a/b/2 && find a -type f -exec chmod 600 {} + && find a -type f -print0 | xargs -0 touch -d @1000000000 && find a -name 2 -delete",
    ),
    row("jq", "jq", "echo '{\"a\":[1,2]}' > f && jq -c .a f > g"),
    row("bc", "bc", "echo '2^70' | bc > f"),
    row("xxd", "xxd", "printf abc | xxd > f && xxd -r f > g"),
    row(
        "iconv and base64",
        "",
        "printf '\\344' | iconv -f latin1 -t utf-8 > f && base64 f > g && base64 -d g > h",
    ),
    row(
        "checksums",
        "",
        "echo x > f && sha256sum f > s && sha256sum -c s > /dev/null && md5sum f > m && cksum f > c",
    ),
    row(
        "openssl",
        "openssl",
        "echo x > f && openssl dgst -sha256 f > g && openssl genrsa -out key 1024 2> /dev/null && chmod 600 key && : > key",
    ),
    // Archives.
    row(
        "tar",
        "tar",
        "mkdir -p a/b && echo x > a/b/c && chmod 751 a/b/c && ln -s c a/b/l && touch -d @1000000000 a/b/c a/b && tar cf t.tar a && rm -r a && tar xf t.tar",
    ),
    row(
        "tar with gzip, keeping everything",
        "tar gzip",
        "mkdir a && echo x > a/f && chmod 640 a/f && touch -d @1000000000 a/f && tar czf t.tar.gz a && mkdir b && tar xpzf t.tar.gz -C b",
    ),
    row(
        "tar with xz",
        "tar xz",
        "echo x > f && tar cJf t.tar.xz f && mkdir b && tar xJf t.tar.xz -C b --touch",
    ),
    row(
        "tar with zstd",
        "tar zstd",
        "echo x > f && tar --zstd -cf t.tar.zst f && rm f && tar xf t.tar.zst",
    ),
    row(
        "zip and unzip",
        "zip unzip",
        "mkdir a && echo x > a/f && chmod 751 a/f && touch -d @1000000000 a/f && zip -qr z.zip a && rm -r a && unzip -q z.zip",
    ),
    row(
        "unzip of a script",
        "zip unzip",
        "printf '#!/bin/sh\\necho ran > out\\n' > run && chmod 755 run && zip -q z.zip run && rm run && unzip -qo z.zip && ./run",
    ),
    row(
        "gzip and gunzip",
        "gzip",
        "echo x > f && chmod 640 f && touch -d @1000000000 f && gzip -n f && gunzip -k f.gz",
    ),
    row(
        "bzip2",
        "bzip2",
        "echo x > f && chmod 640 f && touch -d @1000000000 f && bzip2 f && bunzip2 -k f.bz2",
    ),
    row(
        "xz",
        "xz",
        "echo x > f && chmod 640 f && touch -d @1000000000 f && xz f && unxz -k f.xz",
    ),
    row(
        "zstd",
        "zstd",
        "echo x > f && chmod 640 f && touch -d @1000000000 f && zstd -q f && rm f && zstd -qd f.zst",
    ),
    row(
        "cpio",
        "cpio",
        "echo x > f && touch -d @1000000000 f && echo f | cpio -o --quiet > a.cpio && rm f && cpio -imd --quiet < a.cpio",
    ),
    row(
        "rsync -a",
        "rsync",
        "mkdir -p a/b && echo x > a/b/c && chmod 751 a/b/c && touch -d @1000000000 a/b/c && rsync -a a/ z/",
    ),
    row(
        "ar",
        "ar",
        "echo x > f && ar rcD lib.a f && ar t lib.a > list",
    ),
    // Version control.
    row("git init", "git", "git init -q ."),
    row(
        "git config",
        "git",
        "git init -q . && git config user.name A && git config --global core.pager cat && git config --list --local > list",
    ),
    row(
        "git commit",
        "git",
        "git init -q -b main . && echo x > f && echo y > run && chmod 755 run && git add . && git commit -qm one",
    ),
    row(
        "git clone",
        "git",
        "git init -q -b main a && cd a && echo x > f && git add f && git commit -qm one && cd .. && git clone -q a b && cd b && git config remote.origin.url x",
    ),
    row(
        "git clone --bare and push",
        "git",
        "git init -q -b main a && cd a && echo x > f && git add f && git commit -qm one && git clone -q --bare . ../b.git && echo y > f && git commit -qam two && git push -q ../b.git main",
    ),
    row(
        "git branch, merge, stash, tag",
        "git",
        "git init -q -b main . && echo x > f && git add f && git commit -qm one && git checkout -qb b && echo y > g && git add g && git commit -qm two && git checkout -q main && git merge -q --no-ff -m three b && git tag -a v1 -m v1 && echo z > f && git stash -q && git stash pop -q",
    ),
    row(
        "git rebase",
        "git",
        "git init -q -b main . && echo x > f && git add f && git commit -qm one && git checkout -qb b && echo y > g && git add g && git commit -qm two && git checkout -q main && echo z > h && git add h && git commit -qm three && git rebase -q main b",
    ),
    row(
        "git gc",
        "git",
        "git init -q -b main . && echo x > f && git add f && git commit -qm one && git gc -q",
    ),
    row(
        "git worktree",
        "git",
        "git init -q -b main a && cd a && echo x > f && git add f && git commit -qm one && git worktree add -q --detach ../b && rm -rf .git",
    ),
    row(
        "git archive and apply",
        "git tar",
        "git init -q -b main . && echo x > f && git add f && git commit -qm one && git archive -o t.tar HEAD && echo y > f && git diff > d && git checkout -q f && git apply d",
    ),
    row(
        "a hook of git",
        "git",
        "git init -q -b main . && printf '#!/bin/sh\\necho ran > hook\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && echo x > f && git add f && git commit -qm one",
    ),
    row("git status without a repository", "git", "git status"),
    // Building and languages.
    row(
        "make",
        "make",
        "printf 'all: out\\nout: in\\n\\tcp -p in out\\n' > Makefile && echo x > in && touch -d @1000000000 in && make -s && make -s -q",
    ),
    row(
        "make in parallel",
        "make",
        "printf 'all: a b c d\\na b c d:\\n\\techo $@ > $@\\n' > Makefile && make -s -j4",
    ),
    row(
        "make fails",
        "make",
        "printf 'all:\\n\\tfalse\\n' > Makefile && make -s",
    ),
    row(
        "gcc",
        "gcc make ar",
        "printf '#include <stdio.h>\\nint main(void) { return puts(\"hi\") < 0; }\\n' > m.c && gcc -o m m.c && ./m > out && rm m",
    ),
    row(
        "python3",
        "python3",
        "python3 -c 'import os, shutil, tempfile, pathlib\npathlib.Path(\"f\").write_text(\"x\")\nos.utime(\"f\", (1e9, 1e9)); os.chmod(\"f\", 0o640)\nshutil.copy2(\"f\", \"g\"); shutil.copytree(\".\", \"d\", ignore=lambda *_: [\"d\"])\nwith tempfile.NamedTemporaryFile(dir=\".\") as t: os.fchmod(t.fileno(), 0o600)'",
    ),
    row(
        "python3 -m venv",
        "python3",
        "python3 -m venv --without-pip v && v/bin/python -c 'import sys; open(\"f\", \"w\").write(str(sys.prefix != sys.base_prefix))'",
    ),
    row(
        "python3 modules are compiled",
        "python3",
        "echo 'x = 1' > m.py && python3 -c 'import m' && python3 -m compileall -q .",
    ),
    row(
        "python3 subprocesses in sessions",
        "python3",
        "python3 -c 'import subprocess as s\nopen(\"f\", \"wb\").write(s.run([\"echo\", \"x\"], start_new_session=True, capture_output=True).stdout)'",
    ),
    row(
        "python3 zipfile and tarfile",
        "python3",
        "python3 -c 'import tarfile, os\nopen(\"f\", \"w\").write(\"x\"); os.utime(\"f\", (1e9, 1e9)); os.chmod(\"f\", 0o640)\nt = tarfile.open(\"t.tar\", \"w\"); t.add(\"f\"); t.close(); tarfile.open(\"t.tar\").extractall(\"d\")'",
    ),
    row(
        "pip install of a wheel",
        "python3 pip",
        "python3 -c 'import zipfile\nz = zipfile.ZipFile(\"demo-1.0-py3-none-any.whl\", \"w\")\nz.writestr(\"demo.py\", \"x = 1\\n\")\nd = \"demo-1.0.dist-info/\"\nz.writestr(d + \"METADATA\", \"Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n\")\nz.writestr(d + \"WHEEL\", \"Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n\")\nz.writestr(d + \"RECORD\", \"\")' && pip install -q --no-index --no-deps --no-compile --root-user-action=ignore --disable-pip-version-check --target site ./demo-1.0-py3-none-any.whl",
    ),
    row(
        "node",
        "node",
        "node -e 'const fs = require(\"fs\"); fs.writeFileSync(\"f\", \"x\"); fs.chmodSync(\"f\", 0o640); fs.utimesSync(\"f\", 1e9, 1e9); fs.copyFileSync(\"f\", \"g\"); fs.cpSync(\"f\", \"h\", { preserveTimestamps: true })'",
    ),
    row(
        "node starts a detached child",
        "node",
        "node -e 'require(\"child_process\").spawn(\"sh\", [\"-c\", \"echo x > f\"], { detached: true }).on(\"exit\", code => process.exit(code))'",
    ),
    row(
        "npm init and pack",
        "npm",
        "mkdir p && cd p && npm init -y > /dev/null && npm pack --silent > /dev/null",
    ),
    row(
        "npm install of a folder",
        "npm",
        "mkdir -p p a && echo '{\"name\":\"p\",\"version\":\"1.0.0\",\"bin\":\"run.js\"}' > p/package.json && printf '#!/usr/bin/env node\\n' > p/run.js && cd a && echo '{\"name\":\"a\",\"version\":\"1.0.0\"}' > package.json && npm install --silent --offline --no-audit --no-fund --install-links ../p",
    ),
    row(
        "npm run",
        "npm",
        "echo '{\"name\":\"a\",\"version\":\"1.0.0\",\"scripts\":{\"x\":\"echo x > f && chmod 600 f\"}}' > package.json && npm run --silent x",
    ),
    row(
        "cargo build",
        "cargo",
        "cargo init -q --vcs none --name a . && cargo build -q --offline && rm -rf target",
    ),
    row(
        "go build",
        "go",
        "printf 'package main\\nfunc main() {}\\n' > m.go && GOFLAGS=-mod=mod GO111MODULE=off GOCACHE=$TMPDIR/c go build -o m m.go && rm m",
    ),
    row(
        "cmake",
        "cmake make",
        "printf 'cmake_minimum_required(VERSION 3.10)\\nproject(x NONE)\\nfile(WRITE out x)\\n' > CMakeLists.txt && cmake -S . -B b > /dev/null && rm -r b",
    ),
    row(
        "sqlite3",
        "sqlite3",
        "sqlite3 d.db 'create table t(x); insert into t values (1); select * from t' > f && sqlite3 d.db 'pragma journal_mode = wal' > /dev/null",
    ),
    // Processes.
    row(
        "timeout ends only its command",
        "",
        "timeout 0.1 sleep 100; echo after $? > f",
    ),
    row("timeout as the whole command", "", "timeout 5 true"),
    row(
        "timeout passes the status on",
        "",
        "timeout 5 sh -c 'exit 3'",
    ),
    row(
        "timeout -s KILL",
        "",
        "timeout -s KILL 0.1 sleep 100; echo $? > f",
    ),
    row("setsid", "setsid", "setsid -w sh -c 'echo x > f; exit 4'"),
    row(
        "kill 0 in a session",
        "setsid",
        "setsid -w sh -c 'trap \"\" TERM; kill -TERM 0'; echo after > f",
    ),
    row(
        "job control",
        "",
        "set -m; sh -c 'echo x > f' & wait %1; (sleep 100; exit 1) & kill %1; wait %1; echo $? > g",
    ),
    row(
        "nohup and xargs -P",
        "",
        "nohup sh -c 'echo x > f' > /dev/null 2>&1; seq 4 | xargs -P 4 -I N sh -c 'echo N > fN'",
    ),
    row("flock", "flock", "flock lock sh -c 'echo x > f'"),
    row(
        "nice and env",
        "",
        "nice -n 5 env -i /bin/sh -c 'echo x > f'",
    ),
    row(
        "a background job and wait",
        "",
        "sh -c 'sleep 0.05; echo x > f' & wait $! && kill -0 $$",
    ),
    // Network clients without a network, and their configuration.
    row(
        "wget of nothing",
        "wget",
        "wget --version > /dev/null && touch f",
    ),
    row(
        "wget cannot reach a closed port",
        "wget",
        "wget -q -t 1 -T 2 http://127.0.0.1:9/",
    ),
    row(
        "curl cannot reach a closed port",
        "curl",
        "curl -s -m 2 http://127.0.0.1:9/",
    ),
    row(
        "curl of a file",
        "curl",
        "echo x > f && curl -s -R -o g file://$PWD/f",
    ),
    row("file", "file", "printf '#!/bin/sh\\n' > f && file -b f > g"),
    row(
        "date and time zones",
        "",
        "TZ=Europe/Berlin date -d @1000000000 > f && date -u -d @0 +%F > g",
    ),
    row(
        "locale and terminfo",
        "",
        "locale > /dev/null && TERM=xterm tput cols > /dev/null; touch f",
    ),
    row(
        "bash reads its start files",
        "",
        "bash -lc true && bash -ic true 2> /dev/null; touch f",
    ),
];
