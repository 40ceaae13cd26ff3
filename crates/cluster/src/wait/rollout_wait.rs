//! Examines the sets whenever something changes, and once a second.

use std::rc::Rc;

use setguard_core::{
    finding::{count, shorten},
    observed::Phase,
};
use setguard_files::exit::Exit;
use tokio::sync::Notify;

use super::{
    WaitArgs,
    cluster::WatchedCluster,
    decision::{Decision, Limits, Memory, Obstacle, Repair, View, decide},
    diagnosis::Diagnosis,
    event::{Event, EventType},
    output::Output,
    repair::{STUCK, annotate, repair},
};
use crate::prelude::*;

/// How often the sets are examined without a change, because time passes.
const TICK: Duration = Duration::from_secs(1);
/// How long to collect successive changes before examining the sets.
const TOGETHER: Duration = Duration::from_millis(300);
/// How long a repair has to take effect. It is made only once.
const EFFECT: SignedDuration = SignedDuration::from_mins(5);
/// The longest reason in an annotation, in bytes.
const LONGEST_REASON: usize = 500;

pub(crate) struct RolloutWait<'a> {
    reader: &'a Reader,
    world: &'a RefCell<WatchedCluster>,
    policy: &'a Policy,
    args: &'a WaitArgs,
    begun: Timestamp,
    output: Output,
    memory: Memory,
    repaired: Vec<(Target, Repair, Timestamp)>,
    observed: Option<Rc<Observed>>,
    was_lost: bool,
    hidden: Vec<String>,
}

struct Look {
    observed: Rc<Observed>,
    diagnosis: Diagnosis,
    decisions: Vec<(Target, Decision)>,
    now: Timestamp,
}

const MOST_FINDINGS: usize = 3;

impl<'a> RolloutWait<'a> {
    pub(crate) fn new(
        reader: &'a Reader,
        world: &'a RefCell<WatchedCluster>,
        policy: &'a Policy,
        (args, begun): (&'a WaitArgs, Timestamp),
        output: Output,
    ) -> Self {
        RolloutWait {
            reader,
            world,
            policy,
            args,
            begun,
            output,
            memory: Memory::default(),
            repaired: Vec::new(),
            observed: None,
            was_lost: false,
            hidden: Vec::new(),
        }
    }

    pub(crate) async fn keep(&mut self, news: &Notify) -> anyhow::Result<Exit> {
        loop {
            if timeout(TICK, news.notified()).await.is_ok() {
                sleep(TOGETHER).await;
            }
            let now = Timestamp::now();
            let is_over = self.args.timeout.filter(|it| now.duration_since(self.begun) >= *it);
            if self.is_blind(now)? {
                if let Some(lasts) = is_over {
                    return self.give_up(None, lasts, now);
                }
                continue;
            }
            let look = self.look(now)?;
            let stuck = self.repair(&look).await?;
            let is_done = look.decisions.iter().all(|(_, it)| it.is_done());
            self.show(&look)?;
            if is_done || stuck || is_over.is_some() {
                self.annotate(&look).await?;
            }
            if is_done {
                return self.succeed(&look);
            }
            if stuck {
                return self.fail(&look);
            }
            if let Some(lasts) = is_over {
                return self.give_up(Some(&look), lasts, now);
            }
        }
    }

    fn is_blind(&mut self, now: Timestamp) -> anyhow::Result<bool> {
        let world = self.world.borrow();
        if let Some(why) = world.lost() {
            if !std::mem::replace(&mut self.was_lost, true) {
                let text = format!("cannot follow the cluster, trying again: {why}");
                self.output.say(None, &Event::new(EventType::Note, text, now))?;
            }
            return Ok(true);
        }
        if !world.is_complete() {
            return Ok(true);
        }
        if std::mem::take(&mut self.was_lost) {
            let text = "the cluster can be followed again";
            self.output.say(None, &Event::new(EventType::Note, text, now))?;
            self.memory.begin_again();
        }
        let mut hidden = Vec::new();
        for (source, why) in world.forbidden() {
            if [Kind::DaemonSet, Kind::StatefulSet].contains(&source.collection.kind) {
                bail!("{} cannot be watched: {why}", source.collection.name());
            }
            let name = source.collection.name();
            if !hidden.contains(&name) {
                hidden.push(name);
            }
        }
        // Rights can be revoked during the wait.
        if hidden.iter().any(|it| !self.hidden.contains(it)) {
            let text = format!(
                "these cannot be read, so why a rollout waits may stay unknown: {}",
                hidden.join(", ")
            );
            self.output.say(None, &Event::new(EventType::Note, text, now))?;
        }
        self.hidden = hidden;
        Ok(false)
    }

    fn look(&mut self, now: Timestamp) -> anyhow::Result<Look> {
        let mut world = self.world.borrow_mut();
        // Without a change, only the time is new.
        let observed = match self.observed.take().filter(|_| !world.has_changed) {
            Some(observed) => observed,
            None => Rc::new(world.observe().map_err(anyhow::Error::msg)?),
        };
        world.has_changed = false;
        self.observed = Some(observed.clone());
        let view = self.view(&observed, now);
        let diagnosis = Diagnosis::of(&view, self.policy, self.args.context.as_deref());
        let decisions = world.targets().iter().map(|target| {
            let set = find(&observed, target);
            (target.clone(), decide(&view, target, set, &diagnosis, &mut self.memory))
        });
        let decisions = decisions.collect();
        Ok(Look { observed, diagnosis, decisions, now })
    }

    fn view<'o>(&self, observed: &'o Observed, now: Timestamp) -> View<'o>
    where
        Self: 'o,
    {
        View {
            observed,
            cluster: &self.policy.cluster,
            now,
            begun: self.begun,
            limits: Limits::of(self.args.patience, self.args.restarts),
            allow_none: self.args.allow_none,
        }
    }

    /// Makes the allowed repairs. Returns whether a set is still stuck.
    async fn repair(&mut self, look: &Look) -> anyhow::Result<bool> {
        let mut is_stuck = false;
        for (target, decision) in &look.decisions {
            let Decision { obstacles, stuck, .. } = decision;
            let now = obstacles.iter().filter(|it| it.repair == Some(Repair::Poke));
            let todo = now.chain(stuck.iter().filter(|it| it.repair.is_some())).next();
            let is_repaired = match todo.filter(|_| self.args.repair) {
                Some(obstacle) => self.repair_one(target, obstacle, look.now).await?,
                None => false,
            };
            is_stuck |= !stuck.is_empty() && !is_repaired;
        }
        Ok(is_stuck)
    }

    /// Returns whether an obstacle is being repaired: now, or since a moment ago.
    async fn repair_one(
        &mut self,
        target: &Target,
        obstacle: &Obstacle,
        now: Timestamp,
    ) -> anyhow::Result<bool> {
        let Some(what) = &obstacle.repair else { return Ok(false) };
        let uid = match what {
            Repair::DeletePod(pod) => self.world.borrow().uid_of_pod(&target.namespace, pod),
            Repair::Poke => None,
        };
        let before = self.repaired.iter().rfind(|(of, it, _)| of == target && it == what);
        if let Some((.., when)) = before {
            return Ok(now.duration_since(*when) < EFFECT);
        }
        let (text, is_done) = match repair(self.reader, target, what, uid, now).await {
            Ok(said) => (said, true),
            Err(why) => (why, false),
        };
        self.repaired.push((target.clone(), what.clone(), now));
        let event = Event::new(EventType::Repair, format!("repair: {text}"), now).about(target);
        self.output.say(Some(target), &event)?;
        Ok(is_done)
    }

    /// Annotates each stuck set with the reason, and removes the annotation from each set that is done.
    async fn annotate(&mut self, look: &Look) -> anyhow::Result<()> {
        for (target, decision) in look.decisions.iter().filter(|_| self.args.annotate) {
            let set = find(&look.observed, target);
            let reason = decision.stuck.first().zip(set).map(|(obstacle, set)| {
                let text = format!("{}: {}", set.generation(), obstacle.facts.heading());
                shorten(&text, LONGEST_REASON).into_owned()
            });
            let has_one = self.world.borrow().has_annotation(target, STUCK);
            if reason.is_none() && !(has_one && decision.is_done()) {
                continue;
            }
            let written = annotate(self.reader, target, STUCK, reason.as_deref()).await;
            if let Err(problem) = written {
                let text = format!("cannot write the annotation {STUCK} of {target}: {problem}");
                self.output.say(None, &Event::new(EventType::Note, text, look.now))?;
            }
        }
        Ok(())
    }

    fn show(&mut self, look: &Look) -> anyhow::Result<()> {
        for (target, decision) in &look.decisions {
            let event = Event::of(EventType::Progress, target, decision, look.now);
            self.output.set(target, &event)?;
        }
        Ok(())
    }

    fn succeed(&mut self, look: &Look) -> anyhow::Result<Exit> {
        self.output.leave_screen()?;
        for (target, decision) in &look.decisions {
            let event = Event::of(EventType::Done, target, decision, look.now);
            self.output.done(target, &event)?;
        }
        let text = match look.decisions.len() {
            0 => "there is no set to wait for".to_owned(),
            1 => "1 set is done".to_owned(),
            count => format!("all {count} sets are done"),
        };
        self.output.say(None, &Event::new(EventType::End, text, look.now))?;
        Ok(Exit::Clean)
    }

    fn fail(&mut self, look: &Look) -> anyhow::Result<Exit> {
        let stuck = self.last_words(look)?;
        let text = format!("{stuck} of {} cannot succeed", count(look.decisions.len(), "set"));
        self.output.say(None, &Event::new(EventType::End, text, look.now))?;
        Ok(Exit::Denied)
    }

    fn give_up(
        &mut self,
        look: Option<&Look>,
        lasts: SignedDuration,
        now: Timestamp,
    ) -> anyhow::Result<Exit> {
        let text = match look {
            Some(look) => {
                self.last_words(look)?;
                let open = look.decisions.iter().filter(|(_, it)| !it.is_done()).count();
                let all = count(look.decisions.len(), "set");
                format!("timed out after {lasts:#}: {open} of {all} not rolled out")
            }
            None => {
                self.output.leave_screen()?;
                format!("timed out after {lasts:#}: the cluster cannot be followed")
            }
        };
        self.output.say(None, &Event::new(EventType::End, text, now))?;
        Ok(Exit::TimedOut)
    }

    /// Writes the state of each set, and why it does not continue. Returns how many sets cannot succeed.
    fn last_words(&mut self, look: &Look) -> anyhow::Result<usize> {
        self.output.leave_screen()?;
        let mut count = 0;
        for (target, decision) in &look.decisions {
            let type_ = match (decision.is_done(), decision.stuck.is_empty()) {
                (true, _) => EventType::Done,
                (false, true) => EventType::Unfinished,
                (false, false) => EventType::Stuck,
            };
            count += usize::from(type_ == EventType::Stuck);
            let set = find(&look.observed, target).filter(|_| !decision.is_done());
            let view = self.view(&look.observed, look.now);
            let is_nowhere = decision.standing.as_ref().is_some_and(|it| it.phase == Phase::NoNode);
            let found = set.map(|set| look.diagnosis.about(&view, set, is_nowhere));
            let mut found: Vec<_> = found.into_iter().flatten().collect();
            let hold = |it: &&Diagnostic| it.facts.as_ref().map(|facts| facts.outlook.hold);
            found.sort_by_key(|it| (std::cmp::Reverse(it.severity), hold(it)));
            found.truncate(MOST_FINDINGS);
            let event = Event::of(type_, target, decision, look.now).with(&found);
            self.output.verdict(target, &event, &found)?;
        }
        Ok(count)
    }
}

fn find<'o>(observed: &'o Observed, target: &Target) -> Option<&'o WorkloadStatus> {
    observed.sets().find(|set| {
        set.kind() == target.kind
            && set.name() == target.name
            && set.namespace() == target.namespace
    })
}
