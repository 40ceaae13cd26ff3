//! Work on all cores, with the results in order.

use std::{
    num::NonZero,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

/// The number of items in a batch: large enough that threads seldom wait for each other, and small enough to save
/// memory.
const BATCH: usize = 16;
/// The number of finished batches that may wait for their turn, per thread.
const WAITING: usize = 2;

/// Calls `work` with each item on all cores, and `take` with each result on this thread in item order. Limits the
/// number of waiting results. Stops at the first error of `take`.
pub(super) fn in_order<I: Send, O: Send, E>(
    items: Vec<I>,
    work: impl Fn(I) -> O + Sync,
    take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let batch = items.len().div_ceil(threads() * 4).clamp(1, BATCH);
    in_batches(items, batch, work, take)
}

/// Works like [`in_order`] with batches of this size. Size 1 suits large items.
pub(super) fn in_batches<I: Send, O: Send, E>(
    items: Vec<I>,
    batch: usize,
    work: impl Fn(I) -> O + Sync,
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads();
    if threads < 2 || items.len() <= batch {
        return items.into_iter().try_for_each(|item| take(work(item)));
    }
    // Batches are dealt like cards, so threads return them in a known order.
    let mut hands: Vec<Vec<Vec<I>>> = (0..threads).map(|_| Vec::new()).collect();
    let mut items = items.into_iter();
    let mut batches = 0;
    loop {
        let cards: Vec<I> = items.by_ref().take(batch).collect();
        let Some(hand) = hands.get_mut(batches % threads).filter(|_| !cards.is_empty()) else {
            break;
        };
        hand.push(cards);
        batches += 1;
    }
    thread::scope(|scope| {
        let done: Vec<Receiver<Vec<O>>> = hands
            .into_iter()
            .map(|hand| {
                let (send, receive) = sync_channel(WAITING);
                let work = &work;
                scope.spawn(move || play(hand, work, &send));
                receive
            })
            .collect();
        // If a thread panics, its batches end, and the scope passes the panic on.
        for receive in done.iter().cycle().take(batches) {
            let Ok(results) = receive.recv() else { break };
            results.into_iter().try_for_each(&mut take)?;
        }
        Ok(())
    })
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Works until all items are done, or until the receiver stops taking results.
fn play<I, O>(hand: Vec<Vec<I>>, work: impl Fn(I) -> O, done: &SyncSender<Vec<O>>) {
    for batch in hand {
        if done.send(batch.into_iter().map(&work).collect()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, 2, 7, 1000] {
            let mut taken = Vec::new();
            let done = in_order(
                (0..count).collect(),
                |i: usize| i * 2,
                |i| {
                    taken.push(i);
                    Ok::<_, ()>(())
                },
            );
            assert_eq!(done, Ok(()));
            assert_eq!(taken, (0..count).map(|i| i * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let worked = AtomicUsize::new(0);
        let work = |i: usize| {
            worked.fetch_add(1, Ordering::Relaxed);
            i
        };
        let take = |i| if i == 3 { Err("enough") } else { Ok(()) };
        assert_eq!(in_order((0..100_000).collect(), work, take), Err("enough"));
        assert!(worked.into_inner() < 100_000);
    }
}
