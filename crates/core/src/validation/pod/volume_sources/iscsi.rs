use k8s_openapi::api::core::v1::{FCVolumeSource, ISCSIVolumeSource};

use crate::validation::prelude::*;

const LUN: &str = "must be between 0 and 255, inclusive";

/// Follows `validateISCSIVolumeSource`.
pub(super) fn iscsi(source: &ISCSIVolumeSource, path: &At<'_>) {
    required(&source.target_portal, &path.child("targetPortal"));
    if source.iqn.is_empty() {
        path.child("iqn").required("");
    } else {
        iscsi_name(&source.iqn, &path.child("iqn"));
    }
    if !(0..=255).contains(&source.lun) {
        path.child("lun").invalid(source.lun, LUN);
    }
    let chap = source.chap_auth_discovery == Some(true) || source.chap_auth_session == Some(true);
    if chap && source.secret_ref.is_none() {
        path.child("secretRef").required("");
    }
    if let Some(initiator) = &source.initiator_name {
        iscsi_name(initiator, &path.child("initiatorname"));
    }
}

/// Names that are too long together. `validateVolumeSource` reports them even if the volume has a different source.
pub(super) fn initiator(volume: &Volume, path: &At<'_>) {
    if let Some(iscsi) = &volume.iscsi
        && iscsi.initiator_name.is_some()
        && volume.name.len() + 1 + iscsi.target_portal.len() > 64
    {
        let why = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters \
                   if iscsi.initiatorName is specified.";
        path.child("name").invalid(&volume.name, why);
    }
}

fn iscsi_name(name: &str, path: &At<'_>) {
    let of_length = |rest: &str, length: usize| {
        // The dot in upstream's regular expression matches any character.
        let mut rest = rest.chars();
        rest.next().is_some_and(|any| any != '\n')
            && rest.clone().count() == length
            && rest.all(|c| c.is_ascii_alphanumeric())
    };
    let good = if name.starts_with("iqn") {
        is_iqn(name)
    } else if let Some(rest) = name.strip_prefix("eui") {
        of_length(rest, 16)
    } else if let Some(rest) = name.strip_prefix("naa") {
        of_length(rest, 32)
    } else {
        path.invalid(name, "must be valid format starting with iqn, eui, or naa");
        return;
    };
    if !good {
        path.invalid(name, "must be valid format");
    }
}

/// `iscsiInitiatorIqnRegex`: the text ends in `iqn.YYYY-MM.naming-authority:name`. Its start is not anchored.
fn is_iqn(text: &str) -> bool {
    let after_date = |rest: &str| {
        let bytes = rest.as_bytes();
        bytes.len() > 8
            && bytes[..4].iter().all(u8::is_ascii_digit)
            && bytes[4] == b'-'
            && bytes[5..7].iter().all(u8::is_ascii_digit)
            && bytes[7] == b'.'
    };
    text.match_indices("iqn.").any(|(at, prefix)| {
        let rest = &text[at + prefix.len()..];
        after_date(rest)
            && rest.get(8..).is_some_and(|rest| {
                let authority =
                    rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"-.".contains(b));
                let end = authority.count();
                let tail = rest[end..].strip_prefix(':');
                end > 0
                    && tail.is_some_and(|name| {
                        !name.is_empty()
                            && !name.contains(|c: char| ",;*&$|\t\n\x0c\r ".contains(c))
                    })
            })
    })
}

/// Follows `validateFCVolumeSource`.
pub(super) fn fc(source: &FCVolumeSource, path: &At<'_>) {
    let (targets, wwids) = (list(&source.target_wwns), list(&source.wwids));
    let at = path.child("targetWWNs");
    if targets.is_empty() && wwids.is_empty() {
        at.required("must specify either targetWWNs or wwids, but not both");
    }
    if !targets.is_empty() && !wwids.is_empty() {
        let why = "targetWWNs and wwids can not be specified simultaneously";
        at.invalid(Value::json(&targets), why);
    }
    if !targets.is_empty() {
        let at = path.child("lun");
        match source.lun {
            None => at.required("lun is required if targetWWNs is specified"),
            Some(lun) if !(0..=255).contains(&lun) => at.invalid(lun, LUN),
            Some(_) => {}
        }
    }
}
