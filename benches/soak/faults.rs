//! The faults, in turn. Each ends before the next begins.

use std::{thread, time::Duration};

use crate::site::{POLICY, Site};

/// A fault: its name and its function.
pub(crate) type Fault = (&'static str, fn(&mut Site));

/// After this fault, the API server does not call setguard for a while.
pub(crate) const SWITCHED_OFF: &str = "the configurations are deleted and made again";

pub(crate) static FAULTS: &[Fault] = &[
    ("a replica is killed", |site| replaced(site, 0, true)),
    ("a replica is told to end", |site| replaced(site, 1, false)),
    ("the API server is killed", |site| {
        site.plane.stop_api_server();
        site.plane.start_api_server(&[]);
    }),
    ("the certificate is rotated", |site| site.rotate()),
    ("an invalid policy", |site| policy(site, "rules: {nothing: 5}\n")),
    ("another valid policy", |site| {
        policy(site, &format!("{POLICY}  tolerates-everything: deny\n"));
    }),
    (SWITCHED_OFF, |site| {
        for kind in ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"] {
            site.plane.kubectl.run(&["delete", kind, "setguard"], "").accepted();
        }
        site.register();
    }),
    ("the watches are cut", |site| site.link.cut()),
    ("the watches are silent", |site| {
        site.link.silence();
        thread::sleep(Duration::from_secs(10));
        site.link.cut();
    }),
    ("etcd is killed", |site| site.plane.restart_etcd()),
];

fn replaced(site: &mut Site, i: usize, kills: bool) {
    site.replicas[i].stop(kills);
    site.replicas[i].start();
    site.replicas[i].wait();
}

fn policy(site: &Site, text: &str) {
    for text in [text, POLICY] {
        site.replicas.iter().for_each(|replica| replica.write("policy.yaml", text));
        thread::sleep(Duration::from_secs(10));
    }
}
