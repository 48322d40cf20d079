//! Sessions: agreement with the plain search over the reference model itself.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use stagefault_models::checker::{Verdict, check_history};
use stagefault_models::model::step;
use stagefault_models::{
    Cause, Completion, Failure, History, Id, Operation, Reason, Recorded, Reply, Returned,
    SessionState, Status,
};

use crate::plain::{Interval, Outcome, Plain};
use crate::random::{Ended, Random, Simulated, histories, simulate};
use crate::words::*;

const SESSIONS: [&str; 2] = ["s", "t"];

/// All kinds of operations on few names, about the session `s`.
pub fn operations() -> Vec<Operation> {
    vec![
        create(),
        create_until(Some(5)),
        delete(),
        load(),
        load(),
        load(),
        read(0, 3),
        touch(Some(5)),
        touch(None),
        stage("t", "c", 2, [increment("n", 1)]),
        stage("t", "d", 6, [set("n", 3)]),
        stage("u", "c", 1, [append_to("n", [1])]),
        discard("t"),
        promote_staged("t", 1),
        promote_with("u", 1, [set("k", 1)], [message("m", 1)]),
        promote_with("t", 2, [], [message("l", 1)]),
        append([message("m", 1)]),
        append([message("l", 1), message("m", 2)]),
        append([message("l", 1)]),
        set_status([Status::Active], Status::Failed),
        set_status([Status::Failed], Status::Active),
        begin_run("q"),
        begin_run("r"),
        request_interrupt(),
        consume_interrupt(),
        register("c", "r", 5),
        register("d", "r", 9),
        submit("c", "r", 1, 2),
        submit("c", "r", 2, 7),
        expire_calls(6),
        cleanup(7, 4),
    ]
}

/// A run of two sessions. A sweep meets them one after the other, and in doubt, one or none.
fn run(random: &mut Random) -> History {
    let all = operations();
    let mut sessions = SESSIONS.map(|session| SessionState::absent(session.into()));
    if !random.one_in(4) {
        for (session, state) in SESSIONS.into_iter().zip(&mut sessions) {
            let _ = step(state, &of(session, create()));
        }
    }
    let begun = sessions.each_ref().map(|state| state.session.is_some());
    let (writers, operations) = (2 + random.below(3) as u32, 3 + random.below(6) as usize);
    let ask = |random: &mut Random| of(random.one_of(&SESSIONS), random.one_of(&all));
    let happen = |_: &mut Random, operation: &Operation| answer(&mut sessions, operation);
    let mut run = simulate(random, writers, operations, ask, happen);
    if random.one_in(2) {
        spoil(random, &mut run);
    }
    let mut history = History::default();
    for (clock, session) in (0..).zip(SESSIONS.into_iter().zip(begun)) {
        if let (session, true) = session {
            let created = Completion::Done(Reply::Created { version: 1 });
            let returned = Some(Returned { at: 2 * clock + 1, completion: created });
            let operation = of(session, create());
            let recorded = Recorded { writer: 0, operation, called: 2 * clock, returned };
            history.operations.push(recorded);
        }
    }
    history.operations.extend(run.into_iter().map(recorded));
    history
}

fn answer(sessions: &mut [SessionState; 2], operation: &Operation) -> Completion {
    match operation.session() {
        Some(id) => {
            let state = sessions.iter_mut().find(|state| state.id == *id).expect("one of two");
            step(state, operation).into()
        }
        None => {
            let replies = sessions.each_mut().map(|state| step(state, operation).expect("a sweep"));
            let [mut reply, other] = replies;
            match (&mut reply, other) {
                (Reply::CallsExpired(all), Reply::CallsExpired(more)) => all.extend(more),
                (
                    Reply::Cleaned { sessions, staged },
                    Reply::Cleaned { sessions: more, staged: rows },
                ) => {
                    sessions.extend(more);
                    staged.extend(rows);
                }
                _ => unreachable!("a sweep's replies"),
            }
            Completion::Done(reply)
        }
    }
}

/// Gives one operation what another was answered, or what it would have been answered elsewhere.
fn spoil(random: &mut Random, run: &mut [Simulated<Operation, Completion>]) {
    let place = random.below(run.len() as u64) as usize;
    let mut elsewhere = SESSIONS.map(|session| SessionState::absent(session.into()));
    for _ in 0..random.below(4) {
        let other = random.below(run.len() as u64) as usize;
        answer(&mut elsewhere, &run[other].operation);
    }
    let wrong = answer(&mut elsewhere, &run[place].operation);
    if let Some((_, Ended::Answered(completion))) = &mut run[place].returned {
        *completion = wrong;
    }
}

fn recorded(simulated: Simulated<Operation, Completion>) -> Recorded {
    let failure = || Failure { cause: Cause::Connection, reason: Reason(String::new()) };
    let Simulated { operation, writer, called, returned } = simulated;
    let returned = returned.map(|(at, ended)| Returned {
        at: at + 10,
        completion: match ended {
            Ended::Answered(completion) => completion,
            Ended::NotApplied => Completion::NotApplied(failure()),
            Ended::Unknown => Completion::Unknown(failure()),
        },
    });
    Recorded { writer, operation, called: called + 10, returned }
}

/// The plain search over one session; places are those in the history.
fn plainly(history: &History, session: &Id) -> Outcome {
    let mut places = Vec::new();
    let mut intervals: Vec<Interval<Completion>> = Vec::new();
    for (place, recorded) in history.operations.iter().enumerate() {
        let returned = match &recorded.returned {
            Some(Returned { completion: Completion::NotApplied(_), .. }) => continue,
            None | Some(Returned { completion: Completion::Unknown(_), .. }) => None,
            Some(Returned { at, completion }) => Some((*at, only(completion, session))),
        };
        if recorded.operation.session().is_none_or(|id| id == session) {
            intervals.push((recorded.called, returned));
            places.push(place);
        }
    }
    let apply = |state: &SessionState, place: usize| {
        let mut state = state.clone();
        let answer = step(&mut state, &history.operations[places[place]].operation);
        (answer.into(), state)
    };
    let plain = Plain { calls: &intervals, apply: &apply };
    match plain.search(&SessionState::absent(session.clone())) {
        Outcome::Linearizable => Outcome::Linearizable,
        Outcome::Stuck { at, supposed } => Outcome::Stuck { at: places[at], supposed },
    }
}

/// What of a sweep's reply is about the session.
fn only(completion: &Completion, session: &Id) -> Completion {
    let mut completion = completion.clone();
    match &mut completion {
        Completion::Done(Reply::CallsExpired(expired)) => {
            expired.retain(|call| call.session == *session);
        }
        Completion::Done(Reply::Cleaned { sessions, staged }) => {
            sessions.retain(|removed| removed == session);
            staged.retain(|row| row.session == *session);
        }
        _ => {}
    }
    completion
}

#[test]
fn the_verdict_is_that_of_the_plain_search_over_the_model() {
    let (mut random, mut violations) = (Random(2), 0);
    let histories = histories();
    for number in 0..histories {
        let history = run(&mut random);
        let named: BTreeSet<Id> = SESSIONS.into_iter().map(Id::from).collect();
        let stuck: Vec<(Id, usize)> = named
            .into_iter()
            .filter_map(|session| match plainly(&history, &session) {
                Outcome::Linearizable => None,
                Outcome::Stuck { at, .. } => Some((session, at)),
            })
            .collect();
        match check_history(&history, |_| ControlFlow::Continue(())) {
            Verdict::Linearizable { .. } => {
                assert_eq!(stuck, [], "{number}: {}", history.to_json_lines())
            }
            Verdict::Violation(violation) => {
                let found = (violation.key.clone(), violation.stuck);
                assert!(stuck.contains(&found), "{violation:?}: {}", history.to_json_lines());
                violations += 1;
            }
            Verdict::Undecided(undecided) => panic!("{}", undecided.why),
        }
    }
    let share = violations * 100 / histories;
    assert!((10..=60).contains(&share), "{share} percent are violations");
}
