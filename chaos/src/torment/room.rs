//! A server without room for a commit, the nearest to a full disk that takes no rights on the
//! machine.
//!
//! Every table of sessions that is tormented has a deferred trigger. In a session with the
//! setting it fails with the code of a full disk, and it does so where a real one can hurt
//! most: as the commit is carried out, when the result of the statement was told already.

use super::backend::Scene;
use crate::proxy::Answer;

/// What a session sets to have no room, and to what.
pub(super) const SETTING: &str = "stagefault.room";
pub(super) const NONE_LEFT: &str = "none";

/// The server's code (SQLSTATE `disk_full`).
const DISK_FULL: &str = "53100";

/// Prepares a schema for it.
pub(super) async fn prepare(scene: &Scene) -> Result<(), sqlx::Error> {
    let schema = &scene.schema;
    let function = format!(
        "CREATE FUNCTION {schema}.look_for_room() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF current_setting('{SETTING}', true) = '{NONE_LEFT}' THEN
                 RAISE 'could not extend the file: no room is left (injected)'
                 USING ERRCODE = '{DISK_FULL}';
             END IF;
             RETURN NULL;
         END $$"
    );
    let trigger = format!(
        "CREATE CONSTRAINT TRIGGER look_for_room AFTER INSERT OR UPDATE OR DELETE
         ON {schema}.sessions DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION {schema}.look_for_room()"
    );
    for sql in [function, trigger] {
        scene.admin.ask(sql).await?;
    }
    Ok(())
}

/// Takes back what was prepared, for the store drops nothing but its own.
pub(super) async fn remove(scene: &Scene) -> Result<(), sqlx::Error> {
    let drop = format!("DROP FUNCTION IF EXISTS {}.look_for_room CASCADE", scene.schema);
    scene.admin.ask(drop).await.map(|_| ())
}

/// Whether a commit was answered so.
pub(super) fn is_missing(answer: Option<&Answer>) -> bool {
    matches!(answer, Some(Answer::Failed(code)) if code == DISK_FULL)
}
