"""A release of a program of a few lines, made like a real one."""

import hashlib
import os
from pathlib import Path

from dist import tarball
from dist.archive import Entry
from dist.release import Release, about

TARGET = f"{os.uname().machine}-unknown-linux-gnu"
TIME = 1_700_000_000


def release(version: str = "9.8.7") -> Release:
    program = f'#!/bin/sh\necho "manyhands {version}"\n'.encode()
    return Release(version, "0123456789ab", TIME, TARGET, program, about())


def documents(*more: str) -> list[Entry]:
    pages = ("share/man/man1/manyhands.1", "share/bash-completion/completions/manyhands", *more)
    return [Entry(page, b"words\n") for page in pages]


def folder(into: Path, version: str = "9.8.7", *more: str) -> Path:
    """A folder with the tarball of a release and its checksum."""
    into.mkdir(parents=True, exist_ok=True)
    sums = ""
    for name, data in tarball.build(release(version), documents(*more), b"licences\n").items():
        (into / name).write_bytes(data)
        sums += f"{hashlib.sha256(data).hexdigest()}  {name}\n"
    (into / "SHA256SUMS").write_text(sums)
    return into
