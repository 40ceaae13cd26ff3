//! The rooms of the source, which are its top-level modules, and the imports between them.
//!
//! The map in `src/lib.rs` lists the rooms from top to bottom. These tests compare it with the
//! code.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Item, ItemMod, ItemUse, UseTree, visit::Visit};

/// A source file, and the other files that it imports.
struct Module {
    /// For example `crate`, `engine`, `verdict`.
    path: Vec<String>,
    imports: BTreeSet<String>,
}

/// Collects the paths in a file that start in this crate.
struct Paths {
    here: Vec<String>,
    children: BTreeSet<String>,
    found: Vec<Vec<String>>,
}

impl Paths {
    fn add(&mut self, path: &[String]) {
        let mut segments = path.iter();
        let Some(first) = segments.next() else { return };
        let mut absolute = match first.as_str() {
            "crate" => vec!["crate".to_owned()],
            "self" => self.here.clone(),
            "super" => self.here[..self.here.len() - 1].to_vec(),
            child if self.children.contains(child) => {
                self.here.iter().cloned().chain([child.to_owned()]).collect()
            }
            _ => return,
        };
        for segment in segments {
            match segment.as_str() {
                "super" => {
                    absolute.pop();
                }
                "self" => {}
                name => absolute.push(name.to_owned()),
            }
        }
        self.found.push(absolute);
    }

    fn add_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: String| before.iter().cloned().chain([name]).collect::<Vec<_>>();
        match tree {
            UseTree::Path(path) => self.add_tree(&with(path.ident.to_string()), &path.tree),
            UseTree::Name(name) => self.add(&with(name.ident.to_string())),
            UseTree::Rename(name) => self.add(&with(name.ident.to_string())),
            UseTree::Glob(_) => self.add(before),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_tree(before, tree));
            }
        }
    }

    /// Macros are not parsed: a path in them is a row of words with colons between them.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            if let TokenTree::Punct(punct) = &token
                && punct.as_char() == ':'
            {
                colons += 1;
                continue;
            }
            if colons != 2 {
                self.add(&std::mem::take(&mut path));
            }
            colons = 0;
            match token {
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        self.add(&path);
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        // Tests may import anything.
        if module.ident != "tests" && module.ident != "testing" {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_tree(&[], &item.tree);
    }

    /// `pub(in crate::plan)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if segments.len() > 1 {
            self.add(&segments);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        self.add_tokens(node.tokens.clone());
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// All modules that are files, by names such as `engine::verdict`.
static MODULES: LazyLock<BTreeMap<String, Module>> = LazyLock::new(read_modules);

fn read_modules() -> BTreeMap<String, Module> {
    let source = source();
    let mut parsed = BTreeMap::new();
    for file in files(&source) {
        let relative = file.strip_prefix(&source).unwrap().with_extension("");
        let parts = relative.iter().map(|part| part.to_str().unwrap().to_owned());
        let mut path: Vec<String> = [String::from("crate")].into_iter().chain(parts).collect();
        if path.len() == 2 && matches!(path[1].as_str(), "lib" | "main") {
            continue;
        }
        // The files of a `#[cfg(test)] mod tests;`.
        if path.iter().any(|name| name == "tests") {
            continue;
        }
        let syntax = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
        let is_file = |item: &Item| match item {
            Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
            _ => None,
        };
        let children = syntax.items.iter().filter_map(is_file).collect();
        let mut paths = Paths { here: path.clone(), children, found: Vec::new() };
        paths.visit_file(&syntax);
        parsed.insert(path.split_off(1).join("::"), paths);
    }
    let names: BTreeSet<String> = parsed.keys().cloned().collect();
    let target = |path: &Vec<String>| {
        let whole = (1..=path.len()).rev().map(|length| path[1..length.max(1)].join("::"));
        whole.into_iter().find(|name| names.contains(name))
    };
    parsed
        .iter()
        .map(|(name, paths)| {
            let imports: BTreeSet<_> = paths.found.iter().filter_map(target).collect();
            let imports = imports.into_iter().filter(|import| import != name).collect();
            (name.clone(), Module { path: paths.here.clone(), imports })
        })
        .collect()
}

/// The map in the first comment of `src/lib.rs`: a line for each floor, the highest first.
fn floors() -> Vec<Vec<String>> {
    let lib = fs::read_to_string(source().join("lib.rs")).unwrap();
    let text = lib.lines().filter_map(|line| line.strip_prefix("//!"));
    let blocks: Vec<Vec<&str>> = text
        .collect::<Vec<_>>()
        .split(|line| line.trim().starts_with("```"))
        .map(<[&str]>::to_vec)
        .collect();
    // The blocks are text, the picture, text, the map, and text.
    let rooms = |line: &&str| -> Vec<String> {
        let words = line.split_whitespace();
        words.filter_map(|word| word.strip_suffix('/')).map(str::to_owned).collect()
    };
    blocks[3].iter().map(rooms).collect()
}

fn room(module: &str) -> &str {
    module.split("::").next().unwrap()
}

#[test]
fn a_room_imports_only_rooms_below_it() {
    let floors = floors();
    let floor = |room: &str| floors.iter().position(|rooms| rooms.iter().any(|it| it == room));
    let mut wrong = Vec::new();
    for (name, module) in &*MODULES {
        let own = floor(room(name)).unwrap_or_else(|| panic!("{name} is not on the map"));
        for import in module.imports.iter().filter(|import| room(import) != room(name)) {
            if floor(room(import)).is_none_or(|other| other <= own) {
                wrong.push(format!("{name} imports {import}"));
            }
        }
    }
    assert!(wrong.is_empty(), "these rooms are not below:\n{}", wrong.join("\n"));
    let rooms: Vec<_> = floors.iter().flatten().collect();
    assert!(rooms.len() <= 26, "{} rooms: {rooms:?}", rooms.len());
}

#[test]
fn no_files_import_each_other_in_a_cycle() {
    // A file that imports none of the remaining files is in no cycle. Remove such files until
    // nothing changes.
    let mut left: BTreeMap<&str, BTreeSet<&str>> = MODULES
        .iter()
        .map(|(name, module)| (name.as_str(), module.imports.iter().map(String::as_str).collect()))
        .collect();
    loop {
        let done: Vec<&str> =
            left.iter().filter(|(_, imports)| imports.is_empty()).map(|(name, _)| *name).collect();
        if done.is_empty() {
            break;
        }
        for name in done {
            left.remove(name);
            left.values_mut().for_each(|imports| {
                imports.remove(name);
            });
        }
    }
    assert!(left.is_empty(), "these are in a cycle, or import one: {left:#?}");
}

#[test]
fn families_of_rules_do_not_import_each_other() {
    for (name, module) in &*MODULES {
        let ["crate", "rules", family, ..] =
            module.path.iter().map(String::as_str).collect::<Vec<_>>()[..]
        else {
            continue;
        };
        for import in &module.imports {
            let is_other =
                |other: &&str| *other != family && import.starts_with(&format!("rules::{other}"));
            let other =
                ["api_validation", "traps", "cross_object", "status"].into_iter().find(is_other);
            assert!(other.is_none(), "{name} imports {import}");
        }
    }
}

/// Rust would compile and run such a block as a test, and Cargo.toml turns that off, to save the time
/// of looking for them.
#[test]
fn no_comment_has_a_block_of_rust() {
    for file in files(&source()) {
        let text = fs::read_to_string(&file).unwrap();
        let comments = text.lines().map(str::trim_start).filter_map(|line| {
            line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).map(str::trim)
        });
        let fences: Vec<_> = comments.filter_map(|line| line.strip_prefix("```")).collect();
        for fence in fences.iter().step_by(2) {
            assert!(["json", "text", "yaml"].contains(fence), "{fence:?} in {}", file.display());
        }
    }
}

/// Checks that imports are found at all: without any, the tests above would always pass.
#[test]
fn imports_are_found_in_code_in_types_and_in_macros() {
    let code = "
        mod child;
        use crate::{a::X, b::{self, c as d}};
        use super::sibling::*;
        fn f(x: &crate::e::T) { let _ = child::g(); println!(\"{}\", crate::h::i(self::j::K)); }
        mod tests { use crate::not_seen; }
    ";
    let here = ["crate", "room", "file"].map(str::to_owned).to_vec();
    let children = BTreeSet::from(["child".to_owned()]);
    let mut paths = Paths { here, children, found: Vec::new() };
    paths.visit_file(&syn::parse_file(code).unwrap());
    let found: Vec<_> = paths.found.iter().map(|path| path.join("::")).collect();
    assert_eq!(
        found,
        [
            "crate::a::X",
            "crate::b",
            "crate::b::c",
            "crate::room::sibling",
            "crate::e::T",
            "crate::room::file::child::g",
            "crate::h::i",
            "crate::room::file::j::K",
        ]
    );
}

/// Whether an enum of this source has a variant.
fn declares(file: &Path, owner: &str, variant: &str) -> bool {
    let syntax = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
    let mut enums = syntax.items.iter().filter_map(|item| match item {
        Item::Enum(item) if item.ident == owner => Some(item),
        _ => None,
    });
    enums.any(|item| item.variants.iter().any(|it| it.ident == variant))
}

/// The paths and the variants that CONTRIBUTING.md mentions in back quotes.
#[test]
fn contributing_names_only_existing_files_and_variants() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let files = files(&source());
    let (mut paths, mut variants) = (0, 0);
    for word in text.split('`').skip(1).step_by(2) {
        let is_whole = !word.contains([' ', '<', '…']);
        let folders = ["src/", "tests/", "docs/", "charts/"];
        if is_whole && folders.iter().any(|it| word.starts_with(it)) {
            paths += 1;
            assert!(root.join(word).exists(), "CONTRIBUTING.md: there is no {word}");
        }
        let (name, _) = word.split_once('(').unwrap_or((word, ""));
        let Some((owner, variant)) = name.split_once("::") else { continue };
        if owner.starts_with(char::is_uppercase) && variant.starts_with(char::is_uppercase) {
            variants += 1;
            let exists = files.iter().any(|file| declares(file, owner, variant));
            assert!(exists, "CONTRIBUTING.md: there is no {name}");
        }
    }
    assert!(paths > 5 && variants > 4, "{paths} paths, {variants} variants");
}
