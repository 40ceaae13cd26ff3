use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "ordinals-renumbered", group: Data, cel: "cel.yaml";
    title: "new ordinals mean new pods and volumes",
    summary: "a new ordinals.start that deletes pods and creates others with new volumes",
    scopes: [Scope::trap(OpenKruise::AppliesInOrder, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(old) = subject.old().and_then(Object::stateful_set) else { return };
    let (before, after) = (read::ordinals(old), read::ordinals(spec));
    let Some((gone, new)) = exchanged(&before, &after) else { return };
    let name = subject.object.name();
    let ordinals = SPEC.child("ordinals");
    let start = ordinals.child("start");
    let field = match &spec.ordinals {
        Some(ordinals) if ordinals.start.is_some() => &start,
        Some(_) => &ordinals,
        None => &SPEC,
    };
    let with = match read::claims(spec).next() {
        Some(_) => "with new, empty volumes",
        None => "which clients do not find under the old names",
    };
    let message = format!(
        "with ordinals.start {} instead of {}, {} will be deleted and {} created, {with}",
        after.start,
        before.start,
        read::pod_names(name, &gone),
        read::pod_names(name, &new),
    );
    let help = format!("keep ordinals.start {}, or move the data by hand first", before.start);
    found.report(field, Reason::Invalid, message, help);
}

/// `None` unless there are both removed and added ordinals.
fn exchanged(before: &Range<i64>, after: &Range<i64>) -> Option<(Range<i64>, Range<i64>)> {
    let (gone, new) = if after.start > before.start {
        (before.start..after.start.min(before.end), before.end.max(after.start)..after.end)
    } else {
        (after.end.max(before.start)..before.end, after.start..before.start.min(after.end))
    };
    (!gone.is_empty() && !new.is_empty()).then_some((gone, new))
}
