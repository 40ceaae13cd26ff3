//! A stand-in for the API server: lists in pages, streams lists, watches, and fails on demand.
//!
//! Speaks plain HTTP/1.1, with one connection and thread for each request.

#[cfg(unix)]
mod cluster;
mod connection;
mod world;

use std::sync::{Condvar, MutexGuard};

#[cfg(unix)]
pub use self::cluster::Cluster;
use self::connection::Connection;

pub use self::world::{Streams, World};
use crate::prelude::*;

pub struct ApiServer {
    shared: Arc<(Mutex<World>, Condvar)>,
    address: SocketAddr,
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.change(|world| world.over = true);
    }
}

impl ApiServer {
    pub fn start(minor: &'static str) -> Self {
        let world = World { version: 100, minor, patch: "7", ..World::default() };
        let shared = Arc::new((Mutex::new(world), Condvar::new()));
        let connection = Connection { shared: shared.clone() };
        let address = http::listen(move |stream| {
            connection.serve(stream);
            Ok(())
        });
        ApiServer { shared, address }
    }

    pub fn kubeconfig(&self, dir: &Path) -> PathBuf {
        let path = dir.join("kubeconfig");
        fs::write(&path, http::kubeconfig(&format!("http://{}", self.address))).unwrap();
        path
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.shared.0.lock().unwrap()
    }

    /// Changes the world, and wakes waiting threads.
    pub fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let changed = change(&mut self.world());
        self.shared.1.notify_all();
        changed
    }

    pub fn apply(&self, resource: &str, object: &Value) {
        self.change(|world| world.apply(resource, object));
    }

    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        self.world().objects.get(&key).cloned()
    }

    pub fn delete(&self, resource: &str, namespace: &str, name: &str) {
        self.change(|world| world.delete(resource, namespace, name));
    }

    pub fn asked(&self, part: &str) -> usize {
        self.world().requests.iter().filter(|request| request.contains(part)).count()
    }

    pub fn lists_at_once(&self) -> usize {
        self.world().listing.1
    }
}
