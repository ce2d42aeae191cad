"""Archives that depend on nothing but their contents: sorted names, one time, no owners, no host."""

import gzip
import io
import tarfile
import zipfile
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One member of an archive: a file, or a folder where `data` is None."""

    name: str
    data: bytes | None
    mode: int = 0o644
    uid: int = 0
    link: str | None = None

    @staticmethod
    def folder(name: str, mode: int = 0o755, uid: int = 0) -> "Entry":
        return Entry(name.rstrip("/"), None, mode, uid)

    @staticmethod
    def symlink(name: str, target: str) -> "Entry":
        return Entry(name, None, 0o777, 0, target)


def tree(folder: Path, under: str, executable: tuple[str, ...] = ()) -> list[Entry]:
    """The files of a folder as entries below `under`."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file():
            mode = 0o755 if name in executable else 0o644
            found.append(Entry(f"{under}/{name}", path.read_bytes(), mode))
    return found


def with_parents(entries: list[Entry], top: str = "") -> list[Entry]:
    """The entries in order of their names, each after the folders it lies in."""
    wanted = {entry.name: entry for entry in entries}
    for entry in entries:
        parent = Path(entry.name).parent.as_posix()
        while parent not in (".", "/", top.rstrip("/")):
            wanted.setdefault(parent, Entry.folder(parent))
            parent = Path(parent).parent.as_posix()
    return [wanted[name] for name in sorted(wanted)]


def tar(entries: list[Entry], time: int, prefix: str = "") -> bytes:
    """An uncompressed tar archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in with_parents(entries):
            info = tarfile.TarInfo(prefix + entry.name)
            info.mtime, info.mode = time, entry.mode
            info.uid = info.gid = entry.uid
            info.uname = info.gname = "root" if entry.uid == 0 else ""
            if entry.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
                archive.addfile(info)
            elif entry.data is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(entry.data)
                archive.addfile(info, io.BytesIO(entry.data))
    return out.getvalue()


def gzipped(data: bytes) -> bytes:
    """Compressed with gzip, without a name and a time in its header."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write(data)
    return out.getvalue()


def tar_gz(entries: list[Entry], time: int, prefix: str = "") -> bytes:
    return gzipped(tar(entries, time, prefix))


def ar(members: list[tuple[str, bytes]], time: int) -> bytes:
    """An `ar` archive, which is what a .deb is."""
    out = bytearray(b"!<arch>\n")
    for name, data in members:
        out += f"{name:<16}{time:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode()
        out += data + (b"\n" if len(data) % 2 else b"")
    return bytes(out)


def zip_archive(entries: list[Entry], time: int) -> bytes:
    """A zip archive with Unix modes."""
    stamp = datetime.fromtimestamp(time, timezone.utc)
    # Zip knows no year before 1980.
    date = max(stamp.timetuple()[:6], (1980, 1, 1, 0, 0, 0))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, date)
            info.create_system = 3  # Unix, so that the mode counts
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data)
    return out.getvalue()
