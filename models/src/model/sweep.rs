//! The two sweeps, as each session sees them.

use super::session::SessionState;
use crate::{CallState, CleanedStaging, ExpiredCall, Millis, Reply};

/// Expires the session's pending calls with a deadline ≤ `now`.
pub(super) fn expire_calls(state: &mut SessionState, now: Millis) -> Reply {
    let mut expired = Vec::new();
    for (id, call) in state.session.iter_mut().flat_map(|session| session.calls.iter_mut()) {
        if call.state == CallState::Pending && call.deadline <= now {
            call.state = CallState::Expired;
            expired.push(ExpiredCall { session: state.id.clone(), call: id.clone() });
        }
    }
    Reply::CallsExpired(expired)
}

/// Removes the session if `expires_at` ≤ `now`, and else its staging with `at` ≤ `now` − ttl.
///
/// The staging of a removed session is not listed.
pub(super) fn cleanup(state: &mut SessionState, now: Millis, staging_ttl: Millis) -> Reply {
    let (mut sessions, mut staged) = (Vec::new(), Vec::new());
    match &mut state.session {
        None => {}
        Some(session) if session.expires_at.is_some_and(|expires_at| expires_at <= now) => {
            state.session = None;
            sessions.push(state.id.clone());
        }
        Some(session) => session.staged.retain(|(step, call), entry| {
            let live = entry.at + staging_ttl > now;
            if !live {
                let (session, step, call) = (state.id.clone(), step.clone(), call.clone());
                staged.push(CleanedStaging { session, step, call });
            }
            live
        }),
    }
    Reply::Cleaned { sessions, staged }
}
