use super::read::Release;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "database-major-upgrade", group: Data;
    title: "the new release cannot read the data",
    summary: "a new release of a database that does not start with the data of the old one",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(pod) = spec.template.spec.as_ref().filter(|_| subject.is_update) else { return };
    let Some(old_pod) = subject.old_template().and_then(|it| it.spec.as_ref()) else { return };
    let volumes = list(&pod.volumes).iter().filter(|it| it.persistent_volume_claim.is_some());
    let before: HashMap<_, _> = list(&old_pod.volumes).iter().map(|it| (&*it.name, it)).collect();
    let stays = |it: &&Volume| before.get(&*it.name) == Some(it);
    let claims: HashSet<&str> = read::claims(spec)
        .map(|(name, _)| name)
        .chain(volumes.filter(stays).map(|it| &*it.name))
        .collect();
    // An init container may upgrade the data.
    if claims.is_empty() || !list(&pod.init_containers).is_empty() {
        return;
    }
    for (i, new) in pod.containers.iter().enumerate() {
        let Some((name, release, directory)) = read::release(new).filter(|_| is_plain(new)) else {
            continue;
        };
        let Some(old) = same(old_pod, new).filter(|old| is_plain(old)) else { continue };
        let Some((old_name, before, _)) = read::release(old) else { continue };
        let both = [old_name, name];
        if old_name != name && !both.iter().all(|it| FAMILY.contains(it))
            || is_told(name, release, new)
        {
            continue;
        }
        // Since release 18 the directory has the release in its name.
        let is_elsewhere = name == "postgres" && release.0 >= 18 && data_variable(new).is_none();
        let directory = data_variable(new).unwrap_or(directory);
        let data = data(new, directory, &claims);
        let stays = !data.is_empty() && data == self::data(old, directory, &claims);
        if !stays || is_elsewhere || data_variable(new) != data_variable(old) {
            continue;
        }
        // A tag such as mysql:8 may be any minor release. The entrypoint of nextcloud reads its own directory.
        let is_exact = |it: &Container, major: u32| {
            read::image(it).1.contains('.') || FAMILY.contains(&name) && major != 7
        };
        let is_left_out = match name {
            "mongo" | "postgres" => false,
            "nextcloud" => !data.iter().any(|it| read::contains(&it.mount_path, directory)),
            _ => !is_exact(old, before.0) || !is_exact(new, release.0),
        };
        if is_left_out {
            continue;
        }
        let Some((step, help)) = refused(both, before, release) else { continue };
        let message = format!(
            "{name} {} does not start with the data of {old_name} {}{step}: the pod fails again and again",
            shown(name, release),
            shown(old_name, before)
        );
        let path = POD_SPEC.item("containers", i);
        let is_unsure = name == "mongo" && release.0 + 1 == before.0;
        found
            .report(&path.child("image"), Reason::Invalid, message, help)
            .planned_if(!is_unsure)
            .noted_if(is_unsure);
    }
}

fn same<'a>(old: &'a PodSpec, new: &Container) -> Option<&'a Container> {
    old.containers.iter().find(|it| it.name == new.name)
}

/// A command may upgrade the data.
fn is_plain(container: &Container) -> bool {
    list(&container.command).is_empty() && list(&container.env_from).is_empty()
}

fn data_variable(container: &Container) -> Option<&str> {
    list(&container.env).iter().find(|it| it.name == "PGDATA").map(|it| text(&it.value))
}

fn data<'a>(
    container: &'a Container,
    directory: &str,
    claims: &HashSet<&str>,
) -> Vec<&'a VolumeMount> {
    let mounts = list(&container.volume_mounts).iter();
    mounts.filter(|it| claims.contains(&*it.name) && read::is_mounted_near(it, directory)).collect()
}

/// Why a program does not start with the data of a different release, and the remedy.
fn refused(
    [old_name, name]: [&str; 2],
    before: Release,
    after: Release,
) -> Option<(&'static str, &'static str)> {
    let back = ("", "write the old release, or restore a backup of the data into a new claim");
    match name {
        "postgres" if before.0 != after.0 => {
            Some(("", "dump the data and restore it into a new claim, or run pg_upgrade first"))
        }
        "mongo" if after.0 > before.0 + 1 && before.0 >= 4 => Some((
            ", because it is more than one major release later",
            "upgrade by one major release at a time, and set featureCompatibilityVersion after each",
        )),
        "mysql"
            if before.0 < 8 && after > (8, 0)
                || before.0 == 8 && (before.1 < 4 && after.0 > 8 || after.0 > 9) =>
        {
            Some((
                ", because it leaves out a release",
                "upgrade to 8.0 first, then to 8.4, then to later releases",
            ))
        }
        "mysql" if after < before => Some(back),
        "mongo" if after.0 + 1 == before.0 => {
            Some((", unless featureCompatibilityVersion is still that of the new one", back.1))
        }
        "mongo" if after.0 < before.0 => Some(back),
        "meilisearch" if after < before => Some(back),
        "meilisearch" if after != before => Some((
            ", because it is another release",
            "set MEILI_UPGRADE_DB (before 1.51 MEILI_EXPERIMENTAL_DUMPLESS_UPGRADE), or import a dump",
        )),
        "nextcloud" if after.0 < before.0 => Some(back),
        "nextcloud" if after.0 > before.0 + 1 => Some((
            ", because it is more than one major release later",
            "upgrade by one major release at a time",
        )),
        "elasticsearch" if after < before => Some(back),
        "elasticsearch" => {
            let (_, least, help) = ELASTICSEARCH.into_iter().rfind(|it| it.0 <= after)?;
            (before < least).then_some((", because it leaves out a release", help))
        }
        "redis" | "valkey" => {
            let [old, new] = [format(old_name, before), format(name, after)];
            let is_foreign = name == "valkey" && (12..80).contains(&old);
            (old > new || is_foreign).then_some((
                ", because it does not read the format of its dump.rdb",
                "write the old release, or begin with an empty claim if the data is only a cache",
            ))
        }
        _ => None,
    }
}

/// From the first release on, Elasticsearch upgrades from the second or a later one.
const ELASTICSEARCH: [(Release, Release, &str); 3] = [
    ((8, 0), (7, 17), "upgrade to 7.17 first"),
    ((9, 0), (8, 18), "upgrade to 8.18 first"),
    ((9, 1), (8, 19), "upgrade to 8.19 first"),
];

/// Programs that read the data of each other.
const FAMILY: [&str; 2] = ["redis", "valkey"];

/// The version of dump.rdb that a program writes, the highest that it reads: `RDB_VERSION`, src/rdb.h.
fn format(name: &str, release: Release) -> u32 {
    match (name, release) {
        ("valkey", (9.., _)) => 80,
        ("valkey", _) | ("redis", (7, 2..4)) => 11,
        (_, (..7, _)) => 9,
        (_, (7, ..2)) => 10,
        _ => 12,
    }
}

/// An argument or a variable may make the program upgrade the data, or write none.
fn is_told(name: &str, release: Release, container: &Container) -> bool {
    let parts: &[&str] = match name {
        "meilisearch" if release >= (1, 51) => &["upgrade-db", "UPGRADE_DB", "import", "IMPORT"],
        "meilisearch" => &["upgrade", "UPGRADE", "import", "IMPORT"],
        "nextcloud" => return !list(&container.args).is_empty(),
        "redis" | "valkey" => &[".conf", "--save", "rdb-version-check"],
        _ => &[],
    };
    let variables = list(&container.env).iter().map(|it| &it.name);
    let words: Vec<_> = variables.chain(list(&container.args)).collect();
    parts.iter().any(|part| words.iter().any(|it| it.contains(part)))
}

fn shown(name: &str, (major, minor): Release) -> String {
    match name {
        "nextcloud" | "postgres" => major.to_string(),
        _ => format!("{major}.{minor}"),
    }
}
