//! `setguard serve` against the same stack that answers `allowed: true` without reading.

use std::ffi::OsString;

use crate::{Arguments, certificate, harness::process::free_ports, load::Side, reviews};
use setguard_testing::prelude::*;

/// The benchmark measures memory again after this many requests.
const MANY: usize = 1_000_000;
/// The path of a different setguard binary to compare with.
const OTHER: &str = "SETGUARD_OTHER";
/// The policy file of a second server to compare with.
const OTHER_POLICY: &str = "SETGUARD_OTHER_POLICY";

pub(crate) fn measure(arguments: &Arguments, core: Option<&str>) {
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] = certificate::write(folder.path());
    let update = || reviews::daemon_set_update(arguments.variables);
    let body =
        arguments.review.as_ref().map_or_else(update, |file| fs::read(file).expect("a review"));
    println!(
        "throughput: {} bytes, {} connections, {} rounds of {} s each in turn",
        body.len(),
        arguments.connections,
        arguments.rounds,
        arguments.seconds
    );
    let start = |name, program: &Path, args: Vec<OsString>, port| {
        Side::start(name, folder.path(), port, core, program, args)
    };
    let [port] = free_ports();
    let mut sides =
        vec![start("setguard", &setguard(), setguard_args(port, &certificate, &key), port)];
    let [other, policy] = [OTHER, OTHER_POLICY].map(env::var_os);
    if other.is_some() || policy.is_some() {
        let [port] = free_ports();
        let mut args = setguard_args(port, &certificate, &key);
        args.extend(policy.into_iter().flat_map(|policy| ["--policy".into(), policy]));
        sides.push(start("other", &other.map_or_else(setguard, PathBuf::from), args, port));
    }
    let [port] = free_ports();
    let (program, args) = bare(port, &certificate, &key);
    sides.push(start("bare", &program, args, port));

    let load = arguments.load(&certificate, &body);
    load.take_turns(&mut sides);
    let (ours, others) = sides.split_first_mut().expect("a side");
    others.iter().for_each(|other| ours.compare(other));
    let start = Instant::now();
    while ours.answered < MANY && start.elapsed() < Duration::from_secs(120) {
        ours.round(&load, load.length);
    }
    let [resident, peak] = ["VmRSS", "VmHWM"].map(|field| ours.memory(field));
    println!(
        "setguard after {} requests: {resident:.1} MiB resident, {peak:.1} MiB at most",
        ours.answered
    );
}

/// Returns the program to measure: the binary of this build, or the value of `SETGUARD`.
pub(crate) fn setguard() -> PathBuf {
    env::var_os("SETGUARD").map_or_else(|| env!("CARGO_BIN_EXE_setguard").into(), PathBuf::from)
}

pub(crate) fn setguard_args(port: u16, certificate: &Path, key: &Path) -> Vec<OsString> {
    let listen = format!("--listen=127.0.0.1:{port}");
    let admin = "--admin-listen=127.0.0.1:0";
    let flags = ["serve".into(), listen.into(), admin.into()];
    let pair = ["--tls-cert".into(), certificate.into(), "--tls-key".into(), key.into()];
    flags.into_iter().chain(pair).collect()
}

pub(crate) fn bare(port: u16, certificate: &Path, key: &Path) -> (PathBuf, Vec<OsString>) {
    let address = format!("127.0.0.1:{port}");
    let args = vec!["--bare".into(), address.into(), certificate.into(), key.into()];
    (env::current_exe().expect("the path of this program"), args)
}
