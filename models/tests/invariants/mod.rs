//! The invariants against the model: they never object to it, they notice whatever is
//! altered in what it shows, and they call each kind of breach by its name.

mod appending;
mod atomicity;
mod calls;
mod coordination;
mod soundness;
mod staging;
mod tampering;
mod version;
mod walk;

use stagefault_models::{
    Completion, Id, Invariant, Message, Observation, Operation, Reply, Seen, Session, Snapshot,
    StoreModel,
};

/// One operation on the session `s`, as an honest store would show it until a test spoils it.
#[derive(Clone, Debug)]
struct Scene {
    session: Id,
    before: Option<Session>,
    operation: Operation,
    completion: Completion,
    after: Option<Seen>,
}

impl Scene {
    /// The operation after a history that was done; the session is created first.
    #[track_caller]
    fn after<const N: usize>(history: [Operation; N], operation: Operation) -> Scene {
        let mut store = StoreModel::default();
        for earlier in [crate::words::create()].into_iter().chain(history) {
            let answer = store.step(&earlier);
            assert!(answer.is_ok(), "{earlier:?} was refused: {answer:?}");
        }
        Scene::of(&mut store, "s".into(), operation)
    }

    /// What an honest store shows of a session when it executes the operation.
    fn of(store: &mut StoreModel, session: Id, operation: Operation) -> Scene {
        let before = store.session(&session).cloned();
        let completion = store.step(&operation).into();
        let after = store.session(&session).map(see);
        Scene { session, before, operation, completion, after }
    }

    fn breach(&self) -> Option<(Invariant, String)> {
        Invariant::first_breach(&Observation {
            session: &self.session,
            operation: &self.operation,
            completion: &self.completion,
            before: self.before.as_ref(),
            after: self.after.as_ref(),
        })
    }

    /// The scene is called a breach of this invariant, for this reason.
    #[track_caller]
    fn breaks(&self, invariant: Invariant, because: &str) {
        assert_eq!(self.breach(), Some((invariant, because.to_owned())), "{self:#?}");
    }

    /// No invariant objects to the scene.
    #[track_caller]
    fn holds(&self) -> Scene {
        assert_eq!(self.breach(), None, "{self:#?}");
        self.clone()
    }

    /// The same scene, but the store says that it was done, and answers this.
    fn answered(mut self, reply: Reply) -> Scene {
        self.completion = Completion::Done(reply);
        self
    }

    /// The same scene with the same answer, but another operation was asked for.
    fn asked(mut self, operation: Operation) -> Scene {
        self.operation = operation;
        self
    }

    /// The same scene, but another snapshot is seen afterwards.
    fn seen(mut self, alter: impl FnOnce(&mut Snapshot)) -> Scene {
        alter(&mut self.after.as_mut().expect("there is a session afterwards").snapshot);
        self
    }

    /// The same scene, but other messages are read afterwards, and counted.
    fn messages(mut self, alter: impl FnOnce(&mut Vec<Message>)) -> Scene {
        let after = self.after.as_mut().expect("there is a session afterwards");
        alter(&mut after.messages);
        after.snapshot.message_count = after.messages.len() as u64;
        self
    }

    /// The same scene, but all is seen afterwards as it was before.
    fn without_effect(mut self) -> Scene {
        self.after = self.before.as_ref().map(see);
        self
    }
}

/// All that a reader can see of the session.
fn see(session: &Session) -> Seen {
    Seen { snapshot: session.snapshot(), messages: session.messages.clone() }
}
