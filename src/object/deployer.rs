//! The tool that deploys an object, as the labels and annotations that it sets name it.

use super::Metadata;

/// The tool that deploys an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deployer<'a> {
    /// Flux, with this kind of object, its namespace and its name.
    Flux(&'static str, &'a str, &'a str),
    /// Argo CD, with the name of the application.
    ArgoCd(&'a str),
    /// Helm, with the namespace and the name of the release.
    Helm(&'a str, &'a str),
}

impl<'a> Deployer<'a> {
    /// Returns the tool that deploys an object, if it says so.
    pub(crate) fn of(metadata: &'a Metadata<'_>) -> Option<Self> {
        let flux = |kind, group: &str| {
            let label = |name: &str| metadata.label(&format!("{group}.toolkit.fluxcd.io/{name}"));
            Some(Deployer::Flux(kind, label("namespace")?, label("name")?))
        };
        let argo_cd = || {
            let id = metadata.annotation("argocd.argoproj.io/tracking-id")?;
            Some(Deployer::ArgoCd(id.split(':').next()?))
        };
        let helm = || {
            let annotation = |name: &str| metadata.annotation(&format!("meta.helm.sh/{name}"));
            Some(Deployer::Helm(annotation("release-namespace")?, annotation("release-name")?))
        };
        flux("HelmRelease", "helm")
            .or_else(|| flux("Kustomization", "kustomize"))
            .or_else(argo_cd)
            .or_else(helm)
    }

    /// Returns what else to do when a command changes the object: the tool would deploy the old state again.
    pub(crate) fn advice(self) -> String {
        match self {
            Deployer::Flux(kind, namespace, name) => format!(
                "Flux deploys it (the {kind} {name} in {namespace}): revert the change in git too, or it comes back"
            ),
            Deployer::ArgoCd(application) => format!(
                "Argo CD deploys it (the application {application}): revert the change in git too, or it comes back"
            ),
            Deployer::Helm(namespace, release) => format!(
                "Helm deploys it: helm rollback {release} -n {namespace} rolls the whole release back"
            ),
        }
    }
}
