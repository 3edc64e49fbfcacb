//! What the tests of calls share.
#![allow(dead_code)] // Each test uses a part of it.

use serde_json::{Value as Json, json};
use softwarp_web::Engine;

/// An engine that a test asks.
#[derive(Default)]
pub struct Page(Engine);

impl Page {
    /// The answer of a call.
    pub fn answer(&mut self, call: &str, request: Json) -> Json {
        let mut request = request;
        request["call"] = call.into();
        let answer = self.0.call(request.to_string().as_bytes());
        serde_json::from_slice(&answer).expect("the answer is JSON")
    }

    /// The result of a call that succeeds.
    pub fn ok(&mut self, call: &str, request: Json) -> Json {
        let mut answer = self.answer(call, request);
        assert!(answer.get("error").is_none(), "{call}: {answer}");
        answer["ok"].take()
    }

    /// The message of a call that fails.
    pub fn error(&mut self, call: &str, request: Json) -> String {
        let answer = self.answer(call, request);
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{call}: {answer}")).to_owned()
    }

    /// An answer to bytes that are perhaps no request.
    pub fn raw(&mut self, request: &[u8]) -> Json {
        serde_json::from_slice(&self.0.call(request)).expect("the answer is JSON")
    }
}

/// A file of the repository.
pub fn file(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A kernel that adds 1 to each element, with a loop, shared memory and a barrier.
pub const STEPS: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry turn(.param .u64 data, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %i, %n, %x, %at, %other;
    .reg .b64 %base, %to;
    .shared .align 4 .f32 tile[64];
    ld.param.u64 %base, [data];
    ld.param.u32 %n, [n];
    mov.u32 %i, %tid.x;
    mad.wide.u32 %to, %i, 4, %base;
    ld.global.f32 %x, [%to];
    mov.u32 %at, tile;
    mad.lo.u32 %at, %i, 4, %at;
    st.shared.f32 [%at], %x;
    bar.sync 0;
    sub.u32 %other, %n, %i;
    sub.u32 %other, %other, 1;
    mov.u32 %at, tile;
    mad.lo.u32 %at, %other, 4, %at;
    ld.shared.f32 %x, [%at];
    st.global.f32 [%to], %x;
    ret;
}
";

/// A launch of it with 64 threads.
pub fn turn() -> Json {
    json!({
        "text": STEPS, "kernel": "turn", "grid": [1], "block": [64],
        "arguments": [{"buffer": {"format": "f32", "count": 64, "fill": "iota"}}, {"scalar": {"type": "u32", "value": 64}}],
    })
}
