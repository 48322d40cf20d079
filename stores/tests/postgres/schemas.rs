//! The schema: made, recognised, refused, kept, and removed.

use stagefault_models::{
    Backend, BackendError, Cause, Completion, Namespaces, Operation, Reply, Value,
};
use stagefault_stores::postgres::PostgresBackend;

use crate::support::*;

tests![
    what_was_acknowledged_is_there_after_reopening,
    two_that_open_a_new_schema_at_once_share_it,
    fresh_schemas_know_nothing_of_each_other,
    what_is_not_ours_is_refused_and_left_as_it_is,
    removing_leaves_nothing_of_ours_and_all_of_others,
    a_schema_in_which_others_have_something_is_not_removed,
    a_schema_that_took_the_place_of_ours_is_not_removed,
    a_dropped_handle_closes_its_connection,
    rows_that_nobody_wrote_are_reported_and_not_believed,
    an_audit_shows_rows_whose_session_is_gone,
    a_deleted_session_leaves_no_row,
];

async fn open(server: &Server, schema: &str) -> PostgresBackend {
    PostgresBackend::open(&server.options(), schema).await.expect("the schema opens")
}

async fn what_was_acknowledged_is_there_after_reopening(server: Server) {
    let mut backend = server.schema().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    done(&mut store, stage("s", "t", "c", vec![set("k", 1)])).await;
    done(&mut store, append("s", vec![message("m", "body")])).await;
    let before = snapshot(&mut store, "s").await;

    backend.reopen().await.expect("it opens again");
    assert_eq!(snapshot(&mut handle(&backend).await, "s").await, before);
    let late = execute(&mut store, load("s")).await;
    assert!(matches!(late, Completion::NotApplied(_)), "an old handle is closed: {late:?}");

    let name = backend.schema().to_owned();
    drop((store, backend));
    let backend = open(&server, &name).await;
    assert_eq!(snapshot(&mut handle(&backend).await, "s").await, before);
    remove(&server, backend).await;
}

async fn two_that_open_a_new_schema_at_once_share_it(server: Server) {
    for round in 0..5 {
        let name = format!("stagefault_shared_{round}");
        let (one, two) = tokio::join!(open(&server, &name), open(&server, &name));
        done(&mut handle(&one).await, create("s")).await;
        assert_eq!(snapshot(&mut handle(&two).await, "s").await.version, 1);
        drop(two);
        remove(&server, one).await;
    }
}

async fn fresh_schemas_know_nothing_of_each_other(server: Server) {
    let namespaces = server.namespaces();
    let (one, two) =
        (namespaces.fresh().await.expect("one"), namespaces.fresh().await.expect("two"));
    done(&mut handle(&one).await, create("s")).await;
    let elsewhere = execute(&mut handle(&two).await, load("s")).await;
    assert!(matches!(elsewhere, Completion::Refused(_)), "{elsewhere:?}");
    let swept = done(&mut handle(&two).await, Operation::Cleanup { now: 9, staging_ttl: 0 }).await;
    assert_eq!(swept, Reply::Cleaned { sessions: vec![], staged: vec![] });
    remove(&server, one).await;
    remove(&server, two).await;
}

/// All that is in a schema, and its comment.
async fn dump(server: &Server, schema: &str) -> Vec<String> {
    let sql = format!(
        "SELECT 'comment ' || coalesce(obj_description(oid, 'pg_namespace'), '')
         FROM pg_namespace WHERE nspname = '{schema}'
         UNION ALL
         SELECT format('%s %s %s %s', relname, relkind, attname, atttypid)
         FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
         WHERE relnamespace = '{schema}'::regnamespace
         UNION ALL
         SELECT query_to_xml(format('TABLE %s', oid::regclass), true, true, '')::text
         FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r'
         ORDER BY 1"
    );
    texts(&mut server.raw().await, &sql).await
}

/// Tries to open the schema, which must be refused and left alone.
async fn is_refused(server: &Server, schema: &str, what: &str) {
    let before = dump(server, schema).await;
    match PostgresBackend::open(&server.options(), schema).await {
        Err(BackendError::NotOurs { .. }) => {}
        Err(other) => panic!("{what}: refused as something else: {other}"),
        Ok(_) => panic!("{what}: opened"),
    }
    assert!(dump(server, schema).await == before, "{what}: changed by the attempt");
}

async fn what_is_not_ours_is_refused_and_left_as_it_is(server: Server) {
    is_refused(&server, "public", "the public schema").await;
    let foreign = "CREATE SCHEMA theirs; CREATE TABLE theirs.sessions AS SELECT 1 AS session";
    server.execute_raw(foreign).await;
    is_refused(&server, "theirs", "a schema without a comment").await;
    for comment in ["", "ours", "stagefault.postgres/1", "stagefault.postgres/2 "] {
        server.execute_raw(&format!("COMMENT ON SCHEMA theirs IS '{comment}'")).await;
        is_refused(&server, "theirs", comment).await;
    }
    server.execute_raw("CREATE SCHEMA theirs_empty").await;
    is_refused(&server, "theirs_empty", "an empty schema").await;
    let backend = server.schema().await;
    let later = format!("COMMENT ON SCHEMA {} IS 'stagefault.postgres/99'", backend.schema());
    server.execute_raw(&later).await;
    is_refused(&server, backend.schema(), "ours of a later version").await;
    assert!(matches!(backend.remove().await, Err(BackendError::NotOurs { .. })));
    server.execute_raw("DROP SCHEMA theirs CASCADE; DROP SCHEMA theirs_empty").await;
}

async fn removing_leaves_nothing_of_ours_and_all_of_others(server: Server) {
    server.execute_raw("CREATE SCHEMA bystander; CREATE TABLE bystander.sessions ()").await;
    let before = dump(&server, "bystander").await;
    let backend = server.schema().await;
    let other = server.schema().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    remove(&server, backend).await;
    let late = execute(&mut store, create("s2")).await;
    assert!(matches!(late, Completion::NotApplied(_)), "{late:?}");
    assert_eq!(dump(&server, "bystander").await, before);
    done(&mut handle(&other).await, create("s")).await;
    remove(&server, other).await;
    server.execute_raw("DROP SCHEMA bystander CASCADE").await;
}

async fn a_schema_in_which_others_have_something_is_not_removed(server: Server) {
    for theirs in ["TABLE $.theirs ()", "VIEW public.theirs AS SELECT * FROM $.sessions"] {
        let backend = server.schema().await;
        let name = backend.schema().to_owned();
        done(&mut handle(&backend).await, create("s")).await;
        let theirs = theirs.replace('$', &name);
        server.execute_raw(&format!("CREATE {theirs}")).await;
        let before = dump(&server, &name).await;
        assert!(matches!(backend.remove().await, Err(BackendError::Unreachable { .. })));
        assert_eq!(dump(&server, &name).await, before);
        let drop = theirs.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        server.execute_raw(&format!("DROP {drop}")).await;
        remove(&server, open(&server, &name).await).await;
    }
}

async fn a_schema_that_took_the_place_of_ours_is_not_removed(server: Server) {
    let backend = server.schema().await;
    let name = backend.schema().to_owned();
    let mut store = handle(&backend).await;
    let replace = format!(
        "DROP SCHEMA {name} CASCADE; CREATE SCHEMA {name};
         CREATE TABLE {name}.sessions AS SELECT 's'::text AS session, 1::bigint AS expires_at"
    );
    server.execute_raw(&replace).await;
    let before = dump(&server, &name).await;
    assert!(matches!(backend.remove().await, Err(BackendError::NotOurs { .. })));
    let late = execute(&mut store, delete("s")).await;
    assert!(matches!(late, Completion::NotApplied(_)), "{late:?}");
    assert_eq!(dump(&server, &name).await, before);
    server.execute_raw(&format!("DROP SCHEMA {name} CASCADE")).await;
}

async fn a_dropped_handle_closes_its_connection(server: Server) {
    let backend = server.schema().await;
    let connections = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{}'",
        backend.schema()
    );
    let mut watcher = server.raw().await;
    let stores = [handle(&backend).await, handle(&backend).await];
    assert_eq!(number(&mut watcher, &connections).await, 3);
    drop(stores);
    becomes(&mut watcher, &connections, 1).await;
    remove(&server, backend).await;
    becomes(&mut watcher, &connections, 0).await;
}

async fn rows_that_nobody_wrote_are_reported_and_not_believed(server: Server) {
    let backend = server.schema().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    let schema = backend.schema();
    server.execute_raw(&format!("UPDATE {schema}.sessions SET state = '{{'")).await;
    for operation in [load("s"), promote("s", "t", 1, vec![set("k", 1)], vec![])] {
        let completion = execute(&mut store, operation).await;
        let Completion::NotApplied(failure) = completion else { panic!("{completion:?}") };
        assert_eq!(failure.cause, Cause::Damaged);
    }
    let audit = backend.audit(&["s".into()]).await;
    assert!(matches!(audit, Err(BackendError::Damaged { .. })), "{audit:?}");
    done(&mut store, append("s", vec![message("m", Value::Null)])).await;
    remove(&server, backend).await;
}

async fn an_audit_shows_rows_whose_session_is_gone(server: Server) {
    let backend = server.schema().await;
    let mut store = handle(&backend).await;
    done(&mut store, create("s")).await;
    done(&mut store, append("s", vec![message("m", 1)])).await;
    done(&mut store, Operation::BeginRun { session: "s".into(), run: "r".into() }).await;
    let schema = backend.schema();
    let orphan = format!(
        "ALTER TABLE {schema}.messages DROP CONSTRAINT messages_session_fkey;
         ALTER TABLE {schema}.runs DROP CONSTRAINT runs_session_fkey;
         DELETE FROM {schema}.sessions"
    );
    server.execute_raw(&orphan).await;

    let audit = backend.audit(&["s".into(), "other".into()]).await.expect("an audit");
    let rows = &audit[&"s".into()];
    assert_eq!(rows.head, None);
    assert_eq!(rows.messages, [(0, message("m", 1))]);
    assert_eq!(rows.runs, [(1, "r".into())]);
    assert_eq!(audit.len(), 1);
    remove(&server, backend).await;
}

async fn a_deleted_session_leaves_no_row(server: Server) {
    let backend = server.schema().await;
    let mut store = handle(&backend).await;
    for session in ["s", "t"] {
        done(&mut store, create(session)).await;
        done(&mut store, stage(session, "t", "c", vec![set("k", 1)])).await;
        done(&mut store, append(session, vec![message("m", 1)])).await;
        let (id, run) = (session.into(), "r".into());
        done(&mut store, Operation::BeginRun { session: id, run }).await;
        let (id, call, run) = (session.into(), "c".into(), "r".into());
        done(&mut store, Operation::RegisterCall { session: id, call, run, deadline: 5 }).await;
    }
    done(&mut store, delete("s")).await;
    done(&mut store, Operation::Touch { session: "t".into(), expires_at: Some(7) }).await;
    let swept = done(&mut store, Operation::Cleanup { now: 7, staging_ttl: 0 }).await;
    assert_eq!(swept, Reply::Cleaned { sessions: vec!["t".into()], staged: vec![] });
    let audit = backend.audit(&["s".into(), "t".into()]).await.expect("an audit");
    assert!(audit.is_empty(), "{audit:?}");
    remove(&server, backend).await;
}
