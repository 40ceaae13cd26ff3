use k8s_openapi::api::core::v1::SecurityContext;

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "command-not-permitted", group: NeverStarts;
    title: "the container may not run this command",
    summary: "a chown, mount, nsenter, sysctl -w or database without the right that it needs",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

fn check(container: &Container, spec: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    let rights = Rights::of(container, spec);
    user_of_image(&rights, spec, path, found);
    entrypoint(&rights, path, found);
    let lists = [("command", list(&container.command)), ("args", list(&container.args))];
    let words = lists.into_iter().flat_map(|(list, words)| {
        words.iter().enumerate().map(move |(i, word)| (list, i, word.as_str()))
    });
    let words: Vec<_> = words.collect();
    let all: Vec<&str> = words.iter().map(|(.., word)| *word).collect();
    let (at, lack) = match read::script_at(&all) {
        Some(at) => (at, all.get(at).and_then(|it| of_script(it, &rights))),
        None if list(&container.command).is_empty() => return,
        None => (0, rights.lack(&all)),
    };
    if let Some((list, i, _)) = words.get(at)
        && let Some(Lack { what, why, help }) = lack
    {
        let (path, message) = (path.child(list), format!("{what}, because {why}"));
        found.report(&path.index(*i), Reason::Forbidden, message, help);
    }
}

/// Images, and their user if they give it as a name. `why.md` says where that was read.
const USERS: [(&str, Option<&str>); 23] = [
    ("alpine", None),
    ("apache/kafka", Some("appuser")),
    ("busybox", None),
    ("curlimages/curl", Some("curl_user")),
    ("httpd", None),
    ("mariadb", None),
    ("memcached", Some("memcache")),
    ("mongo", None),
    ("mysql", None),
    ("nats", None),
    ("nginx", None),
    ("pgvector/pgvector", None),
    ("postgis/postgis", None),
    ("postgres", None),
    ("prom/alertmanager", Some("nobody")),
    ("prom/node-exporter", Some("nobody")),
    ("prom/prometheus", Some("nobody")),
    ("quay.io/prometheus/alertmanager", Some("nobody")),
    ("quay.io/prometheus/node-exporter", Some("nobody")),
    ("quay.io/prometheus/prometheus", Some("nobody")),
    ("rabbitmq", None),
    ("redis", None),
    ("zookeeper", None),
];

/// Kubernetes: `verifyRunAsNonRoot`, pkg/kubelet/kuberuntime/security_context_others.go.
fn user_of_image(rights: &Rights<'_>, spec: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    let container = rights.container;
    let (image, tag) = read::image(container);
    let known = USERS.into_iter().find(|it| it.0 == image && !tag.contains("distroless"));
    let Some((_, user)) = known.filter(|_| rights.is_root == Some(false)) else { return };
    if read::user(container, spec).is_some() {
        return;
    }
    let is_red_hat = image == "mariadb" && tag.contains("ubi");
    let why = match user.or_else(|| is_red_hat.then_some("mysql")) {
        None => "root, and runAsNonRoot forbids that".to_owned(),
        Some(user) => format!("{user}, and runAsNonRoot needs a number, not a name"),
    };
    let message =
        format!("container {:?} never starts: the image {image} runs as {why}", container.name);
    let help = "set runAsUser to the number of a user that can run the program, and fsGroup for its volumes";
    let is_own = container.security_context.as_ref().is_some_and(|it| it.run_as_non_root.is_some());
    let path = if is_own { path } else { &POD_SPEC };
    found.report(&path.below("securityContext.runAsNonRoot"), Reason::Forbidden, message, help);
}

/// Reports an official image of a database that cannot become its own user.
///
/// github.com/docker-library: `docker-entrypoint.sh` of postgres, mysql, mariadb, mongo and redis. Since release 8,
/// redis looks first whether it can.
fn entrypoint(rights: &Rights<'_>, path: &Path<'_>, found: &mut Findings) {
    let container = rights.container;
    let Some((name, _)) = read::database(container) else { return };
    let is_old = || matches!(read::release(container), Some((_, (..8, _), _)));
    let runs_server = read::server(container).is_some();
    if name == "postgres" && runs_server && lacks_run_directory(container) {
        let message = "postgres never starts: it creates a lock file in /var/run/postgresql, and the root \
                       filesystem is read-only";
        let help = "mount an emptyDir at /var/run/postgresql";
        let path = path.below("securityContext.readOnlyRootFilesystem");
        found.report(&path, Reason::Forbidden, message, help);
    }
    if rights.is_privileged || name == "redis" && !is_old() {
        return;
    }
    let lacks = |it: &&str| rights.drops(it) && !rights.adds(it);
    if runs_server
        && rights.is_root != Some(false)
        && let Some(lacking) = ["SETUID", "SETGID"].into_iter().find(lacks)
    {
        let message = format!(
            "the entrypoint of {name} fails: it starts as root, and needs the capability {lacking} to become the \
             user of the database"
        );
        let help = "set runAsUser to the number of that user, and fsGroup for its volume, or add SETUID, SETGID and CHOWN";
        found.report(&path.below("securityContext.capabilities"), Reason::Forbidden, message, help);
    }
}

/// The root filesystem is read-only, and nothing is mounted where postgres has its socket. Arguments can move the
/// socket, or name a file that does.
///
/// PostgreSQL: `CreateLockFile`, src/backend/utils/init/miscinit.c.
fn lacks_run_directory(container: &Container) -> bool {
    let is_read_only = |it: &SecurityContext| it.read_only_root_filesystem == Some(true);
    let directories = ["/run/postgresql", "/var/run/postgresql"];
    let is_there =
        |it: &VolumeMount| directories.iter().any(|own| read::contains(&it.mount_path, own));
    let moves =
        |it: &String| it.contains("unix_socket") || it.contains("config_file") || it == "-k";
    container.security_context.as_ref().is_some_and(is_read_only)
        && !list(&container.volume_mounts).iter().any(is_there)
        && !list(&container.args).iter().any(moves)
}

/// A command after a condition may not run, and a script may expect a failure or make the files itself.
fn of_script(script: &str, rights: &Rights<'_>) -> Option<Lack> {
    const LEFT_OUT: [&str; 15] = [
        "<<", "||", "if ", "[ ", "test ", "case ", "set +e", "chroot ", "function ", "() {", "(){",
        "trap ", "su ", "sudo ", "unshare ",
    ];
    const MAKES: [&str; 8] = ["cp", "git", "install", "mkdir", "mv", "tar", "touch", "unzip"];
    if LEFT_OUT.iter().any(|it| script.contains(it)) {
        return None;
    }
    for line in read::plain(script).split(['\n', ';', '|']).flat_map(|it| it.split("&&")) {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_nsenter = words.first().is_some_and(|it| read::program(it) == "nsenter");
        let lack = rights.lack(&words);
        // The command after nsenter runs on the node.
        if lack.is_some() || is_nsenter {
            return lack;
        }
        // Without the capability, root cannot give away its own files either.
        let is_maker = words.iter().any(|it| MAKES.contains(&read::program(it)));
        if is_maker && rights.is_root != Some(true) {
            return None;
        }
    }
    None
}

struct Lack {
    what: &'static str,
    why: &'static str,
    help: &'static str,
}

struct Rights<'a> {
    container: &'a Container,
    is_privileged: bool,
    /// `None` if the image decides.
    is_root: Option<bool>,
    /// Whether the container sees the processes of the node.
    sees_processes: bool,
    /// Whether the manifest sets how /proc is mounted.
    has_proc: bool,
}

impl<'a> Rights<'a> {
    fn of(container: &'a Container, spec: &PodSpec) -> Self {
        let (own, pods) = (container.security_context.as_ref(), spec.security_context.as_ref());
        let user = read::user(container, spec);
        let not_root = own.and_then(|it| it.run_as_non_root).or_else(|| pods?.run_as_non_root);
        let mounts = list(&container.volume_mounts);
        Rights {
            container,
            is_privileged: read::is_privileged(container),
            is_root: user.map(|it| it == 0).or_else(|| not_root.filter(|it| *it).map(|_| false)),
            sees_processes: spec.host_pid == Some(true),
            has_proc: own.is_some_and(|it| it.proc_mount.is_some())
                || mounts.iter().any(|it| it.mount_path.starts_with("/proc")),
        }
    }

    fn adds(&self, name: &str) -> bool {
        read::capability(self.container, name).0
    }

    fn drops(&self, name: &str) -> bool {
        read::capability(self.container, name).1
    }

    /// Returns what a command lacks: the program, and its arguments.
    fn lack(&self, words: &[&str]) -> Option<Lack> {
        let (first, arguments) = words.split_first()?;
        let has = |word: &str| arguments.contains(&word);
        match read::program(first) {
            _ if self.is_privileged
                && (self.sees_processes || read::program(first) != "nsenter") =>
            {
                None
            }
            "chown" if self.changes_owner(arguments) => self.lacks_chown(),
            "sysctl" if !self.has_proc && (has("-w") || has("--write") || has("-p")) => {
                Some(Lack {
                    what: "sysctl changes nothing",
                    why: "/proc/sys is read-only in a container that is not privileged",
                    help: "set privileged: true in the securityContext of this container",
                })
            }
            "mount" if arguments.len() > 1 && !self.adds("SYS_ADMIN") => Some(Lack {
                what: "mount fails",
                why: "the container is not privileged and has no capability SYS_ADMIN",
                help: "set privileged: true in the securityContext of this container",
            }),
            "nsenter" if enters_first_process(arguments) && !self.sees_processes => Some(Lack {
                what: "nsenter doesn't reach the node",
                why: "without hostPID process 1 is the container's own",
                help: "set hostPID: true for the pod, and privileged: true for this container",
            }),
            "nsenter" if enters_first_process(arguments) && !self.adds("SYS_ADMIN") => Some(Lack {
                what: "nsenter fails",
                why: "the container is not privileged and has no capability SYS_ADMIN",
                help: "set privileged: true in the securityContext of this container",
            }),
            _ => None,
        }
    }

    /// Returns whether a `chown` gives a volume to a user. Files of the image may have the right owner already.
    fn changes_owner(&self, arguments: &[&str]) -> bool {
        let mut rest = arguments.iter().filter(|it| !it.starts_with('-'));
        let gives = rest.next().is_some_and(|it| !it.starts_with(':'));
        let mounts = list(&self.container.volume_mounts);
        let is_in_volume = |path: &&&str| {
            mounts
                .iter()
                .any(|it| path.trim_end_matches('/') == it.mount_path.trim_end_matches('/'))
        };
        gives && rest.any(|path| is_in_volume(&path))
    }

    fn lacks_chown(&self) -> Option<Lack> {
        let why = if self.is_root == Some(false) && !self.adds("CHOWN") {
            "the container doesn't run as root"
        } else if self.is_root == Some(true) && self.drops("CHOWN") && !self.adds("CHOWN") {
            "the container has no capability CHOWN"
        } else {
            return None;
        };
        let help = "run this container as root with the capability CHOWN, or set fsGroup for the pod and leave out chown";
        Some(Lack { what: "chown fails", why, help })
    }
}

/// `-t 1`, in each way to write it.
fn enters_first_process(arguments: &[&str]) -> bool {
    let is_target = |word: &str| matches!(word, "-t1" | "--target=1");
    arguments.iter().any(|it| is_target(it))
        || arguments.windows(2).any(|it| matches!(it, ["-t" | "--target", "1"]))
}
