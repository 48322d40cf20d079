//! A map from names to texts that are read, put, and appended to; absent is empty.
//!
//! Names and texts are kept once each and are numbers in the states.

use std::collections::HashMap;
use std::sync::Arc;

use stagefault_models::checker::{Called, Specification, Step};

/// What is asked of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    Get,
    Put(Arc<str>),
    Append(Arc<str>),
}

/// An operation on one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct On {
    /// The name, as a number from 0.
    pub name: usize,
    pub ask: Ask,
}

/// The text that was read; nothing else answers.
pub type Answer = Option<Arc<str>>;

pub type Call = Called<On, Answer>;

/// The map, checked as a whole or name by name.
#[derive(Clone)]
pub struct KeyValue {
    names: usize,
    by_name: bool,
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    appended: HashMap<(u32, Arc<str>), u32>,
}

impl KeyValue {
    /// A map of so many names, as one partition.
    pub fn whole(names: usize) -> Self {
        let empty: Arc<str> = "".into();
        KeyValue {
            names,
            by_name: false,
            texts: vec![empty.clone()],
            numbers: HashMap::from([(empty, 0)]),
            appended: HashMap::new(),
        }
    }

    /// Each name a partition.
    pub fn by_name() -> Self {
        KeyValue { by_name: true, ..KeyValue::whole(1) }
    }

    fn number(&mut self, text: &Arc<str>) -> u32 {
        let next = self.texts.len() as u32;
        *self.numbers.entry(text.clone()).or_insert_with(|| {
            self.texts.push(text.clone());
            next
        })
    }

    fn append(&mut self, text: u32, more: &Arc<str>) -> u32 {
        if let Some(known) = self.appended.get(&(text, more.clone())) {
            return *known;
        }
        let longer = format!("{}{more}", self.texts[text as usize]).into();
        let number = self.number(&longer);
        self.appended.insert((text, more.clone()), number);
        number
    }

    fn place(&self, on: &On) -> usize {
        if self.by_name { 0 } else { on.name }
    }
}

impl Specification for KeyValue {
    type Key = usize;
    type Operation = On;
    type Answer = Answer;
    /// The number of each name's text.
    type State = Box<[u32]>;

    fn key(&self, on: &On) -> usize {
        if self.by_name { on.name } else { 0 }
    }

    fn initial(&mut self, _: &usize) -> Box<[u32]> {
        vec![0; self.names].into()
    }

    fn step(&mut self, state: &Box<[u32]>, on: &On, seen: Option<&Answer>) -> Step<Box<[u32]>> {
        let place = self.place(on);
        let text = state[place];
        let next = match (&on.ask, seen) {
            (Ask::Get, Some(Some(seen))) if **seen == *self.texts[text as usize] => text,
            (Ask::Get, Some(_)) => return Step::Refuted,
            (Ask::Get, None) => text,
            (Ask::Put(new), _) => self.number(new),
            (Ask::Append(more), _) => self.append(text, more),
        };
        if next == text {
            return Step::Same;
        }
        let mut moved = state.clone();
        moved[place] = next;
        Step::Moved(moved)
    }

    fn answer(&mut self, state: &Box<[u32]>, on: &On) -> Answer {
        let text = state[self.place(on)];
        (on.ask == Ask::Get).then(|| self.texts[text as usize].clone())
    }

    fn is_pure(&self, on: &On, _: &Answer) -> bool {
        on.ask == Ask::Get
    }

    fn may_change(&self, on: &On) -> bool {
        on.ask != Ask::Get
    }

    fn bytes(&self) -> usize {
        self.texts.iter().map(|text| text.len() + 64).sum::<usize>() + self.appended.len() * 64
    }
}
