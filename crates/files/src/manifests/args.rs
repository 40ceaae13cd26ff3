//! The manifests that a command reads, as its user names them.

use std::{fs, path::PathBuf};

use clap::{Args, Command, Error, error::ErrorKind};

/// The flags that name manifests.
#[derive(Debug, Args)]
pub struct ManifestArgs {
    /// Files and folders; `-` is standard input, which is also read if it is a pipe and nothing is named
    #[arg(value_name = "PATH|-")]
    paths: Vec<PathBuf>,
    /// A file or folder, as with kubectl. May be given more than once
    #[arg(short, long, value_name = "PATH")]
    filename: Vec<PathBuf>,
    /// Has no effect, since folders are always read with all folders below them
    #[arg(short = 'R', long, hide = true)]
    recursive: bool,
    /// Prints how to check a kustomization, which only kustomize can build
    #[arg(short, long, value_name = "DIR", hide = true)]
    kustomize: Option<PathBuf>,
}

impl ManifestArgs {
    /// Returns all paths.
    ///
    /// # Errors
    /// Returns an error about the usage of `setguard NAME` if there is no path, or a kustomization.
    pub fn paths(&self, name: &str) -> Result<Vec<PathBuf>, Error> {
        let usage = |kind, message: &str| {
            let command = Command::new("setguard").bin_name(format!("setguard {name}"));
            Self::augment_args(command).error(kind, message)
        };
        if let Some(folder) = &self.kustomize {
            let folder = folder.display();
            let message = format!(
                "-k: setguard doesn't build kustomizations; run \
                 `kubectl kustomize {folder} | setguard {name} -`"
            );
            return Err(usage(ErrorKind::InvalidValue, &message));
        }
        let paths: Vec<_> = self.paths.iter().chain(&self.filename).cloned().collect();
        if !paths.is_empty() {
            return Ok(paths);
        }
        if is_piped() {
            return Ok(vec![PathBuf::from("-")]);
        }
        let message = "which manifests? Give files or folders, or - for standard input";
        Err(usage(ErrorKind::MissingRequiredArgument, message))
    }
}

/// Returns whether standard input is a pipe or a file. In a pipeline without input it is often a closed or empty
/// device.
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
