//! However its owner ends, a server leaves no process, folder or shared memory behind.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use stagefault_chaos::servers::{Options, PostgresServer};

use crate::holder::{Holder, User, open_to_all, users};
use crate::traces::{Traces, arguments, processes_of, wait_until};

#[test]
fn nothing_is_left_after_drop() {
    let server = PostgresServer::start(Options::default()).unwrap();
    let traces = Traces::of_running(server.socket_dir());
    drop(server);
    traces.assert_gone();
}

#[test]
fn nothing_is_left_of_a_server_that_was_stopped_or_killed_before() {
    let ways: [fn(&mut PostgresServer) -> _; 3] =
        [PostgresServer::stop, PostgresServer::stop_immediate, PostgresServer::kill];
    for end in ways {
        let mut server = PostgresServer::start(Options::default()).unwrap();
        let mut traces = Traces::of_running(server.socket_dir());
        end(&mut server).unwrap();
        server.start_again().unwrap();
        traces.look();
        end(&mut server).unwrap();
        drop(server);
        traces.assert_gone();
    }
}

#[test]
fn nothing_is_left_of_a_server_that_somebody_else_killed() {
    let server = PostgresServer::start(Options::default()).unwrap();
    let traces = Traces::of_running(server.socket_dir());
    kill(server.pid().unwrap());
    drop(server);
    traces.assert_gone();
}

#[test]
fn nothing_is_left_of_a_server_that_was_halted_by_sigstop() {
    let server = PostgresServer::start(Options::default()).unwrap();
    let traces = Traces::of_running(server.socket_dir());
    let postmaster = Pid::from_raw(server.pid().unwrap().try_into().unwrap()).unwrap();
    kill_process(postmaster, Signal::STOP).unwrap();
    drop(server);
    traces.assert_gone();
}

#[test]
fn nothing_is_left_even_if_the_guardian_was_killed() {
    let server = PostgresServer::start(Options::default()).unwrap();
    let traces = Traces::of_running(server.socket_dir());
    for process in processes_of(server.socket_dir()) {
        if arguments(process.pid).contains("stagefault-guardian") {
            kill(process.pid);
        }
    }
    drop(server);
    traces.assert_gone();
}

#[test]
fn nothing_is_left_after_a_panic() {
    for user in users() {
        let (mut holder, traces) = holder(user);
        holder.tell("panic");
        let (status, said) = holder.end();
        assert!(!status.success() && said.contains("told to panic"), "{said}");
        traces.assert_gone();
    }
}

#[test]
fn nothing_is_left_after_ctrl_c() {
    is_gone_after(Signal::INT);
}

#[test]
fn nothing_is_left_after_sigterm() {
    is_gone_after(Signal::TERM);
}

#[test]
fn nothing_is_left_after_sigkill() {
    is_gone_after(Signal::KILL);
}

fn is_gone_after(signal: Signal) {
    for user in users() {
        let (holder, traces) = holder(user);
        holder.signal(signal);
        assert!(!holder.end().0.success());
        traces.wait_until_gone();
    }
}

#[test]
fn nothing_is_left_of_a_start_that_was_killed() {
    // Before `initdb`, in the midst of it, and when the postmaster has just been started.
    for milestone in ["", "data/global/pg_control", "log"] {
        let parent = open_to_all();
        let mut traces = Traces::of(parent.path());
        let holder = Holder::start(users().pop().unwrap(), Some(parent.path()));
        wait_until(milestone, || {
            traces.look();
            only_folder(parent.path()).is_some_and(|folder| folder.join(milestone).exists())
        });
        holder.signal(Signal::KILL);
        holder.end();
        wait_until("the server's folder is removed", || {
            traces.look();
            only_folder(parent.path()).is_none()
        });
        parent.close().unwrap();
        traces.wait_until_gone();
    }
}

fn only_folder(parent: &Path) -> Option<std::path::PathBuf> {
    Some(fs::read_dir(parent).unwrap().next()?.unwrap().path())
}

fn holder(user: User) -> (Holder, Traces) {
    let mut holder = Holder::start(user, None);
    let traces = Traces::of_running(&holder.folder());
    (holder, traces)
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
}
