//! A check of whether an export is still what the export would print now.

use std::{collections::BTreeMap, io::Write as _, path::Path};

use anyhow::{Context as _, anyhow};
use serde_json::Value;

use crate::{exit::Exit, manifests::source::Source, printable::Printable, yaml};

/// Compares a file with a new export, and prints the policies that differ. Comments don't count.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub(super) fn check(path: &Path, new: &str) -> anyhow::Result<Exit> {
    let file = path.display();
    let old = Source::File(path.to_owned()).read().map_err(anyhow::Error::msg)?;
    let (old, new) =
        (objects(old.text()).with_context(|| format!("cannot read {file}"))?, objects(new)?);
    let mut differences = Vec::new();
    for (name, object) in &new {
        match old.get(name) {
            None => differences.push(format!("{name} is missing")),
            Some(there) if there != object => differences.push(format!("{name} has changed")),
            Some(_) => {}
        }
    }
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    differences.extend(gone.map(|name| format!("{name} is not exported any more")));
    if differences.is_empty() {
        return Ok(Exit::Clean);
    }
    let mut output = Printable::new(anstream::stdout().lock()).guarded();
    writeln!(output, "{file} is not up to date; export again:")?;
    for difference in differences {
        writeln!(output, "  {difference}")?;
    }
    Ok(Exit::Denied)
}

/// Returns the objects of a stream by kind and name.
fn objects(text: &str) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut objects = BTreeMap::new();
    for document in yaml::parse(text) {
        let document = document.map_err(|e| anyhow!("line {}: {}", e.mark.line, e.message))?;
        let object: Value = serde_json::from_str(&document.root.to_json())?;
        let part = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
        let name = format!("{} {}", part("/kind"), part("/metadata/name"));
        objects.insert(name, object);
    }
    Ok(objects)
}
