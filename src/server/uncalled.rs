//! Warns when no API server has called for a while. Without `--arm-webhooks` nothing else would.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::app::{App, Phase};

/// After the first call, a silence has to be so many times longer: at night perhaps nobody writes a set.
const LATER: u32 = 12;

/// Warns if no API server has called within this time, and then once in each longer silence.
pub(crate) fn expect(app: Arc<App>, within: Duration) {
    if within.is_zero() {
        return;
    }
    tokio::spawn(async move {
        let mut silence = within;
        let mut is_silent = false;
        while app.phase() == Phase::Ready {
            sleep(silence).await;
            let was_silent = std::mem::replace(&mut is_silent, !app.calls.take());
            if is_silent && !was_silent && app.phase() == Phase::Ready {
                tracing::warn!(
                    seconds = silence.as_secs(),
                    hint = "if DaemonSets or StatefulSets were written meanwhile, setguard guards nothing: is \
                            it registered (kubectl get validatingwebhookconfigurations), with rules, and can \
                            the API server reach the address there?",
                    "no API server has called setguard for a while"
                );
            }
            silence = within * LATER;
        }
    });
}
