//! The address and version of a release must be equal in all texts.

use crate::prelude::*;

/// `owner/name`, from `repository` in Cargo.toml.
fn home() -> &'static str {
    env!("CARGO_PKG_REPOSITORY").strip_prefix("https://github.com/").unwrap()
}

/// The texts of this repository by path: all files that git would add, except test data.
fn texts() -> Vec<(String, String)> {
    let mut git = Command::new("git");
    git.current_dir(env!("CARGO_MANIFEST_DIR"));
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let listed = Ran::from(git.output().unwrap());
    let paths = listed.stdout.lines().filter(|path| !path.starts_with("tests/"));
    let text = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
    // git lists a deleted file until the next commit.
    let texts: Vec<_> =
        paths.filter_map(|path| Some((path.to_owned(), text(path).ok()?))).collect();
    assert!(texts.len() > 100, "{listed:?}");
    texts
}

fn after<'a>(text: &'a str, prefix: &str) -> impl Iterator<Item = &'a str> {
    text.split(prefix).skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_./".contains(c)));
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[test]
fn every_text_names_the_same_home() {
    let mut named = 0;
    for (path, text) in texts() {
        for prefix in ["github.com/", "raw.githubusercontent.com/", "ghcr.io/", "uses: "] {
            for name in after(&text, prefix) {
                let ours = name.split('/').nth(1).is_some_and(|it| it.starts_with("setguard"));
                if ours {
                    let is_home = name == home() || name.starts_with(&format!("{}/", home()));
                    assert!(is_home || name.starts_with(&format!("{}.", home())), "{path}: {name}");
                    named += 1;
                }
            }
        }
    }
    assert!(named > 10, "{named}");
}

/// Lines with the version of an old release, or of a different program, such as the example extensions of editors. `^`
/// begins a range of package versions.
const OTHER_VERSIONS: [&str; 6] = [
    "before the release of ", "\"version\": ", "version = ", "\"^", "    .ci/version ",
    "the tag `v",
];

/// A copy of all files with the version, and the script that changes it. Returns the paths that must change.
fn copy() -> (Folder, Vec<String>) {
    let folder = Folder::new([]);
    let mut named = Vec::new();
    for (path, text) in texts() {
        let is_code =
            ["src/", "crates/", "benches/", "fuzz/"].iter().any(|it| path.starts_with(it));
        let is_named = !is_code && text.contains(env!("CARGO_PKG_VERSION"));
        if is_named || path.starts_with(".ci/") || path == "CHANGELOG.md" {
            folder.write(&path, text);
        }
        if is_named && !path.ends_with(".lock") && !path.ends_with("CHANGELOG.md") {
            named.push(path);
        }
    }
    assert!(named.len() > 10, "{named:?}");
    (folder, named)
}

#[test]
fn a_new_version_comes_everywhere() {
    let (folder, named) = copy();
    let version = |args: &[&str]| {
        Ran::from(folder.command("bash").arg(".ci/version").args(args).output().unwrap())
    };
    assert_eq!(version(&[]).stdout.trim(), env!("CARGO_PKG_VERSION"));
    for wrong in ["1.2", "v1.2.3", "1.2.3/..", "1.2.3-"] {
        assert_eq!(version(&[wrong]).code, 2, "{wrong}");
    }
    for new in ["98.7.6-rc.1", "98.7.6"] {
        let early = version(&["--check", new]);
        assert_eq!(early.code, 1);
        assert_eq!(early.stderr.lines().count(), 16 + 6, "{early:?}");
        version(&[new]).ends(0).reports_only("");
        assert_eq!(version(&[]).stdout.trim(), new);
    }
    for path in named {
        let text = folder.read(&path);
        // Don't match `10.1.0` either.
        let names = |line: &&str| {
            let mut found = line.match_indices(env!("CARGO_PKG_VERSION"));
            found.any(|(at, _)| !line[..at].ends_with(|c: char| c.is_ascii_digit()))
        };
        let mut old = text.lines().filter(names);
        let left = old.find(|line| !OTHER_VERSIONS.iter().any(|it| line.contains(it)));
        assert_eq!(left, None, "{path}");
    }
    let changes = folder.read("CHANGELOG.md");
    let headings: Vec<_> = changes.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(headings[0], "## Unreleased");
    assert!(headings[1].starts_with("## 98.7.6 - 20"), "{headings:?}");
    // The rest of the lock file stays unchanged.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (lock, old) =
        (folder.read("Cargo.lock"), fs::read_to_string(root.join("Cargo.lock")).unwrap());
    let changed = lock.lines().zip(old.lines()).filter(|(new, old)| new != old).count();
    // The program and its crates.
    assert_eq!(changed, 6);
}
