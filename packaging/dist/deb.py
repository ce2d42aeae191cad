"""The Debian package: program, documents, system user, hardened service."""

import hashlib
import lzma

from .archive import Entry, ar, gzipped, tar, with_parents
from .documents import packed_pages
from .release import DEBIAN, GLIBC, PACKAGING, ROOT, Release

SCRIPTS = ("preinst", "postinst", "prerm", "postrm")
# Where every systemd looks, with and without a merged /usr.
UNIT = "usr/lib/systemd/system/manyhands.service"


def control(release: Release, size: int) -> bytes:
    about = release.about
    return f"""\
Package: manyhands
Version: {release.version.replace("-", "~")}
Architecture: {DEBIAN[release.machine]}
Maintainer: {about["maintainer"]}
Installed-Size: {size}
Depends: libc6 (>= {".".join(map(str, GLIBC))}), ca-certificates, passwd
Section: net
Priority: optional
Homepage: {about["homepage"]}
Description: {about["summary"].split(":")[0].lower()}
 One gateway with a durable workspace and one guarded catalogue of tools that
 agents, MCP clients, scripts and the command line all use the same way.
 .
 The package runs the gateway as the system service manyhands, which listens
 on 127.0.0.1:7717 and stores everything in /var/lib/manyhands.
""".encode()


def build(release: Release, documents: list[Entry], third_party: bytes, preset: int = 6) -> dict[str, bytes]:
    """`preset` is how hard xz tries: packages that are thrown away need not be small."""
    doc = "usr/share/doc/manyhands"
    files = [
        Entry("usr/bin/manyhands", release.program, 0o755),
        Entry(UNIT, (PACKAGING / "systemd/manyhands.service").read_bytes()),
        Entry(f"{doc}/copyright", release.licence),
        Entry(f"{doc}/THIRD-PARTY-LICENSES.gz", gzipped(third_party)),
        Entry(f"{doc}/changelog.gz", gzipped((ROOT / "CHANGELOG.md").read_bytes())),
    ]
    for entry in packed_pages(documents):
        # Debian's zsh looks here.
        name = entry.name.replace("share/zsh/site-functions", "share/zsh/vendor-completions")
        files.append(Entry(f"usr/{name}", entry.data, entry.mode))
    files.sort(key=lambda entry: entry.name)
    sums = "".join(f"{hashlib.md5(entry.data).hexdigest()}  {entry.name}\n" for entry in files)
    size = sum(len(entry.data) for entry in files) // 1024
    scripts = [Entry(name, (PACKAGING / "deb" / name).read_bytes(), 0o755) for name in SCRIPTS]
    meta = [Entry("control", control(release, size)), Entry("md5sums", sums.encode()), *scripts]
    data = lzma.compress(tar(with_parents(files), release.time, "./"), preset=preset)
    package = ar(
        [
            ("debian-binary", b"2.0\n"),
            ("control.tar.xz", lzma.compress(tar(meta, release.time, "./"))),
            ("data.tar.xz", data),
        ],
        release.time,
    )
    return {f"manyhands_{release.version}_{DEBIAN[release.machine]}.deb": package}
