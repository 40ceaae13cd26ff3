//! Statistics, and the kernel's figures about a process.

use std::process::ExitStatus;

use crate::harness::process::Process;
use crate::prelude::*;

#[derive(Debug, Default)]
pub struct Latencies(pub Vec<Duration>);

impl Latencies {
    /// The latency at this percentile, in milliseconds.
    pub fn percentile(&mut self, percent: usize) -> f64 {
        self.0.sort_unstable();
        let at = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(at).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
    }
}

/// The median, or the upper one of the two in the middle.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A kB field of `/proc/PID/status`, in MiB.
pub fn memory(pid: u32, field: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kilobytes: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// The processor time of a process, in seconds.
pub fn processor_seconds(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field is in parentheses and may contain spaces. User and system time are fields 14 and 15, in
    // hundredths of a second on every Linux that Rust supports.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks = after.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

#[derive(Debug, Default)]
pub struct Cost {
    pub seconds: f64,
    pub processor: f64,
    /// The peak memory, in MiB.
    pub memory: f64,
}

impl Cost {
    pub fn of(process: &mut Process) -> (ExitStatus, Self) {
        let (start, mut cost) = (Instant::now(), Cost::default());
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
}
