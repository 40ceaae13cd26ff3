//! What most files of this module import.

pub(in crate::plan) use setguard_core::{
    printable::one_line,
    rollout::{NeverReady, Step, Stop, node::Placement},
};

pub(in crate::plan) use crate::plan::{
    cluster::{PlannedCluster, SetQuery},
    forecast::{ChangeKind, Forecast, Kept, OfKind, Rollout},
    forecaster::{Forecaster, Plan},
    picture,
    pod_counts::Tally,
    refusal::PlanFinding,
    stop,
    styled_line::{Line, Symbols, Tone, UNICODE},
};
pub(in crate::plan) use crate::prelude::*;
