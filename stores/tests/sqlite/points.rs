//! Which points each kind of operation reaches: what a plan of faults for sqlite can rely on.

use crate::shared::points::table;
use crate::support::*;

const TABLE: &str = "
CreateSession       Done            Acquire BeforeCommit Reply
CreateSession       SessionExists   Acquire BeforeCommit Statement(1) Reply
DeleteSession       Done            Acquire BeforeCommit Reply
DeleteSession       SessionNotFound Acquire BeforeCommit Reply
Load                Done            Acquire Statement(1) Reply
Touch               Done            Acquire BeforeCommit Reply
Touch               SessionNotFound Acquire BeforeCommit Reply
Stage               Done            Acquire BeforeCommit Reply
Stage               StepClosed      Acquire BeforeCommit Statement(1) Reply
Discard             Done            Acquire BeforeCommit Reply
Discard             Done            Acquire BeforeCommit Statement(1) Reply
Promote             Done            Acquire Begin Statement(1) Statement(2) Statement(3) Statement(4) BeforeCommit Reply
Promote             Done            Acquire Begin Statement(1) Statement(2) BeforeCommit Reply
Promote             StaleState      Acquire Begin Statement(1) Reply
Promote             StepClosed      Acquire Begin Statement(1) Reply
AppendMessages      Done            Acquire Begin Statement(1) Statement(2) BeforeCommit Reply
AppendMessages      Done            Acquire Begin Statement(1) Reply
AppendMessages      MessageConflict Acquire Begin Statement(1) Reply
ReadMessages        Done            Acquire Statement(1) Reply
CompareAndSetStatus Done            Acquire BeforeCommit Reply
CompareAndSetStatus StatusMismatch  Acquire BeforeCommit Statement(1) Reply
BeginRun            Done            Acquire BeforeCommit Reply
BeginRun            Done            Acquire BeforeCommit Statement(1) Reply
RequestInterrupt    Done            Acquire BeforeCommit Reply
ConsumeInterrupt    Done            Acquire BeforeCommit Reply
ConsumeInterrupt    Done            Acquire BeforeCommit Statement(1) Reply
RegisterCall        Done            Acquire BeforeCommit Reply
RegisterCall        Done            Acquire BeforeCommit Statement(1) Reply
SubmitResult        Done            Acquire BeforeCommit Reply
SubmitResult        CallExpired     Acquire BeforeCommit Statement(1) Reply
ExpireCalls         Done            Acquire BeforeCommit Reply
ExpireCalls         Done            Acquire BeforeCommit Reply
Cleanup             Done            Acquire Begin Statement(1) Statement(2) BeforeCommit Reply
Cleanup             Done            Acquire Begin Statement(1) Statement(2) BeforeCommit Reply
Cleanup             Done            Acquire Begin Statement(1) Statement(2) Reply
";

#[tokio::test]
async fn each_operation_reaches_the_points_that_the_table_says() {
    let (_folder, backend) = database().await;
    assert_eq!(table(&backend).await, TABLE.trim_start());
}
