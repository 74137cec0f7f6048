//! [`Meeting`]: where a caller and the workers of a team meet, step after step.
//!
//! What is decided is decided under one lock, [`Agenda`]'s. The atomics beside it are hints: threads that spin watch them, and
//! then look at the agenda, so that a stale hint costs time and nothing else.
#![allow(unsafe_code, reason = "threads that outlive a call are lent what the call borrows")]

use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::PoisonError;

use super::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, spin_until};

type Work<'w> = &'w (dyn Fn() + Sync);
type Payload = Box<dyn Any + Send>;

/// Where a caller and its workers meet.
pub(super) struct Meeting {
    agenda: Mutex<Agenda>,
    /// Whether a caller has a step under way.
    taken: AtomicBool,
    /// Changes after each change of the agenda that workers wait for.
    news: AtomicUsize,
    /// The agenda's number of busy workers.
    busy: AtomicUsize,
    /// Where workers park.
    called: Condvar,
    /// Where a caller parks.
    done: Condvar,
}

/// What is to be done.
#[derive(Default)]
struct Agenda {
    /// The number of the step, by which a worker knows whether it has been there.
    step: usize,
    /// The step's work, for as long as workers may begin it.
    work: Option<Work<'static>>,
    /// Workers that have begun and not finished.
    busy: usize,
    /// What the first of them panicked with that did.
    panic: Option<Payload>,
    /// Whether workers have parked since they were last called.
    parked: bool,
    /// Whether the caller is.
    caller_parked: bool,
    /// Passes under way: workers spin for the next step while there are any.
    passes: usize,
    /// Whether the workers are to go home.
    over: bool,
}

impl Meeting {
    /// With no work, and nobody there.
    pub(super) fn new() -> Self {
        Self {
            agenda: Mutex::new(Agenda::default()),
            taken: AtomicBool::new(false),
            news: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            called: Condvar::new(),
            done: Condvar::new(),
        }
    }

    /// A step: calls `work`, while workers who come in time call it too, and returns when all of them have returned. Where
    /// another step is under way, whoever's it is, the caller works alone. The caller's panic goes on, or else a worker's.
    pub(super) fn run(&self, work: Work<'_>) {
        if self.taken.swap(true, Ordering::Acquire) {
            return work();
        }
        // SAFETY: only the lifetime is changed, which ends no earlier than this call. The reference is in the agenda until
        // `close` takes it out, and a worker that copied it from there is counted as busy under the same lock, until it has
        // returned from its call and has no more use for it. `close` waits for the count to be 0, and is always reached,
        // since nothing between here and there unwinds: locks are had poisoned or not, and the call's panic is caught.
        self.open(unsafe { mem::transmute::<Work<'_>, Work<'static>>(work) });
        let own = panic::catch_unwind(AssertUnwindSafe(work));
        let theirs = self.close();
        self.taken.store(false, Ordering::Release);
        if let Some(payload) = own.err().or(theirs) {
            panic::resume_unwind(payload);
        }
    }

    /// Runs `pass` with workers who are awake.
    pub(super) fn enter(&self, pass: &mut (dyn FnMut() + Send)) {
        self.tell(|agenda| agenda.passes += 1);
        let _end = PassEnd(self);
        pass();
    }

    /// What a worker does, until the meeting is over.
    pub(super) fn attend(&self) {
        let mut seen = 0;
        while let Some(work) = self.next(&mut seen) {
            let outcome = panic::catch_unwind(AssertUnwindSafe(work));
            self.finish(outcome.err());
        }
    }

    /// Sends the workers home.
    pub(super) fn end(&self) {
        self.tell(|agenda| agenda.over = true);
    }

    /// Gives workers a step to begin.
    fn open(&self, work: Work<'static>) {
        self.tell(|agenda| {
            agenda.step = agenda.step.wrapping_add(1);
            agenda.work = Some(work);
        });
    }

    /// Lets no more workers begin, and waits for those who have.
    fn close(&self) -> Option<Payload> {
        let mut agenda = self.agenda();
        agenda.work = None;
        if agenda.busy > 0 {
            drop(agenda);
            spin_until(|| self.busy.load(Ordering::Relaxed) == 0);
            agenda = self.agenda();
        }
        while agenda.busy > 0 {
            agenda.caller_parked = true;
            agenda = self.done.wait(agenda).unwrap_or_else(PoisonError::into_inner);
        }
        agenda.caller_parked = false;
        agenda.panic.take()
    }

    /// The work of a step that this worker has not seen, and it counts as busy; none when the meeting is over.
    fn next(&self, seen: &mut usize) -> Option<Work<'static>> {
        let (mut agenda, mut patient) = (self.agenda(), true);
        loop {
            if agenda.over {
                return None;
            }
            if let Some(work) = agenda.work
                && agenda.step != *seen
            {
                *seen = agenda.step;
                self.set_busy(&mut agenda, |busy| busy + 1);
                return Some(work);
            }
            if agenda.passes > 0 && patient {
                let news = self.news.load(Ordering::Relaxed);
                drop(agenda);
                patient = spin_until(|| self.news.load(Ordering::Relaxed) != news);
                agenda = self.agenda();
            } else {
                agenda.parked = true;
                agenda = self.called.wait(agenda).unwrap_or_else(PoisonError::into_inner);
                patient = true;
            }
        }
    }

    /// A worker has returned from its call.
    fn finish(&self, panic: Option<Payload>) {
        let mut agenda = self.agenda();
        // Of several panics one goes on.
        let other = if agenda.panic.is_none() { mem::replace(&mut agenda.panic, panic) } else { panic };
        self.set_busy(&mut agenda, |busy| busy - 1);
        let caller_parked = agenda.caller_parked && agenda.busy == 0;
        drop(agenda);
        if caller_parked {
            self.done.notify_one();
        }
        drop(other);
    }

    fn set_busy(&self, agenda: &mut Agenda, change: impl FnOnce(usize) -> usize) {
        agenda.busy = change(agenda.busy);
        self.busy.store(agenda.busy, Ordering::Relaxed);
    }

    /// Changes the agenda, and sees to it that the workers look at it.
    fn tell(&self, change: impl FnOnce(&mut Agenda)) {
        let mut agenda = self.agenda();
        change(&mut agenda);
        let parked = mem::take(&mut agenda.parked);
        drop(agenda);
        // After the lock is free, so that those who spin find it free.
        self.news.fetch_add(1, Ordering::Relaxed);
        if parked {
            self.called.notify_all();
        }
    }

    fn agenda(&self) -> MutexGuard<'_, Agenda> {
        self.agenda.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a pass, however it is left.
struct PassEnd<'m>(&'m Meeting);

impl Drop for PassEnd<'_> {
    fn drop(&mut self) {
        // Those who spin look, and park where it was the last pass.
        self.0.agenda().passes -= 1;
        self.0.news.fetch_add(1, Ordering::Relaxed);
    }
}
