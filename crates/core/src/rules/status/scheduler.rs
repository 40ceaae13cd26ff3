//! Parses the scheduler's message about a pod without a node.

const MOST: usize = 3;

/// Returns how many nodes each reason excludes, the most frequent reason first; `None` if the message has a different
/// form. `pinned` is the node in a daemon pod's affinity; the others do not matter.
///
/// Kubernetes: `FitError.Error`, pkg/scheduler/framework/types.go.
pub(in crate::rules) fn apart(message: &str, pinned: Option<&str>) -> Option<String> {
    let (all, rest) = message.strip_prefix("0/")?.split_once(" nodes are available: ")?;
    // The result of preemption follows.
    let rest = rest.split(". ").next().unwrap_or(rest).trim_end_matches('.');
    let mut reasons = reasons(rest)?;
    if let Some(node) = pinned {
        reasons.retain(|(_, reason)| !OTHER_NODES.iter().any(|it| reason.contains(it)));
        let list: Vec<_> = reasons.iter().map(|(_, reason)| *reason).collect();
        return (!list.is_empty())
            .then(|| format!("its node {node} has no place for it: {}", list.join(", ")));
    }
    reasons.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let mut list: Vec<_> =
        reasons.iter().take(MOST).map(|(count, reason)| format!("{count} {reason}")).collect();
    let rest: usize = reasons.iter().skip(MOST).map(|(count, _)| count).sum();
    list.extend((rest > 0).then(|| format!("{rest} for other reasons")));
    Some(format!("none of {all} nodes has a place for it: {}", list.join(", ")))
}

/// Returns the missing claim of a pod.
///
/// Kubernetes: `PreFilter`, pkg/scheduler/framework/plugins/volumebinding/volume_binding.go.
pub(in crate::rules) fn missing_claim(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("persistentvolumeclaim \"")?;
    let (name, rest) = rest.split_once('"')?;
    rest.starts_with(" not found").then_some(name)
}

/// The scheduler's reasons for nodes that a daemon pod's affinity excludes.
const OTHER_NODES: [&str; 2] =
    ["didn't satisfy plugin(s) [NodeAffinity]", "didn't match Pod's node affinity"];

fn reasons(text: &str) -> Option<Vec<(usize, &str)>> {
    let mut reasons = Vec::new();
    let mut rest = Some(text);
    while let Some(text) = rest {
        let (count, text) = text.split_once(' ')?;
        let end = text.match_indices(", ").find(|(at, _)| begins_with_count(&text[at + 2..]));
        let (reason, after) = match end {
            Some((at, _)) => (&text[..at], Some(&text[at + 2..])),
            None => (text, None),
        };
        reasons.push((count.parse().ok()?, reason.trim_start_matches("node(s) ")));
        rest = after;
    }
    Some(reasons)
}

fn begins_with_count(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(count, _)| count.parse::<usize>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_come_by_their_number_of_nodes() {
        let message = "0/7 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint \
                       {a: b, c}, 4 node(s) were unschedulable. preemption: 0/7 nodes are available: 7 \
                       Preemption is not helpful for scheduling.";
        let apart = apart(message, None).unwrap();
        assert_eq!(
            apart,
            "none of 7 nodes has a place for it: 4 were unschedulable, 2 had untolerated taint {a: b, c}, \
             1 Insufficient cpu"
        );
    }

    #[test]
    fn of_a_daemon_pod_only_its_node_counts() {
        let others = "1 node(s) didn't satisfy plugin(s) [NodeAffinity]";
        let message = format!("0/2 nodes are available: 1 Insufficient memory, {others}.");
        let said = apart(&message, Some("n1"));
        assert_eq!(said.as_deref(), Some("its node n1 has no place for it: Insufficient memory"));
        let only_others = format!("0/2 nodes are available: {others}.");
        assert_eq!(apart(&only_others, Some("n1")), None);
    }

    #[test]
    fn a_claim_that_does_not_exist_is_named() {
        let message =
            "0/13 nodes are available: persistentvolumeclaim \"shared\" not found. not found";
        assert_eq!(missing_claim(message), Some("shared"));
        assert_eq!(missing_claim("persistentvolumeclaim \"a\" is being deleted"), None);
    }

    #[test]
    fn other_messages_stay_as_they_are() {
        for message in
            ["", "0/", "0/2 nodes are available: x", "skip schedule deleting pod", "0/1 nodes"]
        {
            assert_eq!(apart(message, None), None, "{message}");
        }
    }
}
