use std::collections::VecDeque;

use setguard_core::kubernetes::cluster::Version;

use super::call;
use crate::prelude::*;

const LARGEST_VERSION: usize = 64 << 10;
/// How many answers count: about five minutes.
const ANSWERS: usize = 10;
/// After how many answers the gates are read again: ten minutes.
const ANSWERS_OF_GATES: usize = 20;
const GATE_METRIC: &str = "kubernetes_feature_enabled{";

/// The release of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The release, or the nearest one that setguard supports.
    pub version: Version,
    /// The API server's own name for the release, such as `v1.36.2`.
    pub reported: String,
    minor: u32,
    /// The feature gates; empty if they were not requested or cannot be read.
    pub gates: BTreeMap<String, bool>,
}

impl Release {
    /// Returns whether the release is newer than the newest that setguard supports.
    pub const fn is_newer(&self) -> bool {
        self.minor > Version::NEWEST.minor()
    }

    /// Returns whether the API server streams lists. Kubernetes: the feature gate `WatchList`, on by default in 1.32
    /// and since 1.34.
    pub(super) fn streams_lists(&self) -> bool {
        self.gates.get("WatchList").copied().unwrap_or(self.minor == 32 || self.minor >= 34)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    major: String,
    minor: String,
    git_version: String,
}

/// Requests the release regularly. During an upgrade or rollback of a control plane, API servers of two releases may
/// answer, and the older one drops fields that only the newer one knows.
pub(super) struct Discovery {
    times: Times,
    discovers_gates: bool,
    answers: VecDeque<Release>,
    last: Option<Release>,
    since_gates: usize,
    /// The last logged failures, so that each is logged once.
    logged: [Option<String>; 2],
    /// The releases in the last warning about different releases.
    mixed: BTreeSet<String>,
}

impl Discovery {
    pub(super) const fn new(times: Times, discovers_gates: bool) -> Self {
        Discovery {
            times,
            discovers_gates,
            answers: VecDeque::new(),
            last: None,
            since_gates: 0,
            logged: [None, None],
            mixed: BTreeSet::new(),
        }
    }

    /// Requests the release over a new connection, so that several API servers behind one address take turns. Returns
    /// the oldest release among the last answers, if it changed.
    pub(super) async fn ask(&mut self) -> Option<Release> {
        let answer = match self.answer().await {
            Ok(answer) => answer,
            Err(problem) => {
                self.log(0, &problem, "cannot ask the API server for its release");
                return None;
            }
        };
        self.logged[0] = None;
        self.answers.push_front(answer);
        self.answers.truncate(ANSWERS);
        self.log_mixed();
        // `min_by_key` returns the first minimum, so the newest answer of equal releases.
        let oldest = self.answers.iter().min_by_key(|it| it.version)?;
        if self.last.as_ref() == Some(oldest) {
            return None;
        }
        self.last = Some(oldest.clone());
        self.last.clone()
    }

    async fn answer(&mut self) -> Result<Release, Problem> {
        let client = call::client(self.times.call).await.map_err(Problem::failed)?;
        let request = axum::http::Request::get("/version").body(Vec::new());
        let text = call::text(&client, request, self.times.call, LARGEST_VERSION).await?;
        let mut release = parse(&text)?;
        if self.discovers_gates {
            release.gates = self.gates_of(&release, &client).await;
        }
        Ok(release)
    }

    /// Returns the gates of an API server. Reads them rarely, because the answer is large.
    async fn gates_of(&mut self, release: &Release, client: &Client) -> BTreeMap<String, bool> {
        let known = self.answers.iter().find(|it| it.reported == release.reported);
        self.since_gates += 1;
        if let Some(known) = known.filter(|_| self.since_gates < ANSWERS_OF_GATES) {
            return known.gates.clone();
        }
        match gates(client, self.times.call).await {
            Ok(gates) => {
                self.since_gates = 0;
                self.logged[1] = None;
                gates
            }
            Err(problem) => {
                // The gates from the last successful read are the best guess.
                let gates = known.map(|it| it.gates.clone()).unwrap_or_default();
                self.log(1, &problem, "cannot read the feature gates of the API server");
                gates
            }
        }
    }

    fn log(&mut self, what: usize, problem: &Problem, message: &'static str) {
        let why = problem.to_string();
        if self.logged[what].as_ref() != Some(&why) {
            tracing::warn!(why, "{message}");
            self.logged[what] = Some(why);
        }
    }

    fn log_mixed(&mut self) {
        let versions: BTreeSet<_> = self.answers.iter().map(|it| it.version).collect();
        let mut mixed = BTreeSet::new();
        if versions.len() > 1 {
            mixed.extend(self.answers.iter().map(|it| it.reported.clone()));
        }
        if !mixed.is_subset(&self.mixed) {
            let releases = mixed.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            tracing::warn!(
                releases,
                "API servers of several releases answer, or one was upgraded a moment ago; objects are \
                 checked against the oldest of them for some minutes"
            );
        }
        self.mixed = mixed;
    }
}

/// Reads the feature gates. `limit` applies to the head of the answer and to its body.
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

pub(super) fn parse(text: &str) -> Result<Release, Problem> {
    let Answer { major, minor, git_version } =
        serde_json::from_str(text).map_err(Problem::failed)?;
    // Some clusters report a minor version such as `36+`.
    let number = minor.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>();
    let (true, Ok(minor)) = (major == "1", number) else {
        return Err(Problem::Failed(format!("{major}.{minor} is not a release of Kubernetes")));
    };
    let version = Version::of_minor(minor).clamp(Version::OLDEST, Version::NEWEST);
    let version = version.with_patch_of(&git_version);
    Ok(Release { version, reported: git_version, minor, gates: BTreeMap::new() })
}

/// Parses a line such as `kubernetes_feature_enabled{name="A",stage="BETA"} 1`.
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
