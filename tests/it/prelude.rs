//! What most files of this module import.

pub(crate) use std::{
    io::{BufRead, BufReader, Read as _, Write},
    process::{Child, Output},
};

pub(crate) use axum::body::Body;
pub(crate) use base64::{Engine as _, engine::general_purpose::STANDARD};
pub(crate) use jiff::{Timestamp, civil::date};
pub(crate) use serde::Deserialize;
pub(crate) use setguard::{
    admission::{self, Endpoint},
    catalogue,
    engine::Context,
    finding::{Findings, Mode},
    kubernetes::{
        cluster::{Cluster, Version},
        kind::Kind,
        resource::Resource,
    },
    object::{Object, Subject},
    policy::Policy,
    rules::{api_validation::API_VALIDATION, traps},
    yaml,
};
pub(crate) use setguard_testing::{
    corpus::bases,
    http,
    prelude::*,
    recorded::{is_current, snapshot},
};

#[cfg(unix)]
pub(crate) use crate::{
    api_server::ApiServer,
    daemon::{Client, Daemon, Reply, eventually, post, review, send},
    helm,
};
pub(crate) use crate::{
    folder::{Folder, Ran, on_delete, policy, rules},
    review::response,
    support::{self, Found},
};
