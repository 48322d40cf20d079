//! Opening, making and removing the schema, in the terms of a backend's errors.

use std::future::Future;
use std::sync::Arc;

use stagefault_models::{BackendError, Scope};
use tokio::time::timeout;

use super::failure::{backend_error, failure, gone};
use super::link::{Link, OpenError, SendError};
use super::schema::{Schema, is_taken};
use crate::flaws::Flaws;

/// A connection to the schema, which is made if it is not there.
pub(super) async fn open_or_make(schema: &Arc<Schema>) -> Result<Link, BackendError> {
    within_limit(schema, async {
        let mut link = connect_to_any(schema, Flaws::none()).await?;
        if !link.schema_exists() {
            match schema.make(&mut link).await {
                // Somebody else was making it: then it is there by now.
                Err(error) if is_taken(error.sqlstate()) => {}
                made => made.map_err(|error| failed(schema, "making it", &error))?,
            }
            link.look().await.map_err(|error| refused(schema, error))?;
        }
        Ok(link)
    })
    .await
}

/// A connection to the schema, which must not be there yet.
pub(super) async fn make(schema: &Arc<Schema>) -> Result<Link, BackendError> {
    within_limit(schema, async {
        let mut link = connect_to_any(schema, Flaws::none()).await?;
        let made = schema.make(&mut link).await;
        made.map_err(|error| failed(schema, "making it", &error))?;
        link.look().await.map_err(|error| refused(schema, error))?;
        Ok(link)
    })
    .await
}

/// A connection to the schema, which must be there.
pub(super) async fn connect(schema: &Arc<Schema>, flaws: Flaws) -> Result<Link, BackendError> {
    let link = within_limit(schema, connect_to_any(schema, flaws)).await?;
    if link.schema_exists() { Ok(link) } else { Err(backend_error(schema.location(), gone())) }
}

/// Removes the schema, if it is there, by this connection or another one.
pub(super) async fn remove(schema: &Arc<Schema>, link: Option<Link>) -> Result<(), BackendError> {
    within_limit(schema, async {
        let mut link = look_again(schema, link).await?;
        if link.schema_exists() {
            let removed = schema.remove(&mut link).await;
            removed.map_err(|error| failed(schema, "removing it", &error))?;
        }
        link.close().await;
        Ok(())
    })
    .await
}

/// A connection to a schema that is ours, or not there.
async fn connect_to_any(schema: &Arc<Schema>, flaws: Flaws) -> Result<Link, BackendError> {
    let link = Link::open(schema.clone(), Scope::default().deadline, flaws).await;
    link.map_err(|error| refused(schema, error))
}

/// This connection, after another look at the mark; or a new one, if it is broken.
async fn look_again(schema: &Arc<Schema>, link: Option<Link>) -> Result<Link, BackendError> {
    let Some(mut link) = link else { return connect_to_any(schema, Flaws::none()).await };
    match link.look().await {
        Ok(()) => Ok(link),
        Err(OpenError::Unreachable(_)) => connect_to_any(schema, Flaws::none()).await,
        Err(error) => Err(refused(schema, error)),
    }
}

/// Ends what takes longer than an operation may: a server that does not answer would
/// otherwise be waited for without end.
pub(super) async fn within_limit<T>(
    schema: &Schema,
    work: impl Future<Output = Result<T, BackendError>>,
) -> Result<T, BackendError> {
    let limit = Scope::default().deadline;
    timeout(limit, work).await.unwrap_or_else(|_| {
        let reason = format!("no answer within {limit:?}");
        Err(BackendError::Unreachable { location: schema.location(), reason })
    })
}

fn refused(schema: &Schema, error: OpenError) -> BackendError {
    let location = schema.location();
    match error {
        OpenError::NotOurs(reason) => BackendError::NotOurs { location, reason },
        OpenError::Unreachable(failure) => backend_error(location, failure),
    }
}

fn failed(schema: &Schema, doing: &str, error: &SendError) -> BackendError {
    backend_error(schema.location(), failure(doing, error.driver()))
}
