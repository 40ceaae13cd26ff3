//! The manifests that a command reads, as its user names them.

use std::{fs, path::PathBuf, time::Duration};

use clap::{Args, Command, error::ErrorKind};

use super::render::{Rendering, Settings, root::Root};

/// The flags that name manifests.
#[derive(Debug, Args)]
pub struct ManifestArgs {
    /// Files and folders. `-` is standard input; without a path, setguard reads it if it is a pipe
    #[arg(value_name = "PATH|-")]
    paths: Vec<PathBuf>,
    /// Files and folders, separated by commas, as with kubectl. You can repeat it
    #[arg(short, long, value_name = "PATH", value_delimiter = ',', hide_short_help = true)]
    filename: Vec<PathBuf>,
    /// Has no effect, since folders are always read with all folders below them
    #[arg(short = 'R', long, hide = true)]
    recursive: bool,
    /// A folder with a kustomization, which the kustomize or the kubectl on the PATH builds. You can repeat it
    #[arg(short, long, value_name = "DIR")]
    kustomize: Vec<PathBuf>,
    /// A chart. The helm on the PATH renders it
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    chart: Option<PathBuf>,
    /// A file with values for --chart. If you repeat it, the last one wins
    #[arg(long, value_name = "FILE", requires = "chart", hide_short_help = true)]
    values: Vec<PathBuf>,
    /// A folder whose charts and kustomizations are rendered: kustomizations that no other one uses, and charts that no
    /// other contains, each with its default values and with each file ci/*-values.yaml. Other manifests in it are
    /// read as they are. You can repeat it
    #[arg(long, value_name = "DIR")]
    render: Vec<PathBuf>,
    /// The name of the release of a chart [default: the name of its folder]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    release: Option<String>,
    /// How long a chart or kustomization may take to render
    #[arg(long, value_name = "SECONDS", default_value_t = 60, hide_short_help = true)]
    render_timeout: u32,
}

impl ManifestArgs {
    /// Returns the paths to read as they are. If the user names nothing, prints the usage of `setguard NAME` and
    /// returns `None`.
    pub fn paths(&self, name: &str) -> Option<Vec<PathBuf>> {
        let paths: Vec<_> = self.paths.iter().chain(&self.filename).cloned().collect();
        if !paths.is_empty() || self.renders() {
            return Some(paths);
        }
        if is_piped() {
            return Some(vec![PathBuf::from("-")]);
        }
        let message = "which manifests? Give files or folders, or - for standard input";
        let command = Command::new("setguard").bin_name(format!("setguard {name}"));
        let kind = ErrorKind::MissingRequiredArgument;
        let _ = Self::augment_args(command).error(kind, message).print();
        None
    }

    /// Returns whether any charts or kustomizations are to be rendered.
    pub const fn renders(&self) -> bool {
        !self.kustomize.is_empty() || self.chart.is_some() || !self.render.is_empty()
    }

    /// Returns the roots and folders to render, and the settings.
    pub fn rendering(
        &self,
        namespace: Option<&str>,
        kube_version: Option<String>,
        may_be_empty: bool,
    ) -> Rendering {
        let chart = self.chart.iter().map(|folder| Root::chart(folder, &self.values));
        Rendering {
            roots: self.kustomize.iter().map(|it| Root::kustomization(it)).chain(chart).collect(),
            folders: self.render.clone(),
            settings: Settings {
                namespace: namespace.map(str::to_owned),
                release: self.release.clone(),
                kube_version,
                timeout: Duration::from_secs(self.render_timeout.into()),
                may_be_empty,
                is_upgrade: false,
            },
            releases: Default::default(),
            upgrades_too: false,
        }
    }
}

/// Returns whether standard input is a pipe or a file. In a pipeline without input, it is often closed or a device.
fn is_piped() -> bool {
    #[cfg(unix)]
    fn is_fifo(kind: fs::FileType) -> bool {
        std::os::unix::fs::FileTypeExt::is_fifo(&kind)
    }
    #[cfg(not(unix))]
    fn is_fifo(_: fs::FileType) -> bool {
        false
    }
    let kind = fs::metadata("/dev/stdin").map(|it| it.file_type());
    kind.is_ok_and(|it| it.is_file() || is_fifo(it))
}
