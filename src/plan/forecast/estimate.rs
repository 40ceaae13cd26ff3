//! Estimates of the duration of a rollout.

use crate::rollout::{Action, Course};

/// The duration of a rollout, by what the pods of the set took before.
#[derive(Debug)]
pub(in crate::plan) struct Estimate {
    pub(in crate::plan) seconds: i64,
    /// The estimate and its basis in words.
    pub(in crate::plan) text: String,
}

impl Estimate {
    /// Returns an estimate by the seconds that pods took to become ready.
    pub(super) fn of(times: &[i64], course: &Course) -> Option<Self> {
        if course.stop.is_some() {
            return None;
        }
        let creations = course.steps.iter().filter(|step| step.action == Action::Create);
        let mut waves: Vec<_> = creations.map(|step| step.wave).collect();
        waves.dedup();
        let mut times = times.to_vec();
        times.sort_unstable();
        let median = *times.get(times.len() / 2).filter(|median| **median > 0)?;
        let waves = i64::try_from(waves.len()).ok().filter(|waves| *waves > 0)?;
        let seconds = course.at_least_seconds.saturating_add(waves.saturating_mul(median));
        let pods = match times.len() {
            1 => "1 pod".to_owned(),
            count => format!("{count} pods"),
        };
        let in_waves = if waves == 1 { "1 wave".to_owned() } else { format!("{waves} waves") };
        let text = format!(
            "estimate: {seconds} s and the time that pods take to stop, because {pods} of the set took \
             {median} s to become ready (median), in {in_waves}"
        );
        Some(Estimate { seconds, text })
    }
}
