//! The cost of a command.

use std::{
    process::ExitStatus,
    thread,
    time::{Duration, Instant},
};

use crate::{
    harness::process::Process,
    numbers::{memory, processor_seconds},
};

/// The resources that a process used from start to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    /// Seconds of processor time.
    pub(crate) processor: f64,
    /// The maximum memory, in MiB.
    pub(crate) memory: f64,
}

/// Waits until a process that was just started ends.
pub(crate) fn wait_for(process: &mut Process) -> (ExitStatus, Cost) {
    let start = Instant::now();
    let mut cost = Cost { seconds: 0.0, processor: 0.0, memory: 0.0 };
    loop {
        cost.processor = cost.processor.max(processor_seconds(process.id()));
        cost.memory = cost.memory.max(memory(process.id(), "VmHWM").unwrap_or_default());
        if let Some(status) = process.ended() {
            cost.seconds = start.elapsed().as_secs_f64();
            return (status, cost);
        }
        thread::sleep(Duration::from_millis(2));
    }
}
