use k8s_openapi::api::core::v1::{ContainerResizePolicy, ContainerRestartRule};

use crate::validation::prelude::*;

const MAX_RULES: usize = 20;
const MAX_EXIT_CODES: usize = 255;

/// Follows `validateRestartPolicy`.
pub(crate) fn pod(policy: &str, path: &Path<'_>, found: &mut Findings) {
    required_one_of(policy, &["Always", "OnFailure", "Never"], path, found);
}

/// Follows `validateContainerRestartPolicy`. `path` is the path of the container.
pub(crate) fn container(
    container: &Container,
    opts: &Options,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let rules = list(&container.restart_policy_rules);
    let policy = container.restart_policy.as_deref();
    if policy.is_none() && rules.is_empty() {
        return;
    }
    let at = path.child("restartPolicy");
    if policy.is_none() {
        found.required(&at, "must specify restartPolicy when restart rules are used");
    }
    one_of(policy, &["Always", "Never", "OnFailure"], &at, found);
    let at = path.child("restartPolicyRules");
    if rules.len() > MAX_RULES {
        too_many(&at, rules.len(), MAX_RULES, opts, found);
    }
    for (i, rule) in rules.iter().enumerate() {
        self::rule(rule, opts, &at.index(i), found);
    }
}

fn rule(rule: &ContainerRestartRule, opts: &Options, path: &Path<'_>, found: &mut Findings) {
    let actions: &[&str] = if opts.restart_all_containers {
        &["Restart", "RestartAllContainers"]
    } else {
        &["Restart"]
    };
    one_of(Some(&rule.action), actions, &path.child("action"), found);
    let path = path.child("exitCodes");
    let Some(codes) = &rule.exit_codes else {
        found.required(&path, "must be specified");
        return;
    };
    one_of(Some(&codes.operator), &["In", "NotIn"], &path.child("operator"), found);
    let values = list(&codes.values).len();
    if values > MAX_EXIT_CODES {
        too_many(&path.child("values"), values, MAX_EXIT_CODES, opts, found);
    }
}

fn too_many(path: &Path<'_>, count: usize, max: usize, opts: &Options, found: &mut Findings) {
    if opts.too_many_restart_rules {
        found.too_many(path, count, max);
    } else {
        found.too_long(path, max);
    }
}

/// Follows `validateInitContainerRestartPolicy`.
pub(crate) fn init_container(
    container: &Container,
    opts: &Options,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let has_rules = !list(&container.restart_policy_rules).is_empty();
    let at = path.child("restartPolicy");
    match container.restart_policy.as_deref() {
        None if has_rules && !opts.init_rules_without_policy => {
            found.required(&at, "must specify restartPolicy when restart rules are used");
        }
        None => {}
        Some(policy) if !opts.container_restart_rules => {
            one_of(Some(policy), &["Always"], &at, found);
        }
        Some("Always") if !opts.restart_all_containers && has_rules => {
            let why = "restartPolicyRules are not allowed for init containers with restart policy \
                       Always";
            found.forbidden(&path.child("restartPolicyRules"), why);
        }
        Some("Always") if !opts.restart_all_containers => {}
        Some(_) => self::container(container, opts, path, found),
    }
}

/// Follows `validateResizePolicy`. Most paths lack the index, as they do upstream.
pub(crate) fn resize(
    policies: &[ContainerResizePolicy],
    pod_restart_policy: &str,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let mut seen = Seen::new();
    for (i, policy) in policies.iter().enumerate() {
        let resource = policy.resource_name.as_str();
        if !seen.insert(resource) {
            found.duplicate(&path.index(i), named(resource));
        }
        required_one_of(resource, &["cpu", "memory"], path, found);
        let restart = policy.restart_policy.as_str();
        required_one_of(restart, &["NotRequired", "RestartContainer"], path, found);
        if pod_restart_policy == "Never" && restart != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            found.invalid(path, named(restart), why);
        }
    }
}
