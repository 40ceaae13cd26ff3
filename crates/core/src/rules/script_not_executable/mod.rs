use k8s_openapi::api::core::v1::KeyToPath;

use crate::inventory::configs::How;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "script-not-executable", group: NeverStarts;
    title: "the script cannot be executed",
    summary: "a command that is a file of a ConfigMap or Secret and cannot be executed",
    scopes: [
        Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check)),
        Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check: among },
    ],
};

/// The mode of files if a volume sets none.
const DEFAULT: i32 = 0o644;

/// Kubernetes: `MakePayload`, pkg/volume/configmap/configmap.go and pkg/volume/secret/secret.go.
fn check(container: &Container, spec: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    let effect = format!("container {:?} never starts", container.name);
    let mut report = |command: &[String], effect: &str, path: &Path<'_>| {
        let Some((i, file)) = read::executed(command) else { return };
        let Some(mode) = mode(file, container, spec).filter(|mode| mode & 0o111 == 0) else {
            return;
        };
        let message = format!(
            "nobody may execute {file}, because its mode in the volume is {mode:04o}, so {effect}"
        );
        let help =
            "set defaultMode: 0755 for the volume, or let a shell read the script: [sh, FILE]";
        found.report(&path.item("command", i), Reason::Invalid, message, help).planned_if(true);
    };
    report(list(&container.command), &effect, path);
    read::actions(container, path, &mut |it| {
        report(it.command, it.effect, it.path);
    });
}

/// The mode of a file in a volume; `None` if the volume has a different type.
fn mode(file: &str, container: &Container, spec: &PodSpec) -> Option<i32> {
    let below = |mount: &VolumeMount| {
        let rest = file.strip_prefix(mount.mount_path.trim_end_matches('/'))?;
        let rest = rest.strip_prefix('/').or_else(|| rest.is_empty().then_some(""))?;
        let inner = text(&mount.sub_path).trim_matches('/');
        Some(format!("{inner}/{rest}").trim_matches('/').to_owned())
    };
    let mounts = list(&container.volume_mounts).iter();
    let nearest = mounts.filter(|it| below(it).is_some()).max_by_key(|it| it.mount_path.len())?;
    let path = below(nearest).filter(|it| !it.is_empty())?;
    let volume = list(&spec.volumes).iter().find(|it| it.name == nearest.name)?;
    of_volume(volume, &path)
}

fn of_volume(volume: &Volume, path: &str) -> Option<i32> {
    let own = |items: &Option<Vec<KeyToPath>>| {
        list(items).iter().find(|it| it.path == path).and_then(|it| it.mode)
    };
    let (own, default) = if let Some(it) = &volume.config_map {
        (own(&it.items), it.default_mode)
    } else if let Some(it) = &volume.secret {
        (own(&it.items), it.default_mode)
    } else {
        let it = volume.projected.as_ref()?;
        let mut sources = list(&it.sources).iter();
        let of_source = sources.find_map(|it| {
            let config = it.config_map.as_ref().and_then(|it| own(&it.items));
            config.or_else(|| it.secret.as_ref().and_then(|it| own(&it.items)))
        });
        (of_source, it.default_mode)
    };
    Some(own.or(default).unwrap_or(DEFAULT))
}

/// Linux: `load_script`, fs/binfmt_script.c.
fn among(query: &Query<'_>, found: &mut Findings) {
    for it in &query.details.configs {
        let mut objects = query.inventory().named(it.kind, query.item.namespace(), &it.name);
        let (Some(object), None, Some(key)) = (objects.next(), objects.next(), &it.key) else {
            continue;
        };
        let has_key = object.keys().is_some_and(|keys| keys.contains(key));
        let mut scripts = object.rare().map_or(&[][..], |it| &it.scripts).iter();
        let script = scripts.find(|it| it.key == *key);
        let why = match it.how {
            How::Executed if it.kind != Kind::ConfigMap || !has_key => continue,
            How::Executed if script.is_none_or(|it| !it.is_program) => {
                "doesn't begin with #!, so the kernel cannot execute it (exec format error)"
            }
            How::Executed if script.is_some_and(|it| it.has_return) => {
                "has a carriage return at the end of its first line, so the kernel doesn't find the interpreter"
            }
            How::Script if script.is_some_and(|it| it.is_unreadable) => {
                "has lines that end in a carriage return, so the shell doesn't find its keywords"
            }
            _ => continue,
        };
        let help =
            "begin the file with #! and the interpreter, and write it with the line ends of Unix";
        let message = format!("{key} of {object} {why}");
        found.via(it.kind, it.field.clone(), Reason::Invalid, message, help);
    }
}
