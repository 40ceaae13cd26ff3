//! AdmissionReviews for the benchmarks, recorded from an API server and grown to a size.

use serde_json::{Value, json};

/// The number of environment variables for a [`daemon_set_update`] review of about 7 KB.
pub const SMALL: usize = 5;
/// For about 20 KB, more than the memory reserved for each body.
pub const MIDDLE: usize = 60;
/// For about 300 KB.
pub const LARGE: usize = 1_240;

/// Environment variables per container.
const PER_CONTAINER: usize = 20;

/// The CREATE of a pod by the DaemonSet controller.
pub fn pod_create() -> Vec<u8> {
    include_bytes!("../../../benches/reviews/pod-create.json").trim_ascii().to_vec()
}

/// The UPDATE of a DaemonSet's image. Both objects have this many environment variables, also in managedFields.
pub fn daemon_set_update(variables: usize) -> Vec<u8> {
    let text = include_str!("../../../benches/reviews/daemonset-update.json");
    let mut review: Value = serde_json::from_str(text).expect("a recorded review");
    for object in ["object", "oldObject"] {
        grow(&mut review["request"][object], variables);
    }
    serde_json::to_vec(&review).expect("JSON")
}

fn grow(object: &mut Value, variables: usize) {
    let containers = &mut object["spec"]["template"]["spec"]["containers"];
    let first = containers[0].take();
    let mut all = Vec::new();
    let mut managed = Vec::new();
    let numbers: Vec<usize> = (0..variables).collect();
    for (i, numbers) in numbers.chunks(PER_CONTAINER).enumerate() {
        let mut container = first.clone();
        if i > 0 {
            container["name"] = json!(format!("sidecar-{i}"));
        }
        container["env"] = numbers
            .iter()
            .map(|n| json!({ "name": format!("VARIABLE_{n}"), "value": format!("value-{n}") }))
            .collect();
        managed.push((format!("k:{{\"name\":{}}}", container["name"]), managed_variables(numbers)));
        all.push(container);
    }
    *containers = all.into();
    let fields = &mut object["metadata"]["managedFields"][0]["fieldsV1"];
    let fields = &mut fields["f:spec"]["f:template"]["f:spec"]["f:containers"];
    for (key, env) in managed {
        fields[key]["f:env"] = env;
    }
}

fn managed_variables(numbers: &[usize]) -> Value {
    let entry =
        |n| (format!("k:{{\"name\":\"VARIABLE_{n}\"}}"), json!({ "f:name": {}, "f:value": {} }));
    numbers.iter().map(entry).collect::<serde_json::Map<_, _>>().into()
}
