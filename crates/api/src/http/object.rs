//! JSON object bodies.

use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A JSON object as request body. `axum::Json` would also accept an array for a struct, field by
/// field, which our schemas do not allow.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = JsonRejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let (parts, body) = request.into_parts();
        let mut bare = Request::new(body);
        *bare.extensions_mut() = parts.extensions.clone(); // they hold the limit of the body
        let bytes = Bytes::from_request(bare, state).await?;
        let is_object = bytes.trim_ascii_start().first() == Some(&b'{');
        let request = Request::from_parts(parts, Body::from(bytes.clone()));
        if !is_object {
            // Fails with the type that was found instead of an object.
            let _: axum::Json<Map<String, Value>> =
                axum::Json::from_request(request, state).await?;
        } else {
            match axum::Json::from_request(request, state).await {
                Ok(axum::Json(value)) => return Ok(Self(value)),
                // Only now: converting every body would cost a second parse for the rare one that
                // needs it.
                Err(rejection @ JsonRejection::JsonDataError(_)) => {
                    return whole(&bytes).map(Self).ok_or(rejection);
                }
                Err(rejection) => return Err(rejection),
            }
        }
        let axum::Json(value) = axum::Json::from_bytes(&bytes)?;
        Ok(Self(value))
    }
}

/// Parses again with integers written as `5.0` accepted: JSON Schema and many encoders treat them
/// as integers.
fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    make_whole(&mut value);
    serde_json::from_value(value).ok()
}

fn make_whole(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().filter(|float| float.fract() == 0.0);
            // Beyond 2^53 a float cannot represent every integer.
            if let Some(float) = float.filter(|float| float.abs() <= 9_007_199_254_740_991.0) {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(all) => all.iter_mut().for_each(make_whole),
        Value::Object(map) => map.values_mut().for_each(make_whole),
        _ => {}
    }
}

/// A parsed body of either type.
pub(super) trait JsonBody<T> {
    fn held(self) -> T;
}

impl<T> JsonBody<T> for Json<T> {
    fn held(self) -> T {
        self.0
    }
}

impl<T> JsonBody<T> for axum::Json<T> {
    fn held(self) -> T {
        self.0
    }
}
