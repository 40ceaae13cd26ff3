//! Faulty objects that predate setguard.

use crate::prelude::*;

pub(super) const CASES: &[Case] = &[
    Case {
        before: Some(|namespace| {
            namespace.apply(&bad()).accepted();
        }),
        ..Case::new("what-was-bad-before-stays-editable", edit)
    },
    Case {
        before: Some(|namespace| {
            let mut set = bad();
            set["metadata"]["finalizers"] = json!(["example.com/hold"]);
            namespace.apply(&set).accepted();
        }),
        ..Case::new("what-is-being-deleted-can-go", delete)
    },
];

fn edit(namespace: &Namespace<'_>) {
    let mut set = bad();
    set["metadata"]["labels"] = json!({ "edited": "yes" });
    namespace.apply(&set).with_warning("name-too-long");
    let stored = namespace.read(&reference());
    assert_eq!(stored["metadata"]["labels"]["edited"], "yes");
    namespace.kubectl(&["scale", &reference(), "--replicas=3"], "").accepted();
    assert_eq!(namespace.read(&reference())["spec"]["replicas"], 3);
    // setguard still denies a new object with the same fault.
    let mut other = bad();
    other["metadata"]["name"] = json!("b".repeat(57));
    namespace.apply(&other).refused(&["(setguard: name-too-long)"]);
}

fn delete(namespace: &Namespace<'_>) {
    namespace.kubectl(&["delete", &reference(), "--wait=false"], "").silently();
    let stored = namespace.read(&reference());
    assert!(stored["metadata"]["deletionTimestamp"].is_string(), "the finalizer must hold it");
    namespace.merge(&reference(), &json!({ "metadata": { "finalizers": null } })).silently();
    namespace.assert_none("statefulsets");
}

fn bad() -> Value {
    stateful_set(&"a".repeat(57))
}

fn reference() -> String {
    format!("statefulset/{}", "a".repeat(57))
}
