use std::os::unix::fs::symlink;

use super::*;
use crate::Matches;

fn read(fixture: &Fixture, path: &str) -> Result<ReadResult, LocalError> {
    let request = ReadRequest {
        path: path.to_owned(),
        ..ReadRequest::default()
    };
    fixture.files.read(&request, &never())
}

fn grep(fixture: &Fixture, path: &str, follow_links: bool) -> Result<Vec<String>, LocalError> {
    let request = GrepRequest {
        pattern: "needle".to_owned(),
        path: Some(path.to_owned()),
        follow_links,
        ..GrepRequest::default()
    };
    let found = fixture.files.grep(&request, &never())?;
    Ok(found
        .matches
        .iter()
        .map(|hit| fixture.below(&hit.path))
        .collect())
}

fn glob(fixture: &Fixture, path: &str, pattern: &str) -> Result<Vec<String>, LocalError> {
    let request = GlobRequest {
        pattern: pattern.to_owned(),
        path: Some(path.to_owned()),
        ..GlobRequest::default()
    };
    let found = fixture.files.glob(&request, &never())?;
    let mut found: Vec<String> = found
        .matches
        .iter()
        .map(|path| fixture.below(path))
        .collect();
    found.sort();
    Ok(found)
}

#[test]
fn nothing_outside_the_jail_is_reached() {
    let fixture = Fixture::jailed();
    fixture.put("d/f", "needle");
    put(&fixture.out("secret"), "needle");
    symlink(fixture.out(""), fixture.at("to-out")).unwrap();
    symlink("../out/secret", fixture.at("to-secret")).unwrap();
    let before = fixture.names();
    let out = |path: &str| fixture.out(path).display().to_string();
    let refused: [String; 6] = [
        out("secret"),
        "../out/secret".to_owned(),
        format!("{}/../out/secret", fixture.at("d").display()),
        "to-out/secret".to_owned(),
        "to-secret".to_owned(),
        "/etc/passwd".to_owned(),
    ];
    for path in &refused {
        let request = [
            read(&fixture, path).err(),
            fixture.files.write(path, "x").err(),
            fixture.files.edit(path, "needle", "x", Matches::One).err(),
            grep(&fixture, path, true).err(),
        ];
        for error in request {
            assert!(
                matches!(error, Some(LocalError::Outside { .. })),
                "{path}: {error:?}"
            );
        }
    }
    for base in [
        out(""),
        "to-out".to_owned(),
        "/".to_owned(),
        "..".to_owned(),
    ] {
        for error in [
            grep(&fixture, &base, true).err(),
            glob(&fixture, &base, "*").err(),
        ] {
            assert!(
                matches!(error, Some(LocalError::Outside { .. })),
                "{base}: {error:?}"
            );
        }
    }
    assert!(glob(&fixture, "", &out("*")).is_err());
    assert_eq!(fs::read(fixture.out("secret")).unwrap(), b"needle");
    assert_eq!(fs::read_dir(fixture.out("")).unwrap().count(), 1);
    assert_eq!(fixture.names(), before);
    for follow_links in [false, true] {
        assert_eq!(grep(&fixture, "", follow_links).unwrap(), ["d/f"]);
    }
    assert_eq!(glob(&fixture, "", "**/*").unwrap(), ["d/f"]);
}

#[test]
fn everything_works_inside_the_jail() {
    let fixture = Fixture::jailed();
    let absolute = fixture.at("").canonicalize().unwrap().join("a/f");
    let absolute = absolute.to_str().unwrap();
    assert_eq!(
        fixture.files.write("a/f", "needle\n").unwrap().path,
        absolute
    );
    symlink("a", fixture.at("to-a")).unwrap();
    for path in ["a/f", "./a/f", "to-a/f", absolute] {
        assert!(
            matches!(read(&fixture, path), Ok(ReadResult::Text(_))),
            "{path}"
        );
        let edited = fixture.files.edit(path, "needle", "needle", Matches::One);
        assert_eq!(edited.unwrap().replacements, 1, "{path}");
    }
    assert_eq!(grep(&fixture, "", false).unwrap(), ["a/f", "to-a/f"]);
    assert_eq!(glob(&fixture, "a", "*").unwrap(), ["a/f"]);
    fifo(&fixture.at("fifo"));
    assert!(matches!(
        read(&fixture, "fifo"),
        Err(LocalError::NotRegular(_))
    ));
    assert!(matches!(
        fixture.files.write("fifo", ""),
        Err(LocalError::NotRegular(_))
    ));
}

#[test]
fn a_workspace_inside_a_larger_jail_is_where_paths_start() {
    let fixture = Fixture::new();
    let jail = fixture.dir.path().canonicalize().unwrap();
    let files = LocalFiles::open(&fixture.at(""), Some(&jail)).unwrap();
    let fixture = Fixture { files, ..fixture };
    fixture.files.write("f", "needle").unwrap();
    assert_eq!(fixture.get("f"), "needle");
    let beside = jail.join("out/g");
    fixture
        .files
        .write(beside.to_str().unwrap(), "needle")
        .unwrap();
    assert_eq!(fs::read(fixture.out("g")).unwrap(), b"needle");
    symlink("../out", fixture.at("to-out")).unwrap();
    assert_eq!(grep(&fixture, "", false).unwrap(), ["f"]);
    assert_eq!(grep(&fixture, "", true).unwrap(), ["f", "to-out/g"]);
}

#[test]
fn a_jail_must_be_there_and_hold_the_workspace() {
    let fixture = Fixture::new();
    let open = |jail: &Path| LocalFiles::open(&fixture.at(""), Some(jail));
    assert!(matches!(
        open(&fixture.out("typo")),
        Err(LocalError::NotFound(_))
    ));
    assert!(!fixture.out("typo").exists());
    assert!(matches!(
        open(&fixture.out("")),
        Err(LocalError::Outside { .. })
    ));
    put(&fixture.out("file"), "x");
    assert!(matches!(
        open(&fixture.out("file")),
        Err(LocalError::NotDirectory(_))
    ));
    assert!(open(fixture.dir.path()).is_ok());
}
