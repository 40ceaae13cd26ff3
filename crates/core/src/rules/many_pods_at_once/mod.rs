use super::read::Wave;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "many-pods-at-once", group: Rollout;
    title: "many pods are replaced or removed at once",
    summary: "an update that replaces or removes many pods at once",
    scopes: [Scope::trap(OpenKruise::AppliesInOrder, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    removed(subject, found);
    let are_many = |it: &Wave| it.down >= 2 && it.down * 4 >= it.all;
    if !read::pace(subject, cluster).as_ref().is_some_and(are_many) {
        return;
    }
    let wave = read::wave(subject, cluster).filter(are_many);
    let Some(Wave { down, replaced, all, cause }) = wave else { return };
    let of = if replaced == all { format!("all {all}") } else { format!("{replaced} of {all}") };
    let pace = if down >= replaced { "at once".to_owned() } else { format!("{down} at a time") };
    let message = format!("this change replaces {of} pods, {pace}{}", cause.why());
    let help = "use a lower maxUnavailable if so many pods cannot be down together";
    found.report(cause.field(), Reason::Invalid, message, help);
}

fn removed(subject: &Subject<'_>, found: &mut Findings) {
    let old = subject.old().and_then(Object::stateful_set);
    let Some((old, new)) = old.zip(subject.object.stateful_set()) else { return };
    let (before, after) = (read::ordinals(old), read::ordinals(new));
    let renumbers = after.start < before.start || after.end > before.end;
    let gone = read::removed(&before, &after);
    let count: i64 = gone.iter().map(|range| range.end - range.start).sum();
    let all = before.end - before.start;
    // `ordinals-renumbered` reports pods whose place others take.
    if count < 2 || count * 2 <= all || renumbers {
        return;
    }
    let names = read::removed_names(subject.object.name(), &gone);
    let of = if count == all { format!("all {all}") } else { format!("{count} of {all}") };
    let replicas = SPEC.child("replicas");
    found.report(
        // The default is one, so the manifest may lack the field.
        if new.leaves_out_replicas { &SPEC } else { &replicas },
        Reason::Invalid,
        format!("this change removes {of} pods: {names}"),
        "set replicas to the number of pods that you want; the default is 1",
    );
}
