//! Adds objects to the store, reduced to what the status rules need.

use super::owner;
use crate::observed::prelude::*;
use crate::observed::{
    Endpoints, Event, Member, Node, Owner, PersistentVolume, PersistentVolumeClaim,
    PodDisruptionBudget, Revision, StorageClass, Webhook, WorkloadStatus, meta,
};

const MOST_TEMPLATES: usize = 3;
/// The most warnings that are kept for an object; older ones are dropped.
const MOST_EVENTS: usize = 8;

impl Observed {
    /// Adds an object, and ignores kinds that no rule needs. Add the sets first, and then, in any order:
    /// - `DaemonSet` and `StatefulSet` (`apps/v1`) and `Node`, always and complete, before requesting the namespaces
    ///   below;
    /// - `ControllerRevision`, always; the metadata is enough;
    /// - `PodDisruptionBudget`, always;
    /// - `ServiceAccount`, `PriorityClass` and `Namespace`, so that rules recognize refusals whose cause is fixed;
    ///   the metadata is enough;
    /// - `Service`, `ValidatingWebhookConfiguration`, `MutatingWebhookConfiguration` and the `EndpointSlice` of the
    ///   Services in them, all or none, to find webhooks that refuse pods;
    /// - `PersistentVolumeClaim` of [`Observed::namespaces_with_claim_templates`];
    /// - `PersistentVolume` and `StorageClass`, if such namespaces exist;
    /// - `Pod`, `ResourceQuota`, `Event` and complete `ControllerRevision` of
    ///   [`Observed::namespaces_with_unhealthy_sets`].
    ///
    /// # Errors
    /// Fails if the JSON is not an object of this kind.
    pub fn add(&mut self, kind: Kind, json: &str) -> Result<(), serde_json::Error> {
        match kind {
            Kind::DaemonSet => self.put(WorkloadStatus::daemon_set(json)?),
            Kind::StatefulSet => self.put(WorkloadStatus::stateful_set(json)?),
            Kind::ControllerRevision => self.put_revision(Revision::read(json)?),
            Kind::Pod => self.put_pod(json)?,
            Kind::Event => {
                if let Some((about, event)) = Event::read(json)? {
                    self.put_event(about, event);
                }
            }
            Kind::PersistentVolumeClaim => self.claims.extend([PersistentVolumeClaim::read(json)?]),
            Kind::PersistentVolume => self.volumes.extend([PersistentVolume::read(json)?]),
            Kind::StorageClass => self.classes.extend([StorageClass::read(json)?]),
            _ => self.add_around(kind, json)?,
        }
        Ok(())
    }

    /// Adds an object that belongs to no set and isn't storage.
    fn add_around(&mut self, kind: Kind, json: &str) -> Result<(), serde_json::Error> {
        match kind {
            Kind::Node => {
                let node = Node::read(json)?;
                self.nodes.insert(node.place.name.as_str().into(), node);
            }
            Kind::PodDisruptionBudget => {
                let budget = PodDisruptionBudget::read(json)?;
                self.budgets.entry(budget.namespace.clone()).or_default().push(budget);
            }
            Kind::ServiceAccount | Kind::Service => {
                let (namespace, name) = meta::names(json)?;
                self.others.insert((kind, namespace, name));
            }
            Kind::PriorityClass => {
                let (_, name) = meta::names(json)?;
                self.others.insert((kind, "".into(), name));
            }
            Kind::Namespace => self.namespaces.extend([meta::labels(json)?]),
            Kind::ResourceQuota => {
                let Whole::<Metadata, IgnoredAny, _> { metadata, status, .. } =
                    serde_json::from_str(json)?;
                self.quotas.insert((metadata.namespace().into(), metadata.name().into()), status);
            }
            Kind::ValidatingWebhookConfiguration | Kind::MutatingWebhookConfiguration => {
                self.webhooks.extend(Webhook::read(kind, json)?);
            }
            Kind::EndpointSlice => {
                if let Some((service, endpoints)) = Endpoints::of(&serde_json::from_str(json)?) {
                    let all = self.endpoints.entry(service);
                    all.and_modify(|it| it.add(endpoints)).or_insert(endpoints);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn put(&mut self, set: WorkloadStatus) {
        self.sets.insert(owner(&set), set);
    }

    fn put_revision(&mut self, (owner, revision): (Option<Owner>, Revision)) {
        match owner {
            Some(owner) if self.may_matter(&owner) || self.is_older(&revision, &owner) => {
                let all = self.revisions.entry(owner).or_default();
                all.insert(revision.name.clone(), revision);
                let mut known: Vec<_> = all.values_mut().filter(|it| it.data.is_some()).collect();
                known.sort_by_key(|it| it.number);
                let too_many = known.len().saturating_sub(MOST_TEMPLATES);
                known.into_iter().take(too_many).for_each(|it| it.data = None);
            }
            None if revision.is_of_set && revision.orphan.is_some() => {
                let name = (revision.namespace.clone(), revision.name.clone());
                self.orphans.insert(name, revision);
            }
            _ => {}
        }
    }

    fn put_pod(&mut self, json: &str) -> Result<(), serde_json::Error> {
        let Member { namespace, owner, pod, .. } = Member::read(json)?;
        let of_name = pod.set_of_name(&namespace).filter(|it| {
            owner.as_ref() != Some(it) && self.sets.contains_key(it) && self.may_matter(it)
        });
        if of_name.is_some() {
            let key = (namespace.clone(), pod.name.clone());
            self.foreign_pods.insert(key, Member::read(json)?);
        }
        if owner.is_none() && !pod.revision().is_empty() && pod.deleted.is_none() {
            *self.strays.entry((namespace, pod.revision().into())).or_default() += 1;
            return Ok(());
        }
        // A DaemonSet's status may be older than its nodes.
        if let Some(owner) = owner
            && (owner.kind == WorkloadKind::DaemonSet || self.may_matter(&owner))
        {
            self.pods.entry(owner).or_default().push(pod);
        }
        Ok(())
    }

    fn put_event(&mut self, about: About, mut event: Event) {
        let of_kind = if event.is_note() { &mut self.notes } else { &mut self.events };
        let events = of_kind.entry(about).or_default();
        // An event can close the gap between two others.
        while let Some(index) = events.iter().position(|it| it.continues(&event)) {
            event.absorb(&events.swap_remove(index));
        }
        events.push(event);
        events.sort_by_key(|it| std::cmp::Reverse(it.last));
        events.truncate(MOST_EVENTS);
    }

    fn may_matter(&self, owner: &Owner) -> bool {
        self.keeps_all
            || self.revisions.contains_key(owner)
            || self.sets.get(owner).is_none_or(|set| {
                !set.is_healthy() || set.deletion().is_some() || self.is_recent(set)
            })
    }

    /// Returns whether a set has adopted a revision, and so perhaps pods; see [`Observed::stale_pods`] and
    /// [`Observed::misfits`].
    fn is_older(&self, revision: &Revision, owner: &Owner) -> bool {
        self.sets.get(owner).is_some_and(|set| {
            (owner.kind == WorkloadKind::DaemonSet || set.has_claim_templates())
                && revision.created < set.created
        })
    }
}
