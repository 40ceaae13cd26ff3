//! Findings in the API server's words, at a field.

use std::{cell::Cell, fmt};

use kube_yaml::Path;

use super::{findings::Findings, reason::Reason, rule::SOME_RULE, value::Value};

/// A field, and the list for findings about it and the fields below. Several fields share one list.
#[derive(Clone, Copy)]
pub struct At<'a> {
    path: Path<'a>,
    found: &'a Cell<Findings>,
}

impl<'a> At<'a> {
    pub(super) const fn new(path: Path<'a>, found: &'a Cell<Findings>) -> Self {
        At { path, found }
    }

    /// Returns a field of this object.
    pub const fn child<'b>(&'b self, name: &'b str) -> At<'b> {
        At { path: self.path.child(name), found: self.found }
    }

    /// Returns a field several levels below: `updateStrategy.rollingUpdate`.
    pub const fn below(&self, names: &'static str) -> At<'_> {
        At { path: self.path.below(names), found: self.found }
    }

    /// Returns an element of a list in this object.
    pub const fn item(&self, list: &'static str, index: usize) -> At<'_> {
        At { path: self.path.item(list, index), found: self.found }
    }

    /// Returns an element of this list.
    pub const fn index(&self, index: usize) -> At<'_> {
        At { path: self.path.index(index), found: self.found }
    }

    /// Returns the elements of this list, each with its place.
    pub fn items<T>(&self, list: impl IntoIterator<Item = T>) -> impl Iterator<Item = (T, At<'_>)> {
        list.into_iter().enumerate().map(|(i, item)| (item, self.index(i)))
    }

    /// Returns an entry of this map.
    pub const fn key<'b>(&'b self, key: &'b str) -> At<'b> {
        At { path: self.path.key(key), found: self.found }
    }

    /// Returns a different field of the object.
    pub const fn at<'b>(&'b self, path: &Path<'b>) -> At<'b> {
        At { path: *path, found: self.found }
    }

    /// Returns the path of the field.
    pub const fn path(&self) -> &Path<'a> {
        &self.path
    }

    /// Returns the number of findings so far, about any field.
    pub(crate) fn count(&self) -> usize {
        self.with(|found| found.len())
    }

    pub(crate) fn has_room(&self) -> bool {
        self.with(|found| found.has_room())
    }

    /// Takes the list out of its cell meanwhile: what runs must not use a place itself.
    fn with<T>(&self, act: impl FnOnce(&mut Findings) -> T) -> T {
        let mut found = self.found.replace(Findings::of(&SOME_RULE));
        let result = act(&mut found);
        self.found.set(found);
        result
    }

    /// Adds `Required value` (`field.Required`).
    pub fn required(&self, detail: impl fmt::Display) {
        self.push(Reason::Required, format_args!("Required value"), &detail);
    }

    /// Adds `Forbidden` (`field.Forbidden`).
    pub fn forbidden(&self, detail: impl fmt::Display) {
        self.push(Reason::Forbidden, format_args!("Forbidden"), &detail);
    }

    /// Adds `Forbidden` to each of these fields that is set.
    pub fn forbid(&self, fields: &[(&str, bool)], detail: &str) {
        for (field, _) in fields.iter().filter(|(_, is_set)| *is_set) {
            self.child(field).forbidden(detail);
        }
    }

    /// Adds `Invalid value: …` (`field.Invalid`).
    pub fn invalid<'v>(&self, value: impl Into<Value<'v>>, detail: impl fmt::Display) {
        let value = value.into();
        self.push(Reason::Invalid, format_args!("Invalid value: {value}"), &detail);
    }

    /// Adds `Duplicate value: …` (`field.Duplicate`).
    pub fn duplicate<'v>(&self, value: impl Into<Value<'v>>) {
        let value = value.into();
        self.push(Reason::Duplicate, format_args!("Duplicate value: {value}"), &"");
    }

    /// Adds `Not found: …` (`field.NotFound`).
    pub fn not_found<'v>(&self, value: impl Into<Value<'v>>) {
        self.not_found_because(value, "");
    }

    /// Adds `Not found: …` with the place that was searched (`field.NotFound` with a detail).
    pub fn not_found_because<'v>(&self, value: impl Into<Value<'v>>, detail: impl fmt::Display) {
        let value = value.into();
        self.push(Reason::NotFound, format_args!("Not found: {value}"), &detail);
    }

    /// Adds `Too many: N: must have at most M items` (`field.TooMany`).
    pub fn too_many(&self, count: usize, max: usize) {
        let items = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {items}");
        self.push(Reason::TooMany, format_args!("Too many: {count}"), &detail);
    }

    /// Adds `Unsupported value: …: supported values: "A", "B"`, in the given order (`field.NotSupported`).
    pub fn not_supported<'v>(&self, value: impl Into<Value<'v>>, supported: &[&str]) {
        let value = value.into();
        let mut detail = String::new();
        for (i, choice) in supported.iter().enumerate() {
            detail.push_str(if i == 0 { "supported values: " } else { ", " });
            detail.push_str(&Value::Str(choice).to_string());
        }
        self.push(Reason::NotSupported, format_args!("Unsupported value: {value}"), &detail);
    }

    /// Adds `Too long: may not be more than N bytes`, without the value (`field.TooLong`).
    pub fn too_long(&self, max: usize) {
        let detail = format!("may not be more than {max} bytes");
        self.push(Reason::TooLong, format_args!("Too long"), &detail);
    }

    fn push(&self, reason: Reason, body: fmt::Arguments<'_>, detail: &dyn fmt::Display) {
        self.with(|found| found.push(&self.path, reason, body, detail));
    }
}
