//! All integration tests, in one binary.
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

#[cfg(feature = "server")]
mod api_server;
mod asking;
#[cfg(feature = "server")]
mod audit;
mod baseline;
mod bounds;
mod browser;
mod catalogue;
#[cfg(feature = "server")]
mod changes;
mod chart;
mod cli;
mod conformance;
mod crates;
mod created_pods;
mod cross_object;
#[cfg(feature = "server")]
mod crowd;
#[cfg(feature = "server")]
mod daemon;
mod discovery;
mod exceed;
mod export;
mod file_exceptions;
mod files;
mod fix;
mod folder;
mod generated;
mod git;
mod growth;
#[cfg(unix)]
mod guides;
mod hostile;
mod house;
#[cfg(feature = "server")]
mod http2;
mod ignores;
mod inject;
mod json_schema;
mod kruise;
mod kubectl_diff;
mod limits;
mod limits_in_cluster;
mod links;
#[cfg(feature = "server")]
mod live;
mod lsp;
#[cfg(all(feature = "server", target_os = "linux"))]
mod mcp;
mod memory;
mod mutations;
mod neighbors;
mod one_pass;
mod origin;
mod parity;
mod pictures;
mod pipeline;
mod plan;
mod plan_comment;
mod plan_formats;
#[cfg(feature = "server")]
mod plan_known;
mod plan_live;
mod plan_middle;
mod pod_security;
mod policy_from_ref;
mod prose;
mod readings;
mod release;
mod rendered;
mod reports;
mod rollouts;
mod schema;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod stalls;
mod status;
mod strangers;
mod support;
#[cfg(feature = "server")]
mod tls;
#[cfg(feature = "server")]
mod trial;
mod versions;
mod view;
#[cfg(feature = "server")]
mod wait;
#[cfg(feature = "server")]
mod wire;
mod workflows;
mod yaml;

#[cfg(feature = "server")]
use setguard_testing::helm;
#[cfg(unix)]
use setguard_testing::pages;
use setguard_testing::{corpus, traces};
