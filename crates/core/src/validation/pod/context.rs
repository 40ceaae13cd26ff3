use crate::validation::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(crate) struct PodContext<'a> {
    pub(crate) opts: &'a Options,
    pub(crate) volumes: &'a Volumes<'a>,
    pub(crate) claim_names: &'a [&'a str],
    pub(crate) grace_period: Option<i64>,
    pub(crate) os: Option<&'a str>,
    pub(crate) restart_policy: &'a str,
    pub(crate) host_users: bool,
}

impl<'a> PodContext<'a> {
    pub(crate) fn of(
        spec: &'a PodSpec,
        opts: &'a Options,
        volumes: &'a Volumes<'a>,
        claim_names: &'a [&'a str],
    ) -> Self {
        PodContext {
            opts,
            volumes,
            claim_names,
            grace_period: spec.termination_grace_period_seconds,
            os: spec.os.as_ref().map(|os| os.name.as_str()),
            restart_policy: text(&spec.restart_policy),
            host_users: spec.host_users != Some(false),
        }
    }
}
