//! Values come back equal to what went in, wherever the store keeps them.

use crate::shared::values;
use crate::support::*;

tests![
    a_state_keeps_every_value,
    staged_changes_keep_every_value,
    messages_keep_every_body_and_their_order_in_any_number,
    results_keep_every_value,
    pages_end_where_the_messages_do_at_any_offset,
];

async fn a_state_keeps_every_value(server: Server) {
    let backend = server.schema().await;
    values::a_state_keeps_every_value(&backend).await;
    remove(&server, backend).await;
}

async fn staged_changes_keep_every_value(server: Server) {
    let backend = server.schema().await;
    values::staged_changes_keep_every_value(&backend).await;
    remove(&server, backend).await;
}

async fn messages_keep_every_body_and_their_order_in_any_number(server: Server) {
    let backend = server.schema().await;
    values::messages_keep_every_body_and_their_order_in_any_number(&backend).await;
    remove(&server, backend).await;
}

async fn results_keep_every_value(server: Server) {
    let backend = server.schema().await;
    values::results_keep_every_value(&backend).await;
    remove(&server, backend).await;
}

async fn pages_end_where_the_messages_do_at_any_offset(server: Server) {
    let backend = server.schema().await;
    values::pages_end_where_the_messages_do_at_any_offset(&backend).await;
    remove(&server, backend).await;
}
