//! What can be done to which operation at which point, and what may come of it.
//!
//! One table: lanes plan from it and hold what they saw against it, and a handle does
//! nothing that is not in it. What may come of a fault follows from the phase in which it is
//! done: before a commit is sent nothing has happened, and after it was carried out nothing
//! undoes it.

use std::iter;

use stagefault_models::{Completion, FaultKind, OperationKind, Point};

/// What can be done to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Available {
    /// Whether its server is ours, and so may be killed.
    pub server: bool,
    /// Whether its connections can be led through a line, which takes a port.
    pub connection: bool,
}

/// A fault that can be done, and what may come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Possible {
    /// To which operation.
    pub operation: OperationKind,
    /// Where.
    pub point: Point,
    /// What.
    pub kind: FaultKind,
    /// What may come of it.
    pub outcome: Outcome,
}

/// What may come of a fault that fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the operation may be `Done` or `Refused`.
    pub answered: bool,
    /// Whether it may be `NotApplied`.
    pub not_applied: bool,
    /// Whether it may be `Unknown`.
    pub unknown: bool,
    /// Whether the commit is carried out.
    pub applied: Applied,
}

/// Whether the commit of an operation that met a fault is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Never: what the operation would have changed is not changed.
    Never,
    /// Always, if there is anything for it to change.
    Always,
    /// Always, but perhaps only after the operation has returned.
    Late,
    /// As the completion says, which is no `Unknown`, or as it was before the fault.
    AsAnswered,
}

impl Available {
    /// Every fault that can be done.
    pub fn all(self) -> impl Iterator<Item = Possible> {
        let operations = OperationKind::ALL.into_iter();
        let places = operations.flat_map(|operation| {
            iter::repeat(operation).zip(Shape::of(operation).points().iter().copied())
        });
        let faults = places.flat_map(|place| iter::repeat(place).zip(FaultKind::ALL));
        faults.filter_map(move |((operation, point), kind)| {
            let outcome = self.outcome(operation, point, kind)?;
            Some(Possible { operation, point, kind, outcome })
        })
    }

    /// What may come of this fault; `None` where it cannot be done.
    pub fn outcome(
        self,
        operation: OperationKind,
        point: Point,
        kind: FaultKind,
    ) -> Option<Outcome> {
        let shape = Shape::of(operation);
        let on_the_wire =
            matches!(point, Point::CommitSent | Point::CommitDelivered | Point::MidReply);
        let can = self.lacks(kind).is_none()
            && (self.connection || !on_the_wire)
            && shape.reaches(point)
            && can_meet(operation, kind);
        can.then(|| shape.outcome(point, kind)).flatten()
    }

    /// Why no fault of this kind can be done here, for a reader.
    pub fn lacks(self, kind: FaultKind) -> Option<&'static str> {
        match kind {
            FaultKind::CallerGone => None,
            _ if !self.connection => Some("the store connects by a Unix socket, not by a port"),
            FaultKind::ServerKill | FaultKind::ServerStop if !self.server => {
                Some("the server was given, and so is not to be killed")
            }
            FaultKind::Deadlock if !self.server => {
                Some("who gives way is for a superuser to say, and the server was given")
            }
            _ => None,
        }
    }
}

impl Outcome {
    /// Whether it says that a fault may end so. `applied` is the receipt's.
    pub fn allows(&self, completion: &Completion, applied: Option<bool>) -> bool {
        let completes = match completion {
            Completion::Done(_) | Completion::Refused(_) => self.answered,
            Completion::NotApplied(_) => self.not_applied,
            Completion::Unknown(_) => self.unknown,
        };
        completes && !(self.applied == Applied::Never && applied == Some(true))
    }
}

/// Whether the operation takes locks by which it can meet a fault of this kind.
fn can_meet(operation: OperationKind, kind: FaultKind) -> bool {
    use OperationKind as Kind;
    match kind {
        // It waits for nobody's row.
        FaultKind::LockTimeout | FaultKind::StatementTimeout => operation != Kind::CreateSession,
        // These lock the session's key, which nobody changes.
        FaultKind::Serialization => {
            !matches!(operation, Kind::CreateSession | Kind::BeginRun | Kind::RegisterCall)
        }
        // These lock a session's row, and then others of the session.
        FaultKind::Deadlock => matches!(
            operation,
            Kind::Promote
                | Kind::Discard
                | Kind::Stage
                | Kind::DeleteSession
                | Kind::ExpireCalls
                | Kind::Cleanup
        ),
        // There must be a session's row to write, for which there is no room.
        FaultKind::DiskFull => !matches!(
            operation,
            Kind::BeginRun | Kind::RegisterCall | Kind::SubmitResult | Kind::ExpireCalls
        ),
        _ => true,
    }
}

/// The course of an operation, as far as points go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// One statement that reads.
    Read,
    /// One statement that writes.
    Single,
    /// One that reads, and one that writes under a guard.
    Guarded,
    /// One that looks for work, and if there is some, a transaction.
    Sweep,
}

impl Shape {
    fn of(operation: OperationKind) -> Self {
        use OperationKind as Kind;
        match operation {
            Kind::Load | Kind::ReadMessages => Shape::Read,
            Kind::Promote | Kind::AppendMessages | Kind::Discard => Shape::Guarded,
            Kind::ExpireCalls | Kind::Cleanup => Shape::Sweep,
            Kind::CreateSession
            | Kind::DeleteSession
            | Kind::Touch
            | Kind::Stage
            | Kind::CompareAndSetStatus
            | Kind::BeginRun
            | Kind::RequestInterrupt
            | Kind::ConsumeInterrupt
            | Kind::RegisterCall
            | Kind::SubmitResult => Shape::Single,
        }
    }

    fn points(self) -> &'static [Point] {
        use Point::*;
        match self {
            Shape::Read => &[Acquire, Statement(1), Reply],
            Shape::Single => &[Acquire, BeforeCommit, CommitSent, CommitDelivered, MidReply, Reply],
            Shape::Guarded => {
                &[Acquire, Statement(1), BeforeCommit, CommitSent, CommitDelivered, MidReply, Reply]
            }
            Shape::Sweep => &[
                Acquire,
                Statement(1),
                Begin,
                Statement(2),
                Statement(3),
                BeforeCommit,
                CommitSent,
                CommitDelivered,
                MidReply,
                Reply,
            ],
        }
    }

    fn reaches(self, point: Point) -> bool {
        self.points().contains(&point)
    }

    fn outcome(self, point: Point, kind: FaultKind) -> Option<Outcome> {
        use FaultKind::*;
        // The one statement of a read is its last word with the server.
        let is_last = self == Shape::Read && point != Point::Acquire;
        let point = if is_last { Point::Reply } else { point };
        match kind {
            CallerGone => self.when_the_caller_goes(point),
            Terminate | ServerKill | ServerStop => self.when_the_server_ends_it(point, kind),
            Reset | Close | BlackHole | Truncate => self.when_it_is_cut(point, kind),
            Delay | Trickle => self.when_it_is_slow(point, kind),
            IdleTimeout => self.when_it_idles(point),
            LockTimeout | StatementTimeout | Serialization | Deadlock => {
                self.when_it_is_contested(point, kind)
            }
            DiskFull => self.when_there_is_no_room(point),
        }
    }

    /// Only between its statements a transaction is idle.
    fn when_it_idles(self, point: Point) -> Option<Outcome> {
        let within = matches!(point, Point::Statement(2 | 3) | Point::BeforeCommit);
        (self == Shape::Sweep && within).then(|| self.broken_before_the_commit(point))
    }

    /// Before it takes its locks; for a deadlock before it takes the last of them.
    fn when_it_is_contested(self, point: Point, kind: FaultKind) -> Option<Outcome> {
        let in_time = match (self, point) {
            (Shape::Read, _) => false,
            (_, Point::Acquire) => true,
            (Shape::Single | Shape::Guarded, Point::BeforeCommit) => true,
            (Shape::Guarded | Shape::Sweep, Point::Statement(1)) => true,
            (Shape::Sweep, Point::Begin) => true,
            (Shape::Sweep, Point::Statement(2)) => kind == FaultKind::Deadlock,
            _ => false,
        };
        in_time.then_some(Outcome::ONLY_NOT_APPLIED)
    }

    /// The commit itself fails.
    fn when_there_is_no_room(self, point: Point) -> Option<Outcome> {
        let commits = self != Shape::Read && point == Point::BeforeCommit;
        commits.then_some(Outcome::ONLY_NOT_APPLIED)
    }

    fn when_the_caller_goes(self, point: Point) -> Option<Outcome> {
        let applied = match point {
            Point::Reply => Applied::AsAnswered,
            Point::CommitDelivered => Applied::Always,
            Point::MidReply => return None,
            _ => Applied::Never,
        };
        Some(Outcome::only_unknown(applied))
    }

    fn when_the_server_ends_it(self, point: Point, kind: FaultKind) -> Option<Outcome> {
        Some(match point {
            // What the server said before it ended a connection still arrives.
            Point::CommitDelivered | Point::MidReply if kind == FaultKind::Terminate => {
                return None;
            }
            Point::MidReply => return None,
            Point::CommitDelivered => Outcome::only_unknown(Applied::Always),
            // The server may say that it ended the connection before the commit.
            Point::CommitSent => {
                Outcome { not_applied: true, ..Outcome::only_unknown(Applied::Never) }
            }
            Point::Reply => Outcome::only_answered(),
            _ => self.broken_before_the_commit(point),
        })
    }

    fn when_it_is_cut(self, point: Point, kind: FaultKind) -> Option<Outcome> {
        Some(match point {
            Point::CommitSent => Outcome::only_unknown(Applied::Never),
            Point::CommitDelivered | Point::MidReply => Outcome::only_unknown(Applied::Always),
            // The next operation would wait for its whole deadline, or meet it in this one's place.
            Point::Reply if matches!(kind, FaultKind::BlackHole | FaultKind::Truncate) => {
                return None;
            }
            Point::Reply => Outcome::only_answered(),
            _ => self.broken_before_the_commit(point),
        })
    }

    fn when_it_is_slow(self, point: Point, kind: FaultKind) -> Option<Outcome> {
        Some(match (point, kind) {
            // Longer than the operation's deadline.
            (Point::CommitSent, FaultKind::Delay) => Outcome::only_unknown(Applied::Late),
            (Point::CommitDelivered | Point::MidReply, FaultKind::Delay) => {
                Outcome::only_unknown(Applied::Always)
            }
            (Point::Reply, _) => return None,
            _ => Outcome::only_answered(),
        })
    }

    /// The connection is broken before the commit was sent on it.
    fn broken_before_the_commit(self, point: Point) -> Outcome {
        let next_is_commit = match point {
            Point::BeforeCommit => true,
            Point::Acquire => self == Shape::Single,
            Point::Statement(1) => self == Shape::Guarded,
            Point::Statement(3) => true,
            _ => false,
        };
        Outcome {
            // It may have nothing more to ask of the server.
            answered: matches!(point, Point::Statement(_)),
            not_applied: true,
            // Sending a commit on a connection that is broken leaves it in doubt.
            unknown: next_is_commit,
            applied: Applied::Never,
        }
    }
}

impl Outcome {
    const ONLY_NOT_APPLIED: Outcome =
        Outcome { answered: false, not_applied: true, unknown: false, applied: Applied::Never };

    fn only_unknown(applied: Applied) -> Self {
        Outcome { answered: false, not_applied: false, unknown: true, applied }
    }

    fn only_answered() -> Self {
        let applied = Applied::AsAnswered;
        Outcome { answered: true, not_applied: false, unknown: false, applied }
    }
}
