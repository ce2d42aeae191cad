"""The wheel for PyPI: `uvx manyhands up`, `pipx install manyhands`, `pip install manyhands`."""

import base64
import hashlib

from .archive import Entry, zip_archive
from .release import Release


def tag(release: Release) -> str:
    system = {"linux": f"manylinux_2_17_{release.machine}.manylinux2014_{release.machine}", "darwin": "macosx_11_0_arm64" if release.machine == "aarch64" else "macosx_10_12_x86_64"}
    return f"py3-none-{next(found for name, found in system.items() if name in release.target)}"


def metadata(release: Release) -> bytes:
    about = release.about
    return f"""\
Metadata-Version: 2.4
Name: manyhands
Version: {release.version}
Summary: {about["summary"]}
License-Expression: {about["license"]}
License-File: LICENSE
License-File: THIRD-PARTY-LICENSES
Project-URL: Homepage, {about["homepage"]}
Requires-Python: >=3.8
Description-Content-Type: text/markdown

# Manyhands

{about["summary"]}. The package holds the program itself, which needs no Python:

```sh
uvx manyhands up          # or: pipx install manyhands && manyhands up
```
""".encode()


def record(entries: list[Entry], name: str) -> Entry:
    """The list of everything in the wheel, with hashes."""
    lines = []
    for entry in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).rstrip(b"=").decode()
        lines.append(f"{entry.name},sha256={digest},{len(entry.data)}\n")
    return Entry(name, ("".join(lines) + f"{name},,\n").encode())


def build(release: Release, third_party: bytes) -> dict[str, bytes]:
    stem = f"manyhands-{release.version.replace('-', '.')}"
    info = f"{stem}.dist-info"
    tags = tag(release)
    python, abi, platforms = tags.split("-")
    tag_lines = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
    wheel = f"Wheel-Version: 1.0\nGenerator: manyhands packaging\nRoot-Is-Purelib: false\n{tag_lines}"
    entries = [
        Entry(f"{stem}.data/scripts/manyhands", release.program, 0o755),
        Entry(f"{info}/METADATA", metadata(release)),
        Entry(f"{info}/WHEEL", wheel.encode()),
        Entry(f"{info}/licenses/LICENSE", release.licence),
        Entry(f"{info}/licenses/THIRD-PARTY-LICENSES", third_party),
    ]
    entries.append(record(entries, f"{info}/RECORD"))
    return {f"{stem}-{tags}.whl": zip_archive(entries, release.time)}
