use k8s_openapi::api::core::v1::{ContainerResizePolicy, ContainerRestartRule};

use crate::validation::prelude::*;

const MAX_RULES: usize = 20;
const MAX_EXIT_CODES: usize = 255;

/// Follows `validateRestartPolicy`.
pub(crate) fn pod(policy: &str, path: &At<'_>) {
    required_one_of(policy, &["Always", "OnFailure", "Never"], path);
}

/// Follows `validateContainerRestartPolicy`. `path` is the path of the container.
pub(crate) fn container(container: &Container, opts: &Options, path: &At<'_>) {
    let rules = list(&container.restart_policy_rules);
    let policy = container.restart_policy.as_deref();
    if policy.is_none() && rules.is_empty() {
        return;
    }
    let at = path.child("restartPolicy");
    if policy.is_none() {
        at.required("must specify restartPolicy when restart rules are used");
    }
    one_of(policy, &["Always", "Never", "OnFailure"], &at);
    let at = path.child("restartPolicyRules");
    if rules.len() > MAX_RULES {
        too_many(&at, rules.len(), MAX_RULES, opts);
    }
    for (i, rule) in rules.iter().enumerate() {
        self::rule(rule, opts, &at.index(i));
    }
}

fn rule(rule: &ContainerRestartRule, opts: &Options, path: &At<'_>) {
    let actions: &[&str] = if opts.restart_all_containers {
        &["Restart", "RestartAllContainers"]
    } else {
        &["Restart"]
    };
    one_of(Some(&rule.action), actions, &path.child("action"));
    let path = path.child("exitCodes");
    let Some(codes) = &rule.exit_codes else {
        path.required("must be specified");
        return;
    };
    one_of(Some(&codes.operator), &["In", "NotIn"], &path.child("operator"));
    let values = list(&codes.values).len();
    if values > MAX_EXIT_CODES {
        too_many(&path.child("values"), values, MAX_EXIT_CODES, opts);
    }
}

fn too_many(path: &At<'_>, count: usize, max: usize, opts: &Options) {
    if opts.too_many_restart_rules {
        path.too_many(count, max);
    } else {
        path.too_long(max);
    }
}

/// Follows `validateInitContainerRestartPolicy`.
pub(crate) fn init_container(container: &Container, opts: &Options, path: &At<'_>) {
    let has_rules = !list(&container.restart_policy_rules).is_empty();
    let at = path.child("restartPolicy");
    match container.restart_policy.as_deref() {
        None if has_rules && !opts.init_rules_without_policy => {
            at.required("must specify restartPolicy when restart rules are used");
        }
        None => {}
        Some(policy) if !opts.container_restart_rules => {
            one_of(Some(policy), &["Always"], &at);
        }
        Some("Always") if !opts.restart_all_containers && has_rules => {
            let why = "restartPolicyRules are not allowed for init containers with restart policy \
                       Always";
            path.child("restartPolicyRules").forbidden(why);
        }
        Some("Always") if !opts.restart_all_containers => {}
        Some(_) => self::container(container, opts, path),
    }
}

/// Follows `validateResizePolicy`. Most paths lack the index, as they do upstream.
pub(crate) fn resize(policies: &[ContainerResizePolicy], pod_restart_policy: &str, path: &At<'_>) {
    let mut seen = Seen::new();
    for (i, policy) in policies.iter().enumerate() {
        let resource = policy.resource_name.as_str();
        if !seen.insert(resource) {
            path.index(i).duplicate(named(resource));
        }
        required_one_of(resource, &["cpu", "memory"], path);
        let restart = policy.restart_policy.as_str();
        required_one_of(restart, &["NotRequired", "RestartContainer"], path);
        if pod_restart_policy == "Never" && restart != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            path.invalid(named(restart), why);
        }
    }
}
