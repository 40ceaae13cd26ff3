//! Claims of a StatefulSet that are not bound.

use std::collections::BTreeMap;

use super::{
    claims::{Unbound, WhyUnbound, of_set, unbound},
    class_of_claims_missing,
    read::{names, since},
    replicas::Replicas,
};
use crate::{
    finding::{Facts, Help, Meta, Mode, paths::CLAIM_TEMPLATES},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope, StatusCheck,
        status::{Report, StatusFindings, StatusQuery},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "claim-pending",
        summary: "a pod of a StatefulSet that waits for a claim that is not bound",
        why: "\
A pod does not start before all its claims are bound, and with podManagementPolicy OrderedReady the pods
after it are not created. Why a claim is not bound is not in its status. Usual reasons are a storage class
that does not exist, no class in the claim template and no default class, a provisioner that fails, and no
volume where the pod could run. A claim is `Lost` if its volume was deleted.

The rule looks at the claims of the templates of StatefulSets, and reports those that have been Pending for
five minutes. Lost claims are reported also if their pods still run. One that only waits for its pod to get
a node, because the class has `volumeBindingMode: WaitForFirstConsumer`, is reported only if the scheduler
says that volumes are the reason.

Seen on a 1.36 control plane: a claim without a class stays Pending where no class is the default; when a
class becomes the default, the claim gets it and is bound.

Kubernetes: `syncUnboundClaim`, pkg/controller/volume/persistentvolume/pv_controller.go.",
        bad: include_str!("examples/claim-pending.bad.yaml"),
        good: include_str!("examples/claim-pending.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Status { kinds: &[Kind::StatefulSet], check: StatusCheck::Set(check) },
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    // A claim whose volume is gone stays Lost while its pod runs on.
    let lost = of_set(query)
        .filter(|it| it.is_wanted && &*it.claim.phase == "Lost")
        .map(|it| Unbound { name: it.name.to_owned(), claim: it.claim, why: WhyUnbound::Lost });
    let replicas = Replicas::of(query);
    let pending = replicas.iter().flat_map(|replicas| {
        let all = replicas.pods.keys().flat_map(|ordinal| unbound(query, replicas, *ordinal));
        all.filter(|it| it.why != WhyUnbound::Lost)
    });
    let mut groups: BTreeMap<WhyUnbound<'_>, Vec<Unbound<'_>>> = BTreeMap::new();
    for claim in lost.chain(pending) {
        groups.entry(claim.why.clone()).or_default().push(claim);
    }
    for (why, claims) in groups {
        let Some(first) = claims.iter().map(|it| it.claim.created).min() else { continue };
        let list = names(claims.iter().map(|it| it.name.as_str()));
        let (noun, is) = if claims.len() == 1 { ("claim", "is") } else { ("claims", "are") };
        let Explanation { reason, help, instead_of } = explain(query, &why, &claims);
        let title = match why {
            WhyUnbound::Lost => format!("{noun} {list} {is} Lost"),
            _ => format!("{noun} {list} {is} Pending"),
        };
        let (message, begun) = match why {
            WhyUnbound::Lost => (format!("{title}: {reason}"), 0),
            _ => (format!("{title} {}: {reason}", since(first)), first),
        };
        let facts = Facts::title(title).cause(reason).since(begun);
        let report = Report::new(&CLAIM_TEMPLATES, message, help).facts(facts);
        found.add(report.instead_of(instead_of));
    }
}

/// Why claims are not bound, and what to do.
struct Explanation {
    reason: String,
    help: Help,
    /// The rule of another family that finds the same.
    instead_of: Option<&'static str>,
}

fn explain(query: &StatusQuery<'_>, why: &WhyUnbound<'_>, claims: &[Unbound<'_>]) -> Explanation {
    let first = claims.first().map(|it| it.name.as_str()).unwrap_or_default();
    let look = query.kubectl().looks("describe pvc", &[first]);
    let (reason, help) = match why {
        WhyUnbound::NoClass(name) => return no_class(query, name),
        WhyUnbound::NoDefaultClass => return no_default_class(query),
        WhyUnbound::Lost => {
            let restore = Help::say(
                "restore the volume, or give up its data and delete the claim and its pod; ",
            );
            let restore = restore.run(look).and(" names the volume");
            ("its volume does not exist any more".to_owned(), restore)
        }
        WhyUnbound::NoVolume(reason) => {
            let help = Help::say("create a volume that fits; ");
            (reason.clone(), help.run(look).and(" shows what the claim asks for"))
        }
        WhyUnbound::Said(said) => {
            let help = Help::say("remove the cause; ").run(look).and(" shows the latest attempts");
            (said.clone(), help)
        }
        WhyUnbound::Unknown(class) => {
            let observed = query.audit.observed;
            let class = class.and_then(|name| Some((name, observed.class(name)?)));
            let reason = match class {
                Some((name, class)) => {
                    let provisioner = &class.provisioner;
                    format!("{provisioner}, the provisioner of class {name}, has made no volume")
                }
                None => "no volume matches it".to_owned(),
            };
            let help = "see whether the provisioner runs, or create a volume that matches; ";
            (reason, Help::say(help).run(look).and(" shows what it asks for"))
        }
    };
    Explanation { reason, help, instead_of: None }
}

fn no_class(query: &StatusQuery<'_>, name: &str) -> Explanation {
    // A copy of another class might make volumes that are not what was meant.
    let help = match query.audit.observed.classes().next() {
        _ if class_of_claims_missing::is_reported(query.audit, name) => Help::say(format!(
            "claims of other sets wait for it too: see what is said of StorageClass {name}"
        )),
        Some(_) => Help::say("create it as the driver of its volumes documents; ")
            .run(query.audit.kubectl_anywhere().looks("get storageclasses", &[]))
            .and(" lists those that exist"),
        None => Help::say("create it; the cluster has no storage class"),
    };
    let reason = format!("the storage class {name} does not exist");
    Explanation { reason, help, instead_of: Some("storage-class-missing") }
}

fn no_default_class(query: &StatusQuery<'_>) -> Explanation {
    // A default applies to all claims of the cluster, and not every class makes volumes.
    let help = match query.audit.observed.classes().next() {
        Some(_) => Help::say(
            "let the administrator choose a default class, which then serves every claim without \
             one: ",
        )
        .run(query.audit.kubectl_anywhere().looks("get storageclasses", &[]))
        .and(" lists them"),
        None => Help::say("create a storage class and make it the default"),
    };
    let reason = "it names no storage class, and no class is the default".to_owned();
    Explanation { reason, help, instead_of: Some("storage-class-missing") }
}
