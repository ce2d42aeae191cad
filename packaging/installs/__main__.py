"""Runs every installation and prints the table: artefact, size, where installed, seconds to the first answer."""

import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from dist.release import Release

from . import container, service
from .artefacts import ARTEFACTS, MINE, RELEASE, Artefact
from .box import Box, Failed, Network, Program, run
from .roots import prepared
from .scenario import Model, use


def release_files(folder: Path) -> tuple[str, dict[str, str]]:
    """The version, and the names of the packages for this machine."""

    def one(pattern: str) -> str:
        found = sorted(path.name for path in folder.glob(pattern))
        if len(found) != 1:
            raise Failed(f"{folder} has {len(found)} files like {pattern}; run `make dist`")
        return found[0]

    tarball = one("manyhands-*-linux-gnu.tar.gz")
    names = {"tarball": tarball, "deb": one("*.deb"), "wheel": one("*.whl"), "npm": one("manyhands-linux-*.tgz"), "oci": one("*.image.tar")}
    return tarball.split("-")[1], names


def install(artefact: Artefact, root: str, release: Path, work: Path, version: str, files: dict[str, str]) -> float:
    """Installs, uses and removes one package in one clean system. Returns the seconds to the first answer."""
    base = prepared(root, work / "dist-roots")
    scratch = work / "dist-box"
    network = Network()
    started_outside: list[Program] = []
    try:
        with Box(base, scratch, network) as box:
            run("mount", "--bind", "-o", "ro", release, box.root / RELEASE.lstrip("/"))
            box._stack.callback(run, "umount", "-l", str(box.root / RELEASE.lstrip("/")))
            if not box.has_no_network():
                raise Failed("the clean system reaches the network")
            model = Model(network, scratch / "model")
            started_outside.append(model.program)
            if artefact.file == "npm":
                registry = network.inside("python3", "-m", "installs.registry", str(release), "4873")
                started_outside.append(Program(registry, scratch / "registry.log", "listens"))
            started = time.monotonic()
            installed = artefact.install(box, files)
            seconds = use(installed, network, model, version, started, artefact.nodes)
            artefact.uninstall(box, files)
            left = {name for name in box.changed() if not name.startswith((*MINE, *artefact.leaves))}
            if left:
                raise Failed(f"uninstalling leaves {sorted(left)[:10]}")
            if not (box.home / ".manyhands/manyhands.db").is_file():
                raise Failed("uninstalling took the data")
            return seconds.first_answer
    finally:
        for program in started_outside:
            program.child.kill()
        network.close()


def main() -> int:
    # Stopped from outside, the clean systems are unmounted all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = Path(sys.argv[1])
    words = sys.argv[2:]
    release = work / "dist"
    version, files = release_files(release)
    rows, failed = [], []

    def attempt(name: str, file: str, where: str, work_: callable) -> None:
        if words and not any(word in f"{name} {where}" for word in words):
            return
        print(f"{name} in {where} ...", flush=True)
        try:
            seconds = work_()
        except Exception as problem:  # the others are tried all the same
            failed.append(f"{name} in {where}: {problem}")
            print("\n".join(traceback.format_exception_only(problem)) if isinstance(problem, Failed) else traceback.format_exc(), file=sys.stderr)
            return
        size = (release / files[file]).stat().st_size / 1e6
        rows.append((name, f"{size:.1f} MB", where, f"{seconds:.2f} s"))

    for artefact in ARTEFACTS:
        for root in artefact.roots:
            attempt(artefact.name, artefact.file, root, lambda: install(artefact, root, release, work, version, files))
    attempt("image", "oci", "podman, read-only", lambda: image(release / files["oci"], work / "dist-box", version))

    attempt("deb as a service", "deb", service.SYSTEM, lambda: as_a_service(release / files["tarball"], work))

    heads = ("artefact", "size", "installed in", "first answer")
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
    for row in (heads, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    for problem in failed:
        print(f"FAILED {problem}", file=sys.stderr)
    return 1 if failed or not rows else 0


def as_a_service(tarball: Path, work: Path) -> float:
    """With the program from the tarball: the packages for it are made here, in two versions."""
    target = tarball.name.removesuffix(".tar.gz").split("-", 2)[2]
    with tempfile.TemporaryDirectory() as folder:
        run("tar", "-xzf", tarball, "-C", folder, "--strip-components=1")
        program = Path(folder, "bin/manyhands")
        return service.check(Release.of(program, target, portable=False), work)


def image(archive: Path, scratch: Path, version: str) -> float:
    network = Network()
    try:
        model = Model(network, scratch / "model")
        try:
            return container.check(archive, network, model, scratch / "podman", version).first_answer
        finally:
            model.program.child.kill()
    finally:
        network.close()


if __name__ == "__main__":
    sys.exit(main())
