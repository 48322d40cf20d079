//! The reference model against the contract: each operation's effect, reply and refusals,
//! and the order in which refusals win.

mod calls;
mod coordination;
mod merging;
mod messages;
mod promoting;
mod refusal_order;
mod sessions;
mod staging;
mod sweeps;
mod validity;

use stagefault_models::model::step;
use stagefault_models::{Operation, Refusal, Reply, Session, SessionState, Value};

/// The session `s` in the hands of the reference.
#[derive(Clone)]
struct Scene {
    state: SessionState,
}

impl Scene {
    /// The session is not there.
    fn absent() -> Self {
        Scene { state: SessionState::absent("s".into()) }
    }

    /// The session was created, and these operations were done.
    fn after<const N: usize>(operations: [Operation; N]) -> Self {
        let mut scene = Scene::absent();
        scene.done(crate::words::create());
        for operation in operations {
            scene.done(operation);
        }
        scene
    }

    /// The operation is done; its reply.
    #[track_caller]
    fn done(&mut self, operation: Operation) -> Reply {
        match step(&mut self.state, &operation) {
            Ok(reply) => reply,
            Err(refusal) => panic!("{operation:?} was refused: {refusal:?}"),
        }
    }

    /// The operation is refused and changes nothing; its refusal.
    #[track_caller]
    fn refused(&mut self, operation: Operation) -> Refusal {
        let before = self.state.clone();
        let answer = step(&mut self.state, &operation);
        assert_eq!(self.state, before, "{operation:?} changed something");
        match answer {
            Ok(reply) => panic!("{operation:?} was done: {reply:?}"),
            Err(refusal) => refusal,
        }
    }

    /// The operation is done and changes nothing; its reply.
    #[track_caller]
    fn unchanged(&mut self, operation: Operation) -> Reply {
        let before = self.state.clone();
        let reply = self.done(operation);
        assert_eq!(self.state, before);
        reply
    }

    fn session(&self) -> &Session {
        self.state.session.as_deref().expect("the session is there")
    }

    /// The promoted state as JSON text.
    fn state(&self) -> String {
        let state = self.session().state.iter();
        Value::object(state.map(|(key, value)| (key.as_str(), value.clone()))).to_json()
    }

    /// The ids of the messages, in order.
    fn messages(&self) -> Vec<&str> {
        self.session().messages.iter().map(|message| message.id.as_str()).collect()
    }

    /// What is staged, as (step, call, at).
    fn staged(&self) -> Vec<(&str, &str, u64)> {
        let staged = self.session().staged.iter();
        staged.map(|((step, call), staged)| (step.as_str(), call.as_str(), staged.at)).collect()
    }
}
