//! A template that names a ServiceAccount that does not exist.

use super::missing::is_missing;
use crate::{
    finding::{Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "service-account-missing",
        summary: "a template whose ServiceAccount does not exist",
        why: "\
The API server accepts the object and then refuses every pod that the controller tries to create. The usual
causes are a misspelt name, and a chart whose ServiceAccount is switched off or has another name.

Seen on a 1.36 control plane: no pod, and FailedCreate events, \"error looking up service account p/nope:
serviceaccount \"nope\" not found\".

Only `setguard check` reports this, if it gets another ServiceAccount of the namespace with `--inventory`:
ServiceAccounts are not in the webhook's view of the cluster. `default` is in every namespace. If the object
or a ServiceAccount of the right name sets no namespace, nothing is reported, as the two may meet in the
namespace of the command that applies them.

Kubernetes: `Admit`, plugin/pkg/admission/serviceaccount/admission.go.",
        bad: include_str!("examples/service-account-missing.bad.yaml"),
        good: include_str!("examples/service-account-missing.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::DaemonSet, Kind::StatefulSet], evidence: Evidence::AbsentNeighbor, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let named = query.item.details().and_then(|details| details.service_account.as_deref());
    let Some(name) = named.filter(|name| *name != "default") else { return };
    if is_missing(query, Kind::ServiceAccount, name) {
        let namespace = query.item.namespace();
        let message = format!(
            "{} ServiceAccounts of namespace {namespace}, but no {name}: no pod is created without it",
            query.who_has()
        );
        found.report(
            Kind::ServiceAccount,
            &POD_SPEC.child("serviceAccountName"),
            Reason::NotFound,
            message,
            "add this ServiceAccount, or name one that exists",
        );
    }
}
