"""The portable tarball: compressed with gzip for install.sh, Homebrew, Nix and `manyhands upgrade`, and smaller with xz."""

import lzma

from .archive import Entry, gzipped, tar
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
    whole = tar(below, release.time)
    return {f"{release.stem}.tar.gz": gzipped(whole), f"{release.stem}.tar.xz": lzma.compress(whole, preset=6)}
