"""What is released: the program, its version, and what all packages say about it."""

import subprocess
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import elf

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"

# The oldest C library that the program must run with; packaging/portable links for it.
GLIBC = (2, 17)

DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
NPM = {"x86_64": "x64", "aarch64": "arm64"}
OCI = {"x86_64": "amd64", "aarch64": "arm64"}


class Problem(Exception):
    """Something the person who builds can correct."""


def git(*arguments: str) -> str:
    ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def workspace_version() -> str:
    with open(ROOT / "Cargo.toml", "rb") as file:
        return tomllib.load(file)["workspace"]["package"]["version"]


def about() -> dict[str, str]:
    with open(PACKAGING / "release.toml", "rb") as file:
        return tomllib.load(file)


@dataclass(frozen=True)
class Release:
    """One compiled program and where it was compiled from."""

    version: str
    commit: str
    time: int
    target: str
    program: bytes
    about: dict[str, str]

    @staticmethod
    def of(program: Path, target: str, portable: bool) -> "Release":
        """Refuses a program that would not start on the machines that the packages are for."""
        if not program.is_file():
            raise Problem(f"there is no program at {program}; build it with packaging/portable")
        data = program.read_bytes()
        if portable and "linux" in target:
            elf.check_portable(data, target.split("-")[0], GLIBC)
        release = Release(workspace_version(), git("rev-parse", "--short=12", "HEAD"), int(git("log", "-1", "--format=%ct")), target, data, about())
        printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        if printed.split()[:2] != ["manyhands", release.version]:
            raise Problem(f"{program} is {printed.strip()}, not version {release.version}")
        return release

    @property
    def machine(self) -> str:
        return self.target.split("-")[0]

    @property
    def is_linux(self) -> bool:
        return "linux" in self.target

    @property
    def stem(self) -> str:
        return f"manyhands-{self.version}-{self.target}"

    @property
    def download(self) -> str:
        return self.about["download"].format(version=self.version)

    @cached_property
    def licence(self) -> bytes:
        return (ROOT / "LICENSE").read_bytes()
