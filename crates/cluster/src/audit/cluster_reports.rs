//! Reports in the cluster: an OpenReports Report or a PolicyReport for each object with findings.
//!
//! Each run applies every report again, even if somebody else changed it; the API server stores nothing if nothing
//! differs. The reported object owns its report, so the garbage collector deletes both. A report without findings is
//! removed.
//!
//! Upstream: openreports.io/v1alpha1 (github.com/openreports/reports-api) and
//! wgpolicyk8s.io/v1alpha2 (github.com/kubernetes-sigs/wg-policy-prototypes).

mod api;
mod content;

use clap::ValueEnum;
use futures::stream;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::api::{DeleteParams, Patch, PatchParams};

use self::{
    api::{Api, Key, OPEN_REPORTS, POLICY_REPORTS},
    content::{LABEL, Report},
};
use super::found::Found;
use crate::live::reader::AT_ONCE;
use crate::prelude::*;

const FIELD_MANAGER: &str = "setguard-audit";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ClusterReports {
    /// OpenReports if the cluster has them, else PolicyReports if it has those
    Auto,
    /// Reports of openreports.io/v1alpha1
    Openreports,
    /// PolicyReports of wgpolicyk8s.io/v1alpha2
    Policyreport,
    /// Nothing is written
    #[default]
    None,
}

#[derive(Debug)]
pub(super) enum Unwritten {
    /// The cluster serves no API for reports, and `auto` does not require one.
    NotServed(String),
    Failed(String),
}

/// Updates the reports in these namespaces, or in all if the list is empty. Removes reports only if the findings are
/// complete.
pub(super) async fn write(
    wanted: ClusterReports,
    reader: &Reader,
    namespaces: &[String],
    found: &Found,
    is_complete: bool,
) -> Result<(), Unwritten> {
    let apis: &[&Api] = match wanted {
        ClusterReports::Auto => &[&OPEN_REPORTS, &POLICY_REPORTS],
        ClusterReports::Openreports => &[&OPEN_REPORTS],
        ClusterReports::Policyreport => &[&POLICY_REPORTS],
        ClusterReports::None => return Ok(()),
    };
    let failed = |problem: Problem| {
        Unwritten::Failed(format!("reports cannot be written to the cluster: {problem}"))
    };
    let Some(api) = served(reader, apis).await.map_err(failed)? else {
        let apis: Vec<_> = apis.iter().map(|api| api.group_version).collect();
        let why =
            format!("no reports are written: the cluster does not have {}", apis.join(" or "));
        return Err(match wanted {
            ClusterReports::Auto => Unwritten::NotServed(why),
            _ => Unwritten::Failed(why),
        });
    };
    let mut existing = existing(api, reader, namespaces).await.map_err(failed)?;
    let reports = found.entries().filter_map(|(name, entry)| Report::of(api, name, entry));
    let mut requests = Vec::new();
    for report in reports {
        let key = report.key();
        existing.remove(&key);
        let params = PatchParams::apply(FIELD_MANAGER).force();
        requests.push(api.at(&key.0).patch(&key.1, &params, &Patch::Apply(report)));
    }
    if is_complete {
        let gone = existing.into_iter();
        requests.extend(
            gone.map(|(place, name)| api.at(&place).delete(&name, &DeleteParams::default())),
        );
    }
    let sent = stream::iter(requests).map(|request| reader.send(request));
    let sent: Vec<_> = sent.buffer_unordered(AT_ONCE).collect().await;
    let problems = sent.into_iter().filter_map(Result::err);
    // Somebody may have deleted the object, its report or its namespace in the meantime.
    let problems: Vec<_> = problems.filter(|it| !matches!(it, Problem::Absent(_))).collect();
    let more = problems.len().saturating_sub(1);
    match problems.into_iter().next() {
        None => Ok(()),
        Some(first) if more == 0 => Err(failed(first)),
        Some(first) => Err(Unwritten::Failed(format!(
            "{} reports cannot be written to the cluster: {first}",
            more + 1
        ))),
    }
}

async fn served(reader: &Reader, apis: &[&'static Api]) -> Result<Option<&'static Api>, Problem> {
    for api in apis {
        match reader.get(&format!("/apis/{}", api.group_version)).await {
            Ok(text) => {
                let list: APIResourceList = serde_json::from_str(&text).map_err(Problem::failed)?;
                if list.resources.iter().any(|resource| resource.name == api.plural) {
                    return Ok(Some(api));
                }
            }
            Err(Problem::Absent(_)) => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(None)
}

/// Returns the reports that setguard wrote earlier.
async fn existing(
    api: &Api,
    reader: &Reader,
    namespaces: &[String],
) -> Result<BTreeSet<Key>, Problem> {
    let mut existing = BTreeSet::new();
    let paths = match namespaces {
        [] => vec![format!("/apis/{}/{}", api.group_version, api.plural)],
        some => some.iter().map(|namespace| api.at(namespace).url_path).collect(),
    };
    for path in paths {
        let labels = Some(format!("{}={}", LABEL.0, LABEL.1).into());
        let list = List { path, is_bare: true, labels, fields: None };
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        let reports: Vec<Value> = reader.objects(&list).await?;
        let keys = reports.iter().map(|it| &it["metadata"]);
        existing.extend(keys.map(|it| (text(&it["namespace"]), text(&it["name"]))));
    }
    Ok(existing)
}
