//! The policy of the editor's folder. Its file may change at any time.

use setguard_files::manifests::exclude::{Exclude, exempt_files};
use setguard_files::{error::FileError, manifests::repository::Repository, policy_file::discover};

use crate::cli::prelude::*;

#[derive(Debug, Default)]
pub(super) struct PolicyInUse {
    flags: PolicyArgs,
    no_config: bool,
    pub(super) repository: Repository,
    pub(super) policy: Policy,
    pub(super) exclude: Exclude,
    /// File patterns of the policy are relative to this folder.
    patterns_from: PathBuf,
    /// The last file with its text, or the reason why it could not be read.
    last: Option<Result<Option<(PathBuf, String)>, String>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Unchanged,
    New,
    /// The reason. The earlier policy stays in effect.
    Invalid(String),
}

impl PolicyInUse {
    /// [`PolicyInUse::refresh`] reads the policy.
    pub(super) fn new(flags: PolicyArgs, no_config: bool) -> Self {
        // Without a file, the flags are always valid.
        let without = PolicyArgs { policy: None, ..flags.clone() };
        let policy = without.parse(None).unwrap_or_default();
        PolicyInUse { flags, no_config, policy, ..PolicyInUse::default() }
    }

    pub(super) fn folder(&self) -> &Path {
        self.repository.upwards().next().unwrap_or(Path::new(""))
    }

    pub(super) fn root(&self) -> &Path {
        self.repository.upwards().last().unwrap_or(Path::new(""))
    }

    /// Also true for a file that would be the policy of its folder.
    pub(super) fn is_policy(&self, path: &Path) -> bool {
        let is_named = self.flags.policy.as_deref() == Some(path);
        let is_in_use = match &self.last {
            Some(Ok(Some((in_use, _)))) => in_use == path,
            _ => false,
        };
        is_named || is_in_use || discover::has_name(path)
    }

    pub(super) fn refresh(&mut self) -> Reading {
        let (now, file) = match self.file() {
            Ok(file) => (self.read(file.as_ref()), file),
            Err(error) => (Err(error.to_string()), None),
        };
        if self.last.as_ref() == Some(&now) {
            return Reading::Unchanged;
        }
        let is_first = self.last.is_none();
        let flags = PolicyArgs { policy: file.clone(), ..self.flags.clone() };
        let parsed = now.clone().and_then(|read| {
            let text = read.as_ref().map(|(_, text)| text.as_str());
            flags.parse(text).map_err(|error| error.to_string())
        });
        self.last = Some(now);
        match parsed {
            Ok(policy) => {
                let root = file.filter(|_| self.flags.policy.is_none());
                let root = root.as_deref().map(discover::folder_of).unwrap_or_default();
                self.exclude = Exclude::new(&[], &policy.exclude, &root);
                self.policy = policy;
                self.patterns_from = root;
                Reading::New
            }
            Err(error) => {
                let instead = if is_first { "the default policy" } else { "the earlier policy" };
                Reading::Invalid(format!("{error}\n{instead} is in effect"))
            }
        }
    }

    /// Applies the exceptions that name this file.
    pub(super) fn assign(&mut self, name: &str, path: &Path) {
        let file = (name.to_owned(), vec![path.to_owned()]);
        exempt_files(&mut self.policy, &self.patterns_from, std::iter::once(file));
    }

    fn file(&self) -> Result<Option<PathBuf>, FileError> {
        match &self.flags.policy {
            Some(named) => Ok(Some(named.clone())),
            None if self.no_config => Ok(None),
            // A discovered path is relative to the folder, and the process may run elsewhere.
            None => Ok(discover::discover(&self.repository)?.map(|it| self.folder().join(it))),
        }
    }

    fn read(&self, file: Option<&PathBuf>) -> Result<Option<(PathBuf, String)>, String> {
        let Some(file) = file else { return Ok(None) };
        let flags = PolicyArgs { policy: Some(file.clone()), ..self.flags.clone() };
        let text = flags.read().map_err(|error| error.to_string())?;
        Ok(text.map(|text| (file.clone(), text)))
    }
}
