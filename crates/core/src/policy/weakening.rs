//! Compares a policy with an earlier one.

use std::collections::BTreeSet;

use super::{Exception, Policy, pattern::include};
use crate::{
    catalogue,
    finding::{Findings, Path, Reason},
    inject::settings::{PairedControllers, Settings},
    rules::policy_weakened::POLICY_WEAKENED,
};

const NAMED: usize = 5;

impl Policy {
    /// Finds what this policy enforces less than an earlier one. `name` is the earlier policy's name for messages.
    ///
    /// Every field of the policy is either compared here or weakens nothing; a test lists all of them.
    pub fn weaker_than(&self, earlier: &Policy, name: &str) -> Findings {
        let mut weaker = Weaker { found: Findings::of(POLICY_WEAKENED), name };
        weaker.modes(self, earlier);
        weaker.exceptions(self, earlier);
        weaker.limits(self, earlier);
        weaker.injection(&self.injection, &earlier.injection);
        weaker.cluster(self, earlier);
        weaker.exclude(&self.exclude, &earlier.exclude);
        weaker.folder_names(self, earlier);
        for cluster in earlier.clusters.iter().filter(|it| !self.clusters.contains(it)) {
            let message = format!(
                "the files of a cluster of {name} were changed or removed: {}",
                cluster.name
            );
            weaker.report(&Path::new("clusters"), message);
        }
        let is_new = |name: &str| earlier.clusters.iter().all(|it| it.name != name);
        let clusters = self.clusters.iter().enumerate();
        for (i, cluster) in clusters.filter(|(_, it)| is_new(&it.name)) {
            let message = format!(
                "{name} doesn't have the cluster {}: an object in its files no longer changes the same object of another \
                 cluster",
                cluster.name
            );
            weaker.report(&Path::new("clusters").index(i), message);
        }
        for release in earlier.render.iter().filter(|it| !self.render.contains(it)) {
            let message =
                format!("a release that {name} renders was changed or removed: {}", release.chart);
            weaker.report(&Path::new("render"), message);
        }
        weaker.found
    }
}

/// `name` is the earlier policy's.
struct Weaker<'a> {
    found: Findings,
    name: &'a str,
}

impl Weaker<'_> {
    fn report(&mut self, path: &Path<'_>, message: String) {
        let help = format!(
            "review it like a finding that is hidden; --policy-from-ref checks with the policy of {}",
            self.name
        );
        self.found.report(path, Reason::Forbidden, message, help);
    }

    fn modes(&mut self, now: &Policy, earlier: &Policy) {
        let lowered: Vec<_> = catalogue::all()
            .iter()
            .map(|rule| (rule.meta.id, earlier.mode(&rule.meta), now.mode(&rule.meta)))
            .filter(|(_, before, now)| now < before)
            .collect();
        if lowered.is_empty() {
            return;
        }
        let listed = lowered.iter().take(NAMED);
        let mut text = listed
            .map(|(id, before, now)| format!("{id} ({before} → {now})"))
            .collect::<Vec<_>>()
            .join(", ");
        if lowered.len() > NAMED {
            text.push_str(&format!(" and {} more", lowered.len() - NAMED));
        }
        let are = if lowered.len() == 1 { "rule is" } else { "rules are" };
        let message = format!("{} {are} weaker than in {}: {text}", lowered.len(), self.name);
        self.report(&Path::new("rules"), message);
    }

    fn exceptions(&mut self, now: &Policy, earlier: &Policy) {
        for (i, exception) in now.exceptions.iter().enumerate() {
            if earlier.exceptions.iter().any(|known| known.includes(exception)) {
                continue;
            }
            let rules: Vec<_> = exception.rules.iter().map(|rule| rule.id).collect();
            let message =
                format!("an exception from {} that {} doesn't have", rules.join(", "), self.name);
            self.report(&Path::new("exceptions").index(i), message);
        }
    }

    fn limits(&mut self, now: &Policy, earlier: &Policy) {
        let gone =
            earlier.limits.iter().filter(|it| !now.limits.iter().any(|ours| ours.includes(it)));
        for limit in gone {
            let reason = limit.limits.reason.trim();
            let message = format!("a limit of {} was removed or weakened: {reason}", self.name);
            self.report(&Path::new("limits"), message);
        }
    }

    /// Paired controllers choose the nodes of their pods, and injected tolerations let pods run on more nodes.
    fn injection(&mut self, now: &Settings, earlier: &Settings) {
        let injection = Path::new("injection");
        let paired = injection.child("pairedControllers");
        let lists = |it: &Settings| {
            let PairedControllers { users, groups } = it.paired_controllers.clone();
            [("users", users), ("groups", groups)]
        };
        for ((field, now), (_, earlier)) in lists(now).into_iter().zip(lists(earlier)) {
            for (i, who) in now.iter().enumerate().filter(|(_, who)| !earlier.contains(who)) {
                let message = format!("{who} is not a paired controller in {}", self.name);
                self.report(&paired.child(field).index(i), message);
            }
        }
        let tolerations = injection.child("tolerations");
        for (i, one) in now.tolerations.iter().enumerate() {
            if !earlier.tolerations.contains(one) {
                let key = if one.key.is_empty() { "every taint" } else { &one.key };
                let message = format!("a toleration of {key} that {} doesn't inject", self.name);
                self.report(&tolerations.index(i), message);
            }
        }
        if now.daemon_tolerations && !earlier.daemon_tolerations {
            let message = format!("tolerations of daemons that {} doesn't inject", self.name);
            self.report(&injection.child("daemonTolerations"), message);
        }
        if earlier.node_pin && !now.node_pin {
            let message = format!("pods are not pinned to their nodes, unlike in {}", self.name);
            self.report(&injection.child("nodePin"), message);
        }
    }

    /// Some rules apply to newer releases, others to older ones, so every change counts.
    fn cluster(&mut self, now: &Policy, earlier: &Policy) {
        let kubernetes = Path::new("kubernetes");
        let release = |it: &Policy| (it.names_release, it.cluster.version);
        if release(now) != release(earlier) {
            let text = |it: &Policy| match it.names_release {
                true => it.cluster.version.to_string(),
                false => "the cluster's, or the newest".to_owned(),
            };
            let message = format!(
                "the release is {}, and in {} it is {}: rules depend on it",
                text(now),
                self.name,
                text(earlier)
            );
            self.report(&kubernetes.child("version"), message);
        }
        let [of_now, of_earlier] = [now, earlier].map(|it| &it.cluster.pod_security);
        let path = kubernetes.child("podSecurity");
        if of_now.enforce < of_earlier.enforce {
            let message = format!(
                "the default Pod Security level is {}, and {} in {}",
                of_now.enforce.as_str(),
                of_earlier.enforce.as_str(),
                self.name
            );
            self.report(&path.child("enforce"), message);
        }
        let exempt = of_now.exempt_namespaces.iter().enumerate();
        for (i, name) in exempt.filter(|(_, name)| !of_earlier.exempt_namespaces.contains(name)) {
            let message =
                format!("{} does not exempt namespace {name} from Pod Security", self.name);
            self.report(&path.child("exemptNamespaces").index(i), message);
        }
        let [now, earlier] = [now, earlier].map(|it| &it.cluster.gates);
        let gates: BTreeSet<_> = now.keys().chain(earlier.keys()).collect();
        for gate in gates.into_iter().filter(|gate| now.get(*gate) != earlier.get(*gate)) {
            let message = format!("the gate {gate} differs from {}: rules depend on it", self.name);
            self.report(&kubernetes.child("featureGates"), message);
        }
    }

    /// A name in neither policy may be one of setguard's own. So every change counts, except a change to `warn`.
    fn folder_names(&mut self, now: &Policy, earlier: &Policy) {
        let names: BTreeSet<_> =
            now.folder_names.keys().chain(earlier.folder_names.keys()).collect();
        for name in names {
            let [before, now] = [earlier, now].map(|it| it.folder_names.get(name).copied());
            if before != now && now != Some(false) {
                let message = format!(
                    "warnings in folders named {name} may be notes, unlike in {}",
                    self.name
                );
                self.report(&Path::new("folderNames"), message);
            }
        }
    }

    /// A pattern that begins with `!` excludes from the patterns before it.
    fn exclude(&mut self, now: &[String], earlier: &[String]) {
        let exclude = Path::new("exclude");
        for (i, pattern) in now.iter().enumerate().filter(|(_, it)| !earlier.contains(it)) {
            let name = self.name;
            let message = format!("files that {name} doesn't exclude are not checked: {pattern}");
            self.report(&exclude.index(i), message);
        }
        let gone = earlier.iter().filter(|it| it.starts_with('!') && !now.contains(it));
        for pattern in gone {
            let message =
                format!("files that {} checks are excluded: {pattern} was removed", self.name);
            self.report(&exclude, message);
        }
        let in_both = |of: &'_ [String], other: &[String]| -> Vec<String> {
            of.iter().filter(|it| other.contains(it)).cloned().collect()
        };
        let takes_back = now.iter().any(|it| it.starts_with('!'));
        if takes_back && in_both(now, earlier) != in_both(earlier, now) {
            let message = format!("the patterns are in another order than in {}", self.name);
            self.report(&exclude, message);
        }
    }
}

impl Exception {
    /// Exempts everything that `other` does, for at least as long.
    fn includes(&self, other: &Exception) -> bool {
        // A pattern with `!` excludes from the others, so fewer patterns may match more.
        let plain = |it: &Exception| !it.files.iter().any(|pattern| pattern.starts_with('!'));
        include(&self.namespaces, &other.namespaces)
            && include(&self.names, &other.names)
            && (self.files == other.files
                || plain(self) && plain(other) && include(&self.files, &other.files))
            && other.rules.iter().all(|rule| self.rules.contains(rule))
            && self.expires.is_none_or(|last| other.expires.is_some_and(|it| it <= last))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::policy::json_schema;

    fn policy(rest: &str) -> Policy {
        Policy::parse(&format!("apiVersion: setguard.io/v1alpha1\nkind: Policy\n{rest}")).unwrap()
    }

    fn fields_of(now: &str, before: &str) -> Vec<String> {
        let found = policy(now).weaker_than(&policy(before), "main:setguard.yaml");
        found.into_vec().iter().map(|found| found.field.to_string()).collect()
    }

    /// On each line: a field of the policy; a policy with `%` in place of the change; the text there before and after;
    /// and the reported field, or nothing if the change weakens nothing. A pattern with `!` excludes from the others
    /// and is reviewed too.
    const FIELDS: &str = "\
apiVersion |  |  |  |
kind |  |  |  |
metadata.name | metadata: {name: %} | a | b |
rules.* | rules: {surge-host-port: %} | deny | warn | rules
rules.* | rules: {surge-host-port: %} | warn | deny |
rules.* | % | rules: {tolerates-everything: deny} |  | rules
exceptions[].namespaces[] | exceptions: [{rules: [surge-host-port], reason: r, %}] | namespaces: [a] | namespaces: [a, b] | exceptions[0]
exceptions[].names[] | exceptions: [{rules: [surge-host-port], reason: r, %}] | names: [a] | names: ['*'] | exceptions[0]
exceptions[].names[] | exceptions: [{rules: [surge-host-port], reason: r, %}] | names: [a] |  | exceptions[0]
exceptions[].names[] | exceptions: [{rules: [surge-host-port], reason: r, %}] | names: [a, b] | names: [a] |
exceptions[].names[] | exceptions: [{rules: [surge-host-port], reason: r, %}] |  | names: [a] |
exceptions[].files[] | exceptions: [{rules: [surge-host-port], reason: r, %}] | files: [a] | files: [a, '!b'] | exceptions[0]
exceptions[].files[] | exceptions: [{rules: [surge-host-port], reason: r, %}] | files: [a] | files: [a, b] | exceptions[0]
exceptions[].files[] | exceptions: [{rules: [surge-host-port], reason: r, %}] | files: [a] |  | exceptions[0]
exceptions[].files[] | exceptions: [{rules: [surge-host-port], reason: r, %}] | files: [a, b] | files: [a] |
exceptions[].files[] | exceptions: [{rules: [surge-host-port], reason: r, %}] |  | files: [a] |
exceptions[].files[] | exceptions: [{rules: [surge-host-port], reason: r, %}] | files: [a, '!a/b'] | files: [a, '!a/b'] |
exceptions[].files[] | exceptions: [{rules: [surge-host-port], reason: r, %}] | files: [a, '!a/b'] | files: ['!a/b', a] | exceptions[0]
exceptions[].rules[] | exceptions: [{rules: [shared-volume%], reason: r}] |  | , many-pods-at-once | exceptions[0]
exceptions[].rules[] | exceptions: [{rules: [shared-volume%], reason: r}] | , many-pods-at-once |  |
exceptions[].rules[] | % |  | exceptions: [{rules: [shared-volume], reason: r}] | exceptions[0]
exceptions[].reason | exceptions: [{rules: [shared-volume], reason: %}] | a | b |
exceptions[].expires | exceptions: [{rules: [surge-host-port], reason: r, %}] | expires: 2027-01-01 | expires: 2027-01-02 | exceptions[0]
exceptions[].expires | exceptions: [{rules: [surge-host-port], reason: r, %}] | expires: 2027-01-01 |  | exceptions[0]
exceptions[].expires | exceptions: [{rules: [surge-host-port], reason: r, %}] | expires: 2027-01-02 | expires: 2027-01-01 |
exceptions[].expires | exceptions: [{rules: [surge-host-port], reason: r, %}] |  | expires: 2027-01-01 |
limits[].namespaces[] | limits: [{atMostUnavailable: 1, reason: r, %}] | namespaces: [a, b] | namespaces: [a] | limits
limits[].names[] | limits: [{atMostUnavailable: 1, reason: r, %}] | names: [a, b] | names: [a] | limits
limits[].atMostUnavailable | limits: [{atMostUnavailable: %, reason: r}] | 1 | 2 | limits
limits[].atMostUnavailable | limits: [{atMostUnavailable: %, reason: r}] | 25% | 20%, neverEnds: false |
limits[].atMostUnavailable | limits: [{atMostUnavailable: %, reason: r}] | 25% | 1 | limits
limits[].deletesClaims | limits: [{atMostUnavailable: 1, reason: r, %}] | deletesClaims: false | deletesClaims: true | limits
limits[].neverEnds | limits: [{atMostUnavailable: 1, reason: r, %}] | neverEnds: false | neverEnds: true | limits
limits[].replacesAll | limits: [{atMostUnavailable: 1, reason: r, %}] | replacesAll: false |  | limits
limits[].mayExceed.users[] | limits: [{atMostUnavailable: 1, reason: r, %}] | mayExceed: {users: [a]} | mayExceed: {users: [a, b]} | limits
limits[].mayExceed.users[] | limits: [{atMostUnavailable: 1, reason: r, %}] | mayExceed: {users: [a], groups: [g]} | mayExceed: {groups: [g]} |
limits[].mayExceed.users[] | limits: [{atMostUnavailable: 1, reason: r, %}] | mayExceed: {users: [a]} |  |
limits[].mayExceed.groups[] | limits: [{atMostUnavailable: 1, reason: r, %}] |  | mayExceed: {groups: [a]} | limits
limits[].mayExceed.inManifests | limits: [{atMostUnavailable: 1, reason: r, %}] |  | mayExceed: {inManifests: true} | limits
limits[].mode | limits: [{atMostUnavailable: 1, reason: r, %}] | mode: deny | mode: warn | limits
limits[].reason | limits: [{atMostUnavailable: 1, reason: %}] | a | b |
injection.pairedControllers.users[] | injection: {pairedControllers: {users: [%]}} | a | a, b | injection.pairedControllers.users[1]
injection.pairedControllers.groups[] | injection: {pairedControllers: {groups: [%]}} |  | 'system:authenticated' | injection.pairedControllers.groups[0]
injection.tolerations[].key | injection: {tolerations: [{%}]} | key: a | key: '' | injection.tolerations[0]
injection.tolerations[].operator | injection: {tolerations: [{%}]} | key: a, operator: Equal | key: a | injection.tolerations[0]
injection.tolerations[].value | injection: {tolerations: [{%}]} | key: a, operator: Equal, value: b | key: a, operator: Equal, value: c | injection.tolerations[0]
injection.tolerations[].effect | injection: {tolerations: [{%}]} | key: a, effect: NoSchedule | key: a | injection.tolerations[0]
injection.daemonTolerations | injection: {daemonTolerations: %} | false | true | injection.daemonTolerations
injection.nodePin | injection: {nodePin: %} | true | false | injection.nodePin
injection.unpairedAnnotation | injection: {unpairedAnnotation: %} | deny | warn | rules
kubernetes.version | kubernetes: {%} | version: '1.36' | version: '1.34' | kubernetes.version
kubernetes.version | kubernetes: {%} |  | version: '1.37' | kubernetes.version
kubernetes.featureGates.* | kubernetes: {featureGates: {MaxUnavailableStatefulSet: %}} | true | false | kubernetes.featureGates
kubernetes.podSecurity.enforce | kubernetes: {podSecurity: {enforce: %}} | restricted | baseline | kubernetes.podSecurity.enforce
kubernetes.podSecurity.enforce | kubernetes: {podSecurity: {enforce: %}} | privileged | baseline |
kubernetes.podSecurity.exemptNamespaces[] | kubernetes: {podSecurity: {exemptNamespaces: [%]}} | a | a, b | kubernetes.podSecurity.exemptNamespaces[1]
exclude[] | exclude: [%] | b | a, b | exclude[0]
exclude[] | exclude: [%] | a, b | b |
exclude[] | exclude: [%] | a, '!a/b' | a | exclude
exclude[] | exclude: [%] | a, '!a/b' | '!a/b', a | exclude
exclude[] | exclude: [%] | a | a, '!a/b' | exclude[1]
folderNames.* | folderNames: {%} |  | sandbox: note | folderNames
folderNames.* | folderNames: {%} | hack: warn |  | folderNames
folderNames.* | folderNames: {%} | sandbox: note | hack: warn, sandbox: warn |
clusters[].name | clusters: [{name: %, paths: [c]}] | a | b | clusters clusters[0]
clusters[].paths[] | clusters: [{name: a, paths: [%]}] | b | c | clusters
clusters[].paths[] | % |  | clusters: [{name: a, paths: [b]}] | clusters[0]
clusters[].paths[] | % | clusters: [{name: a, paths: [b]}] | clusters: [{name: a, paths: [b]}, {name: c, paths: [d]}] | clusters[1]
render[].chart | render: [{chart: %}] | a | b | render
render[].values[] | render: [{chart: a, values: [%]}] | b | c | render
render[].release | render: [{chart: a, release: %}] | b | c | render
render[].namespace | render: [{chart: a, namespace: %}] | b | c | render
render[].kubeVersion | render: [{chart: a, kubeVersion: %}] | '1.35' | '1.36' | render
render[].apiVersions[] | render: [{chart: a, apiVersions: [%]}] | b | c | render
render[].chart | % |  | render: [{chart: a}] |
";

    #[test]
    fn every_field_of_the_policy_has_a_verdict() {
        let schema = json_schema();
        let mut fields = BTreeSet::new();
        collect(&schema, &schema, "", &mut fields);
        let rows = FIELDS.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
        let mut known = BTreeSet::new();
        for row in rows {
            let [field, text, before, now, reported] = row[..] else { panic!("{row:?}") };
            known.insert(field.to_owned());
            let with = |value: &str| text.replace('%', value).replace(", }", "}");
            let found = fields_of(&with(now), &with(before)).join(" ");
            assert_eq!(found, reported, "{field}: {now} after {before}");
        }
        assert_eq!(fields, known);
    }

    fn collect(schema: &Value, root: &Value, path: &str, fields: &mut BTreeSet<String>) {
        let named = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/"));
        let schema = named.map_or(schema, |name| &root["$defs"][name]);
        let of_any = schema["anyOf"].as_array().into_iter().flatten();
        if let Some(one) = of_any.clone().find(|it| it["$ref"].is_string()) {
            return collect(one, root, path, fields);
        }
        let dot = if path.is_empty() { "" } else { "." };
        if let Some(properties) = schema["properties"].as_object() {
            for (name, schema) in properties {
                collect(schema, root, &format!("{path}{dot}{name}"), fields);
            }
        } else if schema["items"].is_object() {
            collect(&schema["items"], root, &format!("{path}[]"), fields);
        } else if schema["additionalProperties"].is_object() {
            collect(&schema["additionalProperties"], root, &format!("{path}.*"), fields);
        } else {
            fields.insert(path.to_owned());
        }
    }

    #[test]
    fn a_limit_that_is_gone_has_its_reason() {
        let before = policy("limits: [{atMostUnavailable: 1, reason: agreed}]");
        let gone = policy("").weaker_than(&before, "main").into_vec().remove(0);
        assert_eq!(gone.message, "a limit of main was removed or weakened: agreed");
    }
}
