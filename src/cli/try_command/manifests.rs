//! The objects of a text that the webhook is registered for.

use kube_yaml::Problem;
use setguard_core::kubernetes::{resource::Resource, version::Version};
use setguard_files::manifests::document::{Decoded, documents};

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Set(&'static Resource),
    Pod,
}

#[derive(Debug)]
pub(super) struct Given {
    pub(super) what: What,
    pub(super) json: String,
    /// Why the object does not fit its type, so that kubectl refuses it.
    pub(super) problems: Vec<Problem>,
}

#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) given: Vec<Given>,
    pub(super) problems: Vec<Problem>,
    pub(super) skipped: usize,
}

/// `is_named` is false for a file that is read only because it is in a folder.
pub(super) fn read(text: &str, is_named: bool, release: Version) -> Objects {
    let mut objects = Objects::default();
    for document in documents(text, is_named) {
        let document = match document {
            Ok(document) => document,
            Err(problem) => {
                objects.problems.push(problem);
                continue;
            }
        };
        objects.problems.extend(document.strays);
        for manifest in document.manifests {
            let Some(Decoded { resource, json, problems }) = manifest.decode(release) else {
                objects.problems.extend(manifest.problems);
                continue;
            };
            let problems = manifest.problems.into_iter().chain(problems).collect();
            objects.given.push(Given { what: What::Set(resource), json, problems });
        }
        for object in document.others {
            if (object.api_version(), object.kind()) == ("v1", "Pod") {
                let json = object.node.to_json();
                objects.given.push(Given { what: What::Pod, json, problems: Vec::new() });
            } else {
                objects.skipped += 1;
            }
        }
    }
    objects
}
