//! The rooms of the source, which are its top-level modules, and the imports between them.
//!
//! The map in `src/lib.rs` lists the rooms from top to bottom. This test compares it with the code.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The map in the first comment of `src/lib.rs`: a line for each floor, the highest first.
fn floors(source: &Path) -> Vec<Vec<String>> {
    let lib = fs::read_to_string(source.join("lib.rs")).unwrap();
    let text: Vec<&str> = lib.lines().filter_map(|line| line.strip_prefix("//!")).collect();
    // The blocks are text, the picture, text, the map, and text.
    let map = text.split(|line| line.trim().starts_with("```")).nth(3).unwrap();
    let rooms = |line: &&str| -> Vec<String> {
        let words = line.split_whitespace();
        words.filter_map(|word| word.strip_suffix('/')).map(str::to_owned).collect()
    };
    map.iter().map(rooms).collect()
}

/// The Rust files in a folder and below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The first names of paths such as `crate::engine::Context` and `crate::{engine::Context, finding}`.
fn imports(text: &str) -> Vec<&str> {
    let name = |text: &str| text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    let mut imports = Vec::new();
    for path in text.split("crate::").skip(1) {
        let Some(group) = path.strip_prefix('{') else {
            imports.push(&path[..name(path).unwrap_or(path.len())]);
            continue;
        };
        let (mut depth, mut begins) = (0, true);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                c if begins && !c.is_whitespace() => {
                    imports.push(&group[at..][..name(&group[at..]).unwrap()]);
                    begins = false;
                }
                _ => {}
            }
        }
    }
    imports
}

#[test]
fn imports_are_found_alone_and_in_groups() {
    let code =
        "use crate::{\n    a::{X, x::Y},\n    b,\n};\nfn f(x: &crate::c_d::T) { crate::e(); }";
    assert_eq!(imports(code), ["a", "b", "c_d", "e"]);
}

#[test]
fn a_room_imports_only_rooms_below_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let floors = floors(&source);
    let floor = |room: &str| floors.iter().position(|rooms| rooms.iter().any(|it| it == room));
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in files(&source) {
        let path = file.strip_prefix(&source).unwrap().with_extension("");
        let room = path.iter().next().unwrap().to_str().unwrap().to_owned();
        let is_test = path.iter().any(|part| part == "tests");
        if file.extension().is_none_or(|it| it != "rs")
            || is_test
            || ["lib", "main"].contains(&&*room)
        {
            continue;
        }
        let own = floor(&room).unwrap_or_else(|| panic!("{room} is not on the map"));
        let text = fs::read_to_string(&file).unwrap();
        // Unit tests are at the bottom, and may import anything.
        let (code, _) = text.split_once("#[cfg(test)]\nmod ").unwrap_or((&text, ""));
        let code: Vec<&str> =
            code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n").replace("in crate::", "");
        for import in imports(&code).into_iter().filter(|import| *import != room) {
            count += 1;
            if floor(import).is_none_or(|other| other <= own) {
                wrong.push(format!("{} imports {import}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "these rooms are not below:\n{}", wrong.join("\n"));
    assert!(count > 500, "only {count} imports");
}
