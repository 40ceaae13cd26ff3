//! The cluster that `setguard plan --live` reads with a kubeconfig. It sends only read requests.

use std::{collections::BTreeMap, io::Write as _};

use setguard_cluster::live::{
    call::Problem,
    reader::{List, Reader, THROTTLED},
};
use setguard_core::kubernetes::version::Version;
use setguard_offline::plan;
use tokio::runtime::{Builder, Runtime};

struct Cluster {
    runtime: Runtime,
    reader: Reader,
}

pub(super) fn connect(context: Option<&str>) -> anyhow::Result<Box<dyn plan::live::Reader>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let on_busy = || {
        let _ = writeln!(anstream::stderr(), "note: {THROTTLED}");
    };
    let reader = runtime.block_on(Reader::connect(context, "plan", on_busy))?;
    Ok(Box::new(Cluster { runtime, reader }))
}

impl plan::live::Reader for Cluster {
    fn default_namespace(&self) -> &str {
        self.reader.default_namespace()
    }

    fn release(&self) -> anyhow::Result<(Version, BTreeMap<String, bool>)> {
        let release = self.runtime.block_on(self.reader.release())?;
        Ok((release.version, release.gates))
    }

    fn get(&self, path: &str) -> anyhow::Result<Option<String>> {
        match self.runtime.block_on(self.reader.get(path)) {
            Ok(json) => Ok(Some(json)),
            Err(Problem::Absent(_)) => Ok(None),
            Err(problem) => Err(problem.into()),
        }
    }

    fn list(
        &self,
        path: &str,
        fields: Option<&'static str>,
        on_item: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Option<String>> {
        let list = List { path: path.to_owned(), fields, ..List::default() };
        let on_page = |items: &[&serde_json::value::RawValue]| {
            items.iter().for_each(|item| on_item(item.get()));
        };
        match self.runtime.block_on(self.reader.list(&list, on_page)) {
            Ok(_) => Ok(None),
            Err(Problem::Forbidden(why) | Problem::Absent(why)) => Ok(Some(why)),
            Err(problem) => Err(problem.into()),
        }
    }
}
