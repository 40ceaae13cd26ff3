//! The usual metrics of a process, `process_…`. Only on Linux, from `/proc`.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric as _},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};

#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(now) = State::read() else { return Ok(()) };
        let cpu = ConstCounter::new(now.cpu_seconds);
        let gauges = [
            ("resident_memory_bytes", "Resident memory", now.resident_bytes),
            ("open_fds", "Open file descriptors", now.open_files),
            ("max_fds", "The most file descriptors that may be open", now.max_open_files),
            ("start_time_seconds", "Start of the process, in seconds since 1970", now.start),
        ];
        let help = "Processor time of the process, in user and system mode";
        cpu.encode(encoder.encode_descriptor(
            "process_cpu_seconds",
            help,
            None,
            cpu.metric_type(),
        )?)?;
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(value);
            let name = format!("process_{name}");
            gauge.encode(encoder.encode_descriptor(&name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct State {
    cpu_seconds: f64,
    resident_bytes: u64,
    open_files: u64,
    max_open_files: u64,
    /// Seconds since 1970.
    start: u64,
}

impl State {
    /// `None` if `/proc` cannot be read.
    #[cfg(target_os = "linux")]
    fn read() -> Option<Self> {
        use procfs::{boot_time_secs, page_size, process, process::LimitValue, ticks_per_second};

        let myself = process::Process::myself().ok()?;
        let stat = myself.stat().ok()?;
        let ticks = ticks_per_second();
        let max_open_files = match myself.limits().ok()?.max_open_files.soft_limit {
            LimitValue::Value(limit) => limit,
            LimitValue::Unlimited => u64::MAX,
        };
        Some(State {
            cpu_seconds: (stat.utime + stat.stime) as f64 / ticks as f64,
            resident_bytes: stat.rss * page_size(),
            open_files: u64::try_from(myself.fd_count().ok()?).ok()?,
            max_open_files,
            start: boot_time_secs().ok()? + stat.starttime / ticks,
        })
    }

    #[cfg(not(target_os = "linux"))]
    const fn read() -> Option<Self> {
        None
    }
}
