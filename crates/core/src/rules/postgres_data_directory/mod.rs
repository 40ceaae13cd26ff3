use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "postgres-data-directory", group: Data;
    title: "the volume cannot be this data directory",
    summary: "a postgres or Kafka image whose volume is mounted where it keeps no data",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Before release 18.
const DATA: &str = "/var/lib/postgresql/data";

/// github.com/docker-library/postgres: `docker_setup_env` and `docker_error_old_databases`, docker-entrypoint.sh.
fn check(spec: &PodSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let claims = read::claimed(spec, &subject.object);
    visit(spec, &POD_SPEC, &mut |container, path| {
        if let Some((i, mount)) = of_kafka(container).filter(|(_, it)| claims.contains(&*it.name)) {
            // An init container may remove the directory.
            let mut mounts =
                list(&spec.init_containers).iter().flat_map(|it| list(&it.volume_mounts));
            if !mounts.any(|it| it.name == mount.name) {
                let message = "on a new volume with a directory lost+found, as ext4 has it, Kafka stops, because it takes \
                    each directory there for a partition";
                let help = "set KAFKA_LOG_DIRS to a directory below, or set subPath";
                let path = path.item("volumeMounts", i);
                found
                    .report(&path.child("mountPath"), Reason::Invalid, message, help)
                    .noted_if(true);
            }
        }
        let Some(release) = release(container) else { return };
        let mounts = list(&container.volume_mounts).iter().enumerate();
        let at = |(_, it): &(usize, &VolumeMount)| it.mount_path.trim_end_matches('/') == DATA;
        if let Some((i, mount)) = mounts.clone().find(at) {
            let has_parent = mounts.clone().any(|(_, it)| {
                it.mount_path.starts_with("/var/lib/postgresql")
                    && it.mount_path != mount.mount_path
            });
            report(
                release,
                mount,
                has_parent,
                claims.contains(&*mount.name),
                &path.item("volumeMounts", i),
                found,
            );
        }
    });
}

fn report(
    (release, is_floating): (u32, bool),
    mount: &VolumeMount,
    has_parent: bool,
    is_claim: bool,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let is_whole = text(&mount.sub_path).is_empty() && text(&mount.sub_path_expr).is_empty();
    if release >= 18 && !has_parent {
        let message = format!(
            "postgres {release} keeps the database in /var/lib/postgresql/{release}/docker, and stops when a volume \
             is mounted at {DATA}"
        );
        let help = "mount the volume at /var/lib/postgresql, or set PGDATA; an older database has to be upgraded";
        found
            .report(&path.child("mountPath"), Reason::Invalid, message, help)
            .planned_if(true)
            .noted_if(is_floating);
    } else if release < 18 && is_whole && is_claim {
        let message = "on a new volume with a directory lost+found, as ext4 has it, initdb refuses to create the database";
        let help = "set PGDATA to a directory below, such as /var/lib/postgresql/data/pgdata, or set subPath";
        found.report(&path.child("mountPath"), Reason::Invalid, message, help).noted_if(true);
    }
}

/// The major release of the official image, or of an image made from it, and whether that depends on the time of the
/// pull. `None` if the container sets its own directory or command.
fn release(container: &Container) -> Option<(u32, bool)> {
    let sets_directory = list(&container.env).iter().any(|it| it.name == "PGDATA");
    if sets_directory || !list(&container.env_from).is_empty() || container.command.is_some() {
        return None;
    }
    // Since the autumn of 2025.
    if let ("postgres", "" | "latest" | "alpine") = read::image(container) {
        return Some((18, true));
    }
    let (name, (major, _), _) = read::release(container)?;
    (name == "postgres").then_some((major, false))
}

/// The whole volume that is mounted as a directory of the logs. apache/kafka: `parseTopicPartitionName`, UnifiedLog.
fn of_kafka(container: &Container) -> Option<(usize, &VolumeMount)> {
    let (name, _) = read::image(container);
    let is_kafka = matches!(name, "apache/kafka" | "apache/kafka-native" | "confluentinc/cp-kafka");
    let logs = list(&container.env).iter().find(|it| it.name == "KAFKA_LOG_DIRS");
    let logs = logs.map(|it| text(&it.value)).filter(|_| is_kafka)?;
    list(&container.volume_mounts).iter().enumerate().find(|(_, it)| {
        let is_whole = text(&it.sub_path).is_empty() && text(&it.sub_path_expr).is_empty();
        let path = it.mount_path.trim_end_matches('/');
        is_whole && logs.split(',').any(|it| it.trim().trim_end_matches('/') == path)
    })
}
