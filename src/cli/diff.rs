//! `setguard diff`: the program that `kubectl diff` calls.

use std::{
    ffi::OsString,
    fs,
    process::{Command, Stdio},
};

use anyhow::Context;
use clap::{ColorChoice, FromArgMatches};
use setguard_files::report::{args::set_color, screen};
use setguard_offline::check::{self, CheckArgs};

use crate::cli::prelude::*;

/// Show and check what `kubectl diff` would change
///
/// kubectl calls it with two folders: the objects as they are, and as they would be. It runs `diff -u -N` on them, as
/// kubectl does, and then reports the problems that the change introduces. The policy comes from SETGUARD_POLICY, since
/// kubectl passes no flag with a path.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes, as kubectl wants them:
  0  nothing would change
  1  something would change, and nothing of it would be denied
  2  something would be denied, or the folders could not be compared

Examples:
  setguard diff -f deploy/
  KUBECTL_EXTERNAL_DIFF=\"setguard diff\" kubectl diff -f deploy/")]
pub(super) struct DiffArgs {
    /// The folder with the objects as they are
    #[arg(required_unless_present = "filename", requires = "merged")]
    live: Option<PathBuf>,
    /// The folder with the objects as they would be
    merged: Option<PathBuf>,
    /// Runs `kubectl diff` with these files and folders
    #[arg(short, long, value_name = "PATH", conflicts_with = "live")]
    filename: Vec<PathBuf>,
    /// Treats warnings as denials
    #[arg(long)]
    deny_warnings: bool,
    /// Whether text has colors. With auto, on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", hide_short_help = true)]
    color: ColorChoice,
}

pub(super) fn run(args: &DiffArgs) -> anyhow::Result<Exit> {
    let (Some(live), Some(merged)) = (&args.live, &args.merged) else { return by_kubectl(args) };
    set_color(args.color);
    let mut diff = Command::new("diff");
    diff.args(["-u", "-N"]).args([live, merged]).stderr(Stdio::inherit());
    let diff = diff.output().context("diff cannot be run")?;
    screen::print_diff(&diff.stdout)?;
    let differs = match diff.status.code() {
        Some(0) => return Ok(Exit::Clean),
        code => code == Some(1),
    };
    let (old, new) = (files(live)?, files(merged)?);
    let mut line =
        ["check", "--as=replace", "--new-only", "--allow-empty"].map(OsString::from).to_vec();
    line.extend(args.deny_warnings.then(|| "--deny-warnings".into()));
    // Without a previous object, every object is new.
    let old = if old.is_empty() { vec![live.clone().into()] } else { old };
    line.extend(old.into_iter().flat_map(|file| ["--against".into(), file]));
    line.push("--".into());
    line.extend(new);
    let command = CheckArgs::augment_args(clap::Command::new("check"));
    let checked = check::run(&CheckArgs::from_arg_matches(&command.try_get_matches_from(line)?)?)?;
    Ok(if differs && checked == Exit::Clean { Exit::Denied } else { Exit::Error })
}

fn by_kubectl(args: &DiffArgs) -> anyhow::Result<Exit> {
    let strict = if args.deny_warnings { " --deny-warnings" } else { "" };
    let this = format!("{} diff{strict}", env::current_exe()?.display());
    let mut kubectl = Command::new("kubectl");
    kubectl.arg("diff").env("KUBECTL_EXTERNAL_DIFF", this);
    for file in &args.filename {
        kubectl.arg("-f").arg(file);
    }
    Ok(match kubectl.status().context("kubectl cannot be run")?.code() {
        Some(0) => Exit::Clean,
        Some(1) => Exit::Denied,
        _ => Exit::Error,
    })
}

/// kubectl gives the files in these folders no extension.
fn files(folder: &Path) -> anyhow::Result<Vec<OsString>> {
    let list = || -> std::io::Result<Vec<OsString>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path().into_os_string())).collect()
    };
    let mut files = list().with_context(|| folder.display().to_string())?;
    files.sort();
    Ok(files)
}
