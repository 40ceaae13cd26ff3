//! The states of `states.yaml`. They do not change.

use json_patch::merge;

use super::{
    super::decision::Memory,
    build::{
        WatchedCluster, daemon_set, deleted, event, given_up, last, look, node, of_daemon_set,
        of_stateful_set, pod, read, sandboxed, slow, stateful_set, unschedulable, waiting,
    },
};
use crate::prelude::*;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct State {
    stateful: Option<[i32; 3]>,
    daemons: Option<[i32; 3]>,
    patch: Value,
    last: Value,
    pods: Option<Vec<Value>>,
    nodes: Option<Vec<(String, Option<i64>)>>,
    events: Vec<Value>,
    normal: Vec<Value>,
    objects: Vec<(String, Value)>,
    /// When it is over, and the last pod is only slow.
    until: Option<i64>,
    after: Option<i64>,
    why: String,
    /// The remedy.
    repair: Option<String>,
    /// Whether the rollout counts as done, and not as given up, if no rollout is needed.
    done: Option<String>,
    /// How the rollout has ended.
    ends: Option<String>,
    /// The description of the state.
    says: String,
}

fn states() -> Vec<State> {
    serde_json::from_value(read(include_str!("states.yaml"))).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn changed(mut pod: Value, changes: &Value) -> Value {
    for (change, it) in changes.as_object().into_iter().flatten() {
        pod = match change.as_str() {
            "waiting" => {
                let restarts = it[2].as_i64().unwrap_or_default() as i32;
                waiting(pod, text(&it[0]), text(&it[1]), restarts)
            }
            "sandboxed" => sandboxed(pod, *it == true),
            "slow" => slow(pod),
            "unschedulable" => unschedulable(pod, text(it)),
            "deleted" => deleted(pod, it.as_i64().unwrap()),
            field => {
                merge(&mut pod[field], it);
                pod
            }
        };
    }
    pod
}

impl State {
    fn world(&self, now: i64) -> WatchedCluster {
        if self.until.is_some_and(|until| now >= until) {
            return last(slow);
        }
        let three = || json!([["db-0", 1], ["db-1", 1], ["db-2", 2, self.last]]);
        let pods = self.pods.clone().or_else(|| match self.daemons {
            Some(_) => None,
            None => three().as_array().cloned(),
        });
        let pods = pods.unwrap_or_default();
        let on: Vec<_> = (0..pods.len()).map(|i| format!("n{i}")).collect();
        let nodes = match (&self.nodes, self.daemons) {
            (Some(nodes), _) => nodes.clone(),
            (None, Some(_)) => on.iter().map(|name| (name.clone(), None)).collect(),
            (None, None) => Vec::new(),
        };
        let nodes = nodes.iter().map(|(name, down)| node(name, *down));
        let pods = pods.iter().zip(&on).map(|(it, on)| {
            let revision = it[1].as_u64().unwrap() as u8;
            changed(pod(text(&it[0]), revision, self.daemons.map(|_| on.as_str())), &it[2])
        });
        let mut world = if let Some([desired, ready, updated]) = self.daemons {
            of_daemon_set(daemon_set(desired, ready, updated), nodes, pods)
        } else {
            let [replicas, ready, updated] = self.stateful.unwrap_or([3, 2, 1]);
            let mut world = of_stateful_set(stateful_set(replicas, ready, updated), pods);
            world.extend(nodes.map(|node| (Kind::Node, node)));
            world
        };
        if self.patch.is_object() {
            merge(&mut world[0].1, &self.patch);
        }
        let of = |it: &Value| {
            let last = it[4].as_i64().unwrap_or(now);
            event(text(&it[0]), text(&it[1]), text(&it[2]), text(&it[3]), last)
        };
        world.extend(self.events.iter().map(|it| (Kind::Event, of(it))));
        world.extend(self.normal.iter().map(|it| {
            let mut event = of(it);
            event["type"] = json!("Normal");
            (Kind::Event, event)
        }));
        let objects = self.objects.iter();
        world.extend(objects.map(|(kind, it)| (Kind::named(kind).unwrap(), it.clone())));
        world
    }
}

#[test]
fn each_state_ends_when_and_as_it_says() {
    for state in states() {
        let look = |allow_none| look(&state.world(0), 0, allow_none, &mut Memory::default());
        if let Some(ends) = &state.ends {
            let standing = look(false).standing.unwrap();
            let outcome = standing.outcome().map_or("not".to_owned(), |it| format!("{it:?}"));
            assert_eq!(outcome, *ends, "{state:#?}");
            assert!(standing.text().ends_with(&state.says), "{}: {state:#?}", standing.text());
            continue;
        }
        if let Some(done) = &state.done {
            assert!(look(done != "always").is_done(), "{state:#?}");
            if done == "always" {
                continue;
            }
        }
        let (mut after, mut repair) = (None, None);
        if let Some((second, decision)) = given_up(|now| state.world(now)) {
            let obstacle = &decision.stuck[0];
            let heading = obstacle.facts.heading();
            assert!(heading.contains(&state.why), "{heading}: {state:#?}");
            after = Some(second);
            repair = obstacle.repair.as_ref().map(|it| format!("{it:?}"));
        }
        assert_eq!((after, &repair), (state.after, &state.repair), "{state:#?}");
    }
}
