//! The growth of the cost of `check` and `plan` with a repository or with what surrounds a set: no slower than n log n.

use std::{env, fs};

use anyhow::bail;
use clap::Parser;
use setguard::{
    check::{self, CheckArgs},
    plan::{self, PlanArgs},
};

use crate::{
    growth::processor_time,
    manifests::{commit, manifest},
    rules::{MAX_GROWTH, MEASUREMENTS},
};

const SHORT: usize = 200;
const LONG: usize = 8 * SHORT; // As far apart as for `rules`.

const CASES: &str = include_str!("../data/growth.txt");

#[derive(Debug, Parser)]
enum Command {
    Check(CheckArgs),
    Plan(PlanArgs),
}

impl Command {
    fn run(&self) {
        let ran = match self {
            Command::Check(args) => check::run(args),
            Command::Plan(args) => plan::run(args, &|_| bail!("no cluster")),
        };
        ran.expect("a report");
    }
}

pub(crate) fn measure() {
    println!("\nrepositories: processor time for {SHORT} and {LONG} parts");
    let slow: Vec<&str> = CASES.split("\n=== ").skip(1).filter_map(slow_case).collect();
    assert!(slow.is_empty(), "slower than n log n:\n{}", slow.join("\n"));
}

/// Returns the title of a case that is slow. Measures again, because other programs only add time.
fn slow_case(case: &str) -> Option<&str> {
    let (head, files) = case.split_once('\n').expect("a head");
    let (title, command) = head.split_once(": ").expect("a command");
    let (mut short, mut long) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..MEASUREMENTS {
        short = short.min(seconds(command, files, SHORT));
        long = long.min(seconds(command, files, LONG));
        if long / short <= MAX_GROWTH {
            break;
        }
    }
    println!("{title}: {short:.2} s, {long:.2} s, {:.0} times", long / short);
    (long / short > MAX_GROWTH).then_some(title)
}

fn seconds(command: &str, files: &str, count: usize) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |text: &str| {
        for (name, text) in text.split("\n-- ").skip(1).filter_map(|it| it.split_once('\n')) {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, format!("{text}\n")).expect("a file");
        }
    };
    let set = manifest(1, "shop").replace("replicas: 3", &format!("replicas: {count}"));
    let text = repeated(files, count).replace("SET", set.trim_end());
    write(&text);
    commit(folder.path());
    write(&text.replace("OLD", "new"));
    env::set_current_dir(folder.path()).expect("the folder");
    let report = folder.path().join(".git/report").display().to_string();
    let report = ["--output".to_owned(), format!("json={report}")];
    let report = report.iter().map(String::as_str).filter(|_| command.starts_with("check"));
    let args = ["setguard"].into_iter().chain(command.split(' ')).chain(report);
    let command = Command::parse_from(args);
    let start = processor_time();
    command.run();
    let took = processor_time() - start;
    env::set_current_dir("/").expect("a folder that stays");
    took
}

fn repeated(text: &str, count: usize) -> String {
    let mut parts = text.split("<<\n");
    let mut whole = parts.next().map(|it| format!("\n{it}")).unwrap_or_default();
    for (each, rest) in parts.filter_map(|it| it.split_once(">>\n")) {
        (0..count).for_each(|i| whole.push_str(&each.replace('#', &i.to_string())));
        whole.push_str(rest);
    }
    whole
}
