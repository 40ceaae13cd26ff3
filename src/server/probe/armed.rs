//! Checks that the webhook configurations have their rules, and that the API server calls setguard.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tokio::time::sleep;

use crate::server::{
    arming::{api, entries, rehearsal::rehearse, target::Target},
    configuration::Configuration,
    managed::cluster::{self, call},
};

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// The configurations that have to be armed.
pub(super) struct Expected<'a> {
    /// The configurations, by kind and name.
    pub(super) configurations: Vec<(Configuration, &'a str)>,
    /// The ConfigMap that is patched with dryRun.
    pub(super) rehearsal: Option<&'a Target>,
}

impl Expected<'_> {
    /// Waits until all configurations are armed, for `patience` at most.
    ///
    /// # Errors
    /// Returns a description of what is missing.
    pub(super) async fn wait(&self, patience: Duration) -> anyhow::Result<()> {
        if self.configurations.is_empty() {
            return Ok(());
        }
        let begun = Instant::now();
        while let Err(why) = self.check().await {
            if begun.elapsed() >= patience {
                return Err(why);
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn check(&self) -> anyhow::Result<()> {
        let client = cluster::client().await.context("cannot find the API server")?;
        for (configuration, name) in &self.configurations {
            let kind = configuration.kind();
            let what = format!("reading {kind} {name}");
            let Some(read) = call(what, api(&client, *configuration).get_opt(name)).await? else {
                bail!("{kind} {name} does not exist: setguard is not called by it");
            };
            let read = serde_json::to_value(read)?;
            let missing = entries::missing(&read);
            if !missing.is_empty() {
                bail!(
                    "{kind} {name} lacks {}: setguard is not called by it",
                    missing.join(" and ")
                );
            }
            let is_complete = matches!(entries::patch(&read), Ok(None));
            if !is_complete || !entries::have_rules(&read) {
                bail!(
                    "{kind} {name} has no rules, or not all of them: setguard is not called by it. Its \
                     log says why"
                );
            }
        }
        let Some(rehearsal) = self.rehearsal else { return Ok(()) };
        let called = rehearse(rehearsal).await?.called;
        for (configuration, name) in &self.configurations {
            if !called.contains(configuration) {
                bail!("the API server does not call setguard by {} {name}", configuration.kind());
            }
        }
        Ok(())
    }
}
