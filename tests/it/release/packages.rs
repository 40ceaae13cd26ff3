//! The archives of a release, and their descriptions for package managers.

use std::collections::{BTreeMap, BTreeSet};
#[cfg(unix)]
use std::path::Path;

use serde_json::Value;
#[cfg(unix)]
use serde_json::json;
#[cfg(unix)]
use sha2::{Digest, Sha256};

use super::read;
#[cfg(unix)]
use crate::folder::{Folder, Ran};
use crate::support::to_json;

/// The targets of Rust that a script builds archives for, each with its part of the archive's name.
fn systems(script: &str) -> BTreeMap<String, String> {
    let text = read(script);
    let cases = text.lines().filter_map(|line| line.split_once(") system="));
    cases
        .map(|(target, system)| (target.to_owned(), system.trim_end_matches(" ;;").to_owned()))
        .collect()
}

/// The archives of a release by their targets: the ends of their names.
fn archives() -> BTreeMap<String, String> {
    let mut archives = systems(".ci/dist");
    archives.extend(systems(".ci/dist-native"));
    archives.remove("x86_64-pc-windows-gnu").expect("the trial on Linux");
    assert_eq!(archives.len(), 7, "{archives:?}");
    let end = |system: &str| if system.starts_with("windows") { "zip" } else { "tar.gz" };
    archives.values_mut().for_each(|it| *it = format!("{it}.{}", end(it)));
    archives
}

#[test]
fn a_release_has_every_archive() {
    let release: Value =
        serde_json::from_str(&to_json(&read(".github/workflows/release.yaml"))[0]).unwrap();
    let matrix = |job: &str, list: &str, key: Option<&str>| -> BTreeSet<String> {
        let list = release["jobs"][job]["strategy"]["matrix"][list].as_array().unwrap().iter();
        let value = |it: &Value| key.map_or(it.clone(), |key| it[key].clone());
        list.map(|it| value(it).as_str().unwrap().to_owned()).collect()
    };
    let linux = systems(".ci/dist");
    assert_eq!(matrix("archive", "target", None), linux.keys().cloned().collect());
    // Both of a processor are tried on that processor.
    let tried = matrix("try", "include", Some("system"));
    let with_musl = tried.iter().flat_map(|it| [it.clone(), format!("{it}-musl")]);
    assert_eq!(with_musl.collect::<BTreeSet<_>>(), linux.values().cloned().collect());
    let others = matrix("native", "include", Some("target"));
    assert_eq!(&others | &linux.into_keys().collect(), archives().into_keys().collect());
    // The release waits for all of them.
    let needs = release["jobs"]["release"]["needs"].as_array().unwrap();
    for job in ["archive", "native", "extension", "try", "image", "chart"] {
        assert!(needs.iter().any(|it| it == job), "{job}");
    }
    // All archives are published, and a manifest for each package manager.
    let steps = release["jobs"]["release"]["steps"].as_array().unwrap();
    let publish = steps.iter().find_map(|step| step["run"].as_str()).unwrap();
    for part in ["for manifest in .github/packages/*", " archives/* ", " manifests/*\n"] {
        assert!(publish.contains(part), "{part}: {publish}");
    }
}

#[test]
fn binstall_finds_the_archive_of_each_target() {
    let text = read("Cargo.toml");
    let mut of = BTreeMap::new();
    for section in text.split("[package.metadata.binstall.overrides.").skip(1) {
        let (target, rest) = section.split_once("]\n").unwrap();
        let lines: Vec<&str> = rest.lines().take(3).collect();
        let (_, archive) = lines[0].split_once("setguard-{ version }-").unwrap();
        let archive = archive.trim_end_matches('"');
        let (system, kind) = match archive.strip_suffix(".tar.gz") {
            Some(system) => (system, "tgz"),
            None => (archive.strip_suffix(".zip").unwrap(), "zip"),
        };
        assert_eq!(
            lines[0],
            format!(
                r#"pkg-url = "{{ repo }}/releases/download/v{{ version }}/setguard-{{ version }}-{archive}""#
            )
        );
        assert_eq!(
            lines[1],
            format!(r#"bin-dir = "setguard-{{ version }}-{system}/{{ bin }}{{ binary-ext }}""#)
        );
        assert_eq!(lines[2], format!(r#"pkg-fmt = "{kind}""#));
        of.insert(target.to_owned(), archive.to_owned());
    }
    assert_eq!(of, archives());
}

/// Prints the description of a release for a package manager. The content of each archive in the release
/// is the end of its name.
#[cfg(unix)]
fn described_for(manager: &str) -> String {
    let folder = Folder::new([]);
    for archive in archives().into_values() {
        folder.write(&archive_name(&archive), &archive);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/manifest");
    let ran = folder.command("bash").arg(script).args([manager, "."]).output().unwrap();
    let ran = Ran::from(ran);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    for left in ["VERSION", "CHECKSUM"] {
        assert!(!ran.stdout.contains(left), "{}", ran.stdout);
    }
    ran.stdout
}

fn archive_name(archive: &str) -> String {
    format!("setguard-{}-{archive}", env!("CARGO_PKG_VERSION"))
}

fn archive_url(archive: &str) -> String {
    let (home, version) = (env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION"));
    format!("{home}/releases/download/v{version}/{}", archive_name(archive))
}

fn checksum(archive: &str) -> String {
    Sha256::digest(archive).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
#[test]
fn krew_gets_the_archives_of_the_release_with_their_checksums() {
    let manifest: Value =
        serde_json::from_str(&to_json(&described_for("setguard.krew.yaml"))[0]).unwrap();
    assert_eq!(manifest["spec"]["version"], format!("v{}", env!("CARGO_PKG_VERSION")));
    assert_eq!(manifest["spec"]["homepage"], env!("CARGO_PKG_REPOSITORY"));
    let platforms = manifest["spec"]["platforms"].as_array().unwrap();
    let mut seen = BTreeSet::new();
    for platform in platforms {
        let labels = &platform["selector"]["matchLabels"];
        let (os, arch) = (labels["os"].as_str().unwrap(), labels["arch"].as_str().unwrap());
        let (archive, program) = match os {
            "linux" => (format!("linux-{arch}-musl.tar.gz"), "setguard"),
            "windows" => (format!("windows-{arch}.zip"), "setguard.exe"),
            _ => (format!("{os}-{arch}.tar.gz"), "setguard"),
        };
        assert_eq!(platform["uri"], archive_url(&archive));
        assert_eq!(platform["sha256"], checksum(&archive));
        let folder = archive_name(&archive).replace(".tar.gz", "").replace(".zip", "");
        let file = json!({"from": format!("{folder}/{program}"), "to": "."});
        assert_eq!((&platform["files"][0], &platform["bin"]), (&file, &json!(program)));
        seen.insert(archive);
    }
    // Of the archives for Linux, those that need nothing.
    let wanted =
        archives().into_values().filter(|it| !it.starts_with("linux") || it.contains("musl"));
    assert_eq!(seen, wanted.collect());
}

#[cfg(unix)]
#[test]
fn homebrew_gets_the_archives_of_the_release_with_their_checksums() {
    let formula = described_for("setguard.rb");
    assert!(formula.contains(&format!("  version \"{}\"\n", env!("CARGO_PKG_VERSION"))));
    let mut seen = BTreeSet::new();
    let (mut os, mut cpu) = ("", "");
    for line in formula.lines().map(str::trim) {
        match line.split_once(' ') {
            Some(("on_macos", _)) => os = "darwin",
            Some(("on_linux", _)) => os = "linux",
            Some(("on_arm", _)) => cpu = "arm64",
            Some(("on_intel", _)) => cpu = "amd64",
            Some(("url", url)) => {
                let archive = format!("{os}-{cpu}.tar.gz");
                assert_eq!(url, format!("\"{}\"", archive_url(&archive)));
                seen.insert(archive);
            }
            Some(("sha256", sum)) => {
                assert_eq!(sum, format!("\"{}\"", checksum(&format!("{os}-{cpu}.tar.gz"))));
            }
            _ => {}
        }
    }
    let wanted = ["darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64"];
    assert_eq!(seen, wanted.map(|system| format!("{system}.tar.gz")).into());
    assert_eq!(formula.matches("sha256 ").count(), 4);
}

#[cfg(unix)]
#[test]
fn scoop_gets_the_archive_of_the_release_with_its_checksum() {
    let manifest: Value = serde_json::from_str(&described_for("setguard.json")).unwrap();
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let archive = "windows-amd64.zip";
    let wanted = json!({"64bit": {"url": archive_url(archive), "hash": checksum(archive)}});
    assert_eq!(manifest["architecture"], wanted);
    assert_eq!(manifest["extract_dir"], archive_name("windows-amd64"));
    assert_eq!(manifest["bin"], "setguard.exe");
}

#[cfg(unix)]
#[test]
fn a_description_needs_every_archive() {
    let folder = Folder::new([]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/manifest");
    let ran = Ran::from(
        folder.command("bash").arg(script).args(["setguard.krew.yaml", "."]).output().unwrap(),
    );
    assert!(ran.code != 0 && ran.stdout.is_empty(), "{ran:?}");
}
