"""Man pages and shell completions, printed by the program itself."""

import subprocess
import tempfile
from pathlib import Path

from .archive import Entry, gzipped

COMPLETIONS = {
    "bash": "share/bash-completion/completions/manyhands",
    "zsh": "share/zsh/site-functions/_manyhands",
    "fish": "share/fish/vendor_completions.d/manyhands.fish",
}


def documents(program: Path) -> list[Entry]:
    """Entries below a prefix such as /usr."""
    with tempfile.TemporaryDirectory() as folder:
        # No settings of the person who builds may have a say.
        environment = {"HOME": folder, "PATH": "/usr/bin:/bin"}

        def run(*arguments: str) -> bytes:
            return subprocess.run([program, *arguments], env=environment, capture_output=True, check=True).stdout

        found = [Entry(path, run("completions", shell)) for shell, path in COMPLETIONS.items()]
        pages = Path(folder) / "man"
        pages.mkdir()
        run("man", str(pages))
        found += [Entry(f"share/man/man1/{page.name}", page.read_bytes()) for page in sorted(pages.iterdir())]
    return found


def packed_pages(entries: list[Entry]) -> list[Entry]:
    """With man pages compressed, as Debian wants them."""

    def packed(entry: Entry) -> Entry:
        if "/man/" not in entry.name:
            return entry
        return Entry(f"{entry.name}.gz", gzipped(entry.data), entry.mode)

    return [packed(entry) for entry in entries]
