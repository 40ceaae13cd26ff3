//! Background work, such as writes, that continues until stopped.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, JoinHandle},
};

use kube::Client;

use crate::client;
use crate::prelude::*;

#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub struct Background<T> {
    stop: Stop,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts work with a client of this kubeconfig. It ends soon after the signal.
    pub fn start<F: Future<Output = T>>(
        kubeconfig: &Path,
        work: impl FnOnce(Client, Stop) -> F + Send + 'static,
    ) -> Self {
        let stop = Stop::default();
        let (kubeconfig, stopped) = (kubeconfig.to_owned(), stop.clone());
        let thread = thread::spawn(move || {
            client::block_on(async move { work(client::of(&kubeconfig).await, stopped).await })
        });
        Background { stop, thread }
    }

    pub fn stop(self) -> T {
        self.stop.0.store(true, Ordering::Relaxed);
        self.thread.join().expect("the work goes on whatever happens")
    }
}
