//! Why a request cannot be done, in the words and with the status of Toxiproxy.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Why a request cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{error}")]
pub(super) struct ApiError {
    /// What is wrong.
    pub(super) error: String,
    /// The HTTP status.
    pub(super) status: u16,
}

impl ApiError {
    fn new(status: u16, error: impl Into<String>) -> Self {
        ApiError { error: error.into(), status }
    }

    pub(super) fn bad_request(reason: impl std::fmt::Display) -> Self {
        ApiError::new(400, format!("bad request body: {reason}"))
    }

    pub(super) fn missing_field(which: impl std::fmt::Display) -> Self {
        ApiError::new(400, format!("missing required field: {which}"))
    }

    pub(super) fn invalid_stream() -> Self {
        ApiError::new(400, "stream was invalid, can be either upstream or downstream")
    }

    pub(super) fn invalid_toxic_type() -> Self {
        ApiError::new(400, "invalid toxic type")
    }

    /// An address of another machine, where none may be.
    pub(super) fn not_here(reason: impl Into<String>) -> Self {
        ApiError::new(400, reason)
    }

    pub(super) fn proxy_not_found() -> Self {
        ApiError::new(404, "proxy not found")
    }

    pub(super) fn toxic_not_found() -> Self {
        ApiError::new(404, "toxic not found")
    }

    pub(super) fn proxy_exists() -> Self {
        ApiError::new(409, "proxy already exists")
    }

    pub(super) fn toxic_exists() -> Self {
        ApiError::new(409, "toxic already exists")
    }

    pub(super) fn second_cut() -> Self {
        ApiError::new(
            409,
            "a proxy can have one postgres_cut at a time; update or delete the other",
        )
    }

    /// The system refused something.
    pub(super) fn system(reason: impl std::fmt::Display) -> Self {
        ApiError::new(500, reason.to_string())
    }
}

/// Reads an object. (A list of its fields in order would be one for `serde`, and is not for
/// Toxiproxy.)
pub(super) fn read_object<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let object: Map<String, Value> = serde_json::from_slice(body).map_err(ApiError::bad_request)?;
    serde_json::from_value(object.into()).map_err(ApiError::bad_request)
}

/// Reads a list of objects.
pub(super) fn read_objects<T: DeserializeOwned>(body: &[u8]) -> Result<Vec<T>, ApiError> {
    let objects: Vec<Map<String, Value>> =
        serde_json::from_slice(body).map_err(ApiError::bad_request)?;
    let read = |object: Map<String, Value>| serde_json::from_value(object.into());
    objects.into_iter().map(read).collect::<Result<_, _>>().map_err(ApiError::bad_request)
}
