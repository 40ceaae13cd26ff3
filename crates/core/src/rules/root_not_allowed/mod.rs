use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "root-not-allowed", group: NeverStarts, mode: Mode::Deny;
    title: "runAsNonRoot forbids the user 0",
    summary: "runAsNonRoot together with runAsUser 0, so that the container never starts",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Kubernetes: `verifyRunAsNonRoot`, pkg/kubelet/kuberuntime/security_context_others.go;
/// `DetermineEffectiveSecurityContext`, pkg/securitycontext/util.go.
fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    if spec.os.as_ref().is_some_and(|os| os.name == "windows") {
        return;
    }
    let pod = spec.security_context.as_ref();
    visit(spec, &POD_SPEC, &mut |container, path| {
        let own = container.security_context.as_ref();
        let own_user = own.and_then(|it| it.run_as_user);
        let own_rule = own.and_then(|it| it.run_as_non_root);
        let non_root = own_rule.or(pod.and_then(|it| it.run_as_non_root));
        if read::user(container, spec) != Some(0) || non_root != Some(true) {
            return;
        }
        let message = format!(
            "container {:?} never starts: it would run as root, and runAsNonRoot forbids that",
            container.name
        );
        let help = "set runAsUser to the number of another user, or runAsNonRoot to false for this container";
        let path = if own_user.is_some() || own_rule.is_some() { path } else { &POD_SPEC };
        let path = match (own_user, own_rule) {
            (None, Some(_)) => path.below("securityContext.runAsNonRoot"),
            _ => path.below("securityContext.runAsUser"),
        };
        found.report(&path, Reason::Invalid, message, help).planned_if(true);
    });
}
