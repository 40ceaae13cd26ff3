//! Files of the repository that are generated or recorded. `UPDATE_GENERATED=1` writes them.

use similar::TextDiff;

use crate::prelude::*;

/// Whether to write the files. A test then passes whatever the old content.
pub fn updates() -> bool {
    env::var_os("UPDATE_GENERATED").is_some_and(|value| !value.is_empty())
}

/// Asserts the content of a file in the repository.
///
/// # Panics
/// With the differences.
#[track_caller]
pub fn is_current(path: &str, content: &str) {
    let file = Path::new(ROOT).join(path);
    if updates() {
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, content).expect("a file that can be written");
        return;
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    if found != content {
        let diff = TextDiff::from_lines(found.as_str(), content);
        let diff = diff.unified_diff().header("recorded", "now").to_string();
        panic!(
            "{path} is out of date, and UPDATE_GENERATED=1 writes it (docs/testing.md):\n{diff}"
        );
    }
}

/// Asserts that an output equals `tests/it/snapshots/NAME.txt` with one line break at the end.
///
/// # Panics
/// With the differences.
#[track_caller]
pub fn snapshot(name: &str, output: &str) {
    let output = format!("{}\n", output.trim_end());
    is_current(&format!("tests/it/snapshots/{name}.txt"), &output);
}
