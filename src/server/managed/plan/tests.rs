//! Simulates years of several replicas in a failing cluster, one step at a time.

use super::*;

const HOUR: Time = 3600;
const DAY: Time = 24 * HOUR;
const START: Time = 1_800_000_000;
const LIFETIMES: Lifetimes = Lifetimes { authority: 365 * DAY, leaf: 7 * DAY, settle: HOUR };

const BOTH: [Configuration; 2] = [Configuration::Validating, Configuration::Mutating];

/// A deterministic random number generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// An object with a resourceVersion.
#[derive(Clone, Default)]
struct Versioned<T> {
    version: u64,
    content: T,
}

impl<T> Versioned<T> {
    /// Accepts a write if it is based on the current version.
    fn write(&mut self, based_on: u64, content: T) -> bool {
        let fits = based_on == self.version;
        if fits {
            self.put(content);
        }
        fits
    }

    fn put(&mut self, content: T) {
        self.version += 1;
        self.content = content;
    }
}

#[derive(Clone, Default)]
struct Cluster {
    /// `None` if it is lost or corrupt.
    secret: Versioned<Option<Vec<Authority>>>,
    /// In the order of [`BOTH`].
    configurations: [Versioned<Vec<Authority>>; 2],
}

impl Cluster {
    fn view(&self) -> View {
        let published = BOTH.into_iter().zip(&self.configurations).map(|(configuration, it)| {
            let ours = it.content.iter().map(|a| Authority { key: None, ..a.clone() }).collect();
            Published { configuration, ours, clean: true }
        });
        View { stored: self.secret.content.clone(), published: published.collect() }
    }
}

struct Replica {
    plan: Plan,
    /// What it has read and not yet acted on.
    read: Option<Cluster>,
    /// How far its own clock is ahead while it is cut off.
    clock: Time,
    /// When it can reach the API server again.
    cut_off: Time,
    served: Option<(Vec<u8>, Time)>,
    /// When it started to serve.
    began: Time,
}

impl Replica {
    fn new() -> Self {
        Replica {
            plan: Plan::new(LIFETIMES),
            read: None,
            clock: 0,
            cut_off: 0,
            served: None,
            began: 0,
        }
    }
}

struct World {
    now: Time,
    cluster: Cluster,
    /// The `caBundle`s that an API server may still use: it sees a change late.
    taken_up: Vec<(Time, [Vec<Authority>; 2])>,
    replicas: Vec<Replica>,
    made: u8,
    /// How many writes of the Secret succeeded, and how many of those added a new authority.
    stored: u32,
    renewed: u32,
    seen: HashMap<Vec<u8>, Authority>,
}

impl World {
    fn new() -> Self {
        World {
            now: START,
            cluster: Cluster::default(),
            taken_up: Vec::new(),
            replicas: (0..3).map(|_| Replica::new()).collect(),
            made: 0,
            stored: 0,
            renewed: 0,
            seen: HashMap::new(),
        }
    }

    fn make(&mut self) -> Authority {
        self.made += 1;
        let authority = Authority {
            cert: vec![self.made],
            key: Some(vec![self.made]),
            not_before: self.now - BACKDATE,
            not_after: self.now + LIFETIMES.authority,
        };
        self.seen.insert(authority.cert.clone(), authority.clone());
        authority
    }

    /// Lets one replica take a step: it reads, or writes based on what it has read; then it signs.
    fn act(&mut self, i: usize, what: u64) {
        let now = self.now;
        let cut_off = now < self.replicas[i].cut_off;
        let read = self.replicas[i].read.take();
        if what > 0 && !cut_off {
            let Some(read) = read else {
                let replica = &mut self.replicas[i];
                replica.plan.observe(now, &self.cluster.view());
                replica.read = Some(self.cluster.clone());
                return;
            };
            match self.replicas[i].plan.write(now, &read.view()) {
                Some(Step::Store { mut keep, make }) => {
                    if make {
                        let new = self.make();
                        keep.insert(0, new);
                    }
                    let stored = self.cluster.secret.write(read.secret.version, Some(keep));
                    self.stored += u32::from(stored);
                    self.renewed += u32::from(stored && make);
                }
                Some(Step::Publish { configuration, bundle }) => {
                    let at = BOTH.iter().position(|it| *it == configuration).unwrap();
                    let version = read.configurations[at].version;
                    self.cluster.configurations[at].write(version, bundle);
                }
                None => {}
            }
        }
        let replica = &mut self.replicas[i];
        let clock = if cut_off { now + replica.clock } else { now };
        if let Some((by, until)) = replica.plan.sign(clock) {
            let cert = by.cert.clone();
            replica.plan.signed(clock, cert.clone(), until);
            if replica.served.is_none() {
                replica.began = now;
            }
            replica.served = Some((cert, until));
        }
    }

    /// Checks that every leaf verifies against the published `caBundle`s, and against older ones
    /// that an API server may still use.
    fn check(&mut self, lag: Time) {
        let bundles = self.cluster.configurations.clone().map(|it| it.content);
        if self.taken_up.last().is_none_or(|(_, last)| *last != bundles) {
            self.taken_up.push((self.now, bundles));
        }
        let old = self.taken_up.iter().rposition(|(at, _)| *at <= self.now - lag).unwrap_or(0);
        self.taken_up.drain(..old);
        for (i, replica) in self.replicas.iter().enumerate() {
            let Some((cert, until)) = &replica.served else { continue };
            let authority = &self.seen[cert];
            let at = (self.now - START) as f64 / DAY as f64;
            assert!(self.now < *until, "day {at}: replica {i} serves an expired leaf");
            assert!(*until <= authority.not_after, "day {at}: the leaf outlives its authority");
            // A replica that has just started is not in the Service yet.
            let sees = if self.now - replica.began < lag { self.taken_up.len() - 1 } else { 0 };
            for bundle in self.taken_up[sees..].iter().flat_map(|(_, bundles)| bundles) {
                let trusted = bundle.iter().any(|a| a.cert == *cert);
                assert!(trusted, "day {at}: replica {i} serves under {cert:?} and not {bundle:?}");
            }
        }
    }

    /// Lets this much time pass, in which random replicas take steps.
    fn pass(&mut self, time: Time, random: &mut Random) {
        let replicas = self.replicas.len() as u64;
        let steps = 24;
        for _ in 0..steps {
            self.now += time / steps;
            let i = usize::try_from(random.below(replicas)).unwrap();
            let what = random.below(8);
            self.act(i, what);
            self.check(HOUR / 2);
        }
    }

    /// Cuts a replica off from the API server, unless it was cut off within the last day: no
    /// replica can get through a year of uninterrupted cut-offs.
    fn cut_off(&mut self, i: usize, time: Time) {
        if self.replicas[i].cut_off < self.now - DAY {
            self.replicas[i].cut_off = self.now + time;
        }
    }

    fn settle(&mut self) {
        let mut random = Random(7);
        for _ in 0..5 {
            self.pass(400, &mut random);
        }
    }
}

/// Simulates three years, with `trouble` every two hours.
fn live(seed: u64, trouble: fn(&mut World, &mut Random)) -> World {
    let mut world = World::new();
    let mut random = Random(seed);
    world.settle();
    while world.now < START + 3 * 365 * DAY {
        trouble(&mut world, &mut random);
        world.pass(2 * HOUR, &mut random);
    }
    for (i, replica) in world.replicas.iter().enumerate() {
        assert!(replica.served.is_some(), "replica {i} serves");
    }
    world
}

#[test]
fn in_quiet_years_an_authority_is_made_every_eight_months_and_leaves_when_it_expires() {
    let world = live(1, |world, _| {
        let bundle = &world.cluster.configurations[0].content;
        assert!((1..=2).contains(&bundle.len()), "{bundle:?}");
    });
    // One at the start and four in 36 months. A replaced one stays for four more months.
    assert_eq!(world.renewed, 5);
    // One write for each added or removed authority; nobody writes what is already stored.
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
        // It was restored from memory, not created again.
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
fn what_others_do_to_a_bundle_is_repaired() {
    let mut world = World::new();
    world.settle();
    let right = world.cluster.configurations.clone().map(|it| it.content);
    world.cluster.configurations[1].put(Vec::new());
    let mut view = world.cluster.view();
    let plan = &mut world.replicas[0].plan;
    plan.observe(world.now, &view);
    let repair = Step::Publish { configuration: Configuration::Mutating, bundle: right[0].clone() };
    assert_eq!(plan.write(world.now, &view), Some(repair.clone()));
    assert_eq!(plan.sign(world.now), None, "there is no better authority");
    // With foreign content in addition to ours.
    view.published[1] = Published { clean: false, ..view.published[0].clone() };
    view.published[1].configuration = Configuration::Mutating;
    plan.observe(world.now, &view);
    assert_eq!(plan.write(world.now, &view), Some(repair));
}

#[test]
fn nobody_signs_by_an_authority_before_it_is_published_everywhere_and_for_a_while() {
    let mut world = World::new();
    world.settle();
    let (now, new) = (world.now, world.make());
    let mut view = world.cluster.view();
    view.stored.as_mut().unwrap().insert(0, Authority { not_before: now, ..new.clone() });
    let plan = &mut world.replicas[0].plan;
    let mut by = |view: &View, now| {
        plan.observe(now, view);
        plan.sign(now).map(|(by, _)| by.cert.clone())
    };
    assert_eq!(by(&view, now), None);
    view.published[0].ours.insert(0, new.clone());
    assert_eq!(by(&view, now + 120), None);
    view.published[1].ours.insert(0, new.clone());
    assert_eq!(by(&view, now + 120), None);
    assert_eq!(by(&view, now + 120 + LIFETIMES.settle - 1), None);
    assert_eq!(by(&view, now + 120 + LIFETIMES.settle), Some(new.cert));
}

#[test]
fn a_published_authority_that_lives_too_long_to_be_ours_is_not_taken_over() {
    let mut world = World::new();
    let mut forged = world.make();
    forged.not_after = world.now + 3650 * DAY;
    world.cluster.configurations[0].put(vec![forged.clone()]);
    world.settle();
    assert!(world.cluster.secret.content.unwrap().iter().all(|a| a.cert != forged.cert));
    assert!(world.cluster.configurations[0].content.iter().all(|a| a.cert != forged.cert));
}
