//! A map from names to texts that are read, put, and appended to; absent is empty.
//!
//! Texts and maps are kept once, and a state is the number of a map. What an operation puts or
//! appends is known by where it lies, so different operations of a history may not share a text.

use std::sync::Arc;

use hashbrown::HashMap;
use stagefault_models::checker::{Called, Footprint, Specification, Step};

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
    /// By the text before and where the one lies that is put or appended.
    after: HashMap<(u32, usize), u32>,
    /// Each state: the number of each name's text.
    maps: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, u32>,
    /// By the state and where the text lies that is put or appended: the next state.
    moves: HashMap<(u32, usize), u32>,
}

impl KeyValue {
    /// A map of so many names, as one partition.
    pub fn whole(names: usize) -> Self {
        KeyValue {
            names,
            by_name: false,
            texts: vec!["".into()],
            after: HashMap::new(),
            maps: Vec::new(),
            numbers: HashMap::new(),
            moves: HashMap::new(),
        }
    }

    /// Each name a partition.
    pub fn by_name() -> Self {
        KeyValue { by_name: true, ..KeyValue::whole(1) }
    }

    /// The text after this one is replaced by, or continued with, the other.
    fn after(&mut self, before: u32, other: &Arc<str>) -> u32 {
        let next = self.texts.len() as u32;
        *self.after.entry((before, other.as_ptr().addr())).or_insert_with(|| {
            self.texts.push(format!("{}{other}", self.texts[before as usize]).into());
            next
        })
    }

    /// The state after this one by this change of a name's text.
    fn moved(&mut self, state: u32, on: &On) -> u32 {
        let (Ask::Put(other) | Ask::Append(other)) = &on.ask else { return state };
        let change = (state, other.as_ptr().addr());
        if let Some(known) = self.moves.get(&change) {
            return *known;
        }
        let place = self.place(on);
        let mut map = self.maps[state as usize].clone();
        let before = if matches!(on.ask, Ask::Put(_)) { 0 } else { map[place] };
        map[place] = self.after(before, other);
        let next = self.number(map);
        self.moves.insert(change, next);
        next
    }

    fn number(&mut self, map: Box<[u32]>) -> u32 {
        let next = self.maps.len() as u32;
        *self.numbers.entry(map).or_insert_with_key(|map| {
            self.maps.push(map.clone());
            next
        })
    }

    fn text(&self, state: u32, on: &On) -> &Arc<str> {
        &self.texts[self.maps[state as usize][self.place(on)] as usize]
    }

    /// The parts of a state that the name stands for; names far apart share them.
    fn parts(&self, on: &On) -> (u64, u64) {
        let name = 2 * (self.place(on) % 32);
        (1 << name, 2 << name)
    }

    fn place(&self, on: &On) -> usize {
        if self.by_name { 0 } else { on.name }
    }
}

impl Specification for KeyValue {
    type Key = usize;
    type Operation = On;
    type Answer = Answer;
    type State = u32;

    fn key(&self, on: &On) -> usize {
        if self.by_name { on.name } else { 0 }
    }

    fn initial(&mut self, _: &usize) -> u32 {
        self.number(vec![0; self.names].into())
    }

    fn step(&mut self, state: &u32, on: &On, seen: Option<&Answer>) -> Step<u32> {
        match (&on.ask, seen) {
            (Ask::Get, Some(seen)) if seen.as_ref() != Some(self.text(*state, on)) => Step::Refuted,
            (Ask::Get, _) => Step::Same,
            (Ask::Put(_) | Ask::Append(_), _) => Step::Moved(self.moved(*state, on)),
        }
    }

    fn answer(&mut self, state: &u32, on: &On) -> Answer {
        (on.ask == Ask::Get).then(|| self.text(*state, on).clone())
    }

    fn is_pure(&self, on: &On, _: &Answer) -> bool {
        on.ask == Ask::Get
    }

    fn may_change(&self, on: &On) -> bool {
        on.ask != Ask::Get
    }

    /// Of each name there are two parts: its text, and what the text begins with, which is
    /// there for good until another text is put.
    fn footprint(&self, on: &On, _: Option<&Answer>) -> Footprint {
        let (text, beginning) = self.parts(on);
        match on.ask {
            Ask::Get => Footprint { reads: text, writes: 0 },
            Ask::Put(_) => Footprint { reads: 0, writes: text | beginning },
            Ask::Append(_) => Footprint { reads: text, writes: text },
        }
    }

    fn needs(&mut self, state: &u32, on: &On, seen: &Answer) -> u64 {
        let (Ask::Get, Some(seen)) = (&on.ask, seen) else { return 0 };
        let (text, beginning) = self.parts(on);
        match seen.strip_prefix(&**self.text(*state, on)) {
            None => beginning,
            Some("") => 0,
            Some(_) => text,
        }
    }

    fn bytes(&self) -> usize {
        let texts: usize = self.texts.iter().map(|text| text.len() + 64).sum();
        texts + self.maps.len() * (self.names * 8 + 64) + self.moves.len() * 24
    }
}
