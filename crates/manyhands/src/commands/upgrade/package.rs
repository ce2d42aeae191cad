//! Whether a package manager installed this program. Its files are replaced by nobody else.

use std::path::Path;

use manyhands_terminal::output::Failure;

/// A file that a package may install beside `bin`, as `share/manyhands/upgrade-command`: the command that upgrades it.
const MARKER: &str = "share/manyhands/upgrade-command";

/// Fails if a package manager installed `program`; the error names its command.
pub fn refuse(program: &Path) -> Result<(), Failure> {
    match manager(program, Path::new("/")) {
        None => Ok(()),
        Some((by, command)) => Err(Failure(format!(
            "{} was installed by {by}, which has to upgrade it\nhint: {command}",
            program.display()
        ))),
    }
}

/// The package manager of a program and the command that upgrades it. `root` is `/`.
fn manager(program: &Path, root: &Path) -> Option<(&'static str, String)> {
    let text = program.to_string_lossy();
    let prefix = program.parent().and_then(Path::parent);
    let marker = prefix.and_then(|prefix| std::fs::read_to_string(prefix.join(MARKER)).ok());
    if let Some(command) = marker.as_deref().and_then(|text| text.lines().next()) {
        return Some(("a package", command.trim().to_owned()));
    }
    let known = |by, command: &str| Some((by, command.to_owned()));
    if text.starts_with("/nix/store/") {
        return known("Nix", "nix profile upgrade manyhands");
    }
    if text.contains("/Cellar/") {
        return known("Homebrew", "brew upgrade manyhands");
    }
    if text.contains("/node_modules/") {
        return known("npm", "npm install --global manyhands@latest");
    }
    if text.contains("/uv/tools/") {
        return known("uv", "uv tool upgrade manyhands");
    }
    if text.contains("/uv/archive-") || text.contains("/uv/builds-") {
        return known("uvx", "uvx manyhands@latest");
    }
    if text.contains("/pipx/venvs/") {
        return known("pipx", "pipx upgrade manyhands");
    }
    if text.contains("/site-packages/") || prefix.is_some_and(is_python) {
        return known("pip", "pip install --upgrade manyhands");
    }
    let is_systems = program.starts_with("/usr/bin") || program.starts_with("/usr/sbin");
    if is_systems && root.join("var/lib/dpkg/info/manyhands.list").exists() {
        return known(
            "dpkg",
            "sudo apt install ./manyhands_VERSION_ARCH.deb (or `sudo apt upgrade` where a repository has it)",
        );
    }
    let rpm = ["usr/lib/sysimage/rpm", "var/lib/rpm"];
    if is_systems && rpm.iter().any(|folder| root.join(folder).exists()) {
        return known("rpm", "sudo dnf upgrade manyhands");
    }
    None
}

/// Whether a Python environment at `prefix` has the package.
fn is_python(prefix: &Path) -> bool {
    let folders = std::fs::read_dir(prefix.join("lib")).into_iter().flatten();
    let pythons = folders.flatten().map(|entry| entry.path());
    let mut packages = pythons
        .filter(|path| path.to_string_lossy().contains("python"))
        .flat_map(|path| {
            let found =
                ["site-packages", "dist-packages"].map(|name| std::fs::read_dir(path.join(name)));
            found.into_iter().flatten().flatten().flatten()
        });
    packages.any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("manyhands-") && name.ends_with(".dist-info")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_known_by_their_paths() {
        let root = tempfile::tempdir().unwrap();
        let by = |program: &str| manager(Path::new(program), root.path()).map(|(by, _)| by);
        for (program, expect) in [
            ("/nix/store/abc-manyhands-0.1.0/bin/manyhands", Some("Nix")),
            (
                "/opt/homebrew/Cellar/manyhands/0.1.0/bin/manyhands",
                Some("Homebrew"),
            ),
            (
                "/usr/lib/node_modules/manyhands-linux-x64/bin/manyhands",
                Some("npm"),
            ),
            (
                "/home/a/.local/share/uv/tools/manyhands/bin/manyhands",
                Some("uv"),
            ),
            ("/home/a/.cache/uv/archive-v0/x/bin/manyhands", Some("uvx")),
            (
                "/home/a/.local/share/pipx/venvs/manyhands/bin/manyhands",
                Some("pipx"),
            ),
            (
                "/v/lib/python3.11/site-packages/manyhands/bin/manyhands",
                Some("pip"),
            ),
            ("/usr/bin/manyhands", None),
            ("/usr/local/bin/manyhands", None),
            ("/home/a/.local/bin/manyhands", None),
        ] {
            assert_eq!(by(program), expect, "{program}");
        }
        let list = root.path().join("var/lib/dpkg/info");
        std::fs::create_dir_all(&list).unwrap();
        std::fs::write(list.join("manyhands.list"), "/usr/bin/manyhands\n").unwrap();
        assert_eq!(by("/usr/bin/manyhands"), Some("dpkg"));
        assert_eq!(by("/usr/local/bin/manyhands"), None);
    }

    #[test]
    fn a_package_may_name_its_command_itself() {
        let prefix = tempfile::tempdir().unwrap();
        let program = prefix.path().join("bin/manyhands");
        assert_eq!(manager(&program, prefix.path()), None);
        std::fs::create_dir_all(prefix.path().join("share/manyhands")).unwrap();
        std::fs::write(prefix.path().join(MARKER), "apk upgrade manyhands\n").unwrap();
        let (_, command) = manager(&program, prefix.path()).unwrap();
        assert_eq!(command, "apk upgrade manyhands");
    }

    #[test]
    fn a_program_in_a_python_environment_belongs_to_pip() {
        let prefix = tempfile::tempdir().unwrap();
        let program = prefix.path().join("bin/manyhands");
        let packages = prefix.path().join("lib/python3.12/site-packages");
        std::fs::create_dir_all(&packages).unwrap();
        assert_eq!(manager(&program, prefix.path()), None);
        std::fs::create_dir(packages.join("manyhands-0.1.0.dist-info")).unwrap();
        assert_eq!(manager(&program, prefix.path()).unwrap().0, "pip");
    }
}
