//! The targets of links in the documentation, without a network.

use std::path::Component;

use percent_encoding::percent_decode_str;

use crate::prelude::*;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.to_owned()];
    let mut pages = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(".md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    assert!(pages.len() > 25, "{pages:?}");
    pages
}

fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        match fence {
            Some(mark) if bare.starts_with(mark) => fence = None,
            Some(_) => {}
            None if bare.starts_with("```") => fence = Some("```"),
            None if line.starts_with("    ") && prose.ends_with("\n\n") => {}
            None => prose.push_str(line),
        }
        prose.push('\n');
    }
    // Every second piece between backquotes is code.
    prose.split('`').step_by(2).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let Some(title) = line.strip_prefix('#').filter(|_| !is_code) else { continue };
        let title = title.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let id: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        assert!(anchors.insert(id), "two headings {line:?} in one page");
    }
    anchors
}

fn links(prose: &str) -> impl Iterator<Item = &str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
}

fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let texts: BTreeMap<PathBuf, String> = pages()
        .into_iter()
        .map(|page| (page.clone(), fs::read_to_string(&page).unwrap()))
        .collect();
    let mut count = 0;
    for (page, text) in &texts {
        for link in links(&prose(text)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let path = percent_decode_str(path).decode_utf8().unwrap();
            let target = match &*path {
                "" => page.clone(),
                path => plain(&page.parent().unwrap().join(path)),
            };
            let place = page.strip_prefix(root).unwrap().display();
            assert!(target.starts_with(root) && target.exists(), "{place}: {link}: no such file");
            if !heading.is_empty() {
                let target = texts.get(&target).unwrap_or_else(|| panic!("{place}: {link}"));
                assert!(anchors(target).contains(heading), "{place}: {link}: no such heading");
            }
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn links_have_titles() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    for page in pages().into_iter().filter(|page| page.starts_with(&docs)) {
        let text = fs::read_to_string(&page).unwrap();
        assert!(!text.contains(".md]("), "{}", page.display());
    }
}

/// Without such a link, readers don't find the page.
#[test]
fn the_summary_of_the_site_or_the_page_of_evidence_links_to_every_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let linked = |name: &str| -> BTreeSet<PathBuf> {
        let text = fs::read_to_string(docs.join(name)).unwrap();
        let paths = links(&text).map(|link| link.split('#').next().unwrap().to_owned());
        paths.filter(|path| path.ends_with(".md")).map(|path| plain(&docs.join(path))).collect()
    };
    let (listed, evidence) = (linked("SUMMARY.md"), linked("evidence.md"));
    let mut pages: BTreeSet<PathBuf> = pages().into_iter().collect();
    pages.retain(|page| page.starts_with(&docs) && *page != docs.join("SUMMARY.md"));
    for page in &pages {
        let found = listed.contains(page) || evidence.contains(page);
        assert!(found, "no link to {} in docs/SUMMARY.md or docs/evidence.md", page.display());
    }
    assert!(listed.is_subset(&pages), "{:?}", listed.difference(&pages).collect::<Vec<_>>());
}

/// SARIF names `https://setguard.io/rules/ID.html` for each rule.
#[test]
fn the_address_of_each_rule_leads_to_its_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let book = fs::read_to_string(docs.join("book.toml")).unwrap();
    let host = setguard::catalogue::HOME.strip_prefix("https://").unwrap();
    assert!(book.contains(&format!("\ncname = \"{host}\"\n")));
    for rule in setguard::catalogue::all() {
        let url = setguard::catalogue::url(&rule.meta);
        let page = url.strip_prefix(setguard::catalogue::HOME).unwrap().trim_start_matches('/');
        let page = docs.join(page).with_extension("md");
        let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{url}: {e}"));
        assert!(text.starts_with(&format!("# {}\n", rule.meta.id)), "{url}");
    }
}

#[test]
fn contributing_names_only_existing_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let words = text.split('`').skip(1).step_by(2).filter(|word| !word.contains([' ', '<', '…']));
    let is_path = |word: &&str| {
        ["src/", "crates/", "tests/", "docs/", "charts/", "benches/"]
            .iter()
            .any(|it| word.starts_with(it))
    };
    let paths: Vec<&str> = words.filter(is_path).collect();
    assert!(paths.len() > 5, "{paths:?}");
    for path in paths {
        assert!(root.join(path).exists(), "CONTRIBUTING.md: there is no {path}");
    }
}
