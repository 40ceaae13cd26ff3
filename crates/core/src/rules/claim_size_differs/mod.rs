use std::cmp::Ordering;

use super::status::claims::of_set;
use crate::observed::PersistentVolumeClaim;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claim-size-differs", group: Cluster, mode: Mode::Audit;
    title: "claims differ from the size in the template",
    summary: "claims of a StatefulSet whose size differs from the claim template",
    scopes: [Scope::Status { kinds: &[Kind::StatefulSet], check: StatusCheck::Aside(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let WorkloadState::StatefulSet(set) = &query.set.state else { return };
    for (index, template) in set.spec.volume_claim_templates.iter().flatten().enumerate() {
        let resources = template.spec.as_ref().and_then(|spec| spec.resources.as_ref());
        let requests = resources.and_then(|it| it.requests.as_ref());
        let Some(size) = requests.and_then(|it| it.get("storage")) else { continue };
        let Some(wanted) = Quantity::parse_resource(&size.0) else { continue };
        let claims = of_set(query).filter(|it| it.template == index && it.is_wanted);
        // Claims that are not bound cannot be resized, and other rules report them.
        let claims = claims.filter(|it| &*it.claim.phase == "Bound").filter_map(|it| {
            let (name, claim, request) = (it.name, it.claim, &it.claim.request.as_ref()?.0);
            let ordering = Quantity::parse_resource(request)?.cmp(&wanted);
            Some(OtherSize { name, claim, ordering, request })
        });
        let differ: Vec<_> = claims.filter(|it| it.ordering.is_ne()).collect();
        for (which, word) in [(Ordering::Less, "less"), (Ordering::Greater, "more")] {
            let list: Vec<_> = differ.iter().filter(|it| it.ordering == which).collect();
            let Some(OtherSize { request: first, .. }) = list.first() else { continue };
            let all = names(list.iter().map(|it| it.name));
            let requests = if list.len() == 1 { "requests" } else { "request" };
            let title = format!("{all} {requests} {word} than the template");
            let sizes = format!("{first} against {}", size.0);
            let help = match which {
                Ordering::Less => resize(query, &list, &size.0),
                _ if list.iter().any(|it| it.claim.is_being_resized) => unfinished(query, &list),
                _ => query.create_again(&format!("{first} in the template")),
            };
            let facts = Facts::title(title).cause(sizes);
            found.add(StatusFinding::new(&CLAIM_TEMPLATES.index(index), facts, help));
        }
    }
}

struct OtherSize<'a> {
    name: &'a str,
    claim: &'a PersistentVolumeClaim,
    ordering: Ordering,
    request: &'a str,
}

fn resize(query: &StatusQuery<'_>, list: &[&OtherSize<'_>], size: &str) -> Help {
    let patch = serde_json::json!({"spec": {"resources": {"requests": {"storage": size}}}});
    let patch = patch.to_string();
    let lines = list.iter().map(|it| query.kubectl().patches("pvc", it.name, &patch));
    let lines = lines.take(MOST_COMMANDS).reduce(|all, next| all.then(&next));
    let Some(lines) = lines else { return Help::default() };
    let more = if list.len() > MOST_COMMANDS { " and likewise for the others" } else { "" };
    let observed = query.audit.observed;
    let rigid = list
        .iter()
        .filter_map(|it| it.claim.class.as_deref())
        .find(|class| observed.class(class).is_some_and(|class| !class.allows_expansion));
    match rigid {
        Some(class) => {
            let patch = r#"{"allowVolumeExpansion":true}"#;
            let allow = query.audit.kubectl_anywhere().patches("storageclass", class, patch);
            Help::say(format!(
                "their storage class {class} does not allow expansion; if its driver is able to do it, \
                 allow it and resize them: "
            ))
            .run(allow.then(&lines))
            .and(more)
        }
        None => {
            Help::say("if their storage class allows expansion, resize them: ").run(lines).and(more)
        }
    }
}

/// A template of the requested size would only create more claims that cannot be satisfied.
fn unfinished(query: &StatusQuery<'_>, list: &[&OtherSize<'_>]) -> Help {
    if let Some(it) = list.iter().find(|it| it.claim.is_resize_infeasible) {
        return Help::say(
            "the driver reports that it cannot make the volume so large: let the claim request less, but more \
             than the capacity that it has; ",
        )
        .run(query.kubectl().looks("describe pvc", &[it.name]))
        .and(" shows its capacity, and what the driver says");
    }
    let first = list.iter().find(|it| it.claim.is_being_resized).map_or("", |it| it.name);
    Help::say("wait until their volumes have grown, and leave the template as it is until then; ")
        .run(query.kubectl().looks("describe pvc", &[first]))
        .and(" shows why one does not grow")
}

const MOST_COMMANDS: usize = 5;
