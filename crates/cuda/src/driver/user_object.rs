//! User objects: things of the program that graphs keep alive.

use crate::code::{Code, ensure};
use crate::context;
use crate::driver::graph::Objects;
use crate::driver::{self, Driver};
use crate::ffi::HostFunction;
use crate::handle::{Handle, Handled, Kind, lock};
use std::sync::Mutex;

/// A user object: a count of references, and what is called when there are none.
#[derive(Debug)]
pub struct UserObject {
    /// How many references there are.
    pub count: Mutex<u64>,
    /// Called with the object when there are none.
    pub destroy: HostFunction,
}

impl Handled for UserObject {
    const KIND: Kind = Kind::UserObject;
}

impl Driver {
    /// Adds references to a user object.
    pub fn retain_object(&self, handle: Handle<UserObject>, count: u32) -> Result<(), Code> {
        ensure(count != 0, Code::INVALID_VALUE)?;
        let object = self.user_objects.get(handle).map_err(|_| Code::INVALID_VALUE)?;
        *lock(&object.count) += u64::from(count);
        Ok(())
    }

    /// Takes references from a user object.
    pub fn release_object(&self, handle: Handle<UserObject>, count: u32) -> Result<(), Code> {
        ensure(count != 0, Code::INVALID_VALUE)?;
        let object = self.user_objects.get(handle).map_err(|_| Code::INVALID_VALUE)?;
        let left = {
            let mut there = lock(&object.count);
            *there = there.checked_sub(u64::from(count)).ok_or(Code::INVALID_VALUE)?;
            *there
        };
        if left == 0 && self.user_objects.remove(handle).is_ok() {
            // SAFETY: the program has given it to be called when the last reference is gone.
            context::in_host_function(|| unsafe { object.destroy.call() });
        }
        Ok(())
    }

    /// Adds references of a graph.
    pub fn retain_objects(&self, objects: &Objects) {
        for (&handle, &count) in objects {
            let _ = self.retain_object(Handle::of(handle), count);
        }
    }

    /// Takes the references of a graph.
    pub fn release_objects(&self, objects: &Objects) {
        for (&handle, &count) in objects {
            let _ = self.release_object(Handle::of(handle), count);
        }
    }
}

/// References to user objects of a launch, which has them until it is done.
#[derive(Debug)]
pub struct Kept(Objects);

impl Kept {
    /// Adds references.
    pub fn new(driver: &Driver, objects: Objects) -> Kept {
        driver.retain_objects(&objects);
        Kept(objects)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(driver) = driver::existing() {
            driver.release_objects(&self.0);
        }
    }
}
