//! A control plane with two replicas of setguard behind one address.

use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use setguard::server::webhooks;

use crate::{
    harness::{
        control_plane::{ControlPlane, SETGUARD},
        process::becomes,
        server::is_ready,
    },
    link::Link,
    manifests::stateful_set,
    replica::Replica,
    service::Service,
};
use setguard_testing::prelude::*;

pub(crate) const NAMESPACE: &str = "soak";

/// Denies the faults of the bad sets.
pub(crate) const POLICY: &str = "\
apiVersion: setguard.io/v1alpha1
kind: Policy
rules:
  grace-period-zero: deny
  no-readiness-probe: off
  control-plane-not-tolerated: off
";

pub(crate) struct Site {
    pub(crate) replicas: [Replica; 2],
    pub(crate) link: Link,
    pub(crate) plane: ControlPlane,
    ca: CertifiedIssuer<'static, KeyPair>,
    service: u16,
}

impl Site {
    pub(crate) fn start(assets: &Path, program: &Path) -> Self {
        let plane = ControlPlane::start(assets);
        let kubectl = |args: &[&str]| plane.kubectl.run(args, "").accepted();
        kubectl(&["create", "namespace", NAMESPACE]);
        let user = format!("--user={SETGUARD}");
        kubectl(&["create", "clusterrolebinding", SETGUARD, "--clusterrole=cluster-admin", &user]);
        let link = Link::to(plane.port);
        let kubeconfig = plane.setguard_kubeconfig_through(link.port);

        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let ca = CertifiedIssuer::self_signed(params, key).expect("a CA");
        let [certificate, key] = leaf(&ca);
        let files = [("tls.crt", &*certificate), ("tls.key", &*key), ("policy.yaml", POLICY)];
        let mut replicas = [(); 2].map(|()| Replica::new(program, &kubeconfig, &files));
        replicas.iter_mut().for_each(Replica::start);
        replicas.iter_mut().for_each(Replica::wait);

        let service = Service::start();
        let port = service.port;
        let endpoints = [0, 1].map(|i| (replicas[i].admin, replicas[i].webhook));
        // Runs until the benchmark ends.
        thread::spawn(move || {
            loop {
                let ready = endpoints.into_iter().filter(|(admin, _)| is_ready(*admin));
                service.set(ready.map(|(_, webhook)| webhook).collect());
                thread::sleep(Duration::from_millis(100));
            }
        });
        let site = Site { replicas, link, plane, ca, service: port };
        site.register();
        let mut bad = stateful_set("probe");
        bad["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(0);
        let args = ["create", "--dry-run=server", "-n", NAMESPACE, "-f", "-"];
        let create = || site.plane.kubectl.run(&args, &bad.to_string());
        becomes("a refusal by setguard", create, |it| it.stderr.contains("(setguard: "));
        site
    }

    pub(crate) fn register(&self) {
        let yaml = webhooks::printed("127.0.0.1", self.service, &self.ca.pem()).expect("YAML");
        self.plane.kubectl.run(&["apply", "-f", "-"], &yaml).accepted();
    }

    pub(crate) fn rotate(&self) {
        let [certificate, key] = leaf(&self.ca);
        for replica in &self.replicas {
            replica.write("tls.key", &key);
            replica.write("tls.crt", &certificate);
        }
    }
}

fn leaf(ca: &CertifiedIssuer<'_, KeyPair>) -> [String; 2] {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("parameters");
    let certificate = params.signed_by(&key, ca).expect("a certificate");
    [certificate.pem(), key.serialize_pem()]
}
