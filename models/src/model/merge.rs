//! Applying changes to a state, as the reference defines it.

use std::sync::Arc;

use litemap::LiteMap;

use crate::{Change, Id, Value};

/// The state after these changes, each working on the result of the one before.
///
/// # Errors
/// The first key, in order of application, whose change does not fit its value.
pub(crate) fn merge<'a>(
    state: &LiteMap<Id, Value>,
    changes: impl Iterator<Item = &'a Change>,
) -> Result<LiteMap<Id, Value>, Id> {
    let mut merged = state.clone();
    for change in changes {
        apply(&mut merged, change).ok_or_else(|| change.key().clone())?;
    }
    Ok(merged)
}

/// Applies one change; `None` is a conflict.
fn apply(state: &mut LiteMap<Id, Value>, change: &Change) -> Option<()> {
    match change {
        Change::Set { key, value } => {
            state.insert(key.clone(), value.clone());
        }
        Change::Remove { key } => {
            state.remove(key);
        }
        Change::Append { key, items } => match state.get_mut(key) {
            None => {
                state.insert(key.clone(), Value::array(items.clone()));
            }
            Some(Value::Array(array)) => Arc::make_mut(array).extend_from_slice(items),
            Some(_) => return None,
        },
        Change::Increment { key, by } => match state.get_mut(key) {
            None => {
                state.insert(key.clone(), Value::Integer(*by));
            }
            Some(Value::Integer(number)) => *number = number.checked_add(*by)?,
            Some(_) => return None,
        },
    }
    Some(())
}
