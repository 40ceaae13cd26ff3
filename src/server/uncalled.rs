//! Warns when no API server has called for a while. Without `--arm-webhooks` nothing else would.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::app::{App, Phase};

/// Warns if no API server has called within this time.
pub(crate) fn expect(app: Arc<App>, within: Duration) {
    if within.is_zero() {
        return;
    }
    tokio::spawn(async move {
        sleep(within).await;
        if !app.calls.any() && app.phase() == Phase::Ready {
            tracing::warn!(
                seconds = within.as_secs(),
                hint = "if DaemonSets or StatefulSets were written meanwhile, setguard guards nothing: is \
                        it registered (kubectl get validatingwebhookconfigurations), with rules, and can \
                        the API server reach the address there?",
                "no API server has called setguard since it started"
            );
        }
    });
}
