"""Clean systems to install in: made once with debootstrap, then used through overlays that are thrown away."""

import glob
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

DEBIAN = "http://deb.debian.org/debian"
UBUNTU = "http://archive.ubuntu.com/ubuntu"

# `ca-certificates` is what the .deb depends on; there is no network to fetch it from later.
ALWAYS = ("ca-certificates",)


@dataclass(frozen=True)
class Root:
    """A system by its name, what is installed in it besides the minimum, and what is copied there."""

    name: str
    suite: str
    mirror: str
    more: tuple[str, ...] = ()
    with_npm: bool = False
    pypi: tuple[str, ...] = ()


ROOTS = {
    root.name: root
    for root in (
        Root("ubuntu-16.04", "xenial", UBUNTU),
        Root("debian-11", "bullseye", DEBIAN),
        Root("debian-13", "trixie", DEBIAN),
        Root("ubuntu-24.04", "noble", UBUNTU),
        Root("debian-13-node", "trixie", DEBIAN, more=("nodejs",), with_npm=True),
        # uv is a program of its own; pipx is a zip file that Python runs.
        Root("debian-13-python", "trixie", DEBIAN, more=("python3", "python3-venv"), pypi=("uv==0.9.9", "pipx==1.8.0", "argcomplete", "packaging", "platformdirs", "userpath", "click", "pip>=23.1")),
        Root("debian-12-systemd", "bookworm", DEBIAN, more=("systemd", "systemd-sysv", "dbus")),
    )
}

USER, UID = "ada", 1000


def run(*command: str | Path, **more) -> None:
    subprocess.run([str(part) for part in command], check=True, **more)


def prepared(name: str, cache: Path) -> Path:
    """The folder of a system, made if it is not there yet."""
    root = ROOTS[name]
    folder = cache / name
    if (folder / ".ready").exists():
        return folder
    print(f"making {name} ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    script: list[str] = []
    command = ["debootstrap", "--variant=minbase", f"--include={','.join((*ALWAYS, *root.more))}"]
    if root.mirror == UBUNTU:
        # Debian has no package with Ubuntu's keys. Nothing of these systems leaves the test.
        command.append("--no-check-gpg")
        command.append("--components=main,universe")
        # How to make them has not changed since 2007, but older debootstraps do not know newer names.
        script = ["gutsy"]
    with open(cache / f"{name}.log", "wb") as log:
        run(*command, root.suite, folder, root.mirror, *script, stdout=log, stderr=log)
    run("chroot", folder, "useradd", "--create-home", "--uid", str(UID), "--shell", "/bin/sh", USER)
    if root.with_npm:
        modules = Path(subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=True).stdout.strip())
        shutil.copytree(modules / "npm", folder / "usr/lib/node_modules/npm", symlinks=True)
        for tool in ("npm", "npx"):
            (folder / "usr/bin" / tool).symlink_to(f"../lib/node_modules/npm/bin/{tool}-cli.js")
    if root.pypi:
        wheels = folder / "opt/wheels"
        run("python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--python-version=3.13", "--platform=manylinux_2_28_x86_64", "--platform=manylinux2014_x86_64", "--dest", wheels, *root.pypi)
        run("chroot", folder, "python3", "-m", "venv", "/opt/tools")
        run("chroot", folder, "/opt/tools/bin/pip", "install", "--quiet", "--no-index", "--find-links", "/opt/wheels", "uv", "pipx")
        for tool in ("uv", "uvx", "pipx"):
            (folder / "usr/local/bin" / tool).symlink_to(f"/opt/tools/bin/{tool}")
    for archive in glob.glob(f"{folder}/var/cache/apt/archives/*.deb"):
        Path(archive).unlink()
    (folder / ".ready").touch()
    return folder
