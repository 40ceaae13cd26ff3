//! Years of several replicas in a failing cluster, and single decisions.

mod world;

use super::*;
use world::{DAY, FORGED, HOUR, LIFETIMES, Replica, World, live};

#[test]
fn in_quiet_years_an_authority_is_made_every_eight_months_and_leaves_when_it_expires() {
    let world = live(1, |world, _| {
        let bundle = &world.cluster.configurations[0].content;
        assert!((1..=2).contains(&bundle.len()), "{bundle:?}");
    });
    // One at the start and four in 36 months. A replaced one stays for four more months.
    assert_eq!(world.renewed, 5);
    // One write for each added or removed authority; no replica writes what is already stored.
    assert!(world.stored <= 9, "{}", world.stored);
    for replica in &world.replicas {
        let newest = &world.cluster.secret.content.as_ref().unwrap()[0];
        assert_eq!(replica.served.as_ref().unwrap().0, newest.cert);
    }
}

#[test]
fn a_lost_corrupt_or_old_secret_takes_nothing_away() {
    for seed in 1..3 {
        let world = live(seed, |world, random| match random.below(200) {
            0..3 => world.cluster.secret.put(None),
            3 => {
                let mut old = world.cluster.secret.content.clone().unwrap_or_default();
                old.truncate(1);
                world.cluster.secret.put(Some(old));
            }
            4 => world.cluster.secret.put(Some(Vec::new())),
            _ => {}
        });
        // The authority was restored from memory, not created again.
        assert_eq!(world.renewed, 5);
    }
}

#[test]
fn replicas_that_start_and_are_cut_off_keep_to_it_too() {
    for seed in 1..3 {
        live(seed, |world, random| {
            let i = usize::try_from(random.below(3)).unwrap();
            if random.one_in(100) {
                world.replicas[i] = Replica::new();
            }
            if random.one_in(2000) {
                let days = Time::try_from(random.below(110)).unwrap();
                world.cut_off(i, days * DAY);
            }
            if random.one_in(300) {
                world.cluster.secret.put(None);
                // Only a replica that remembers nothing can reach the API server.
                world.replicas[i] = Replica::new();
                world.cut_off((i + 1) % 3, HOUR);
                world.cut_off((i + 2) % 3, HOUR);
            }
        });
    }
}

#[test]
fn clocks_that_are_wrong_while_the_api_server_is_away_do_no_harm() {
    for seed in 1..3 {
        live(seed, |world, random| {
            let i = usize::try_from(random.below(3)).unwrap();
            if random.one_in(300) {
                let ahead = [HOUR, 5 * DAY, 100 * DAY, 3000 * DAY];
                world.replicas[i].clock = ahead[usize::try_from(random.below(4)).unwrap()];
                world.cut_off(i, 30 * DAY);
            }
        });
    }
}

#[test]
fn what_others_publish_is_never_trusted() {
    for seed in 1..3 {
        let world = live(seed, |world, random| {
            if random.one_in(50) {
                let both = &mut world.cluster.configurations;
                let mut certs = both[0].content.clone();
                certs.insert(usize::try_from(random.below(2)).unwrap(), FORGED.to_vec());
                both[usize::try_from(random.below(2)).unwrap()].put(certs);
            }
            if random.one_in(100) {
                world.replicas[usize::try_from(random.below(3)).unwrap()] = Replica::new();
            }
            if random.one_in(200) {
                world.cluster.secret.put(None);
            }
            let known = world.replicas.iter().flat_map(|replica| &replica.plan.known);
            let stored = world.cluster.secret.content.iter().flatten();
            assert!(known.chain(stored).all(|authority| authority.cert != FORGED));
        });
        assert_eq!(world.renewed, 5);
    }
}

#[test]
fn with_the_secret_and_all_memory_lost_a_new_authority_replaces_what_is_published() {
    for seed in 1..3 {
        let mut world = live(seed, |world, random| {
            if random.one_in(500) {
                world.cluster.secret.put(None);
                world.replicas = (0..3).map(|_| Replica::new()).collect();
                // The replicas have waited, and have published the new authority and signed with it.
                for _ in 0..4 {
                    world.pass(2 * HOUR, random);
                }
            }
        });
        world.settle();
        let stored: Vec<_> =
            world.cluster.secret.content.unwrap().into_iter().map(|it| it.cert).collect();
        assert!(world.renewed > 10, "{}", world.renewed);
        assert!(world.cluster.configurations.iter().all(|it| it.content == stored));
    }
}

#[test]
fn a_replica_that_remembers_nothing_waits_for_one_that_does() {
    let mut world = World::new();
    world.settle();
    let now = world.now;
    let lost = View { stored: None, ..world.cluster.view() };
    let mut fresh = Plan::new(LIFETIMES);
    fresh.observe(now, &lost);
    fresh.observe(now + LIFETIMES.patience - 1, &lost);
    assert_eq!(fresh.write(now + LIFETIMES.patience - 1, &lost), None);
    // The other replica does not wait.
    let other = &mut world.replicas[0].plan;
    other.observe(now, &lost);
    let keep = other.known.to_vec();
    let restored = Step::Store { keep, make: false, dropped: Vec::new() };
    assert_eq!(other.write(now, &lost), Some(restored));
    // No other replica answers.
    let made = Step::Store { keep: Vec::new(), make: true, dropped: Vec::new() };
    fresh.observe(now + LIFETIMES.patience, &lost);
    assert_eq!(fresh.write(now + LIFETIMES.patience, &lost), Some(made.clone()));
    // Where nothing is published, there is nothing to wait for.
    let empty = View::default();
    let mut first = Plan::new(LIFETIMES);
    first.observe(now, &empty);
    assert_eq!(first.write(now, &empty), Some(made));
}

#[test]
fn what_others_do_to_a_bundle_is_repaired() {
    let mut world = World::new();
    world.settle();
    world.cluster.configurations[1].put(Vec::new());
    let mut view = world.cluster.view();
    let plan = &mut world.replicas[0].plan;
    plan.observe(world.now, &view);
    let bundle = world.replicas[1].plan.known.to_vec();
    let configuration = Configuration::Mutating;
    let mut dropped = Vec::new();
    let plan = &mut world.replicas[0].plan;
    let repair = |dropped: &[Vec<u8>]| {
        Some(Step::Publish { configuration, bundle: bundle.clone(), dropped: dropped.to_vec() })
    };
    assert_eq!(plan.write(world.now, &view), repair(&dropped));
    assert_eq!(plan.sign(world.now), None, "there is no better authority");
    // The bundle has one more certificate than ours.
    view.published[1].certs = view.published[0].certs.clone();
    view.published[1].clean = false;
    plan.observe(world.now, &view);
    assert_eq!(plan.write(world.now, &view), repair(&dropped));
    // The bundle has a foreign certificate.
    dropped.push(FORGED.to_vec());
    view.published[1].clean = true;
    view.published[1].certs.insert(0, FORGED.to_vec());
    plan.observe(world.now, &view);
    assert_eq!(plan.write(world.now, &view), repair(&dropped));
}

#[test]
fn a_certificate_in_the_secret_without_a_key_is_dropped() {
    let mut world = World::new();
    world.settle();
    let mut view = world.cluster.view();
    view.stored.as_mut().unwrap().keyless.push(FORGED.to_vec());
    let plan = &mut world.replicas[0].plan;
    plan.observe(world.now, &view);
    let keep = plan.known.to_vec();
    let dropped = vec![FORGED.to_vec()];
    assert_eq!(plan.write(world.now, &view), Some(Step::Store { keep, make: false, dropped }));
}

#[test]
fn no_replica_signs_with_an_authority_before_it_is_published_everywhere_and_for_a_while() {
    let mut world = World::new();
    world.settle();
    let (now, new) = (world.now, world.make());
    let mut view = world.cluster.view();
    let stored = &mut view.stored.as_mut().unwrap().authorities;
    stored.insert(0, Authority { not_before: now, ..new.clone() });
    let plan = &mut world.replicas[0].plan;
    let mut by = |view: &View, now| {
        plan.observe(now, view);
        plan.sign(now).map(|(by, _)| by.cert.clone())
    };
    assert_eq!(by(&view, now), None);
    view.published[0].certs.insert(0, new.cert.clone());
    assert_eq!(by(&view, now + 120), None);
    view.published[1].certs.insert(0, new.cert.clone());
    assert_eq!(by(&view, now + 120), None);
    assert_eq!(by(&view, now + 120 + LIFETIMES.settle - 1), None);
    assert_eq!(by(&view, now + 120 + LIFETIMES.settle), Some(new.cert));
}
