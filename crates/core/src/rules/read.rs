//! Values that several traps read from an object.

mod images;
mod object;
mod plugins;
mod pods;
mod stateful_sets;
mod wave;

pub(crate) use self::object::{daemon_set_status, kubectl};
pub use self::wave::{Cause, Wave};
pub(super) use self::{
    images::{Release, contains, database, image, is_mounted_near, numbers, release, server},
    object::{pod_spec, selector, stateful_set_status},
    plugins::plugin_folder,
    pods::{capability, claimed, is_privileged, self_affinity, self_anti_affinity, user, volumes},
    stateful_sets::{
        claims, max_unavailable, ordinals, partition, partition_still_held, pod_names, removed,
        removed_names, replaced,
    },
    wave::{begins, pace, wave},
};
pub(super) use crate::{
    kubernetes::{
        exec::{Action, DOES_NOTHING, actions, executed, is_shell, plain, program, script_at},
        int_or_percent::scaled,
    },
    rollout::daemon_set::surges,
};
