//! What most files of this module import.

pub(in crate::server) use std::{
    collections::BTreeSet,
    fmt, io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

pub(in crate::server) use anyhow::{Context as _, anyhow, bail};
pub(in crate::server) use axum::{
    Router,
    body::Bytes,
    http::{Request, StatusCode, header},
};
pub(in crate::server) use http_body_util::BodyExt as _;
pub(in crate::server) use kube::Client;
pub(in crate::server) use parking_lot::Mutex;
pub(in crate::server) use prometheus_client::{
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
pub(in crate::server) use rustls::pki_types::{CertificateDer, ServerName};
pub(in crate::server) use serde_json::{Value, json};
pub(in crate::server) use setguard_core::{
    admission::Endpoint, kubernetes::duration, policy::Policy,
};
pub(in crate::server) use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

pub(in crate::server) use crate::server::{
    app::{App, Phase},
    configuration::Configuration,
};
