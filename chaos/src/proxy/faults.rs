//! The fault that is armed on a line, and what it has met: apart from any connection, for
//! an operation may use several.

use super::fault::{Answer, Commit, Kind, Place, WireFault, WireReceipt};

/// The fault of the present operation.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    armed: Option<WireFault>,
    receipt: Option<WireReceipt>,
    /// Which operation this is, so that what comes late is not taken for another's.
    operation: u64,
    statements: u32,
    commit: Commit,
    /// Whether the last commit was answered, and had no effect.
    in_vain: bool,
    /// What the server answered to the last commit.
    answer: Option<Answer>,
    next_is_commit: bool,
    trickles: bool,
    /// The receipt of an earlier operation whose commit is still held.
    late: Option<(u64, WireReceipt)>,
}

/// What a request is, as far as faults go.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) begins: bool,
    pub(super) commits: bool,
    /// How many statements of it are counted.
    pub(super) statements: u32,
}

/// What a request meets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    /// It is delivered.
    Pass,
    /// The fault fires instead.
    Request(WireFault),
    /// It is delivered, and the fault fires with the answer to it.
    Answer(WireFault),
}

impl Faults {
    /// An operation begins, and this is its fault.
    pub(crate) fn arm(&mut self, fault: WireFault) {
        self.disarm();
        self.armed = Some(fault);
    }

    /// An operation ends, and another begins.
    pub(crate) fn disarm(&mut self) -> Option<WireReceipt> {
        let receipt = self.receipt.take();
        let is_held = |receipt: &&WireReceipt| receipt.commit == Commit::Held;
        let held = receipt.as_ref().filter(is_held).map(|it| (self.operation, it.clone()));
        let late = held.or(self.late.take());
        *self = Faults { operation: self.operation + 1, late, ..Faults::default() };
        receipt
    }

    /// What an operation that was given up meets with what still comes of it: nothing.
    pub(super) fn of_the_past(&self) -> Faults {
        Faults { operation: self.operation.wrapping_sub(1), ..Faults::default() }
    }

    /// The fault meets the next request, whatever it is, of the operation that goes on.
    pub(super) fn await_request(&mut self, fault: WireFault) {
        self.armed = Some(fault);
    }

    /// The next statement commits, whatever its text says.
    pub(super) fn next_is_commit(&mut self) {
        self.next_is_commit = true;
    }

    /// The receipt of this operation, as far as it is known.
    pub(crate) fn receipt(&self) -> Option<WireReceipt> {
        self.receipt.clone()
    }

    /// What the server answered to this operation's last commit, if it has.
    pub(super) fn answer(&self) -> Option<Answer> {
        self.answer.clone()
    }

    /// Whether the fault of this operation has fired.
    pub(super) fn has_fired(&self) -> bool {
        self.receipt.is_some()
    }

    /// The receipt of the last operation of which something was held.
    pub(super) fn late_receipt(&self) -> Option<WireReceipt> {
        let late = || self.late.as_ref().map(|(_, receipt)| receipt.clone());
        let is_held = |receipt: &WireReceipt| matches!(receipt.fault.kind, Kind::Delay(_));
        self.receipt().filter(is_held).or_else(late)
    }

    /// Which operation this is.
    pub(super) fn operation(&self) -> u64 {
        self.operation
    }

    /// Whether a request must be whole before any of it is delivered.
    pub(super) fn holds_requests(&self) -> bool {
        let waits = |place| match place {
            Place::Now | Place::BeforeBegin | Place::BeforeStatement(_) | Place::CommitSent => true,
            Place::AfterStatement(_) | Place::CommitDelivered | Place::MidReply => false,
        };
        self.armed.is_some_and(|fault| waits(fault.place))
    }

    /// Whether all goes byte by byte.
    pub(super) fn trickles(&self) -> bool {
        self.trickles
    }

    /// A whole request has arrived.
    pub(super) fn arrive(&mut self, survey: &mut Survey) -> Verdict {
        let before = self.statements;
        self.statements += survey.statements;
        if survey.commits || survey.statements > 0 {
            survey.commits |= std::mem::take(&mut self.next_is_commit);
            if survey.commits {
                (self.commit, self.in_vain) = (Commit::NotDelivered, false);
            } else if self.commit != Commit::Delivered || self.in_vain {
                self.commit = Commit::NotSent;
            }
        }
        let Some(fault) = self.armed else { return Verdict::Pass };
        let is_here = |number| before < number && number <= self.statements;
        let verdict = match fault.place {
            Place::Now => Verdict::Request(fault),
            Place::BeforeBegin if survey.begins => Verdict::Request(fault),
            Place::BeforeStatement(number) if is_here(number) => Verdict::Request(fault),
            Place::CommitSent if survey.commits => Verdict::Request(fault),
            Place::AfterStatement(number) if is_here(number) => Verdict::Answer(fault),
            Place::CommitDelivered | Place::MidReply if survey.commits => Verdict::Answer(fault),
            _ => return Verdict::Pass,
        };
        self.armed = None;
        verdict
    }

    /// The fault fires.
    pub(super) fn fire(&mut self, fault: WireFault, backend: Option<i32>, answer: Option<Answer>) {
        self.armed = None;
        self.trickles = fault.kind == Kind::Trickle;
        if matches!(fault.kind, Kind::Delay(_)) && self.commit == Commit::NotDelivered {
            self.commit = Commit::Held;
        }
        let (statements, commit) = (self.statements, self.commit);
        self.receipt = Some(WireReceipt { fault, backend, statements, commit, answer });
    }

    /// The server was sent a whole commit of this operation.
    pub(super) fn delivered(&mut self, operation: u64) {
        self.commit_is(operation, Commit::Delivered);
    }

    /// What was held is given up.
    pub(super) fn gave_up(&mut self) {
        if self.commit == Commit::Held {
            self.commit_is(self.operation, Commit::NotDelivered);
        }
        if let Some((operation, _)) = self.late {
            self.commit_is(operation, Commit::NotDelivered);
        }
    }

    fn commit_is(&mut self, operation: u64, commit: Commit) {
        if operation == self.operation {
            self.commit = commit;
            if let Some(receipt) = &mut self.receipt {
                receipt.commit = commit;
            }
        }
        if let Some((late, receipt)) = &mut self.late
            && operation == *late
        {
            receipt.commit = commit;
        }
    }

    /// The server has answered a commit of this operation.
    pub(super) fn answered(&mut self, operation: u64, answer: Option<&Answer>) {
        self.delivered(operation);
        if operation == self.operation {
            self.in_vain = answer.is_some_and(|answer| !answer.has_effect());
            self.answer = answer.cloned();
            if let Some(receipt) = &mut self.receipt {
                receipt.answer = answer.cloned();
            }
        }
    }
}
