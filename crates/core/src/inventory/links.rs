//! Images that misread a variable that Kubernetes sets for a Service.

use crate::inventory::prelude::*;
use crate::kubernetes::image::{Release, image, numbers};

/// Images, the variable of each that must not be an address such as `tcp://10.96.0.7:9092`, the first release that
/// misreads it (`None` for all), and the first that no longer does. Sources: the script `configure` of
/// confluentinc/kafka-images and confluentinc/schema-registry-images; authelia.com, *Integration*, *Kubernetes*;
/// docs.paperless-ngx.com, *Configuration*, `PAPERLESS_PORT`; issue 4920 of github.com/actualbudget/actual; issues 5934
/// and 6437 of github.com/searxng/searxng; docker-image-src/5/coredb/docker-entrypoint.sh of
/// github.com/neo4j/docker-neo4j; `get_vllm_port`, vllm/envs.py of github.com/vllm-project/vllm.
const MISREAD: [(&str, &str, Option<Release>, Release); 10] = [
    ("actualbudget/actual", "ACTUAL_PORT", Some((25, 4)), NEVER),
    ("actualbudget/actual-server", "ACTUAL_PORT", Some((25, 4)), NEVER),
    ("authelia/authelia", "AUTHELIA_PORT", None, NEVER),
    ("confluentinc/cp-kafka", "KAFKA_PORT", None, NEVER),
    ("confluentinc/cp-kafka-rest", "KAFKA_REST_PORT", None, NEVER),
    ("confluentinc/cp-schema-registry", "SCHEMA_REGISTRY_PORT", None, NEVER),
    ("neo4j", "NEO4J_PORT", Some((5, 0)), NEVER),
    ("paperless-ngx/paperless-ngx", "PAPERLESS_PORT", None, NEVER),
    ("searxng/searxng", "SEARXNG_PORT", Some((2026, 4)), (2026, 7)),
    ("vllm/vllm-openai", "VLLM_PORT", Some((0, 9)), NEVER),
];

const NEVER: Release = (u32::MAX, 0);

/// Returns the variables that containers misread, unless they set them, each with the field of the image.
pub(super) fn misread(pod: &PodSpec) -> Box<[(Field, &'static str)]> {
    let mut found = Vec::new();
    visit(pod, &POD_SPEC, &mut |container, path| {
        if let Some(variable) = of_container(container) {
            found.push((path.child("image").to_field(), variable));
        }
    });
    found.into()
}

/// A different command may remove the variable.
fn of_container(container: &Container) -> Option<&'static str> {
    let is_own = container.command.is_none() && list(&container.env_from).is_empty();
    let (image, tag) = image(container);
    let release = numbers(tag);
    let (_, variable, ..) =
        MISREAD.into_iter().filter(|_| is_own).find(|(known, _, from, to)| {
            let before = image.strip_suffix(known);
            before.is_some_and(|it| it.is_empty() || known.contains('/') && it.ends_with('/'))
                && *from <= release
                && release < Some(*to)
        })?;
    // Neo4j can be told to ignore the settings that it does not know, also in a file in /conf.
    let is_lax = |it: &str| variable == "NEO4J_PORT" && it.contains("strict__validation");
    let is_file = |it: &str| variable == "NEO4J_PORT" && it.starts_with("/conf");
    let is_set = list(&container.env).iter().any(|it| it.name == variable || is_lax(&it.name))
        || list(&container.volume_mounts).iter().any(|it| is_file(&it.mount_path));
    (!is_set).then_some(variable)
}
