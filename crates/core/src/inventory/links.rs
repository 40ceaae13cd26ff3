//! Images that misread a variable that Kubernetes sets for a Service.

use crate::inventory::prelude::*;

/// Images, and the variable of each that has to be something else than an address such as
/// `tcp://10.96.0.7:9092`. Sources: the script `configure` of confluentinc/kafka-images and
/// confluentinc/schema-registry-images; authelia.com, *Integration*, *Kubernetes*; docs.paperless-ngx.com,
/// *Configuration*, `PAPERLESS_PORT`.
const MISREAD: [(&str, &str); 5] = [
    ("authelia/authelia", "AUTHELIA_PORT"),
    ("confluentinc/cp-kafka", "KAFKA_PORT"),
    ("confluentinc/cp-kafka-rest", "KAFKA_REST_PORT"),
    ("confluentinc/cp-schema-registry", "SCHEMA_REGISTRY_PORT"),
    ("paperless-ngx/paperless-ngx", "PAPERLESS_PORT"),
];

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

/// Another command may remove the variable.
fn of_container(container: &Container) -> Option<&'static str> {
    let is_own = container.command.is_none() && list(&container.env_from).is_empty();
    let image = container.image.as_deref().filter(|_| is_own)?;
    let image = image.split('@').next().unwrap_or_default();
    let (folder, last) = image.rsplit_once('/')?;
    let name = last.split(':').next().unwrap_or_default();
    let (_, variable) = MISREAD.into_iter().find(|(known, _)| {
        let (owner, known) = known.split_once('/').unwrap_or_default();
        name == known && folder.rsplit('/').next() == Some(owner)
    })?;
    list(&container.env).iter().all(|it| it.name != variable).then_some(variable)
}
