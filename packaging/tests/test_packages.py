"""What every package holds, and that the same commit gives the same bytes."""

import base64
import configparser
import gzip
import hashlib
import io
import json
import lzma
import subprocess
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

from dist import deb, elf, licences, npm, oci, sbom, tarball, wheel
from dist.archive import Entry, tar_gz
from dist.crates import Part
from dist.release import PACKAGING

from . import fake


def members(deb_file: bytes) -> dict[str, bytes]:
    found, at = {}, 8
    while at < len(deb_file):
        name, size = deb_file[at : at + 16].decode().strip(), int(deb_file[at + 48 : at + 58])
        found[name] = deb_file[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    return found


def opened(data: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {member.name: member for member in archive}


class Packages(unittest.TestCase):
    def test_the_same_contents_give_the_same_bytes_in_any_order(self):
        entries = [Entry("b/two", b"2"), Entry("a", b"1", 0o755), Entry.symlink("b/link", "two")]
        self.assertEqual(tar_gz(entries, fake.TIME), tar_gz(entries[::-1], fake.TIME))
        self.assertNotEqual(tar_gz(entries, fake.TIME), tar_gz(entries, fake.TIME + 1))
        for build in (self.tarball, self.deb, self.wheel, self.npm):
            self.assertEqual(build(), build())

    def tarball(self) -> dict[str, bytes]:
        return tarball.build(fake.release(), fake.documents(), b"licences")

    def deb(self) -> dict[str, bytes]:
        return deb.build(fake.release(), fake.documents(), b"licences")

    def wheel(self) -> dict[str, bytes]:
        return wheel.build(fake.release(), b"licences")

    def npm(self) -> dict[str, bytes]:
        return {**npm.program_package(fake.release(), b"licences"), **npm.launcher_package(fake.release(), ["linux-x64"])}

    def test_nothing_in_an_archive_names_who_made_it_or_when(self):
        for name, member in opened(next(iter(self.tarball().values()))).items():
            self.assertEqual((member.uid, member.gid, member.uname, member.mtime), (0, 0, "root", fake.TIME), name)

    def test_the_tarball_has_one_folder_with_program_documents_and_unit(self):
        release = fake.release()
        packed = self.tarball()
        self.assertEqual(list(packed), [f"{release.stem}.tar.gz", f"{release.stem}.tar.xz"])
        data, smaller = packed.values()
        self.assertEqual(gzip.decompress(data), lzma.decompress(smaller))
        found = opened(data)
        self.assertEqual({path.split("/")[0] for path in found}, {release.stem})
        self.assertEqual(found[f"{release.stem}/bin/manyhands"].mode, 0o755)
        for path in ("lib/systemd/system/manyhands.service", "share/man/man1/manyhands.1", "LICENSE", "THIRD-PARTY-LICENSES"):
            self.assertIn(f"{release.stem}/{path}", found)

    def test_the_deb_has_what_dpkg_needs(self):
        [(_, data)] = self.deb().items()
        found = members(data)
        self.assertEqual(list(found), ["debian-binary", "control.tar.xz", "data.tar.xz"])
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress(found["control.tar.xz"]))) as control:
            names = control.getnames()
            text = control.extractfile("./control").read().decode()
        for script in ("preinst", "postinst", "prerm", "postrm"):
            self.assertIn(f"./{script}", names)
            subprocess.run(["sh", "-n", PACKAGING / "deb" / script], check=True)
        self.assertIn("Version: 9.8.7\n", text)
        self.assertIn("Depends: libc6 (>= 2.17)", text)
        files = opened(lzma.decompress(found["data.tar.xz"]))
        self.assertEqual(files["./usr/bin/manyhands"].mode, 0o755)
        self.assertIn("./usr/lib/systemd/system/manyhands.service", files)

    def test_the_wheel_records_every_file_and_its_program_can_be_run(self):
        [(name, data)] = self.wheel().items()
        self.assertIn("-py3-none-manylinux_2_17_", name)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            record = archive.read("manyhands-9.8.7.dist-info/RECORD").decode().splitlines()
            hashes = dict(line.split(",")[:2] for line in record)
            self.assertEqual(set(hashes), set(archive.namelist()))
            program = archive.getinfo("manyhands-9.8.7.data/scripts/manyhands")
            self.assertEqual(program.external_attr >> 16 & 0o777, 0o755)
            digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(program)).digest()).rstrip(b"=").decode()
            self.assertEqual(hashes[program.filename], f"sha256={digest}")

    def test_npm_installs_the_program_of_the_platform_it_runs_on(self):
        found = {}
        for data in self.npm().values():
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                manifest = json.load(archive.extractfile("package/package.json"))
                found[manifest["name"]] = manifest
        self.assertEqual(found["manyhands"]["optionalDependencies"], {"@manyhands/linux-x64": "9.8.7"})
        [program] = [manifest for name, manifest in found.items() if name != "manyhands"]
        self.assertEqual((program["os"], program["libc"]), (["linux"], ["glibc"]))

    def test_the_image_is_not_root_and_checks_its_health(self):
        image = json.loads(oci.configuration(fake.release(), [b"layer"]))
        self.assertEqual(image["config"]["User"], "10001:10001")
        self.assertEqual(image["config"]["Healthcheck"]["Test"][0], "CMD")
        self.assertEqual(list(image["config"]["Volumes"]), ["/var/lib/manyhands"])
        self.assertEqual(image["rootfs"]["diff_ids"], [f"sha256:{hashlib.sha256(b'layer').hexdigest()}"])

    def test_the_unit_is_hardened_and_leaves_the_sandbox_its_calls(self):
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str
        unit.read(PACKAGING / "systemd/manyhands.service")
        service = unit["Service"]
        for key in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelModules", "RestrictNamespaces", "RestrictSUIDSGID", "LockPersonality"):
            self.assertEqual(service[key], "yes", key)
        self.assertEqual((service["User"], service["ProtectSystem"], service["CapabilityBoundingSet"]), ("manyhands", "strict", ""))
        self.assertTrue(service["SystemCallFilter"].startswith("~"), "a list of what is allowed lacks Landlock on older systems")


class Program(unittest.TestCase):
    def compiled(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "a.c")
            source.write_text('#include <stdio.h>\nint main(void) { return puts("hi") < 0; }\n')
            subprocess.run(["cc", source, "-o", source.with_suffix("")], check=True)
            return source.with_suffix("").read_bytes()

    def test_a_program_that_needs_a_newer_c_library_is_refused(self):
        program = self.compiled()
        found = elf.needs(program)
        self.assertTrue(any(name.startswith("libc.") for name in found.libraries), found)
        elf.check_portable(program, found.machine, (99, 0))
        with self.assertRaisesRegex(elf.Unportable, "needs glibc 2.*packaging/portable"):
            elf.check_portable(program, found.machine, (2, 1))
        with self.assertRaisesRegex(elf.Unportable, "not for sparc"):
            elf.check_portable(program, "sparc", (99, 0))
        with self.assertRaisesRegex(elf.Unportable, "not a 64-bit"):
            elf.needs(b"#!/bin/sh\n")


class Bills(unittest.TestCase):
    def parts(self, folder: Path) -> list[Part]:
        for name in ("named", "bare"):
            (folder / name).mkdir()
        (folder / "named/LICENSE-MIT").write_text("Copyright Ada\n\nPermission is granted")
        (folder / "named/licenses.rs").write_text("fn code() {}")
        named = Part("cargo", "named", "1.0.0", "MIT", folder / "named", "aa" * 32, (), ("pkg:cargo/bare@2.0.0",))
        bare = Part("cargo", "bare", "2.0.0", "MIT", folder / "bare", "bb" * 32, ("Grace",), ())
        ours = Part("cargo", "manyhands", "9.8.7", "Apache-2.0", folder, None, (), ("pkg:cargo/named@1.0.0",))
        return [bare, ours, named]

    def test_every_part_has_its_licence_and_ours_is_not_a_third_party(self):
        with tempfile.TemporaryDirectory() as folder:
            text = licences.document(self.parts(Path(folder))).decode()
        for wanted in ("named 1.0.0: MIT", "Copyright Ada", "bare 2.0.0: MIT", "Copyright (c) Grace"):
            self.assertIn(wanted, text)
        self.assertNotIn("fn code", text)
        self.assertNotIn("manyhands 9.8.7", text)

    def test_the_bill_of_materials_names_every_part_and_what_uses_it(self):
        with tempfile.TemporaryDirectory() as folder:
            document = json.loads(sbom.document(fake.release(), self.parts(Path(folder)), []))
        self.assertEqual((document["bomFormat"], document["specVersion"]), ("CycloneDX", "1.5"))
        self.assertEqual({one["purl"] for one in document["components"]}, {"pkg:cargo/named@1.0.0", "pkg:cargo/bare@2.0.0"})
        uses = {one["ref"]: one["dependsOn"] for one in document["dependencies"]}
        self.assertEqual(uses["pkg:cargo/manyhands@9.8.7"], ["pkg:cargo/named@1.0.0"])
