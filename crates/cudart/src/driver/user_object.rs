//! User objects, and graphs that keep them.

use crate::ffi::{HostFunction, Out};
use std::ffi::c_void;

crate::driver! {
    fn cuUserObjectCreate(object: Out<u64>, data: *mut c_void, destroy: HostFunction, count: u32, flags: u32);
    fn cuUserObjectRetain(object: u64, count: u32);
    fn cuUserObjectRelease(object: u64, count: u32);
    fn cuGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32);
    fn cuGraphReleaseUserObject(graph: u64, object: u64, count: u32);
}
