//! The result type of a handler, taken from its signature, so that the OpenAPI document cannot
//! deviate from it.

use manyhands_http_common::Answer;

/// A handler that returns a result in an envelope. `A` stands for its arguments.
pub trait Answering<A> {
    /// The result.
    type Result;
}

macro_rules! answering {
    ($($argument:ident)*) => {
        impl<F, Fut, T, $($argument,)*> Answering<($($argument,)*)> for F
        where
            F: Fn($($argument),*) -> Fut,
            Fut: Future<Output = Answer<T>>,
        {
            type Result = T;
        }
    };
}

answering!(A);
answering!(A B);
answering!(A B C);
answering!(A B C D);
answering!(A B C D E);
