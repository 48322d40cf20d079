//! The two sweeps over the memory store, a stripe at a time.
//!
//! Between stripes with sessions in them others get a chance: a sweep is not atomic across
//! sessions, and a lane that holds it there finds out who relies on that.

use std::collections::BTreeMap;

use stagefault_models::{CallState, CleanedStaging, ExpiredCall, Id, Millis, Point, Reply, Scope};

use super::record::Record;
use super::{Stripes, lock};
use crate::flaws::{Flaw, Flaws};

/// What a cleanup removed.
#[derive(Default)]
pub(super) struct Removed {
    pub(super) sessions: Vec<Id>,
    pub(super) staged: Vec<CleanedStaging>,
}

impl Stripes {
    pub(super) async fn expire_calls(&self, now: Millis, scope: &Scope<'_>) -> Reply {
        let mut expired = Vec::new();
        let mut swept = 0;
        for stripe in &self.stripes {
            if self.flaws.has(Flaw::ExpiryListsFirst) {
                self.expire_listed(stripe, now, &mut expired, scope).await;
                continue;
            }
            let nothing = {
                let mut records = lock(stripe);
                expire(&mut records, now, &self.flaws, &mut expired);
                records.is_empty()
            };
            pause(nothing, &mut swept, scope).await;
        }
        Reply::CallsExpired(expired)
    }

    pub(super) async fn cleanup(
        &self,
        now: Millis,
        staging_ttl: Millis,
        scope: &Scope<'_>,
    ) -> Reply {
        let mut removed = Removed::default();
        let mut swept = 0;
        for stripe in &self.stripes {
            if self.flaws.has(Flaw::CleanupListsFirst) || self.flaws.has(Flaw::StagingListedFirst) {
                self.clean_listed(stripe, now, staging_ttl, &mut removed, scope).await;
                continue;
            }
            let nothing = {
                let mut records = lock(stripe);
                clean(&mut records, now, staging_ttl, &self.flaws, &mut removed);
                records.is_empty()
            };
            pause(nothing, &mut swept, scope).await;
        }
        Reply::Cleaned { sessions: removed.sessions, staged: removed.staged }
    }
}

/// Lets others do something before the next stripe.
async fn pause(nothing: bool, swept: &mut u32, scope: &Scope<'_>) {
    if !nothing {
        *swept += 1;
        scope.reach(Point::Statement(*swept)).await;
    }
}

pub(super) fn expire(
    records: &mut BTreeMap<Id, Record>,
    now: Millis,
    flaws: &Flaws,
    expired: &mut Vec<ExpiredCall>,
) {
    for (session, record) in records.iter_mut() {
        for (call, state) in record.seen.calls.iter_mut() {
            let open = state.state == CallState::Pending
                || flaws.has(Flaw::ExpiredTwice) && state.state == CallState::Expired;
            if open && state.deadline <= now {
                state.state = CallState::Expired;
                expired.push(ExpiredCall { session: session.clone(), call: call.clone() });
            }
        }
    }
}

pub(super) fn clean(
    records: &mut BTreeMap<Id, Record>,
    now: Millis,
    staging_ttl: Millis,
    flaws: &Flaws,
    removed: &mut Removed,
) {
    records.retain(|session, record| {
        let live = record.seen.expires_at.is_none_or(|expires_at| expires_at > now);
        if !live {
            removed.sessions.push(session.clone());
        }
        live
    });
    // Nothing was staged before time began.
    let Some(latest) = now.checked_sub(staging_ttl) else { return };
    if flaws.has(Flaw::StagingOutlivesItsTime) {
        return;
    }
    for (session, record) in records.iter_mut() {
        record.sweep_staged(latest, |mark| removed.staged.push(CleanedStaging::of(session, mark)));
    }
}
