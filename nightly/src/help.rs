//! The longer help texts: what a command does in full, examples, and what the exit status
//! says.

const EXIT_STATUS: &str = "\
Exit status:
  0    all that was run held
  1    a violation: the store broke the contract
  2    usage: the arguments, or a file that they name, cannot be used
  3    could not run: store unreachable, disk full, folder not writable
  4    undecided: a checker's budget was used up, or a long run saw too little
  130  interrupted by Ctrl-C (143: by SIGTERM); what had run until then held";

/// After the help of the command as a whole.
pub fn stagefault() -> String {
    let examples =
        "  stagefault                              a minute against the embedded sqlite store
  stagefault run --for 8h                 a night
  stagefault replay failures/             what failed once, again
  stagefault shrink failing.json          the few operations that matter
  stagefault check history.jsonl          whether a concurrent run was right";
    format!("Examples:\n{examples}\n\n{EXIT_STATUS}")
}

pub const RUN_ABOUT: &str = "\
Run random episodes against a store until something fails or the time is over.

With one writer (the default) this is the sequential lane, and with --writers 2 or more the \
concurrent one. In both, an episode is a few hundred operations on fresh sessions, drawn from a seed of its own \
that follows from the run's seed and the episode's number.

One writer: every completion, session and \
raw row is held against the reference model. One episode in 64, beginning with the \
first, closes the store and opens it again before it compares.

Several writers: each has its own connection, all on a few sessions. An episode is judged \
by a linearizability checker: is there an order of its operations that explains every \
answer? Some operations are made to fail, before or after their effect. At its end \
everything is read, the raw rows are audited and the sessions deleted. Each episode \
switches some operations off. The writers take turns on memory, so that an episode repeats \
with certainty; on the other stores they run freely. A run of 200000 operations or more has \
a floor: each operation that its profile has must have been done, each refusal met, each \
fault fired.

With --chaos connections, callers and the server break while writers work: at each point \
of an operation, before the commit is sent, when it was sent and is never delivered, when it \
was carried out and the reply is lost. The server is a throw-away one that is killed and \
started again on the same data; one that --url names is not killed. Whatever was broken, the \
answers must be true, what was acknowledged must be there, and nothing may be left behind: no \
open transaction, no lock, no connection. A fault that is planned often has a floor: it must \
have fired, and each end that it can have must have been seen. `stagefault matrix` prints all \
of it.

The artifacts are in the run's folder: run.json before the first operation, summary.json \
at the end, and of a failure failures/N/ with schedule.json as it was recorded, \
violation.json, shrunk.json and explanation.txt. Several writers leave also history.jsonl \
of a failure, report.html, junit.xml, and journal.jsonl, which gets a line each second: \
--resume goes on with a run that was killed, and runs no episode again that the journal has. The store itself lives in the run's \
folder too and is removed at the end, also after a failure: the schedule brings the \
failure back, on a store of its own.

The postgres store starts a server of its own, from the programs on this machine, and \
removes it with the end of the process, whatever that is. With --url it uses a running one, \
only on this machine unless another host is allowed, and works there in a database that \
stagefault made and marked: any other it refuses. What the process makes there it removes, \
unless it is killed.

The first Ctrl-C, or SIGTERM, ends the run in order: in an episode at the next operation, \
and while shrinking with the best schedule so far. The second one ends it at once.";

/// After the help of `run`.
pub fn run() -> String {
    let examples = "  stagefault run
  stagefault run --for 8h --profile promotes
  stagefault run --ops 100000 --seed 7 --json
  stagefault run --store memory --flaw version-not-checked
  stagefault run --store postgres
  stagefault run --store postgres --url postgres://user@localhost:5432
  stagefault run --writers 8 --store postgres --for 8h --shard 0/4 --seed 7
  stagefault run --store postgres --chaos --for 8h
  stagefault run --resume stagefault-runs/20260102T030405Z-7";
    format!("Examples:\n{examples}\n\n{EXIT_STATUS}")
}

pub const REPLAY_ABOUT: &str = "\
Replay schedules, and say of each whether it held.

Each schedule runs on a fresh store, with every check. Of a folder, all *.json files in it \
and below are replayed, in the order of their names, but for stagefault's other documents \
(run.json and the like), hidden files, and a schedule that has its shrunk form beside it \
(shrunk.json beside schedule.json, NAME.shrunk.json beside NAME.json). All of them are \
read first: if one is no schedule, every such file is named and nothing is replayed.";

/// After the help of `replay`.
pub fn replay() -> String {
    let examples = "  stagefault replay stagefault-runs/20260102T030405Z-7/failures/1
  stagefault replay failing.json --store sqlite
  stagefault replay schedules/";
    format!("Examples:\n{examples}\n\n{EXIT_STATUS}")
}

pub const SHRINK_ABOUT: &str = "\
Shrink a failing schedule to a short one that fails in the same way.

Operations are dropped, writers merged and values simplified, as long as a replay on a \
fresh store breaks the same invariant by the same operation. Ctrl-C keeps the best \
schedule so far.";

/// After the help of `shrink`.
pub fn shrink() -> String {
    let examples = "  stagefault shrink failing.json
  stagefault shrink failing.json --store sqlite --out short.json";
    let exit_status = EXIT_STATUS
        .replace("all that was run held", "the schedule held: there is nothing to shrink")
        .replace(
            "a violation: the store broke",
            "the schedule was shrunk, and fails: the store broke",
        );
    format!("Examples:\n{examples}\n\n{exit_status}")
}

pub const CHECK_ABOUT: &str = "\
Decide whether a recorded history is linearizable.

A history is what a concurrent run recorded: lines of JSON, one for each call and one for \
each return, in the order in which they happened. A store in any language can log one; \
models/FORMAT.md has the form. It is linearizable when each operation can be thought to \
happen at one moment between its call and its return so that the contract explains every \
answer, session by session. What came back in doubt, or not at all, may happen at any \
later moment or never.

A violation is explained: the longest order that explains its answers, the operation that \
cannot come next, what the model would answer there, and what was seen. A history can \
be too hard; past its limits the check says how far it came.";

/// After the help of `check`.
pub fn check() -> String {
    let examples = "  stagefault check history.jsonl
  stagefault check history.jsonl --for 1h --memory 8192
  stagefault check history.jsonl --json";
    let exit_status = EXIT_STATUS
        .replace("all that was run held", "linearizable")
        .replace(
            "a checker's budget was used up, or a long run saw too little",
            "the check reached its limit of time or memory",
        )
        .replace("; what had run until then held", " without a verdict");
    format!("Examples:\n{examples}\n\n{exit_status}")
}

pub const FLAWS_ABOUT: &str = "\
Hunt for the planted flaws, and print which the lanes catch.

A green run means nothing unless the lanes can fail. Each flaw is a bug planted in a \
store, most of them modelled on one that was reported in the field. It counts as caught \
when a run finds a violation within --ops operations from every seed, and the schedule is \
shrunk to at most two operations more than the shortest that shows it. Flaws that only operations \
at the same time can show are hunted by several writers that take turns, within --episodes \
episodes, and shrunk to at most six more. Flaws that only a fault can show, such as a broken \
connection, are hunted with --lane chaos, on postgres, by writers whose connections and server \
break. The canary, a store that always answers wrongly, \
proves that failures are reported at all.

It needs a build with the cargo feature `flaws`.";

/// After the help of `flaws`.
pub fn flaws() -> String {
    let examples = "\
  stagefault flaws
  stagefault flaws --seeds 5 --json
  stagefault flaws --lane chaos
  stagefault flaws --store sqlite --flaw deadline-ignored";
    let exit_status = EXIT_STATUS
        .replace("all that was run held", "every flaw was caught, and the canary")
        .replace("a violation: the store broke the contract", "one was not");
    format!("Examples:\n{examples}\n\n{exit_status}")
}

pub const DOCTOR_ABOUT: &str = "\
Say which stores can run here, what each needs, and how to get it.

Each store executes one operation, on the server or in the folder that a run would use; \
nothing is left of that.";

/// After the help of `doctor`.
pub fn doctor() -> String {
    let examples = "\
  stagefault doctor
  stagefault doctor --json
  stagefault doctor --url postgres://user@localhost:5432";
    let exit_status =
        "Exit status:\n  0  every store can run\n  3  one cannot: it is said why, and what to do";
    format!("Examples:\n{examples}\n\n{exit_status}")
}

pub const PROXY_ABOUT: &str = "\
Stand between a store in any language and its server, and cut as a Toxiproxy client says.

It serves the HTTP API of Toxiproxy 2, so that any of its clients can make proxies and put \
toxics on them: latency, bandwidth, slow_close, timeout, reset_peer, slicer and limit_data. \
And it has one more, which reads PostgreSQL's protocol and so cuts at a place of an \
operation and not at a time:

  {\"type\": \"postgres_cut\", \"attributes\": {\"place\": \"commit_delivered\", \"kind\": \"reset\"}}

place is one of next_request, before_begin, before_statement, after_statement (with \
statement, from 1), commit_sent, commit_delivered and mid_reply; kind one of reset, close, \
black_hole, delay (with delay in milliseconds; 0: until the toxic is deleted), truncate \
and trickle. It fires once, with what comes first on any connection of the proxy, and an update \
arms it again. Read back, it says whether it fired and what became of the commit.

It listens on this machine only, and so do its proxies, and they lead to this machine only.";

/// After the help of `proxy`.
pub fn proxy() -> String {
    let examples = "\
  stagefault proxy
  stagefault proxy --listen 127.0.0.1:9000 --config proxies.json
  curl -d '{\"name\": \"db\", \"listen\": \"127.0.0.1:6543\", \"upstream\": \"127.0.0.1:5432\"}' \
127.0.0.1:8474/proxies
  curl -d '{\"type\": \"postgres_cut\", \"attributes\": {\"place\": \"commit_sent\"}}' \
127.0.0.1:8474/proxies/db/toxics";
    let exit_status = "Exit status:
  0  ended by Ctrl-C or SIGTERM; everything that it opened is closed
  2  usage: the arguments, or the file that they name, cannot be used
  3  could not run: a port is taken";
    format!("Examples:\n{examples}\n\n{exit_status}")
}

pub const REPORT_ABOUT: &str = "\
Rebuild the reports of concurrent runs from their folders, or join shards into one.

Each folder's summary.json, junit.xml, report.html and issue.md are made again from its \
run.json, journal.jsonl and failures/. With --merge, the folders are shards of one run, and \
what they come to goes to a new folder, with all their failures. A shard that is missing, \
did not end or did nothing fails the whole. The exit status is that of the run, and of \
several the gravest.";

/// After the help of `report`.
pub fn report() -> String {
    let examples = "\
  stagefault report stagefault-runs/20260102T030405Z-7
  stagefault report shard-0 shard-1 shard-2 --merge night";
    format!("Examples:\n{examples}\n\n{EXIT_STATUS}")
}

pub const MATRIX_ABOUT: &str = "\
Print what chaos runs did to operations, and what came of it: operation × point × fault.

Of each fault at each point of each operation: how often it was planned (attempted), how often \
it fired, and how the operations ended that it was done to. Not each planned one fires, for an \
operation that is refused never gets to its commit. What was in doubt is told apart by \
whether it did take effect: as the fault's receipt says, or else the order of operations that \
the checker found. A violation counts for all faults that fired in its episode.

The folders are those of runs with --chaos, also of one that is under way; several are added \
up.";

/// After the help of `matrix`.
pub fn matrix() -> String {
    let examples = "  stagefault matrix stagefault-runs/20260102T030405Z-7
  stagefault matrix shard-0 shard-1 shard-2 --json";
    format!("Examples:\n{examples}\n\n{EXIT_STATUS}")
}

/// After the help of `completions`.
pub fn completions() -> String {
    let examples =
        "  stagefault completions bash > ~/.local/share/bash-completion/completions/stagefault
  stagefault completions zsh > ~/.zfunc/_stagefault
  stagefault completions fish > ~/.config/fish/completions/stagefault.fish";
    format!("Examples:\n{examples}")
}
