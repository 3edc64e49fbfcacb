//! Streams: work that is done in order.
//!
//! Work is done at once, by the thread that submits it, unless it may have to wait for something that the program does
//! later: work behind unfinished work, and kernels that poll memory or a clock (`Task::may_wait`). Such work is done by
//! a thread of the stream. So most programs run in one deterministic order, and programs whose kernels wait for the host
//! or for another stream still make progress.
//!
//! The legacy default stream waits for all blocking streams of its context, and they wait for it: each task names the
//! tasks that it must follow ([`Done`]).

use crate::code::Code;
use crate::handle::{Handled, Kind, lock};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Whether a task is done: others wait for it.
#[derive(Debug, Default)]
pub struct Done {
    done: Mutex<bool>,
    changed: Condvar,
}

impl Done {
    /// Whether it is done.
    pub fn is_done(&self) -> bool {
        *lock(&self.done)
    }

    /// Waits until it is done.
    pub fn wait(&self) {
        let mut done = lock(&self.done);
        while !*done {
            done = self.changed.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn set(&self) {
        *lock(&self.done) = true;
        self.changed.notify_all();
    }
}

/// Work for a stream.
pub struct Task {
    /// What is done.
    pub run: Box<dyn FnOnce() -> Result<(), Code> + Send>,
    /// Tasks of other streams that must be done before.
    pub after: Vec<Arc<Done>>,
    /// Whether it may wait for something that happens later.
    pub may_wait: bool,
}

/// A stream.
#[derive(Debug, Default)]
pub struct Stream {
    /// Whether it does not wait for the legacy default stream.
    pub nonblocking: bool,
    /// Its priority: from -5, the highest, to 0.
    pub priority: i32,
    /// A number that no other stream has.
    pub id: u64,
    /// The handle of its context.
    pub context: u64,
    queue: Arc<Queue>,
}

impl Handled for Stream {
    const KIND: Kind = Kind::Stream;
}

#[derive(Default)]
struct Queue {
    tasks: Mutex<Tasks>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}

#[derive(Default)]
struct Tasks {
    waiting: VecDeque<(Task, Arc<Done>)>,
    /// A thread does the tasks.
    running: bool,
    /// The last task that was submitted and may not be done.
    last: Option<Arc<Done>>,
    /// Something was submitted.
    used: bool,
}

impl Stream {
    /// A stream of a context.
    pub fn new(context: u64, id: u64, nonblocking: bool, priority: i32) -> Stream {
        Stream { nonblocking, priority, id, context, queue: Arc::default() }
    }

    /// The last task that is not done.
    pub fn pending(&self) -> Option<Arc<Done>> {
        let mut tasks = lock(&self.queue.tasks);
        if tasks.last.as_ref().is_some_and(|last| last.is_done()) {
            tasks.last = None;
        }
        tasks.last.clone()
    }

    /// Whether it ever had work.
    pub fn had_work(&self) -> bool {
        lock(&self.queue.tasks).used
    }

    /// Waits until everything that was submitted is done.
    pub fn synchronize(&self) {
        while let Some(last) = self.pending() {
            last.wait();
        }
    }

    /// Does a task in its order: at once if it can, else later. The result is that of a task that was done at once.
    pub fn submit(&self, task: Task) -> Result<(), Code> {
        let mut tasks = lock(&self.queue.tasks);
        tasks.used = true;
        let is_free = tasks.last.as_ref().is_none_or(|last| last.is_done());
        let done = Arc::new(Done::default());
        if is_free && !task.may_wait && task.after.iter().all(|after| after.is_done()) {
            tasks.last = Some(done.clone());
            drop(tasks);
            let result = (task.run)();
            done.set();
            return result;
        }
        tasks.last = Some(done.clone());
        tasks.waiting.push_back((task, done));
        if !tasks.running {
            let queue = self.queue.clone();
            let started =
                std::thread::Builder::new().name("softwarp stream".into()).spawn(move || queue.work());
            tasks.running = started.is_ok();
            if started.is_err() {
                // There is no thread to do it: it is done here.
                drop(tasks);
                self.queue.work();
            }
        }
        Ok(())
    }
}

impl Queue {
    /// Does tasks until there are none.
    fn work(&self) {
        loop {
            let next = {
                let mut tasks = lock(&self.tasks);
                let next = tasks.waiting.pop_front();
                tasks.running = next.is_some();
                next
            };
            let Some((task, done)) = next else { return };
            task.after.iter().for_each(|after| after.wait());
            // The driver keeps the code of a fault; later calls return it.
            let _ = (task.run)();
            done.set();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;

    fn task(may_wait: bool, after: Vec<Arc<Done>>, run: impl FnOnce() + Send + 'static) -> Task {
        Task {
            run: Box::new(move || {
                run();
                Ok(())
            }),
            after,
            may_wait,
        }
    }

    #[test]
    fn work_that_need_not_wait_is_done_at_once() {
        let (stream, count) = (Stream::default(), Arc::new(AtomicU32::new(0)));
        let counter = count.clone();
        stream
            .submit(task(false, Vec::new(), move || {
                counter.store(1, Ordering::SeqCst);
            }))
            .expect("done");
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert!(stream.pending().is_none());
    }

    #[test]
    fn work_behind_a_kernel_that_waits_for_the_host_keeps_its_order() {
        let stream = Stream::default();
        let (release, wait) = channel();
        let (say, heard) = channel();
        let said = say.clone();
        stream
            .submit(task(true, Vec::new(), move || {
                wait.recv().expect("a word");
                said.send(1).expect("open");
            }))
            .expect("queued");
        stream.submit(task(false, Vec::new(), move || say.send(2).expect("open"))).expect("queued");
        assert!(stream.pending().is_some());
        release.send(()).expect("open");
        stream.synchronize();
        assert_eq!(heard.iter().take(2).collect::<Vec<i32>>(), [1, 2]);
        assert!(stream.pending().is_none());
    }

    #[test]
    fn a_task_follows_those_of_other_streams_that_it_names() {
        let (first, second) = (Stream::default(), Stream::default());
        let (release, wait) = channel::<()>();
        first
            .submit(task(true, Vec::new(), move || {
                let _ = wait.recv();
            }))
            .expect("queued");
        let after = first.pending().into_iter().collect();
        second.submit(task(false, after, || {})).expect("queued");
        assert!(second.pending().is_some());
        drop(release);
        second.synchronize();
        assert!(first.pending().is_none());
    }
}
