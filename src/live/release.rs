//! The release of Kubernetes that the API server has, and its feature gates.

use std::{collections::BTreeMap, time::Duration};

use futures::StreamExt as _;
use kube::Client;
use serde::Deserialize;
use tokio::time::{sleep, timeout};

use super::{
    call::{self, Problem},
    times::Times,
};
use crate::kubernetes::cluster::Version;

/// The largest answer to `/version` that is read.
const LARGEST_VERSION: usize = 64 << 10;
/// The metric of the API server that has a line for each feature gate.
const GATE_METRIC: &str = "kubernetes_feature_enabled{";

/// The information to request from the API server.
#[derive(Clone, Copy, Debug)]
pub struct Discover {
    /// Whether to request the feature gates too.
    pub gates: bool,
}

/// The answer of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The release, or the nearest release that setguard knows.
    pub version: Version,
    /// The API server's own name for the release, such as `v1.36.2`.
    pub reported: String,
    /// The minor version.
    minor: u32,
    /// The feature gates; empty if they were not requested or cannot be read.
    pub gates: BTreeMap<String, bool>,
}

impl Release {
    /// Returns whether the API server streams lists. Kubernetes: the feature gate `WatchList`,
    /// which is on by default in 1.32 and from 1.34 on.
    pub(super) fn streams_lists(&self) -> bool {
        self.gates.get("WatchList").copied().unwrap_or(self.minor == 32 || self.minor >= 34)
    }
}

/// The answer to `/version`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    major: String,
    minor: String,
    git_version: String,
}

/// Repeats the request for the release.
pub(super) struct Discovery {
    client: Client,
    times: Times,
    discover: Discover,
    last: Option<Release>,
    /// The last failures in the log, so that each is logged once.
    logged: [Option<String>; 2],
}

impl Discovery {
    pub(super) const fn new(client: Client, times: Times, discover: Discover) -> Self {
        Discovery { client, times, discover, last: None, logged: [None, None] }
    }

    /// Waits until it is time to ask again.
    pub(super) async fn wait(&self) {
        let failed = self.last.is_none();
        sleep(if failed { self.times.release / 10 } else { self.times.release }).await;
    }

    /// Returns the answer of the API server, if it has changed.
    pub(super) async fn ask(&mut self) -> Option<Release> {
        let mut release = match self.version().await {
            Ok(release) => release,
            Err(problem) => {
                self.log(0, &problem, "cannot ask the API server for its release");
                return None;
            }
        };
        self.logged[0] = None;
        if self.discover.gates {
            match gates(&self.client, self.times.call).await {
                Ok(gates) => {
                    self.logged[1] = None;
                    release.gates = gates;
                }
                Err(problem) => {
                    self.log(1, &problem, "cannot read the feature gates of the API server");
                    // The gates of the last successful read are still the best known.
                    let last = self.last.as_ref().filter(|it| it.reported == release.reported);
                    release.gates = last.map(|it| it.gates.clone()).unwrap_or_default();
                }
            }
        }
        if self.last.as_ref() == Some(&release) {
            return None;
        }
        self.last = Some(release.clone());
        Some(release)
    }

    fn log(&mut self, what: usize, problem: &Problem, message: &'static str) {
        let why = problem.to_string();
        if self.logged[what].as_ref() != Some(&why) {
            tracing::warn!(why, "{message}");
            self.logged[what] = Some(why);
        }
    }

    async fn version(&self) -> Result<Release, Problem> {
        let request = axum::http::Request::get("/version").body(Vec::new());
        let text = call::text(&self.client, request, self.times.call, LARGEST_VERSION).await?;
        parse(&text)
    }
}

/// Reads the feature gates, each answer within this time.
pub(super) async fn gates(
    client: &Client,
    limit: Duration,
) -> Result<BTreeMap<String, bool>, Problem> {
    let request = axum::http::Request::get("/metrics").body(Vec::new());
    let mut lines = call::lines(client, request, limit).await?;
    let mut gates = BTreeMap::new();
    let read = async {
        while let Some(line) = lines.next().await {
            let gate = gate(&line.map_err(Problem::failed)?);
            // The lines are consecutive, and a long text follows them.
            if gate.is_none() && !gates.is_empty() {
                break;
            }
            gates.extend(gate);
        }
        Ok(())
    };
    let read = timeout(limit, read).await;
    read.map_err(|_| Problem::Failed("the metrics take too long".to_owned()))??;
    Ok(gates)
}

/// Reads the answer to `/version`.
pub(super) fn parse(text: &str) -> Result<Release, Problem> {
    let Answer { major, minor, git_version } =
        serde_json::from_str(text).map_err(Problem::failed)?;
    // Some clusters have a minor version such as `36+`.
    let number = minor.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>();
    let (true, Ok(minor)) = (major == "1", number) else {
        return Err(Problem::Failed(format!("{major}.{minor} is not a release of Kubernetes")));
    };
    let version = Version::of_minor(minor).clamp(Version::OLDEST, Version::NEWEST);
    let version = version.with_patch_of(&git_version);
    Ok(Release { version, reported: git_version, minor, gates: BTreeMap::new() })
}

/// A feature gate of a line such as `kubernetes_feature_enabled{name="A",stage="BETA"} 1`.
fn gate(line: &str) -> Option<(String, bool)> {
    let (labels, value) = line.strip_prefix(GATE_METRIC)?.rsplit_once('}')?;
    let name = labels.split(',').find_map(|label| label.strip_prefix("name=\"")?.strip_suffix('"'));
    Some((name?.to_owned(), value.trim() == "1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(major: &str, minor: &str) -> Option<Release> {
        let answer = serde_json::json!({
            "major": major, "minor": minor, "gitVersion": format!("v{major}.{minor}.2"),
            "platform": "linux/amd64",
        });
        parse(&answer.to_string()).ok()
    }

    #[test]
    fn a_release_is_read_and_brought_to_the_nearest_that_is_known() {
        for (minor, known, streams) in [
            ("36", 36, true),
            ("35+", 35, true),
            ("33", 33, false),
            ("32", 33, true),
            ("31", 33, false),
            ("99", 37, true),
        ] {
            let release = release("1", minor).unwrap();
            assert_eq!(
                (release.version.minor(), release.streams_lists()),
                (known, streams),
                "{minor}"
            );
        }
        assert_eq!(release("2", "0"), None);
        assert_eq!(release("1", "x"), None);
        assert!(parse("<html>").is_err());
    }

    #[test]
    fn feature_gates_are_lines_of_the_metrics() {
        let on = r#"kubernetes_feature_enabled{name="WatchList",stage="BETA"} 1"#;
        assert_eq!(gate(on), Some(("WatchList".to_owned(), true)));
        let off = r#"kubernetes_feature_enabled{name="MaxUnavailableStatefulSet",stage="ALPHA"} 0"#;
        assert_eq!(gate(off), Some(("MaxUnavailableStatefulSet".to_owned(), false)));
        for other in ["# HELP kubernetes_feature_enabled x", "up 1", "kubernetes_feature_enabled{"]
        {
            assert_eq!(gate(other), None, "{other}");
        }
    }
}
