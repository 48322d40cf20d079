//! Ctrl-C and SIGTERM: the first one asks for an orderly end, the second one is the end.
//!
//! A thread waits for signals, so that the second one counts even when everything else
//! stands still (a store that hangs, a pipe that nobody reads). The lanes look at
//! [`Signals::received`] between two pieces of work, and give up on a piece that goes on
//! for longer than [`Signals::out_of_patience`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use tokio::sync::watch;

use crate::print;

/// A signal that ends a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// Ctrl-C.
    #[serde(rename = "SIGINT")]
    Interrupt,
    /// What `kill`, systemd and CI systems send.
    #[serde(rename = "SIGTERM")]
    Terminate,
}

impl Signal {
    /// The signal's name.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
        }
    }

    /// 128 and the signal's number, as shells have it.
    pub fn exit_status(self) -> u8 {
        match self {
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
        }
    }
}

/// How long the work that a signal meets may go on.
const PATIENCE: Duration = Duration::from_secs(1);

/// Knows whether a signal arrived.
pub struct Signals {
    first: watch::Receiver<Option<Signal>>,
}

impl Signals {
    /// From now on signals end nothing by themselves.
    ///
    /// # Errors
    /// The system's, when it gives no handler or no thread.
    pub fn install() -> io::Result<Self> {
        // Past a file-size limit a write is to fail, as on a full disk, and not to kill.
        signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        let (sender, first) = watch::channel(None);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for number in signals.forever() {
                let signal = if number == SIGINT { Signal::Interrupt } else { Signal::Terminate };
                if sender.borrow().is_some() {
                    std::process::exit(signal.exit_status().into());
                }
                print::note(format_args!("{}: stopping; once more to stop at once", signal.name()));
                sender.send_replace(Some(signal));
            }
        })?;
        Ok(Signals { first })
    }

    /// The first signal, if one arrived.
    pub fn received(&self) -> Option<Signal> {
        *self.first.borrow()
    }

    /// Returns with the first signal.
    pub async fn first(&self) -> Signal {
        let mut first = self.first.clone();
        let signal = first.wait_for(Option::is_some).await.map(|signal| *signal);
        match signal {
            Ok(Some(signal)) => signal,
            // The thread is gone, and so no signal will come.
            _ => std::future::pending().await,
        }
    }

    /// Returns a moment after the first signal.
    pub async fn out_of_patience(&self) -> Signal {
        let signal = self.first().await;
        tokio::time::sleep(PATIENCE).await;
        signal
    }
}
