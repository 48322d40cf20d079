//! Fresh schemas, with random names, in one database.

use stagefault_models::{BackendError, Namespaces};

use super::{PostgresBackend, PostgresOptions};
use crate::flaws::Flaws;

/// Fresh schemas `stagefault_…` in one database.
#[derive(Clone, Debug)]
pub struct PostgresNamespaces {
    /// The database's server, and whom to be there.
    pub options: PostgresOptions,
    /// The bugs to plant.
    pub flaws: Flaws,
}

impl Namespaces for PostgresNamespaces {
    type Backend = PostgresBackend;

    async fn fresh(&self) -> Result<PostgresBackend, BackendError> {
        let name = format!("stagefault_{:016x}", rand::random::<u64>());
        Ok(PostgresBackend::make(&self.options, &name).await?.with_flaws(self.flaws))
    }
}
