use setguard_files::report;

use super::WaitArgs;
use crate::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub(crate) namespace: String,
    pub(crate) kind: WorkloadKind,
    pub(crate) name: String,
    /// Whether each pod has its own claims.
    pub(crate) has_claims: bool,
}

/// For people and for kubectl: `statefulset/db -n shop`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} -n {}", self.kind.lower(), self.name, self.namespace)
    }
}

const RELEASE: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// The little of a set that a wait has to know first.
#[derive(Deserialize)]
struct Read {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    volume_claim_templates: Option<Vec<serde::de::IgnoredAny>>,
}

impl Read {
    fn target(self, kind: WorkloadKind, namespace: &str) -> (Target, Annotations) {
        let Read { metadata: Metadata { name, namespace: own, annotations }, spec } = self;
        let namespace = if own.is_empty() { namespace.to_owned() } else { own };
        let has_claims = spec.volume_claim_templates.is_some_and(|it| !it.is_empty());
        (Target { namespace, kind, name, has_claims }, annotations)
    }
}

type Annotations = BTreeMap<String, String>;

/// Returns the sets that the arguments choose. `given` are the sets of manifests, or `None` without manifests.
pub(crate) async fn choose(
    reader: &Reader,
    args: &WaitArgs,
    given: Option<&[Named]>,
    namespace: &str,
) -> anyhow::Result<Vec<Target>> {
    let mut targets = BTreeSet::new();
    let selector = args.selector.as_deref();
    let all = given.unwrap_or_default();
    let (by_name, by_label) = if selector.is_none() { (all, &[][..]) } else { (&[][..], all) };
    for named in args.sets.iter().chain(by_name) {
        targets.insert(one(reader, named, namespace).await?);
    }
    let mut selected = BTreeMap::new();
    for named in by_label {
        let namespace = named.namespace.as_deref().unwrap_or(namespace);
        if !selected.contains_key(namespace) {
            selected.insert(namespace, select(reader, Some(namespace), selector).await?);
        }
        let mut sets = selected.get(namespace).into_iter().flatten().map(|(target, _)| target);
        let is_it = |it: &&Target| it.kind == named.kind && it.name == named.name;
        targets.extend(sets.find(is_it).cloned());
    }
    if given.is_none() && selector.is_some() {
        let sets = select(reader, Some(namespace), selector).await?;
        targets.extend(sets.into_iter().map(|(target, _)| target));
    }
    if let Some(release) = &args.for_release {
        targets.extend(of_release(reader, release, namespace).await?);
    }
    Ok(targets.into_iter().collect())
}

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
    let is = |annotation: Option<&String>, value: &str| annotation.is_some_and(|it| it == value);
    let sets = sets.into_iter().filter(|(_, annotations)| {
        is(annotations.get(RELEASE), release) && is(annotations.get(RELEASE_NAMESPACE), namespace)
    });
    Ok(sets.map(|(target, _)| target).collect())
}

async fn one(reader: &Reader, named: &Named, namespace: &str) -> anyhow::Result<Target> {
    let Named { kind, name, .. } = named;
    let namespace = named.namespace.as_deref().unwrap_or(namespace);
    let path = Collection::of((*kind).into()).list(Some(namespace)).path;
    let path = format!("{path}/{name}");
    match reader.get(&path).await {
        Ok(json) => {
            let read: Read = serde_json::from_str(&json).with_context(|| path)?;
            Ok(read.target(*kind, namespace).0)
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
        let read = reader.objects::<Read>(&list).await?.into_iter();
        sets.extend(read.map(|it| it.target(kind, namespace.unwrap_or_default())));
    }
    Ok(sets)
}
