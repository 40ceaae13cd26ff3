//! The annotation that lets listed users exceed a limit.

use jiff::{ToSpan as _, civil::Date};

use super::context::Origin;
use crate::engine::prelude::*;
use crate::{
    finding::shorten,
    object::annotations::EXCEED_ANNOTATION,
    policy::limit::Limit,
    rules::limit_exceeded::{Consequence, LIMIT_EXCEEDED},
};

/// The last day must be near, so that no annotation waits unnoticed for a listed user's change.
const MOST_DAYS: i32 = 31;

/// Messages shorten longer parts of an annotation and longer names.
const LONGEST: usize = 100;

pub(super) enum Permit {
    /// The change may exceed the limit, for this reason.
    Granted(Consequence, String),
    /// The annotation has no effect on the limit, for this reason.
    Refused(Consequence, String),
}

/// Also returns remarks on mistakes in the annotation.
pub(super) fn read(text: &str, limit: &Limit, cx: &Context<'_>) -> (Vec<Permit>, Vec<String>) {
    let (mut permits, mut remarks) = (Vec::new(), Vec::new());
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match parse(part) {
            Ok((consequence, last)) => permits.push(match refusal(consequence, last, limit, cx) {
                Some(why) => Permit::Refused(consequence, remark(&why)),
                None => Permit::Granted(consequence, reason(consequence, last, cx)),
            }),
            Err(why) => remarks.push(remark(&why)),
        }
    }
    (permits, remarks)
}

fn remark(text: &str) -> String {
    format!("{}: {EXCEED_ANNOTATION} has no effect: {text}", LIMIT_EXCEEDED.id)
}

fn parse(part: &str) -> Result<(Consequence, Date), String> {
    let shown = shorten(part, LONGEST);
    let Some((name, day)) = part.split_once('=') else {
        return Err(format!("{shown:?} is not LIMIT=LAST-DAY, such as deletesClaims=2027-03-31"));
    };
    let name = name.trim();
    let Some(consequence) = Consequence::ALL.into_iter().find(|it| it.as_str() == name) else {
        let names = Consequence::ALL.map(Consequence::as_str).join(", ");
        return Err(format!("there is no limit {:?}, only {names}", shorten(name, LONGEST)));
    };
    // Dates have other forms too. Only the form of an exception's last day is accepted.
    let day = day.trim();
    let is_plain = day.len() == 10 && day.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let last = is_plain.then(|| day.parse().ok()).flatten();
    let last = last
        .ok_or_else(|| format!("{:?} is not a date such as 2027-03-31", shorten(day, LONGEST)))?;
    Ok((consequence, last))
}

/// `None` if the annotation has an effect.
fn refusal(
    consequence: Consequence,
    last: Date,
    limit: &Limit,
    cx: &Context<'_>,
) -> Option<String> {
    let name = consequence.as_str();
    if last < cx.today {
        return Some(format!("its last day for {name} was {last}"));
    }
    if cx.today.checked_add(MOST_DAYS.days()).is_ok_and(|most| last > most) {
        return Some(format!(
            "its last day for {name} is {last}, more than {MOST_DAYS} days ahead"
        ));
    }
    let Some(listed) = &limit.may_exceed else {
        return Some(format!("the policy lists no user who may exceed {name} (mayExceed)"));
    };
    match (cx.requester, cx.origin) {
        (Some(user), _) if user.is_among(&listed.users, &listed.groups) => None,
        (Some(user), _) => Some(format!(
            "the policy doesn't list {:?} among those who may exceed {name} (mayExceed)",
            shorten(&user.username, LONGEST)
        )),
        (None, Origin::Manifest) if listed.in_manifests => None,
        (None, _) => Some(format!(
            "who will apply this isn't known here; the webhook honors it for those whom the policy lists, \
             and check and plan with mayExceed.inManifests ({name})"
        )),
    }
}

fn reason(consequence: Consequence, last: Date, cx: &Context<'_>) -> String {
    let name = consequence.as_str();
    match cx.requester {
        Some(user) => format!("{name} until {last}, by {}", shorten(&user.username, LONGEST)),
        None => format!("{name} until {last}"),
    }
}
