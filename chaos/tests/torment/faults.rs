//! Every fault of the table fires, comes to what the table says, and heals.
//!
//! Of operations that take the same course the first stands for all; with `STAGEFAULT_TRIALS`
//! set, each has its turn.

use stagefault_chaos::torment::available::{Applied, Possible};
use stagefault_chaos::torment::{MortalServer, Tormented, TormentedNamespaces};
use stagefault_models::{
    Backend, Completion, Fault, FaultKind, Namespaces, OperationKind, Point, Receipt,
};
use stagefault_stores::flaws::Flaws;
use stagefault_stores::postgres::PostgresOptions;

use crate::desk::*;
use crate::requests::*;

const READS: &[OperationKind] = &[OperationKind::Load, OperationKind::ReadMessages];

const SINGLE_WRITES: &[OperationKind] = &[
    OperationKind::Stage,
    OperationKind::CreateSession,
    OperationKind::DeleteSession,
    OperationKind::Touch,
    OperationKind::CompareAndSetStatus,
    OperationKind::BeginRun,
    OperationKind::RequestInterrupt,
    OperationKind::ConsumeInterrupt,
    OperationKind::RegisterCall,
    OperationKind::SubmitResult,
];

const GUARDED_WRITES: &[OperationKind] =
    &[OperationKind::Promote, OperationKind::AppendMessages, OperationKind::Discard];

const SWEEPS: &[OperationKind] = &[OperationKind::ExpireCalls, OperationKind::Cleanup];

#[tokio::test]
async fn every_fault_of_a_read_fires_and_heals() {
    every_fault_of(READS, namespace().await, false).await;
}

#[tokio::test]
async fn every_fault_of_a_single_write_fires_and_heals() {
    every_fault_of(SINGLE_WRITES, namespace().await, false).await;
}

#[tokio::test]
async fn every_fault_of_a_guarded_write_fires_and_heals() {
    every_fault_of(GUARDED_WRITES, namespace().await, false).await;
}

#[tokio::test]
async fn every_fault_of_a_sweep_fires_and_heals() {
    every_fault_of(SWEEPS, namespace().await, false).await;
}

#[tokio::test]
async fn every_fault_of_the_server_fires_and_heals() {
    let server = MortalServer::start().unwrap();
    for operations in [GUARDED_WRITES, SWEEPS] {
        every_fault_of(operations, namespace_on(&server).await, true).await;
    }
}

#[tokio::test]
async fn a_given_server_is_never_killed_and_its_connections_meet_faults() {
    let options = PostgresOptions::from_url(url()).unwrap();
    let namespaces = TormentedNamespaces::on_given(options, Flaws::none());
    let available = namespaces.available();
    let mut table = available.all();
    assert!(table.all(|fault| !of_server(fault.kind) && fault.kind != FaultKind::Deadlock));
    assert!(available.lacks(FaultKind::ServerKill).is_some_and(|why| why.contains("given")));

    let backend = namespaces.fresh().await.unwrap();
    let mut store = handle(&backend).await;
    prepare(&mut store, OperationKind::Promote, "s").await;
    let promote = promotion("s", "t", 1);
    let kill = under(&mut store, Point::BeforeCommit, FaultKind::ServerKill, &promote).await;
    assert!(matches!(kill, (Completion::Done(_), None)), "{kill:?}");
    let promote = promotion("s", "u", 2);
    let cut = under(&mut store, Point::CommitSent, FaultKind::Terminate, &promote).await;
    assert!(matches!(cut, (_, Some(Receipt { applied: Some(false), .. }))), "{cut:?}");
    backend.remove().await.unwrap();
}

#[tokio::test]
async fn a_cut_of_a_connection_that_was_given_up_is_none() {
    let backend = namespace().await;
    let mut store = handle(&backend).await;
    prepare(&mut store, OperationKind::Touch, "s").await;
    let touch = sample(OperationKind::Touch, "s");
    under(&mut store, Point::CommitSent, FaultKind::Reset, &touch).await;
    for kind in [FaultKind::Reset, FaultKind::Close, FaultKind::Truncate, FaultKind::Terminate] {
        gets_on(&mut store, "s").await;
        let gone = under(&mut store, Point::CommitSent, FaultKind::CallerGone, &touch).await;
        assert!(matches!(gone, (Completion::Unknown(_), Some(_))), "{gone:?}");
        let next = under(&mut store, Point::Acquire, kind, &touch).await;
        assert!(matches!(next, (Completion::Done(_), None)), "{kind:?}: {next:?}");
    }
    backend.remove().await.unwrap();
}

#[tokio::test]
async fn where_the_store_connects_by_a_socket_only_callers_meet_faults() {
    let options = PostgresOptions::from_url("postgres://u@%2Ftmp%2Fsocket/d").unwrap();
    let available = TormentedNamespaces::on_given(options, Flaws::none()).available();
    assert!(available.all().count() > 0);
    assert!(available.all().all(|fault| fault.kind == FaultKind::CallerGone));
    assert!(available.all().all(|fault| fault.point != Point::CommitSent));
}

/// Does to the operations all that the table has for them: to the server, or all else.
async fn every_fault_of(operations: &[OperationKind], mut backend: Tormented, to_the_server: bool) {
    let each = std::env::var_os("STAGEFAULT_TRIALS").is_some();
    let operations = if each { operations } else { &operations[..1] };
    let faults = backend.available().all();
    let faults: Vec<Possible> = faults
        .filter(|fault| operations.contains(&fault.operation))
        .filter(|fault| of_server(fault.kind) == to_the_server)
        .collect();
    assert!(!faults.is_empty());
    done(&mut handle(&backend).await, create("other")).await;
    for (number, fault) in faults.into_iter().enumerate() {
        fires_and_heals(fault, &mut backend, &format!("s{number}")).await;
    }
    backend.remove().await.unwrap();
}

fn of_server(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::ServerKill | FaultKind::ServerStop)
}

async fn fires_and_heals(fault: Possible, backend: &mut Tormented, session: &str) {
    let (mut store, mut other) = (handle(backend).await, handle(backend).await);
    prepare(&mut store, fault.operation, session).await;
    let before = look(backend, &mut store, session).await;
    let operation = sample(fault.operation, session);
    let (completion, receipt) = under(&mut store, fault.point, fault.kind, &operation).await;
    let receipt = receipt.unwrap_or_else(|| panic!("{fault:?} did not fire: {completion:?}"));
    assert_eq!(receipt.fault, Fault::At { point: fault.point, kind: fault.kind });
    let told = (&completion, receipt.applied);
    assert!(fault.outcome.allows(told.0, told.1), "{fault:?}: {told:?}");
    gets_on(&mut store, "other").await;
    gets_on(&mut other, "other").await;
    assert_eq!(backend.settle().await.unwrap(), [], "{fault:?}");
    gets_on(&mut store, "other").await;
    backend.reopen().await.unwrap();

    let mut store = handle(backend).await;
    let took_effect = look(backend, &mut store, session).await != before;
    match fault.outcome.applied {
        Applied::Never => assert!(!took_effect && told.1 != Some(true), "{fault:?}: {told:?}"),
        Applied::Always | Applied::Late => {
            assert!(took_effect && told.1 != Some(false), "{fault:?}: {told:?}");
        }
        Applied::AsAnswered => {}
    }
    match told.0 {
        Completion::NotApplied(_) | Completion::Refused(_) => assert!(!took_effect, "{fault:?}"),
        Completion::Done(_) => {
            assert_eq!(took_effect, !READS.contains(&fault.operation), "{fault:?}");
        }
        Completion::Unknown(_) => {}
    }
    let _ = execute(&mut store, delete(session)).await;
}
