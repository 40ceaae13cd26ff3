//! `setguard cleanup`: takes the webhook configurations out of the cluster, before the server goes.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use anyhow::Context as _;

use super::managed::cluster;

/// Delete the webhook configurations from the cluster, so that nothing waits for a server that is
/// gone
///
/// It is as well if they are not there. The server is found as kubectl finds it, or by the service
/// account of the pod.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Example:
  setguard cleanup --webhook-config setguard")]
pub struct CleanupArgs {
    /// The name of both the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration
    #[arg(long, value_name = "NAME", env = "SETGUARD_WEBHOOK_CONFIG")]
    pub webhook_config: String,
}

/// Deletes them and says which there were.
///
/// # Errors
/// When the API server cannot be reached, or does not allow it.
pub fn run(args: &CleanupArgs) -> anyhow::Result<ExitCode> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let name = &args.webhook_config;
    let deleted = runtime.block_on(async {
        let client = cluster::client().await.context("where is the API server?")?;
        anyhow::Ok(cluster::delete(&client, name).await?)
    })?;
    let mut out = io::stdout().lock();
    for kind in &deleted {
        writeln!(out, "{kind} {name} deleted")?;
    }
    if deleted.is_empty() {
        writeln!(out, "no webhook configuration {name} was there")?;
    }
    Ok(ExitCode::SUCCESS)
}
