//! The postgres store behind a Toxiproxy: whatever that does to the network, the answers are
//! true, and the store gets on when it is over.

use std::collections::BTreeSet;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use stagefault_chaos::servers::{Listen, Options, PostgresServer};
use stagefault_chaos::toxiproxy::client::{NetworkFault, NetworkLine, Stream};
use stagefault_models::{
    Backend, Completion, CompletionKind, Namespaces, Operation, Refusal, Scope, Store,
};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::postgres::{
    PostgresBackend, PostgresNamespaces, PostgresOptions, PostgresStore, Route,
};

use crate::desk::Desk;
use crate::requests::{create, done, execute, handle, message, messages, promote, set, snapshot};
use crate::{runtime, url};

const STREAMS: [Stream; 2] = [Stream::Upstream, Stream::Downstream];

/// Longer than an operation takes that is answered.
const PATIENT: Duration = Duration::from_secs(10);

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("store::what_the_network_slows_is_done_all_the_same", slowed),
        Trial::test("store::what_the_network_swallows_is_not_called_done", swallowed),
        Trial::test("store::an_operation_cut_anywhere_is_answered_truly", cut),
    ]
}

fn slowed() -> Result<(), Failed> {
    let faults = [
        NetworkFault::Latency { latency: 30, jitter: 10 },
        NetworkFault::Bandwidth { rate: 20 },
        NetworkFault::SlowClose { delay: 50 },
        NetworkFault::Slicer { average_size: 7, size_variation: 3, delay: 100 },
    ];
    on_bench(async |bench| {
        for (fault, stream) in faults.iter().flat_map(|fault| STREAMS.map(|it| (*fault, it))) {
            let met = bench.promote_under(fault, stream, PATIENT).await;
            assert_eq!(met, CompletionKind::Done, "{fault:?} {stream:?}");
        }
    })
}

fn swallowed() -> Result<(), Failed> {
    // The second leaves the connection open, so that only the deadline ends it.
    let faults = [(50, PATIENT), (0, Duration::from_secs(1))];
    on_bench(async |bench| {
        for ((timeout, deadline), stream) in
            faults.iter().flat_map(|fault| STREAMS.map(|it| (*fault, it)))
        {
            let met =
                bench.promote_under(NetworkFault::Timeout { timeout }, stream, deadline).await;
            // It is the read before the write that is lost.
            assert_eq!(met, CompletionKind::NotApplied, "{timeout} {stream:?}");
        }
    })
}

/// Cuts a promote after more and more bytes, until it is past them.
fn cut() -> Result<(), Failed> {
    on_bench(async |bench| {
        for stream in STREAMS {
            let mut seen = BTreeSet::new();
            let mut bytes = 1;
            while !seen.contains(&CompletionKind::Done) {
                assert!(bytes < 100_000, "it is never done: {stream:?}");
                let fault = NetworkFault::LimitData { bytes };
                seen.insert(bench.promote_under(fault, stream, PATIENT).await);
                bytes += 25;
            }
            let all = [CompletionKind::Done, CompletionKind::NotApplied, CompletionKind::Unknown];
            assert_eq!(seen, BTreeSet::from(all), "{stream:?}");
        }
    })
}

/// A store, and a Toxiproxy's line to its server.
struct Bench {
    backend: PostgresBackend,
    line: NetworkLine,
}

fn on_bench(test: impl AsyncFnOnce(&Bench)) -> Result<(), Failed> {
    let options = Options { listen: Listen::Loopback, ..Options::default() };
    let server = PostgresServer::start(options)?;
    let options = PostgresOptions::from_url(&server.url())?;
    runtime().block_on(async {
        let backend = PostgresNamespaces { options, flaws: Flaws::none() }.fresh().await?;
        let desk = Desk::new().await;
        let name = format!("stagefault-store-{}-{}", std::process::id(), server.port());
        let upstream = ([127, 0, 0, 1], server.port()).into();
        let line = NetworkLine::open(&url(&desk), &name, upstream).await?;
        let bench = Bench { backend, line };
        test(&bench).await;
        bench.line.remove().await?;
        Ok(bench.backend.remove().await?)
    })
}

impl Bench {
    /// Promotes through the line while it has this fault, and holds the answer against what is
    /// there when the fault is over.
    async fn promote_under(
        &self,
        fault: NetworkFault,
        stream: Stream,
        deadline: Duration,
    ) -> CompletionKind {
        let session = format!("{fault:?} {stream:?} {deadline:?}");
        let promotion = promote(&session, "t", 1, vec![set("k", 1)], vec![message("m", 1)]);
        let mut store = handle(&self.backend).await;
        let port = Some(self.line.address().port());
        store.reroute(Route { port }).await.unwrap();
        done(&mut store, create(&session)).await;

        self.line.put(fault, stream).await.unwrap();
        let completion = store.execute(&promotion, &Scope { deadline, hook: None }).await;
        self.line.clear().await.unwrap();

        let again = repeat(&mut store, promotion).await;
        let agree = match &completion {
            Completion::Done(_) => again == CompletionKind::StepClosed,
            Completion::NotApplied(_) => again == CompletionKind::Done,
            Completion::Unknown(_) => true,
            Completion::Refused(_) => false,
        };
        assert!(agree, "{session}: {completion:?}, and repeated: {again:?}");
        assert_eq!(snapshot(&mut store, &session).await.version, 2, "{session}");
        assert_eq!(messages(&mut store, &session).await.len(), 1, "{session}");
        completion.kind()
    }
}

/// Repeats the promote until it is clear that it is applied, be it now or before. The first
/// time the store may find its connection broken.
async fn repeat(store: &mut PostgresStore, promotion: Operation) -> CompletionKind {
    for _ in 0..2 {
        match execute(store, promotion.clone()).await {
            Completion::Done(_) => return CompletionKind::Done,
            Completion::Refused(Refusal::StepClosed) => return CompletionKind::StepClosed,
            Completion::NotApplied(_) => {}
            other => panic!("{promotion:?} repeated: {other:?}"),
        }
    }
    panic!("the store does not get on")
}
