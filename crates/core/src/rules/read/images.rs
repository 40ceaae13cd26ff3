//! Images with known behavior.

pub(crate) use crate::kubernetes::image::{Release, image, numbers};
use crate::rules::prelude::*;

/// The official images of databases, and the directories of their data: `VOLUME` in the Dockerfiles
/// of github.com/docker-library and github.com/redis/docker-library-redis.
const DATABASES: [(&str, &str); 5] = [
    ("mariadb", "/var/lib/mysql"),
    ("mongo", "/data/db"),
    ("mysql", "/var/lib/mysql"),
    ("postgres", "/var/lib/postgresql"),
    ("redis", "/data"),
];

/// Other programs that do not start with the data of some releases: image, name and directory.
const OTHERS: [(&str, &str, &str); 5] = [
    (ELASTIC, "elasticsearch", "/usr/share/elasticsearch/data"),
    ("elasticsearch", "elasticsearch", "/usr/share/elasticsearch/data"),
    ("getmeili/meilisearch", "meilisearch", "/meili_data"),
    ("nextcloud", "nextcloud", "/var/www/html"),
    ("valkey/valkey", "valkey", "/data"),
];

const ELASTIC: &str = "docker.elastic.co/elasticsearch/elasticsearch";

/// The name and the directory of the database that an official image runs, or one made from it. A command may run
/// anything else.
pub(crate) fn database(container: &Container) -> Option<(&'static str, &'static str)> {
    let name = match image(container).0 {
        "pgvector/pgvector" | "postgis/postgis" => "postgres",
        name => name,
    };
    let found = DATABASES.into_iter().find(|(database, _)| *database == name);
    found.filter(|_| list(&container.command).is_empty())
}

/// The server of a database that the arguments of a container name, or their first flag. The entrypoints run any other
/// program as it is.
pub(crate) fn server(container: &Container) -> Option<&str> {
    const SERVERS: [&str; 6] =
        ["mariadbd", "mongod", "mongos", "mysqld", "postgres", "redis-server"];
    let first = list(&container.args).first().map_or("-", |it| super::program(it));
    (first.starts_with('-') || SERVERS.contains(&first)).then_some(first)
}

/// The database, its release as far as the tag has it, and the directory of its data. Knows images made from the
/// official one too.
pub(crate) fn release(container: &Container) -> Option<(&'static str, Release, &'static str)> {
    let (name, tag) = image(container);
    let (database, tag) = match name {
        "postgis/postgis" => ("postgres", tag),
        "pgvector/pgvector" | "timescale/timescaledb" => ("postgres", tag.rsplit_once("pg")?.1),
        _ => (name, tag),
    };
    let known = DATABASES.into_iter().find(|it| it.0 == database);
    let other = || Some(OTHERS.into_iter().find(|it| it.0 == database)?).map(|it| (it.1, it.2));
    let (database, directory) = known.or_else(other)?;
    Some((database, numbers(tag)?, directory))
}

/// One of the directories contains the other, or they are the same.
pub(crate) fn is_mounted_near(mount: &VolumeMount, directory: &str) -> bool {
    contains(&mount.mount_path, directory) || contains(directory, &mount.mount_path)
}

/// A directory contains the other, or they are the same.
pub(crate) fn contains(outer: &str, inner: &str) -> bool {
    let rest = inner.strip_prefix(outer.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
