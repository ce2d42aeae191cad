"""A throw-away copy of a system, in a network of its own that reaches nothing but itself."""

import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from .roots import UID, USER, run

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


class Failed(Exception):
    """A claim about a package does not hold."""


class Network:
    """A network namespace with nothing but loopback."""

    def __init__(self) -> None:
        script = "ip link set lo up && echo up && exec sleep infinity"
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "up\n":
            raise Failed("cannot make a network namespace; run as root, with iproute2 installed")

    @property
    def path(self) -> str:
        return f"/proc/{self.holder.pid}/ns/net"

    def inside(self, *command: str) -> list[str]:
        return ["nsenter", f"--net={self.path}", "--", *command]

    def close(self) -> None:
        self.holder.kill()
        self.holder.wait()


class Box:
    """Commands run in the copy as a normal user, unless root is asked for."""

    def __init__(self, base: Path, scratch: Path, network: Network, booted: bool = False) -> None:
        """Where systemd is to be booted, it mounts everything itself."""
        self.base, self.network = base, network
        self.scratch, self.root = scratch, scratch / "root"
        self.changes = scratch / "changes"
        self._stack = ExitStack()
        shutil.rmtree(scratch, ignore_errors=True)
        for folder in (self.root, self.changes, scratch / "work"):
            folder.mkdir(parents=True)
        layers = f"lowerdir={base},upperdir={self.changes},workdir={scratch / 'work'}"
        self._mount("-t", "overlay", "overlay", "-o", layers, self.root)
        if not booted:
            self._mount_all()

    def _mount_all(self) -> None:
        self._mount("-t", "proc", "proc", self.root / "proc")
        self._mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", self.root / "dev")
        for device in DEVICES:
            (self.root / "dev" / device).touch()
            self._mount("--bind", f"/dev/{device}", self.root / "dev" / device)
        for folder in ("pts", "shm"):
            (self.root / "dev" / folder).mkdir()
        self._mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", self.root / "dev/pts")
        (self.root / "dev/ptmx").symlink_to("pts/ptmx")
        self._mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", self.root / "dev/shm")
        self._mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", self.root / "tmp")
        self._mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", self.root / "run")

    def _mount(self, *arguments: str | Path) -> None:
        run("mount", *arguments)
        self._stack.callback(run, "umount", "-l", str(arguments[-1]))

    def __enter__(self) -> "Box":
        return self

    def __exit__(self, *_: object) -> None:
        self._kill_all()
        self._stack.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _kill_all(self) -> None:
        """Ends what still runs in the copy, and nothing else."""
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                try:
                    if os.readlink(process / "root") == str(self.root):
                        os.kill(int(process.name), signal.SIGKILL)
                except OSError:
                    pass  # it ended meanwhile

    @property
    def home(self) -> Path:
        return self.root / "home" / USER

    def command(self, *command: str, root: bool = False, env: dict[str, str] | None = None, user: str | None = None) -> list[str]:
        who = "0:0" if root else user or f"{UID}:{UID}"
        settings = {"PATH": PATH, "HOME": "/root" if root else f"/home/{USER}", "LANG": "C.UTF-8", **(env or {})}
        words = [f"{name}={value}" for name, value in settings.items()]
        return self.network.inside("chroot", f"--userspec={who}", str(self.root), "env", "-i", *words, *command)

    def run(self, *command: str, root: bool = False, env: dict[str, str] | None = None, user: str | None = None, fails: bool = False) -> str:
        """Runs to the end; returns standard output."""
        full = self.command(*command, root=root, env=env, user=user)
        ran = subprocess.run(full, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        if (ran.returncode == 0) == fails:
            raise Failed(f"{' '.join(command)} ended with {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stdout + (ran.stderr if fails else "")

    def start(self, *command: str, says: str, env: dict[str, str] | None = None) -> "Program":
        return Program(self.command(*command, env=env), self.scratch / "log", says)

    def has_no_network(self) -> bool:
        probe = "import socket; socket.create_connection(('deb.debian.org', 80), 2)"
        reached = subprocess.run(self.network.inside("python3", "-c", probe), capture_output=True, check=False)
        return reached.returncode != 0

    def changed(self) -> set[str]:
        """The files and links that differ from the clean system."""
        return {
            str(path.relative_to(self.changes))
            for path in self.changes.rglob("*")
            if path.is_symlink() or not path.is_dir()
        }


class Program:
    """Something that runs until it is stopped. Its output goes to a file, so that it never blocks."""

    def __init__(self, command: list[str], log: Path, says: str) -> None:
        self.log = log
        self.child = subprocess.Popen(command, stdout=open(log, "wb"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        self.line = self.wait_for(says)

    def wait_for(self, says: str) -> str:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            for line in self.log.read_text(errors="replace").splitlines():
                if says in line:
                    return line
            if self.child.poll() is not None:
                break
            time.sleep(0.005)
        raise Failed(f"never said {says!r}:\n{self.log.read_text(errors='replace')[-4000:]}")

    def stop(self) -> int:
        # The group, as a terminal does: a launcher may stand before the program.
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGTERM)
        return self.child.wait(timeout=60)
