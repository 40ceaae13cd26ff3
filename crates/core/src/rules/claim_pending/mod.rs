use super::{
    class_of_claims_missing,
    status::claims::{Unbound, WhyUnbound, of_set, unbound},
};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claim-pending", group: Cluster;
    title: "a pod waits for its claim",
    summary: "a pod of a StatefulSet that waits for a claim that is not bound",
    scopes: [Scope::Status { kinds: &[Kind::StatefulSet], check: StatusCheck::Workload(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    // After the loss of its volume, a claim stays Lost while its pod runs on.
    let lost = of_set(query)
        .filter(|it| it.is_wanted && &*it.claim.phase == "Lost")
        .map(|it| Unbound { name: it.name.to_owned(), claim: it.claim, why: WhyUnbound::Lost });
    let replicas = Replicas::of(query);
    let pending = replicas.iter().flat_map(|replicas| {
        let pods = replicas.pods.iter();
        let all =
            pods.flat_map(|(ordinal, pod)| unbound(query, &replicas.settings, *ordinal, Some(pod)));
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
        let reason = why.text(query.audit.observed);
        let (help, instead_of) = advice(query, &why, &claims);
        let (state, begun) = match why {
            WhyUnbound::Lost => ("Lost", 0),
            _ => ("Pending", first),
        };
        let hold = match why {
            WhyUnbound::Lost | WhyUnbound::NoClass(_) | WhyUnbound::NoDefaultClass => Hold::Lasting,
            // Anybody who may create events can write why a claim is not provisioned.
            _ => Hold::Passing,
        };
        let facts = Facts::title(format!("{noun} {list} {is} {state}")).cause(reason);
        let facts = facts.since(begun).outlook(Outlook::new(state, hold));
        let report = StatusFinding::new(&CLAIM_TEMPLATES, facts, help).instead_of(instead_of);
        found.add(report.stuck(begun > 0));
    }
}

/// Also returns a rule of a different family that reports the same cause.
fn advice(
    query: &StatusQuery<'_>,
    why: &WhyUnbound<'_>,
    claims: &[Unbound<'_>],
) -> (Help, Option<&'static str>) {
    let first = claims.first().map(|it| it.name.as_str()).unwrap_or_default();
    let look = query.kubectl().looks("describe pvc", &[first]);
    let help = match why {
        WhyUnbound::NoClass(name) => return (no_class(query, name), Some("storage-class-missing")),
        WhyUnbound::NoDefaultClass => {
            return (no_default_class(query), Some("storage-class-missing"));
        }
        WhyUnbound::Lost => Help::say(
            "restore the volume, or accept the loss of its data and delete the claim and its pod; ",
        )
        .run(look)
        .and(" names the volume"),
        WhyUnbound::NoVolume(_) => {
            Help::say("create a volume that fits; ").run(look).and(" shows what the claim requests")
        }
        WhyUnbound::NotProvisioned(_) | WhyUnbound::Said(_) => {
            Help::say("remove the cause; ").run(look).and(" shows the latest attempts")
        }
        WhyUnbound::Unknown(_) => {
            Help::say("see whether the provisioner runs, or create a volume that matches; ")
                .run(look)
                .and(" shows what the claim requests")
        }
    };
    (help, None)
}

fn no_class(query: &StatusQuery<'_>, name: &str) -> Help {
    // A copy of a different class might make the wrong volumes.
    match query.audit.observed.classes().next() {
        _ if class_of_claims_missing::is_reported(query.audit, name) => Help::say(format!(
            "claims of other sets wait for it too: see the finding about StorageClass {name}"
        )),
        Some(_) => class_of_claims_missing::create(query.audit),
        None => Help::say("create it; the cluster has no storage class"),
    }
}

fn no_default_class(query: &StatusQuery<'_>) -> Help {
    // A default applies to all claims of the cluster, and not every class makes volumes.
    match query.audit.observed.classes().next() {
        Some(_) => Help::say(
            "let the administrator choose a default class, which then serves every claim without \
             one: ",
        )
        .run(query.audit.kubectl_anywhere().looks("get storageclasses", &[]))
        .and(" lists them"),
        None => Help::say("create a storage class and make it the default"),
    }
}
