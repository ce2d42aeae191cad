//! Where the page comes from. Beside the build script so that tests can include it too.

use std::path::{Path, PathBuf};

/// The folder whose files are embedded, or `None` for a program without a page.
///
/// `named` is the value of `MANYHANDS_PAGE`; `built` is where `make page` leaves the page. A release without a
/// page would only be noticed by its users, so there it must be asked for: `MANYHANDS_PAGE=none`. Development
/// builds need no Node.js.
pub fn folder(named: &str, built: &Path, release: bool) -> Result<Option<PathBuf>, String> {
    match named {
        "none" => return Ok(None),
        "" => {}
        named => {
            let named = Path::new(named);
            let folder = named.canonicalize().unwrap_or_else(|_| named.to_owned());
            return match folder.join("index.html").is_file() {
                true => Ok(Some(folder)),
                false => Err(format!(
                    "MANYHANDS_PAGE names {}, which has no index.html; \
                     name the absolute path of a built page, such as the unpacked page archive of a release",
                    named.display()
                )),
            };
        }
    }
    // Written last, so that a page is either complete or not there.
    if built.join(".built").is_file() {
        return Ok(Some(built.to_owned()));
    }
    match release {
        false => Ok(None),
        true => Err(
            "the web page has not been built: run `make page` first, which needs Node.js 20 or newer with npm, \
             or set MANYHANDS_PAGE to the folder of a built one, or to `none` for a program without a page"
                .to_owned(),
        ),
    }
}
