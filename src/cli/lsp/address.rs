use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use setguard_files::manifests::layout::clean;

pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    // `/c:/a.yaml` has a drive.
    #[cfg(windows)]
    let path = path.strip_prefix('/')?;
    let path = clean(Path::new(&*path));
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(windows)]
    #[test]
    fn an_address_of_a_file_is_a_path_with_a_drive() {
        for (uri, wanted) in [
            ("file:///c%3A/b%20c/a.yaml", Some(r"C:\b c\a.yaml")),
            ("file:///C:/a.yaml", Some(r"C:\a.yaml")),
            ("file:///a.yaml", None),
            ("file://host/a.yaml", None),
        ] {
            assert_eq!(path(uri), wanted.map(PathBuf::from), "{uri}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_address_of_a_file_is_a_path() {
        for (uri, wanted) in [
            ("file:///a/b%20c/%C3%A9.yaml", Some("/a/b c/é.yaml")),
            ("file:///a/é.yaml", Some("/a/é.yaml")),
            ("file:///a/b/../c.yaml", Some("/a/c.yaml")),
            ("file:///a/%FF.yaml", None),
            ("file://host/a.yaml", None),
            ("untitled:Untitled-1", None),
            ("", None),
        ] {
            assert_eq!(path(uri), wanted.map(PathBuf::from), "{uri}");
        }
    }
}
