//! One connection between a client and a server, without any input or output: bytes go in,
//! and what is to be done with them comes out.
//!
//! Bytes are passed on as they come, also parts of messages, but for where a fault waits.
//! Then a request is gathered until it is whole, and so is the answer that the fault is to
//! meet. A request is what a client sends until it waits for the server: a Query, or all
//! messages until a Sync or Flush.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::fault::{Answer, Kind, Place, WireFault};
use super::faults::{Faults, Survey, Verdict};
use super::wire::sql::{Statement, statements};
use super::wire::{Backend, BackendParser, Frontend, FrontendParser, TransactionStatus};

/// What is to be done next in one direction of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Bytes are passed on.
    Pass(Bytes),
    /// Bytes are passed on one by one.
    Trickle(Bytes),
    /// What was passed until now holds a whole commit, of this operation.
    CommitPassed(u64),
    /// Nothing more is passed for this long, or until it is told to go on.
    Hold(Option<Duration>),
    /// What was held has been passed on.
    Released,
    /// The connection ends.
    End(Ending),
}

/// How a client's connection is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is reset.
    Reset,
    /// It is closed in order.
    Close,
}

/// What is known of a connection.
#[derive(Debug, Default)]
pub(super) struct Session {
    client: FrontendParser,
    server: BackendParser,
    /// How many bytes of the client's unfinished message were passed on.
    client_passed: usize,
    /// The same of the server's.
    server_passed: usize,
    backend: Option<i32>,
    prepared: HashMap<String, Vec<Statement>>,
    portals: HashMap<String, Vec<Statement>>,
    request: Request,
    /// Whether the client has sent a whole message.
    has_begun: bool,
    /// What the connection is in when all that was sent is done.
    status: TransactionStatus,
    /// Whether a statement wrote outside a transaction, and nothing has committed it yet.
    has_written: bool,
    /// Whether the server reads rows, and no Sync, as part of a request of many messages.
    copies: bool,
    /// The answers that are still to come, in order.
    expected: VecDeque<Expected>,
    /// What came of a request that no Sync has ended yet.
    last_result: Option<Answer>,
    /// What has come of an answer that a fault is to meet.
    answer: BytesMut,
    holds: bool,
    may_go_on: bool,
    swallows: bool,
    is_over: bool,
}

/// The request that the client is about to make.
#[derive(Debug, Default)]
struct Request {
    /// What of it was not passed on yet.
    bytes: BytesMut,
    statements: Vec<Statement>,
    executions: u32,
}

/// An answer that is still to come.
#[derive(Debug)]
struct Expected {
    until: Until,
    operation: u64,
    commits: bool,
    /// The fault that it meets.
    fault: Option<WireFault>,
    answer: Option<Answer>,
}

/// Where an answer ends.
#[derive(Debug, PartialEq, Eq)]
enum Until {
    /// With the server's being ready for the next request.
    Ready,
    /// With so many results, for the client has asked for no more yet.
    Results(u32),
}

/// How a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Query,
    Sync,
    Flush,
}

impl Session {
    /// The process id of the server's backend, once it has told.
    pub(super) fn backend(&self) -> Option<i32> {
        self.backend
    }

    /// Whether something is held.
    pub(super) fn holds(&self) -> bool {
        self.holds
    }

    /// What is held is to be passed on.
    pub(super) fn go_on(&mut self) {
        self.may_go_on = self.holds;
    }

    /// Whether it is.
    pub(super) fn may_go_on(&self) -> bool {
        self.may_go_on
    }

    /// What was held has been passed on.
    pub(super) fn released(&mut self) {
        (self.holds, self.may_go_on) = (false, false);
    }

    /// Whether it swallows everything.
    pub(super) fn swallows(&self) -> bool {
        self.swallows
    }

    /// Nothing more is passed.
    pub(super) fn give_up(&mut self) {
        self.is_over = true;
    }

    /// A fault strikes at once if its kind needs no request to meet. Then the answer is what
    /// the session ends with, if it does.
    pub(super) fn strike(&mut self, kind: Kind, faults: &mut Faults) -> Option<Ending> {
        let fault = WireFault { place: Place::Now, kind };
        if matches!(kind, Kind::Delay(_) | Kind::Truncate) {
            faults.await_request(fault);
            return None;
        }
        faults.fire(fault, self.backend, None);
        self.swallows |= kind == Kind::BlackHole;
        let ending = match kind {
            Kind::Reset => Ending::Reset,
            Kind::Close => Ending::Close,
            _ => return None,
        };
        self.is_over = true;
        Some(ending)
    }

    /// The client has sent this.
    pub(super) fn client_sent(&mut self, bytes: &[u8], faults: &mut Faults) -> Vec<Step> {
        let mut steps = Vec::new();
        self.client.push(bytes);
        while !self.swallows && !self.is_over {
            let Some((message, bytes)) = self.client.next_message() else { break };
            let bytes = bytes.slice(std::mem::take(&mut self.client_passed)..);
            self.hear_client(message, bytes, faults, &mut steps);
        }
        let passes = !self.swallows && !self.is_over && !faults.holds_requests();
        if passes {
            pass(&mut steps, self.request.bytes.split().freeze(), faults);
            let partial = &self.client.partial()[self.client_passed..];
            pass(&mut steps, Bytes::copy_from_slice(partial), faults);
            self.client_passed = self.client.partial().len();
        }
        steps
    }

    fn hear_client(
        &mut self,
        message: Frontend,
        bytes: Bytes,
        faults: &mut Faults,
        steps: &mut Vec<Step>,
    ) {
        self.has_begun = true;
        self.request.bytes.extend_from_slice(&bytes);
        match message {
            Frontend::Query(sql) => {
                self.request.executes(statements(&sql));
                return self.end(End::Query, faults, steps);
            }
            Frontend::FunctionCall => {
                self.request.executes(vec![Statement::Other]);
                return self.end(End::Query, faults, steps);
            }
            Frontend::Parse { statement, sql } => {
                self.prepared.insert(statement, statements(&sql));
                return;
            }
            Frontend::Bind { portal, statement } => {
                let statements = self.prepared.get(&statement).cloned().unwrap_or_default();
                self.portals.insert(portal, statements);
                return;
            }
            Frontend::Execute { portal } => {
                self.request.executes(self.portals.get(&portal).cloned().unwrap_or_default());
                return;
            }
            Frontend::CloseStatement(name) => {
                self.prepared.remove(&name);
                return;
            }
            Frontend::ClosePortal(name) => {
                self.portals.remove(&name);
                return;
            }
            Frontend::Describe => return,
            Frontend::Sync if !self.copies => return self.end(End::Sync, faults, steps),
            Frontend::Flush => return self.end(End::Flush, faults, steps),
            Frontend::Encryption => self.server.expect_encryption_answer(),
            Frontend::Opaque => self.server.give_up(),
            _ => {}
        }
        pass(steps, self.request.bytes.split().freeze(), faults);
    }

    /// A request is whole.
    fn end(&mut self, end: End, faults: &mut Faults, steps: &mut Vec<Step>) {
        let request = std::mem::take(&mut self.request);
        let mut survey = self.survey(&request.statements, end);
        let verdict = faults.arrive(&mut survey);
        let until = match end {
            End::Query | End::Sync => Until::Ready,
            End::Flush => Until::Results(request.executions),
        };
        let (operation, commits) = (faults.operation(), survey.commits);
        let fault = if let Verdict::Answer(fault) = verdict { Some(fault) } else { None };
        if until != Until::Results(0) {
            self.expected.push_back(Expected { until, operation, commits, fault, answer: None });
        }
        let bytes = request.bytes.freeze();
        match verdict {
            Verdict::Request(fault) => {
                faults.fire(fault, self.backend, None);
                self.apply(fault.kind, bytes, faults, steps);
            }
            Verdict::Pass | Verdict::Answer(_) => pass(steps, bytes, faults),
        }
        // Only what passes all of it leaves the connection open and listening.
        if commits && !self.swallows && !self.is_over {
            let place = steps.len() - usize::from(steps.last() == Some(&Step::Released));
            steps.insert(place, Step::CommitPassed(operation));
        }
    }

    /// What a request is, and what the connection is in after it.
    fn survey(&mut self, statements: &[Statement], end: End) -> Survey {
        let mut survey = Survey::default();
        for statement in statements {
            survey.statements += u32::from(statement.is_counted());
            match statement {
                Statement::Begin => {
                    survey.begins = true;
                    self.status = TransactionStatus::Open;
                }
                Statement::Commit | Statement::Rollback => {
                    let is_open = self.status != TransactionStatus::Idle;
                    survey.commits |= is_open && *statement == Statement::Commit;
                    self.status = TransactionStatus::Idle;
                }
                Statement::Write => {
                    self.has_written |= self.status == TransactionStatus::Idle;
                }
                Statement::Control | Statement::Other => {}
            }
        }
        if end != End::Flush {
            survey.commits |= std::mem::take(&mut self.has_written);
        }
        survey
    }

    /// Does to a whole request or answer what a fault does.
    fn apply(&mut self, kind: Kind, bytes: Bytes, faults: &Faults, steps: &mut Vec<Step>) {
        match kind {
            Kind::Reset => self.close(Ending::Reset, steps),
            Kind::Close => self.close(Ending::Close, steps),
            Kind::BlackHole => self.swallows = true,
            Kind::Delay(time) => {
                self.holds = true;
                steps.push(Step::Hold(time));
                pass(steps, bytes, faults);
                steps.push(Step::Released);
            }
            Kind::Truncate => {
                pass(steps, bytes.slice(..bytes.len().saturating_sub(1)), faults);
                self.close(Ending::Close, steps);
            }
            Kind::Trickle => pass(steps, bytes, faults),
        }
    }

    fn close(&mut self, ending: Ending, steps: &mut Vec<Step>) {
        self.is_over = true;
        steps.push(Step::End(ending));
    }

    /// The server has sent this.
    pub(super) fn server_sent(&mut self, bytes: &[u8], faults: &mut Faults) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.has_begun {
            // A server that speaks first is none of PostgreSQL's.
            self.client.give_up();
            self.server.give_up();
        }
        self.server.push(bytes);
        while !self.swallows && !self.is_over {
            let Some((message, bytes)) = self.server.next_message() else { break };
            let bytes = bytes.slice(std::mem::take(&mut self.server_passed)..);
            self.hear_server(message, bytes, faults, &mut steps);
        }
        if !self.swallows && !self.is_over && !self.gathers_answer(faults) {
            let partial = &self.server.partial()[self.server_passed..];
            pass(&mut steps, Bytes::copy_from_slice(partial), faults);
            self.server_passed = self.server.partial().len();
        }
        steps
    }

    /// Whether a fault is to meet what the server answers now.
    fn gathers_answer(&self, faults: &Faults) -> bool {
        let meets = |next: &Expected| next.fault.is_some() && faults.operation() == next.operation;
        self.expected.front().is_some_and(meets)
    }

    fn hear_server(
        &mut self,
        message: Backend,
        bytes: Bytes,
        faults: &mut Faults,
        steps: &mut Vec<Step>,
    ) {
        self.answer.extend_from_slice(&bytes);
        let is_ready = matches!(message, Backend::ReadyForQuery(_));
        let is_copy = message == Backend::CopyIn;
        self.take_note(message);
        let is_whole = match self.expected.front().map(|next| &next.until) {
            None => false,
            Some(Until::Ready) => is_ready,
            Some(Until::Results(missing)) => *missing == 0,
        };
        // The client must learn that it is to copy, or the answer would never be whole.
        if !self.gathers_answer(faults) || is_copy {
            pass(steps, self.answer.split().freeze(), faults);
        }
        if is_whole {
            self.answer_is_whole(faults, steps);
        }
    }

    fn take_note(&mut self, message: Backend) {
        let result = match message {
            Backend::BackendKeyData { process } => {
                self.backend = Some(process);
                return;
            }
            Backend::EncryptionAnswer(b'N') => return,
            Backend::EncryptionAnswer(_) | Backend::Opaque => {
                self.client.give_up();
                self.server.give_up();
                return;
            }
            Backend::ReadyForQuery(status) => {
                self.copies = false;
                // More may have been sent already, and then this tells of a past moment.
                if self.expected.len() <= 1 {
                    self.status = status;
                }
                return;
            }
            Backend::CopyIn => {
                self.copies = true;
                return;
            }
            Backend::CommandComplete(tag) => Some(Answer::Done(tag)),
            Backend::Error(code) => Some(Answer::Failed(code)),
            Backend::EmptyQuery | Backend::PortalSuspended => None,
            Backend::Authentication | Backend::Other(_) => return,
        };
        let Some(next) = self.expected.front_mut() else { return };
        if let Until::Results(missing) = &mut next.until {
            // After an error the server executes nothing until a Sync.
            let has_failed = matches!(result, Some(Answer::Failed(_)));
            *missing = if has_failed { 0 } else { missing.saturating_sub(1) };
        }
        if result.is_some() {
            next.answer = result;
        }
    }

    fn answer_is_whole(&mut self, faults: &mut Faults, steps: &mut Vec<Step>) {
        let meets = self.gathers_answer(faults);
        let Some(mut next) = self.expected.pop_front() else { return };
        // The result of what a Sync commits may have come when the client asked for it.
        let earlier = self.last_result.take();
        if next.until == Until::Ready {
            next.answer = next.answer.or(earlier);
        } else {
            self.last_result.clone_from(&next.answer);
        }
        if next.commits {
            faults.answered(next.operation, next.answer.as_ref());
        }
        let Some(fault) = next.fault.filter(|_| meets) else { return };
        let mut rest = self.answer.split().freeze();
        faults.fire(fault, self.backend, next.answer);
        if fault.place == Place::MidReply {
            pass(steps, rest.split_to(rest.len() / 2), faults);
        }
        self.apply(fault.kind, rest, faults, steps);
    }
}

impl Request {
    fn executes(&mut self, statements: Vec<Statement>) {
        self.statements.extend(statements);
        self.executions += 1;
    }
}

fn pass(steps: &mut Vec<Step>, bytes: Bytes, faults: &Faults) {
    if !bytes.is_empty() {
        steps.push(if faults.trickles() { Step::Trickle(bytes) } else { Step::Pass(bytes) });
    }
}

#[cfg(test)]
mod tests;
