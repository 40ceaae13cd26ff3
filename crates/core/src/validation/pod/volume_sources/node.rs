use k8s_openapi::api::core::v1::{
    EmptyDirVolumeSource, GitRepoVolumeSource, HostPathVolumeSource, ImageVolumeSource,
};

use crate::validation::prelude::*;

/// `validateEmptyDirVolumeSource`: size and mode.
pub(super) fn empty_dir(source: &EmptyDirVolumeSource, path: &Path<'_>, found: &mut Findings) {
    let limit = source.size_limit.as_ref().and_then(|limit| Quantity::parse(&limit.0));
    if limit.is_some_and(|limit| limit.is_negative()) {
        let why = "SizeLimit field must be a valid resource quantity";
        found.forbidden(&path.child("sizeLimit"), why);
    }
    if let Some(mode) = source.mode.filter(|mode| !(0..=0o1777).contains(mode)) {
        let why = "must be a number between 0 and 01777 (octal), both inclusive";
        found.invalid(&path.child("mode"), mode, why);
    }
}

/// Follows `validateHostPathVolumeSource`.
pub(super) fn host_path(source: &HostPathVolumeSource, path: &Path<'_>, found: &mut Findings) {
    const TYPES: &[&str] = &[
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let at = path.child("path");
    if source.path.is_empty() {
        found.required(&at, "");
        return;
    }
    each(names::no_backsteps(&source.path), &source.path, &at, found);
    one_of(source.type_.as_deref(), TYPES, &path.child("type"), found);
}

/// Follows `validateGitRepoVolumeSource`.
pub(super) fn git_repo(source: &GitRepoVolumeSource, path: &Path<'_>, found: &mut Findings) {
    required(&source.repository, &path.child("repository"), found);
    let directory = text(&source.directory);
    each(names::local_descending_path(directory), directory, &path.child("directory"), found);
}

/// Follows `validateImageVolumeSource`. Before 1.37, a template may lack the reference.
pub(super) fn image(
    source: &ImageVolumeSource,
    opts: &Options,
    path: &Path<'_>,
    found: &mut Findings,
) {
    if opts.image_reference_required {
        required(text(&source.reference), &path.child("reference"), found);
    }
    pull_policy(text(&source.pull_policy), &path.child("pullPolicy"), found);
}
