//! Images that misread a variable that Kubernetes sets for a Service.

use crate::inventory::prelude::*;
use crate::kubernetes::image::{Release, image, numbers};

/// Images, the variable of each that must not be an address such as `tcp://10.96.0.7:9092`, the first release that
/// misreads it (`None` for all), and the first that no longer does. Sources: the script `configure` of
/// confluentinc/kafka-images and confluentinc/schema-registry-images; authelia.com, *Integration*, *Kubernetes*;
/// docs.paperless-ngx.com, *Configuration*, `PAPERLESS_PORT`; issue 4920 of github.com/actualbudget/actual; issues 5934
/// and 6437 of github.com/searxng/searxng.
const MISREAD: [(&str, &str, Option<Release>, Release); 8] = [
    ("actualbudget/actual", "ACTUAL_PORT", Some((25, 4)), NEVER),
    ("actualbudget/actual-server", "ACTUAL_PORT", Some((25, 4)), NEVER),
    ("authelia/authelia", "AUTHELIA_PORT", None, NEVER),
    ("confluentinc/cp-kafka", "KAFKA_PORT", None, NEVER),
    ("confluentinc/cp-kafka-rest", "KAFKA_REST_PORT", None, NEVER),
    ("confluentinc/cp-schema-registry", "SCHEMA_REGISTRY_PORT", None, NEVER),
    ("paperless-ngx/paperless-ngx", "PAPERLESS_PORT", None, NEVER),
    ("searxng/searxng", "SEARXNG_PORT", Some((2026, 4)), (2026, 7)),
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
            before.is_some_and(|it| it.is_empty() || it.ends_with('/'))
                && *from <= release
                && release < Some(*to)
        })?;
    list(&container.env).iter().all(|it| it.name != variable).then_some(variable)
}
