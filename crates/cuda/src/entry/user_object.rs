//! User objects (driver API: "Graph Management").

use crate::code::{Code, ensure};
use crate::driver::driver;
use crate::driver::user_object::UserObject;
use crate::ffi::{Host, HostFunction, Out};
use crate::handle::Handle;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, without which there are none.
const NO_SYNC: u32 = 1;

crate::entries! {
    /// Makes a user object.
    fn cuUserObjectCreate(
        to: Out<Handle<UserObject>>, object: Host, destroy: Option<extern "C" fn(*mut c_void)>, count: u32, flags: u32,
    ) {
        let driver = driver()?;
        to.required()?;
        let function = destroy.ok_or(Code::INVALID_VALUE)?;
        ensure(count != 0 && count <= i32::MAX as u32 && flags == NO_SYNC, Code::INVALID_VALUE)?;
        let destroy = HostFunction { function, data: object };
        let object = UserObject { count: Mutex::new(count.into()), destroy };
        to.set(driver.user_objects.insert(Arc::new(object)).ok_or(Code::OUT_OF_MEMORY)?)
    }

    /// Adds references to a user object.
    fn cuUserObjectRetain(object: Handle<UserObject>, count: u32) {
        driver()?.retain_object(object, count)
    }

    /// Takes references from a user object; without any, it is destroyed.
    fn cuUserObjectRelease(object: Handle<UserObject>, count: u32) {
        driver()?.release_object(object, count)
    }
}
