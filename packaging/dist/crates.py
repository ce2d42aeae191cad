"""The third-party code in the program: crates of the dependency graph and npm packages in the page."""

import json
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .release import ROOT, Problem

# What the page imports. Everything else in its lock file only builds or tests it.
BUNDLED = ("svelte",)


@dataclass(frozen=True)
class Part:
    """A crate or an npm package that the program holds."""

    ecosystem: str  # "cargo" or "npm"
    name: str
    version: str
    licence: str
    folder: Path
    checksum: str | None
    authors: tuple[str, ...]
    uses: tuple[str, ...]
    homepage: str | None = None

    @property
    def purl(self) -> str:
        return f"pkg:{self.ecosystem}/{self.name.replace('@', '%40')}@{self.version}"


def crates(target: str) -> list[Part]:
    """Every crate that is compiled into the program for `target`, without those only tests and build scripts need."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}

    def linked(node: dict) -> list[str]:
        return [dep["pkg"] for dep in node["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]

    start = next(id for id, package in packages.items() if package["name"] == "manyhands")
    reached, open_ids = {start}, [start]
    while open_ids:
        for id in linked(nodes[open_ids.pop()]):
            if id not in reached:
                reached.add(id)
                open_ids.append(id)
    with open(ROOT / "Cargo.lock", "rb") as file:
        locked = tomllib.load(file)["package"]
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in locked}

    def part(id: str) -> Part:
        package = packages[id]
        uses = tuple(sorted(f"pkg:cargo/{packages[used]['name']}@{packages[used]['version']}" for used in linked(nodes[id])))
        licence = package["license"] or f"see {package['license_file']}"
        folder = Path(package["manifest_path"]).parent
        key = (package["name"], package["version"])
        return Part("cargo", *key, licence.replace("/", " OR "), folder, checksums.get(key), tuple(package["authors"]), uses, package["repository"])

    return sorted((part(id) for id in reached), key=lambda part: (part.name, part.version))


def is_ours(part: Part) -> bool:
    return part.checksum is None and part.ecosystem == "cargo"


def page_packages() -> list[Part]:
    """The npm packages that the page is made of, with what they need themselves."""
    lock = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
    found, open_names = {}, list(BUNDLED)
    while open_names:
        name = open_names.pop()
        entry = lock.get(f"node_modules/{name}")
        if name in found or entry is None:
            continue
        found[name] = entry
        open_names += entry.get("dependencies", {})

    def part(name: str, entry: dict) -> Part:
        folder = ROOT / "web/node_modules" / name
        if not folder.is_dir():
            raise Problem(f"{folder} is missing, and with it the licence of {name}; run `make page`")
        uses = (f"pkg:npm/{used.replace('@', '%40')}@{found[used]['version']}" for used in entry.get("dependencies", {}) if used in found)
        return Part("npm", name, entry["version"], entry.get("license", "unknown"), folder, None, (), tuple(sorted(uses)))

    return [part(name, entry) for name, entry in sorted(found.items())]
