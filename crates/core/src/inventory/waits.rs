//! DNS names that a StatefulSet's first pod waits for, although they exist only once that pod is ready.

use k8s_openapi::api::core::v1::Probe;

use crate::inventory::prelude::*;
use crate::{kubernetes::exec::is_shell, object::StatefulSetSpec};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) on: On,
    pub(crate) field: Field,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// A pod that is created after the first pod is ready.
    Peer(Box<str>),
    /// The Service. It has only the addresses of ready pods.
    Service,
}

/// A script with one of these words does not wait, or treats the first pod differently.
const OUTS: [&str; 8] =
    ["|| true", "|| exit 0", "|| :", "HOSTNAME", "hostname", "POD_NAME", "ORDINAL", "ordinal"];
/// A script with one of these words waits.
const LOOPS: [&str; 3] = ["until ", "while ", "wait"];
const BEFORE_HOST: [&str; 11] =
    ["-h", "--host", "-H", "nslookup", "dig", "host", "hosts", "ahosts", "ping", "nc", "-z"];

impl Wait {
    pub(super) fn of(spec: &StatefulSetSpec, set: &str) -> Option<Self> {
        let is_ordered = spec.pod_management_policy.as_deref() != Some("Parallel");
        let service = spec.service_name.as_deref().filter(|name| !name.is_empty())?;
        if !is_ordered || spec.replicas.unwrap_or(1) < 2 {
            return None;
        }
        let first = spec.ordinals.as_ref().and_then(|it| it.start).unwrap_or(0).into();
        let names = Names { set, service, first };
        let pod = spec.template.spec.as_ref()?;
        in_init_containers(pod, &names).or_else(|| in_probes(pod, &names))
    }
}

struct Names<'a> {
    set: &'a str,
    service: &'a str,
    first: i64,
}

fn in_init_containers(pod: &PodSpec, names: &Names<'_>) -> Option<Wait> {
    let mut inits = pod.init_containers.iter().flatten().enumerate();
    inits.find_map(|(container, init)| {
        let (field, words) = [("command", &init.command), ("args", &init.args)]
            .into_iter()
            .filter_map(|(field, words)| Some((field, words.as_ref()?.join(" "))))
            .find(|(_, words)| LOOPS.iter().any(|it| words.contains(it)))?;
        let on = names.waited_for(&words)?;
        Some(Wait { on, field: POD_SPEC.item("initContainers", container).child(field).to_field() })
    })
}

fn in_probes(pod: &PodSpec, names: &Names<'_>) -> Option<Wait> {
    pod.containers.iter().enumerate().find_map(|(container, it)| {
        probes(it).into_iter().find_map(|(field, probe)| {
            let on = names.probed(probe?)?;
            Some(Wait { on, field: POD_SPEC.item("containers", container).child(field).to_field() })
        })
    })
}

/// Returns the probes that determine whether a pod becomes ready.
fn probes(container: &Container) -> [(&'static str, Option<&Probe>); 2] {
    let Container { readiness_probe, startup_probe, .. } = container;
    [("readinessProbe", readiness_probe.as_ref()), ("startupProbe", startup_probe.as_ref())]
}

/// Returns the ports of its own pod that an init container waits for, or connects to by a URL, each with the field.
pub(crate) fn local_ports(init: &Container) -> impl Iterator<Item = (&'static str, u16)> {
    let of = |words: &Option<Vec<String>>| list(words).join(" ");
    let (command, args) = (of(&init.command), of(&init.args));
    let script = format!("{command} {args}");
    // A server in the background may listen.
    let starts = script.replace("&&", "").replace(">&", "").replace("&>", "").contains('&');
    let ends = ["|| true", "|| exit 0", "|| :", "exit 0"].iter().any(|it| script.contains(it));
    let waits = !starts && !ends && LOOPS.iter().any(|it| script.contains(it));
    let scripts = [("command", command), ("args", args)].into_iter().filter(move |_| waits);
    // A script may only write the variables somewhere.
    let runs_itself =
        init.command.is_none() && !list(&init.args).first().is_some_and(|it| is_shell(it));
    let env = list(&init.env).iter().filter_map(|it| it.value.as_ref()).map(|it| ("env", it));
    let words = env.chain(list(&init.args).iter().map(|it| ("args", it)));
    let urls = words.filter(move |(_, it)| runs_itself && it.contains("://"));
    scripts
        .chain(urls.map(|(field, it)| (field, it.clone())))
        .flat_map(|(field, text)| ports_in(&text).into_iter().map(move |port| (field, port)))
}

/// `localhost:5432`, `localhost 5432` or `/dev/tcp/localhost/5432`.
fn ports_in(text: &str) -> Vec<u16> {
    let hosts = ["localhost", "127.0.0.1", "[::1]"].into_iter();
    let places = hosts.flat_map(|host| text.match_indices(host));
    let port = |(at, host): (usize, &str)| {
        let (before, rest) = (text.get(..at)?, text.get(at + host.len()..)?);
        let rest = rest.strip_prefix([':', ' ', '/']).filter(|_| !before.ends_with(is_of_host))?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    places.filter_map(port).collect()
}

impl Names<'_> {
    fn probed(&self, probe: &Probe) -> Option<On> {
        let http = probe.http_get.as_ref().and_then(|it| it.host.as_ref());
        let host = http.or_else(|| probe.tcp_socket.as_ref()?.host.as_ref());
        if let Some(host) = host {
            return self.waited_for(&format!("http://{host}"));
        }
        let command = probe.exec.as_ref()?.command.as_ref()?;
        self.waited_for(&command.join(" "))
    }

    /// Returns the first name that a script needs in every pod.
    fn waited_for(&self, script: &str) -> Option<On> {
        if OUTS.iter().any(|it| script.contains(it)) {
            return None;
        }
        let mut places = script.match_indices(self.service);
        places.find_map(|(at, _)| {
            let (before, rest) = (script.get(..at)?, script.get(at + self.service.len()..)?);
            let is_suffix = is_suffix(rest);
            if let Some(pod) = before.strip_suffix('.') {
                let pod = pod.rsplit(|c| !is_of_host(c)).next().unwrap_or_default();
                let ordinal = pod.strip_prefix(self.set)?.strip_prefix('-')?.parse::<i64>().ok()?;
                let is_later = ordinal > self.first && is_suffix;
                return is_later.then(|| On::Peer(pod.into()));
            }
            let is_host = is_host(before, rest);
            (is_host && is_suffix).then_some(On::Service)
        })
    }
}

/// Returns whether the name of a Service between these texts is a host, not only a word.
pub(super) fn is_host(before: &str, rest: &str) -> bool {
    let is_port = rest.strip_prefix(':').is_some_and(|it| it.starts_with(is_digit));
    let is_apart = before.is_empty() || before.ends_with([' ', '=', ',']);
    let word = before.trim_end_matches([' ', '=']).rsplit([' ', '=', '(']).next();
    before.ends_with("://")
        || is_apart && BEFORE_HOST.contains(&word.unwrap_or_default())
        || is_apart && (is_port || suffix(rest).contains(".svc"))
}

/// `.shop.svc`
fn suffix(rest: &str) -> &str {
    rest.split(|c| !is_of_host(c)).next().unwrap_or_default()
}

fn is_suffix(rest: &str) -> bool {
    let suffix = suffix(rest);
    suffix.is_empty() || suffix.starts_with(".svc") || {
        let rest = suffix.strip_prefix('.').and_then(|it| it.split_once('.'));
        rest.is_some_and(|(_, it)| it == "svc" || it.starts_with("svc."))
    }
}

const fn is_of_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_'
}

const fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_hosts_that_come_later_are_waited_for() {
        let names = Names { set: "db", service: "db-peers", first: 0 };
        let peer = |name: &str| Some(On::Peer(name.into()));
        for (script, expected) in [
            ("nc -z db-1.db-peers 5432", peer("db-1")),
            ("curl -f http://db-2.db-peers.shop.svc.cluster.local:80/", peer("db-2")),
            ("getent hosts db-peers", Some(On::Service)),
            ("redis-cli -h db-peers ping", Some(On::Service)),
            ("mysql --host=db-peers.shop.svc", Some(On::Service)),
            ("curl http://db-peers:80/health", Some(On::Service)),
            ("nc -z db-0.db-peers 5432", None),
            ("nc -z db-1.db-peers-other 5432", None),
            ("nc -z mydb-1.db-peers 5432", None),
            ("nslookup db-peers.example.com", None),
            ("cat /etc/db-peers", None),
            ("check db-peers", None),
            ("nslookup db-peers || true", None),
            ("nslookup $HOSTNAME.db-peers", None),
            ("nslookup db-peers-other", None),
            ("nslookup my-db-peers", None),
        ] {
            assert_eq!(names.waited_for(script), expected, "{script}");
        }
    }
}
