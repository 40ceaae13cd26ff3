//! All integration tests, in one binary.
//!
//! On Windows only those of the command line that need no shell, no links and no server.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "a test fails by panicking, prints for people to read, and has no users"
)]

mod api_server;
#[cfg(all(feature = "server", unix))]
mod audit;
mod bounds;
mod browser;
mod catalogue;
#[cfg(all(feature = "server", unix))]
mod changes;
#[cfg(all(feature = "server", unix))]
mod chart;
mod cli;
mod conformance;
mod created_pods;
mod cross_object;
#[cfg(all(feature = "server", unix))]
mod crowd;
#[cfg(all(feature = "server", unix))]
mod daemon;
mod exceed;
mod export;
mod file_exceptions;
#[cfg(unix)]
mod files;
mod fix;
mod folder;
mod generated;
mod git;
#[cfg(unix)]
#[cfg(unix)]
mod guides;
mod hostile;
mod house;
#[cfg(all(feature = "server", unix))]
mod http2;
mod inject;
mod json_schema;
mod kruise;
#[cfg(unix)]
mod kubectl_diff;
mod limits;
mod limits_in_cluster;
mod links;
#[cfg(all(feature = "server", unix))]
mod live;
mod long_stream;
mod lsp;
#[cfg(all(feature = "server", target_os = "linux"))]
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
mod plan_formats;
#[cfg(all(feature = "server", unix))]
mod plan_known;
#[cfg(all(feature = "server", unix))]
mod plan_live;
#[cfg(all(feature = "server", unix))]
mod plan_recipes;
mod platforms;
mod pod_security;
mod readings;
#[cfg(unix)]
mod release;
mod reports;
mod review;
mod rollouts;
mod schema;
#[cfg(all(feature = "server", unix))]
mod serve;
#[cfg(all(feature = "server", unix))]
mod stalls;
#[cfg(unix)]
mod status;
mod support;
#[cfg(all(feature = "server", unix))]
mod tls;
#[cfg(all(feature = "server", unix))]
mod trial;
mod unchecked;
mod versions;
mod view;
#[cfg(all(feature = "server", unix))]
mod wait;
#[cfg(all(feature = "server", unix))]
mod wire;
mod yaml;

#[cfg(all(feature = "server", unix))]
use setguard_testing::helm;
#[cfg(unix)]
use setguard_testing::pages;
use setguard_testing::{corpus, traces};
