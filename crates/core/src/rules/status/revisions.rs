//! The revisions of a set: how to roll back, and what the newest changes.

use crate::rules::prelude::*;
use crate::{
    finding::difference::{Difference, differences},
    observed::{Counts, Revision},
    rollout::undo::Undo,
};

impl<'a> StatusQuery<'a> {
    /// Returns the numbered revisions, newest first, and how to roll back: to the newest other revision with a ready
    /// pod, or else to the previous one.
    fn way_back(&self) -> (Vec<(i64, &'a Revision)>, Undo) {
        let observed = self.audit.observed;
        let all = observed.revisions(self.set);
        let mut all: Vec<_> = all.filter_map(|it| Some((it.number?, it))).collect();
        all.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
        let pods = observed.pods(self.set);
        let works = |label: &str| pods.iter().any(|pod| pod.is_of(label) && pod.ready.0);
        let others = all.iter().skip(1).map(|(number, it)| (*number, works(it.on_pods())));
        let undo = match all.is_empty() && observed.revisions(self.set).nth(1).is_some() {
            true => Undo::Before,
            false => Undo::among(others),
        };
        (all, undo)
    }

    /// Returns whether all pods have the template, and it works or has worked: to roll back would undo an earlier change.
    pub(in crate::rules) fn is_at_rest(&self) -> bool {
        let (observed, pods) = (self.audit.observed, self.audit.observed.pods(self.set));
        pods.iter().all(|it| observed.is_updated(self.set, it))
            && (pods.iter().any(Pod::has_worked)
                || Replicas::of(self).is_some_and(|it| !it.is_updating()))
    }

    /// Returns the command that goes back to the previous template, and deletes the unready pods of the current one that
    /// the controller would not replace.
    pub(in crate::rules) fn undo(&self) -> Option<Command> {
        let (_, undo) = self.way_back();
        let (observed, replicas) = (self.audit.observed, Replicas::of(self));
        let is_updated = |pod: &&Pod| observed.is_updated(self.set, pod);
        let mut pods: Vec<_> = observed.pods(self.set).iter().filter(is_updated).collect();
        let updated = positive(self.set.counts().updated);
        let updated = match self.set.kind() {
            // The status counts nodes, and no surge pods.
            WorkloadKind::DaemonSet => pods.len().max(updated),
            WorkloadKind::StatefulSet => updated,
        };
        let is_on_delete = self.set.is_on_delete();
        let stays = is_on_delete || replicas.as_ref().is_some_and(|it| it.settings.is_ordered);
        pods.retain(|pod| {
            let ordinal = pod.ordinal(self.set.name()).unwrap_or_default();
            let is_wanted =
                replicas.as_ref().is_none_or(|it| it.settings.ordinals.contains(&ordinal));
            // On a node that is down, a deleted pod does not end.
            let may_end = pod.deleted.is_none() && self.outlook(pod).state != "node";
            stays && is_wanted && may_end && self.is_unready(pod)
        });
        pods.sort_by_key(|pod| pod.ordinal(self.set.name()));
        let broken: Vec<&str> = pods.iter().map(|pod| &*pod.name).collect();
        let (broken, _) = words(&broken);
        let effect = Effect::Restarts(match is_on_delete {
            true => broken.len(),
            // One pod is replaced in any case.
            false => updated.max(broken.len()).max(1),
        });
        let (target, option) = (self.target(), undo.option());
        let options: Vec<&str> = [&*target].into_iter().chain(option.as_deref()).collect();
        let undo =
            (undo != Undo::None).then(|| self.kubectl().does(effect, "rollout undo", &options))?;
        Some(match broken {
            [] => undo,
            _ => undo.then(&self.kubectl().does(effect, "delete pod", broken)),
        })
    }

    /// Returns whether the template being rolled out has the image that a pod's kubelet complains about.
    pub(in crate::rules) fn keeps_image_of(&self, pod: &Pod) -> bool {
        let (all, _) = self.way_back();
        let data = all.first().and_then(|it| it.1.data.as_deref());
        let data: serde_json::Value =
            data.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
        let spec = &data["spec"]["template"]["spec"];
        let lists = ["initContainers", "containers"].map(|it| spec[it].as_array());
        let mut images =
            lists.into_iter().flatten().flatten().filter_map(|it| it["image"].as_str());
        let said = pod.trouble.as_ref().map_or("", |it| &*it.message);
        images.any(|it| said.contains(&format!("image \"{it}\"")))
    }

    /// Returns whether these pods have the new template because somebody deleted their predecessors.
    pub(crate) fn has_replaced_by_hand(&self, pods: &[String]) -> bool {
        let observed = self.audit.observed;
        let all = observed.pods(self.set);
        let is_new = |name: &String| {
            all.iter().any(|it| *it.name == **name && observed.is_updated(self.set, it))
        };
        self.set.is_on_delete() && !pods.is_empty() && pods.iter().all(is_new)
    }

    /// Returns the differences between the template being rolled out and the one to go back to.
    pub(crate) fn changes(&self) -> Vec<Difference> {
        let is_updating = match &self.set.state {
            WorkloadState::DaemonSet(_) => {
                let Counts { wanted, updated, .. } = self.set.counts();
                updated < wanted || self.audit.observed.stale_pods(self.set).next().is_some()
            }
            WorkloadState::StatefulSet(it) => match Replicas::of(self) {
                // The status of OnDelete never completes.
                Some(_) if self.set.is_on_delete() => {
                    let observed = self.audit.observed;
                    observed.pods(self.set).iter().any(|it| !observed.is_updated(self.set, it))
                }
                Some(replicas) => replicas.is_updating(),
                None => it.status.current_revision != it.status.update_revision,
            },
        };
        let (all, undo) = self.way_back();
        let old = match undo {
            Undo::To(wanted) => all.iter().find(|(number, _)| *number == wanted),
            _ => all.get(1),
        };
        let data =
            |revision: &(i64, &Revision)| serde_json::from_str(revision.1.data.as_deref()?).ok();
        let mut found = Vec::new();
        if is_updating
            && let Some(new) = all.first().and_then(data)
            && let Some(old) = old.and_then(data)
        {
            differences(&old, &new, "", &mut found);
        }
        found
    }

    /// Returns whether the new template changes where its pods have a place.
    pub(in crate::rules) fn changes_placing(&self) -> bool {
        let is_of_place = |path: &str| PLACING.iter().any(|field| path.contains(field));
        self.changes().iter().any(|it| is_of_place(&it.path))
    }
}

/// The fields of a pod that the scheduler reads first.
const PLACING: [&str; 5] =
    [".affinity", ".nodeSelector", ".resources", ".tolerations", ".topologySpreadConstraints"];
