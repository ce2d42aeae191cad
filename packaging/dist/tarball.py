"""The portable tarball, which install.sh, Homebrew, Nix and `manyhands upgrade` unpack."""

from .archive import Entry, tar_gz
from .release import PACKAGING, ROOT, Release


def build(release: Release, documents: list[Entry], third_party: bytes) -> dict[str, bytes]:
    entries = [
        Entry("bin/manyhands", release.program, 0o755),
        Entry("LICENSE", release.licence),
        Entry("THIRD-PARTY-LICENSES", third_party),
        Entry("CHANGELOG.md", (ROOT / "CHANGELOG.md").read_bytes()),
        *documents,
    ]
    if release.is_linux:
        unit = (PACKAGING / "systemd/manyhands.service").read_bytes()
        entries.append(Entry("lib/systemd/system/manyhands.service", unit))
    below = [Entry(f"{release.stem}/{entry.name}", entry.data, entry.mode) for entry in entries]
    return {f"{release.stem}.tar.gz": tar_gz(below, release.time)}
