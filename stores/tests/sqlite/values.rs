//! Values come back equal to what went in, wherever the store keeps them.

use crate::shared::values;
use crate::support::*;

#[tokio::test]
async fn a_state_keeps_every_value() {
    let (_folder, backend) = database().await;
    values::a_state_keeps_every_value(&backend).await;
}

#[tokio::test]
async fn staged_changes_keep_every_value() {
    let (_folder, backend) = database().await;
    values::staged_changes_keep_every_value(&backend).await;
}

#[tokio::test]
async fn messages_keep_every_body_and_their_order_in_any_number() {
    let (_folder, backend) = database().await;
    values::messages_keep_every_body_and_their_order_in_any_number(&backend).await;
}

#[tokio::test]
async fn results_keep_every_value() {
    let (_folder, backend) = database().await;
    values::results_keep_every_value(&backend).await;
}

#[tokio::test]
async fn pages_end_where_the_messages_do_at_any_offset() {
    let (_folder, backend) = database().await;
    values::pages_end_where_the_messages_do_at_any_offset(&backend).await;
}
