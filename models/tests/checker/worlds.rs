//! Sequential runs with operations in doubt: by hand, and against the plain search.

use std::collections::BTreeSet;

use stagefault_models::model::step;
use stagefault_models::worlds::{Worlds, WorldsError};
use stagefault_models::{
    Cause, Completion, Failure, Id, Operation, Reason, Refusal, Reply, SessionState,
};

use crate::plain::{Interval, Outcome, Plain};
use crate::random::{Random, histories};
use crate::sessions::operations;
use crate::words::*;

fn unknown() -> Completion {
    let failure = Failure { cause: Cause::Connection, reason: Reason("lost".into()) };
    Completion::Unknown(failure)
}

/// The worlds of the session `s`, which was created.
fn created() -> Worlds {
    let mut worlds = Worlds::from(Id::from("s"));
    worlds.observe(0, &create(), &done(Reply::Created { version: 1 })).expect("it was");
    worlds
}

fn done(reply: Reply) -> Completion {
    Completion::Done(reply)
}

fn total(total: u64) -> Completion {
    done(Reply::Appended { appended: 0, total })
}

#[track_caller]
fn sees(worlds: &mut Worlds, operation: &Operation, completion: &Completion) {
    worlds.observe(0, operation, completion).expect("a world explains it");
}

#[track_caller]
fn is_a_violation(worlds: &Worlds, operation: &Operation, completion: &Completion) {
    let seen = worlds.clone().observe(0, operation, completion);
    assert!(matches!(seen, Err(WorldsError::Violation(_))), "{seen:?}");
}

#[test]
fn a_commit_may_come_late_and_only_once() {
    let mut worlds = created();
    sees(&mut worlds, &promote_with("t", 1, [], [message("m", 1)]), &unknown());
    sees(&mut worlds, &append([]), &total(0));
    sees(&mut worlds, &append([]), &total(0));
    sees(&mut worlds, &append([]), &total(1));
    is_a_violation(&worlds, &append([]), &total(0));
    is_a_violation(&worlds, &promote_staged("u", 1), &done(Reply::Touched));
    let stale = Refusal::StaleState { expected: 1, current: 2 };
    sees(&mut worlds, &promote_staged("u", 1), &Completion::Refused(stale));
    assert_eq!(worlds.doubts(), 0);
}

#[test]
fn what_is_settled_has_happened_or_never_will() {
    for happened in [0, 1] {
        let mut worlds = created();
        worlds.observe(7, &append([message("m", 1)]), &unknown()).expect("it is in doubt");
        worlds.settle(7).expect("two worlds");
        assert_eq!((worlds.doubts(), worlds.states().count()), (0, 2));
        sees(&mut worlds, &append([]), &total(happened));
        is_a_violation(&worlds, &append([]), &total(1 - happened));
    }
}

#[test]
fn another_writers_doubts_are_not_settled() {
    let mut worlds = created();
    worlds.observe(7, &append([message("m", 1)]), &unknown()).expect("it is in doubt");
    worlds.settle(8).expect("two worlds");
    assert_eq!(worlds.doubts(), 1);
    sees(&mut worlds, &append([]), &total(0));
    sees(&mut worlds, &append([]), &total(1));
}

#[test]
fn what_was_not_applied_never_happens() {
    let failure = Failure { cause: Cause::Deadline, reason: Reason(String::new()) };
    let mut worlds = created();
    sees(&mut worlds, &append([message("m", 1)]), &Completion::NotApplied(failure));
    is_a_violation(&worlds, &append([]), &total(1));
    sees(&mut worlds, &append([]), &total(0));
}

#[test]
fn a_violation_says_what_would_have_been_answered() {
    let mut worlds = created();
    sees(&mut worlds, &append([message("m", 1)]), &unknown());
    let error = worlds.observe(0, &append([]), &total(2)).expect_err("no world has two");
    assert_eq!(
        error.to_string(),
        r#"{"AppendMessages":{"session":"s","messages":[]}} would be answered {"Done":{"Appended":{"appended":0,"total":0}}} or {"Done":{"Appended":{"appended":0,"total":1}}}, and what was seen is {"Done":{"Appended":{"appended":0,"total":2}}}"#
    );
}

#[test]
fn past_the_bound_it_is_undecided_and_stays_so() {
    let state = SessionState::absent("s".into());
    let mut worlds = Worlds::bounded(state, 100);
    sees(&mut worlds, &create(), &done(Reply::Created { version: 1 }));
    for number in 0..5 {
        sees(&mut worlds, &append([message(&number.to_string(), 1)]), &unknown());
    }
    for _ in 0..2 {
        let error = worlds.observe(0, &append([]), &total(0)).expect_err("326 worlds");
        let line = "undecided: 5 operations are in doubt at once, which makes more than 100 worlds";
        assert_eq!(error.to_string(), line);
        assert!(worlds.settle(0).is_err());
    }
}

#[test]
fn more_doubts_than_can_be_kept_are_undecided() {
    let mut worlds = created();
    for _ in 0..64 {
        sees(&mut worlds, &touch(None), &unknown());
    }
    let error = worlds.observe(0, &touch(None), &unknown());
    assert!(matches!(error, Err(WorldsError::Undecided(_))), "{error:?}");
    // Reads leave nothing in doubt.
    sees(&mut created(), &load(), &unknown());
}

/// What the plain search compares: an answer, or that there was one at this time at the latest.
#[derive(Clone, Debug)]
enum Seen {
    Is(Completion),
    Whatever,
}

impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Seen::Is(left), Seen::Is(right)) => left == right,
            _ => true,
        }
    }
}

/// One event of a sequential run of the session `s`.
enum Event {
    Observed(Operation, Completion),
    Settled,
}

/// A run with operations in doubt; now and then an answer is not the one that was given.
fn run(random: &mut Random) -> Vec<Event> {
    let all = operations();
    let mut state = SessionState::absent("s".into());
    let mut late: Vec<Operation> = Vec::new();
    let mut events = vec![Event::Observed(create(), step(&mut state, &create()).into())];
    for _ in 0..3 + random.below(4) {
        let operation = random.one_of(&all);
        if !late.is_empty() && random.one_in(3) {
            let _ = step(&mut state, &late.swap_remove(0));
        }
        if random.one_in(8) {
            late.clear();
            events.push(Event::Settled);
        }
        if random.one_in(3) {
            match random.below(3) {
                0 => drop(step(&mut state, &operation)),
                1 => late.push(operation.clone()),
                _ => {}
            }
            events.push(Event::Observed(operation, unknown()));
        } else {
            let mut elsewhere = SessionState::absent("s".into());
            let _ = step(&mut elsewhere, &create());
            let wrong = step(&mut elsewhere, &operation);
            let answer = step(&mut state, &operation);
            let answer = if random.one_in(4) { wrong } else { answer };
            events.push(Event::Observed(operation, answer.into()));
        }
    }
    events
}

/// Whether any choice of which settled operations took effect has an order, plainly.
fn plainly(events: &[Event]) -> bool {
    let mut calls: Vec<(&Operation, Interval<Seen>)> = Vec::new();
    let (mut open, mut settled) = (Vec::new(), Vec::new());
    for (clock, event) in (0..).step_by(2).zip(events) {
        match event {
            Event::Settled => settled.extend(open.drain(..).map(|place: usize| (place, clock))),
            Event::Observed(operation, Completion::Unknown(_)) => {
                open.push(calls.len());
                calls.push((operation, (clock, None)));
            }
            Event::Observed(operation, seen) => {
                calls.push((operation, (clock, Some((clock + 1, Seen::Is(seen.clone()))))));
            }
        }
    }
    (0u32..1 << settled.len()).any(|choice| {
        let mut left = calls.clone();
        let mut dropped = BTreeSet::new();
        for (index, (place, at)) in settled.iter().enumerate() {
            if choice >> index & 1 == 1 {
                left[*place].1.1 = Some((*at, Seen::Whatever));
            } else {
                dropped.insert(*place);
            }
        }
        let mut place = 0;
        left.retain(|_| (!dropped.contains(&place), place += 1).0);
        let intervals: Vec<Interval<Seen>> =
            left.iter().map(|(_, interval)| interval.clone()).collect();
        let apply = |state: &SessionState, place: usize| {
            let mut state = state.clone();
            let answer = step(&mut state, left[place].0);
            (Seen::Is(answer.into()), state)
        };
        let plain = Plain { calls: &intervals, apply: &apply };
        plain.search(&SessionState::absent("s".into())) == Outcome::Linearizable
    })
}

#[test]
fn the_worlds_agree_with_the_plain_search() {
    let (mut random, mut violations) = (Random(3), 0);
    let histories = histories();
    for _ in 0..histories {
        let events = run(&mut random);
        let mut worlds = Worlds::from(Id::from("s"));
        let mut broken = None;
        for (number, event) in events.iter().enumerate() {
            let outcome = match event {
                Event::Settled => worlds.settle(0).map_err(WorldsError::from),
                Event::Observed(operation, completion) => worlds.observe(0, operation, completion),
            };
            if let Err(error) = outcome {
                assert!(matches!(error, WorldsError::Violation(_)), "{error}");
                broken = Some(number);
                break;
            }
        }
        match broken {
            None => assert!(plainly(&events)),
            Some(number) => {
                assert!(plainly(&events[..number]), "it broke too late");
                assert!(!plainly(&events[..=number]), "it broke too early");
                violations += 1;
            }
        }
    }
    let share = violations * 100 / histories;
    assert!((5..=60).contains(&share), "{share} percent are violations");
}
