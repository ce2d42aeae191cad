"""The image, loaded and run by podman: read-only, without rights, in the network of the test."""

import json
import subprocess
import time
from pathlib import Path

from .box import Failed, Network, Program
from .scenario import ANSWER, Model, Seconds, contains, equal, use

NAME = "manyhands-installs-test"


class Container:
    """A container of the image, with storage of its own, so that nothing of this machine's podman is touched."""

    def __init__(self, network: Network, scratch: Path) -> None:
        self.network, self.scratch = network, scratch
        store = ["--root", str(scratch / "images"), "--runroot", str(scratch / "run"), "--tmpdir", str(scratch / "tmp")]
        self.podman = ["podman", *store, "--cgroup-manager=cgroupfs", "--runtime=runc", "--events-backend=file", "--storage-driver=vfs"]
        self.home = scratch / "unused"

    def run(self, *command: str, input: str | None = None) -> str:
        ran = subprocess.run([*self.podman, *command], capture_output=True, text=True, timeout=300, input=input)
        if ran.returncode != 0:
            raise Failed(f"podman {' '.join(command)}: {ran.stdout}{ran.stderr}")
        return ran.stdout

    def load(self, archive: Path) -> None:
        contains(self.run("load", "--input", str(archive)), "manyhands", "the image loads")

    def write_settings(self, text: str) -> None:
        """Into a new volume, which starts with what the image has in that place."""
        hardened = ["--read-only", "--cap-drop=all", "--security-opt=no-new-privileges", "--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096"]
        volume = ["--volume", f"{NAME}:/var/lib/manyhands"]
        self.arguments = ["--name", NAME, f"--network=ns:{self.network.path}", *hardened, *volume]
        self.run("create", *self.arguments, "localhost/manyhands:latest")
        mount = Path(self.run("volume", "inspect", "--format", "{{.Mountpoint}}", NAME).strip())
        settings = mount / "config.toml"
        if not settings.is_file():
            # podman fills a volume when its first container starts.
            self.run("init", NAME)
        equal("0.0.0.0:7717" in settings.read_text(), True, "the volume starts with the image's settings")
        settings.write_text(settings.read_text() + text)

    def up(self) -> Program:
        command = [*self.podman, "start", "--attach", NAME]
        return Stopped(self, Program(command, self.scratch / "log", "  try "))

    def cli(self, *arguments: str, more: dict[str, str] | None = None) -> str:
        return self.run("exec", NAME, "/usr/bin/manyhands", *arguments)

    def node(self, *arguments: str) -> Program:
        raise NotImplementedError("an image without a shell shares no machine")


class Stopped:
    """The gateway of a container is stopped by podman, as its user does."""

    def __init__(self, container: Container, program: Program) -> None:
        self.container, self.program = container, program

    def stop(self) -> int:
        self.container.run("stop", "--time", "30", NAME)
        return self.program.child.wait(timeout=60)


def check(archive: Path, network: Network, model: Model, scratch: Path, version: str) -> Seconds:
    container = Container(network, scratch)
    try:
        started = time.monotonic()
        container.load(archive)
        image = json.loads(container.run("image", "inspect", "localhost/manyhands:latest"))[0]
        equal(image["Config"]["User"], "10001:10001", "the image does not run as root")
        seconds = use(container, network, model, version, started, nodes=False)
        container.run("start", NAME)
        until = time.monotonic() + 60
        while True:
            try:
                container.run("healthcheck", "run", NAME)
                break
            except Failed:
                # The gateway needs a moment to listen again.
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        contains(container.cli("call", "gsv__ReadFile", '{"path":"memory/a.md"}'), "kept", "the volume keeps the data")
        container.run("rm", "--force", "--time", "10", NAME)
        container.run("volume", "inspect", NAME)
        return seconds
    finally:
        subprocess.run([*container.podman, "rm", "--force", "--all", "--time", "1"], capture_output=True)
        subprocess.run([*container.podman, "system", "reset", "--force"], capture_output=True)
