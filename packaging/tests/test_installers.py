"""install.sh, the formula and the flake: rendered from one set of values, and refusing what does not fit."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from dist import __main__ as command
from dist import templates
from dist.release import PACKAGING, Problem

from . import fake


class Fixture(unittest.TestCase):
    """A folder with a release and its installers."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.release = fake.folder(self.scratch / "release")
        self.files = templates.build(fake.release(), self.release)
        for name, data in self.files.items():
            (self.release / name).write_bytes(data)


class Rendered(Fixture):
    def test_every_template_is_filled_in_with_the_version_and_the_checksum(self):
        self.assertEqual(set(self.files), {"install.sh", "manyhands.rb", "flake.nix"})
        digest = templates.archives(self.release, "9.8.7")[fake.TARGET]
        for name, data in self.files.items():
            text = data.decode()
            self.assertIn("9.8.7", text, name)
            self.assertIsNone(templates.PLACEHOLDER.search(text), name)
        self.assertIn(digest.hex(), self.files["manyhands.rb"].decode())
        self.assertIn("hash = \"sha256-", self.files["flake.nix"].decode())

    def test_a_placeholder_without_a_value_is_refused(self):
        self.assertEqual(templates.filled("a @B@", {"B": "c"}), "a c")
        with self.assertRaisesRegex(Problem, "@C@"):
            templates.filled("a @C@", {"B": "c"})

    def test_a_folder_without_archives_is_refused(self):
        with self.assertRaisesRegex(Problem, "no archive of version 1.1.1"):
            templates.archives(self.release, "1.1.1")

    def test_checksums_cover_every_file_and_an_old_signature_goes(self):
        (self.release / "SHA256SUMS.minisig").write_text("of another release")
        options = mock.Mock(out=self.release)
        archive = self.release / f"manyhands-{command.workspace_version()}-{fake.TARGET}.tar.gz"
        (self.release / f"{fake.release().stem}.tar.gz").rename(archive)
        with mock.patch.dict(os.environ), mock.patch("builtins.print"):
            os.environ.pop("MANYHANDS_SIGNING_KEY", None)
            command.finish(options)
        listed = {line.split("  ")[1] for line in (self.release / "SHA256SUMS").read_text().splitlines()}
        present = {path.name for path in self.release.iterdir()}
        self.assertEqual(listed, present - {"SHA256SUMS"})
        self.assertIn("install.sh", listed)
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=self.release, check=True)

    def test_signing_without_the_tool_says_what_to_do(self):
        with mock.patch("shutil.which", return_value=None), self.assertRaisesRegex(Problem, "install it"):
            command.sign(self.release / "SHA256SUMS", self.release / "x.minisig", "key", "comment")


class Script(Fixture):
    """install.sh as a user runs it, in a home of its own."""

    def setUp(self):
        super().setUp()
        self.home = self.scratch / "home"
        self.home.mkdir()

    def sh(self, *arguments: str, shell: str = "sh", release: Path | None = None) -> subprocess.CompletedProcess:
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        script = (release or self.release) / "install.sh"
        return subprocess.run([shell, script, *arguments], env=environment, capture_output=True, text=True)

    def installed(self) -> set[str]:
        return {str(path.relative_to(self.home)) for path in self.home.rglob("*") if not path.is_dir()}

    def install(self) -> None:
        ran = self.sh("--from", str(self.release))
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_it_installs_says_how_to_start_and_uninstalls_all_but_the_data(self):
        data = self.home / ".manyhands/manyhands.db"
        data.parent.mkdir()
        data.write_text("data")
        ran = self.sh("--from", str(self.release))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("manyhands 9.8.7 is installed", ran.stdout)
        self.assertIn("manyhands up", ran.stdout)
        self.assertIn(".local/bin/manyhands", self.installed())
        self.assertIn(".local/share/man/man1/manyhands.1", self.installed())
        version = subprocess.run([self.home / ".local/bin/manyhands"], capture_output=True, text=True)
        self.assertEqual(version.stdout, "manyhands 9.8.7\n")
        self.assertEqual(self.sh("--uninstall").returncode, 0)
        self.assertEqual(self.installed(), {".manyhands/manyhands.db"})
        self.assertFalse((self.home / ".local").exists())

    def test_a_wrong_checksum_is_refused_and_changes_nothing(self):
        self.install()
        before = self.installed(), (self.home / ".local/bin/manyhands").read_bytes()
        archive = next(self.release.glob("*.tar.gz"))
        archive.write_bytes(archive.read_bytes() + b"x")
        ran = self.sh("--from", str(self.release))
        self.assertEqual(ran.returncode, 1)
        self.assertIn("does not match its checksum; nothing was installed", ran.stderr)
        self.assertEqual((self.installed(), (self.home / ".local/bin/manyhands").read_bytes()), before)

    def test_an_archive_that_the_checksums_do_not_list_is_refused(self):
        (self.release / "SHA256SUMS").write_text("")
        ran = self.sh("--from", str(self.release))
        self.assertEqual((ran.returncode, self.installed()), (1, set()))
        self.assertIn("has no manyhands-9.8.7-", ran.stderr)

    def test_another_version_replaces_the_files_of_the_one_before(self):
        fake.folder(self.release, "9.8.7", "share/man/man1/manyhands-old.1")
        self.install()
        self.assertIn(".local/share/man/man1/manyhands-old.1", self.installed())
        newer = fake.folder(self.scratch / "newer", "9.9.0")
        ran = self.sh("--from", str(newer), "--version", "9.9.0")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("manyhands 9.9.0 is installed", ran.stdout)
        self.assertNotIn(".local/share/man/man1/manyhands-old.1", self.installed())

    def test_it_goes_where_it_is_sent_and_refuses_what_it_does_not_know(self):
        elsewhere = self.scratch / "else where"
        ran = self.sh("--from", str(self.release), "--to", str(elsewhere))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue((elsewhere / "bin/manyhands").is_file())
        self.assertEqual(self.installed(), set())
        for wrong, hint in ((["--form", "x"], "known are"), (["--from"], "needs a value"), (["--uninstall"], "nothing was installed")):
            ran = self.sh(*wrong)
            self.assertEqual(ran.returncode, 1, wrong)
            self.assertIn(hint, ran.stderr)

    def test_a_script_cut_off_on_its_way_does_nothing(self):
        whole = (self.release / "install.sh").read_text()
        (self.release / "install.sh").write_text(whole[: whole.index('main "$@"')])
        ran = self.sh("--from", str(self.release))
        self.assertEqual((ran.returncode, ran.stdout, self.installed()), (0, "", set()))


class Page(Fixture):
    """`make up` and `make dist` where the page cannot be built."""

    def check(self, prebuilt: str, npm: str) -> subprocess.CompletedProcess:
        (self.scratch / "tools").mkdir(exist_ok=True)
        script = self.scratch / "tools/page-required"
        shutil.copy(PACKAGING.parent / "tools/page-required", script)
        return subprocess.run([script, prebuilt, npm], capture_output=True, text=True)

    def test_without_nodejs_and_without_a_page_the_message_says_what_to_do(self):
        refused = self.check("", "")
        self.assertEqual(refused.returncode, 1)
        for word in ("npm is missing", "install Node.js", "MANYHANDS_PAGE"):
            self.assertIn(word, refused.stderr)
        self.assertEqual(self.check("", "/usr/bin/npm").returncode, 0)
        (self.scratch / "web/dist").mkdir(parents=True)
        (self.scratch / "web/dist/.built").touch()
        self.assertEqual(self.check("", "").returncode, 0)

    def test_a_prebuilt_page_is_named_by_an_absolute_path(self):
        self.assertEqual(self.check("/opt/page", "").returncode, 0)
        refused = self.check("page", "")
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"must be an absolute path: {self.scratch}/page", refused.stderr)
