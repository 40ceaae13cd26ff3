//! Releases of charts in the repository, as objects of Argo CD and Flux describe them.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::{
    root::{Release, Root},
    shown,
};
use crate::manifests::{
    exclude::whole,
    files,
    layout::clean,
    not_checked::{Cause, NotChecked},
    objects::ManifestObject,
    source::Source,
};

/// An object is written by people, so a file with one is small.
const LARGEST: u64 = 1 << 20;

/// Returns a root for each release of these charts that the files describe, and each release that cannot be rendered
/// from the repository alone, by the name of its root.
pub(super) fn releases(
    sources: &[&Source],
    charts: &[&Root],
    top: &Path,
) -> (Vec<Root>, Vec<(String, NotChecked)>) {
    let (mut roots, mut not_rendered) = (Vec::new(), Vec::new());
    for (name, file) in sources.iter().filter_map(|it| it.file()) {
        let Ok(bytes) = files::read(&file, LARGEST) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        if !text.contains("argoproj.io/") && !text.contains("helm.toolkit.fluxcd.io/") {
            continue;
        }
        let documents = kube_yaml::documents(&text).flatten();
        for object in documents.flat_map(|it| ManifestObject::all(it.root)) {
            for declared in declared(&object) {
                let at = clean(&top.join(declared.chart.trim_start_matches('/')));
                let Some(chart) = charts.iter().find(|it| whole(&it.at) == at) else { continue };
                match declared.release(chart, &at, top) {
                    Ok(release) => roots.push(chart.with(release)),
                    Err(why) => {
                        let object = Some(declared.object);
                        let root = chart.with(Release { object, ..Release::default() }).name();
                        let why = format!("{root} is not rendered: {why}");
                        let file = NotChecked::file(name.clone(), Cause::Empty, why);
                        not_rendered.push((root, file));
                    }
                }
            }
        }
    }
    (roots, not_rendered)
}

#[derive(Default)]
struct Declared {
    object: String,
    /// The folder of the chart, from the root of the repository.
    chart: String,
    /// From the root of the repository if the path begins with a slash, otherwise from the chart.
    files: Vec<String>,
    skips_missing: bool,
    inline: Option<String>,
    name: String,
    namespace: Option<String>,
    flags: Vec<String>,
    /// Why the repository alone does not show what is applied.
    why_not: Option<&'static str>,
}

impl Declared {
    fn release(&self, root: &Root, chart: &Path, top: &Path) -> Result<Release, String> {
        if let Some(why) = self.why_not {
            return Err(why.to_owned());
        }
        let mut values = Vec::new();
        for file in &self.files {
            let at = match file.strip_prefix('/') {
                Some(file) => top.join(file),
                None => chart.join(file),
            };
            let at = clean(&at);
            match at.exists() {
                true => values.push((shown(root, chart, &at), at)),
                false if self.skips_missing => {}
                false => return Err(format!("the repository has no {file}")),
            }
        }
        Ok(Release {
            values,
            inline: self.inline.clone(),
            object: Some(self.object.clone()),
            name: Some(self.name.clone()),
            namespace: self.namespace.clone(),
            flags: self.flags.clone(),
        })
    }
}

fn declared(object: &ManifestObject<'_>) -> Vec<Declared> {
    let group = object.api_version().split('/').next().unwrap_or_default();
    let json = object.node.to_json();
    match (group, object.kind()) {
        ("argoproj.io", "Application") => {
            serde_json::from_str(&json).map(Application::releases).unwrap_or_default()
        }
        ("helm.toolkit.fluxcd.io", "HelmRelease") => {
            serde_json::from_str(&json).ok().and_then(HelmRelease::release).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: Option<String>,
}

/// Upstream: pkg/apis/application/v1alpha1/types.go in github.com/argoproj/argo-cd.
#[derive(Deserialize)]
struct Application {
    #[serde(default)]
    metadata: Metadata,
    spec: ApplicationSpec,
}

#[derive(Deserialize)]
struct ApplicationSpec {
    source: Option<ApplicationSource>,
    #[serde(default)]
    sources: Vec<ApplicationSource>,
    #[serde(default)]
    destination: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ApplicationSource {
    path: String,
    helm: Option<ArgoHelm>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ArgoHelm {
    release_name: String,
    namespace: Option<String>,
    value_files: Vec<String>,
    ignore_missing_value_files: bool,
    values: String,
    values_object: Option<Value>,
    parameters: Vec<Parameter>,
    kube_version: String,
    api_versions: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parameter {
    name: String,
    #[serde(default)]
    value: String,
    #[serde(default)]
    force_string: bool,
}

impl Application {
    /// Upstream: `helmTemplate`, reposerver/repository/repository.go in github.com/argoproj/argo-cd.
    fn releases(self) -> Vec<Declared> {
        let Application { metadata, spec } = self;
        let sources = spec.source.into_iter().chain(spec.sources);
        let release = |source: ApplicationSource| {
            let helm = source.helm.unwrap_or_default();
            // A file of a different source of the same Application begins with its name.
            let file = |file: String| match file.strip_prefix('$').and_then(|it| it.split_once('/'))
            {
                Some((_, file)) => format!("/{file}"),
                None => file,
            };
            let set = |Parameter { name, value, force_string }: Parameter| {
                let flag = if force_string { "--set-string" } else { "--set" };
                format!("{flag}={name}={}", value.replace(',', "\\,"))
            };
            let version = Some(helm.kube_version).filter(|it| !it.is_empty());
            let version = version.map(|it| format!("--kube-version={it}"));
            let apis = helm.api_versions.iter().map(|it| format!("--api-versions={it}"));
            let name = [helm.release_name, metadata.name.clone()];
            Declared {
                object: format!("Application {}", metadata.name),
                chart: source.path,
                files: helm.value_files.into_iter().map(file).collect(),
                skips_missing: helm.ignore_missing_value_files,
                inline: helm
                    .values_object
                    .map_or(Some(helm.values), |it| Some(it.to_string()))
                    .filter(|it| !it.is_empty()),
                name: name.into_iter().find(|it| !it.is_empty()).unwrap_or_default(),
                namespace: helm.namespace.or_else(|| spec.destination.namespace.clone()),
                flags: version
                    .into_iter()
                    .chain(apis)
                    .chain(helm.parameters.into_iter().map(set))
                    .collect(),
                why_not: None,
            }
        };
        sources.filter(|it| !it.path.is_empty()).map(release).collect()
    }
}

/// Upstream: api/v2/helmrelease_types.go in github.com/fluxcd/helm-controller.
#[derive(Deserialize)]
struct HelmRelease {
    #[serde(default)]
    metadata: Metadata,
    spec: HelmReleaseSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HelmReleaseSpec {
    chart: Option<ChartTemplate>,
    release_name: Option<String>,
    target_namespace: Option<String>,
    values: Option<Value>,
    #[serde(default)]
    values_from: Vec<Value>,
}

#[derive(Deserialize)]
struct ChartTemplate {
    spec: ChartTemplateSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChartTemplateSpec {
    chart: String,
    source_ref: SourceRef,
    #[serde(default)]
    values_files: Vec<String>,
}

#[derive(Deserialize)]
struct SourceRef {
    kind: String,
}

impl HelmRelease {
    fn release(self) -> Option<Declared> {
        let HelmRelease { metadata, spec } = self;
        let chart = spec.chart?.spec;
        if chart.source_ref.kind != "GitRepository" {
            return None;
        }
        let prefix = spec.target_namespace.iter().map(|it| format!("{it}-")).collect::<String>();
        let why_not = match (&chart.values_files[..], &spec.values_from[..]) {
            ([], []) => None,
            ([_, ..], _) => Some("its valuesFiles replace the chart's own values"),
            _ => Some("its valuesFrom are in the cluster"),
        };
        Some(Declared {
            object: format!("HelmRelease {}", metadata.name),
            chart: chart.chart,
            inline: spec.values.map(|it| it.to_string()),
            name: spec.release_name.unwrap_or_else(|| format!("{prefix}{}", metadata.name)),
            namespace: spec.target_namespace.or(metadata.namespace),
            why_not,
            ..Declared::default()
        })
    }
}
