use super::read::{Action, DOES_NOTHING};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "no-shell-in-image", group: NeverStarts;
    title: "the image does not have this program",
    summary: "a command, probe or hook with a shell or tool that the image lacks",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

/// Images with nothing but their program, and the first release without a shell. `why.md` names the sources. A name
/// that begins with a slash may be in any registry.
const BARE: [(&str, [u32; 3]); 19] = [
    ("/coredns/coredns", [0; 3]),
    ("/kube-state-metrics/kube-state-metrics", [0; 3]),
    ("/metrics-server/metrics-server", [0; 3]),
    ("/oliver006/redis_exporter", [1, 66, 0]),
    ("/otel/opentelemetry-collector", [0; 3]),
    ("/otel/opentelemetry-collector-contrib", [0; 3]),
    ("/otel/opentelemetry-collector-k8s", [0; 3]),
    ("/rancher/kubectl", [1, 21, 0]),
    ("/sig-storage/csi-attacher", [0; 3]),
    ("/sig-storage/csi-node-driver-registrar", [0; 3]),
    ("/sig-storage/csi-provisioner", [0; 3]),
    ("/sig-storage/csi-resizer", [0; 3]),
    ("/sig-storage/csi-snapshotter", [0; 3]),
    ("/sig-storage/livenessprobe", [0; 3]),
    ("/sig-storage/snapshot-controller", [0; 3]),
    ("/grafana/loki", [3, 6, 0]),
    ("gcr.io/etcd-development/etcd", [3, 5, 7]),
    ("quay.io/coreos/etcd", [3, 5, 7]),
    ("registry.k8s.io/kubectl", [1, 33, 0]),
];

/// Programs that a bare image lacks, beside shells.
const TOOLS: [&str; 10] =
    ["cat", "chown", "cp", "curl", "ls", "mkdir", "nc", "rm", "sleep", "wget"];

/// The programs that other images lack, and the first release without them.
const LACKING: [(&str, [u32; 3], &[&str]); 5] = [
    ("alpine", [0; 3], &["bash", "curl"]),
    ("busybox", [0; 3], &["bash", "curl"]),
    ("grafana/alloy", [0; 3], &["curl", "wget"]),
    ("mariadb", [11, 0, 0], &["mysql", "mysqladmin", "mysqldump"]),
    ("mongo", [6, 0, 0], &["mongo"]),
];

fn check(container: &Container, _: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    // The program may be in a folder of its own.
    if list(&container.env).iter().any(|it| it.name == "PATH") {
        return;
    }
    let effect = "the container never starts";
    let command = list(&container.command);
    report(
        container,
        &Action { command, asked: None, is_plain: false, effect, is_probe: false, path },
        found,
    );
    read::actions(container, path, &mut |it| report(container, it, found));
}

fn report(container: &Container, it: &Action<'_>, found: &mut Findings) {
    let words: Vec<&str> = it.command.iter().map(String::as_str).collect();
    let script = read::script_at(&words).and_then(|at| words.get(at).copied());
    let first = script
        .filter(|it| fails_with_first(it))
        .and_then(|it| it.split_whitespace().find(|it| *it != "exec"));
    let mounts = list(&container.volume_mounts);
    let lacks = |word: &&str| {
        let folder = word.rsplit_once('/').map_or("/bin", |it| it.0);
        let is_mounted = mounts.iter().any(|it| read::is_mounted_near(it, folder));
        !is_mounted && is_lacking(container, read::program(word))
    };
    let Some(word) = words.first().copied().filter(lacks).or_else(|| first.filter(lacks)) else {
        return;
    };
    let (image, program) = (text(&container.image), read::program(word));
    let message = format!("the image {image} has no {program}, so {}", it.effect);
    let other = if it.is_probe {
        "use httpGet or tcpSocket"
    } else {
        "run the program of the image itself"
    };
    let help = match program {
        "mongo" => "call mongosh".to_owned(),
        "mysql" => "call mariadb".to_owned(),
        "mysqladmin" => "call mariadb-admin, or healthcheck.sh of the image".to_owned(),
        "mysqldump" => "call mariadb-dump".to_owned(),
        _ => format!("{other}, or use an image that has {program}"),
    };
    let i = words.iter().position(|it| it.contains(word)).unwrap_or(0);
    found
        .report(&it.path.item("command", i), Reason::NotFound, message, help)
        .noted_if(it.effect == DOES_NOTHING);
}

/// Whether a script without its first program fails: nothing runs in its place.
fn fails_with_first(script: &str) -> bool {
    !script.trim().contains([';', '\n'])
        && script.split("||").skip(1).all(|it| it.trim() == "exit 1")
}

fn is_lacking(container: &Container, program: &str) -> bool {
    let (name, tag) = read::image(container);
    let is_other = ["alpine", "debug", "shell"].iter().any(|it| tag.contains(it));
    let is = |entry: &str| {
        name == entry.trim_start_matches('/') || entry.starts_with('/') && name.ends_with(entry)
    };
    let is_bare = name.starts_with("gcr.io/distroless/")
        || tag.ends_with("distroless")
        || BARE.iter().any(|(entry, since)| is(entry) && is_since(tag, *since));
    let is_tool = read::is_shell(program) || TOOLS.contains(&program);
    !is_other && is_bare && is_tool
        || LACKING.iter().any(|(entry, since, programs)| {
            name == *entry && is_since(tag, *since) && programs.contains(&program)
        })
}

/// A tag without a number is of the newest release; a digest may be of any.
fn is_since(tag: &str, since: [u32; 3]) -> bool {
    let mut numbers = tag.trim_start_matches('v').split(['.', '-']).map(str::parse::<u32>);
    let mut next = || numbers.next().and_then(Result::ok);
    match next() {
        Some(major) => [major, next().unwrap_or(u32::MAX), next().unwrap_or(0)] >= since,
        None => since == [0; 3] || matches!(tag, "" | "latest"),
    }
}
