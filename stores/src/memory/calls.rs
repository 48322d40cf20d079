//! Client tool calls in the memory store.

use stagefault_models::{Call, CallState, Id, Millis, Refusal, Reply, Resolution, Value};

use super::Answer;
use super::record::Record;
use crate::flaws::{Flaw, Flaws};

impl Record {
    pub(super) fn register_call(
        &mut self,
        call: &Id,
        run: &Id,
        deadline: Millis,
        flaws: &Flaws,
    ) -> Answer {
        if let Some(known) = self.seen.calls.get_mut(call) {
            if known.run != *run || known.deadline != deadline {
                return Err(Refusal::CallConflict);
            }
            if flaws.has(Flaw::RegistrationReopens) {
                known.state = CallState::Pending;
            }
            return Ok(Reply::Registered);
        }
        let pending = Call { run: run.clone(), deadline, state: CallState::Pending };
        self.seen.calls.insert(call.clone(), pending);
        Ok(Reply::Registered)
    }

    pub(super) fn submit_result(
        &mut self,
        call: &Id,
        run: &Id,
        result: &Value,
        now: Millis,
        flaws: &Flaws,
    ) -> Answer {
        let Some(call) = self.seen.calls.get_mut(call) else {
            return Err(Refusal::UnknownCall);
        };
        if call.run != *run && !flaws.has(Flaw::FenceIgnored) {
            return Err(Refusal::RunFenced { run: call.run.clone() });
        }
        let resolution = match &call.state {
            CallState::Submitted(earlier) if earlier == result => return Ok(Reply::Submitted),
            CallState::Submitted(_) if flaws.has(Flaw::SecondResultWins) => None,
            CallState::Submitted(_) => Some(Resolution::Submitted),
            CallState::Expired => Some(Resolution::Expired),
            CallState::Pending => None,
        };
        if let Some(resolution) = resolution {
            return Err(Refusal::CallResolved { resolution });
        }
        if now >= call.deadline && !flaws.has(Flaw::DeadlineIgnored) {
            return Err(Refusal::CallExpired);
        }
        call.state = CallState::Submitted(result.clone());
        Ok(Reply::Submitted)
    }
}
