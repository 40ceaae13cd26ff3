use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "name-too-long", group: NeverStarts, mode: Mode::Deny, cel: "cel.yaml";
    title: "the name is too long for pods",
    summary: "a name so long that the controller cannot create pods",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

/// A hyphen and a hash: 32 bits in decimal, usually 10 characters.
const APPENDED: usize = 11;
/// The API server cuts `generateName` to [`GENERATED_BASE`] characters and appends this many.
const GENERATED: usize = 5;
const GENERATED_BASE: usize = 58;

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let (limit, becomes) = match subject.object.kind() {
        WorkloadKind::StatefulSet => (63 - APPENDED, "the pod label controller-revision-hash"),
        WorkloadKind::DaemonSet => (253 - APPENDED, "the name of a ControllerRevision"),
    };
    let given = subject.object.metadata.name.as_deref().filter(|name| !name.is_empty());
    let (field, length, room) = match (given, subject.object.metadata.generate_name.as_deref()) {
        (Some(name), _) => ("name", name.len(), limit),
        (None, Some(prefix)) => {
            ("generateName", prefix.len().min(GENERATED_BASE) + GENERATED, limit - GENERATED)
        }
        (None, None) => return,
    };
    if length > limit {
        let message = format!(
            "with a name of {length} characters no pod can be created, unless the template \
             happens to have a short hash: the controller appends it to make {becomes}, which \
             leaves room for {limit} characters"
        );
        let help = format!("use a {field} of at most {room} characters");
        found.report(&METADATA.child(field), Reason::TooLong, message, help);
    }
}
