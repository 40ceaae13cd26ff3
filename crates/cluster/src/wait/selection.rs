use anyhow::Context as _;
use setguard_files::report;

use super::{manifests::Given, target::Target};
use crate::live::{
    call::Problem,
    collections::Collection,
    named::Named,
    object_metadata::Metadata,
    reader::{List, Reader},
};
use crate::prelude::*;

const RELEASE: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) named: &'a [Named],
    /// `None` without manifests.
    pub(crate) given: Option<&'a [Given]>,
    pub(crate) selector: Option<&'a str>,
    pub(crate) release: Option<&'a str>,
    pub(crate) namespace: &'a str,
}

#[derive(Deserialize)]
struct Read {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    volume_claim_templates: Option<Vec<serde::de::IgnoredAny>>,
}

impl Read {
    fn target(self, kind: WorkloadKind, namespace: &str) -> Target {
        let Read { metadata, spec } = self;
        let namespace = match metadata.namespace.as_str() {
            "" => namespace.to_owned(),
            _ => metadata.namespace,
        };
        let has_claims = spec.volume_claim_templates.is_some_and(|it| !it.is_empty());
        Target { namespace, kind, name: metadata.name, has_claims }
    }
}

pub(crate) async fn choose(reader: &Reader, wanted: Wanted<'_>) -> anyhow::Result<Vec<Target>> {
    let mut targets = BTreeSet::new();
    let given = wanted.given.unwrap_or_default().iter();
    let given = given.map(|it| (&it.named, it.namespace.as_deref().unwrap_or(wanted.namespace)));
    for (named, namespace) in wanted.named.iter().map(|it| (it, wanted.namespace)) {
        targets.insert(one(reader, named, namespace).await?);
    }
    let mut selected = BTreeMap::new();
    for (named, namespace) in given {
        if let Some(selector) = wanted.selector {
            if !selected.contains_key(namespace) {
                let sets = select(reader, Some(namespace), Some(selector)).await?;
                selected.insert(namespace, sets);
            }
            let sets = selected.get(namespace).map(Vec::as_slice).unwrap_or_default();
            let is_it =
                |it: &&(Target, Annotations)| it.0.kind == named.kind && it.0.name == named.name;
            targets.extend(sets.iter().find(is_it).map(|(target, _)| target.clone()));
        } else {
            targets.insert(one(reader, named, namespace).await?);
        }
    }
    if wanted.given.is_none()
        && let Some(selector) = wanted.selector
    {
        let sets = select(reader, Some(wanted.namespace), Some(selector)).await?;
        targets.extend(sets.into_iter().map(|(target, _)| target));
    }
    if let Some(release) = wanted.release {
        targets.extend(of_release(reader, release, wanted.namespace).await?);
    }
    Ok(targets.into_iter().collect())
}

type Annotations = BTreeMap<String, String>;

/// Returns the sets of a Helm release, in all namespaces if the user may read them.
async fn of_release(
    reader: &Reader,
    release: &str,
    namespace: &str,
) -> anyhow::Result<Vec<Target>> {
    let sets = match select(reader, None, None).await {
        Ok(sets) => sets,
        Err(problem @ Problem::Forbidden(_)) => {
            report::note(&format!(
                "the sets of all namespaces cannot be read, so sets of the release outside of \
                 {namespace} are not waited for: {problem}"
            ));
            select(reader, Some(namespace), None).await?
        }
        Err(problem) => return Err(problem.into()),
    };
    let is_of_release = |annotations: &Annotations| {
        let is = |key: &str, value: &str| annotations.get(key).is_some_and(|it| it == value);
        is(RELEASE, release) && is(RELEASE_NAMESPACE, namespace)
    };
    let sets = sets.into_iter().filter(|(_, annotations)| is_of_release(annotations));
    Ok(sets.map(|(target, _)| target).collect())
}

async fn one(reader: &Reader, named: &Named, namespace: &str) -> anyhow::Result<Target> {
    let Named { kind, name } = named;
    let path = Collection::of((*kind).into()).list(Some(namespace)).path;
    let path = format!("{path}/{name}");
    match reader.get(&path).await {
        Ok(json) => {
            let read: Read = serde_json::from_str(&json).with_context(|| path)?;
            Ok(read.target(*kind, namespace))
        }
        Err(Problem::Absent(_)) => {
            bail!(
                "there is no {kind} {name} in namespace {namespace}; apply it first, or name its namespace with -n"
            )
        }
        Err(problem) => {
            Err(anyhow::Error::from(problem).context(format!("{kind} {namespace}/{name}")))
        }
    }
}

async fn select(
    reader: &Reader,
    namespace: Option<&str>,
    selector: Option<&str>,
) -> Result<Vec<(Target, Annotations)>, Problem> {
    let mut sets = Vec::new();
    for kind in [WorkloadKind::DaemonSet, WorkloadKind::StatefulSet] {
        let list = List {
            labels: selector.map(|it| it.to_owned().into()),
            ..Collection::of(kind.into()).list(namespace)
        };
        for mut read in reader.objects::<Read>(&list).await? {
            let annotations = std::mem::take(&mut read.metadata.annotations);
            sets.push((read.target(kind, namespace.unwrap_or_default()), annotations));
        }
    }
    Ok(sets)
}
