//! Values come back equal to what went in, wherever a store keeps them.

use stagefault_models::{Backend, Call, CallState, Change, Completion, Operation, Reply, Value};

use super::requests::*;

/// Values that a careless store mangles.
pub fn awkward() -> Vec<Value> {
    let texts = [
        "[]",
        "{}",
        "[[],{}]",
        "null",
        "-9223372036854775808",
        "9223372036854775807",
        "9007199254740993",
        "9223372036854775808",
        "1e17",
        "-0.0",
        "0.1",
        "1e300",
        "5e-324",
        "-1.7976931348623157e308",
        r#"{"b":{"a":[1,{"":null}]},"a":"x"}"#,
        r#""häßlich \"\\\n\t\u0001 漢字 😀 \uffff""#,
        r#""'); DROP TABLE sessions; --""#,
        r#""?1 $1 :a @b %s""#,
    ];
    let deepest = (0..Value::MAX_DEPTH).fold(Value::Null, |inner, _| Value::array(vec![inner]));
    let values = texts.iter().map(|text| Value::from_json(text).expect(text));
    values.chain([deepest]).collect()
}

/// All of them in one.
pub fn array() -> Value {
    let mut values = awkward();
    values.pop();
    Value::array(values)
}

/// Almost the longest.
pub fn long() -> Value {
    Value::string("ü".repeat((1 << 19) - 1))
}

pub async fn a_state_keeps_every_value(backend: &impl Backend) {
    let mut store = handle(backend).await;
    done(&mut store, create("s")).await;
    let mut changes: Vec<Change> =
        awkward().into_iter().enumerate().map(|(n, value)| set(&format!("{n}"), value)).collect();
    changes.push(set("long", long()));
    changes.push(Change::Append { key: "ключ'\"".into(), items: vec![] });
    changes.push(Change::Increment { key: "zero".into(), by: 0 });
    done(&mut store, promote("s", "t", 1, changes, vec![])).await;

    let state = snapshot(&mut store, "s").await.state;
    for (n, value) in awkward().into_iter().enumerate() {
        assert_eq!(state.get(&format!("{n}").into()), Some(&value));
    }
    assert_eq!(state.get(&"long".into()), Some(&long()));
    assert_eq!(state.get(&"ключ'\"".into()), Some(&Value::array(vec![])));
    assert_eq!(state.get(&"zero".into()), Some(&Value::Integer(0)));
}

pub async fn staged_changes_keep_every_value(backend: &impl Backend) {
    let mut store = handle(backend).await;
    done(&mut store, create("s")).await;
    let changes = vec![
        set("array", array()),
        set("long", long()),
        Change::Append { key: "list".into(), items: awkward() },
        Change::Increment { key: "least".into(), by: i64::MIN },
    ];
    done(&mut store, stage("s", "t", "c", changes)).await;
    done(&mut store, promote("s", "t", 1, vec![], vec![])).await;

    let state = snapshot(&mut store, "s").await.state;
    assert_eq!(state.get(&"array".into()), Some(&array()));
    assert_eq!(state.get(&"list".into()), Some(&Value::array(awkward())));
    assert_eq!(state.get(&"long".into()), Some(&long()));
    assert_eq!(state.get(&"least".into()), Some(&Value::Integer(i64::MIN)));
}

pub async fn messages_keep_every_body_and_their_order_in_any_number(backend: &impl Backend) {
    let mut store = handle(backend).await;
    done(&mut store, create("s")).await;
    // More than one INSERT holds; the ids are such as JSON or a collation would change.
    let bodies = awkward().into_iter().cycle().take(150).chain([long()]);
    let sent: Vec<_> =
        bodies.enumerate().map(|(n, body)| message(&format!("{n} \"é\\\n"), body)).collect();
    done(&mut store, append("s", sent[..70].to_vec())).await;
    let reply = done(&mut store, promote("s", "t", 1, vec![], sent.clone())).await;
    assert_eq!(reply, Reply::Promoted { version: 2, applied: 0, appended: 81 });

    assert_eq!(messages(&mut store, "s").await, sent);
    let again = done(&mut store, append("s", sent)).await;
    assert_eq!(again, Reply::Appended { appended: 0, total: 151 });
}

pub async fn results_keep_every_value(backend: &impl Backend) {
    let mut store = handle(backend).await;
    done(&mut store, create("s")).await;
    for (n, result) in awkward().into_iter().chain([long()]).enumerate() {
        let (session, call, run) = ("s".into(), format!("{n}").as_str().into(), "r".into());
        let register = Operation::RegisterCall { session, call, run, deadline: 10 };
        done(&mut store, register).await;
        let submit = Operation::SubmitResult {
            session: "s".into(),
            call: format!("{n}").as_str().into(),
            run: "r".into(),
            result: result.clone(),
            now: 9,
        };
        done(&mut store, submit.clone()).await;
        assert_eq!(done(&mut store, submit).await, Reply::Submitted);
        let calls = snapshot(&mut store, "s").await.calls;
        let expected = Call { run: "r".into(), deadline: 10, state: CallState::Submitted(result) };
        assert_eq!(calls.get(&format!("{n}").into()), Some(&expected));
    }
}

pub async fn pages_end_where_the_messages_do_at_any_offset(backend: &impl Backend) {
    let mut store = handle(backend).await;
    done(&mut store, create("s")).await;
    let sent: Vec<_> = (0..5).map(|n| message(&format!("m{n}"), n)).collect();
    done(&mut store, append("s", sent.clone())).await;
    let mut page = async |offset, limit| {
        let read = Operation::ReadMessages { session: "s".into(), offset, limit };
        match execute(&mut store, read).await {
            Completion::Done(Reply::Page { messages, total: 5 }) => messages,
            other => panic!("not a page of five: {other:?}"),
        }
    };
    assert_eq!(page(1, 3).await, sent[1..4]);
    assert_eq!(page(4, 1000).await, sent[4..]);
    for offset in [5, 1 << 53, i64::MAX as u64, u64::MAX] {
        assert_eq!(page(offset, 1000).await, []);
    }
    assert_eq!(page(0, 0).await, []);
}
