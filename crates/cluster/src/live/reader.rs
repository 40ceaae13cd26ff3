//! Reads from the API server without overloading it: lists in pages, few concurrent requests, and none while the API
//! server asks to wait.

use std::{
    borrow::Cow,
    error::Error as _,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
};

use futures::Stream;
use hyper::{
    Request,
    header::{HeaderValue, USER_AGENT},
};
use kube::{
    Config,
    api::{ListParams, WatchParams},
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::codec::LinesCodecError;

use super::{
    bounds::{Bounds, Count},
    call,
    message::Page,
    release::{self, Release},
};
use crate::prelude::*;

/// The largest answer, also for a single object.
const LARGEST: usize = 16 << 20;
/// The most concurrent requests; more would only wait.
pub(crate) const AT_ONCE: usize = 2;
const CONNECT: Duration = Duration::from_secs(10);
/// How often a list may start because the API server no longer has the rest of it.
const BEGINNINGS: u32 = 3;
/// The pause if the API server specifies none, and the longest pause.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The message to the user when the API server throttles requests.
pub const THROTTLED: &str = "throttled: the API server asks to wait";

pub(crate) type Call = Result<Request<Vec<u8>>, core::request::Error>;

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The number of objects in a page. Lists set no resourceVersion: with `0`, API servers before 1.34 ignore the
    /// limit.
    pub(super) page: u32,
    /// If a page is larger, it is requested again with a fifth of the objects.
    pub(super) largest_page: usize,
    pub(super) list: Bounds,
    pub(super) call: Duration,
    /// The most attempts while the API server is busy, and while requests fail.
    pub(super) tries_while_busy: u32,
    pub(super) tries: u32,
}

/// The limits of a command. Kubernetes supports 150,000 Pods, and each may have 10 KiB.
pub(super) const OF_COMMANDS: Limits = Limits {
    page: 500,
    largest_page: LARGEST,
    list: Bounds {
        objects: 300_000,
        bytes: 4 << 30,
        pages: 20_000,
        time: Duration::from_secs(900),
    },
    call: Duration::from_secs(60),
    tries_while_busy: 10,
    tries: 3,
};

/// A client that reads from the API server.
pub struct Reader {
    client: Client,
    url: String,
    limits: Limits,
    /// Whether to keep sending requests after the API server could not be reached.
    is_patient: AtomicBool,
    turns: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Why the API server cannot be reached. The reader then sends no more requests, unless it is patient.
    lost: Option<String>,
    not_before: Option<Instant>,
    /// Called when the API server first asks to wait.
    on_busy: Option<Box<dyn FnOnce() + Send>>,
}

/// A list, and the part of it to request.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The path of the collection.
    pub path: String,
    /// Whether to request only the metadata of the objects.
    pub is_bare: bool,
    pub labels: Option<Cow<'static, str>>,
    pub fields: Option<&'static str>,
}

impl Reader {
    /// Connects with the kubeconfig, or as a pod of the cluster. `command` becomes part of the user agent. Calls
    /// `on_busy` once, when the API server first asks to wait. Fails if there is neither a usable kubeconfig nor a
    /// service account.
    pub async fn connect(
        context: Option<&str>,
        command: &str,
        on_busy: impl FnOnce() + Send + 'static,
    ) -> anyhow::Result<Self> {
        let mut config = configuration(context).await?;
        let agent = format!("setguard-{command}/{}", env!("CARGO_PKG_VERSION"));
        config.headers.push((USER_AGENT, HeaderValue::try_from(agent)?));
        // By default, the client repeats a request fifteen times.
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT);
        let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let reader = Reader::of(Client::try_from(config)?, OF_COMMANDS);
        reader.state.lock().on_busy = Some(Box::new(on_busy));
        Ok(Reader { url, ..reader })
    }

    pub(super) fn of(client: Client, limits: Limits) -> Self {
        Reader {
            client,
            url: String::new(),
            limits,
            is_patient: AtomicBool::new(false),
            turns: Semaphore::new(AT_ONCE),
            state: Mutex::default(),
        }
    }

    /// Keeps sending requests to an API server that does not answer.
    pub(crate) fn be_patient(&self) {
        self.is_patient.store(true, SeqCst);
    }

    /// Returns the namespace of the kubeconfig.
    pub fn default_namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// Returns the release of the API server, with its feature gates if the user may read them. Fails if the API server
    /// does not answer or refuses the request.
    pub async fn release(&self) -> Result<Release, Problem> {
        let mut release = release::parse(&self.get("/version").await?)?;
        release.gates = release::gates(&self.client, self.limits.call).await.unwrap_or_default();
        Ok(release)
    }

    /// Gets a path. Fails if the API server does not answer or refuses the request.
    pub async fn get(&self, path: &str) -> Result<String, Problem> {
        let request = Request::get(path).body(Vec::new());
        self.send(request.map_err(core::request::Error::BuildRequest)).await
    }

    pub(crate) async fn send(&self, request: Call) -> Result<String, Problem> {
        self.call(request, LARGEST).await
    }

    pub(crate) async fn objects<T: DeserializeOwned>(
        &self,
        list: &List,
    ) -> Result<Vec<T>, Problem> {
        let (mut objects, mut wrong) = (Vec::new(), None);
        let on_page = |items: &[&RawValue]| {
            for item in items {
                match serde_json::from_str(item.get()) {
                    Ok(object) => objects.push(object),
                    Err(error) => wrong = Some(error),
                }
            }
        };
        self.list(list, on_page).await?;
        wrong.map_or(Ok(objects), |error| Err(Problem::failed(error)))
    }

    /// Lists page by page, and returns the version of the list. `on_page` gets the JSON of the objects, without
    /// `apiVersion` and `kind`. A later page may repeat an object in a newer version. Fails if the API server does not
    /// answer or refuses the request.
    pub async fn list(
        &self,
        list: &List,
        mut on_page: impl FnMut(&[&RawValue]),
    ) -> Result<String, Problem> {
        let request = core::Request::new(&list.path);
        let mut params = ListParams {
            label_selector: list.labels.as_deref().map(str::to_owned),
            field_selector: list.fields.map(str::to_owned),
            limit: Some(self.limits.page),
            ..ListParams::default()
        };
        let mut beginnings = 1;
        let mut count = self.count();
        loop {
            let limit = params.limit.unwrap_or(1);
            let most = if limit > 1 { self.limits.largest_page } else { LARGEST };
            let call =
                if list.is_bare { request.list_metadata(&params) } else { request.list(&params) };
            let text = match self.call(call, most).await {
                Ok(text) => text,
                Err(Problem::TooLarge) if limit > 1 => {
                    params.limit = Some((limit / 5).max(1));
                    continue;
                }
                Err(Problem::Gone { next, .. })
                    if params.continue_token.is_some() && beginnings < BEGINNINGS =>
                {
                    beginnings += 1;
                    params.continue_token = next.filter(|next| !next.is_empty());
                    continue;
                }
                Err(problem) => return Err(problem),
            };
            let page: Page<'_> = serde_json::from_str(&text).map_err(Problem::failed)?;
            let items = page.items.unwrap_or_default();
            count.add(items.len(), text.len())?;
            on_page(&items);
            let Some(next) = page.metadata.next.filter(|next| !next.is_empty()) else {
                return Ok(page.metadata.resource_version.unwrap_or_default());
            };
            count.next_page(params.continue_token.as_deref(), &next)?;
            params.continue_token = Some(next);
        }
    }

    pub(super) fn count(&self) -> Count {
        self.limits.list.begin()
    }

    /// Returns the lines of a watch. The API server ends it after `seconds`. Without a version, the existing objects come
    /// first.
    pub(super) async fn watch(
        &self,
        list: &List,
        version: Option<&str>,
        seconds: u32,
    ) -> Result<impl Stream<Item = Result<String, LinesCodecError>> + Unpin + use<>, Problem> {
        let params = WatchParams {
            label_selector: list.labels.as_deref().map(str::to_owned),
            field_selector: list.fields.map(str::to_owned),
            timeout: Some(seconds),
            send_initial_events: version.is_none(),
            ..WatchParams::default()
        };
        let (request, version) = (core::Request::new(&list.path), version.unwrap_or_default());
        let request = match list.is_bare {
            true => request.watch_metadata(&params, version),
            false => request.watch(&params, version),
        };
        call::lines(&self.client, request, self.limits.call).await
    }

    async fn call(&self, request: Call, most: usize) -> Result<String, Problem> {
        let request = request.map_err(Problem::failed)?;
        let _turn = self.turns.acquire().await.map_err(Problem::failed)?;
        let Limits { call, tries: most_tries, tries_while_busy, .. } = self.limits;
        let mut tries = 1;
        loop {
            self.wait().await;
            if let Some(why) = self.state.lock().lost.clone() {
                return Err(Problem::Unreachable(why));
            }
            let request = Ok::<_, core::request::Error>(request.clone());
            let pause = match call::text(&self.client, request, call, most).await {
                Err(Problem::Busy { pause, .. }) if tries < tries_while_busy => {
                    let on_busy = self.state.lock().on_busy.take();
                    if let Some(on_busy) = on_busy {
                        on_busy();
                    }
                    pause.unwrap_or(PAUSE)
                }
                Err(Problem::Failed(_) | Problem::Unreachable(_)) if tries < most_tries => {
                    PAUSE * tries
                }
                Err(Problem::Unreachable(why)) if self.is_patient.load(SeqCst) => {
                    return Err(Problem::Unreachable(self.unreachable(&why)));
                }
                Err(Problem::Unreachable(why)) => {
                    let why = self.unreachable(&why);
                    self.state.lock().lost = Some(why.clone());
                    return Err(Problem::Unreachable(why));
                }
                outcome => return outcome,
            };
            tries += 1;
            // The pause applies to all requests: what delays one of them also delays the others.
            self.state.lock().not_before = Some(Instant::now() + pause.min(LONGEST_PAUSE));
        }
    }

    fn unreachable(&self, why: &str) -> String {
        format!("the API server {} does not answer: {why}", self.url)
    }

    async fn wait(&self) {
        loop {
            let not_before = self.state.lock().not_before;
            let pause = not_before.and_then(|it| it.checked_duration_since(Instant::now()));
            let Some(pause) = pause else { return };
            sleep(pause.max(Duration::from_millis(1))).await;
        }
    }
}

/// Returns the configuration of a client: of a context of the kubeconfig, or as kubectl finds it, or of the pod. Fails
/// if there is none.
pub async fn configuration(context: Option<&str>) -> anyhow::Result<Config> {
    const UNUSABLE: &str = "no usable kubeconfig";
    let Some(name) = context else {
        // The error lists both attempts, and its cause twice.
        return Config::infer().await.map_err(|error| match error.source() {
            Some(source) => anyhow!("{UNUSABLE}: {source}; and this is not a pod of a cluster"),
            None => anyhow!("{UNUSABLE}: {error}"),
        });
    };
    let options =
        KubeConfigOptions { context: Some(name.to_owned()), ..KubeConfigOptions::default() };
    Config::from_kubeconfig(&options).await.map_err(|error| match (error, Kubeconfig::read()) {
        (KubeconfigError::LoadContext(_), Ok(read)) => {
            let known: Vec<_> = read.contexts.into_iter().map(|it| it.name).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            anyhow!("{UNUSABLE}: it has no context {name:?}; its contexts are: {known}")
        }
        (error, _) => anyhow!("{UNUSABLE}: {error}"),
    })
}
