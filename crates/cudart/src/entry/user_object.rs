//! User objects: things of the program that graphs keep.

use crate::context::ensure_context;
use crate::driver::user_object::*;
use crate::ffi::{HostFunction, Out};
use std::ffi::c_void;

crate::entries! {
    /// Makes a user object.
    fn cudaUserObjectCreate(object: Out<u64>, data: *mut c_void, destroy: HostFunction, count: u32, flags: u32) {
        object.required()?;
        ensure_context()?;
        cuUserObjectCreate(object, data, destroy, count, flags)
    }

    /// Adds references to a user object.
    fn cudaUserObjectRetain(object: u64, count: u32) {
        ensure_context()?;
        cuUserObjectRetain(object, count)
    }

    /// Takes references from a user object; without any, it is destroyed.
    fn cudaUserObjectRelease(object: u64, count: u32) {
        ensure_context()?;
        cuUserObjectRelease(object, count)
    }

    /// Lets a graph keep a user object.
    fn cudaGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32) {
        ensure_context()?;
        cuGraphRetainUserObject(graph, object, count, flags)
    }

    /// Takes references of a graph to a user object.
    fn cudaGraphReleaseUserObject(graph: u64, object: u64, count: u32) {
        ensure_context()?;
        cuGraphReleaseUserObject(graph, object, count)
    }
}
