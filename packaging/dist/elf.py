"""What a Linux program needs of the machine it runs on, read from its dynamic section."""

import struct
from dataclasses import dataclass

MACHINES = {62: "x86_64", 183: "aarch64"}
LOAD, DYNAMIC, INTERP = 1, 2, 3
NEEDED, STRTAB, VERNEED, VERNEEDNUM = 1, 5, 0x6FFFFFFE, 0x6FFFFFFF


class Unportable(Exception):
    """The program would not start everywhere it is promised to."""


@dataclass(frozen=True)
class Needs:
    machine: str
    interpreter: str
    libraries: tuple[str, ...]
    versions: tuple[str, ...]

    def newest_glibc(self) -> tuple[int, ...]:
        found = [v.removeprefix("GLIBC_") for v in self.versions if v.startswith("GLIBC_")]
        return max((tuple(int(part) for part in v.split(".")) for v in found), default=(0,))


def needs(program: bytes) -> Needs:
    """Reads a 64-bit little-endian ELF file."""
    if program[:6] != b"\x7fELF\x02\x01":
        raise Unportable("not a 64-bit little-endian ELF file")
    machine = struct.unpack_from("<H", program, 18)[0]
    at, size, count = (*struct.unpack_from("<Q", program, 32), *struct.unpack_from("<HH", program, 54))
    headers = [struct.unpack_from("<IIQQQQ", program, at + n * size) for n in range(count)]
    loads = [(address, offset, length) for kind, _, offset, address, _, length in headers if kind == LOAD]

    def offset_of(address: int) -> int:
        for start, offset, length in loads:
            if start <= address < start + length:
                return address - start + offset
        raise Unportable(f"nothing is loaded at address {address:#x}")

    def text(offset: int) -> str:
        return program[offset : program.index(b"\0", offset)].decode()

    interpreter = next((text(header[2]) for header in headers if header[0] == INTERP), "")
    section = next((header for header in headers if header[0] == DYNAMIC), None)
    if section is None:
        return Needs(MACHINES.get(machine, str(machine)), interpreter, (), ())
    entries = list(struct.iter_unpack("<QQ", program[section[2] : section[2] + section[5] // 16 * 16]))
    values = dict(entries)
    names = offset_of(values[STRTAB])
    libraries = tuple(text(names + value) for tag, value in entries if tag == NEEDED)
    versions = []
    file_at = offset_of(values[VERNEED]) if VERNEED in values else 0
    for _ in range(values.get(VERNEEDNUM, 0)):
        _, symbols, _, first, following = struct.unpack_from("<HHIII", program, file_at)
        symbol_at = file_at + first
        for _ in range(symbols):
            _, _, _, name, next_symbol = struct.unpack_from("<IHHII", program, symbol_at)
            versions.append(text(names + name))
            symbol_at += next_symbol
        file_at += following
    return Needs(MACHINES.get(machine, str(machine)), interpreter, libraries, tuple(sorted(versions)))


# Parts of glibc; everything else would have to be installed first.
EVERYWHERE = ("libc.", "libm.", "libpthread.", "libdl.", "librt.", "libutil.", "libresolv.", "ld-linux")


def check_portable(program: bytes, architecture: str, glibc: tuple[int, ...]) -> Needs:
    """Refuses a program that needs a newer C library than `glibc`, or any other library."""
    found = needs(program)
    if found.machine != architecture:
        raise Unportable(f"the program is for {found.machine}, not for {architecture}")
    if found.newest_glibc() > glibc:
        newest, limit = (".".join(map(str, v)) for v in (found.newest_glibc(), glibc))
        raise Unportable(f"the program needs glibc {newest}; releases must run on {limit}: compile it with packaging/portable")
    strange = [name for name in found.libraries if not name.startswith(EVERYWHERE)]
    if strange:
        raise Unportable(f"the program needs {', '.join(strange)}, which not every machine has")
    return found
