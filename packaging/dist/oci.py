"""The container image, as an archive for `docker load` and `podman load`.

The archive has Docker's layout and not OCI's, because only Docker's knows health checks. Its layers are compressed and
the archive is not: podman reads no compressed archives of this kind.
"""

import hashlib
import io
import json
import lzma
import tarfile
import tomllib
import urllib.error
import urllib.request
from datetime import datetime, timezone
from pathlib import Path

from . import elf
from .archive import Entry, gzipped, tar
from .release import OCI, PACKAGING, Problem, Release

USER = 10001
HOME = "var/lib/manyhands"
PASSWD = f"root:x:0:0:root:/root:/sbin/nologin\nmanyhands:x:{USER}:{USER}:Manyhands gateway:/{HOME}:/sbin/nologin\n"
GROUP = f"root:x:0:\nmanyhands:x:{USER}:\n"
# `networks` and so on are files too; resolvers of newer glibc are part of libc.
NSSWITCH = "passwd: files\ngroup: files\nhosts: files dns\n"
LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libresolv.so.2", "libnss_files.so.2", "libnss_dns.so.2")


def fetch(package: dict, mirrors: list[str], cache: Path) -> bytes:
    """A Debian package, from the cache or a mirror, always checked."""
    kept = cache / Path(package["path"]).name
    if kept.is_file():
        data = kept.read_bytes()
        if hashlib.sha256(data).hexdigest() == package["sha256"]:
            return data
    problems = []
    for mirror in mirrors:
        try:
            with urllib.request.urlopen(f"{mirror}/{package['path']}", timeout=60) as answer:
                data = answer.read()
        except (urllib.error.URLError, OSError) as error:
            problems.append(f"{mirror}: {error}")
            continue
        if hashlib.sha256(data).hexdigest() != package["sha256"]:
            problems.append(f"{mirror}: the checksum differs from packaging/oci/packages.toml")
            continue
        cache.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(data)
        return data
    raise Problem(f"{package['path']} could not be fetched: " + "; ".join(problems))


def unpacked(deb: bytes) -> dict[str, tarfile.TarInfo | bytes]:
    """The files of a Debian package by name, links as their entries."""
    at, data = 8, None
    while at < len(deb):
        name, size = deb[at : at + 16].decode().strip(), int(deb[at + 48 : at + 58])
        if name.startswith("data.tar"):
            data = deb[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    found = {}
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(data))) as archive:
        for member in archive:
            if member.isfile():
                found[member.name.removeprefix("./")] = archive.extractfile(member).read()
    return found


def base(release: Release, cache: Path) -> list[Entry]:
    """The C library, certificates, a user: what the program needs and nothing that could be run instead of it."""
    missing = set(elf.needs(release.program).libraries) - {*LIBRARIES, Path(elf.needs(release.program).interpreter).name}
    if missing:
        raise Problem(f"the image lacks {', '.join(sorted(missing))}, which the program needs; compile it with packaging/portable")
    with open(PACKAGING / "oci/packages.toml", "rb") as file:
        listed = tomllib.load(file)
    entries = []
    for package in listed["package"]:
        if package.get("architecture", release.machine) != release.machine:
            continue
        files = unpacked(fetch(package, listed["mirrors"], cache))
        entries += [Entry(f"usr/share/doc/{package['name']}/copyright", files[f"usr/share/doc/{package['name']}/copyright"])]
        if package["name"] == "ca-certificates":
            mozilla = sorted(name for name in files if name.startswith("usr/share/ca-certificates/mozilla/"))
            bundle = b"".join(files[name].rstrip() + b"\n" for name in mozilla)
            entries.append(Entry("etc/ssl/certs/ca-certificates.crt", bundle))
        if package["name"] == "libc6":
            folder = f"usr/lib/{release.machine}-linux-gnu"
            entries += [Entry(f"{folder}/{name}", files[f"{folder}/{name}"], 0o755) for name in LIBRARIES]
            loader = Path(elf.needs(release.program).interpreter)
            entries.append(Entry(f"{folder}/{loader.name}", files[f"{folder}/{loader.name}"], 0o755))
            # Where the program looks for its loader.
            entries.append(Entry.symlink(f"usr{loader}", f"/{folder}/{loader.name}"))
            entries += [Entry.symlink(top, f"usr/{top}") for top in {"lib", loader.parts[1]}]
    return entries + [
        Entry("etc/passwd", PASSWD.encode()),
        Entry("etc/group", GROUP.encode()),
        Entry("etc/nsswitch.conf", NSSWITCH.encode()),
        Entry.folder("tmp", 0o1777),
        Entry.folder("root", 0o700),
    ]


def application(release: Release, third_party: bytes) -> list[Entry]:
    doc = "usr/share/doc/manyhands"
    return [
        Entry("usr/bin/manyhands", release.program, 0o755),
        Entry(f"{doc}/LICENSE", release.licence),
        Entry(f"{doc}/THIRD-PARTY-LICENSES", third_party),
        # A new volume starts with what the image has here.
        Entry.folder(HOME, 0o700, USER),
        Entry(f"{HOME}/config.toml", (PACKAGING / "oci/config.toml").read_bytes(), 0o600, USER),
    ]


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def configuration(release: Release, layers: list[bytes]) -> bytes:
    created = datetime.fromtimestamp(release.time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    second = 1_000_000_000
    config = {
        "User": f"{USER}:{USER}",
        "Env": ["PATH=/usr/bin", f"HOME=/{HOME}", f"MANYHANDS_HOME=/{HOME}"],
        "Entrypoint": ["/usr/bin/manyhands"],
        "Cmd": ["up"],
        "WorkingDir": f"/{HOME}",
        "Volumes": {f"/{HOME}": {}},
        "ExposedPorts": {"7717/tcp": {}},
        "StopSignal": "SIGTERM",
        # The cheapest command that needs an answer of the gateway and of its database.
        "Healthcheck": {"Test": ["CMD", "/usr/bin/manyhands", "agents"], "Interval": 30 * second, "Timeout": 10 * second, "StartPeriod": 10 * second, "Retries": 3},
        "Labels": {
            "org.opencontainers.image.title": "manyhands",
            "org.opencontainers.image.description": release.about["summary"],
            "org.opencontainers.image.version": release.version,
            "org.opencontainers.image.revision": release.commit,
            "org.opencontainers.image.licenses": release.about["license"],
            "org.opencontainers.image.source": release.about["homepage"],
        },
    }
    image = {
        "architecture": OCI[release.machine],
        "os": "linux",
        "created": created,
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
        "history": [{"created": created, "created_by": f"packaging/dist/oci.py {name}"} for name in ("base", "application")],
    }
    return json.dumps(image, separators=(",", ":")).encode()


def build(release: Release, third_party: bytes, cache: Path) -> dict[str, bytes]:
    layers = [tar(base(release, cache), release.time), tar(application(release, third_party), release.time)]
    config = configuration(release, layers)
    # Named by what they hold uncompressed, which is how the configuration refers to them.
    packed = {f"{digest(layer).removeprefix('sha256:')}.tar.gz": gzipped(layer) for layer in layers}
    name = f"{digest(config).removeprefix('sha256:')}.json"
    manifest = [{"Config": name, "RepoTags": [f"manyhands:{release.version}", "manyhands:latest"], "Layers": list(packed)}]
    entries = [Entry(name, config), Entry("manifest.json", json.dumps(manifest).encode())]
    entries += [Entry(layer, data) for layer, data in packed.items()]
    return {f"manyhands-{release.version}-{OCI[release.machine]}.image.tar": tar(entries, release.time)}
