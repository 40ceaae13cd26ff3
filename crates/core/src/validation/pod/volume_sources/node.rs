use k8s_openapi::api::core::v1::{
    EmptyDirVolumeSource, GitRepoVolumeSource, HostPathVolumeSource, ImageVolumeSource,
};

use crate::validation::prelude::*;

/// `validateEmptyDirVolumeSource`: size and mode.
pub(super) fn empty_dir(source: &EmptyDirVolumeSource, path: &At<'_>) {
    let limit = source.size_limit.as_ref().and_then(|limit| Quantity::parse(&limit.0));
    if limit.is_some_and(|limit| limit.is_negative()) {
        path.child("sizeLimit").forbidden("SizeLimit field must be a valid resource quantity");
    }
    if let Some(mode) = source.mode.filter(|mode| !(0..=0o1777).contains(mode)) {
        let why = "must be a number between 0 and 01777 (octal), both inclusive";
        path.child("mode").invalid(mode, why);
    }
}

/// Follows `validateHostPathVolumeSource`.
pub(super) fn host_path(source: &HostPathVolumeSource, path: &At<'_>) {
    const TYPES: &[&str] = &[
        "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate",
        "Socket",
    ];
    let at = path.child("path");
    if source.path.is_empty() {
        at.required("");
        return;
    }
    each(names::no_backsteps(&source.path), &source.path, &at);
    one_of(source.type_.as_deref(), TYPES, &path.child("type"));
}

/// Follows `validateGitRepoVolumeSource`.
pub(super) fn git_repo(source: &GitRepoVolumeSource, path: &At<'_>) {
    required(&source.repository, &path.child("repository"));
    let directory = text(&source.directory);
    each(names::local_descending_path(directory), directory, &path.child("directory"));
}

/// Follows `validateImageVolumeSource`. Before 1.37, a template may lack the reference.
pub(super) fn image(source: &ImageVolumeSource, opts: &Options, path: &At<'_>) {
    if opts.image_reference_required {
        required(text(&source.reference), &path.child("reference"));
    }
    pull_policy(text(&source.pull_policy), &path.child("pullPolicy"));
}
