use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "low-port-refused", group: NeverStarts;
    title: "the user may not listen on this port",
    summary: "a port of the node below 1024 for a user without NET_BIND_SERVICE",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

/// Linux: `cap_bprm_creds_from_file`, security/commoncap.c.
fn check(container: &Container, spec: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    let user = read::user(container, spec).filter(|it| *it != 0);
    let user = user.filter(|_| spec.host_network == Some(true) && !read::is_privileged(container));
    let Some(user) = user else { return };
    let own = container.security_context.as_ref();
    let why = match read::capability(container, "NET_BIND_SERVICE") {
        _ if own.is_some_and(|it| it.allow_privilege_escalation == Some(false)) => {
            "allowPrivilegeEscalation: false takes away the capabilities of the program's file"
        }
        (false, true) => "the container has no capability NET_BIND_SERVICE",
        _ => return,
    };
    for (i, port) in list(&container.ports).iter().enumerate() {
        let number = port.container_port;
        if (1..1024).contains(&number) && port.protocol.as_deref() != Some("SCTP") {
            let message = format!(
                "user {user} may not listen on port {number} of the node, unless the node allows it to everybody: {why}"
            );
            let help = "listen on a port from 1024, or leave out hostNetwork and set hostPort";
            let path = path.item("ports", i);
            found.report(&path.child("containerPort"), Reason::Forbidden, message, help);
        }
    }
}
