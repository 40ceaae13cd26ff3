//! The defaults that kube-apiserver writes into an object before anybody judges it.
//!
//! Kubernetes: `pkg/apis/apps/v1/defaults.go` and `pkg/apis/core/v1/defaults.go`.

use crate::subject::{DaemonSetSpec, StatefulSetSpec};

/// `SetDefaults_DaemonSet`.
pub fn daemon_set(_spec: &mut DaemonSetSpec) {}

/// `SetDefaults_StatefulSet`.
pub fn stateful_set(_spec: &mut StatefulSetSpec) {}
