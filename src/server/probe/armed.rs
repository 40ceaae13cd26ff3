//! Checks that the webhook configurations have their rules, and that the API server calls setguard.

use std::{io::Write as _, time::Instant};

use setguard_cluster::live::registered::compare;

use super::through::{SUFFIX, plays};
use crate::server::prelude::*;
use crate::server::{
    activation::{Target, dry_run_probe::rehearse},
    managed::cluster,
    webhooks::{SCALE, registrations},
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
        if self.annotations.is_empty() {
            let names: BTreeSet<_> = self.configurations.iter().map(|(_, name)| *name).collect();
            writeln!(
                std::io::stdout(),
                "not compared with the chart: the selectors, match conditions, failure policies and addresses of {}. They \
                 equal the annotation, but whoever may change them may change that too. To compare them, run setguard \
                 audit, or pass the hashes in --arm-annotations of setguard's Deployment as --annotations",
                names.into_iter().collect::<Vec<_>>().join(" and ")
            )?;
        }
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
            let entries = read["webhooks"].as_array().map_or(&[][..], Vec::as_slice);
            if self.annotations.is_empty() {
                known(*configuration, entries).map_err(|why| anyhow!("{kind} {name}: {why}"))?;
            }
            let names = entries.iter().filter_map(|it| it["name"].as_str());
            webhooks.extend(names.map(str::to_owned));
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

/// Compares what is known without the chart: which webhooks check sets, the rules, and the conditions that come with them.
fn known(configuration: Configuration, entries: &[Value]) -> Result<(), String> {
    for it in registrations() {
        let role = it.name.trim_end_matches(SUFFIX);
        let has = entries.iter().find(|it| it["name"].as_str().is_some_and(|it| plays(it, role)));
        let checks = it.path == Endpoint::Validate.path() && it.key != SCALE;
        let Some(has) = has else {
            if checks && configuration == Configuration::Validating {
                return Err(format!(
                    "{role}….setguard.io is missing; to restore it, delete the configuration and run helm upgrade"
                ));
            }
            continue;
        };
        let conditions = has["matchConditions"].as_array().map_or(&[][..], Vec::as_slice);
        let is_there = it.match_conditions.iter().all(|it| conditions.contains(&json!(it)));
        if has["rules"] != json!(it.rules) || !is_there {
            return Err(format!(
                "{} has other rules or conditions than those of setguard {}: delete the configuration and run helm \
                 upgrade. If the release has another version, probe with that version",
                has["name"],
                env!("CARGO_PKG_VERSION")
            ));
        }
    }
    Ok(())
}
