//! The tool that deploys an object, as its labels and annotations show.

use super::Metadata;

/// The tool that deploys an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deployer {
    /// Flux, with the kind, namespace and name of its object.
    Flux(&'static str, Box<str>, Box<str>),
    /// Argo CD, with the name of the application.
    ArgoCd(Box<str>),
    /// Helm, with the namespace and name of the release.
    Helm(Box<str>, Box<str>),
}

impl Deployer {
    /// Returns the tool that deploys an object, if the metadata names one.
    pub fn of(metadata: &Metadata<'_>) -> Option<Self> {
        Deployer::named(|label| metadata.label(label), |annotation| metadata.annotation(annotation))
    }

    pub(crate) fn named<'a>(
        label: impl Fn(&str) -> Option<&'a str>,
        annotation: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<Self> {
        let flux = |kind, group: &str| {
            let label = |name: &str| label(&format!("{group}.toolkit.fluxcd.io/{name}"));
            Some(Deployer::Flux(kind, label("namespace")?.into(), label("name")?.into()))
        };
        let argo_cd = || {
            let id = annotation("argocd.argoproj.io/tracking-id")?;
            Some(Deployer::ArgoCd(id.split(':').next()?.into()))
        };
        let helm = || {
            let annotation = |name: &str| annotation(&format!("meta.helm.sh/{name}"));
            let (namespace, name) = (annotation("release-namespace")?, annotation("release-name")?);
            Some(Deployer::Helm(namespace.into(), name.into()))
        };
        flux("HelmRelease", "helm")
            .or_else(|| flux("Kustomization", "kustomize"))
            .or_else(argo_cd)
            .or_else(helm)
    }

    /// Returns what else to do after a command rolls the object back. Otherwise the tool deploys the new state.
    pub fn after_undo(&self) -> String {
        match self {
            Deployer::Helm(namespace, release) => format!(
                "Helm deploys it: helm rollback {release} -n {namespace} rolls the whole release back"
            ),
            Deployer::Flux(..) | Deployer::ArgoCd(_) => {
                format!("{}: revert the change in git too, or it comes back", self.deploys())
            }
        }
    }

    /// Returns what else to do after a command changes the object. Otherwise the tool deploys the old state again.
    pub(crate) fn after_change(&self) -> String {
        let also = match self {
            Deployer::Helm(..) => {
                "make the change in the chart or its values too, or an upgrade may undo it"
            }
            Deployer::Flux(..) | Deployer::ArgoCd(_) => {
                "make the change in git too, or it is undone"
            }
        };
        format!("{}: {also}", self.deploys())
    }

    fn deploys(&self) -> String {
        match self {
            Deployer::Flux(kind, namespace, name) => {
                format!("Flux deploys it (the {kind} {name} in {namespace})")
            }
            Deployer::ArgoCd(application) => {
                format!("Argo CD deploys it (the application {application})")
            }
            Deployer::Helm(namespace, release) => {
                format!("Helm deploys it (the release {release} in {namespace})")
            }
        }
    }
}
