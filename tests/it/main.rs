//! All integration tests, in one binary.
//!
//! On Windows, only the command line tests without shell, links and server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "a test fails by panicking, prints for people to read, and has no users"
)]

mod api_server;
#[cfg(unix)]
mod armed;
#[cfg(unix)]
mod audit;
mod bounds;
mod browser;
mod catalogue;
#[cfg(unix)]
mod changes;
#[cfg(unix)]
mod chart;
mod cli;
mod conformance;
mod created_pods;
#[cfg(unix)]
mod crowd;
#[cfg(unix)]
mod daemon;
mod exceed;
mod export;
#[cfg(unix)]
mod files;
mod fix;
mod folder;
mod generated;
mod git;
#[cfg(unix)]
mod guides;
mod hostile;
#[cfg(unix)]
mod http2;
mod inject;
mod json_schema;
mod kruise;
mod limits;
mod limits_in_cluster;
mod links;
#[cfg(unix)]
mod live;
mod long_stream;
mod lsp;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(unix)]
mod memory;
mod mutations;
mod origin;
mod parity;
mod pictures;
#[cfg(unix)]
mod pipeline;
mod plan;
#[cfg(unix)]
mod plan_comment;
#[cfg(unix)]
mod plan_known;
#[cfg(unix)]
mod plan_live;
#[cfg(unix)]
mod plan_recipes;
mod platforms;
mod pod_security;
mod prelude;
mod readings;
#[cfg(unix)]
mod release;
mod reports;
mod review;
mod rollouts;
#[cfg(unix)]
mod roots;
mod rule_pages;
mod schema;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod stalls;
#[cfg(unix)]
mod status;
mod support;
#[cfg(unix)]
mod tls;
#[cfg(unix)]
mod trial;
mod unchecked;
mod versions;
mod view;
#[cfg(unix)]
mod wait;
mod ways_around_git;
#[cfg(unix)]
mod wire;
mod yaml;

#[cfg(unix)]
use setguard_testing::helm;
#[cfg(unix)]
use setguard_testing::pages;
use setguard_testing::{corpus, traces};
