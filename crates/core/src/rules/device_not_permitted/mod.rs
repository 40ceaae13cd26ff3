use k8s_openapi::api::core::v1::HostPathVolumeSource;

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "device-not-permitted", group: NeverStarts;
    title: "the container may not open this device",
    summary: "a device of the node as a hostPath in a container that is not privileged",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// Path prefixes of devices that few programs only look at.
const DEVICES: [&str; 16] = [
    "bus/usb/", "dri/", "fuse", "gpiomem", "hidraw", "i2c-", "kvm", "serial/by-", "snd/", "spidev",
    "ttyACM", "ttyAMA", "ttyS", "ttyUSB", "vfio/", "video",
];

/// Kubernetes: `makeDevices`, pkg/kubelet/kuberuntime/kuberuntime_container.go.
fn check(spec: &PodSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    // Runtimes and their plugins give devices too.
    let metadata = subject.object.template().metadata.as_ref();
    let annotations = metadata.into_iter().flat_map(|it| it.annotations.iter().flatten());
    let is_known = |key: &str| key.contains("evices") || key.contains("cdi.k8s.io");
    if spec.runtime_class_name.is_some() || annotations.into_iter().any(|(key, _)| is_known(key)) {
        return;
    }
    let volumes = read::volumes(spec);
    visit(spec, &POD_SPEC, &mut |container, path| {
        let gets_devices = container.resources.as_ref().is_some_and(|it| {
            !list(&it.claims).is_empty()
                || it.limits.iter().flatten().any(|(name, _)| name.contains('/'))
        });
        if gets_devices || read::is_privileged(container) {
            return;
        }
        for (i, mount) in list(&container.volume_mounts).iter().enumerate() {
            let volume = volumes.get(&*mount.name);
            let Some(host) = volume.and_then(|it| it.host_path.as_ref()) else { continue };
            if is_device(host) {
                let message = format!(
                    "the container sees {}, but may not open it: a mount gives no right to a device, and neither does \
                     a capability",
                    host.path
                );
                let help =
                    "let a device plugin give the container the device, or set privileged: true";
                found.report(&path.item("volumeMounts", i), Reason::Forbidden, message, help);
            }
        }
    });
}

/// Runtimes let each container open some devices.
fn is_device(host: &HostPathVolumeSource) -> bool {
    let Some(name) = host.path.strip_prefix("/dev/") else { return false };
    let is_open = matches!(
        name,
        "console" | "full" | "net/tun" | "null" | "ptmx" | "random" | "tty" | "urandom" | "zero"
    );
    let kind = text(&host.type_);
    let is_of_type = matches!(kind, "BlockDevice" | "CharDevice");
    let is_named = |it: &&str| {
        name.strip_prefix(*it).is_some_and(|rest| !it.ends_with('/') || !rest.is_empty())
    };
    !is_open && !kind.starts_with("Directory") && (is_of_type || DEVICES.iter().any(is_named))
}
