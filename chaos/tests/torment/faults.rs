//! Every fault of the table fires, comes to what the table says, and heals.

use std::sync::Arc;

use stagefault_chaos::torment::available::{Applied, Possible};
use stagefault_chaos::torment::{MortalServer, Tormented};
use stagefault_models::{Backend, Completion, Fault, FaultKind};

use crate::desk::*;
use crate::requests::*;

#[tokio::test]
async fn every_fault_of_a_read_fires_and_heals() {
    every_fault_of(Sample::Load, namespace().await, false).await;
}

#[tokio::test]
async fn every_fault_of_a_single_write_fires_and_heals() {
    every_fault_of(Sample::Stage, namespace().await, false).await;
}

#[tokio::test]
async fn every_fault_of_a_guarded_write_fires_and_heals() {
    every_fault_of(Sample::Promote, namespace().await, false).await;
}

#[tokio::test]
async fn every_fault_of_a_sweep_fires_and_heals() {
    every_fault_of(Sample::Expire, namespace().await, false).await;
}

#[tokio::test]
async fn every_fault_of_the_server_fires_and_heals() {
    let server: Arc<MortalServer> = MortalServer::start().unwrap();
    for sample in [Sample::Promote, Sample::Expire] {
        every_fault_of(sample, namespace_on(&server).await, true).await;
    }
}

/// Does to the operation all that the table has for it: to the server, or all else.
async fn every_fault_of(sample: Sample, mut backend: Tormented, to_the_server: bool) {
    let kind = sample.operation("s").kind();
    let table = backend.available().all();
    let of_server = |kind| matches!(kind, FaultKind::ServerKill | FaultKind::ServerStop);
    let faults: Vec<Possible> = table
        .filter(|fault| fault.operation == kind && of_server(fault.kind) == to_the_server)
        .collect();
    assert!(!faults.is_empty());
    let mut store = handle(&backend).await;
    for (number, fault) in faults.into_iter().enumerate() {
        let session = format!("s{number}");
        sample.prepare(&mut store, &session).await;
        let (completion, receipt) =
            under(&mut store, fault.point, fault.kind, &sample.operation(&session)).await;
        let receipt = receipt.unwrap_or_else(|| panic!("{fault:?} did not fire: {completion:?}"));
        assert_eq!(receipt.fault, Fault::At { point: fault.point, kind: fault.kind });
        assert!(
            fault.outcome.allows(&completion, receipt.applied),
            "{fault:?}: {completion:?}, {receipt:?}"
        );
        let mut other = handle(&backend).await;
        gets_on(&mut store, &session).await;
        gets_on(&mut other, &session).await;

        store = settle(&mut backend).await;
        let took_effect = sample.took_effect(&snapshot(&mut store, &session).await);
        let told = (completion, receipt.applied);
        match fault.outcome.applied {
            Applied::Never => assert!(!took_effect && told.1 != Some(true), "{fault:?}: {told:?}"),
            Applied::Always | Applied::Late => {
                assert!(took_effect && told.1 != Some(false), "{fault:?}: {told:?}");
            }
            Applied::AsAnswered => {}
        }
        match told.0 {
            Completion::NotApplied(_) | Completion::Refused(_) => {
                assert!(!took_effect, "{fault:?}")
            }
            Completion::Done(_) => {
                assert_eq!(took_effect, !matches!(sample, Sample::Load), "{fault:?}");
            }
            Completion::Unknown(_) => {}
        }
        done(&mut store, delete(&session)).await;
    }
    backend.remove().await.unwrap();
}
