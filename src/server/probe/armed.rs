//! Checks that the webhook configurations have their rules, and that the API server calls setguard.

use std::time::Instant;

use setguard_cluster::live::registered::compare;

use crate::server::prelude::*;
use crate::server::{
    activation::{dry_run_probe::rehearse, target::Target},
    managed::cluster,
};

const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn retry<T>(
    patience: Duration,
    mut attempt: impl AsyncFnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let begun = Instant::now();
    loop {
        match attempt().await {
            Err(_) if begun.elapsed() < patience => sleep(PAUSE).await,
            result => return result,
        }
    }
}

pub(super) struct Expected<'a> {
    pub(super) configurations: Vec<(Configuration, &'a str)>,
    /// The SHA-256 of each annotation as the chart wrote it; empty if nobody knows.
    pub(super) annotations: &'a [String],
    /// The ConfigMap to patch with dryRun.
    pub(super) rehearsal: Option<&'a Target>,
}

impl Expected<'_> {
    /// Returns the names of the webhooks once all configurations are armed.
    pub(super) async fn wait(&self, patience: Duration) -> anyhow::Result<BTreeSet<String>> {
        if self.configurations.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut attempts = 0;
        let webhooks = retry(patience, async || {
            attempts += 1;
            self.check().await
        });
        let webhooks = webhooks.await?;
        if attempts > 1 {
            // Give each API server time to use the rules that were just written.
            sleep(PAUSE).await;
        }
        Ok(webhooks)
    }

    async fn check(&self) -> anyhow::Result<BTreeSet<String>> {
        let mut webhooks = BTreeSet::new();
        let client = cluster::client().await.context("cannot find the API server")?;
        for (configuration, name) in &self.configurations {
            let kind = configuration.kind();
            let Some(read) = cluster::read(&client, *configuration, name).await? else {
                bail!("{kind} {name} does not exist: setguard is not called by it");
            };
            let compared = compare(&read, self.annotations);
            let compared = compared.map_err(|why| anyhow!("{kind} {name}: {why}"))?;
            if let Some(foreign) = compared.say(kind, name) {
                bail!(foreign);
            }
            if !compared.is_as_written() {
                bail!(
                    "{kind} {name} has no rules, or not all of them: setguard is not called by it. Its \
                     log says why"
                );
            }
            let names = read["webhooks"].as_array().into_iter().flatten();
            webhooks.extend(names.filter_map(|it| it["name"].as_str()).map(str::to_owned));
        }
        let Some(rehearsal) = self.rehearsal else { return Ok(webhooks) };
        let called = rehearse(rehearsal).await?.called;
        for (configuration, name) in &self.configurations {
            if !called.contains(configuration) {
                bail!("the API server does not call setguard by {} {name}", configuration.kind());
            }
        }
        Ok(webhooks)
    }
}
