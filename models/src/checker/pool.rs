//! Values kept once each, so that equal ones are equal numbers.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

/// Each value once, by a number.
#[derive(Clone)]
pub(super) struct Pool<T> {
    values: Vec<T>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        let (values, numbers) = (Vec::new(), HashTable::new());
        Pool { values, numbers, hasher: DefaultHashBuilder::default() }
    }
}

impl<T: Eq + Hash> Pool<T> {
    /// The number of the value; it is kept when it is new.
    pub fn number(&mut self, value: T) -> u32 {
        match self.find(&value) {
            Ok(number) => number,
            Err(hash) => self.keep(hash, value),
        }
    }

    /// The number of the value, of which a copy is kept when it is new.
    pub fn number_of(&mut self, value: &T) -> u32
    where
        T: Clone,
    {
        match self.find(value) {
            Ok(number) => number,
            Err(hash) => self.keep(hash, value.clone()),
        }
    }

    fn find(&self, value: &T) -> Result<u32, u64> {
        let hash = self.hasher.hash_one(value);
        let found = self.numbers.find(hash, |number| self.values[*number as usize] == *value);
        found.copied().ok_or(hash)
    }

    fn keep(&mut self, hash: u64, value: T) -> u32 {
        let number = self.values.len() as u32;
        let (values, hasher) = (&self.values, &self.hasher);
        let hash_of = |number: &u32| hasher.hash_one(&values[*number as usize]);
        self.numbers.insert_unique(hash, number, hash_of);
        self.values.push(value);
        number
    }
}

impl<T> Pool<T> {
    /// The value of this number.
    pub fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The memory of the values themselves and the table, in bytes.
    pub fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<T>() + self.numbers.capacity() * 5
    }
}
