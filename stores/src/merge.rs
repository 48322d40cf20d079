//! Merging changes into a session's state, written once for all stores.
//!
//! It stands apart from the reference model's own merging on purpose: the two are
//! compared by every lane, and shared code could not disagree.

use std::sync::Arc;

use litemap::LiteMap;
use stagefault_models::{Change, Id, Value};

/// Merges the changes into `state`, each working on the result of the one before.
///
/// # Errors
/// The first key, in order of application, that holds something else than its change
/// needs. `state` is then half merged: pass a working copy.
pub(crate) fn merge<'a>(
    state: &mut LiteMap<Id, Value>,
    changes: impl Iterator<Item = &'a Change>,
) -> Result<(), Id> {
    for change in changes {
        let key = change.key();
        let conflict = || key.clone();
        match change {
            Change::Set { value, .. } => {
                state.insert(key.clone(), value.clone());
            }
            Change::Remove { .. } => {
                state.remove(key);
            }
            Change::Append { items, .. } => {
                let array = entry(state, key, || Value::array(Vec::new()));
                let Value::Array(array) = array else { return Err(conflict()) };
                Arc::make_mut(array).extend(items.iter().cloned());
            }
            Change::Increment { by, .. } => {
                let number = entry(state, key, || Value::Integer(0));
                let Value::Integer(number) = number else { return Err(conflict()) };
                *number = number.checked_add(*by).ok_or_else(conflict)?;
            }
        }
    }
    Ok(())
}

/// The key's value, put there first if it is absent.
fn entry<'a>(
    state: &'a mut LiteMap<Id, Value>,
    key: &Id,
    absent: impl FnOnce() -> Value,
) -> &'a mut Value {
    state.entry(key.clone()).or_insert_with(absent)
}
