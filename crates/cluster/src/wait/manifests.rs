use std::{cell::LazyCell, path::PathBuf};

use kube_yaml::Node;
use setguard_core::{kubernetes::resource::RESOURCES, policy::FolderNames};

use crate::live::named::Named;
use setguard_files::prelude::*;

pub(crate) fn sets(paths: &[PathBuf]) -> anyhow::Result<Vec<Named>> {
    let listing = listing::list(paths, &Exclude::default(), &FolderNames::new());
    listing.all_notes().for_each(|note| report::note(&note));
    let mut sets = Vec::new();
    for source in listing.sources {
        let source = source.and_then(Source::read)?;
        let importance = LazyCell::new(|| Broken::of(source.text(), source.group()));
        for objects in documents(source.text(), source.is_named()) {
            let place = |problem: &kube_yaml::Problem| {
                anyhow::anyhow!("{}:{}: {}", source.name(), problem.mark.line, problem.message)
            };
            let objects = match objects {
                Ok(objects) => objects,
                Err(problem) if *importance == Broken::Error => return Err(place(&problem)),
                Err(_) => continue,
            };
            if let Some(stray) = objects.strays.first() {
                return Err(place(stray));
            }
            // A patch in a kustomization is not a set.
            let context = listing.contexts.get(source.name());
            let is_set = |it: &&Manifest<'_>| context.and_then(|facts| facts.partial(it)).is_none();
            for manifest in objects.manifests.iter().filter(is_set) {
                let text = |key: &str| {
                    let text = manifest.node.get("metadata").and_then(|it| it.get(key));
                    text.and_then(Node::as_str).filter(|it| !it.is_empty()).map(str::to_owned)
                };
                let built_in = manifest.resource.filter(|it| RESOURCES[..2].contains(it));
                match (built_in, text("name")) {
                    (Some(resource), Some(name)) => {
                        let (kind, namespace) = (resource.kind, text("namespace"));
                        sets.push(Named { kind, name, namespace });
                    }
                    _ => report::note(&format!(
                        "{}:{}: this set is not waited for: setguard waits for DaemonSets and \
                         StatefulSets of apps/v1 with a name",
                        source.name(),
                        manifest.node.mark.line
                    )),
                }
            }
        }
    }
    Ok(sets)
}
