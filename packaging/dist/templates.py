"""install.sh, the Homebrew formula and the Nix flake: one set of values, filled into the files of packaging/templates."""

import base64
import hashlib
import re
from pathlib import Path

from .release import PACKAGING, Problem, Release

# How each packaging system names the platforms that may have an archive.
PLATFORMS = {
    "x86_64-unknown-linux-gnu": ("on_linux", "on_intel", "x86_64-linux"),
    "aarch64-unknown-linux-gnu": ("on_linux", "on_arm", "aarch64-linux"),
    "x86_64-apple-darwin": ("on_macos", "on_intel", "x86_64-darwin"),
    "aarch64-apple-darwin": ("on_macos", "on_arm", "aarch64-darwin"),
}
PLACEHOLDER = re.compile(r"@([A-Z_]+)@")


def filled(template: str, values: dict[str, str]) -> str:
    """Refuses a placeholder that has no value."""

    def value(found: re.Match) -> str:
        if found[1] not in values:
            raise Problem(f"a template has the placeholder {found[0]}, which has no value; known are {', '.join(sorted(values))}")
        return values[found[1]]

    return PLACEHOLDER.sub(value, template)


def archives(folder: Path, version: str) -> dict[str, bytes]:
    """The SHA-256 of each platform's archive in the folder of a release."""
    found = {}
    for target in PLATFORMS:
        path = folder / f"manyhands-{version}-{target}.tar.gz"
        if path.is_file():
            found[target] = hashlib.sha256(path.read_bytes()).digest()
    if not found:
        raise Problem(f"{folder} holds no archive of version {version}")
    return found


def brew(release: Release, sums: dict[str, bytes]) -> str:
    blocks = []
    for system in ("on_linux", "on_macos"):
        inner = [
            f'    {PLATFORMS[target][1]} do\n      url "{release.download}/manyhands-{release.version}-{target}.tar.gz"\n      sha256 "{sums[target].hex()}"\n    end'
            for target in sums
            if PLATFORMS[target][0] == system
        ]
        if inner:
            blocks.append(f"  {system} do\n" + "\n".join(inner) + "\n  end")
    return "\n\n".join(blocks)


def nix(release: Release, sums: dict[str, bytes]) -> str:
    lines = []
    for target, digest in sums.items():
        url = f"{release.download}/manyhands-{release.version}-{target}.tar.gz"
        hash = base64.b64encode(digest).decode()
        lines.append(f'        "{PLATFORMS[target][2]}" = {{\n          url = "{url}";\n          hash = "sha256-{hash}";\n        }};')
    return "\n".join(lines)


def build(release: Release, folder: Path) -> dict[str, bytes]:
    sums = archives(folder, release.version)
    values = {
        "VERSION": release.version,
        "DOWNLOAD": release.download,
        # For the shell: `--version` names another one.
        "DOWNLOAD_ANY": release.about["download"].format(version="$version"),
        "HOMEPAGE": release.about["homepage"],
        "LICENSE": release.about["license"],
        "DESCRIPTION": release.about["summary"].split(":")[0],
        "BREW_PLATFORMS": brew(release, sums),
        "NIX_PLATFORMS": nix(release, sums),
    }
    templates = sorted((PACKAGING / "templates").iterdir())
    return {path.name: filled(path.read_text(), values).encode() for path in templates}
