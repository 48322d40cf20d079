//! Appends messages to one session of a SQLite file, until it is killed or something fails.
//!
//! Prints a line for each message that was acknowledged, or why one was not, and then ends.
//! The file is the first argument, the size of a message in bytes the second.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use stagefault_models::{Backend, Completion, Message, Operation, Reply, Scope, Store, Value};
use stagefault_stores::sqlite::SqliteBackend;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "name a file, and how large a message is";
    let path = arguments.next().ok_or(usage)?;
    let size: usize = arguments.next().ok_or(usage)?.parse()?;
    let mut store = SqliteBackend::open(Path::new(&path)).await?.store().await?;
    let session = || "s".into();
    let scope = Scope::default();
    let create = Operation::CreateSession { session: session(), expires_at: None };
    // It may be there from the last time.
    store.execute(&create, &scope).await;
    let read = Operation::ReadMessages { session: session(), offset: 0, limit: 0 };
    let Completion::Done(Reply::Page { total, .. }) = store.execute(&read, &scope).await else {
        return Err("the session cannot be read".into());
    };
    for number in total.. {
        let body = Value::string("x".repeat(size));
        let messages = vec![Message { id: format!("m{number}").as_str().into(), body }];
        let append = Operation::AppendMessages { session: session(), messages };
        let completion = store.execute(&append, &scope).await;
        writeln!(std::io::stdout(), "{:?}", completion.kind())?;
        if !matches!(completion, Completion::Done(_)) {
            eprintln!("{completion:?}");
            return Ok(());
        }
    }
    Ok(())
}
