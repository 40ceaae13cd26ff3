//! `setguard cleanup`: deletes the webhook configurations before the server is removed.

use std::{io::Write as _, process::ExitCode};

use super::{managed::cluster, webhooks::NAME};
use crate::server::prelude::*;

/// Delete the webhook configurations of a server that you stopped
///
/// It is not an error if they do not exist. The cluster is the one that kubectl would use, or in a
/// pod the one of its service account.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Example:
  setguard cleanup        # after `setguard serve | kubectl apply -f -`")]
pub struct CleanupArgs {
    /// The name of both the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration
    #[arg(long, value_name = "NAME", env = "SETGUARD_WEBHOOK_CONFIG", default_value = NAME)]
    pub webhook_config: String,
}

/// Deletes the webhook configurations and prints which ones it deleted. Fails if the API server cannot be reached, or
/// denies the request.
pub fn run(args: &CleanupArgs) -> anyhow::Result<ExitCode> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let name = &args.webhook_config;
    let deleted = runtime.block_on(async {
        let client = cluster::client().await.context("cannot find the API server")?;
        anyhow::Ok(cluster::delete(&client, name).await?)
    })?;
    let mut out = io::stdout().lock();
    for kind in &deleted {
        writeln!(out, "{kind} {name} deleted")?;
    }
    if deleted.is_empty() {
        writeln!(out, "no webhook configuration {name} found")?;
    }
    Ok(ExitCode::SUCCESS)
}
