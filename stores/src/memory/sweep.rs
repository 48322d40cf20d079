//! The two sweeps over the memory store, a stripe at a time.

use std::collections::BTreeMap;

use stagefault_models::{CallState, CleanedStaging, ExpiredCall, Id, Millis, Reply};

use super::record::Record;
use super::{Stripes, lock};
use crate::flaws::Flaw;

impl Stripes {
    pub(super) fn expire_calls(&self, now: Millis) -> Reply {
        let mut expired = Vec::new();
        for stripe in &self.stripes {
            for (session, record) in lock(stripe).iter_mut() {
                for (call, state) in record.calls.iter_mut() {
                    let open = state.state == CallState::Pending
                        || self.flaws.has(Flaw::ExpiredTwice) && state.state == CallState::Expired;
                    if open && state.deadline <= now {
                        state.state = CallState::Expired;
                        expired.push(ExpiredCall { session: session.clone(), call: call.clone() });
                    }
                }
            }
        }
        Reply::CallsExpired(expired)
    }

    pub(super) fn cleanup(&self, now: Millis, staging_ttl: Millis) -> Reply {
        let (mut sessions, mut staged) = (Vec::new(), Vec::new());
        for stripe in &self.stripes {
            let mut stripe = lock(stripe);
            remove_expired(&mut stripe, now, &mut sessions);
            // Nothing was staged before time began.
            let Some(latest) = now.checked_sub(staging_ttl) else { continue };
            if self.flaws.has(Flaw::StagingOutlivesItsTime) {
                continue;
            }
            for (session, record) in stripe.iter_mut() {
                record.staging.sweep(latest, |mark| staged.push(CleanedStaging::of(session, mark)));
            }
        }
        Reply::Cleaned { sessions, staged }
    }
}

fn remove_expired(stripe: &mut BTreeMap<Id, Record>, now: Millis, removed: &mut Vec<Id>) {
    stripe.retain(|session, record| {
        let live = record.expires_at.is_none_or(|expires_at| expires_at > now);
        if !live {
            removed.push(session.clone());
        }
        live
    });
}
