//! Kubernetes: `dropDisabledAtomicWriteVolumeUserFields`, `pkg/api/pod/util.go`.

use k8s_openapi::api::core::v1::{PodSpec, Volume};

pub(super) fn used(spec: &PodSpec) -> bool {
    spec.volumes.iter().flatten().any(|volume| {
        let mut is_used = false;
        each(&mut volume.clone(), |user| is_used |= user.is_some());
        is_used
    })
}

pub(super) fn drop(spec: &mut PodSpec) {
    spec.volumes.iter_mut().flatten().for_each(|volume| each(volume, |user| *user = None));
}

fn each(volume: &mut Volume, mut see: impl FnMut(&mut Option<i64>)) {
    if let Some(secret) = &mut volume.secret {
        see(&mut secret.default_user);
        secret.items.iter_mut().flatten().for_each(|item| see(&mut item.user));
    }
    if let Some(map) = &mut volume.config_map {
        see(&mut map.default_user);
        map.items.iter_mut().flatten().for_each(|item| see(&mut item.user));
    }
    if let Some(downward) = &mut volume.downward_api {
        see(&mut downward.default_user);
        downward.items.iter_mut().flatten().for_each(|item| see(&mut item.user));
    }
    let Some(projected) = &mut volume.projected else { return };
    see(&mut projected.default_user);
    for source in projected.sources.iter_mut().flatten() {
        let secret = source.secret.iter_mut().flat_map(|it| it.items.iter_mut().flatten());
        let map = source.config_map.iter_mut().flat_map(|it| it.items.iter_mut().flatten());
        secret.chain(map).for_each(|item| see(&mut item.user));
        let downward = source.downward_api.iter_mut().flat_map(|it| it.items.iter_mut().flatten());
        downward.for_each(|item| see(&mut item.user));
        source.service_account_token.iter_mut().for_each(|it| see(&mut it.user));
        source.cluster_trust_bundle.iter_mut().for_each(|it| see(&mut it.user));
        source.pod_certificate.iter_mut().for_each(|it| see(&mut it.user));
    }
}
