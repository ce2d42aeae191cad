"""THIRD-PARTY-LICENSES: who wrote what is in the program, and under which terms."""

import hashlib
import re
from pathlib import Path

from .crates import Part, is_ours

# Sources of C libraries lie in folders of the crates that bring them.
DEPTH = 3
NAMED = re.compile(r"^(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)([-._].*)?$", re.IGNORECASE)
NOT_LICENCES = re.compile(r"\.(rs|c|h|py|js|ts|toml|json|html|sh)$", re.IGNORECASE)

# Not crates, but linked: the Rust standard library, and what zig adds when it links.
TOOLCHAIN = """\
The Rust standard library: MIT OR Apache-2.0, the Rust Project contributors, https://www.rust-lang.org
compiler-rt and libunwind of LLVM (linked by zig): Apache-2.0 WITH LLVM-exception, https://llvm.org
SQLite, in the crate libsqlite3-sys: in the public domain, https://sqlite.org
"""

# The MIT licence without its first line, for crates that name it and bring no text.
MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def texts_of(folder: Path) -> list[str]:
    """The licence files of a package."""
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if len(inside) <= DEPTH and "node_modules" not in inside and path.is_file():
            if NAMED.match(path.name) and not NOT_LICENCES.search(path.name):
                found.append(path.read_text(errors="replace").strip())
    return found


def document(parts: list[Part]) -> bytes:
    """Names every part, then every text once, with the parts it applies to."""
    parts = [part for part in parts if not is_ours(part)]
    lines = ["Manyhands contains the following software of others.", "", TOOLCHAIN]
    texts: dict[str, tuple[str, list[str]]] = {}

    def apply(text: str, label: str) -> None:
        # The same words with other line breaks are the same licence.
        key = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
        labels = texts.setdefault(key, (text, []))[1]
        if label not in labels:
            labels.append(label)

    texts_by_licence = {}
    for part in parts:
        texts_by_licence[part.licence] = texts_by_licence.get(part.licence) or texts_of(part.folder)
    for part in parts:
        label = f"{part.name} {part.version}"
        lines.append(f"{label}: {part.licence}" + (f", {part.homepage}" if part.homepage else ""))
        found = texts_of(part.folder)
        if not found and re.search(r"\bMIT\b", part.licence):
            found = [f"Copyright (c) {', '.join(part.authors) or f'the {part.name} authors'}\n\n{MIT}"]
        # Others under the same terms bring the text that this one left out.
        for text in found or texts_by_licence[part.licence] or []:
            apply(text, label)
    for text, labels in texts.values():
        lines += ["", "=" * 100, ", ".join(labels), "-" * 100, text]
    return ("\n".join(lines) + "\n").encode()
