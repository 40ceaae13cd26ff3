//! The claims of a StatefulSet, and their deletion.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;

use super::lockstep::{Lockstep, PATIENCE};
use crate::prelude::*;

impl Lockstep<'_> {
    pub(super) async fn list_claims(&self) -> BTreeMap<String, String> {
        let claims = self.all_claims().await;
        claims.iter().map(|it| (it.uid().expect("a uid"), it.name_any())).collect()
    }

    pub(super) async fn all_claims(&self) -> Vec<PersistentVolumeClaim> {
        // The controller gives claims the labels of the selector.
        let of = ListParams::default().labels(&format!("app={}", self.history.name));
        self.claims.list(&of).await.expect("claims").items
    }

    /// Waits for the garbage collector, because it works in the background.
    pub(super) async fn claims_deleted(&self) -> BTreeSet<String> {
        let start = Instant::now();
        loop {
            let left = self.list_claims().await;
            let gone = self.known_claims.iter().filter(|(uid, _)| !left.contains_key(*uid));
            let gone: BTreeSet<_> = gone.map(|(_, name)| name.clone()).collect();
            let owned = self.claims_of_gone_owners().await;
            if owned.is_empty() || start.elapsed() > PATIENCE {
                return gone;
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Claims with an owner that is gone, so they will be deleted.
    async fn claims_of_gone_owners(&self) -> Vec<String> {
        let pods = self.list().await.into_iter().filter_map(|it| it.uid());
        let set = self.sets.get_opt(&self.history.name).await.expect("an answer");
        let owners: BTreeSet<_> = pods.chain(set.and_then(|it| it.uid())).collect();
        let has_gone_owner = |claim: &PersistentVolumeClaim| {
            claim.metadata.deletion_timestamp.is_some()
                || claim.owner_references().iter().any(|owner| !owners.contains(&owner.uid))
        };
        let claims = self.all_claims().await;
        claims.iter().filter(|claim| has_gone_owner(claim)).map(ResourceExt::name_any).collect()
    }
}
