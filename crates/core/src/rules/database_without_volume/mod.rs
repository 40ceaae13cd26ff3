//! A database without a volume for its data.

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "database-without-volume",
    title: "the database has no volume",
    summary: "a database image without a volume at its data directory",
    group: Data,
    mode: Mode::Audit,
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

fn check(container: &Container, _: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    // Redis is often only a cache.
    let database = read::database(container).filter(|(name, _)| *name != "redis");
    let Some((name, directory)) = database else { return };
    let moves = |flag: &str| flag == "-D" || flag.contains("dir") || flag.contains("dbpath");
    let mut variables = list(&container.env).iter();
    let is_elsewhere = arguments(container).any(|(flag, _)| moves(flag))
        || variables.any(|it| it.name == "PGDATA")
        || !list(&container.env_from).is_empty();
    let mut mounts = list(&container.volume_mounts).iter();
    if is_elsewhere || mounts.any(|it| read::is_mounted_near(it, directory)) {
        return;
    }
    let message = format!(
        "no volume is mounted at {directory}, so the data of {name} is gone when the container restarts"
    );
    let help = "mount a claim there, or an emptyDir if the data may be lost";
    found.report(&path.child("volumeMounts"), Reason::Required, message, help);
}
