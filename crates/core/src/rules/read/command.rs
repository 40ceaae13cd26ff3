use crate::rules::command::Kubectl;
use crate::rules::prelude::*;

/// Returns `kubectl COMMAND -n NAMESPACE NAME`. Without a namespace, both use kubectl's current one.
pub(crate) fn kubectl<T>(
    effect: Effect,
    command: &str,
    object: &Object<'_, T>,
    name: &str,
) -> Command {
    let namespace = object.metadata.namespace.as_deref().filter(|name| !name.is_empty());
    let words = if name.is_empty() { &[][..] } else { &[name][..] };
    Kubectl { context: None, namespace }.does(effect, command, words)
}
