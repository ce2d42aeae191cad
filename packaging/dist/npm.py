"""The npm packages: one with a launcher, and one per platform with the program, of which npm installs the fitting one."""

import json

from .archive import Entry, tar_gz
from .release import NPM, PACKAGING, Release


def described(release: Release, name: str, more: dict) -> bytes:
    about = release.about
    package = {
        "name": name,
        "version": release.version,
        "description": about["summary"],
        "license": about["license"],
        "homepage": about["homepage"],
        **more,
    }
    return (json.dumps(package, indent=2) + "\n").encode()


def platform(release: Release) -> tuple[str, str]:
    """The platform as Node.js names it."""
    return ("linux" if release.is_linux else "darwin", NPM[release.machine])


def program_package(release: Release, third_party: bytes) -> dict[str, bytes]:
    system, cpu = platform(release)
    more = {"os": [system], "cpu": [cpu], "preferUnplugged": True}
    if system == "linux":
        more["libc"] = ["glibc"]
    entries = [
        Entry("package/package.json", described(release, f"@manyhands/{system}-{cpu}", more)),
        Entry("package/bin/manyhands", release.program, 0o755),
        Entry("package/LICENSE", release.licence),
        Entry("package/THIRD-PARTY-LICENSES", third_party),
    ]
    return {f"manyhands-{system}-{cpu}-{release.version}.tgz": tar_gz(entries, release.time)}


def launcher_package(release: Release, platforms: list[str]) -> dict[str, bytes]:
    """`platforms` are those that have a package, such as linux-x64."""
    more = {
        "bin": {"manyhands": "manyhands.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {f"@manyhands/{one}": release.version for one in sorted(platforms)},
    }
    readme = f"# Manyhands\n\n{release.about['summary']}.\n\n```sh\nnpx manyhands up\n```\n"
    entries = [
        Entry("package/package.json", described(release, "manyhands", more)),
        Entry("package/manyhands.js", (PACKAGING / "npm/manyhands.js").read_bytes(), 0o755),
        Entry("package/LICENSE", release.licence),
        Entry("package/README.md", readme.encode()),
    ]
    return {f"manyhands-{release.version}.tgz": tar_gz(entries, release.time)}
