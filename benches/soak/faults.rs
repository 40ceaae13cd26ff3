//! The faults, which take turns. Each ends before the next begins.

use std::{thread, time::Duration};

use crate::site::{POLICY, Site};

/// A fault.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    /// Whether nothing calls setguard for a while.
    pub(crate) switches_off: bool,
    pub(crate) run: fn(&mut Site),
}

/// All faults.
pub(crate) static FAULTS: &[Fault] = &[
    Fault { name: "a replica is killed", switches_off: false, run: |site| replaced(site, 0, true) },
    Fault {
        name: "a replica is told to end",
        switches_off: false,
        run: |site| replaced(site, 1, false),
    },
    Fault {
        name: "the API server is killed",
        switches_off: false,
        run: |site| {
            site.plane.stop_api_server();
            site.plane.start_api_server(&[]);
        },
    },
    Fault { name: "the certificate is rotated", switches_off: false, run: |site| site.rotate() },
    Fault {
        name: "an invalid policy",
        switches_off: false,
        run: |site| policy(site, "rules: {nothing: 5}\n"),
    },
    Fault {
        name: "another valid policy",
        switches_off: false,
        run: |site| policy(site, &format!("{POLICY}  tolerates-everything: deny\n")),
    },
    Fault {
        name: "the configurations are deleted and made again",
        switches_off: true,
        run: |site| {
            for kind in ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"] {
                site.plane.kubectl.run(&["delete", kind, "setguard"], "").accepted();
            }
            site.register();
        },
    },
    Fault { name: "the watches are cut", switches_off: false, run: |site| site.link.cut() },
    Fault {
        name: "the watches are silent",
        switches_off: false,
        run: |site| {
            site.link.silence();
            thread::sleep(Duration::from_secs(10));
            site.link.cut();
        },
    },
    Fault { name: "etcd is killed", switches_off: false, run: |site| site.plane.restart_etcd() },
    Fault {
        name: "the log of both replicas is not read",
        switches_off: false,
        run: |site| {
            site.replicas.iter().for_each(|replica| replica.reads_log(false));
            thread::sleep(Duration::from_secs(20));
            site.replicas.iter().for_each(|replica| replica.reads_log(true));
        },
    },
];

/// Ends a replica, and starts it again as a kubelet does.
fn replaced(site: &mut Site, i: usize, kills: bool) {
    site.replicas[i].stop(kills);
    site.replicas[i].start();
    site.replicas[i].wait();
}

/// Gives both replicas this policy for a while.
fn policy(site: &Site, text: &str) {
    for text in [text, POLICY] {
        site.replicas.iter().for_each(|replica| replica.write("policy.yaml", text));
        thread::sleep(Duration::from_secs(10));
    }
}
