//! Base protocol: requests, responses and notifications of JSON-RPC 2.0.

use super::json::{Members, Read, Write, object, text};
use serde_json::Value;
use std::io;

/// The number or the name of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestId {
    /// A number.
    Number(i32),
    /// A text.
    Text(String),
}

impl RequestId {
    /// Reads one.
    pub fn of(value: &Value) -> Option<RequestId> {
        match value {
            Value::Number(number) => {
                number.as_i64().and_then(|number| i32::try_from(number).ok()).map(RequestId::Number)
            }
            Value::String(text) => Some(RequestId::Text(text.clone())),
            _ => None,
        }
    }
}

impl Write for RequestId {
    fn write(&self, to: &mut String) {
        match self {
            RequestId::Number(number) => number.write(to),
            RequestId::Text(text) => text.write(to),
        }
    }
}

/// What a client sends.
#[derive(Debug)]
pub enum Message {
    /// It has to be answered.
    Request(Request),
    /// It need not.
    Notification(Notification),
    /// The answer to a request of the server, which makes none.
    Response,
}

/// What has to be answered.
#[derive(Debug)]
pub struct Request {
    /// What the answer names.
    pub id: RequestId,
    /// What is asked for.
    pub method: String,
    /// Null if there are none.
    pub params: Value,
}

/// What need not be answered.
#[derive(Debug)]
pub struct Notification {
    /// What has happened.
    pub method: String,
    /// Null if there are none.
    pub params: Value,
}

impl Message {
    /// Reads a message; nothing if the value is none. A request with an `id` that is neither an integer nor a text cannot
    /// be answered: it is taken as a notification.
    pub fn of(value: Value) -> Option<Message> {
        let mut members = Members::of(value, "Message").ok()?;
        let id = members.take::<Value>("id").ok().and_then(|id| RequestId::of(&id));
        let method = members.take::<Value>("method");
        if let Ok(Value::String(method)) = method {
            let params = members.take("params").unwrap_or_default();
            return Some(match id {
                Some(id) => Message::Request(Request { id, method, params }),
                None => Message::Notification(Notification { method, params }),
            });
        }
        id?;
        let answer = members.rest();
        match (answer.get("result"), answer.get("error")) {
            (Some(_), _) => Some(Message::Response),
            (None, Some(error)) => {
                let has_code = error["code"].as_i64().is_some_and(|code| i32::try_from(code).is_ok());
                (has_code && error["message"].is_string()).then_some(Message::Response)
            }
            (None, None) => None,
        }
    }
}

/// The codes of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// What came is no JSON.
    ParseError = -32700,
    /// It is JSON, but no message, or not one that may come now.
    InvalidRequest = -32600,
    /// There is no such request.
    MethodNotFound = -32601,
    /// The parameters are wrong.
    InvalidParams = -32602,
    /// The server is wrong.
    InternalError = -32603,
    /// `initialize` has not come.
    ServerNotInitialized = -32002,
    /// The client does not want the answer any more.
    RequestCancelled = -32800,
    /// It cannot be done.
    RequestFailed = -32803,
}

/// The answer to a request: its result, in JSON.
pub fn response(id: &RequestId, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", text(id))
}

/// The answer to a request that cannot be had. What is no message has no `id`.
pub fn refusal(id: Option<&RequestId>, code: ErrorCode, message: &str) -> String {
    let mut error = String::new();
    object(&[("code", &(code as i32)), ("message", &message)], &mut error);
    let id = id.map_or_else(|| "null".to_owned(), |id| text(id));
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

/// A notification.
pub fn notification(method: &str, params: &dyn Write) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{}}}", text(params))
}

/// Writes a message with its header.
pub fn send(message: &str, output: &mut dyn io::Write) -> io::Result<()> {
    write!(output, "Content-Length: {}\r\n\r\n", message.len())?;
    output.write_all(message.as_bytes())?;
    output.flush()
}

/// Reads the parameters of a message; the error says why they are wrong.
pub fn params<P: Read>(params: Value) -> Result<P, String> {
    P::read(params).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_told_apart() {
        let kind = |value: Value| match Message::of(value) {
            Some(Message::Request(request)) => {
                format!("{} {} {}", text(&request.id), request.method, request.params)
            }
            Some(Message::Notification(one)) => format!("{} {}", one.method, one.params),
            Some(Message::Response) => "response".to_owned(),
            None => "none".to_owned(),
        };
        assert_eq!(kind(json!({"id": 1, "method": "a"})), "1 a null");
        assert_eq!(kind(json!({"id": "x", "method": "a", "params": [2], "more": 3})), "\"x\" a [2]");
        assert_eq!(kind(json!({"method": "a", "params": null})), "a null");
        for id in [json!(null), json!(1.5), json!(1_u64 << 40), json!([])] {
            assert_eq!(kind(json!({"id": id, "method": "a"})), "a null");
        }
        assert_eq!(kind(json!({"id": 1, "result": null})), "response");
        assert_eq!(kind(json!({"id": 1, "error": {"code": -1, "message": "no", "data": 2}})), "response");
        for wrong in [
            json!({"id": 1, "error": {"code": -1}}),
            json!({"id": 1, "error": 3}),
            json!({"id": 1}),
            json!({"id": null, "result": 1}),
            json!({"id": 1, "method": 2}),
            json!({}),
            json!([1, "a"]),
            json!("a"),
        ] {
            assert_eq!(kind(wrong.clone()), "none", "{wrong}");
        }
    }

    #[test]
    fn answers_have_the_members_of_the_protocol() {
        let id = RequestId::Text("a\"b".to_owned());
        assert_eq!(response(&id, "null"), r#"{"jsonrpc":"2.0","id":"a\"b","result":null}"#);
        let refused = refusal(Some(&RequestId::Number(-3)), ErrorCode::InternalError, "\n");
        assert_eq!(refused, r#"{"jsonrpc":"2.0","id":-3,"error":{"code":-32603,"message":"\n"}}"#);
        let refused = refusal(None, ErrorCode::ParseError, "no");
        assert_eq!(refused, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#);
        assert_eq!(notification("a/b", &true), r#"{"jsonrpc":"2.0","method":"a/b","params":true}"#);
    }
}
