use std::cell::OnceCell;

use crate::kubernetes::{labels::MIRROR_ANNOTATION, managed_labels};
use crate::validation::prelude::*;

/// The API server's text follows.
pub(super) const REFUSED: &str = "no pod can be created: ";

#[derive(Debug)]
pub(super) struct CreatedPod<'a> {
    pub(super) object: &'a Object<'a>,
    pub(super) spec: &'a PodSpec,
    pub(super) cluster: &'a Cluster,
    pub(super) claims: OnceCell<BTreeSet<&'a str>>,
}

impl<'a> CreatedPod<'a> {
    pub(super) fn stateful_set(&self) -> Option<&'a StatefulSetSpec> {
        self.object.stateful_set()
    }

    /// The names of the claim templates. Their volumes replace the template's.
    pub(super) fn claims(&self) -> &BTreeSet<&'a str> {
        self.claims.get_or_init(|| {
            let claims = self.stateful_set().map(|set| list(&set.volume_claim_templates));
            claims.into_iter().flatten().map(|claim| text(&claim.metadata.name)).collect()
        })
    }

    /// The template's volumes that the pod keeps, with their indexes.
    pub(super) fn volumes(&self) -> impl Iterator<Item = (usize, &'a Volume)> {
        let volumes = list(&self.spec.volumes).iter().enumerate();
        volumes.filter(|(_, volume)| !self.claims().contains(volume.name.as_str()))
    }

    /// The label may come from the template or from the controller.
    pub(super) fn has_label(&self, key: &str) -> bool {
        let metadata = self.object.template().metadata.as_ref();
        let own = metadata.and_then(|metadata| metadata.labels.as_ref());
        let managed = managed_labels::of(self.object.kind());
        own.is_some_and(|labels| labels.contains_key(key)) || managed.contains(&key)
    }

    /// A mirror pod represents a pod that the kubelet runs from a file.
    pub(super) fn is_mirror(&self) -> bool {
        let metadata = self.object.template().metadata.as_ref();
        let annotations = metadata.and_then(|metadata| metadata.annotations.as_ref());
        annotations.is_some_and(|it| it.contains_key(MIRROR_ANNOTATION))
    }
}
