use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "image-gone", group: NeverStarts;
    title: "the image was removed from its registry",
    summary: "an image whose registry or repository no longer has it",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

/// Old places of images, when these were removed, and what to use instead. `why.md` names the announcements.
const GONE: [(&str, &str, &str); 4] = [
    (
        "bitnami/",
        "since the end of September 2025 docker.io/bitnami has only the tag latest of a few images",
        "use another image, or until then the same tag in bitnamilegacy, which gets no fixes",
    ),
    (
        "gcr.io/kubebuilder/kube-rbac-proxy",
        "since March 2026 gcr.io/kubebuilder has no kube-rbac-proxy",
        "use registry.k8s.io/kubebuilder/kube-rbac-proxy, or quay.io/brancz/kube-rbac-proxy",
    ),
    (
        "gcr.io/cloud-provider-vsphere/",
        "since September 2024 gcr.io/cloud-provider-vsphere does not exist",
        "use registry.k8s.io/csi-vsphere, or registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere",
    ),
    (
        "projects.registry.vmware.com/",
        "since the end of June 2024 projects.registry.vmware.com has no images",
        "use projects.packages.broadcom.com if it has the image, or where the project publishes it now",
    ),
];

/// Tags that official images of Docker Hub do not have.
fn official(name: &str, tag: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    match name {
        "elasticsearch" if matches!(tag, "" | "latest") => Some(&(
            "elasticsearch",
            "the official image elasticsearch has no tag latest",
            "write a release, such as elasticsearch:9.1.0",
        )),
        "vault" if read::numbers(tag) >= Some((1, 14)) => Some(&(
            "vault",
            "since release 1.14 HashiCorp publishes no official image vault",
            "use hashicorp/vault",
        )),
        _ => None,
    }
}

fn check(container: &Container, _: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    let (name, tag) = read::image(container);
    let image = text(&container.image);
    // A digest may still be there, and a policy may take what the node has.
    let is_unknown = image.contains('@')
        || image.contains("library/")
        || container.image_pull_policy.as_deref() == Some("Never");
    let gone = GONE.iter().find(|(prefix, ..)| name.starts_with(prefix));
    let Some((prefix, since, help)) = gone.or_else(|| official(name, tag)).filter(|_| !is_unknown)
    else {
        return;
    };
    let mut kept = ["bitnami/minideb", "bitnami/sealed-secrets"].iter();
    let stays = kept.any(|it| name.starts_with(it));
    if *prefix == "bitnami/" && (stays || matches!(tag, "" | "latest")) {
        return;
    }
    let message = format!("{since}, so a node that does not have {image} cannot pull it");
    found.report(&path.child("image"), Reason::NotFound, message, *help);
}
