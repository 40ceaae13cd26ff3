//! Compares setguard's verdicts with the verdicts of a real kube-apiserver (`tests/conformance`).
//!
//! `schema.rs` compares the objects that the server could not decode.

use std::fmt;

use setguard::{
    object::schema::strict,
    rules::{api_validation, api_warning},
};

use crate::prelude::*;
use crate::{
    corpus::{Bases, Case, Cause, alpha_cases, cases_of, others, patched},
    support::{cluster_of_release, resource_of},
};

const SHOWN: usize = 12;

/// Finds our cause despite different values: 1.33 prints values in Go's syntax, some as addresses.
fn in_same_words(theirs: &Cause, ours: &BTreeSet<Cause>) -> Option<Cause> {
    if ours.contains(theirs) {
        return None;
    }
    let same = |ours: &&Cause| {
        ["Invalid value: ", "Unsupported value: ", "Duplicate value: "].into_iter().any(|start| {
            let Some(text) = ours.message.strip_prefix(start) else { return false };
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            let is_value = values.next().is_some_and(|value| value.is_ok());
            is_value
                && theirs.message.starts_with(start)
                && theirs.message.ends_with(&text[values.byte_offset()..])
        })
    };
    let at_place = |ours: &&Cause| ours.field == theirs.field && ours.reason == theirs.reason;
    ours.iter().filter(at_place).find(same).cloned()
}

/// Replaces the random suffix of a generated name with `xxxxx`.
fn comparable(theirs: &Cause, ours: &BTreeSet<Cause>) -> Cause {
    let mut cause = theirs.clone();
    if let Some(end) = cause.message.find("\": ")
        && let Some(start) = end.checked_sub(5)
        && ours.iter().any(|ours| ours.message.get(start..end) == Some("xxxxx"))
        && cause.field == "metadata.name"
    {
        cause.message.replace_range(start..end, "xxxxx");
    }
    cause
}

#[derive(Default)]
struct Figures {
    cases: usize,
    decisions: usize,
    pairs: usize,
    texts: usize,
    /// Whether the comparison ignores values in texts.
    words_only: bool,
    examples: Vec<String>,
}

impl Figures {
    fn add(&mut self, case: &Case, ours: &BTreeSet<Cause>) {
        let causes = case.verdict.causes.iter();
        let theirs: BTreeSet<Cause> = causes
            .map(|cause| {
                let words = self.words_only.then(|| in_same_words(cause, ours)).flatten();
                words.unwrap_or_else(|| comparable(cause, ours))
            })
            .collect();
        let refused = case.verdict.code == 422;
        let pairs = |causes: &BTreeSet<Cause>| -> BTreeSet<(String, String)> {
            causes.iter().map(|cause| (cause.field.clone(), cause.reason.clone())).collect()
        };
        let same_pairs = pairs(ours) == pairs(&theirs);
        let same_texts = *ours == theirs;
        self.cases += 1;
        self.decisions += usize::from(refused != ours.is_empty());
        self.pairs += usize::from(same_pairs);
        self.texts += usize::from(same_texts);
        if !same_texts && self.examples.len() < SHOWN {
            let lines = |mark: &str, causes: &mut dyn Iterator<Item = &Cause>| -> String {
                causes.map(|cause| format!("\n    {mark} {cause}")).collect()
            };
            self.examples.push(format!(
                "  {}{}{}",
                case.id,
                lines("server:  ", &mut theirs.difference(ours)),
                lines("setguard:", &mut ours.difference(&theirs)),
            ));
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { cases, decisions, pairs, texts, examples, .. } = self;
        write!(f, "{cases} cases")?;
        for (what, agreed) in [("decision", decisions), ("pairs", pairs), ("texts", texts)] {
            write!(f, ", {what} {agreed}")?;
        }
        examples.iter().try_for_each(|example| write!(f, "\n{example}"))
    }
}

const RELEASES: [&str; 5] = ["1.33", "1.34", "1.35", "1.36", "1.37"];

#[test]
fn verdicts_match_those_of_each_release() {
    let bases = bases();
    let mut wrong = Vec::new();
    for release in RELEASES.into_iter().filter(|it| others().is_none() || *it == "1.36") {
        let cluster = cluster_of_release(release);
        let words_only = release == "1.33";
        let mut scopes = [(); 2].map(|()| Figures { words_only, ..Figures::default() });
        let mut schema = Vec::new();
        for case in cases_of(release) {
            let Some(object) = case.object(&bases) else { continue };
            let text = object.to_string();
            let document = yaml::parse(&text).remove(0).unwrap();
            let problems = strict(&document.root, resource_of(&bases[&case.base]), cluster.version);
            if problems.is_empty() == (case.verdict.code == 400) {
                let said = &case.verdict.message;
                schema.push(format!("  {} {}: {said} {problems:?}", case.id, case.verdict.code));
            }
            if case.verdict.code != 400 {
                let figures = &mut scopes[usize::from(case.scope == "workload")];
                figures.add(&case, &evaluate(&bases, &case, &cluster));
            }
        }
        let [podspec, workload] = &scopes;
        println!("{release}: podspec: {podspec}\n{release}: workload: {workload}");
        println!("{} schemas differ", schema.len());
        schema.iter().take(SHOWN).for_each(|line| println!("{line}"));
        let differ = scopes
            .each_ref()
            .map(|it| [it.cases - it.decisions, it.cases - it.pairs, it.cases - it.texts]);
        let count = podspec.cases + workload.cases;
        assert!(others().is_some() || count > 5_000, "cases are missing");
        if !schema.is_empty() || differ != [[0; 3]; 2] {
            wrong.push(format!("{release}: {differ:?} differ, {} schemas", schema.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The feature gates of the recording `alpha.jsonl`.
const ALPHA: &str = "AtomicWriteVolumeUserFields ContainerStopSignals EmptyDirVolumeMode EvictionRequestAPI \
    GRPCContainerProbeTLS GenericWorkload H2CContainerProbe TaintTolerationComparisonOperators \
    UserNamespacesHostNetworkSupport VolumeBindMountOptions";

/// With the gates off, a stored object keeps such a field.
#[test]
fn verdicts_match_with_the_gates_of_alpha_fields() {
    let bases = bases();
    let on = ALPHA.split(' ').map(|gate| (gate.to_owned(), true)).collect();
    let release = || "1.37".parse().unwrap();
    let on = (Cluster::new(release(), on), Figures::default());
    let off = (Cluster::new(release(), BTreeMap::new()), Figures::default());
    let (mut both, mut wrong) = ([off, on], Vec::new());
    for case in alpha_cases() {
        let (cluster, figures) = &mut both[usize::from(case.alpha)];
        figures.add(&case, &evaluate(&bases, &case, cluster));
    }
    for (name, (_, figures)) in ["off", "on"].into_iter().zip(both) {
        println!("alpha gates {name}: {figures}");
        if figures.cases < 100 || figures.texts < figures.cases {
            wrong.push(format!("gates {name}: {figures}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The file has the warnings of 1.36, and of other releases where they differ; none if the release refuses the object.
#[test]
fn warnings_match_those_of_each_release() {
    #[derive(Deserialize)]
    struct Recorded {
        id: String,
        base: String,
        patch: json_patch::Patch,
        warnings: BTreeMap<String, Option<BTreeSet<String>>>,
    }
    let text = include_str!("../conformance/warnings.jsonl");
    let all: Vec<Recorded> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let (bases, mut wrong) = (bases(), Vec::new());
    for (release, case) in RELEASES.iter().flat_map(|it| all.iter().map(move |case| (it, case))) {
        let recorded = case.warnings.get(*release).or_else(|| case.warnings.get("1.36"));
        let Some(theirs) = recorded.unwrap() else { continue };
        let json = patched(&bases[&case.base], &case.patch).unwrap().to_string();
        let resource = resource_of(&bases[&case.base]);
        let subject = Subject::create(Object::parse(resource, &json).unwrap());
        let cluster = cluster_of_release(release);
        let mut found = Findings::of(API_VALIDATION);
        api_warning::warnings(&subject, &cluster, true, &mut found);
        let ours: BTreeSet<String> = found
            .into_vec()
            .into_iter()
            // Warnings about several fields name the volume.
            .map(|it| match it.message.starts_with("volume ") {
                true => it.message,
                false => format!("{}: {}", it.field, it.message),
            })
            .collect();
        if ours != *theirs {
            let (lacks, has) = (theirs.difference(&ours), ours.difference(theirs));
            wrong.push(format!(
                "{release} {}: {:?}",
                case.id,
                (lacks.collect::<Vec<_>>(), has.collect::<Vec<_>>())
            ));
        }
    }
    assert!(wrong.is_empty() && all.len() > 100, "{}", wrong.join("\n"));
}

fn evaluate(bases: &Bases, case: &Case, cluster: &Cluster) -> BTreeSet<Cause> {
    let json = case.object(bases).unwrap().to_string();
    let object = Object::parse(resource_of(&bases[&case.base]), &json)
        .unwrap_or_else(|e| panic!("{}: the server could decode it: {e}", case.id));
    let old = case.old(bases).map(|old| old.to_string());
    let subject = match &old {
        None => Subject::create(object),
        Some(old) => Subject::update(object, old),
    };
    assert_eq!(old.is_some(), subject.old().is_some(), "{}: the old object", case.id);
    let mut found = Findings::of(API_VALIDATION);
    api_validation::validate(&subject, cluster, &mut found);
    found
        .into_vec()
        .into_iter()
        .map(|finding| Cause {
            field: finding.field.to_string(),
            reason: finding.reason.as_str().to_owned(),
            message: finding.message,
        })
        .collect()
}
