//! Values that are cheap to hand out, and copied only when somebody writes.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A value that is shared until it is written.
///
/// A store that keeps its sessions in memory answers a `Load` by sharing what it has, so a
/// caller who only looks costs it no copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shared<T>(Arc<T>);

impl<T: Clone> Shared<T> {
    /// The value itself; copied if others share it.
    pub fn into_inner(self) -> T {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Shared(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_writes_writes_a_copy_of_his_own() {
        let first = Shared::from(vec![1]);
        let mut second = first.clone();
        second.push(2);
        assert_eq!((first, second), (vec![1].into(), vec![1, 2].into()));
    }
}
