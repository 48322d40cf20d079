//! Which points each kind of operation reaches: what a plan of faults for postgres can rely on.

use crate::shared::points::table;
use crate::support::*;

tests![each_operation_reaches_the_points_that_the_table_says];

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
Discard             Done            Acquire Statement(1) BeforeCommit Reply
Discard             Done            Acquire Statement(1) Reply
Promote             Done            Acquire Statement(1) BeforeCommit Reply
Promote             Done            Acquire Statement(1) BeforeCommit Reply
Promote             StaleState      Acquire Statement(1) Reply
Promote             StepClosed      Acquire Statement(1) Reply
AppendMessages      Done            Acquire Statement(1) BeforeCommit Reply
AppendMessages      Done            Acquire Statement(1) Reply
AppendMessages      MessageConflict Acquire Statement(1) Reply
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
ExpireCalls         Done            Acquire Statement(1) Begin Statement(2) Statement(3) BeforeCommit Reply
ExpireCalls         Done            Acquire Statement(1) Reply
Cleanup             Done            Acquire Statement(1) Begin Statement(2) Statement(3) BeforeCommit Reply
Cleanup             Done            Acquire Statement(1) Begin Statement(2) Statement(3) BeforeCommit Reply
Cleanup             Done            Acquire Statement(1) Reply
";

async fn each_operation_reaches_the_points_that_the_table_says(server: Server) {
    let backend = server.schema().await;
    assert_eq!(table(&backend).await, TABLE.trim_start());
    remove(&server, backend).await;
}
