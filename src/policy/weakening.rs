//! The comparison of a policy with an earlier one: the rules that it enforces less, and the files that
//! it leaves out.

use std::collections::BTreeSet;

use super::{Exception, Policy};
use crate::{
    catalogue,
    finding::{Findings, Path, Reason},
    rules::policy::POLICY_WEAKENED,
};

/// The number of rules that a message names.
const NAMED: usize = 5;

impl Policy {
    /// Finds the rules that this policy enforces less than an earlier one, whose name the messages
    /// contain.
    pub fn weaker_than(&self, earlier: &Policy, name: &str) -> Findings {
        let mut found = Findings::of(&POLICY_WEAKENED);
        let lowered: Vec<_> = catalogue::all()
            .iter()
            .map(|rule| (rule.meta.id, earlier.mode(rule.meta), self.mode(rule.meta)))
            .filter(|(_, before, now)| now < before)
            .collect();
        let help = format!(
            "review it like a finding that is hidden; --policy-from-ref checks with the policy of {name}"
        );
        if !lowered.is_empty() {
            let listed = lowered.iter().take(NAMED);
            let mut text = listed
                .map(|(id, before, now)| format!("{id} ({before} → {now})"))
                .collect::<Vec<_>>()
                .join(", ");
            if lowered.len() > NAMED {
                text.push_str(&format!(" and {} more", lowered.len() - NAMED));
            }
            let are = if lowered.len() == 1 { "rule is" } else { "rules are" };
            let message = format!("{} {are} weaker than in {name}: {text}", lowered.len());
            found.report(&Path::new("rules"), Reason::Forbidden, message, help.clone());
        }
        let exceptions = Path::new("exceptions");
        for (i, exception) in self.exceptions.iter().enumerate() {
            if earlier.exceptions.iter().any(|known| known.includes(exception)) {
                continue;
            }
            let rules: Vec<_> = exception.rules.iter().map(|rule| rule.id).collect();
            let message =
                format!("an exception from {} that {name} doesn't have", rules.join(", "));
            found.report(&exceptions.index(i), Reason::Forbidden, message, help.clone());
        }
        let limits = Path::new("limits");
        let gone =
            earlier.limits.iter().filter(|it| !self.limits.iter().any(|ours| ours.includes(it)));
        for limit in gone {
            let message =
                format!("a limit of {name} is gone, or weaker: {}", limit.limits.reason.trim());
            found.report(&limits, Reason::Forbidden, message, help.clone());
        }
        let exclude = Path::new("exclude");
        for (i, pattern) in self.exclude.iter().enumerate() {
            if !earlier.exclude.contains(pattern) {
                let message =
                    format!("files that {name} doesn't exclude are not checked: {pattern}");
                found.report(&exclude.index(i), Reason::Forbidden, message, help.clone());
            }
        }
        let lowers = |policy: &Policy, name: &str| policy.folder_names.get(name).copied();
        let names: BTreeSet<_> =
            self.folder_names.keys().chain(earlier.folder_names.keys()).collect();
        for folder in names {
            let (before, now) = (lowers(earlier, folder), lowers(self, folder));
            // A name that neither policy has may be one of setguard's own.
            if before != now && now != Some(false) {
                let message =
                    format!("warnings in folders named {folder} may be notes, unlike in {name}");
                found.report(&Path::new("folderNames"), Reason::Forbidden, message, help.clone());
            }
        }
        for cluster in earlier.clusters.iter().filter(|it| !self.clusters.contains(it)) {
            let message = format!(
                "the files of a cluster of {name} have changed, or are gone: {}",
                cluster.name
            );
            found.report(&Path::new("clusters"), Reason::Forbidden, message, help.clone());
        }
        found
    }
}

impl Exception {
    /// Returns whether this exception exempts everything that another exempts, for at least as
    /// long. Patterns are compared as texts, so different patterns with the same meaning count as
    /// different.
    fn includes(&self, other: &Exception) -> bool {
        let has = |ours: &[String], theirs: &[String]| {
            ours.is_empty()
                || !theirs.is_empty() && theirs.iter().all(|pattern| ours.contains(pattern))
        };
        // With `!`, a pattern takes back what others match, so fewer patterns may match more.
        let plain = |it: &Exception| !it.files.iter().any(|pattern| pattern.starts_with('!'));
        has(&self.namespaces, &other.namespaces)
            && has(&self.names, &other.names)
            && (self.files == other.files
                || plain(self) && plain(other) && has(&self.files, &other.files))
            && other.rules.iter().all(|rule| self.rules.contains(rule))
            && self.expires.is_none_or(|last| other.expires.is_some_and(|it| it <= last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(rest: &str) -> Policy {
        Policy::parse(&format!("apiVersion: setguard.io/v1alpha1\nkind: Policy\n{rest}")).unwrap()
    }

    fn fields(now: &str, before: &str) -> Vec<String> {
        let found = policy(now).weaker_than(&policy(before), "main:setguard.yaml");
        found.into_vec().iter().map(|found| found.field.to_string()).collect()
    }

    #[test]
    fn lower_modes_are_weaker() {
        let none: [&str; 0] = [];
        assert_eq!(fields("rules: {surge-host-port: warn}", ""), ["rules"]);
        // The earlier policy was stricter than the default.
        assert_eq!(fields("", "rules: {tolerates-everything: deny}"), ["rules"]);
        assert_eq!(fields("rules: {surge-host-port: warn}", "rules: {surge-host-port: off}"), none);
        assert_eq!(fields("rules: {tolerates-everything: deny}", ""), none);
    }

    #[test]
    fn files_that_are_left_out_are_weaker() {
        let none: [&str; 0] = [];
        assert_eq!(fields("exclude: [a, b]", "exclude: [b]"), ["exclude[0]"]);
        assert_eq!(fields("exclude: [b]", "exclude: [a, b]"), none);
        let clusters = "clusters: [{name: a, paths: [b]}]";
        assert_eq!(fields("clusters: [{name: a, paths: [c]}]", clusters), ["clusters"]);
        assert_eq!(fields(clusters, ""), none);
        // This one takes back a part of another, and is reviewed too.
        assert_eq!(fields("exclude: [a, \"!a/b\"]", "exclude: [a]"), ["exclude[1]"]);
    }

    #[test]
    fn exceptions_that_reach_further_are_weaker() {
        let exception = |rest: &str| {
            format!("exceptions: [{{rules: [surge-host-port, shared-volume], reason: r{rest}}}]")
        };
        for (now, before, is_weaker) in [
            ("", "", false),
            (", names: [a]", ", names: [a, b]", false),
            (", names: [a, c]", ", names: [a, b]", true),
            (", names: [a]", "", false),
            ("", ", names: [a]", true),
            (", namespaces: [\"*\"]", ", namespaces: [a]", true),
            (", expires: 2027-01-02", ", expires: 2027-01-01", true),
            (", expires: 2027-01-01", ", expires: 2027-01-02", false),
            (", expires: 2027-01-01", "", false),
            ("", ", expires: 2027-01-01", true),
        ] {
            let found = fields(&exception(now), &exception(before));
            assert_eq!(!found.is_empty(), is_weaker, "{now} after {before}: {found:?}");
        }
        let fewer = "exceptions: [{rules: [surge-host-port], reason: r}]";
        assert!(fields(fewer, &exception("")).is_empty());
        assert_eq!(fields(&exception(""), fewer), ["exceptions[0]"]);
        assert_eq!(fields(fewer, ""), ["exceptions[0]"]);
    }
}
