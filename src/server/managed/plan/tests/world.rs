//! Simulates years of several replicas in a failing cluster, one step at a time.

use super::super::*;

pub(super) const HOUR: Time = 3600;
pub(super) const DAY: Time = 24 * HOUR;
const START: Time = 1_800_000_000;
pub(super) const LIFETIMES: Lifetimes =
    Lifetimes { authority: 365 * DAY, leaf: 7 * DAY, settle: HOUR, patience: 3 * HOUR };

/// A certificate that is in no Secret.
pub(super) const FORGED: [u8; 2] = [0, 0];

/// Deterministic (xorshift).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[derive(Clone, Default)]
pub(super) struct Versioned<T> {
    pub(super) version: u64,
    pub(super) content: T,
}

impl<T> Versioned<T> {
    pub(super) fn write(&mut self, based_on: u64, content: T) -> bool {
        let fits = based_on == self.version;
        if fits {
            self.put(content);
        }
        fits
    }

    pub(super) fn put(&mut self, content: T) {
        self.version += 1;
        self.content = content;
    }
}

#[derive(Clone, Default)]
pub(super) struct Cluster {
    /// The content of the Secret. `None` if it is lost or corrupt.
    pub(super) secret: Versioned<Option<Vec<Authority>>>,
    /// The `caBundle`s, in the order of [`Configuration::ALL`].
    pub(super) configurations: [Versioned<Vec<Vec<u8>>>; 2],
}

impl Cluster {
    pub(super) fn view(&self) -> View {
        let published = Configuration::ALL.into_iter().zip(&self.configurations);
        let published = published.map(|(configuration, it)| Published {
            configuration,
            certs: it.content.clone(),
            clean: true,
        });
        let stored = self.secret.content.clone();
        let stored = stored.map(|authorities| Stored { authorities, keyless: Vec::new() });
        View { stored, published: published.collect() }
    }
}

pub(super) struct Replica {
    pub(super) plan: Plan,
    /// The state that the replica has read and not yet acted on.
    pub(super) read: Option<Cluster>,
    /// How far the replica's own clock is ahead while it is cut off.
    pub(super) clock: Time,
    /// When the replica can reach the API server again.
    pub(super) cut_off: Time,
    pub(super) served: Option<(Vec<u8>, Time)>,
    /// When the replica started to serve.
    pub(super) began: Time,
}

impl Replica {
    pub(super) fn new() -> Self {
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

pub(super) struct World {
    pub(super) now: Time,
    pub(super) cluster: Cluster,
    /// The `caBundle`s that an API server may still use: an API server sees a change late.
    pub(super) taken_up: Vec<(Time, [Vec<Vec<u8>>; 2])>,
    pub(super) replicas: Vec<Replica>,
    pub(super) made: u8,
    /// How many writes of the Secret succeeded, and how many of those added an authority.
    pub(super) stored: u32,
    pub(super) renewed: u32,
    pub(super) seen: HashMap<Vec<u8>, Authority>,
}

impl World {
    pub(super) fn new() -> Self {
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

    pub(super) fn make(&mut self) -> Authority {
        self.made += 1;
        let authority = Authority {
            cert: vec![self.made],
            key: vec![self.made],
            not_before: self.now - BACKDATE,
            not_after: self.now + LIFETIMES.authority,
        };
        self.seen.insert(authority.cert.clone(), authority.clone());
        authority
    }

    /// A replica reads, or writes based on its last read; then it signs.
    pub(super) fn act(&mut self, i: usize, what: u64) {
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
                Some(Step::Store { mut keep, make, .. }) => {
                    if make {
                        let new = self.make();
                        keep.insert(0, new);
                    }
                    let stored = self.cluster.secret.write(read.secret.version, Some(keep));
                    self.stored += u32::from(stored);
                    self.renewed += u32::from(stored && make);
                }
                Some(Step::Publish { configuration, bundle, .. }) => {
                    let at = configuration as usize;
                    let version = read.configurations[at].version;
                    let certs = bundle.into_iter().map(|authority| authority.cert).collect();
                    self.cluster.configurations[at].write(version, certs);
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

    /// Every leaf verifies against the published `caBundle`s, and against older ones that an API server may still use.
    pub(super) fn check(&mut self, lag: Time) {
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
                let trusted = bundle.contains(cert);
                assert!(trusted, "day {at}: replica {i} serves under {cert:?} and not {bundle:?}");
            }
        }
    }

    pub(super) fn pass(&mut self, time: Time, random: &mut Random) {
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

    /// No replica can get through a year of uninterrupted cut-offs.
    pub(super) fn cut_off(&mut self, i: usize, time: Time) {
        if self.replicas[i].cut_off < self.now - DAY {
            self.replicas[i].cut_off = self.now + time;
        }
    }

    pub(super) fn settle(&mut self) {
        let mut random = Random(7);
        for _ in 0..5 {
            self.pass(400, &mut random);
        }
    }
}

/// Simulates three years, with `trouble` every two hours.
pub(super) fn live(seed: u64, trouble: fn(&mut World, &mut Random)) -> World {
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
