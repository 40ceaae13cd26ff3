//! The modules of a program, and the imports between them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Item, ItemMod, ItemUse, UseTree, visit::Visit};

/// A source file, and the other files that it imports.
pub(super) struct Module {
    pub(super) imports: BTreeSet<String>,
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
                self.add_row(&std::mem::take(&mut path));
            }
            colons = 0;
            match token {
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        self.add_row(&path);
    }

    /// Adds a path that stands in a macro. A word alone there is a variable, even if a module has its name.
    fn add_row(&mut self, row: &[String]) {
        if row.len() > 1 {
            self.add(row);
        }
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

/// The Rust files in a folder and below it.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
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

/// All modules of a program that are files, by names such as `engine::verdict`. The folder contains its
/// `main.rs` or `lib.rs`.
pub(super) fn read(source: &Path) -> BTreeMap<String, Module> {
    let mut parsed = BTreeMap::new();
    for file in files(source) {
        let relative = file.strip_prefix(source).unwrap().with_extension("");
        let parts = relative.iter().map(|part| part.to_str().unwrap().to_owned());
        let mut path: Vec<String> = [String::from("crate")].into_iter().chain(parts).collect();
        if path.len() == 2 && matches!(path[1].as_str(), "lib" | "main") {
            continue;
        }
        path.pop_if(|name| name == "mod");
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
            (name.clone(), Module { imports })
        })
        .collect()
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
