//! What most files of this crate and of the benchmarks import.

pub use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

pub use serde_json::{Value, json};

pub use crate::ROOT;
