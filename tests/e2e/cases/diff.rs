//! `KUBECTL_EXTERNAL_DIFF="setguard diff"`.

use std::process::Output;

use crate::prelude::*;

pub(super) const CASES: &[Case] = &[Case {
    // Later, the webhook itself refuses the denied objects.
    before: Some(kubectl_diff),
    ..Case::new("kubectl-diff-shows-and-checks", with_webhook)
}];

fn kubectl_diff(namespace: &Namespace<'_>) {
    let mut set = manifests::daemon_set("agent");
    namespace.apply(&set).accepted();
    let same = diff(namespace, &set);
    assert_eq!((same.status.code(), same.stdout.as_slice()), (Some(0), &b""[..]), "{same:?}");

    set["spec"]["minReadySeconds"] = json!(5);
    let other = diff(namespace, &set);
    assert_eq!(other.status.code(), Some(1), "{other:?}");
    let said = String::from_utf8_lossy(&other.stdout);
    assert!(said.contains("\n+  minReadySeconds: 5\n"), "{said}");
    assert!(said.contains("in 1 set in 1 file"), "{said}");

    let denied = diff(namespace, &manifests::surging("agent"));
    assert!(denied.status.code() > Some(1), "{denied:?}");
    let said = [denied.stdout, denied.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    assert!(said[0].contains("error[surge-host-port]"), "{said:?}");
}

fn with_webhook(namespace: &Namespace<'_>) {
    let same = diff(namespace, &manifests::daemon_set("agent"));
    assert_eq!(same.status.code(), Some(0), "{same:?}");
}

fn diff(namespace: &Namespace<'_>, object: &Value) -> Output {
    let folder = namespace.control_plane.folder();
    let file = folder.join("diff.json");
    std::fs::write(&file, object.to_string()).unwrap();
    let kubectl = &namespace.control_plane.kubectl;
    let setguard = Path::new(env!("CARGO_BIN_EXE_setguard")).parent().unwrap().to_owned();
    let mut command = Command::new(&kubectl.program);
    command.args(["diff", "--namespace", namespace.name, "-f"]).arg(file);
    command
        .env("KUBECONFIG", &kubectl.kubeconfig)
        .env("HOME", &kubectl.home)
        .env("PATH", path_with([setguard]));
    command.env("KUBECTL_EXTERNAL_DIFF", "setguard diff").output().unwrap()
}
