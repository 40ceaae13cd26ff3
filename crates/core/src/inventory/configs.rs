//! ConfigMaps and Secrets: the keys that they have, and the keys that pods read; and claims that pods name.

use k8s_openapi::api::core::v1::VolumeMount;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{
    hosts,
    labels::ALLOCATION,
    leftovers,
    read::shapes::{Marks, Metadata},
    removed_keys,
};
use crate::inventory::prelude::*;
use crate::kubernetes::{
    absent::text,
    config_references::visit_config_references,
    exec::{actions, executed, is_shell},
    names::{dns1123_label, is_label_value},
};

type Texts = Box<[(Box<str>, Box<str>)]>;

/// A ConfigMap, Secret or claim. Other values are never kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// `None` if others may add keys.
    pub(super) keys: Option<BTreeSet<Box<str>>>,
    /// The names of hosts in a ConfigMap, each with its key.
    pub(super) hosts: Texts,
    pub(super) rare: Option<Box<Rare>>,
}

/// Data that few ConfigMaps and Secrets have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rare {
    /// Numbers of templates in a ConfigMap, each with its key.
    pub(crate) numbers: Texts,
    /// The files of a ConfigMap that begin as a program, or that a shell cannot read.
    pub(crate) scripts: Box<[Script]>,
    /// Files with keys that a later release of some program refuses, each with the key.
    pub(crate) removed_keys: Box<[(Box<str>, &'static str)]>,
    /// When it is applied.
    pub(crate) order: Order,
    pub(crate) refused: Option<Refused>,
}

/// Why the API server refuses an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refused {
    pub(crate) why: Box<str>,
    pub(crate) help: Box<str>,
}

impl Refused {
    pub(crate) fn new(why: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Self {
        Refused { why: why.into(), help: help.into() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.why.len() + self.help.len() + 2 * ALLOCATION
    }

    /// Labels and annotations are texts.
    pub(super) fn of_metadata(metadata: &Metadata<Marks>) -> Option<Self> {
        let Metadata { labels, annotations, .. } = metadata;
        let of_labels = labels.as_ref().and_then(|it| Refused::of_labels("the label ", it));
        of_labels.or_else(|| Refused::of("the annotation ", false, annotations.as_ref()?))
    }

    pub(super) fn of_labels(what: &str, labels: &Marks) -> Option<Self> {
        let mut texts = labels.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
        let mut wrong = || texts.find(|(_, text)| !is_filled_in(text) && !is_label_value(text));
        let help =
            "use up to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends";
        let refused = |key, text| Refused::new(format!("{what}{key} cannot be {text:?}"), help);
        Refused::of(what, false, labels).or_else(|| wrong().map(|(key, text)| refused(key, text)))
    }

    /// Releases differ about a digit in front. A prefix or suffix may follow.
    pub(super) fn of_service_name(name: &str) -> Option<Self> {
        let is_refused = !is_filled_in(name) && !dns1123_label(name.trim_matches('-')).is_empty();
        let help = "use up to 63 lower-case letters, digits and '-', with a letter in front";
        is_refused.then(|| Refused::new("a Service cannot have this name", help))
    }

    /// Kubernetes: `IsConfigMapKey`, k8s.io/apimachinery/pkg/util/validation/validation.go.
    fn of_key(key: &str) -> Option<Self> {
        let is_right = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_refused = !is_filled_in(key) && !key.chars().all(is_right);
        is_refused.then(|| {
            let help =
                "use only letters, digits, '-', '_' and '.'; a path belongs in items of the volume";
            Refused::new(format!("a key cannot be {key:?}"), help)
        })
    }

    /// Kubernetes: `ValidateSecret`, pkg/apis/core/validation/validation.go. One without keys may be a patch.
    fn of_type(type_: &str, has: impl Fn(&str) -> bool) -> Option<Self> {
        let needed: &[&str] = match type_ {
            "kubernetes.io/dockercfg" => &[".dockercfg"],
            "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
            "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
            "kubernetes.io/tls" => &["tls.crt", "tls.key"],
            _ => return None,
        };
        let lacking = needed.iter().find(|it| !has(it))?;
        let help = format!("add {lacking}, or leave out the type");
        Some(Refused::new(format!("its type {type_} needs the key {lacking}"), help))
    }

    /// Kubernetes: `ConfigMap` and `Secret`, core/v1/types.go. Go decodes base64 with padding, and skips line breaks.
    pub(super) fn of(field: &str, in_base64: bool, values: &Marks) -> Option<Self> {
        values.iter().find_map(|(key, value)| {
            let is_plain = value.is_string();
            let is_refused = match value {
                Value::Null => false,
                Value::String(text) if is_filled_in(text) => false,
                Value::String(text) if text.starts_with("ref+") || text.starts_with("vault:") => {
                    false
                }
                Value::String(text) => in_base64 && !is_base64(text),
                // Go reads bytes from a list too.
                Value::Array(_) => !in_base64,
                _ => true,
            };
            is_refused.then(|| match is_plain {
                true => Refused::new(
                    format!("{field}{key} is not in base64"),
                    "write it in base64, or as text in stringData",
                ),
                false => Refused::new(
                    format!("{field}{key} is not a text"),
                    format!("write the value of {field}{key} in quotes"),
                ),
            })
        })
    }
}

/// Something replaces a part of the text.
pub(crate) fn is_filled_in(text: &str) -> bool {
    text.contains(['$', '{', '<', '[', '%'])
}

fn is_base64(text: &str) -> bool {
    let text = text.replace(['\r', '\n'], "");
    let plain = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - plain.len() <= 2
        && plain.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'/'))
}

const KEEP: &str = "keep";

/// The annotations of hooks, and Argo CD's options for an object.
pub(crate) const HELM_HOOK: &str = "helm.sh/hook";
pub(crate) const ARGO_HOOK: &str = "argocd.argoproj.io/hook";
pub(crate) const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// When Helm and Argo CD apply an object, and whether they delete it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Order {
    pub(crate) helm: Option<Box<str>>,
    pub(crate) deleted: Option<Box<str>>,
    pub(crate) argo: Option<Box<str>>,
    wave: Option<Box<str>>,
    policy: Option<Box<str>>,
    options: Option<Box<str>>,
}

impl Order {
    pub(super) fn of<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Self {
        let get = |key: &str| annotation(key).map(Into::into);
        Order {
            helm: get(HELM_HOOK),
            deleted: get("helm.sh/hook-delete-policy"),
            argo: get(ARGO_HOOK),
            wave: get("argocd.argoproj.io/sync-wave"),
            policy: get("helm.sh/resource-policy").or_else(|| {
                let prune = annotation("kustomize.toolkit.fluxcd.io/prune")?;
                (prune == "disabled").then(|| KEEP.into())
            }),
            options: get(SYNC_OPTIONS),
        }
    }

    pub(crate) fn is_hook(&self) -> bool {
        self.helm.is_some() || self.argo.is_some()
    }

    /// It stays in the cluster when the manifests no longer have it.
    pub(super) fn is_kept(&self) -> bool {
        self.policy.as_deref() == Some(KEEP)
            || self.options.as_ref().is_some_and(|it| it.contains("Prune=false"))
    }

    pub(crate) fn wave(&self) -> i32 {
        self.wave.as_ref().and_then(|it| it.parse().ok()).unwrap_or(0)
    }
}

/// The known facts about a file of a ConfigMap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Script {
    pub(crate) key: Box<str>,
    /// It begins with `#!`, or is binary.
    pub(crate) is_program: bool,
    /// The first line ends in a carriage return.
    pub(crate) has_return: bool,
    /// Its keywords end in a carriage return.
    pub(crate) is_unreadable: bool,
}

impl Script {
    fn of((key, text): (&String, &String)) -> Option<Self> {
        let keyword = |line: &str| {
            let word = line.strip_suffix('\r').and_then(|it| it.split_whitespace().next_back());
            word.is_some_and(|it| matches!(it, "then" | "do" | "fi" | "done" | "esac"))
        };
        let is_program = text.starts_with("#!");
        let has_return = text.lines().next() != text.split('\n').next();
        let is_unreadable = text.split('\n').any(keyword);
        let key = key.as_str().into();
        (is_program || is_unreadable).then_some(Script {
            key,
            is_program,
            has_return,
            is_unreadable,
        })
    }
}

/// The type of Secrets that get a token from a controller of Kubernetes.
const TOKEN: &str = "kubernetes.io/service-account-token";

/// Parts of the labels and annotations that ask a program to add keys.
const ADDED_BY: [&str; 5] = ["autogenerate", "inject", "reflect", "replicat", "service-account"];

type Entries = Option<BTreeMap<Box<str>, IgnoredAny>>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    metadata: Metadata<Marks>,
    #[serde(rename = "type")]
    type_: Option<String>,
    data: Option<Marks>,
    binary_data: Entries,
    string_data: Option<Marks>,
}

impl Config {
    pub(super) fn read(kind: Kind, json: &str) -> Option<(Metadata<Marks>, Self)> {
        let Raw { metadata, type_, data, binary_data, string_data } =
            serde_json::from_str(json).ok()?;
        let (data, string_data) = (data.unwrap_or_default(), string_data.unwrap_or_default());
        let refused = Refused::of("data.", kind == Kind::Secret, &data)
            .or_else(|| Refused::of("stringData.", false, &string_data))
            .or_else(|| Refused::of_metadata(&metadata))
            .or_else(|| {
                let keys = data.keys().chain(string_data.keys());
                let mut keys = keys.chain(binary_data.iter().flat_map(BTreeMap::keys));
                keys.find_map(|it| Refused::of_key(it))
            })
            .or_else(|| {
                let has = |key: &str| data.contains_key(key) || string_data.contains_key(key);
                let has_any = !data.is_empty() || !string_data.is_empty();
                Refused::of_type(type_.as_deref().filter(|_| has_any)?, has)
            });
        // The API server refuses a ConfigMap with a value that is not a text.
        let texts = data
            .iter()
            .filter(|_| kind == Kind::ConfigMap)
            .map(|(key, value)| Some((String::from(&**key), value.as_str()?.to_owned())));
        let texts: BTreeMap<_, _> = texts.collect::<Option<_>>().unwrap_or_default();
        let mut marks =
            metadata.labels.iter().chain(&metadata.annotations).flat_map(BTreeMap::keys);
        let is_open = type_.as_deref() == Some(TOKEN)
            || marks.any(|mark| ADDED_BY.iter().any(|part| mark.contains(part)));
        let binary = binary_data.iter().flatten().map(|(key, _)| Script {
            key: key.clone(),
            is_program: true,
            has_return: false,
            is_unreadable: false,
        });
        let scripts = texts.iter().filter_map(Script::of).chain(binary).collect();
        let others = binary_data.into_iter().flat_map(BTreeMap::into_keys);
        let others = others.chain(string_data.into_keys());
        let keys: BTreeSet<_> = data.into_keys().chain(others).collect();
        // An object without data is there to be filled.
        let keys = Some(keys).filter(|keys| !is_open && !keys.is_empty());
        let order =
            Order::of(|key| metadata.annotations.as_ref()?.get(key).and_then(Value::as_str));
        let rare = Rare {
            numbers: leftovers::of_config_map(&texts),
            scripts,
            removed_keys: removed_keys::of_config_map(&texts),
            order,
            refused,
        };
        let rare = (rare != Rare::default()).then(|| Box::new(rare));
        Some((metadata, Config { keys, hosts: hosts::of_config_map(&texts), rare }))
    }

    pub(super) fn bytes(&self) -> usize {
        let keys = self.keys.iter().flatten().map(|key| key.len() + 2 * ALLOCATION);
        let numbers = self.rare.iter().flat_map(|it| &it.numbers);
        let texts = self.hosts.iter().chain(numbers);
        let texts = texts.map(|it| it.0.len() + it.1.len() + 4 * ALLOCATION);
        let rare = self.rare.iter().map(|it| {
            let scripts = it.scripts.iter().map(|it| it.key.len() + ALLOCATION);
            let refused = it.refused.as_ref().map_or(0, |it| it.bytes());
            size_of::<Rare>()
                + refused
                + it.scripts.len() * size_of::<Script>()
                + it.removed_keys.iter().map(|it| it.0.len() + 4 * ALLOCATION).sum::<usize>()
                + scripts.sum::<usize>()
        });
        keys.chain(texts).chain(rare).sum()
    }
}

/// A ConfigMap, Secret or claim that a pod cannot do without.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Use {
    pub(crate) kind: Kind,
    pub(crate) name: Box<str>,
    /// The key that is read, unless all are.
    pub(crate) key: Option<Box<str>>,
    pub(crate) how: How,
    pub(crate) field: Field,
}

/// How a pod reads a ConfigMap or Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// As variables.
    Env,
    /// As files of a volume.
    Volume,
    /// As one file or directory of a volume.
    SubPath,
    /// As a directory with the name of a file.
    Directory,
    /// As one file of a volume, named in an argument.
    Argument,
    /// As the program that a container executes.
    Executed,
    /// As the script that a shell reads.
    Script,
}

impl Use {
    /// Returns the use of a file in a mounted volume that has all keys of one object.
    fn of_file(
        volumes: &[(String, Kind, Box<str>)],
        mount: &VolumeMount,
        file: &str,
        how: How,
        field: Field,
    ) -> Option<Self> {
        let (_, kind, name) = volumes.iter().find(|it| it.0 == mount.name)?;
        Some(Use { kind: *kind, name: name.clone(), key: Some(file.into()), how, field })
    }

    /// Returns the uses of a pod, except optional ones.
    pub(super) fn all(pod: &PodSpec) -> Box<[Self]> {
        let mut uses = Vec::new();
        let mut volumes = Vec::new();
        visit_config_references(pod, &mut |it, path| {
            if it.is_optional {
                return;
            }
            let how = if it.volume.is_some() { How::Volume } else { How::Env };
            let (name, key): (Box<str>, _) = (it.name.into(), it.key.map(Into::into));
            if let Some(volume) = it.volume.filter(|it| it.projected.is_none() && key.is_none()) {
                volumes.push((volume.name.clone(), it.kind, name.clone()));
            }
            uses.push(Use { kind: it.kind, name, key, how, field: path.to_field() });
        });
        for (volume, path) in VOLUMES.items(list(&pod.volumes)) {
            let Some(claim) = &volume.persistent_volume_claim else { continue };
            let field = path.child("persistentVolumeClaim").child("claimName").to_field();
            let (kind, name) = (Kind::PersistentVolumeClaim, claim.claim_name.as_str().into());
            uses.push(Use { kind, name, key: None, how: How::Volume, field });
        }
        visit(pod, &POD_SPEC, &mut |container, path| {
            of_mounts(container, &volumes, path, &mut uses);
            of_arguments(container, &volumes, path, &mut uses);
            of_command(container, list(&container.command), &volumes, path, &mut uses);
            actions(container, path, &mut |it| {
                of_command(container, it.command, &volumes, it.path, &mut uses);
            });
        });
        uses.into()
    }
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Adds the files that a container mounts alone, of volumes with all keys of one object.
fn of_mounts(
    container: &Container,
    volumes: &[(String, Kind, Box<str>)],
    path: &Path<'_>,
    uses: &mut Vec<Use>,
) {
    for (i, mount) in list(&container.volume_mounts).iter().enumerate() {
        let file = text(&mount.sub_path).trim_start_matches("./").trim_end_matches('/');
        let (file, how, field) = match (file, &mount.sub_path_expr) {
            ("", None) => (last_part(&mount.mount_path), How::Directory, "mountPath"),
            _ => (file, How::SubPath, "subPath"),
        };
        // The directories of the kubelet begin so.
        let is_file = how == How::SubPath || file.contains('.');
        if file.is_empty() || file.starts_with('.') || !is_file {
            continue;
        }
        let field = path.item("volumeMounts", i).child(field).to_field();
        uses.extend(Use::of_file(volumes, mount, file, how, field));
    }
}

/// Adds the files in arguments such as `--config=/etc/agent/agent.yaml`, of volumes with all keys of one object.
fn of_arguments(
    container: &Container,
    volumes: &[(String, Kind, Box<str>)],
    path: &Path<'_>,
    uses: &mut Vec<Use>,
) {
    let mounts = list(&container.volume_mounts);
    for (name, words) in [("command", &container.command), ("args", &container.args)] {
        let at = path.child(name);
        for (i, word) in list(words).iter().enumerate() {
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            let Some((folder, file)) = value.rsplit_once('/') else { continue };
            let is_in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let is_file =
                file.contains('.') && !file.starts_with('.') && file.chars().all(is_in_name);
            let is_folder = |it: &&VolumeMount| it.mount_path.trim_end_matches('/') == folder;
            // A mount of the file itself replaces the file.
            if !is_file || mounts.iter().any(|it| it.mount_path == value) {
                continue;
            }
            let is_whole = |it: &&VolumeMount| it.sub_path.is_none() && it.sub_path_expr.is_none();
            let Some(mount) = mounts.iter().find(is_folder).filter(is_whole) else { continue };
            let field = at.index(i).to_field();
            uses.extend(Use::of_file(volumes, mount, file, How::Argument, field));
        }
    }
}

/// Adds the file that a command executes, or `FILE` of `sh FILE`, of a volume with all keys of one object.
fn of_command(
    container: &Container,
    command: &[String],
    volumes: &[(String, Kind, Box<str>)],
    path: &Path<'_>,
    uses: &mut Vec<Use>,
) {
    let (i, file, how) = match command {
        [shell, file, ..] if is_shell(shell) && file.starts_with('/') => (1, &**file, How::Script),
        _ => match executed(command) {
            // A shell runs a file that the kernel cannot execute as a script.
            Some((i, file)) => (i, file, if i == 0 { How::Executed } else { How::Script }),
            None => return,
        },
    };
    let below = |mount: &VolumeMount| {
        let rest = file.strip_prefix(mount.mount_path.trim_end_matches('/'))?;
        let key = match (text(&mount.sub_path), rest.strip_prefix('/')) {
            ("", Some(key)) => key,
            (key, None) if rest.is_empty() => key,
            _ => return None,
        };
        Some(key.to_owned()).filter(|key| !key.is_empty() && !key.contains('/'))
    };
    let mounts = list(&container.volume_mounts).iter().filter(|it| it.sub_path_expr.is_none());
    let nearest = mounts.filter_map(|it| Some((it, below(it)?)));
    let Some((mount, key)) = nearest.max_by_key(|(it, _)| it.mount_path.len()) else { return };
    let field = path.child("command").index(i).to_field();
    uses.extend(Use::of_file(volumes, mount, &key, how, field));
}
