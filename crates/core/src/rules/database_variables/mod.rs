use k8s_openapi::api::core::v1::EnvVar;

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "database-variables", group: NeverStarts;
    title: "the entrypoint refuses these variables",
    summary: "a database image without the password that its entrypoint wants",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

const MONGO: [&str; 2] = ["MONGO_INITDB_ROOT_USERNAME", "MONGO_INITDB_ROOT_PASSWORD"];

/// `docker_verify_minimum_env` and the check of MongoDB in `docker-entrypoint.sh`; `why.md` names the repositories.
fn check(spec: &PodSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    // The claims of an older set have data.
    let set = subject.object.stateful_set().filter(|_| !subject.is_update);
    let empty = list(&spec.volumes).iter().filter(|it| it.empty_dir.is_some()).map(|it| &*it.name);
    let mut empty: HashSet<_> =
        set.into_iter().flat_map(read::claims).map(|it| it.0).chain(empty).collect();
    // An init container may restore a backup.
    let inits = list(&spec.init_containers).iter().flat_map(|it| list(&it.volume_mounts));
    inits.for_each(|it| _ = empty.remove(&*it.name));
    for (i, container) in spec.containers.iter().enumerate() {
        let env = list(&container.env);
        let Some((name, directory)) = read::database(container) else { continue };
        let server = read::server(container).filter(|it| *it != "mongos");
        if server.is_none() || !list(&container.env_from).is_empty() {
            continue;
        }
        let path = POD_SPEC.item("containers", i);
        let has = |it: &&str| {
            let is_it = |name: &str| name == *it || name.strip_suffix("_FILE") == Some(it);
            env.iter().any(|it| is_it(&it.name) && it.value.as_deref() != Some(""))
        };
        if name == "mongo" && MONGO.iter().filter(|it| has(it)).count() == 1 {
            let message =
                format!("{name} never starts: it wants both {} and {}", MONGO[0], MONGO[1]);
            let path = path.child("image");
            found.report(&path, Reason::Required, message, "set both, or leave out both");
        }
        let pgdata = env.iter().find(|it| it.name == "PGDATA").map(|it| text(&it.value));
        let directory = pgdata.unwrap_or(directory);
        let moves = |it: &str| it == "-D" || it.contains("data") || it.contains("file");
        let mut mounts = list(&container.volume_mounts)
            .iter()
            .filter(|it| read::is_mounted_near(it, directory))
            .peekable();
        if mounts.peek().is_none()
            || !mounts.all(|it| empty.contains(&*it.name))
            || arguments(container).any(|(flag, value)| moves(flag) || moves(value))
        {
            continue;
        }
        let is_any =
            |parts: &[&str]| env.iter().any(|it| parts.iter().any(|part| it.name.contains(part)));
        let mut mounts = list(&container.volume_mounts).iter();
        let has_scripts = mounts.any(|it| it.mount_path.starts_with("/docker-entrypoint-initdb.d"));
        let wanted = match name {
            "postgres" if !is_any(&["POSTGRES_PASSWORD", "POSTGRES_HOST_AUTH_METHOD"]) => {
                "POSTGRES_PASSWORD"
            }
            // It restores an archive there.
            "mariadb" if has_scripts => continue,
            "mariadb" | "mysql" if !is_any(&["ROOT_PASSWORD", "ALLOW_EMPTY"]) => match name {
                "mysql" => "MYSQL_ROOT_PASSWORD",
                _ => "MARIADB_ROOT_PASSWORD",
            },
            "mysql" => {
                let is_root = |it: &EnvVar| it.name == "MYSQL_USER" && text(&it.value) == "root";
                if let Some(i) =
                    env.iter().position(is_root).filter(|_| is_recent(container, (8, 1)))
                {
                    let message =
                        "mysql never starts on an empty volume: MYSQL_USER cannot be root";
                    let help = "leave out MYSQL_USER and MYSQL_PASSWORD, or name another user";
                    found.report(
                        &path.item("env", i).child("value"),
                        Reason::Invalid,
                        message,
                        help,
                    );
                }
                continue;
            }
            _ => continue,
        };
        if is_recent(container, (13, 0)) || name != "postgres" {
            let message = format!("{name} never starts on an empty volume: it wants {wanted}");
            let help = format!("set {wanted} from a Secret");
            found.report(&path.child("image"), Reason::Required, message, help);
        }
    }
}

/// Of this release, or of a tag that moves with the newest patches. Older images may not check.
fn is_recent(container: &Container, since: read::Release) -> bool {
    let tag = read::image(container).1;
    matches!(tag, "" | "latest" | "alpine")
        || read::release(container).is_some_and(|it| it.1 >= since)
        || since.0 == 8 && matches!(tag, "8" | "8.0")
}
