"""How each package is installed, called and removed."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .box import PATH, Box, Failed, Program, run
from .roots import UID, USER
from .scenario import Seconds, contains, equal

RELEASE = "/mnt"  # where the clean system sees the folder of the release
HOME = f"/home/{USER}"
MINE = {f"home/{USER}/.manyhands/", f"home/{USER}/node/"}


class InBox:
    """A program in a clean system, called as the normal user."""

    def __init__(self, box: Box, *call: str, env: dict[str, str] | None = None) -> None:
        self.box, self.call = box, call
        self.env = env or {}

    def cli(self, *arguments: str, more: dict[str, str] | None = None) -> str:
        return self.box.run(*self.call, *arguments, env={**self.env, **(more or {})})

    def up(self) -> Program:
        return self.box.start(*self.call, "up", says="  try ", env=self.env)

    def node(self, *arguments: str) -> Program:
        # A home of its own, as on another machine.
        env = {**self.env, "MANYHANDS_HOME": f"{HOME}/node/home"}
        workspace = self.box.home / "node/work"
        workspace.mkdir(parents=True)
        for folder in (workspace, workspace.parent):
            os.chown(folder, UID, UID)
        command = (*self.call, "node", "--url", "http://127.0.0.1:7717", "--workspace", f"{HOME}/node/work", *arguments)
        return Program(self.box.command(*command, env=env), self.box.scratch / "node.log", "connected")

    def write_settings(self, text: str) -> None:
        folder = self.box.home / ".manyhands"
        folder.mkdir(mode=0o700)
        (folder / "config.toml").write_text(text)
        for path in (folder, folder / "config.toml"):
            os.chown(path, UID, UID)


@dataclass(frozen=True)
class Artefact:
    """A package, the systems that it is installed in, and how."""

    name: str
    file: str
    roots: tuple[str, ...]
    install: callable
    uninstall: callable
    # What uninstalling may leave besides the data: logs and lists of the package manager.
    leaves: tuple[str, ...] = ()
    nodes: bool = True


def tarball(box: Box, files: dict[str, str]) -> InBox:
    box.run("tar", "-xzf", f"{RELEASE}/{files['tarball']}", "-C", HOME)
    folder = files["tarball"].removesuffix(".tar.gz")
    return InBox(box, f"{HOME}/{folder}/bin/manyhands")


def remove_tarball(box: Box, files: dict[str, str]) -> None:
    box.run("rm", "-r", f"{HOME}/{files['tarball'].removesuffix('.tar.gz')}")


def script(box: Box, _: dict[str, str]) -> InBox:
    box.run("sh", f"{RELEASE}/install.sh", "--from", RELEASE)
    return InBox(box, "manyhands", env={"PATH": f"{HOME}/.local/bin:{PATH}"})


def remove_script(box: Box, _: dict[str, str]) -> None:
    box.run("sh", f"{RELEASE}/install.sh", "--uninstall")


def deb(box: Box, files: dict[str, str]) -> InBox:
    box.run("dpkg", "-i", f"{RELEASE}/{files['deb']}", root=True)
    return InBox(box, "manyhands")


def remove_deb(box: Box, _: dict[str, str]) -> None:
    owner = box.run("stat", "-c", "%U %a", "/var/lib/manyhands", root=True).strip()
    equal(owner, "manyhands 700", "the system user owns its home, alone")
    box.run("touch", "/var/lib/manyhands/data", root=True)
    box.run("dpkg", "--remove", "manyhands", root=True)
    equal(box.run("ls", "/var/lib/manyhands", root=True).strip(), "data", "removing keeps the data")
    contains(box.run("getent", "passwd", "manyhands"), "/var/lib/manyhands", "removing keeps the user")
    box.run("dpkg", "--purge", "manyhands", root=True)
    box.run("test", "-e", "/var/lib/manyhands", fails=True)
    box.run("getent", "passwd", "manyhands", fails=True)


def uvx(box: Box, _: dict[str, str]) -> InBox:
    return InBox(box, "uvx", "--offline", "--no-index", "--find-links", RELEASE, "manyhands")


def remove_uvx(box: Box, _: dict[str, str]) -> None:
    box.run("uv", "cache", "clean", "--offline")


PIPX = {"PATH": f"{HOME}/.local/bin:{PATH}", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"{RELEASE} /opt/wheels"}


def pipx(box: Box, _: dict[str, str]) -> InBox:
    box.run("pipx", "install", "manyhands", env=PIPX)
    return InBox(box, "manyhands", env=PIPX)


def remove_pipx(box: Box, _: dict[str, str]) -> None:
    box.run("pipx", "uninstall", "manyhands", env=PIPX)


NPX = {"npm_config_registry": "http://127.0.0.1:4873/", "npm_config_update_notifier": "false", "npm_config_yes": "true"}


def npx(box: Box, files: dict[str, str]) -> InBox:
    return InBox(box, "npx", "manyhands", env=NPX)


def remove_npx(box: Box, _: dict[str, str]) -> None:
    box.run("rm", "-rf", f"{HOME}/.npm")


PACKAGE_LISTS = ("var/lib/dpkg/", "var/log/", "var/cache/", "var/lib/systemd/", "etc/passwd", "etc/group", "etc/shadow", "etc/gshadow", "etc/subuid", "etc/subgid", "etc/.pwd.lock")

ARTEFACTS = (
    Artefact("tarball", "tarball", ("ubuntu-16.04", "debian-11", "debian-13", "ubuntu-24.04"), tarball, remove_tarball),
    Artefact("install.sh", "tarball", ("ubuntu-16.04", "debian-11", "debian-13"), script, remove_script),
    Artefact("deb", "deb", ("debian-11", "debian-13", "ubuntu-24.04"), deb, remove_deb, PACKAGE_LISTS),
    Artefact("wheel (uvx)", "wheel", ("debian-13-python",), uvx, remove_uvx, (f"home/{USER}/.local/share/uv/",)),
    Artefact("wheel (pipx)", "wheel", ("debian-13-python",), pipx, remove_pipx, (f"home/{USER}/.local/", f"home/{USER}/.cache/")),
    Artefact("npm (npx)", "npm", ("debian-13-node",), npx, remove_npx),
)
