//! The proxies, and what can be done with them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::address::{self, Allowed};
use super::error::ApiError;
use super::listener::{Destination, Listener};
use super::toxics::Toxics;

/// The proxies by name.
#[derive(Debug, Default)]
pub(super) struct Collection {
    allowed: Allowed,
    proxies: BTreeMap<String, Proxy>,
}

/// A proxy.
#[derive(Debug)]
struct Proxy {
    name: String,
    /// Where it listens, as it was written until it is enabled for the first time.
    listen: String,
    upstream: String,
    toxics: Arc<Toxics>,
    /// There while it is enabled.
    listener: Option<Listener>,
}

/// What a client writes of a proxy. What it leaves out is as it was, or usual.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Written {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    listen: Option<String>,
    #[serde(default)]
    upstream: Option<String>,
    #[serde(default)]
    enabled: Option<bool>,
}

impl Collection {
    pub(super) fn new(allowed: Allowed) -> Self {
        Collection { allowed, proxies: BTreeMap::new() }
    }

    fn get(&self, name: &str) -> Result<&Proxy, ApiError> {
        self.proxies.get(name).ok_or_else(ApiError::proxy_not_found)
    }

    pub(super) fn toxics(&self, name: &str) -> Result<Arc<Toxics>, ApiError> {
        Ok(self.get(name)?.toxics.clone())
    }

    pub(super) fn show(&self, name: &str) -> Result<Value, ApiError> {
        Ok(self.get(name)?.to_json())
    }

    /// All of them, by name.
    pub(super) fn show_all(&self) -> Value {
        self.proxies.iter().map(|(name, proxy)| (name.clone(), proxy.to_json())).collect()
    }

    pub(super) async fn create(&mut self, written: Written) -> Result<Value, ApiError> {
        let enabled = written.enabled.unwrap_or(true);
        let mut proxy = self.check(written, "").await?;
        if self.proxies.contains_key(&proxy.name) {
            return Err(ApiError::proxy_exists());
        }
        if enabled {
            proxy.start(&self.allowed).await?;
        }
        let shown = proxy.to_json();
        self.proxies.insert(proxy.name.clone(), proxy);
        Ok(shown)
    }

    /// A proxy as it is written, not started yet. Its addresses are such as we take.
    async fn check(&self, written: Written, at: &str) -> Result<Proxy, ApiError> {
        let is_there = |text: &String| !text.is_empty();
        let name = written.name.filter(is_there);
        let name = name.ok_or_else(|| ApiError::missing_field(format_args!("name{at}")))?;
        let upstream = written.upstream.filter(is_there);
        let upstream =
            upstream.ok_or_else(|| ApiError::missing_field(format_args!("upstream{at}")))?;
        let listen = written.listen.unwrap_or_default();
        address::listen(&listen).await?;
        address::upstream(&upstream, &self.allowed).await?;
        Ok(Proxy { name, listen, upstream, toxics: Arc::default(), listener: None })
    }

    /// Changes a proxy. Another address ends its connections; its toxics stay.
    pub(super) async fn update(&mut self, name: &str, written: Written) -> Result<Value, ApiError> {
        let allowed = self.allowed.clone();
        let proxy = self.proxies.get_mut(name).ok_or_else(ApiError::proxy_not_found)?;
        let enabled = written.enabled.unwrap_or(proxy.listener.is_some());
        let listen = written.listen.unwrap_or_else(|| proxy.listen.clone());
        let upstream = written.upstream.unwrap_or_else(|| proxy.upstream.clone());
        let address = address::listen(&listen).await?;
        address::upstream(&upstream, &allowed).await?;
        if proxy.differs(address, &upstream) {
            proxy.stop().await;
            (proxy.listen, proxy.upstream) = (listen, upstream);
        }
        match enabled {
            true => proxy.start(&allowed).await?,
            false => proxy.stop().await,
        }
        Ok(proxy.to_json())
    }

    pub(super) async fn remove(&mut self, name: &str) -> Result<(), ApiError> {
        let mut proxy = self.proxies.remove(name).ok_or_else(ApiError::proxy_not_found)?;
        proxy.stop().await;
        Ok(())
    }

    /// Makes these proxies, all or none if one is not right. One that is there already with
    /// the same addresses stays as it is.
    pub(super) async fn populate(&mut self, written: Vec<Written>) -> Result<Vec<Value>, ApiError> {
        let mut checked: Vec<(Proxy, bool)> = Vec::new();
        for (place, written) in written.into_iter().enumerate() {
            let enabled = written.enabled.unwrap_or(true);
            let proxy = self.check(written, &format!(" at proxy {}", place + 1)).await?;
            if checked.iter().any(|(other, _)| other.name == proxy.name) {
                let reason = format!("duplicate proxy name {:?}", proxy.name);
                return Err(ApiError::bad_request(reason));
            }
            checked.push((proxy, enabled));
        }
        let mut shown = Vec::new();
        for (proxy, enabled) in checked {
            shown.push(self.add_or_replace(proxy, enabled).await?);
        }
        Ok(shown)
    }

    async fn add_or_replace(&mut self, mut new: Proxy, enabled: bool) -> Result<Value, ApiError> {
        if let Some(old) = self.proxies.get_mut(&new.name) {
            if !old.differs(address::listen(&new.listen).await?, &new.upstream) {
                return Ok(old.to_json());
            }
            old.stop().await;
        }
        if enabled {
            new.start(&self.allowed).await?;
        }
        let shown = new.to_json();
        self.proxies.insert(new.name.clone(), new);
        Ok(shown)
    }

    /// Enables every proxy, without any toxics.
    pub(super) async fn reset(&mut self) -> Result<(), ApiError> {
        for proxy in self.proxies.values_mut() {
            proxy.start(&self.allowed).await?;
            proxy.toxics.remove_all();
        }
        Ok(())
    }

    /// Closes everything.
    pub(super) async fn close(&mut self) {
        for proxy in self.proxies.values_mut() {
            proxy.stop().await;
        }
    }
}

impl Proxy {
    /// Listens from now on, if it does not yet.
    async fn start(&mut self, allowed: &Allowed) -> Result<(), ApiError> {
        if self.listener.is_some() {
            return Ok(());
        }
        let address = address::listen(&self.listen).await?;
        let (upstream, toxics) = (self.upstream.clone(), self.toxics.clone());
        let to = Destination { upstream, allowed: allowed.clone(), toxics };
        let started = Listener::start(address, to).await;
        let listener = started
            .map_err(|error| ApiError::system(format_args!("listen tcp {address}: {error}")))?;
        // A port that was found stays its own, also when it is disabled for a while.
        self.listen = listener.address().to_string();
        self.listener = Some(listener);
        Ok(())
    }

    async fn stop(&mut self) {
        if let Some(listener) = self.listener.take() {
            listener.stop().await;
        }
    }

    fn differs(&self, listen: SocketAddr, upstream: &str) -> bool {
        let is_same = self.listen.parse() == Ok(listen)
            || self.listener.as_ref().is_some_and(|it| {
                // Port 0 is whichever was found.
                listen.port() == 0 && listen.ip() == it.address().ip()
            });
        !is_same || self.upstream != upstream
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "listen": self.listen,
            "upstream": self.upstream,
            "enabled": self.listener.is_some(),
            "toxics": self.toxics.all(),
        })
    }
}
