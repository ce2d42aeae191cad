"""The .deb on a machine that systemd runs: service, upgrade, removal, purge."""

import dataclasses
import json
import subprocess
import time
from pathlib import Path

from dist import deb
from dist.release import Release

from .box import Box, Failed, Network
from .roots import prepared
from .scenario import contains, equal

SYSTEM = "debian-12-systemd"
HOME = "/var/lib/manyhands"


class Machine:
    """A copy of a system that was booted, with the folder of the packages at /mnt."""

    def __init__(self, box: Box, network: Network, packages: Path) -> None:
        self.log = open(box.scratch / "console", "wb")
        command = ["systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", f"--directory={box.root}"]
        command += [f"--network-namespace-path={network.path}", f"--bind-ro={packages}:/mnt", "--console=pipe"]
        # The container's own filter is older than Landlock, which the sandbox of the tools needs.
        command.append("--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self")
        self.nspawn = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.leader = 0
        self.eventually("the machine boots", self.booted)

    def booted(self) -> bool:
        children = Path(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children").read_text().split()
        if self.nspawn.poll() is not None or not children:
            return False
        self.leader = int(children[0])
        return self.run("systemctl", "is-system-running", fails=None).strip() in ("running", "degraded")

    def eventually(self, what: str, holds: callable) -> None:
        until = time.monotonic() + 120
        while not holds():
            if time.monotonic() > until or self.nspawn.poll() is not None:
                self.log.flush()
                raise Failed(f"never: {what}\n{Path(self.log.name).read_text(errors='replace')[-3000:]}")
            time.sleep(0.1)

    def run(self, *command: str, fails: bool | None = False) -> str:
        """`fails` is whether it has to; None takes both."""
        inside = ["nsenter", f"--target={self.leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
        ran = subprocess.run([*inside, *command], capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL)
        if fails is not None and (ran.returncode != 0) != fails:
            raise Failed(f"{' '.join(command)} ended with {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def manyhands(self, *arguments: str) -> str:
        return self.run("runuser", "-u", "manyhands", "--", "manyhands", "--home", HOME, *arguments)

    def process(self) -> str:
        return self.run("systemctl", "show", "--property=MainPID", "--value", "manyhands").strip()

    def answers(self) -> bool:
        return bool(self.run("runuser", "-u", "manyhands", "--", "manyhands", "--home", HOME, "agents", fails=None))

    def close(self) -> None:
        self.nspawn.terminate()
        try:
            self.nspawn.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.nspawn.kill()
            self.nspawn.wait()


def packages(release: Release, folder: Path) -> None:
    """The same program as an older and a newer version."""
    folder.mkdir(parents=True)
    for version in ("0.0.1", "999.0.0"):
        for data in deb.build(dataclasses.replace(release, version=version), [], b"", preset=0).values():
            (folder / f"{version}.deb").write_bytes(data)


def check(release: Release, work: Path) -> float:
    base = prepared(SYSTEM, work / "dist-roots")
    network = Network()
    try:
        with Box(base, work / "dist-box", network, booted=True) as box:
            packages(release, box.scratch / "packages")
            machine = Machine(box, network, box.scratch / "packages")
            try:
                return live(machine)
            finally:
                machine.close()
    finally:
        network.close()


def live(machine: Machine) -> float:
    started = time.monotonic()
    contains(machine.run("dpkg", "-i", "/mnt/0.0.1.deb"), "link to log in", "the package says how to log in")
    machine.eventually("the service answers after the installation", machine.answers)
    machine.manyhands("call", "gsv__WriteFile", '{"path":"memory/a.md","content":"kept"}')
    seconds = time.monotonic() - started

    owner = machine.run("stat", "-c", "%U", f"/proc/{machine.process()}").strip()
    equal(owner, "manyhands", "the service runs as its own user")
    # The sandbox of the tools works inside of the hardened unit.
    ran = json.loads(machine.manyhands("call", "bash", '{"cmd":"echo $((40 + 2))"}'))
    contains(json.dumps(ran), "42", "a program runs in the sandbox of the service")
    exposure = machine.run("systemd-analyze", "security", "--no-pager", "manyhands").splitlines()[-1]
    print(f"  {exposure.strip()}")

    before = machine.process()
    machine.run("dpkg", "-i", "/mnt/999.0.0.deb")
    machine.eventually("the new version answers", lambda: machine.process() not in (before, "0") and machine.answers())
    contains(machine.manyhands("call", "gsv__ReadFile", '{"path":"memory/a.md"}'), "kept", "an upgrade keeps the data")

    machine.run("systemctl", "disable", "--now", "--quiet", "manyhands")
    machine.run("dpkg", "-i", "/mnt/999.0.0.deb")
    equal(machine.process(), "0", "an upgrade does not start what the administrator stopped")

    machine.run("dpkg", "--remove", "manyhands")
    machine.run("test", "-e", f"{HOME}/manyhands.db")
    machine.run("dpkg", "-i", "/mnt/999.0.0.deb")
    machine.eventually("the service answers after it was installed again", machine.answers)
    contains(machine.manyhands("call", "gsv__ReadFile", '{"path":"memory/a.md"}'), "kept", "a removal keeps the data")

    machine.run("dpkg", "--purge", "manyhands")
    machine.run("test", "-e", HOME, fails=True)
    machine.run("getent", "passwd", "manyhands", fails=True)
    machine.run("systemctl", "cat", "manyhands", fails=True)
    return seconds
