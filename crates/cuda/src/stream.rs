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
use crate::thread;
use softwarp::vm::threads::spawn;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

thread_local! {
    /// The queue whose task the thread does now, by its address; 0 for none. It has no destructor, so that functions
    /// that are called at the end of the process find it.
    static DOING: Cell<usize> = const { Cell::new(0) };
}

/// Whether the thread does a task of a stream: the process ends inside of one if a function that a stream has called
/// calls `exit`, or if a signal's handler does.
pub fn is_inside_task() -> bool {
    DOING.get() != 0
}

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

    /// Waits until it is done, or until a time; whether it is done.
    pub fn wait_until(&self, end: Instant) -> bool {
        let mut done = lock(&self.done);
        while !*done {
            let Some(left) = end.checked_duration_since(Instant::now()) else { break };
            (done, _) = self.changed.wait_timeout(done, left).unwrap_or_else(PoisonError::into_inner);
        }
        *done
    }

    fn set(&self) {
        *lock(&self.done) = true;
        self.changed.notify_all();
    }
}

/// What a task is, for messages about tasks that do not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// It runs kernels, or copies and fills memory: it ends when it is told to.
    Device,
    /// It calls a function of the program.
    HostFunction,
    /// It waits for values in memory, or for other work.
    Wait,
}

/// Work for a stream.
pub struct Task {
    /// What it is.
    pub kind: TaskKind,
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

/// The thread that does waiting tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Worker {
    /// There is none, and no task waits.
    #[default]
    None,
    /// One was made and has not begun. A thread that starts may have to wait for the loader's lock, which a thread that
    /// loads or unloads a library holds; then one that waits for the tasks does them itself.
    Starting,
    /// The same, while one that waits does a task.
    Lent,
    /// The same, and the thread that was made has begun and ended meanwhile: the one that waits has to go on.
    Owed,
    /// It does them.
    Running,
}

#[derive(Default)]
struct Tasks {
    waiting: VecDeque<(Task, Arc<Done>)>,
    /// The thread that does them.
    worker: Worker,
    /// The last task that was submitted and may not be done.
    last: Option<Arc<Done>>,
    /// Something was submitted.
    used: bool,
    /// The task that is being done, once what it must follow is done.
    doing: Option<TaskKind>,
    /// How many tasks are done.
    performed: u64,
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

    /// Does the tasks that need not wait for others on this thread, if the thread that is to do them has not begun.
    pub fn take_over(&self) {
        self.queue.take_over();
    }

    /// What it does now, if that has begun.
    pub fn doing(&self) -> Option<TaskKind> {
        lock(&self.queue.tasks).doing
    }

    /// How many tasks have not begun.
    pub fn waiting(&self) -> usize {
        lock(&self.queue.tasks).waiting.len()
    }

    /// How many tasks are done.
    pub fn performed(&self) -> u64 {
        lock(&self.queue.tasks).performed
    }

    /// Whether the calling thread does a task of it, so that it must not wait for it.
    pub fn is_done_here(&self) -> bool {
        DOING.get() == self.queue.address()
    }

    /// Does a task in its order: at once if it can, else later. The result is that of a task that was done at once.
    pub fn submit(&self, task: Task) -> Result<(), Code> {
        // What a thread keeps from launch to launch is gone when it ends: another one does the work then, later.
        let is_leaving = thread::is_leaving();
        let mut tasks = lock(&self.queue.tasks);
        tasks.used = true;
        let is_free = tasks.last.as_ref().is_none_or(|last| last.is_done());
        let done = Arc::new(Done::default());
        let is_now = is_free && !task.may_wait && task.after.iter().all(|after| after.is_done());
        if is_now && !is_leaving {
            tasks.last = Some(done.clone());
            tasks.doing = Some(task.kind);
            drop(tasks);
            return self.queue.perform(task, &done);
        }
        tasks.last = Some(done.clone());
        tasks.waiting.push_back((task, done));
        if tasks.worker == Worker::None {
            tasks.worker = Worker::Starting;
            let queue = self.queue.clone();
            if spawn("softwarp stream", move || queue.start()).is_err() {
                // There is no thread to do it: it is done here.
                drop(tasks);
                self.queue.start();
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Marks the task that the thread does as done when it is dropped: a panic ends a task, too.
struct End<'a> {
    queue: &'a Queue,
    done: &'a Done,
    outer: usize,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut tasks = lock(&self.queue.tasks);
        tasks.doing = None;
        tasks.performed += 1;
        drop(tasks);
        DOING.set(self.outer);
        self.done.set();
    }
}

impl Queue {
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Does a task whose turn it is.
    fn perform(&self, task: Task, done: &Done) -> Result<(), Code> {
        let end = End { queue: self, done, outer: DOING.replace(self.address()) };
        let result = (task.run)();
        drop(end);
        result
    }

    /// Does the tasks, unless another thread does them or none waits.
    fn start(&self) {
        let mut tasks = lock(&self.tasks);
        match tasks.worker {
            Worker::Starting => {
                tasks.worker = Worker::Running;
                drop(tasks);
                self.work();
            }
            Worker::Lent => tasks.worker = Worker::Owed,
            Worker::None | Worker::Owed | Worker::Running => {}
        }
    }

    /// Does tasks, unless another thread does them, up to one that waits for other work.
    fn take_over(&self) {
        let mut tasks = lock(&self.tasks);
        while tasks.worker == Worker::Starting {
            let is_ready = |(task, _): &mut (Task, _)| {
                task.kind != TaskKind::Wait && task.after.iter().all(|it| it.is_done())
            };
            let Some((task, done)) = tasks.waiting.pop_front_if(is_ready) else { return };
            tasks.worker = Worker::Lent;
            drop(tasks);
            self.perform_later(task, &done);
            tasks = lock(&self.tasks);
            if tasks.worker == Worker::Owed {
                tasks.worker = Worker::Running;
                drop(tasks);
                return self.work();
            }
            tasks.worker = Worker::Starting;
        }
    }

    /// Does tasks until there are none.
    fn work(&self) {
        loop {
            let next = {
                let mut tasks = lock(&self.tasks);
                let next = tasks.waiting.pop_front();
                if next.is_none() {
                    tasks.worker = Worker::None;
                }
                next
            };
            let Some((task, done)) = next else { return };
            task.after.iter().for_each(|after| after.wait());
            self.perform_later(task, &done);
        }
    }

    /// Does a task that was put off. The driver keeps the code of a fault; later calls return it.
    fn perform_later(&self, task: Task, done: &Done) {
        lock(&self.tasks).doing = Some(task.kind);
        let _ = catch_unwind(AssertUnwindSafe(|| self.perform(task, done)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;

    /// Waits until everything that was submitted is done.
    fn synchronize(stream: &Stream) {
        while let Some(last) = stream.pending() {
            last.wait();
        }
    }

    fn task(may_wait: bool, after: Vec<Arc<Done>>, run: impl FnOnce() + Send + 'static) -> Task {
        Task {
            kind: TaskKind::Device,
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
        synchronize(&stream);
        assert_eq!(heard.iter().take(2).collect::<Vec<i32>>(), [1, 2]);
        assert!(stream.pending().is_none());
    }

    #[test]
    fn a_task_that_panics_does_not_hold_up_the_others() {
        let stream = Stream::default();
        let (say, heard) = channel();
        let failed =
            catch_unwind(AssertUnwindSafe(|| stream.submit(task(false, Vec::new(), || panic!("now")))));
        assert!(failed.is_err() && stream.pending().is_none() && !is_inside_task());
        stream.submit(task(true, Vec::new(), || panic!("later"))).expect("queued");
        stream.submit(task(true, Vec::new(), move || say.send(1).expect("open"))).expect("queued");
        synchronize(&stream);
        assert_eq!(heard.recv(), Ok(1));
    }

    #[test]
    fn tasks_whose_thread_has_not_begun_are_done_by_one_that_waits() {
        let stream = Stream::default();
        let (say, heard) = channel();
        {
            let mut tasks = lock(&stream.queue.tasks);
            // As if the thread had been made and could not start.
            tasks.worker = Worker::Starting;
            let done = Arc::new(Done::default());
            tasks.last = Some(done.clone());
            tasks.waiting.push_back((task(true, Vec::new(), move || say.send(1).expect("open")), done));
        }
        stream.take_over();
        assert_eq!((heard.recv(), stream.pending().is_none()), (Ok(1), true));
        // The thread comes later and finds nothing.
        stream.queue.start();
        assert_eq!(lock(&stream.queue.tasks).worker, Worker::None);
    }

    #[test]
    fn waiting_ends_at_a_time() {
        let stream = Stream::default();
        let (release, wait) = channel::<()>();
        let run = move || {
            let _ = wait.recv();
        };
        stream.submit(task(true, Vec::new(), run)).expect("queued");
        stream.submit(task(false, Vec::new(), || {})).expect("queued");
        let last = stream.pending().expect("work");
        assert!(!last.wait_until(Instant::now() + std::time::Duration::from_millis(20)));
        assert_eq!((stream.doing(), stream.waiting()), (Some(TaskKind::Device), 1));
        drop(release);
        assert!(last.wait_until(Instant::now() + std::time::Duration::from_secs(60)));
        assert_eq!((stream.doing(), stream.waiting()), (None, 0));
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
        synchronize(&second);
        assert!(first.pending().is_none());
    }
}
