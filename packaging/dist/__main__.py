"""The command line of the packaging: `build` for each platform, then `finish` once for all of them."""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import crates, deb, documents, elf, licences, npm, oci, sbom, tarball, templates, wheel
from .archive import Entry, tar_gz
from .release import ROOT, Problem, Release, about, git, workspace_version

# How large the program itself and its smallest download may be.
PROGRAM_LIMIT = 60_000_000
DOWNLOAD_LIMIT = 22_000_000
SUMS = "SHA256SUMS"


def save(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)
        if name.endswith(".sh"):
            (folder / name).chmod(0o755)
        print(f"{len(data) / 1e6:8.2f} MB  {name}")


def page_archive(release: Release) -> dict[str, bytes]:
    """The built page, for people who compile the program without Node.js."""
    folder = Path(os.environ.get("MANYHANDS_PAGE") or ROOT / "web/dist")
    if not (folder / "index.html").is_file():
        raise Problem(f"there is no page in {folder}; run `make page`, or set MANYHANDS_PAGE")
    name = f"manyhands-{release.version}-page"
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and ".vite" not in path.parts]
    entries = [Entry(f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes()) for path in files]
    return {f"{name}.tar.gz": tar_gz(entries, release.time)}


def build(options: argparse.Namespace) -> None:
    """Everything that one compiled program is packed into."""
    folder: Path = options.out
    release = Release.of(options.program, options.target, not options.unportable)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    size = len(release.program)
    print(f"{size / 1e6:8.2f} MB  the program, {release.stem}, commit {release.commit}")
    parts, page = crates.crates(release.target), crates.page_packages()
    third_party = licences.document(parts + page)
    written = documents.documents(options.program)
    save(folder, {f"{release.stem}.THIRD-PARTY-LICENSES": third_party, f"{release.stem}.cdx.json": sbom.document(release, parts, page)})
    save(folder, tarball.build(release, written, third_party))
    save(folder, wheel.build(release, third_party))
    save(folder, npm.program_package(release, third_party))
    save(folder, page_archive(release))
    if release.is_linux:
        save(folder, deb.build(release, written, third_party))
        # The image has no libraries but those that a portable program needs.
        if not options.unportable:
            save(folder, oci.build(release, third_party, options.cache))
    download = (folder / f"{release.stem}.tar.xz").stat().st_size
    if not options.unportable and (size > PROGRAM_LIMIT or download > DOWNLOAD_LIMIT):
        raise Problem(f"too large: the program has {size} of {PROGRAM_LIMIT} bytes, its archive {download} of {DOWNLOAD_LIMIT}")


def finish(options: argparse.Namespace) -> None:
    """What needs the packages of all platforms: installers, the npm launcher, checksums, their signature."""
    folder: Path = options.out
    release = Release(workspace_version(), git("rev-parse", "--short=12", "HEAD"), int(git("log", "-1", "--format=%ct")), "", b"", about())
    save(folder, templates.build(release, folder))
    platforms = [f"{system}-{cpu}" for system in ("linux", "darwin") for cpu in ("x64", "arm64")]
    packed = [one for one in platforms if (folder / f"manyhands-{one}-{release.version}.tgz").is_file()]
    save(folder, npm.launcher_package(release, packed))
    signature = folder / f"{SUMS}.minisig"
    signature.unlink(missing_ok=True)
    names = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    sums = "".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    save(folder, {SUMS: sums.encode()})
    key = os.environ.get("MANYHANDS_SIGNING_KEY")
    if key:
        sign(folder / SUMS, signature, key, f"manyhands {release.version}")
    else:
        print(f"{SUMS} is not signed: MANYHANDS_SIGNING_KEY names no key")


def sign(file: Path, signature: Path, key: str, comment: str) -> None:
    tool = shutil.which("minisign")
    if tool is None:
        raise Problem("signing needs minisign; install it, or unset MANYHANDS_SIGNING_KEY")
    command = [tool, "-S", "-s", key, "-m", str(file), "-x", str(signature), "-t", comment]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    print(f"{SUMS} is signed: {signature.name}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="dist", description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("build", help="pack one compiled program")
    one.add_argument("--program", type=Path, required=True, help="the compiled program; it must run on this machine")
    one.add_argument("--target", required=True, help="what it was compiled for, such as x86_64-unknown-linux-gnu")
    one.add_argument("--cache", type=Path, required=True, help="folder for downloaded parts of the image")
    one.add_argument("--unportable", action="store_true", help="for trying the packaging: accept a program that needs a newer glibc, of any size")
    one.set_defaults(run=build)
    all_ = commands.add_parser("finish", help="write installers and checksums for the packages of all platforms")
    all_.set_defaults(run=finish)
    for command in (one, all_):
        command.add_argument("--out", type=Path, required=True, help="folder of the release")
    options = parser.parse_args()
    try:
        options.run(options)
    except (Problem, elf.Unportable) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
