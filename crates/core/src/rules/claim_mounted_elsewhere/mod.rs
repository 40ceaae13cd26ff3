use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claim-mounted-elsewhere", group: Data;
    title: "the data is at a different path",
    summary: "a claim that a change mounts at a different path, or with a different subPath",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let Some(pod) = spec.template.spec.as_ref().filter(|_| subject.is_update) else { return };
    if read::claims(spec).next().is_none() || !subject.template_changes(cluster) {
        return;
    }
    let Some(old) = subject.old_template().and_then(|it| it.spec.as_ref()) else { return };
    let has_files =
        list(&pod.volumes).iter().any(|it| it.config_map.is_some() || it.secret.is_some());
    for (claim, _) in read::claims(spec) {
        // A second container, or an init container, may move the data.
        let mut users = containers(pod).filter(|it| mounts(it, claim).next().is_some());
        let Some(new) = users.next().filter(|_| users.next().is_none()) else { continue };
        let Some(i) = pod.containers.iter().position(|it| it.name == new.name) else { continue };
        let Some(old) = old.containers.iter().find(|it| it.name == new.name) else { continue };
        let Some((at, is)) = only(new, claim) else { continue };
        let Some((_, was)) = only(old, claim) else { continue };
        if read::image(new).0 != read::image(old).0
            || root(was).is_some_and(|it| root(is) == Some(it))
        {
            continue;
        }
        let folders = [was, is].map(|it| text(&it.sub_path).trim_matches('/'));
        let paths = [was, is].map(|it| it.mount_path.trim_end_matches('/'));
        let (message, is_unsure) = if folders[0] != folders[1] {
            let [was, is] = folders.map(shown);
            (
                format!(
                    "{is} of claim {claim:?} is mounted instead of {was}, so the program does not find its data"
                ),
                false,
            )
        } else if paths[0] != paths[1] && !says(new, paths[1]) {
            let [was, is] = paths;
            let is_same = (&new.image, &new.env, &new.command, &new.args)
                == (&old.image, &old.env, &old.command, &old.args);
            let message = format!(
                "the data of claim {claim:?} moves from {was} to {is}, and nothing here tells the program"
            );
            (message, !is_same || has_files)
        } else {
            continue;
        };
        let help = "keep the mount as it was, or move the data with an init container";
        let path = POD_SPEC.item("containers", i);
        found
            .report(&path.item("volumeMounts", at), Reason::Invalid, message, help)
            .noted_if(is_unsure);
    }
}

fn mounts<'a>(
    container: &'a Container,
    claim: &str,
) -> impl Iterator<Item = (usize, &'a VolumeMount)> {
    let mounts = list(&container.volume_mounts).iter().enumerate();
    mounts.filter(move |(_, it)| it.name == claim)
}

/// The mount of a claim, if the container has only one.
fn only<'a>(container: &'a Container, claim: &str) -> Option<(usize, &'a VolumeMount)> {
    let mut mounts = mounts(container, claim);
    mounts.next().filter(|(_, it)| it.sub_path_expr.is_none() && mounts.next().is_none())
}

/// Where the whole volume would be, if its files have the same paths below.
fn root(mount: &VolumeMount) -> Option<&str> {
    let folder = text(&mount.sub_path).trim_matches('/');
    let root = mount.mount_path.trim_end_matches('/').strip_suffix(folder)?;
    (folder.is_empty() || root.ends_with('/')).then(|| root.trim_end_matches('/'))
}

fn says(container: &Container, path: &str) -> bool {
    let mut values = list(&container.env).iter().map(|it| text(&it.value));
    values.any(|it| it.contains(path)) || arguments(container).any(|(_, it)| it.contains(path))
}

fn shown(folder: &str) -> String {
    if folder.is_empty() { "the whole volume".to_owned() } else { format!("folder {folder}") }
}
