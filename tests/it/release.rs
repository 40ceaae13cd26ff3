//! The parts of a release and its address, which are equal in every text that names them.

mod packages;

use std::{fs, path::Path, process::Command};

use crate::folder::{Folder, Ran};

/// `owner/name`, from `repository` in Cargo.toml.
fn home() -> &'static str {
    env!("CARGO_PKG_REPOSITORY").strip_prefix("https://github.com/").unwrap()
}

/// The texts of this repository by their paths: whatever git would add, and no data of tests.
fn texts() -> Vec<(String, String)> {
    let mut git = Command::new("git");
    git.current_dir(env!("CARGO_MANIFEST_DIR"));
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let listed = Ran::from(git.output().unwrap());
    let paths = listed.stdout.lines().filter(|path| !path.starts_with("tests/"));
    let text = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
    // A deleted file is listed until the next commit.
    let texts: Vec<_> =
        paths.filter_map(|path| Some((path.to_owned(), text(path).ok()?))).collect();
    assert!(texts.len() > 100, "{listed:?}");
    texts
}

/// The words after a prefix, up to what cannot be in the name of a repository.
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

#[test]
fn nothing_waits_to_be_filled_in() {
    for (path, text) in texts() {
        for (number, line) in text.lines().enumerate() {
            let place = format!("{path}:{}: {line}", number + 1);
            for word in ["OWNER/", "/OWNER", "YOUR-", "your-org", "TODO", "FIXME"] {
                assert!(!line.contains(word), "{place}");
            }
        }
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// A folder with shell scripts that stand in for programs and run in it, and a `PATH` that begins with it.
#[cfg(unix)]
fn stand_ins(scripts: &[(&str, &str)]) -> (Folder, String) {
    use std::{env, fs::Permissions, os::unix::fs::PermissionsExt as _};

    let folder = Folder::new([]);
    let at = folder.0.path().display();
    for (name, script) in scripts {
        folder.write(name, format!("#!/bin/sh\ncd '{at}' || exit 3\n{script}\n"));
        fs::set_permissions(folder.path(name), Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{at}:{}", env::var("PATH").unwrap());
    (folder, path)
}

/// Zig, as a C compiler, would take the symbol of `-u SYMBOL` for a file.
#[cfg(unix)]
#[test]
fn zig_links_the_code_that_writes_the_counts() {
    let (folder, path) = stand_ins(&[("cargo-zigbuild", "printf '%s\\n' \"$@\"")]);
    let ran = folder
        .command("bash")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/zig-linker"))
        .args(["-o", "an out", "-u", "__llvm_profile_runtime", "x.o"])
        .env("PATH", path)
        .env("ZIG_TARGET", "x86_64-linux-musl")
        .output();
    let ran = Ran::from(ran.unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let handed: Vec<&str> = ran.stdout.lines().collect();
    let target = ["zig", "cc", "--", "-target", "x86_64-linux-musl"];
    let arguments = ["-o", "an out", "-Wl,-u,__llvm_profile_runtime", "x.o"];
    assert_eq!(handed, [&target[..], &arguments].concat());
}

/// Counts that are not written by the program itself, on its own processor or an emulated one, would
/// make it slower without a word.
#[cfg(unix)]
#[test]
fn a_program_for_another_processor_counts_in_an_emulator() {
    let (folder, path) = stand_ins(&[
        (
            "cargo",
            r#"folder="$CARGO_TARGET_DIR/aarch64-unknown-linux-gnu/dist"; mkdir -p "$folder"
            echo "$*, $RUSTFLAGS" | sed "s|=/.*|=FOLDER|" >>ran; cp program "$folder/setguard""#,
        ),
        (
            "program",
            r#"echo "program $1" >>ran; [ "$1" = serve ] || exit 1; trap "exit 0" TERM
            echo '{"message":"listening","webhook":"127.0.0.1:8443"}' >&2; while :; do sleep 0.1; done"#,
        ),
        (
            "emulator",
            r#"[ "$1 $2" = "-L /libc" ] || exit 2; shift 2; echo emulated >>ran; exec "$@""#,
        ),
        ("curl", "for last; do :; done; echo \"curl ${last%%\\?*}\" >>ran"),
        ("rustc", "echo host: x86_64-unknown-linux-gnu"),
        ("llvm-profdata", r#"echo "$1 $3" >>ran"#),
    ]);
    let at = folder.0.path().display();
    let ran = folder
        .command("bash")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/profile"))
        .arg("aarch64-unknown-linux-gnu.2.28")
        .env("PATH", path)
        .env("CARGO_TARGET_DIR", folder.0.path())
        .env("LLVM_PROFDATA", folder.path("llvm-profdata"))
        .env("RUNNER", "emulator -L /libc")
        .env_remove("RUSTFLAGS")
        .output();
    let ran = Ran::from(ran.unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let steps = folder.read("ran");
    let count = |step: &str| steps.lines().filter(|line| *line == step).count();
    let build = "build --locked --features jemalloc --profile dist --bin setguard \
                 --target aarch64-unknown-linux-gnu.2.28,  -Cprofile-generate=FOLDER";
    assert_eq!((count(build), count("program serve")), (1, 1), "{steps}");
    assert!(count("program check") > 10, "{steps}");
    assert_eq!(count("emulated"), 1 + count("program check"), "{steps}");
    for path in ["validate", "mutate"] {
        assert!(count(&format!("curl https://127.0.0.1:8443/{path}")) > 1, "{steps}");
    }
    assert!(steps.ends_with(&format!("merge {at}/setguard.profdata\n")), "{steps}");
}

/// Lines that name the version of the release as it was then, or the version of something else.
#[cfg(unix)]
const OTHER_VERSIONS: [&str; 7] = [
    "Decided for ",
    "before the release of ",
    // The editors' extensions of the examples.
    "\"version\": ",
    "version = ",
    // A range of versions of a package.
    "\"^",
    "    .ci/version ",
    "the tag `v",
];

/// A copy of all files that name the version, with the script that changes it. Returns the paths of
/// those that must name a new one.
#[cfg(unix)]
fn copy() -> (Folder, Vec<String>) {
    let folder = Folder::new([]);
    let mut named = Vec::new();
    for (path, text) in texts() {
        let is_code = ["src/", "benches/", "fuzz/"].iter().any(|it| path.starts_with(it));
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

#[cfg(unix)]
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
        assert_eq!(early.stderr.lines().count(), 9 + 6, "{early:?}");
        let ran = version(&[new]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        assert_eq!(version(&[]).stdout.trim(), new);
    }
    for path in named {
        let text = folder.read(&path);
        // Not `10.1.0` either.
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
    // Nothing else has changed in the lock file.
    let (lock, old) = (folder.read("Cargo.lock"), read("Cargo.lock"));
    let changed = lock.lines().zip(old.lines()).filter(|(new, old)| new != old).count();
    assert_eq!(changed, 1);
}

/// An emulated build takes hours, and `release` is the profile that is quick to build.
#[test]
fn the_image_is_compiled_for_its_processor_without_emulation() {
    let dockerfile = read("Dockerfile");
    assert!(dockerfile.contains("\nFROM --platform=$BUILDPLATFORM rust:"));
    assert!(dockerfile.contains("\nARG PROFILE=dist\n"));
    let (_, last) = dockerfile.rsplit_once("\nFROM ").unwrap();
    assert!(!last.contains("\nRUN "), "a command of the image's own processor");
    let release = read(".github/workflows/release.yaml");
    assert!(!release.contains("setup-qemu"));
    assert!(release.contains("platforms: linux/amd64,linux/arm64\n"));
}
