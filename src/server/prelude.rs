//! What most files of this module import.

pub(in crate::server) use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::Future,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

pub(in crate::server) use anyhow::{Context as _, anyhow, bail};
pub(in crate::server) use arc_swap::ArcSwap;
pub(in crate::server) use axum::{
    Router,
    body::{Body, Bytes},
    http::{Method, Request, StatusCode, Uri, header},
    response::IntoResponse,
};
pub(in crate::server) use http_body_util::BodyExt as _;
pub(in crate::server) use hyper_util::rt::TokioIo;
pub(in crate::server) use kube::{Api, Client, api::DynamicObject};
pub(in crate::server) use parking_lot::Mutex;
pub(in crate::server) use prometheus_client::{
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
pub(in crate::server) use rustls::pki_types::{CertificateDer, ServerName};
pub(in crate::server) use serde_json::{Value, json};
pub(in crate::server) use setguard_cluster::live::Live;
pub(in crate::server) use setguard_core::{
    admission::Endpoint,
    kubernetes::{
        duration,
        resource::{RESOURCES, Resource},
    },
    policy::Policy,
};
pub(in crate::server) use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until, timeout},
};

pub(in crate::server) use crate::server::{
    app::{App, Phase},
    configuration::Configuration,
    tls::authority::Time,
};
