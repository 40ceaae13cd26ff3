//! The comparison of policies with rules, object by object.

use jiff::civil::date;
use setguard::{
    catalogue,
    engine::{self, Context},
    kubernetes::resource::Resource,
    object::{Object, Subject},
    policy::Policy,
    rules::in_cel,
};

use super::crossed::Crossing;
use crate::client::Answer;
use crate::prelude::*;

pub(super) struct Compared {
    pub(super) client: Client,
    pub(super) policy: Policy,
    pub(super) exported: BTreeSet<&'static str>,
    pub(super) count: usize,
    pub(super) found: BTreeMap<String, usize>,
    pub(super) wrong: Vec<String>,
}

impl Compared {
    pub(super) async fn crossed(&mut self, mut crossing: Crossing<'_>, count: usize) {
        for _ in 0..count {
            let (parent, child) = crossing.next();
            let old = crossing.dice.percent(30).then_some(&parent);
            self.written(&child, old).await;
        }
    }

    /// Asserts that the API server evaluates all policies for an object whose lists are too long for it to print all
    /// warnings.
    pub(super) async fn affordable(&self, object: &Value) {
        let (answer, _) = client::write(&self.client, "shop", object, None).await.unwrap();
        assert_eq!(answer.status, 201, "{}", answer.object["message"]);
    }

    pub(super) async fn written(&mut self, object: &Value, old: Option<&Value>) {
        if let Some((answer, stored)) = client::write(&self.client, "shop", object, old).await {
            self.compare(object, stored.as_ref(), &answer);
        }
    }

    fn compare(&mut self, sent: &Value, old: Option<&Value>, answer: &Answer) {
        if answer.status >= 300 {
            // All rules only warn, so a refusal means a failed expression.
            let message = answer.object["message"].as_str().unwrap_or_default();
            if message.contains("ValidatingAdmissionPolicy") {
                self.wrong.push(format!("{message}: {sent}"));
            }
            return;
        }
        self.count += 1;
        let found = found(&answer.warnings);
        let json = answer.object.to_string();
        let old = old.map(Value::to_string);
        let kind = answer.object["kind"].as_str().unwrap();
        let object = Object::parse(Resource::of("apps/v1", kind).unwrap(), &json).unwrap();
        let subject = match &old {
            Some(old) => Subject::update(object, old),
            None => Subject::create(object),
        };
        let cx = Context::of_review(&self.policy, date(2026, 1, 1));
        let verdict = engine::evaluate(&subject, &cx);
        let expected: BTreeSet<_> = verdict
            .warnings()
            .map(|violation| violation.finding.rule)
            .filter(|rule| self.exported.contains(rule.id))
            .map(|rule| rule.id.to_owned())
            .collect();
        for rule in &found {
            if !expected.contains(rule) {
                self.wrong.push(format!("{rule} is found only by the policy in {sent}"));
            }
            *self.found.entry(rule.clone()).or_default() += 1;
        }
        for rule in expected.difference(&found) {
            let in_cel = in_cel().find(|(exported, _)| exported.meta.id == rule);
            if in_cel.is_none_or(|(_, cel)| cel.misses.is_none()) {
                self.wrong.push(format!("{rule} is not found by the policy in {sent}"));
            }
        }
    }
}

fn found(warnings: &[String]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for warning in warnings {
        assert!(!warning.contains("resulted in error"), "{warning}");
        if let Some(id) = rule_of(warning) {
            // The summary replaces a message whose expression fails.
            let summary = catalogue::find(&id).unwrap().meta.summary;
            assert!(!warning.contains(summary), "{warning}");
            found.insert(id);
        }
    }
    found
}

/// The rule in a policy's warning. A limit has a policy for each kind.
fn rule_of(warning: &str) -> Option<String> {
    let (_, name) = warning.split_once("ValidatingAdmissionPolicy '")?;
    let (name, _) = name.split_once(".setguard.io'")?;
    Some(if name.starts_with("limit-exceeded-") { "limit-exceeded" } else { name }.to_owned())
}
