//! The result type of a handler, taken from its signature, so that the OpenAPI document cannot
//! deviate from it.

use manyhands_http_common::Answer;

/// A handler that returns a result in an envelope. `A` stands for its arguments.
pub trait Answering<A> {
    /// The result.
    type Result;
}

macro_rules! answer_types {
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

answer_types!(A);
answer_types!(A B);
answer_types!(A B C);
answer_types!(A B C D);
answer_types!(A B C D E);
