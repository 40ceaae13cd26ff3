use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "database-without-volume", group: Data;
    title: "the database has no volume",
    summary: "a database whose data is on no volume",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Flags and variables that name the directory of the data, for the images whose names end in these words.
const DIRECTORIES: [(&str, &[&str]); 9] = [
    ("prom/prometheus", &["--storage.tsdb.path"]),
    ("prometheus/prometheus", &["--storage.tsdb.path"]),
    ("victoriametrics/victoria-metrics", &["-storageDataPath", "--storageDataPath"]),
    ("victoriametrics/vmstorage", &["-storageDataPath", "--storageDataPath"]),
    ("coreos/etcd", &["--data-dir", "ETCD_DATA_DIR"]),
    ("etcd-development/etcd", &["--data-dir", "ETCD_DATA_DIR"]),
    ("apache/kafka", &["KAFKA_LOG_DIRS"]),
    ("confluentinc/cp-kafka", &["KAFKA_LOG_DIRS"]),
    ("nats", &["-sd", "--store_dir"]),
];

fn check(spec: &PodSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let claims = read::claimed(spec, &subject.object);
    visit(spec, &POD_SPEC, &mut |container, path| {
        let mounts = list(&container.volume_mounts);
        let claimed = mounts.iter().enumerate().find(|(_, it)| claims.contains(&*it.name));
        if let Some((i, claimed)) = claimed
            && let Some((name, directory)) = named_directory(container)
            && !mounts.iter().any(|it| read::is_mounted_near(it, directory))
        {
            let message = format!(
                "with {name} the data is in {directory}, on no volume: it is gone when the container restarts, and \
                 the claim at {} stays empty",
                claimed.mount_path
            );
            let help = format!("mount the claim at {directory}");
            let path = path.item("volumeMounts", i);
            found.report(&path.child("mountPath"), Reason::Invalid, message, help);
        }
        if let Some(volume) = volume(container).filter(|it| !is_elsewhere(container, it)) {
            let keeps = |it: &VolumeMount| read::contains(volume, &it.mount_path);
            let above = |it: &VolumeMount| {
                claims.contains(&*it.name) && read::contains(&it.mount_path, volume)
            };
            let parent = mounts.iter().enumerate().find(|(_, it)| above(it));
            if let Some((i, mount)) = parent.filter(|_| !mounts.iter().any(keeps)) {
                let message = format!(
                    "the image has a volume of its own at {volume}, so the claim at {} keeps no data: the next \
                     container starts with an empty database",
                    mount.mount_path
                );
                let help = format!("mount the claim at {volume}, with a subPath");
                let path = path.item("volumeMounts", i);
                found.report(&path.child("mountPath"), Reason::Invalid, message, help);
            }
        }
        // Redis is often only a cache.
        let database = read::database(container).filter(|(name, _)| *name != "redis");
        let Some((name, directory)) = database else { return };
        let is_mounted = mounts.iter().any(|it| read::is_mounted_near(it, directory));
        if !is_mounted && !is_elsewhere(container, directory) {
            let message = format!(
                "no volume is mounted at {directory}, so the data of {name} is gone when the container restarts"
            );
            let help = "mount a claim there, or an emptyDir if the data may be lost";
            found
                .report(&path.child("volumeMounts"), Reason::Required, message, help)
                .noted_if(true);
        }
    });
}

/// The flag or variable that names the directory of the data, and this directory.
fn named_directory(container: &Container) -> Option<(&str, &str)> {
    let (image, _) = read::image(container);
    let is_it =
        |name: &str| image.strip_suffix(name).is_some_and(|it| it.is_empty() || it.ends_with('/'));
    let (_, names) = DIRECTORIES.into_iter().find(|(name, _)| is_it(name))?;
    let variables = list(&container.env).iter().map(|it| (&*it.name, text(&it.value)));
    let mut all = arguments(container).chain(variables);
    // A list of directories has none without a comma.
    all.find(|(name, value)| {
        names.contains(name) && value.starts_with('/') && !value.contains(['$', ','])
    })
}

/// The directory that the image declares as a volume.
fn volume(container: &Container) -> Option<&'static str> {
    match read::release(container) {
        Some(("postgres", (..18, _), _)) if list(&container.command).is_empty() => {
            Some("/var/lib/postgresql/data")
        }
        _ => read::database(container).filter(|it| it.0 != "postgres").map(|it| it.1),
    }
}

/// An argument or variable may name a different directory.
fn is_elsewhere(container: &Container, directory: &str) -> bool {
    let moves = |flag: &str| flag == "-D" || flag.contains("dir") || flag.contains("dbpath");
    let mut variables = list(&container.env).iter().filter(|it| it.name == "PGDATA");
    arguments(container).any(|(flag, _)| moves(flag))
        || variables.any(|it| !read::contains(directory, text(&it.value)))
        || !list(&container.env_from).is_empty()
}
