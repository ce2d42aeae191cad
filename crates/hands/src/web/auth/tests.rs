use super::*;

fn settings(prefix: &str) -> AuthProfileSettings {
    AuthProfileSettings {
        id: "git".to_owned(),
        scheme: "https".to_owned(),
        host: "api.example.com".to_owned(),
        port: None,
        path_prefix: prefix.to_owned(),
        methods: vec![Method::GET, Method::POST],
        header: "Authorization".to_owned(),
        format: "Bearer {}".to_owned(),
        secret: Secret::new("canary"),
    }
}

fn inject(profile: &AuthProfile, url: &str, method: &Method) -> Result<HeaderMap, AuthError> {
    let mut headers = HeaderMap::new();
    let injected = profile.inject(&Url::parse(url).unwrap(), method, &mut headers);
    if injected.is_err() {
        assert!(headers.is_empty(), "a refusal leaves nothing behind");
    }
    injected.map(|()| headers)
}

#[test]
fn the_secret_is_sent_where_it_is_meant_for_and_marked() {
    let profile = AuthProfile::new(settings("/api")).unwrap();
    for url in [
        "https://api.example.com/api",
        "https://api.example.com/api/",
        "https://api.example.com/api/x?y=1",
        "https://API.example.com:443/api/x",
        "https://api.example.com/x/../api/y",
        "https://api.example.com/%61pi/y",
        "https://api.example.com/api/group%2Fproject",
        "https://api.example.com/api/a..b/...",
    ] {
        let headers = inject(&profile, url, &Method::GET).unwrap();
        let value = &headers["authorization"];
        assert_eq!(value, "Bearer canary", "{url}");
        assert!(value.is_sensitive());
    }
}

#[test]
fn a_secret_is_sent_nowhere_else_and_the_error_explains_it() {
    let profile = AuthProfile::new(settings("/api")).unwrap();
    for (url, method, part) in [
        (
            "http://api.example.com/api",
            Method::GET,
            "scheme is http, not https",
        ),
        (
            "https://api.example.com.evil.org/api",
            Method::GET,
            "the host is",
        ),
        ("https://example.com/api", Method::GET, "the host is"),
        ("https://api.example.com./api", Method::GET, "the host is"),
        (
            "https://api.example.com:8443/api",
            Method::GET,
            "port is 8443, not 443",
        ),
        ("https://api.example.com/", Method::GET, "not beneath /api"),
        (
            "https://api.example.com/apix",
            Method::GET,
            "not beneath /api",
        ),
        (
            "https://api.example.com/API",
            Method::GET,
            "not beneath /api",
        ),
        (
            "https://api.example.com//api",
            Method::GET,
            "not beneath /api",
        ),
        (
            "https://api.example.com/api/../admin",
            Method::GET,
            "not beneath",
        ),
        (
            "https://api.example.com/api/%2e%2E/admin",
            Method::GET,
            "not beneath",
        ),
        (
            "https://api.example.com/api\\..\\admin",
            Method::GET,
            "not beneath",
        ),
        (
            "https://api.example.com/api%2fx",
            Method::GET,
            "not beneath",
        ),
        (
            "https://api.example.com/api/..%2fadmin",
            Method::GET,
            "differently",
        ),
        (
            "https://api.example.com/api/x%2F..%2F..%2Fadmin",
            Method::GET,
            "differently",
        ),
        (
            "https://api.example.com/api/..%5cadmin",
            Method::GET,
            "differently",
        ),
        (
            "https://api.example.com/api/%252e%252e/admin",
            Method::GET,
            "differently",
        ),
        (
            "https://api.example.com/api/%25252e%25252e%25252fadmin",
            Method::GET,
            "differently",
        ),
        (
            "https://api.example.com/api/..;/admin",
            Method::GET,
            "differently",
        ),
        (
            "https://api.example.com/api/%ff",
            Method::GET,
            "differently",
        ),
        (
            "https://api.example.com/api",
            Method::DELETE,
            "method is DELETE, not GET or POST",
        ),
    ] {
        let error = inject(&profile, url, &method).unwrap_err().to_string();
        assert!(error.contains(part), "{url}: {error}");
        assert!(error.contains("git") && !error.contains("canary"));
    }
    let all = inject(&profile, "http://other.org:1/x", &Method::PUT).unwrap_err();
    assert!(matches!(all, AuthError::Mismatch { mismatches, .. } if mismatches.len() == 5));
}

#[test]
fn a_port_is_compared_as_it_takes_effect() {
    let at = |port| {
        AuthProfile::new(AuthProfileSettings {
            port,
            ..settings("/")
        })
        .unwrap()
    };
    let url = "https://api.example.com/x";
    assert!(inject(&at(Some(443)), url, &Method::GET).is_ok());
    assert!(inject(&at(Some(8443)), url, &Method::GET).is_err());
    let url = "https://api.example.com:8443/x";
    assert!(inject(&at(Some(8443)), url, &Method::GET).is_ok());
    assert!(at(None).covers_whole_origin());
}

#[test]
fn a_profile_that_could_not_work_is_refused_when_it_is_read() {
    let valid = || settings("/api/");
    assert!(AuthProfile::new(valid()).is_ok());
    for (field, bad) in [
        (
            "scheme",
            AuthProfileSettings {
                scheme: "ftp".into(),
                ..valid()
            },
        ),
        (
            "host",
            AuthProfileSettings {
                host: "a.b/c".into(),
                ..valid()
            },
        ),
        (
            "host",
            AuthProfileSettings {
                host: "me@a.b".into(),
                ..valid()
            },
        ),
        (
            "host",
            AuthProfileSettings {
                host: "a.b:8443".into(),
                ..valid()
            },
        ),
        (
            "host",
            AuthProfileSettings {
                host: String::new(),
                ..valid()
            },
        ),
        (
            "path_prefix",
            AuthProfileSettings {
                path_prefix: "api".into(),
                ..valid()
            },
        ),
        (
            "path_prefix",
            AuthProfileSettings {
                path_prefix: "/a%2fb".into(),
                ..valid()
            },
        ),
        (
            "methods",
            AuthProfileSettings {
                methods: vec![],
                ..valid()
            },
        ),
        (
            "header",
            AuthProfileSettings {
                header: "a b".into(),
                ..valid()
            },
        ),
        (
            "format",
            AuthProfileSettings {
                format: "Bearer".into(),
                ..valid()
            },
        ),
        (
            "secret",
            AuthProfileSettings {
                secret: Secret::new("can\nary"),
                ..valid()
            },
        ),
    ] {
        let error = AuthProfile::new(bad).unwrap_err().to_string();
        assert!(
            error.contains(field) && !error.contains("can\nary"),
            "{error}"
        );
    }
}

/// How a server that decodes `layers` times and then resolves dots reads a path.
fn as_read(path: &str, layers: usize) -> Vec<String> {
    let mut text = path.to_owned();
    for _ in 0..layers {
        text = percent_decode_str(&text).decode_utf8_lossy().into_owned();
    }
    let mut read = Vec::new();
    for part in text.split(['/', '\\']) {
        match part.split(';').next().unwrap_or_default() {
            "" | "." => {}
            ".." => drop(read.pop()),
            name => read.push(name.to_owned()),
        }
    }
    read
}

proptest::proptest! {
    #[test]
    fn no_server_reads_a_covered_path_as_one_outside(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "/", "/", "api", "admin", ".", "..", "%2e", "%2E%2e", "%2f", "%5c", "\\", "%252e", "%252f",
                "%25252e", ";", "a", "%61", "%", "%2", "%00", "é", "%c3%a9",
            ]),
            0..10,
        )
    ) {
        let profile = AuthProfile::new(settings("/api")).unwrap();
        let url = Url::parse(&format!("https://api.example.com/api/{}", pieces.concat())).unwrap();
        let mut headers = HeaderMap::new();
        if profile.inject(&url, &Method::GET, &mut headers).is_ok() {
            for layers in 0..4 {
                let read = as_read(url.path(), layers);
                proptest::prop_assert_eq!(read.first().map(String::as_str), Some("api"), "{}", url);
            }
        }
    }
}
