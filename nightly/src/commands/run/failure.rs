//! What happens to a violation: kept as it was found, shrunk, explained.

use stagefault_models::BoxedNamespaces;
use stagefault_properties::shrink::{DEFAULT_ATTEMPTS, Failing};

use crate::artifacts::RunFolder;
use crate::documents::{Failure, ViolationDocument, to_json};
use crate::shrinking::{self, End};
use crate::stores::Choice;
use crate::{Context, print, report};

/// A violation, and where its artifacts go.
pub struct Found<'a> {
    pub folder: &'a RunFolder,
    pub choice: Choice,
    pub episode: u64,
    pub failing: Failing,
}

impl Found<'_> {
    /// Writes what was found, shrinks it, and writes what came of that. Answers with the
    /// failure for the summary and its story for a reader. An artifact that cannot be
    /// written is said and does not end this, for the violation is there all the same.
    pub async fn conclude(
        self,
        namespaces: &BoxedNamespaces,
        context: Context<'_>,
        json: bool,
    ) -> (Failure, String) {
        let Failing { schedule, violation } = &self.failing;
        let found = format!("violation in episode {}: {violation}\n", self.episode);
        if json {
            print::note(&found);
        } else {
            print::or_say(print::result(&found));
        }
        self.keep("schedule.json", &schedule.to_json());
        self.keep("violation.json", &to_json(&ViolationDocument::of(violation)));

        let operations = schedule.operations.len();
        print::note(format_args!("shrinking {}", report::counted(operations as u64, "operation")));
        let recorded = self.failing.clone();
        let shrinking =
            shrinking::shrink(namespaces, recorded, DEFAULT_ATTEMPTS, context.signals).await;
        let seen_again = !matches!(shrinking.end, End::Passes);
        let shortest = if seen_again { "shrunk.json" } else { "schedule.json" };
        if seen_again {
            self.keep(shortest, &shrinking.best.schedule.to_json());
        }
        let path = self.folder.path().join(self.name(shortest));
        let replay = report::replay_command(&path, self.choice, context.postgres);
        let story = report::shrunk(&self.failing, &shrinking, &replay, context.postgres);
        self.keep("explanation.txt", &format!("{found}\n{story}\n"));
        let failure = Failure {
            episode: self.episode,
            violation: violation.clone(),
            recorded_operations: operations,
            shrunk_operations: seen_again.then_some(shrinking.best.schedule.operations.len()),
            replay,
        };
        (failure, story)
    }

    /// A run ends with its first failure, so its number is 1.
    fn name(&self, file: &str) -> String {
        format!("failures/1/{file}")
    }

    fn keep(&self, file: &str, text: &str) {
        print::or_say(self.folder.write(&self.name(file), text).map(drop));
    }
}
